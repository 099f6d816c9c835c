// SPDX-License-Identifier: MIT
// kvcap identity --as SYSTEM: the literal key under which a system keeps this chunk. What the key is made
// from must be stated; what it leaves out need not be.
#include "identity.hpp"

#include <algorithm>
#include <kvcap/io/identity_folder.hpp>

// The low-level calls link a few kilobytes where the envelope ones link every provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace kvcap::cli {

namespace {

/// The flag that states a fact.
std::string flag_for(Field field) {
    return field == Field::tokens ? "--ids 1,2,3"
           : is_content(field)    ? fmt::format("--set {0}=VALUE, or --set {0}= for none", name_of(field))
                                  : fmt::format("--set {}=VALUE", name_of(field));
}

/// Facts that a system's key has beside its hash of the chunk.
std::vector<Field> beside_hash(System system) {
    using enum Field;
    switch (system) {
        case System::lmcache_key: return {model, tp, tp_rank, pp, pp_rank, kv_dtype};
        case System::lmcache_object_key: return {model, tp, tp_rank, pp, pp_rank, group, salt};
        case System::mooncake_connector: return {model, tp_rank, pcp_rank, dcp_rank, pp_rank, group};
        case System::llmd_index: return {model};
        case System::llmd_files: return {model, tp, tp_rank, pp, pp_rank, pcp, pcp_rank, dcp, group};
        case System::vllm_block_hash: return {};
        default:
            stop(Exit::usage, fmt::format("--as: {} has no literal key here; wanted vllm, lmcache, lmcache-server, "
                                          "mooncake or llm-d",
                                          name_of(system)));
    }
}

/// Stops with all that the key is made from and that is not stated; "none" counts as stated.
void need_all(System system, const OwnedIdentity& id) {
    std::vector<std::string> missing;
    const auto look = [&](Field field, bool stated) {
        const std::string said = fmt::format("{} ({})", name_of(field), flag_for(field));
        if (!stated && std::find(missing.begin(), missing.end(), said) == missing.end()) {
            missing.push_back(said);
        }
    };
    const ChunkIdentity hashed = hashed_content(system, id.chunk);
    look(Field::tokens, !hashed.tokens.empty());
    for (const auto& [field, member] : chunk_texts) {
        look(field, field == Field::adapter_version || (hashed.*member).said != Said::nothing);
    }
    for (const Field field : beside_hash(system)) {
        look(field, is_stated(id, field));
    }
    look(Field::hash_seed, is_stated(id, Field::hash_seed));
    if (!missing.empty()) {
        stop(Exit::usage, fmt::format("this key is made from what is not stated: {}", fmt::join(missing, ", ")));
    }
}

/// The part of the chunk that the system's hash is made from.
ChunkIdentity chunk_for(System system, const OwnedIdentity& id) {
    const ChunkIdentity chunk = hashed_content(system, id.chunk);
    if (const Refusal refusal = refusal_of(chunk)) {
        stop(Exit::usage,
             fmt::format("the chunk is refused: {} ({})", words_of(refusal), flag_for(refusal.field)));
    }
    return chunk;
}

/// A seed that every process draws anew, or another algorithm, gives keys that nobody can write down here.
std::string_view seed_of(const OwnedIdentity& id, std::string_view algorithm) {
    const StatedText& stated = id.format.hash_algorithm;
    if (!algorithm.empty() && stated.has_value() && stated.value != algorithm) {
        stop(Exit::usage,
             fmt::format("hash_algorithm: {}; this key is written for {} only", stated.value, algorithm));
    }
    if (!id.format.hash_seed.has_value()) {
        stop(Exit::usage, "hash_seed: none, so every process has keys of its own; wanted a value");
    }
    return id.format.hash_seed.value;
}

std::string block_hash(System system, const OwnedIdentity& id) {
    const ChunkIdentity chunk = chunk_for(system, id);
    return vllm_block_hash(chunk, seed_of(id, "sha256_cbor"), sha256);
}

std::string index_key(const OwnedIdentity& id) {
    const ChunkIdentity chunk = chunk_for(System::llmd_index, id);
    if (chunk.parent.has_value() && chunk.parent.value.size() != 8) {
        stop(Exit::usage, "parent: llm-d's block hashes are 8 bytes");
    }
    u64 parent =
        llmd_root(chunk.adapter.has_value() ? chunk.adapter.value : id.format.model.value, seed_of(id, ""));
    for (std::size_t i = 0; chunk.parent.has_value() && i < 8; ++i) {
        parent = parent << 8 | static_cast<u8>(chunk.parent.value[i]);
    }
    return std::to_string(llmd_block_hash(parent, chunk));
}

std::string file_name(const std::string& path, const OwnedIdentity& id) {
    const RunConfig run = value_in(path, read_run_config(text_of_file(path, "the config.json of a run")));
    if (const Refusal differs = disagreement(run, id.format)) {
        stop(Exit::usage, fmt::format("{}: its {} is not this identity's", path, name_of(differs.field)));
    }
    return run_file(run, id.format, block_hash(System::llmd_files, id), sha256);
}

std::string text_of(const KeyText& key) {
    if (!key) {
        stop(Exit::usage, words_of(key.refusal));
    }
    return key.text;
}

/// llm-d's files have names where a run's config is given; else its key is the index's.
std::string key_of(System named, const IdentityOptions& options, const OwnedIdentity& id) {
    const bool index = named == System::llmd_files && options.run_config.empty();
    const System system = index ? System::llmd_index : named;
    need_all(system, id);
    switch (system) {
        case System::lmcache_key: return text_of(lmcache_key(id.format, block_hash(system, id)));
        case System::lmcache_object_key:
            return text_of(lmcache_object_key(id.format, id.chunk, block_hash(system, id)));
        case System::mooncake_connector:
            return text_of(mooncake_key(id.format, block_hash(system, id), options.prefix));
        case System::llmd_index: return index_key(id);
        case System::llmd_files: return file_name(options.run_config, id);
        default: return hex(block_hash(system, id));
    }
}

}  // namespace

void ranks_exist(const FormatIdentity& id) {
    const std::tuple<Field, const StatedNumber&, const StatedNumber&> pairs[] = {
        {Field::tp_rank, id.tp_rank, id.tp},
        {Field::pp_rank, id.pp_rank, id.pp},
        {Field::pcp_rank, id.pcp_rank, id.pcp},
        {Field::dcp_rank, id.dcp_rank, id.dcp}};
    for (const auto& [field, rank, size] : pairs) {
        if (rank.has_value() && size.has_value() && rank.value >= size.value) {
            stop(Exit::usage, words_of(Refusal{field, WhyRefused::rank_out_of_range}) +
                                  fmt::format(" ({} of {})", rank.value, size.value));
        }
    }
}

std::string sha256(std::string_view bytes) {
    SHA256_CTX context;
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256_Init(&context);
    SHA256_Update(&context, bytes.data(), bytes.size());
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
    return digest;
}

void print_literal_key(const IdentityOptions& options, const OwnedIdentity& id, Session& session) {
    const System system = system_of(options.as, "--as");
    const std::string key = key_of(system, options, id);
    if (!options.output.json) {
        return session.print(key + '\n');
    }
    report::Json json;
    json.object().field("schema", "kvcap.identity.key/1").field("system", options.as);
    session.print(json.field("key", std::string_view{key}).end().text());
}

}  // namespace kvcap::cli
