// SPDX-License-Identifier: MIT
// What screens have in common: the heading that says which model this is, and notes at the end.
#pragma once

#include "cli.hpp"

namespace kvcap::cli {

/// "DeepSeek-V3 = 61*mla(512,64)    KV bf16    TP 8", folded to 80 columns. `further`: words such as "TP 8".
std::string heading(const Model& model, std::string_view further, const Session& session);

/// Text in lines of at most 80 columns, folded at blanks; lines after the first are indented.
std::string paragraph(std::string_view text);
/// The same for each line of a text.
std::string paragraphs(std::string_view lines);

/// Notes on what was assumed, or, if `all`, also on what was given or derived.
std::string notes_text(const std::vector<Note>& notes, bool all, const Session& session);

/// "KV bf16, index fp8_128, state f32": one format for each sort of stream, "mixed" where they differ.
std::string formats_words(const ModelSpec& model, std::string_view kv_dtype);

}  // namespace kvcap::cli
