// SPDX-License-Identifier: MIT
// What the parts of the llama.cpp golden format share: a case's model and options, and names of the golden
// files.
#pragma once

#include "llamacpp_gguf.hpp"
#include "strict_object.hpp"

#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>

namespace golden {

/// A model as it is read: from a GGUF file that is written from the metadata.
kvcap::Diagnosed<kvcap::gguf::GgufModel> llamacpp_model(const Json& metadata, bool nextn_tensors);
kvcap::Diagnosed<kvcap::llamacpp::Card> llamacpp_card(const Json& metadata, bool nextn_tensors);

/// The library's options of a `flags` object; reads every key.
kvcap::llamacpp::Options llamacpp_options(const StrictObject& flags);

const char* llamacpp_part(kvcap::llamacpp::Part part);
const char* llamacpp_memory(kvcap::llamacpp::Memory memory);
std::string mib_text(kvcap::llamacpp::PrintedMib mib);

/// Every cache of a layout, as the `caches` list describes it.
Json llamacpp_caches(const kvcap::llamacpp::Card& card, const kvcap::llamacpp::Layout& layout);

/// GGUF files beside a golden file whose name begins a case's id: key by key, and card by card, one case
/// each.
void run_gguf_of_cases(const File& file);

/// Every GGUF file beside a golden file, one case each.
void run_gguf_files(Report& report, const std::string& path);
bool is_first_of_folder(const std::string& path);

}  // namespace golden
