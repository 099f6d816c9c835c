// SPDX-License-Identifier: MIT
// A log's start as a question to its engine's rules, and the answer beside what was printed.
#include "doctor_predict.hpp"

#include "doctor_readings.hpp"

#include <algorithm>
#include <cmath>

namespace kvcap::cli {

namespace {

using report::gib;
using report::Prediction;

constexpr u64 boundless = u64{1} << 50;

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
    Asking(const LogStart& start, const Model& model, const Target& target, const OpenReading& open,
           const EngineFace& face)
        : flags_{flags_of(start)}, target_{target}, face_{face} {
        question_.model = &model;
        if (open.drafts != 0) {
            flags_["num-speculative-tokens"] = std::to_string(open.drafts);
        }
        if (open.step != 0) {
            flags_["max-num-batched-tokens"] = std::to_string(open.step);
        }
        question_.version = open.version;
        question_.kv_cache_dtype = open.kv_dtype;
        const bool context = start.engine == "vllm";  // SGLang's prints what one rank holds of every request
        question_.sharding = split_of(start, open.tp);
        question_.sharding.cp = context ? question_.sharding.cp : 1;
        report::Diagnosis on{start.facts};
        question_.sharding.pp = report::known(on["pp"]) ? static_cast<u32>(std::clamp(on["pp"], 1.0, 64.0)) : 1;
        const double length = report::known(on["max_model_len"]) ? on["max_model_len"] : on["n_ctx"];
        question_.max_len = report::known(length) && length >= 1 ? static_cast<u64>(length) : 4096;
        question_.each = {{.prompt = {question_.max_len}}};
        question_.counts = {1};
        question_.flags = &flags_;
    }
    /// What the rules say of the target's fact for this budget; `concurrency` is then what they print beside it.
    double at(double budget) {
        concurrency = std::nan("");
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
                concurrency = start.facts.number("concurrency").value_or(concurrency);
                return *value;
            }
        }
        return std::nan("");
    }
    const Sharding& split() const { return question_.sharding; }

    std::string rules;
    double concurrency = std::nan("");

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

/// "vLLM 0.28.0 (2026-08), TP 8, DCP 8, KV fp8"
std::string rules_words(const Asking& rules, const LogStart& start, const OpenReading& open) {
    const Sharding& split = rules.split();
    std::string words = rules.rules + (start.engine == "llama.cpp" ? "" : fmt::format(", TP {}", open.tp));
    words += split.tp == open.tp ? "" : fmt::format(" ({} in attention)", split.tp);
    words += split.cp == 1 ? "" : fmt::format(", DCP {}", split.cp);
    words += open.kv_dtype == "auto" ? "" : ", KV " + open.kv_dtype;
    words += open.step == 0 ? "" : fmt::format(", steps of {}", report::grouped(open.step));
    return words + (open.drafts == 0 ? "" : fmt::format(", {} draft tokens", open.drafts));
}

/// Of budgets that give the printed count, those that give the printed concurrency too, as it is printed: in hundredths
/// with vLLM. None does: it disagrees.
void compare_concurrency(Prediction& found, report::Diagnosis& on, Asking& rules, double least, double most) {
    const auto at_once = [&](double budget) {
        static_cast<void>(rules.at(budget));
        return rules.concurrency;
    };
    const double low = at_once(least), high = at_once(most);
    if (!report::known(on["concurrency"], low, high)) {
        return;
    }
    const double printed = on["concurrency"], half = on.high("concurrency") - printed;
    found.concurrency = report::Beside{printed, low, high};
    if (!found.agrees) {
        return;
    }
    found.agrees = low <= printed + half && high >= printed - half;
    if (found.agrees && least < most) {
        found.first_budget = first_budget(at_once, least, most, printed - half);
        found.agrees = at_once(found.first_budget) <= printed + half;
        found.last_budget =
            high > printed + half ? first_budget(at_once, found.first_budget, most, printed + half) - 1 : most;
    }
}

Prediction ask(const LogStart& start, const Model& model, const Target& target, const OpenReading& open,
               const EngineFace& face) {
    Prediction found;
    report::Diagnosis on{start.facts};
    found.printed = on[target.fact];
    Asking rules{start, model, target, open, face};
    const double least = std::ceil(target.low), most = std::floor(target.high);
    found.low = rules.at(least);
    found.high = least == most ? found.low : rules.at(most);
    found.rules = rules_words(rules, start, open);
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
    found.count_agrees = found.agrees;
    const bool narrowed = found.agrees && least < most;
    compare_concurrency(found, on, rules, narrowed ? found.first_budget : least, narrowed ? found.last_budget : most);
    if (!found.agrees) {
        found.first_budget = found.last_budget = 0;
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

/// All readings are asked: the first that agrees is told, the others are named; without one, the first that gives the
/// count though not the concurrency, or else the newest rules' answer.
Prediction best_reading(const LogStart& start, const Model& model, const Target& target, const EngineFace& face) {
    Prediction first;
    std::vector<std::string> agreeing;
    std::vector<OpenReading> open = readings(start);
    const auto ask_all = [&](const std::vector<OpenReading>& some) {
        for (const OpenReading& one : some) {
            try {
                Prediction found = ask(start, model, target, one, face);
                const bool nearer = found.count_agrees && !first.count_agrees;
                const bool better = agreeing.empty() && (found.agrees || (found.asked && (nearer || !first.asked)));
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
    const std::vector<OpenReading> more[] = {with_steps(start, open), with_drafts(start, model, open)};
    for (const std::vector<OpenReading>& some : more) {
        if (agreeing.empty()) {
            ask_all(some);
            open.insert(open.end(), some.begin(), some.end());
        }
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

}  // namespace kvcap::cli
