// SPDX-License-Identifier: MIT
// Which card a log's model name means, and what that card alone says about the start.
#include "cards.hpp"
#include "doctor_predict.hpp"
#include "doctor_readings.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

using report::gib;

/// Words that name how weights are stored, not which model it is.
bool weight_word(std::string_view text) {
    const std::string word = io::lower_case(text);
    constexpr std::string_view known[] = {
        "fp8",   "awq",  "gptq",  "int4", "int8", "4bit", "8bit", "autoround", "bf16", "fp16",    "nvfp4",
        "mxfp4", "w8a8", "w4a16", "gguf", "ud",   "k",    "xl",   "m",         "s",    "dynamic", "quantized"};
    const bool quant = word.size() >= 2 && (word[0] == 'q' || word.starts_with("iq")) &&
                       word.find_first_of("0123456789") != word.npos;
    return quant || std::find(std::begin(known), std::end(known), word) != std::end(known);
}

/// Without words of how weights are stored at its end.
std::string bare(std::string name) {
    for (std::size_t cut = 0; (cut = name.find_last_of("-._")) != name.npos && weight_word(name.substr(cut + 1));) {
        name.resize(cut);
    }
    return name;
}

/// The card of that name; else one that differs in how its weights are stored alone, which no cache depends on.
std::string lookup(std::string name) {
    const std::string plain = bare(name);
    for (; !name.empty(); name.resize(name.find_last_of("-._"))) {
        if (find_card(name) != nullptr) {
            return name;
        }
        if (name.size() <= plain.size()) {
            break;
        }
    }
    for (const Card& card : cards()) {
        if (!plain.empty() && io::same_letters(bare(std::string{card.name}), plain)) {
            return std::string{card.name};
        }
    }
    return {};
}

}  // namespace

std::string card_of_log(const LogStart& start) {
    for (const char* fact : {"model", "model_name", "served_name"}) {
        std::string name = start.facts.text(fact);
        if (std::string found = lookup(name); !found.empty()) {
            return found;
        }
        name = name.substr(name.rfind('/') + 1);
        if (std::string found = lookup(name); !found.empty()) {
            return found;
        }
    }
    return {};
}

/// Cards of one architecture that all store a token alike speak for it.
std::optional<double> token_bytes(const LogStart& start, const std::string& given) {
    const std::string name = given.empty() ? card_of_log(start) : given;
    std::vector<std::string> names;
    if (!name.empty()) {
        names.push_back(name);
    } else if (const std::string arch = start.facts.text("arch"); !arch.empty()) {
        for (const Card& card : cards()) {
            if (card.text.find('"' + arch + '"') != card.text.npos) {
                names.emplace_back(card.name);
            }
        }
    }
    std::optional<double> bytes;
    for (const std::string& one : names) {
        const Model model = load({.model = one});
        const auto many = fold(model.spec, {.prompt = {65536}});
        const double each = many ? static_cast<double>(many->growing.value) / 65536 : 0;
        if (bytes && *bytes != each) {
            return std::nullopt;
        }
        bytes = each;
    }
    return bytes;
}

std::optional<report::Finding> replication(const LogStart& start, const std::string& given) {
    const std::string name = given.empty() ? card_of_log(start) : given;
    const double stated = start.facts.number("tp").value_or(1);
    const Sharding split = split_of(start, stated >= 1 && stated <= 1024 ? static_cast<u32>(stated) : 1);
    const double tp = split.tp;
    if (name.empty() || tp < 2) {
        return std::nullopt;
    }
    const Model model = load({.model = name});
    const auto whole = fold(model.spec, {.prompt = {65536}});
    const auto rank = fold(model.spec, {.prompt = {65536}}, split);
    if (!whole || !rank || whole->growing.value == 0) {
        return std::nullopt;
    }
    const double copies = static_cast<double>(rank->growing.value) * tp / static_cast<double>(whole->growing.value);
    if (copies < 1.01) {
        return std::nullopt;
    }
    report::Finding found{
        .kind = "replicated-under-tp",
        .seen = fmt::format("{:.0f} ranks hold {:.2f} copies of a token", tp, copies),
        .meaning = "there are fewer KV heads, or latents, than ranks: tensor parallelism does not divide them",
        .change = split.cp > 1 ? "more context ranks, or fewer ranks of attention"
                               : "attention data parallelism, or fewer ranks of attention"};
    found.with("copies", copies).with("bytes_per_token_on_rank", static_cast<double>(rank->growing.value) / 65536);
    const double pool = start.facts.number("available_kv_gib").value_or(0) * gib;
    found.gain_bytes = pool > 0 ? pool * (1 - 1 / copies) : 0;
    return found;
}

}  // namespace kvcap::cli
