// SPDX-License-Identifier: MIT
// TensorRT-LLM golden cases of kind prefix_reuse: requests that start, store and finish, with what the engine
// answered.
#include "trtllm.hpp"

#include <kvcap/engine/trtllm/reuse.hpp>

namespace golden {

using namespace kvcap;
using namespace kvcap::trtllm;

namespace {

ReuseRules reuse_rules(const StrictObject& cache) {
    ReuseRules rules{.tokens_per_block = cache.get<u64>("tokens_per_block"),
                     .primary_blocks = cache.get<u64>("primary_blocks"),
                     .secondary_blocks = cache.get<u64>("secondary_blocks", 0),
                     .max_seq_len = cache.get<u64>("max_seq_len", off_scale),
                     .partial = cache.get<bool>("partial_reuse"),
                     .copy_on_partial = cache.get<bool>("copy_on_partial", true)};
    if (cache.has("window")) {
        rules.windows = {cache.get<u64>("window")};
    }
    if (cache.has("windows")) {
        rules.windows = cache.get<std::vector<u64>>("windows");
    }
    return rules;
}

std::vector<u64> tokens_of(const StrictObject& step) {
    if (step.has("tokens")) {
        return step.get<std::vector<u64>>("tokens");
    }
    std::vector<u64> tokens;
    for (const Json& run : step.at("runs")) {
        for (u64 i = 0; i < run.at(1).get<u64>(); ++i) {
            tokens.push_back(run.at(0).get<u64>() + i);
        }
    }
    return tokens;
}

Prompt prompt_of(const StrictObject& step) {
    Prompt prompt{.tokens = tokens_of(step), .extra = step.get<std::vector<u64>>("extra_ids", {})};
    if (step.has("adapter")) {
        prompt.adapter = step.get<u64>("adapter");
    }
    if (step.has("salt")) {
        prompt.salt = step.get<std::string>("salt");
    }
    if (step.has("images")) {
        for (const Json& json : step.at("images")) {
            const StrictObject image{json};
            prompt.media.push_back(
                {image.get<std::string>("hash"), image.get<u64>("start"), image.get<u64>("length")});
            image.done("an image");
        }
    }
    return prompt;
}

class Run {
public:
    Run(const ReuseRules& rules, Report& report) : reuse_{rules}, report_{report} {}

    void step(const StrictObject& step) {
        const auto op = step.get<std::string>("op");
        if (op == "start") {
            start(step);
        } else if (op == "finish" || op == "store_prefill") {
            store(step, op == "finish");
        } else if (op == "generate") {
            request_ = step.get<u64>("request");
            append(step.get<std::vector<u64>>("tokens"));
        } else {
            throw std::runtime_error("a known op, not " + op);
        }
        if (step.has("expect")) {
            compare(step.at("expect"));
        }
        step.done("the step");
        ++count_;
    }

    /// What the engine's own test of partial copies does between its first two steps.
    void move_to_host_and_back() { reuse_.window(0).offload_and_onboard(request_); }

private:
    void start(const StrictObject& step) {
        request_ = step.get<u64>("id", unnamed_++);
        reused_ = *reuse_.start(request_, prompt_of(step));
    }

    /// A step without a request is one of its own that starts, stores and ends.
    void store(const StrictObject& step, bool ends) {
        const bool own = !step.has("request");
        request_ = own ? unnamed_++ : step.get<u64>("request");
        if (own) {
            reused_ = *reuse_.start(request_, prompt_of(step));
        }
        append(step.get<std::vector<u64>>("generated", {}));
        if (!ends) {
            reuse_.store_prefill(request_);
        }
        if (ends || own) {
            reuse_.finish(request_, ends ? step.get<u64>("store_only_tokens", off_scale) : 0);
        }
    }

    void append(const std::vector<u64>& tokens) {
        for (const u64 token : tokens) {
            static_cast<void>(*reuse_.generate(request_, token));
        }
    }

    void compare(const Json& expect) {
        for (const auto& [field, want] : expect.items()) {
            report_.equal("step " + std::to_string(count_) + " " + field, want, answer(field, want));
        }
    }

    Json answer(const std::string& field, const Json& want) {
        if (field == "reused_tokens") {
            return reused_;
        }
        if (field == "block_ids") {
            return reuse_.window(0).block_ids(request_);
        }
        if (field == "front_blocks_detached") {
            return reuse_.window(0).detached(request_);
        }
        if (field == "other_requests_not_storable") {
            const std::vector<u64> lost = reuse_.not_storable();
            return want.is_array() ? Json(lost) : want.is_boolean() ? Json(!lost.empty()) : Json(lost.size());
        }
        return "not answered";
    }

    BlockReuse reuse_;
    Report& report_;
    u64 request_ = 0;
    u64 reused_ = 0;
    u64 unnamed_ = 1'000'000;
    int count_ = 0;
};

bool moves_blocks(const std::string& note) {
    return note.find("offloads and onboards the blocks between steps") != std::string::npos;
}

}  // namespace

void trtllm_reuse(const StrictObject& one, Report& report) {
    one.ignore("name");
    const StrictObject cache{one.at("cache")};
    Run run{reuse_rules(cache), report};
    cache.done("cache");
    bool first = moves_blocks(one.get<std::string>("note", ""));
    for (const Json& step : one.at("steps")) {
        run.step(StrictObject{step});
        if (first) {
            run.move_to_host_and_back();
        }
        first = false;
    }
}

}  // namespace golden
