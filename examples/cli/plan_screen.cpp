// SPDX-License-Identifier: MIT
// What a search found, as a table with the reasons in words, and as JSON (kvcap.plan/1).
#include "plan.hpp"
#include "screen.hpp"

#include <algorithm>
#include <kvcap/report.hpp>

namespace kvcap::cli {

namespace {

u64 reached(const Outcome& outcome, Goal goal) {
    return goal == Goal::context      ? outcome.context
           : goal == Goal::least_read ? outcome.read_per_token
                                      : outcome.sequences;
}

const char* unit_of(Goal goal) {
    return goal == Goal::context ? "tokens" : goal == Goal::least_read ? "bytes read a token" : "requests";
}

/// What the best split has that the other lacks.
const char* advantage(const Candidate& best, const Candidate& other) {
    return best.attention_dp                       ? "each request is held once, not on every tensor rank"
           : other.attention_dp                    ? "its weights are divided over more ranks"
           : best.sharding.pp != other.sharding.pp ? "a pipeline holds what its fullest stage holds"
           : best.dp > other.dp                    ? "fewer tensor ranks hold each request"
           : best.sharding.tp != other.sharding.tp
               ? "heads divide over its ranks and leave more room beside the weights"
               : "its replicas hold fewer copies";
}

/// The best against the next that is another split in the same format and reaches something else; empty when
/// there is none.
std::string why_best(const Search& search, const SearchResult& found) {
    if (found.ranked.size() < 2) {
        return {};
    }
    const Ranked& best = found.ranked[0];
    const u64 most = reached(best.outcome, search.goal);
    const auto other = std::find_if(found.ranked.begin() + 1, found.ranked.end(), [&](const Ranked& each) {
        const bool other_split = !(each.candidate.sharding == best.candidate.sharding) ||
                                 each.candidate.attention_dp != best.candidate.attention_dp;
        return each.candidate.format == best.candidate.format && other_split &&
               reached(each.outcome, search.goal) != most;
    });
    if (other == found.ranked.end()) {
        return {};
    }
    return fmt::format("{} before {}: {} against {} {}; {}", split_words(search, best.candidate),
                       split_words(search, other->candidate), report::grouped(most),
                       report::grouped(reached(other->outcome, search.goal)), unit_of(search.goal),
                       advantage(best.candidate, other->candidate));
}

/// Refusals that more memory may lift.
bool by_memory(Errc code) {
    return exit_of(code) == Exit::does_not_fit;
}

/// The engine starts and queues some of the requests: see outcome_of in plan_search.cpp.
bool queued(const Dropped& dropped) {
    return dropped.why.code == Errc::capacity;
}

/// What the engine says itself where its error has no words of its own.
std::string said_by_engine(const Search& search, const Dropped& dropped) {
    const std::string own =
        dropped.why.code == Errc::refused_combination ? refusal_of(search, dropped.candidate) : "";
    Error why = dropped.why;
    why.layer = no_layer;
    return own.empty() ? report::text_of(why) : own;
}

std::string reason_of(const Search& search, const Dropped& dropped) {
    const Error& why = dropped.why;
    return by_memory(why.code) ? "not enough memory for the load beside the weights"
           : queued(dropped)                 ? "more requests at once than the server is told to run"
           : why.code == Errc::not_divisible ? "context-parallel ranks beyond the copies of KV heads in TP"
                                             : said_by_engine(search, dropped);
}

std::string table_of(const Search& search, const SearchResult& found, u32 top) {
    using A = report::Align;
    report::Table table{{A::right, A::left, A::right, A::right, A::right}};
    const bool bounds = search.lacks_weights && !search.on.memory.by_budget;
    table.row({"", "split", bounds ? "requests <=" : "requests", bounds ? "longest <=" : "longest", "KV read/token"});
    const Model& model = search.on.formats[0].model;
    bool bound = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(found.ranked.size(), top); ++i) {
        const Ranked& each = found.ranked[i];
        bound = bound || std::string_view{bound_of(each.outcome.context, model)} == "model";
        table.row({std::to_string(i + 1), split_words(search, each.candidate),
                   report::grouped(each.outcome.sequences), report::grouped(each.outcome.context),
                   report::amount({each.outcome.read_per_token})});
    }
    return table.text() + (bound ? fmt::format("longest: {} is the context that the model states\n",
                                               report::grouped(model.read.max_context)) : "");
}

void write_candidate(report::Json& json, const Search& search, const Candidate& candidate) {
    const StoredModel& stored = search.on.formats[candidate.format];
    write_split(json, candidate.sharding, candidate.dp, candidate.attention_dp, search.on.cp_among_tp);
    json.field("kv_cache_dtype", stored.model.dtype).field("kv_cache_dtype_asked", stored.dtype);
    json.field("block_size", search.blocks[candidate.block]);
}

void write_miss(report::Json& json, const Search& search, const std::optional<Miss>& miss) {
    if (!miss) {
        json.null("nearest");
        return;
    }
    json.object("nearest", report::Layout::flat);
    write_candidate(json, search, miss->candidate);
    json.field("lacking_bytes_per_gpu", miss->lacking).end();
}

void write_ranked(report::Json& json, const Search& search, const Ranked& each) {
    json.object({}, report::Layout::flat);
    write_candidate(json, search, each.candidate);
    json.field("sequences", each.outcome.sequences).field("context", each.outcome.context);
    json.field("context_bound_by", bound_of(each.outcome.context, search.on.formats[0].model));
    json.field("kv_read_bytes_per_token", each.outcome.read_per_token).end();
}

}  // namespace

std::string split_words(const Search& search, const Candidate& c) {
    const std::string out =
        split_words(c.sharding, c.dp, c.attention_dp) + " " + search.on.formats[c.format].dtype;
    return out + (search.blocks[c.block] != 0 ? fmt::format(" block {}", search.blocks[c.block]) : "");
}

std::vector<Reason> reasons_of(const Search& search, const SearchResult& found) {
    std::map<std::string, Reason> counts;
    for (const Dropped& each : found.dropped) {
        const std::string said = reason_of(search, each);
        Reason& reason = counts[said];
        reason = {said, reason.candidates + 1, !by_memory(each.why.code)};
    }
    std::vector<Reason> reasons;
    reasons.reserve(counts.size());
    for (const auto& [said, reason] : counts) {
        reasons.push_back(reason);
    }
    return reasons;
}

std::string words(const Reason& reason) {
    return fmt::format("{} x {}", reason.candidates, reason.words);
}

bool nothing_possible(const SearchResult& found) {
    return found.ranked.empty() && std::none_of(found.dropped.begin(), found.dropped.end(), [](const Dropped& each) {
               return by_memory(each.why.code);
           });
}

Exit exit_of(const SearchResult& found) {
    const auto& dropped = found.dropped;
    const bool unknown = std::all_of(dropped.begin(), dropped.end(), [](const Dropped& each) {
        return exit_of(each.why.code) == Exit::unknown_architecture;
    });
    const bool starts = !nothing_possible(found) || std::any_of(dropped.begin(), dropped.end(), queued);
    return !found.ranked.empty() ? Exit::ok
           : starts              ? Exit::does_not_fit
           : unknown             ? Exit::unknown_architecture
                                 : Exit::usage;
}

std::string miss_words(const Search& search, const std::optional<Miss>& miss) {
    if (!miss) {
        return {};
    }
    return fmt::format("the nearest is {}: {} would do", split_words(search, miss->candidate),
                       more_words(search.on.memory, report::amount_and_exact(miss->lacking)));
}

namespace {

/// "at least 1 request of 32,768 tokens"; of a mix, its longest.
std::string load_words(const Search& search) {
    return fmt::format("at least {} of {}{} tokens", report::counted(search.asked.sequences, "request", "requests"),
                       search.on.mix.each.size() == 1 ? "" : "up to ", report::grouped(search.asked.tokens.value));
}

}  // namespace

std::string plan_screen(const Search& search, const SearchResult& found, u32 top, const Session& session) {
    std::string out =
        heading(search.on.formats[0].model,
                fmt::format("{} x {}", search.space.devices, search.on.memory.described), session);
    out += paragraph(fmt::format("rules: {}, for {}", search.rules, load_words(search))) + '\n';
    out += beyond_text(search.on, session);
    const std::string miss = miss_words(search, nearest_miss(search, found));
    out += !found.ranked.empty()     ? table_of(search, found, top)
           : nothing_possible(found) ? "nothing is possible: rules exclude every candidate, whatever the memory\n"
                                     : paragraph("nothing fits" + (miss.empty() ? "" : "; " + miss)) + '\n';
    out += fmt::format("{} of {} candidates fit{}{}\n", found.ranked.size(), found.ranked.size() + found.dropped.size(),
                       search.lacks_weights ? " if the weights leave them room" : "",
                       found.dropped.empty() ? "" : "; dropped:");
    for (const Reason& reason : reasons_of(search, found)) {
        out += paragraph("  " + words(reason)) + '\n';
    }
    const std::string why = why_best(search, found);
    out += why.empty() ? "" : paragraph("why: " + why) + '\n';
    const bool smaller_format = !found.ranked.empty() && found.ranked[0].candidate.format != 0;
    out += smaller_format ? "what a smaller format costs in accuracy is not judged (--dtypes chooses them)\n" : "";
    return out;
}

void write_split(report::Json& json, const Sharding& sharding, u32 dp, bool attention_dp, bool cp_among_tp) {
    json.field("tp", sharding.tp).field("pp", sharding.pp).field("cp", sharding.cp);
    json.field("dp", dp).field("dp_attention", attention_dp).field("cp_among_tp", cp_among_tp);
}

std::string plan_json(const Search& search, const SearchResult& found, const std::vector<Note>& notes) {
    report::Json json;
    json.object().field("schema", "kvcap.plan/1").field("model", full_name(search.on.formats[0].model));
    json.field("engine", search.on.face->name).field("rules", search.rules);
    json.field("tokens", search.asked.tokens).field("requests", search.asked.sequences);
    json.field("beyond_context", search.on.beyond_context());
    json.field("weights_known", !search.lacks_weights);
    json.field("gpus", search.space.devices).field("dropped", found.dropped.size());
    json.field("nothing_possible", nothing_possible(found)).array("reasons");
    for (const Reason& each : reasons_of(search, found)) {
        json.object({}, report::Layout::flat).field("candidates", each.candidates);
        json.field("reason", each.words).field("by_rule", each.by_rule).end();
    }
    json.end().array("ranked");
    for (const Ranked& each : found.ranked) {
        write_ranked(json, search, each);
    }
    json.end();
    write_miss(json, search, nearest_miss(search, found));
    report::write_notes(json, notes);
    return json.end().text();
}

}  // namespace kvcap::cli
