// SPDX-License-Identifier: MIT
// A reuse answer in words: what a group needs, why the answer is not more, and a row of pages as a line.
#pragma once

#include <kvcap/report/amount.hpp>
#include <kvcap/reuse/explain.hpp>
#include <string>
#include <string_view>

namespace kvcap::inline v1::report {

inline std::string_view name_of(Needs needs) {
    switch (needs) {
        case Needs::everything: return "everything";
        case Needs::window: return "window";
        case Needs::chunk: return "chunk";
        case Needs::snapshot: return "snapshot";
        case Needs::whole: return "whole";
        case Needs::nothing: return "nothing";
    }
    return "nothing";
}

inline std::string_view name_of(Why why) {
    switch (why) {
        case Why::limit: return "limit";
        case Why::last_token: return "last_token";
        case Why::alignment: return "alignment";
        case Why::missing_page: return "missing_page";
        case Why::missing_sink: return "missing_sink";
        case Why::broken_window: return "broken_window";
        case Why::broken_chunk: return "broken_chunk";
        case Why::no_snapshot: return "no_snapshot";
        case Why::source_missing: return "source_missing";
        case Why::several: return "several";
    }
    return "several";
}

/// "everything before", "last 1,023 tokens + 4 sinks", "own chunk of 8,192", "a state exactly there"
inline std::string needs_words(const Rule& rule) {
    switch (rule.needs) {
        case Needs::everything:
            return "everything before" +
                   (rule.lag == 0 ? std::string{} : " but the last " + grouped(rule.lag));
        case Needs::window:
            return "last " + counted(rule.reach, "token", "tokens") +
                   (rule.sinks == 0 ? "" : " + first " + grouped(rule.sinks));
        case Needs::chunk: return "its chunk of " + grouped(rule.reach);
        case Needs::snapshot: return "a state exactly there";
        case Needs::whole: return "all encoder tokens";
        case Needs::nothing: break;
    }
    return "nothing";
}

/// The rule as a sentence about skipping p tokens.
inline std::string rule_sentence(const Rule& rule) {
    switch (rule.needs) {
        case Needs::everything:
            return "every token before p must be there" +
                   (rule.lag == 0 ? "" : ", but for the youngest " + grouped(rule.lag)) +
                   (rule.stride == 1 ? "" : ", in finished entries of " + grouped(rule.stride));
        case Needs::window:
            return "only tokens [p - " + grouped(rule.reach) +
                   ", p) must be there; earlier pages may be missing" +
                   (rule.sinks == 0 ? "" : ", except the first " + grouped(rule.sinks) + " tokens");
        case Needs::chunk:
            return "only the tokens of p's own chunk of " + grouped(rule.reach) +
                   " must be there, none where p is a multiple";
        case Needs::snapshot:
            return "a state must have been kept after exactly p tokens; one before or after is no use";
        case Needs::whole: return "the keys and values of all encoder tokens must be there, whatever p is";
        case Needs::nothing: break;
    }
    return "nothing must be there";
}

inline std::string page_range(const Rule& rule, u64 page) {
    return fmt::format("page {} (tokens {} to {})", grouped(page), grouped(page * rule.page),
                       grouped((page + 1) * rule.page - 1));
}

/// Why it is not more. rule, name: of the reason's group, unused when it names none.
inline std::string reason_sentence(const Reason& reason, const Rule& rule, std::string_view name) {
    const std::string to = grouped(reason.refused);
    switch (reason.why) {
        case Why::limit: return "That is all that was asked for.";
        case Why::last_token:
            return fmt::format("All groups would accept {}, but the last token is always computed.", to);
        case Why::alignment: return "The rest of the prompt is less than a whole unit.";
        case Why::several: return "No group or pair limits alone: at least three are in the way.";
        case Why::no_snapshot: return fmt::format("{}: no state was kept at {}.", name, to);
        case Why::missing_page: return fmt::format("{}: {} is missing.", name, page_range(rule, reason.page));
        case Why::missing_sink:
            return fmt::format("{}: {} of the first tokens is missing.", name, page_range(rule, reason.page));
        case Why::broken_window:
            return fmt::format("{}: {} is missing from the window before {}.", name,
                               page_range(rule, reason.page), to);
        case Why::broken_chunk:
            return fmt::format("{}: {} is missing from the chunk of {}.", name, page_range(rule, reason.page),
                               to);
        case Why::source_missing:
            return fmt::format("{}: encoder page {} is missing.", name, grouped(reason.page));
    }
    return {};
}

/// `cells` characters for tokens [0, prompt): # all held there, + some, . none. A snapshot counts in the cell
/// where it lies, after its page's last token.
template <PageSource S>
std::string page_line(const Group<S>& group, u64 prompt, u64 cells) {
    std::string line;
    const u64 page_tokens =
        group.rule.needs == Needs::whole ? ceil_div(prompt, larger(1, group.pages.count)) : group.rule.page;
    for (u64 cell = 0; cell < cells; ++cell) {
        const u64 first = prompt * cell / cells / page_tokens;
        const u64 end = larger(first + 1, ceil_div(prompt * (cell + 1) / cells, page_tokens));
        const bool none = last_held(group.pages, first, smaller(end, group.pages.count)) == no_page;
        const bool all = first_missing(group.pages, first, end) >= end;
        line += none ? '.' : all ? '#' : '+';
    }
    return line;
}

}  // namespace kvcap::inline v1::report
