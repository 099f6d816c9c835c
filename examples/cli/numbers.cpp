// SPDX-License-Identifier: MIT
// Numbers as people type them, and the option groups made of numbers.
#include "cli.hpp"
#include "options.hpp"

namespace kvcap::cli {

namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view flag, std::string_view wanted) {
    stop(Exit::usage, fmt::format("{}: '{}' is no {}", flag, text, wanted));
}

struct Digits {
    u64 value = 0;
    std::size_t length = 0;
};

/// Leading digits of `text`; saturates.
Digits leading_digits(std::string_view text) {
    Digits digits;
    while (digits.length < text.size() && text[digits.length] >= '0' && text[digits.length] <= '9') {
        const u64 digit = static_cast<u64>(text[digits.length++] - '0');
        digits.value = saturating_sum(saturating_product(digits.value, 10), digit);
    }
    return digits;
}

u64 suffix_of(std::string_view suffix) {
    if (suffix.empty()) {
        return 1;
    }
    if (suffix == "k" || suffix == "K") {
        return u64{1} << 10;
    }
    return suffix == "m" || suffix == "M" ? u64{1} << 20 : 0;
}

}  // namespace

u64 count_of(std::string_view text, std::string_view flag) {
    const Digits digits = leading_digits(text);
    const u64 times = suffix_of(text.substr(digits.length));
    if (digits.length == 0 || times == 0) {
        refuse(text, flag, "count; wanted a number such as 4096, 32k (= 32,768) or 1m (= 1,048,576)");
    }
    const u64 count = saturating_product(digits.value, times);
    if (count > no_limit.value) {
        refuse(text, flag, "sensible count; at most 2^40");
    }
    return count;
}

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        parts.emplace_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return parts;
}

std::vector<u64> counts_of(std::string_view text, std::string_view flag) {
    std::vector<u64> counts;
    for (const std::string& part : parts_of(text)) {
        counts.push_back(count_of(part, flag));
    }
    return counts;
}

Bytes bytes_of(std::string_view text, std::string_view flag) {
    const Digits digits = leading_digits(text);
    std::string_view rest = text.substr(digits.length);
    u64 tenths = 0;
    u64 scale = 1;
    if (rest.size() > 1 && rest[0] == '.') {
        const Digits fraction = leading_digits(rest.substr(1, 9));
        tenths = fraction.value;
        for (std::size_t i = 0; i < fraction.length; ++i) {
            scale *= 10;
        }
        rest = rest.substr(1 + fraction.length);
    }
    while (!rest.empty() && rest[0] == ' ') {
        rest.remove_prefix(1);
    }
    const report::Unit* unit = report::unit_named(rest.empty() ? "B" : rest);
    if (digits.length == 0 || unit == nullptr) {
        refuse(text, flag, "amount of memory; wanted a number and a unit such as 80GiB, 80GB or 512MiB");
    }
    // tenths / scale of a unit, without losing the high part: tenths < 10^9 and a unit below 2^40 fit 64 bits
    // by halves
    const u64 part = unit->bytes / scale * tenths + unit->bytes % scale * tenths / scale;
    const u64 whole = saturating_sum(saturating_product(digits.value, unit->bytes), part);
    if (whole > u64{1} << 60) {
        refuse(text, flag, "sensible amount of memory; at most 2^60 bytes");
    }
    return {whole};
}

Bytes memory_of(std::string_view text, std::string_view flag) {
    const Bytes bytes = bytes_of(text, flag);
    const bool bare = text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (bare && bytes.value != 0 && bytes.value < u64{1} << 20) {
        stop(Exit::usage, fmt::format("{}: {} is {}; wanted a unit as well, such as {}GiB", flag, text,
                                      report::counted(bytes.value, "byte", "bytes"), text));
    }
    return bytes;
}

void ShardingOptions::add_to(CLI::App& verb) {
    const auto shown = [](CLI::Option* option) {
        return option->group("Sharding")->type_name("N")->check(CLI::Range(1, 65536).description(""));
    };
    const auto size = [&](const char* names, u32& value, const char* text) {
        return shown(verb.add_option(names, value, text));
    };
    size("--tp,--tensor-parallel-size", tp, "Tensor ranks: heads dealt, latents copied");
    size("--pp,--pipeline-parallel-size", pp, "Pipeline stages: layers divided");
    CLI::Option* own = size("--cp", cp, "Context ranks: tokens dealt");
    const auto among = [this](const u32& ranks) { cp = ranks, cp_among_tp = ranks > 1; };
    shown(verb.add_option_function<u32>("--decode-context-parallel-size", among,
                                        "Context ranks among the tensor ranks (vLLM)"))
        ->excludes(own);
    size("--dp,--data-parallel-size", dp, "Replicas of all that: whole requests dealt");
    verb.add_flag("--dp-attention,--enable-dp-attention", dp_attention,
                  "Each of the --tp ranks holds whole requests")
        ->group("Sharding");
    verb.add_option("--pp-split", pp_split, "Spare layers: first, middle, last or 20,21")
        ->group("Sharding")->type_name("RULE")->check(filled());
}

Sharding ShardingOptions::sharding() const {
    Sharding sharding{.tp = dp_attention ? 1 : tp, .pp = pp, .cp = cp};
    if (pp_split.empty() || pp_split == "first" || pp_split == "middle" || pp_split == "last") {
        sharding.remainder = pp_split == "middle" ? Remainder::middle
                             : pp_split == "last" ? Remainder::last
                                                  : Remainder::first;
        return sharding;
    }
    for (const u64 layers : counts_of(pp_split, "--pp-split")) {
        if (layers > 0xffff || !sharding.stage_layers.push(static_cast<u16>(layers))) {
            refuse(pp_split, "--pp-split", "split; wanted first, middle, last or at most 64 layer counts");
        }
    }
    return sharding;
}

void LengthOptions::add_to(CLI::App& verb) {
    const auto option = [&](const char* names, std::string& value, const char* text, const char* type) {
        verb.add_option(names, value, text)->group("Lengths")->type_name(type)->check(filled());
    };
    option("--tokens,--max-model-len", tokens, "8k,32k (k = 1,024) or max; usually 32k", "LIST");
    option("--batch,--max-num-seqs", batch, "Sequences of that length", "N");
    option("--decoded", decoded, "Tokens of these that were decoded", "N");
    option("--encoder-tokens", encoder_tokens, "What cross attention sees", "N");
}

std::vector<u64> LengthOptions::points(const ReadModel& model) const {
    constexpr u64 usual = 32768;
    if (tokens.empty()) {
        return {model.max_context == 0 ? usual : smaller(usual, model.max_context)};
    }
    std::vector<u64> points;
    for (std::size_t at = 0; at <= tokens.size();) {
        const std::size_t comma = std::min(tokens.find(',', at), tokens.size());
        const std::string_view one = std::string_view{tokens}.substr(at, comma - at);
        if (one == "max" && model.max_context == 0) {
            refuse(one, "--tokens", "length here: the model does not say how long its context is");
        }
        points.push_back(one == "max" ? model.max_context : count_of(one, "--tokens"));
        at = comma + 1;
    }
    return points;
}

u64 LengthOptions::sequences() const {
    const u64 sequences = count_of(batch, "--batch");
    if (sequences == 0) {
        stop(Exit::usage, "--batch: 0 sequences hold nothing; at least 1 is wanted");
    }
    return sequences;
}

Lengths LengthOptions::lengths(u64 all, const ReadModel& model) const {
    const u64 own = count_of(decoded, "--decoded");
    if (own > all) {
        refuse(decoded, "--decoded", fmt::format("part of {} tokens", all));
    }
    const u64 encoder =
        encoder_tokens.empty() ? model.encoder_tokens : count_of(encoder_tokens, "--encoder-tokens");
    return {.prompt = {all - own}, .decoded = {own}, .encoder = {encoder}};
}

}  // namespace kvcap::cli
