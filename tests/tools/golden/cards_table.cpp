// SPDX-License-Identifier: MIT
// The table of model cards: what each model keeps, in one line.
#include "cards.hpp"

#include <kvcap/core.hpp>
#include <kvcap/io/spec_line.hpp>

namespace golden {

using namespace kvcap;

namespace {

/// 1,234,567
std::string grouped(u64 number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, ",");
    }
    return digits;
}

/// Far behind every window of a card, and a multiple of every stride.
constexpr u64 far = 1ull << 24;

std::string row(const CardFile& card) {
    const ReadModel& model = *card.read;
    const Footprint at_end = fold(model.spec, {.prompt = {far}, .encoder = {1}}).value();
    const Footprint at_32k = fold(model.spec, {.prompt = 32'768_tok}).value();
    return "| " + card.name + " | " + card.content.value("hf_id", "") + " | `" +
           layers_line(model.spec, model.shared) + "` | " + grouped(at_end.growing.value / far) + " | " +
           grouped(at_end.bounded.value) + " | " + grouped(at_end.state.value) + " | " + grouped(at_end.cross.value) +
           " | " + grouped(at_32k.total().value) + " | " +
           (model.max_context == 0 ? std::string{"-"} : grouped(model.max_context)) + " |\n";
}

}  // namespace

std::string cards_table() {
    std::string table =
        "# Models\n\n"
        "The model cards of `configs/models`, by family and name. Names, ids and parts of them are what `MODEL`\n"
        "takes; the layers are a spec line, which `MODEL` takes too. Bytes are held bytes of one sequence on one\n"
        "rank, with 16-bit keys, values and latents; states and index keys as the models' files or their engines\n"
        "store them. Sparse entries count as averages. Written by `kvcap-golden --cards-table`, checked by the\n"
        "golden tests.\n\n"
        "In C++, 24 of them are constants of the build, named like their cards with underscores:\n"
        "`#include <kvcap/models/deepseek.hpp>` gives `kvcap::models::deepseek_v3`. Each equals its card read at\n"
        "run time.\n\n"
        "| card | Hugging Face id | layers | grows, B a token | windows, B | states, B | B an encoder token "
        "| held at 32,768 tokens, B | context |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (const auto& [name, card] : all_cards()) {
        table += card.read ? row(card) : "| " + name + " | unreadable |\n";
    }
    return table;
}

}  // namespace golden
