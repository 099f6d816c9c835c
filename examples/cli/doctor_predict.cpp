// SPDX-License-Identifier: MIT
// A log's start as a question to its engine's rules, and the answer beside what was printed.
#include "doctor_predict.hpp"

#include "doctor_asking.hpp"

#include <algorithm>
#include <cmath>

namespace kvcap::cli {

namespace {

using report::Prediction;

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
    const char* step = start.engine == "llama.cpp" ? "micro-batches" : "steps";
    words += open.step == 0 ? "" : fmt::format(", {} of {}", step, report::grouped(open.step));
    return words + (open.drafts == 0 ? "" : fmt::format(", {} draft tokens", open.drafts));
}

/// Of budgets that give the printed count, those that give the printed concurrency too, as it is printed: in hundredths
/// with vLLM. None does: it disagrees.
void compare_concurrency(Prediction& found, const PrintedFigure& wanted, Asking& rules, double least, double most) {
    const auto at_once = [&](double budget) {
        static_cast<void>(rules.at(budget));
        return rules.said.facts.number("concurrency").value_or(std::nan(""));
    };
    const double low = at_once(least), high = at_once(most);
    if (!report::known(wanted.value, low, high)) {
        return;
    }
    const double printed = wanted.value, half = wanted.half;
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

/// The others of the target's figures, in the same lines of the rules. What they do not print is not compared.
void compare_others(Prediction& found, const Target& target, Asking& rules, double budget) {
    static_cast<void>(rules.at(budget));
    std::vector<PrintedFigure> some = figures_of(rules.said);
    static_cast<void>(take_like(target.figures[0], some));
    for (std::size_t i = 1; i < target.figures.size(); ++i) {
        const PrintedFigure& wanted = target.figures[i];
        const double value = take_like(wanted, some).value;
        if (report::known(value)) {
            found.also.push_back({wanted.figure, target.engine, wanted.value, value, value,
                                  std::abs(value - wanted.value) <= wanted.half});
            found.agrees = found.agrees && found.also.back().agrees;
        }
    }
}

Prediction ask(const LogStart& start, const Model& model, const Target& target, const OpenReading& open,
               const EngineFace& face) {
    Prediction found;
    const PrintedFigure& wanted = target.figures[0];
    found.figure = wanted.figure;
    found.engine = target.engine;
    found.printed = wanted.value;
    Asking rules{start, model, target, open, face};
    double least = std::ceil(target.low);
    const double most = std::floor(target.high);
    found.low = rules.at(least);
    found.high = least == most ? found.low : rules.at(most);
    if (!report::known(found.low) && report::known(found.high)) {  // of the amounts printed alike, those that start
        const auto starts = [&](double budget) { return report::known(rules.at(budget)) ? 1.0 : 0.0; };
        least = first_budget(starts, least, most, 1);
        found.low = rules.at(least);
    }
    found.rules = rules_words(rules, start, open);
    found.asked = report::known(found.low, found.high);
    found.agrees = found.asked && wanted.value + wanted.half >= found.low && wanted.value - wanted.half <= found.high;
    if (found.agrees && least < most) {
        const auto count = [&](double budget) { return rules.at(budget); };
        found.first_budget = first_budget(count, least, most, wanted.value);
        found.last_budget =
            found.high > wanted.value ? first_budget(count, found.first_budget, most, wanted.value + 1) - 1 : most;
        found.agrees = rules.at(found.first_budget) == wanted.value;
    }
    found.count_agrees = found.agrees;
    const bool narrowed = found.agrees && least < most;
    compare_concurrency(found, target.concurrency, rules, narrowed ? found.first_budget : least,
                        narrowed ? found.last_budget : most);
    if (!found.agrees) {
        found.first_budget = found.last_budget = 0;
    }
    if (found.asked) {
        compare_others(found, target, rules, narrowed ? found.first_budget : least);
    }
    return found;
}

/// The first target's answer, and beside it what the same reading says of the others.
Prediction ask_all_of(const LogStart& start, const Model& model, const std::vector<Target>& targets,
                      const OpenReading& open, const EngineFace& face) {
    Prediction all = ask(start, model, targets.front(), open, face);
    for (std::size_t i = 1; i < targets.size() && all.asked; ++i) {
        Prediction one = ask(start, model, targets[i], open, face);
        if (!one.asked) {
            continue;
        }
        const bool decides = targets[i].decides;
        all.also.push_back({one.figure, one.engine, one.printed, one.low, one.high, one.agrees, decides});
        all.agrees = all.agrees && (one.agrees || !decides);
        all.count_agrees = all.count_agrees && (one.count_agrees || !decides);
    }
    return all;
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
Prediction best_reading(const LogStart& start, const Model& model, const std::vector<Target>& targets,
                        const EngineFace& face) {
    Prediction first;
    OpenReading told;
    std::vector<std::string> agreeing;
    std::vector<OpenReading> open = readings(start);
    const auto ask_all = [&](const std::vector<OpenReading>& some) {
        for (const OpenReading& one : some) {
            try {
                Prediction found = ask_all_of(start, model, targets, one, face);
                const bool nearer = found.count_agrees && !first.count_agrees;
                const bool better = agreeing.empty() && (found.agrees || (found.asked && (nearer || !first.asked)));
                if (found.agrees) {
                    agreeing.push_back(found.rules);
                }
                if (better) {
                    first = std::move(found);
                    told = one;
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
    if (!agreeing.empty() && told.drafts != 0) {
        first.reason = "the arguments are cut off; with the model's own drafts (MTP) it agrees, without them not";
    } else if (!agreeing.empty() && told.kv_dtype == "fp8" && start.facts.text("kv_dtype") == "auto") {
        first.reason =
            "the log says auto, with which it does not agree: fp8 is what a checkpoint asks for that stores its scales";
    }
    if (agreeing.size() > 1) {
        first.reason += first.reason.empty() ? "" : "; ";
        first.reason += fmt::format(
            "{} readings give it ({}); {} in the log would decide", agreeing.size(), fmt::join(agreeing, "; "),
            start.engine == "llama.cpp" ? "n_ubatch" : "the version, the parallel sizes or the dtype");
    } else if (agreeing.empty() && first.asked && open.size() > 1) {
        first.reason = fmt::format("nor does any other of {} readings of what the log does not say", open.size());
    }
    return first;
}

}  // namespace

report::Prediction predict(const LogStart& start, const std::string& given) {
    Prediction none;
    none.model = given.empty() ? card_of_log(start) : given;
    const std::vector<Target> targets = targets_of(start);
    const EngineFace* face = face_named(face_of(start));
    if (none.model.empty()) {
        none.reason = "the log names no model that is known here; --model names it";
        return none;
    }
    if (face == nullptr || targets.empty()) {
        const std::string lines = wanted_lines(start);
        none.reason = "the log has no figure that the rules could be asked for" +
                      (lines.empty() ? "" : "; they are asked for the lines " + lines);
        return none;
    }
    Prediction found = best_reading(start, load({.model = none.model, .kv_cache_dtype = "auto"}), targets, *face);
    found.model = none.model;
    if (!found.asked && found.reason.empty()) {
        found.reason = "the rules refuse this start";
    }
    return found;
}

}  // namespace kvcap::cli
