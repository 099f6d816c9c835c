// SPDX-License-Identifier: MIT
// A log's start as a question to its engine's rules, and the answer beside what was printed.
#include "doctor_predict.hpp"

#include "cards.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvcap::cli {

namespace {

using report::gib;
using report::mib;
using report::Prediction;

constexpr u64 boundless = u64{1} << 50;

/// Words that name how weights are stored, not which model it is.
bool weight_word(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
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

bool same_word(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
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
        if (!plain.empty() && same_word(bare(std::string{card.name}), plain)) {
            return std::string{card.name};
        }
    }
    return {};
}

/// One reading of what the log leaves open.
struct Open {
    std::string version;
    u32 tp = 1;
    std::string kv_dtype;
    u32 drafts = 0;  ///< draft tokens a step that the log does not say
};

std::string release_of(std::string_view version) {
    const std::size_t start = version.starts_with("v") ? 1 : 0;
    std::size_t end = start;
    while (end < version.size() && (version[end] == '.' || (version[end] >= '0' && version[end] <= '9'))) {
        ++end;
    }
    return std::string{version.substr(start, end - start)};
}

std::string kv_dtype(const LogStart& start) {
    std::string name = start.facts.text("kv_dtype");
    name = name.starts_with("torch.") ? name.substr(6) : name;
    return name.empty()                              ? "auto"
           : name == "float8_e4m3fn"                 ? "fp8_e4m3"
           : name == "bfloat16" || name == "float16" ? "bf16"
                                                     : name;
}

/// Stated ones alone; else newest rules and older ones, and the usual sizes.
std::vector<Open> readings(const LogStart& start) {
    const logs::Datum* tp = start.facts.find("tp");
    const std::string stated = release_of(start.facts.text("version"));
    std::vector<std::string> versions{stated};
    if (start.engine == "vllm" && stated.empty()) {
        versions = {"", "0.24", "0.20", "0.16", "0.12", "0.10"};
    } else if (start.engine != "vllm") {
        versions = {""};
    }
    const bool arguments_seen =
        start.facts.has("gpu_memory_utilization") && start.facts.has("model") && start.engine == "vllm";
    std::vector<u32> sizes{1, 2, 4, 8};
    if (tp != nullptr) {
        sizes = {static_cast<u32>(std::clamp<std::int64_t>(tp->integer, 1, 1024))};
    } else if (arguments_seen || start.engine == "llama.cpp") {
        sizes = {1};
    }
    std::vector<Open> all;
    const std::string dtype = kv_dtype(start);
    for (const std::string& version : versions) {
        for (const u32 size : sizes) {
            all.push_back({version, size, dtype});
            if (dtype == "auto" && !arguments_seen && start.engine != "llama.cpp") {
                all.push_back({version, size, "fp8"});
            }
        }
    }
    return all;
}

void give(EngineFlags& flags, const LogStart& start, std::string_view fact, std::string_view flag) {
    if (const logs::Datum* datum = start.facts.find(fact)) {
        flags[std::string{flag}] =
            datum->kind == logs::Datum::Kind::integer ? std::to_string(datum->integer) : datum->words;
    }
}

EngineFlags flags_of(const LogStart& start) {
    EngineFlags flags;
    if (start.engine == "vllm") {
        give(flags, start, "block_size_given", "block-size");
        give(flags, start, "max_num_batched_tokens", "max-num-batched-tokens");
        give(flags, start, "state_mode", "mamba-cache-mode");
        give(flags, start, "spec_tokens", "num-speculative-tokens");
        give(flags, start, "prefix_match_unit", "prefix-match-unit");
        if (start.facts.is("prefix_caching", false)) {
            flags["no-enable-prefix-caching"] = "";
        }
        if (start.facts.has("hybrid_manager")) {
            flags["disable-hybrid-kv-cache-manager"] = "";
        }
    } else if (start.engine == "sglang") {
        give(flags, start, "page_size", "page-size");
        give(flags, start, "capacity_tokens", "max-total-tokens");
    } else if (start.engine == "tensorrt-llm") {
        give(flags, start, "tokens_per_block", "tokens-per-block");
    } else {
        give(flags, start, "n_ctx", "ctx-size");
        give(flags, start, "n_seq_max", "parallel");
        give(flags, start, "n_ubatch", "ubatch-size");
        give(flags, start, "kv_type_k", "cache-type-k");
        give(flags, start, "kv_type_v", "cache-type-v");
        if (start.facts.is("kv_unified", true)) {
            flags["kv-unified"] = "";
        }
    }
    return flags;
}

/// fact: what is compared. low, high: the budgets that the printed amount stands for; equal when none matters.
struct Target {
    std::string fact;
    std::string face;
    double low = static_cast<double>(boundless);
    double high = static_cast<double>(boundless);
};

Target target_of(const LogStart& start) {
    report::Diagnosis on{start.facts};
    const auto between = [&](std::string_view amount, std::string fact, std::string face) {
        return Target{std::move(fact), std::move(face), on.low(amount) * gib, on.high(amount) * gib};
    };
    if (start.engine == "vllm" && on["available_kv_gib"] > 0) {
        return between("available_kv_gib", on.has("capacity_tokens") ? "capacity_tokens" : "estimated_max_len",
                       "vllm");
    }
    if (start.engine == "tensorrt-llm" && on["kv_gib"] > 0) {
        return between("kv_gib", "capacity_tokens", "trtllm");
    }
    if (start.engine == "sglang") {
        return {on.has("kv_size_gb") ? "kv_size_gb" : "k_size_gb", "sglang"};
    }
    if (start.engine == "llama.cpp" && on.has("n_ctx")) {
        return {"kv_mib", "llamacpp"};
    }
    return {};
}

/// One question to the rules; not a number when they refuse.
class Asking {
public:
    Asking(const LogStart& start, const Model& model, const Target& target, const Open& open, const EngineFace& face)
        : flags_{flags_of(start)}, target_{target}, face_{face} {
        question_.model = &model;
        if (open.drafts != 0) {
            flags_["num-speculative-tokens"] = std::to_string(open.drafts);
        }
        question_.version = open.version;
        question_.kv_cache_dtype = open.kv_dtype;
        question_.sharding.tp = open.tp;
        report::Diagnosis on{start.facts};
        question_.sharding.pp = report::known(on["pp"]) ? static_cast<u32>(std::clamp(on["pp"], 1.0, 64.0)) : 1;
        const double length = report::known(on["max_model_len"]) ? on["max_model_len"] : on["n_ctx"];
        question_.max_len = report::known(length) && length >= 1 ? static_cast<u64>(length) : 4096;
        question_.each = {{.prompt = {question_.max_len}}};
        question_.counts = {1};
        question_.flags = &flags_;
    }
    double at(double budget) {
        question_.available.assign(question_.sharding.pp, Bytes{static_cast<u64>(budget)});
        const EngineAnswer answer = face_.ask(question_);
        rules = answer.rules;
        if (target_.fact == "estimated_max_len") {
            return answer.longest_hint != 0 ? static_cast<double>(answer.longest_hint) : std::nan("");
        }
        if (!answer.runs()) {
            return std::nan("");
        }
        std::string lines;
        for (const std::string& line : answer.log) {
            lines += line + '\n';
        }
        for (const LogStart& start : read_log(std::string_view{lines}).starts) {
            if (const auto value = start.facts.number(target_.fact)) {
                return *value;
            }
        }
        return std::nan("");
    }
    std::string rules;

private:
    EngineFlags flags_;
    Target target_;
    const EngineFace& face_;
    EngineQuestion question_;
};

/// The least budget whose count is at least `count`. pre: f grows, f(high) >= count.
template <class F>
double first_budget(F&& f, double low, double high, double count) {
    while (high - low >= 1) {
        const double middle = std::floor((low + high) / 2);
        const double value = f(middle);
        (value >= count ? high : low) = value >= count ? middle : middle + 1;
    }
    return high;
}

Prediction ask(const LogStart& start, const Model& model, const Target& target, const Open& open,
               const EngineFace& face) {
    Prediction found;
    report::Diagnosis on{start.facts};
    found.printed = on[target.fact];
    Asking rules{start, model, target, open, face};
    const double least = std::ceil(target.low), most = std::floor(target.high);
    found.low = rules.at(least);
    found.high = least == most ? found.low : rules.at(most);
    found.rules =
        fmt::format("{}{}{}{}", rules.rules, start.engine == "llama.cpp" ? "" : fmt::format(", TP {}", open.tp),
                    open.kv_dtype == "auto" ? "" : ", KV " + open.kv_dtype,
                    open.drafts == 0 ? "" : fmt::format(", {} draft tokens", open.drafts));
    found.asked = report::known(found.low, found.high);
    const double half = on.high(target.fact) - found.printed;
    found.agrees = found.asked && found.printed + half >= found.low && found.printed - half <= found.high;
    if (found.agrees && least < most) {
        const auto tokens = [&](double budget) { return rules.at(budget); };
        found.first_budget = first_budget(tokens, least, most, found.printed);
        found.last_budget =
            found.high > found.printed ? first_budget(tokens, found.first_budget, most, found.printed + 1) - 1 : most;
        found.agrees = rules.at(found.first_budget) == found.printed;
    }
    return found;
}

const EngineFace* face_named(std::string_view name) {
    for (const EngineFace* face : engine_faces()) {
        if (face->name == name) {
            return face;
        }
    }
    return nullptr;
}

/// The same readings with the model's own drafts (MTP), where the log may have said so: its arguments are cut
/// off or not there at all.
std::vector<Open> with_drafts(const LogStart& start, const Model& model, const std::vector<Open>& open) {
    const bool whole = start.facts.has("gpu_memory_utilization") && !start.facts.has("cut_words");
    if (start.engine != "vllm" || model.read.draft.layers == 0 || start.facts.has("spec_tokens") || whole) {
        return {};
    }
    std::vector<Open> all;
    for (u32 drafts = 1; drafts <= 4; ++drafts) {
        for (Open one : open) {
            one.drafts = drafts;
            all.push_back(one);
        }
    }
    return all;
}

/// All readings are asked: the first that agrees is told, the others are named; without one, the newest rules'
/// answer.
Prediction best_reading(const LogStart& start, const Model& model, const Target& target, const EngineFace& face) {
    Prediction first;
    std::vector<std::string> agreeing;
    std::vector<Open> open = readings(start);
    const auto ask_all = [&](const std::vector<Open>& some) {
        for (const Open& one : some) {
            try {
                Prediction found = ask(start, model, target, one, face);
                const bool better = found.agrees ? agreeing.empty() : found.asked && !first.asked;
                if (found.agrees) {
                    agreeing.push_back(found.rules);
                }
                if (better) {
                    first = std::move(found);
                }
            } catch (const Stop& refused) {
                first.reason = first.asked ? first.reason : refused.text;
            }
        }
    };
    ask_all(open);
    if (agreeing.empty()) {
        const std::vector<Open> drafting = with_drafts(start, model, open);
        ask_all(drafting);
        open.insert(open.end(), drafting.begin(), drafting.end());
    }
    const bool drafted = !agreeing.empty() && agreeing.front().find("draft tokens") != std::string::npos;
    first.reason = drafted ? "the arguments are cut off; with the model's own drafts (MTP) it agrees, without them not"
                           : first.reason;
    if (agreeing.size() > 1) {
        first.reason += first.reason.empty() ? "" : "; ";
        first.reason += fmt::format(
            "{} readings give it ({}); the version, the parallel sizes or the dtype in the log would decide",
            agreeing.size(), fmt::join(agreeing, "; "));
    } else if (agreeing.empty() && first.asked && open.size() > 1) {
        first.reason = fmt::format("nor does any other of {} readings of what the log does not say", open.size());
    }
    return first;
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

report::Prediction predict(const LogStart& start, const std::string& given) {
    Prediction none;
    none.model = given.empty() ? card_of_log(start) : given;
    const Target target = target_of(start);
    const EngineFace* face = face_named(target.face);
    if (none.model.empty()) {
        none.reason = "the log names no model that is known here; --model names it";
        return none;
    }
    if (face == nullptr || !start.facts.has(target.fact)) {
        none.reason = "the log has no figure that the rules could be asked for";
        return none;
    }
    Prediction found = best_reading(start, load({.model = none.model, .kv_cache_dtype = "auto"}), target, *face);
    found.model = none.model;
    if (!found.asked && found.reason.empty()) {
        found.reason = "the rules refuse this start";
    }
    return found;
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
    const double tp = start.facts.number("tp").value_or(1);
    if (name.empty() || tp < 2 || tp > 1024) {
        return std::nullopt;
    }
    const Model model = load({.model = name});
    const auto whole = fold(model.spec, {.prompt = {65536}});
    const auto rank = fold(model.spec, {.prompt = {65536}}, {.tp = static_cast<u32>(tp)});
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
        .change = "attention data parallelism, or fewer ranks of attention"};
    found.with("copies", copies).with("bytes_per_token_on_rank", static_cast<double>(rank->growing.value) / 65536);
    const double pool = start.facts.number("available_kv_gib").value_or(0) * gib;
    found.gain_bytes = pool > 0 ? pool * (1 - 1 / copies) : 0;
    return found;
}

}  // namespace kvcap::cli
