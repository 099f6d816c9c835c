// SPDX-License-Identifier: MIT
// How far can the prompt be skipped with what the store holds, and what would the next steps cost? probe() names the
// questions worth asking; each of its batches is one pipelined round trip. Repair prices what is missing, so it first
// asks about every chunk that was not asked yet: one round trip more.
#pragma once

#include "chunks.hpp"
#include "redis.hpp"

#include <kvcap/reuse/probe.hpp>

namespace presence {

struct Question {
    u32 group = 0;
    u64 page = 0;
};

/// tokens: what can be skipped now. lookups: chunks asked about for that, in `trips` round trips; keys: their keys.
/// steps: the longer boundaries worth their bytes, longest first; `repair_trips` round trips later.
struct Verdict {
    u64 tokens = 0;
    u64 lookups = 0;
    u64 keys = 0;
    u64 trips = 0;
    std::vector<RepairStep> steps{};
    u64 repair_trips = 0;
};

class Inquiry {
public:
    Inquiry(const Chunks& chunks, Redis& redis)
        : chunks_{chunks}, redis_{redis},
          held_(chunks.groups().size(), std::vector<u64>(chunks.count() / 64 + 1)), known_{held_} {}

    Verdict answer(const ProbeOptions& options = {}) {
        Verdict verdict;
        probe(verdict, options);
        const u64 before = redis_.round_trips();
        ask(unknown(), [](const Question&, bool) {});
        verdict.repair_trips = redis_.round_trips() - before;
        const std::vector<Group<>> groups = view();
        std::vector<u64> bytes;
        for (const ChunkGroup& group : chunks_.groups()) {
            bytes.push_back(group.bytes);
        }
        repair(groups.data(), static_cast<u32>(groups.size()), chunks_.ask(), Prices<>{.bytes = bytes.data()},
               [&](const RepairStep& step) { verdict.steps.push_back(step); });
        return verdict;
    }

    /// What is known after answer(), as the evaluator reads it.
    std::vector<Group<>> view() const {
        std::vector<Group<>> groups;
        for (std::size_t g = 0; g < held_.size(); ++g) {
            groups.push_back({chunks_.groups()[g].rule, {held_[g].data(), chunks_.count()}});
        }
        return groups;
    }

private:
    void probe(Verdict& verdict, const ProbeOptions& options) {
        std::vector<RemoteGroup> groups;
        for (const ChunkGroup& group : chunks_.groups()) {
            groups.push_back({.rule = group.rule, .pages = chunks_.count()});
        }
        const u32 count = static_cast<u32>(groups.size());
        std::vector<u64> scratch(probe_words(groups.data(), count));
        Probe probe{groups.data(), count, chunks_.ask(), scratch.data(), options};
        const u64 before = redis_.round_trips();
        std::vector<Question> batch;
        while (probe.next([&](u32 group, u64 page) { batch.push_back({group, page}); }) > 0) {
            verdict.keys += ask(batch, [&](const Question& question, bool held) {
                probe.answer(question.group, question.page, held);
            });
            batch.clear();
        }
        verdict.trips = redis_.round_trips() - before;
        verdict.tokens = probe.tokens();
        verdict.lookups = probe.lookups();
    }

    /// A chunk is held when the objects of all ranks are there. Returns the number of keys.
    template <class Tell>
    u64 ask(const std::vector<Question>& questions, Tell tell) {
        std::vector<std::string> keys;
        std::vector<std::size_t> end;
        for (const Question& question : questions) {
            for (std::string& key : chunks_.keys(question.group, question.page)) {
                keys.push_back(std::move(key));
            }
            end.push_back(keys.size());
        }
        const std::vector<bool> found = redis_.exist(keys);
        std::size_t at = 0;
        for (std::size_t i = 0; i < questions.size(); ++i) {
            bool held = true;
            for (; at < end[i]; ++at) {
                held = held && found[at];
            }
            const auto [group, page] = questions[i];
            held_[group][page / 64] |= u64{held ? 1u : 0u} << (page % 64);
            known_[group][page / 64] |= u64{1} << (page % 64);
            tell(questions[i], held);
        }
        return keys.size();
    }

    std::vector<Question> unknown() const {
        std::vector<Question> rest;
        for (u32 g = 0; g < known_.size(); ++g) {
            for (u64 page = 0; page < chunks_.count(); ++page) {
                if ((known_[g][page / 64] >> (page % 64) & 1) == 0) {
                    rest.push_back({g, page});
                }
            }
        }
        return rest;
    }

    const Chunks& chunks_;
    Redis& redis_;
    std::vector<std::vector<u64>> held_;
    std::vector<std::vector<u64>> known_;
};

}  // namespace presence
