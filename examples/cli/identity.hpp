// SPDX-License-Identifier: MIT
// What the parts of `kvcap identity` share: its options, an identity as they give it, and facts in words.
#pragma once

#include "screen.hpp"

#include <kvcap/io/identity_json.hpp>

namespace kvcap::cli {

struct IdentityOptions {
    std::vector<std::string> what;
    std::string as;
    std::string missing;
    std::vector<std::string> facts;
    std::string tokens;
    std::string prefix;
    std::string run_config;
    ModelOptions model;
    ShardingOptions sharding;
    Output output;
    const CLI::App* verb = nullptr;
};

/// Its facts, and the digests of a complete identity (identity_answer.cpp).
void print_identity(const IdentityOptions& options, const OwnedIdentity& id, Session& session);
/// diff A B (identity_diff.cpp)
void print_identity_diff(const IdentityOptions& options, Session& session);
/// --missing SYSTEM (identity_missing.cpp)
void print_missing_facts(const IdentityOptions& options, Session& session);
/// --as SYSTEM (identity_key.cpp)
void print_literal_key(const IdentityOptions& options, const OwnedIdentity& id, Session& session);

/// A file with an identity, or what MODEL and the sharding options say by themselves; then --set and --ids.
OwnedIdentity identity_of(const IdentityOptions& options);
/// Stops, with the path, when the file is no identity or states nothing.
OwnedIdentity identity_file(const std::string& path);
/// Stops at a rank that its size does not have.
void ranks_exist(const FormatIdentity& id);
/// Applies --set. Stops when two of them, or one and another flag, contradict each other.
void set_facts(const IdentityOptions& options, OwnedIdentity& id);

/// The whole file; `wanted` is named when it cannot be opened.
std::string text_of_file(const std::string& path, std::string_view wanted);

/// What was read from a file. Stops with the path before the place in it.
template <class T>
T value_in(const std::string& path, Diagnosed<T> read) {
    if (!read) {
        read.error = io::in_file(path, *std::move(read.error));
    }
    return value_of(std::move(read));
}

/// A chunk's texts; its tokens and media are lists.
inline constexpr std::pair<Field, StatedText ChunkIdentity::*> chunk_texts[] = {
    {Field::parent, &ChunkIdentity::parent},
    {Field::adapter, &ChunkIdentity::adapter},
    {Field::adapter_version, &ChunkIdentity::adapter_version},
    {Field::salt, &ChunkIdentity::salt},
    {Field::user_key, &ChunkIdentity::user_key},
    {Field::embeddings, &ChunkIdentity::embeddings}};

/// A value or none. A chunk states its tokens by having some; no media is a statement.
bool is_stated(const OwnedIdentity& id, Field field);
/// "none", "not stated" or the value. pre: !is_content(field)
std::string value_words(const OwnedIdentity& id, Field field);
/// What goes wrong without the fact, as lines of a screen.
std::string risk_line(Field field);
/// The same as an object: the fact, `aspect` with its words, consequence and where it was seen.
void write_risk(report::Json& json, Field field, std::string_view aspect, std::string_view words);
/// "wrong answers", "leak", "error", "lost hits"
std::string_view harm_words(Harm harm);

/// `flag` is named when no system has this name.
System system_of(const std::string& name, std::string_view flag);

/// A usage error when a flag is given that says nothing here: any but `but` and those of the output.
void refuse_others(const IdentityOptions& options, std::string_view what, std::string_view why,
                   std::string_view but = {});

/// As bytes.
std::string sha256(std::string_view bytes);

}  // namespace kvcap::cli
