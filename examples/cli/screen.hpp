// SPDX-License-Identifier: MIT
// What screens have in common: the heading that says which model this is, and notes at the end.
#pragma once

#include "cli.hpp"

namespace kvcap::cli {

/// "DeepSeek-V3 = 61*mla(512,64)    KV bf16    TP 8", folded to 80 columns. `further`: words such as "TP 8".
std::string heading(const Model& model, std::string_view further, const Session& session);

/// Text in lines of at most 80 columns, folded at blanks; lines after the first are indented.
std::string paragraph(std::string_view text);
/// The same, with words longer than a line (names, digests) broken.
std::string broken_paragraph(std::string_view text);
/// A paragraph for each line of a text.
std::string paragraphs(std::string_view lines);

/// Notes on what was assumed, or, if `all`, also on what was given or derived.
std::string notes_text(const std::vector<Note>& notes, bool all, const Session& session);

class Deployment;
/// beyond_words as a warning in lines of their own; empty when it is not beyond.
std::string beyond_text(const Deployment& on, const Session& session);

/// "KV bf16, index fp8_128, state f32": one format for each sort of stream, "mixed" where they differ.
std::string formats_words(const ModelSpec& model, std::string_view kv_dtype);

/// Columns of the longest line.
std::size_t widest_line(std::string_view text);

/// Each line folded like a paragraph behind `before`.
std::string log_text(const std::vector<std::string>& lines, std::string_view before);

/// The model as it grows up to `tokens`: windows and chunks that these do not fill keep every token so far.
ModelSpec growing_to(ModelSpec model, u64 tokens);

/// What JSON calls the model, the same in every verb: its Hugging Face id, else its label, else the spec line.
std::string full_name(const Model& model);

/// "model", "spec", "kv_cache_dtype" (what is stored) and "kv_cache_dtype_asked" (auto, or a name), as every verb
/// writes them.
void write_model(report::Json& json, const Model& model, std::string_view asked_dtype);

}  // namespace kvcap::cli
