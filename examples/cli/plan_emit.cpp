// SPDX-License-Identifier: MIT
// The launch line of the best split that its engine, given what the line says, finds to fit.
#include "margin.hpp"
#include "plan.hpp"

#include <algorithm>
#include <filesystem>
#include <kvcap/io/locate.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/launch.hpp>
#include <optional>
#include <utility>

namespace kvcap::cli {

namespace {

/// How many servers a candidate is: replicas that one line of the engine cannot say.
u32 servers_of(const Search& search, const Candidate& c) {
    const std::string_view engine = search.on.face->name;
    return engine == "vllm" || (engine == "sglang" && !c.attention_dp) ? 1 : c.dp;
}

/// vLLM's line says ranks that hold whole requests as data-parallel ranks of TP 1.
Candidate as_the_line_says(const Search& search, Candidate c) {
    if (search.on.face->name == "vllm" && c.attention_dp) {
        c.dp *= std::exchange(c.sharding.tp, 1);
        c.attention_dp = false;
    }
    return c;
}

/// vLLM deals whole experts to such ranks when told so.
void deal_whole_experts(const Search& search, Launch& launch) {
    if (launch.engine == "vllm" && search.routed && launch.tp == 1 && launch.dp > 1) {
        launch.tp = std::exchange(launch.dp, 1);
        launch.attention_dp = true;
        launch.flags.erase("enable-expert-parallel");
    }
}

/// Requests at once that a line may ask of a rank: as the engine's own flag says; else as many as were found,
/// up to what engines run by default, or as were asked for. llama.cpp reserves cells for each, so there it is
/// what was asked for.
std::vector<u64> sequences_of(const Search& search, const Ranked& each) {
    constexpr u64 usual = 256;
    const Deployment on = deployment_of(search, each.candidate);
    const std::string_view flag = requests_flag(*on.face);
    if (const auto own = on.flags.find(flag); own != on.flags.end()) {
        const u64 line = count_of(search.on.flags.find(flag)->second, flag);
        const u64 of_rank = count_of(own->second, flag);
        const bool dealt = on.face->name == "sglang" && each.candidate.attention_dp;
        const bool sayable = !dealt || of_rank * each.candidate.sharding.tp == line;
        return sayable ? std::vector<u64>{of_rank} : std::vector<u64>{};
    }
    const u64 asked = on.sequences_of_one(setting_of(search, each.candidate));
    const u64 most = std::min(each.outcome.sequences / holders_of(each.candidate), std::max(asked, usual));
    return on.face->name == "llamacpp" ? std::vector<u64>{asked}
                                       : std::vector<u64>{std::max(most, asked), asked};
}

/// SGLang's page follows the model where none is given: the line says the one that was evaluated.
void carry_page(Launch& launch, const PoolPlan& plan) {
    u64 page = 1;
    for (const GroupClass& kind : plan.classes) {
        page = larger(page, kind.block);
    }
    if (launch.engine == "sglang") {
        launch.flags.emplace("page-size", std::to_string(page));
    }
}

/// A line, or why there is none.
struct Tried {
    std::string line{};
    std::string why_not{};
};

Tried line_of(const Search& search, const Candidate& found, u64 sequences, const DeploymentOptions& on) {
    const Candidate candidate = as_the_line_says(search, found);
    DeploymentOptions beside = on;
    beside.lengths.batch.clear();
    beside.lengths.tokens =
        on.lengths.tokens.empty() ? std::to_string(search.asked.tokens.value) : on.lengths.tokens;
    Launch launch = launch_of(deployment_of(search, candidate), on, setting_of(search, candidate),
                              servers_of(search, candidate), sequences);
    deal_whole_experts(search, launch);
    const EngineAnswer answer = evaluate(launch, beside).answer;
    if (answer.fits()) {
        carry_page(launch, answer.plan);
        return {.line = report::launch_line(launch) + "\n"};
    }
    return {.why_not = answer.runs() ? margin_words(answer) + ", for what the line asks for" : answer.refusal};
}

/// The line asks for fewer at once than were found to fit: what engines run by default, unless more are asked for.
void remark_fewer(const Search& search, const Ranked& each, u64 sequences, Session& session) {
    const u64 fit = each.outcome.sequences / holders_of(each.candidate);
    const Deployment on = deployment_of(search, each.candidate);
    const bool said = on.face->name == "llamacpp" || on.flags.count(std::string{requests_flag(*on.face)}) != 0;
    if (!said && sequences < fit) {
        session.remark(fmt::format("the line runs {} at once; {} fit on each rank that holds requests: "
                                   "--batch asks for more",
                                   report::counted(sequences, "request", "requests"), report::grouped(fit)));
    }
}

/// The first line that holds, best split first, and whose it is; a remark when it is not the best's, or when none does.
struct Emitted {
    std::string line{};
    std::optional<Candidate> of{};
};

Emitted first_line(const Search& search, const SearchResult& found, const DeploymentOptions& on, Session& session) {
    std::string why = "none serves the requests at once that were asked for";
    for (std::size_t i = 0; i < found.ranked.size(); ++i) {
        const std::string split = split_words(search, found.ranked[i].candidate);
        for (const u64 sequences : sequences_of(search, found.ranked[i])) {
            const Tried tried = line_of(search, found.ranked[i].candidate, sequences, on);
            if (tried.line.empty()) {
                why = split + ": " + tried.why_not;
                continue;
            }
            if (i != 0) {
                session.remark(
                    fmt::format("the line is of split {} of the list, {}: those before it do not "
                                "fit as a line says them",
                                i + 1, split));
            }
            remark_fewer(search, found.ranked[i], sequences, session);
            return {tried.line, found.ranked[i].candidate};
        }
    }
    session.remark(fmt::format("no line: {} splits fit, but none as a line says it; the last, {}",
                               found.ranked.size(), why));
    return {};
}

/// What stands in the line for the model and its engine cannot load: a spec line, or a file that is no folder's config.
void remark_unloadable(const Search& search, const std::string& typed, Session& session) {
    if (search.on.face->name == "llamacpp") {
        if (io::gguf_path(typed).empty()) {
            session.remark("llama-server -m reads a GGUF file: put its path where the model's name stands");
        }
        return;
    }
    std::error_code ignored;
    const std::filesystem::path path{typed};
    const bool other_file = std::filesystem::is_regular_file(path, ignored) && path.filename() != "config.json";
    const bool spec = typed.find('(') != std::string::npos && !std::filesystem::exists(path, ignored);
    if (other_file || spec || typed == "-") {
        session.remark(fmt::format("{} loads a folder or a Hugging Face id: put it where the model stands",
                                   search.on.face->title));
    }
}

/// Those of the search, with the share of memory of the split that the line is of; the line says requests at once.
std::vector<Note> notes_of_line(const Search& search, const std::optional<Candidate>& of, std::vector<Note> notes) {
    if (of) {
        const std::string at_once = "--" + std::string{requests_flag(*search.on.face)};
        std::erase_if(notes, [&](const Note& note) { return note.where == "--util" || note.where == at_once; });
        note_share(deployment_of(search, *of), setting_of(search, *of), false, notes);
    }
    return notes;
}

}  // namespace

void emit_line(const Search& search, const SearchResult& found, const PlanOptions& options,
               const std::vector<Note>& notes, Session& session) {
    const Emitted emitted = found.ranked.empty() ? Emitted{} : first_line(search, found, options.on, session);
    const std::string& line = emitted.line;
    if (!line.empty() && search.lacks_weights) {
        stop(Exit::usage, "--emit: the weights of this model are unknown, so that no line can be said to start: give "
                          "--weights-bytes");
    }
    session.exit = !line.empty() ? Exit::ok : found.ranked.empty() ? exit_of(found) : Exit::does_not_fit;
    if (found.ranked.empty()) {
        for (const Reason& reason : reasons_of(search, found)) {
            session.remark("no line: " + words(reason));
        }
        if (const std::string miss = miss_words(search, nearest_miss(search, found)); !miss.empty()) {
            session.remark(miss);
        }
    }
    if (!line.empty()) {
        remark_unloadable(search, options.on.model.model, session);
    }
    if (search.on.beyond_context()) {
        session.remark(beyond_words(search.on));
    }
    for (const Note& note : notes_of_line(search, emitted.of, notes)) {
        if (note.origin == Origin::assumed) {
            session.remark(report::text_of(note));
        }
    }
    session.print(line);
}

}  // namespace kvcap::cli
