// SPDX-License-Identifier: MIT
// Nothing that was said is passed over: each option of fit and size, alone and beside each other one, changes the
// answer, is refused by name, or is said in a note to change nothing. What is beyond a model's context is said where
// it is seen, and a launch line's silence as well.
#include "checked.hpp"

#include <utility>
#include <vector>

namespace said_cli_tests {

using namespace program;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

const Options of_size = {{"--tokens", "4k"},       {"--batch", "3"},         {"--decoded", "1k"},
                         {"--encoder-tokens", "9"}, {"--tp", "2"},            {"--pp", "3"},
                         {"--cp", "2"},             {"--dp", "2"},            {"--dp-attention", ""},
                         {"--pp-split", "last"},    {"--kv-cache-dtype", "fp8"}, {"--state-dtype", "bf16"},
                         {"--conv-dtype", "f32"},   {"--index-dtype", "bf16"}, {"--block-size", "16"},
                         {"--swa-full", ""},        {"--decode-context-parallel-size", "2"},
                         {"--page-size", "16"},     {"--tokens-per-block", "64"}};

const Options of_fit = {{"--tokens", "4k"},          {"--batch", "3"},          {"--decoded", "1k"},
                        {"--lengths", "8k:70,16k:30"}, {"--engine-max-len", "12000"}, {"--tp", "2"},
                        {"--pp-split", "last"},      {"--gpu", "h100"},         {"--gpus", "8"},
                        {"--gpu-mem", "79GiB"},      {"--util", "0.8"},         {"--fraction-of", "free"},
                        {"--kv-budget", "20GiB"},    {"--non-kv-bytes", "3GiB"}, {"--overhead", "kaito-2026-06"},
                        {"--overhead-from", "/nowhere"}, {"--weights-bytes", "15GiB"}, {"--block-size", "16"}};

std::string line_of(const std::string& before, const std::pair<std::string, std::string>& option) {
    return before + ' ' + option.first + (option.second.empty() ? "" : ' ' + option.second);
}

/// One more option changes what is printed or how the program ends.
void each_is_heard(const std::string& before, const Options& more) {
    const Ran without = run(before);
    if (without.code > 1) {
        return;
    }
    for (const auto& option : more) {
        const Ran with = run(line_of(before, option));
        CAPTURE(before, option.first, with.out, with.err);
        CHECK((with.code != without.code || with.out != without.out));
    }
}

void walk(const std::string& start, const Options& options) {
    each_is_heard(start, options);
    for (const auto& first : options) {
        Options more;
        for (const auto& second : options) {
            // With one tensor rank --dp and --dp-attention are both two holders of whole requests.
            const bool same = first.first == "--dp" && second.first == "--dp-attention";
            const bool again = second.first == first.first || start.find(' ' + second.first + ' ') != std::string::npos;
            if (!same && !again) {
                more.push_back(second);
            }
        }
        each_is_heard(line_of(start, first), more);
    }
}

}  // namespace

TEST_CASE("size and fit: no option is passed over, alone or beside another", "[cli][said]") {
    if (!known()) {
        return;
    }
    walk("size llama-3.1-8b", of_size);
    for (const std::string memory : {"--gpu h100", "--kv-budget 20GiB", "--gpu-mem 79GiB"}) {
        walk("fit llama-3.1-8b " + memory, of_fit);
    }
}

TEST_CASE("pairs that say one thing twice are refused by both names", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string fit = "fit llama-3.1-8b ";
    refused(fit + "--gpu h100 --tokens 4k --lengths 8k:70,16k:30", 2, "--tokens and --lengths: ");
    refused(fit + "--gpu h100 --non-kv-bytes 1GiB --overhead kaito-2026-06", 2, "--non-kv-bytes and --overhead: ");
    for (const std::string flag : {"--util 0.8", "--fraction-of free", "--non-kv-bytes 1GiB",
                                   "--overhead kaito-2026-06", "--weights-bytes 9GiB"}) {
        refused(fit + "--kv-budget 20GiB " + flag, 2, "--kv-budget and " + flag.substr(0, flag.find(' ')) + ": ");
    }
    refused("plan llama-3.1-8b --gpu h100 --gpus 2 --emit vllm --top 3", 2, "--emit and --top: ");
    refused("size llama-3.1-8b --block-size 16", 2, "--block-size means nothing to exact");
    refused("plan --gpu h100 --util 0.5 --launch 'vllm serve llama-3.1-8b --max-model-len 8192 "
            "--kv-cache-memory-bytes 20000000000'",
            2, "--util and --launch: ");
    const json budget = checked("fit", "llama-3.1-8b --kv-budget 20GiB --gpu h100 --tokens 4k");
    CHECK(budget["notes"].dump().find("says which device it is") != std::string::npos);
}

TEST_CASE("a budget's GPU still decides what the engine chooses by it", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "gemma-3-1b --kv-budget 10GiB --tokens 8k --engine vllm --gpu ";
    const json large = checked("fit", asked + "h100");
    const json small = checked("fit", asked + "l4");
    CHECK(large["units_per_request"] != small["units_per_request"]);  // tokens of a step, by the GPU
}

TEST_CASE("beyond the model's context: in JSON, and below the verdict with what the engine does", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "llama-3-8b --kv-budget 40GiB --tokens 16k --engine ";
    for (const auto& [engine, words] : Options{{"vllm", "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"},
                                               {"sglang", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"},
                                               {"trtllm", "takes the model's length"},
                                               {"llamacpp", "llama-server warns"}}) {
        CHECK(checked("fit", asked + engine)["beyond_context"] == true);
        const Ran screen = run("fit " + asked + engine);
        CAPTURE(screen.out);
        const std::size_t at = screen.out.find("\nbeyond the model's context: 16,384 tokens, and it states 8,192;");
        CHECK(at != std::string::npos);
        CHECK(unfolded(screen.out).find(words) != std::string::npos);
        CHECK(widest(screen.out) <= 80);
    }
    CHECK(checked("fit", "llama-3-8b --kv-budget 40GiB --tokens 8k")["beyond_context"] == false);
    CHECK(checked("fit", "llama-3-8b --kv-budget 40GiB --tokens 4k --engine-max-len 16k")["beyond_context"] == true);
    CHECK(checked("pools", "llama-3-8b --kv-budget 40GiB --tokens 16k")["beyond_context"] == true);
    CHECK(checked("plan", "llama-3-8b --gpu h100 --gpus 1 --tokens 16k")["beyond_context"] == true);
    const std::string all = unfolded(run("pools llama-3-8b --kv-budget 40GiB --tokens 16k --engine all").out);
    for (const char* own : {"LONG_MAX_MODEL_LEN", "LONGER_CONTEXT_LEN", "llama-server warns", "takes the model's"}) {
        CHECK(all.find(own) != std::string::npos);
    }
}

TEST_CASE("pools: what llama.cpp sets aside goes by what is asked, and may be more than there is", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "pools llama-3-8b --kv-budget 1GiB --engine llamacpp --tokens ";
    CHECK(run(asked + "8k").code == 0);
    const Ran more = run(asked + "10k");
    CHECK(more.code == 1);
    CHECK(more.out.find("does not start: it asks for 0.250 GiB more than there is") != std::string::npos);
    const json read = json::parse(run(asked + "10k --json").out);
    CHECK(schemas::violation_of(read, "pools") == "");
    CHECK(read["engines"][0]["starts"] == false);
    CHECK(read["engines"][0]["lacking_bytes"] == 256 << 20);
}

TEST_CASE("plan --launch: what the line leaves unsaid is said", "[cli][said]") {
    if (!known()) {
        return;
    }
    const auto notes = [](const std::string& line) {
        const Ran ran = run("plan --gpu h100 --json --launch '" + line + "'");
        CAPTURE(line, ran.err);
        REQUIRE(ran.code == 0);
        const json read = json::parse(ran.out);
        CHECK(schemas::violation_of(read, "launch") == "");
        return read;
    };
    const json vllm = notes("vllm serve llama-3.1-8b --max-model-len 8192 --enforce-eager --enable-chunked-prefill");
    CHECK(vllm["notes"].dump().find("judged for one on each rank") != std::string::npos);
    CHECK(vllm["notes"].dump().find("not understood") == std::string::npos);
    const json llama = notes("llama-server -m llama-3-8b -ngl -2");
    CHECK(llama["sequences_of_a_rank"] == 4);
    CHECK(llama["load"]["lengths"][0]["tokens"] == 8192);  // --fit: the model's context for each slot
    CHECK(llama["notes"].dump().find("says no --parallel: 4 slots") != std::string::npos);
    CHECK(notes("llama-server -m llama-3-8b -np 1")["load"]["lengths"][0]["tokens"] == 8192);
    CHECK(notes("llama-server -m llama-3-8b -np -1")["sequences_of_a_rank"] == 4);
}

TEST_CASE("plan: nothing dropped is not announced, and a capped line says so", "[cli][said]") {
    if (!known()) {
        return;
    }
    const Ran all = run("plan llama-3.1-8b --gpu h100 --gpus 1 --tokens 4k --engine sglang");
    CAPTURE(all.out);
    CHECK(all.code == 0);
    CHECK(all.out.find("2 of 2 candidates fit\n") != std::string::npos);
    const Ran line = run("plan llama-3.1-8b --gpu h100 --gpus 1 --tokens 1k --emit vllm");
    CHECK(line.out.find("--max-num-seqs 256") != std::string::npos);
    CHECK(line.err.find("the line runs 256 requests at once") != std::string::npos);
}

TEST_CASE("pools of every engine: one that has no rules is a row with its reason", "[cli][said]") {
    if (!known()) {
        return;
    }
    const json all = checked("pools", "'8*kivi(128,2,32, gqa(8,128))' --kv-budget 20GiB --tokens 4k --engine all", 2);
    CHECK(all["engines"].size() == 4);
    for (const json& engine : all["engines"]) {
        CHECK(engine["starts"] == engine["refusal"].get<std::string>().empty());
        CHECK((engine["engine"] != "llamacpp" || engine["starts"] == false));
    }
}

TEST_CASE("size: amounts of any size stay within 80 columns", "[cli][said]") {
    if (!known()) {
        return;
    }
    for (const std::string model : {"llama-3.1-8b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b"}) {
        for (const std::string rest : {" --batch 900000000 --tp 8 --pp 3", " --batch 99999999 --pp 3 --dp 2",
                                       " --batch 900000000 --tp 4 --tokens 1k,2k,8k,32k", " --batch 900000000"}) {
            const Ran ran = run("size " + model + rest);
            CAPTURE(model, rest, ran.out, ran.err);
            CHECK(ran.code == 0);
            CHECK(widest(ran.out) <= 80);
        }
    }
}

TEST_CASE("llamacpp -ngl: all, auto and negative numbers are every block", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "llamacpp llama-3-8b -c 8192 --device 80GiB";
    const Ran whole = run(asked);
    for (const std::string layers : {"all", "auto", "-1", "-2"}) {
        const Ran ran = run(asked + " -ngl " + layers);
        CAPTURE(layers, ran.err);
        CHECK(ran.code == whole.code);
        CHECK(ran.out == whole.out);
    }
    CHECK(run(asked + " -ngl 3").out != whole.out);
    CHECK(run(asked + " -ngl some").code == 2);
}

TEST_CASE("a server told to run fewer at once queues the rest under every engine", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string load = "llama-3.1-8b --gpu h100 --non-kv-bytes 4GiB --tokens 4k --batch 8 --engine ";
    for (const auto& [engine, flag] : Options{{"sglang", "--max-running-requests"},
                                              {"trtllm", "--max-batch-size"},
                                              {"llamacpp", "--parallel"}}) {
        const std::string told = load + engine + " " + flag + " ";
        CAPTURE(told);
        CHECK(unfolded(run("fit " + told + "4").out).find("of 8 requests") != std::string::npos);
        checked("fit", told + "4", 1);
        checked("fit", told + "8");
        checked("plan", "--gpus 1 " + told + "4", 1);
    }
    CHECK(checked("plan", "--gpus 1 " + load + "sglang --max-running-requests 8")["ranked"][0]["sequences"] == 8);
}

TEST_CASE("blocks that are named and have no room do not fit", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string small = " llama-3.1-8b --gpu-mem 10GiB --tokens 1k --non-kv-bytes 2GiB --engine vllm";
    checked("fit", small + " --num-gpu-blocks-override 100", 1);
    checked("plan", "--gpus 1" + small + " --num-gpu-blocks-override 100", 1);
    const std::string large = "llama-3.1-8b --gpu h100 --tokens 1k --engine vllm --num-gpu-blocks-override ";
    checked("fit", large + "100000", 1);
    const json few = checked("fit", large + "1000");
    const json more = checked("fit", large + "2000");
    const auto room = [](const json& found) { return found["fits_if_non_kv_at_most_bytes"].get<long long>(); };
    CHECK(room(few) - room(more) == 1000LL * 16 * 131072);
}

TEST_CASE("pools of every engine have the memory that each has alone", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "llama-3.1-8b --gpu h100 --overhead kaito-2026-06 --tokens 8k --engine ";
    const json all = checked("pools", asked + "all");
    for (const json& each : all["engines"]) {
        const json alone = checked("pools", asked + each["engine"].get<std::string>());
        CHECK(alone["engines"][0]["pools"] == each["pools"]);
    }
}

TEST_CASE("an emitted line has numbers that its engine reads", "[cli][said]") {
    if (!known()) {
        return;
    }
    const std::string asked = "plan llama-3.1-8b --gpu h100 --gpus 1 --non-kv-bytes 4GiB --tokens 8k --emit ";
    for (const auto& [flags, words] : Options{{"vllm --max-num-batched-tokens 4k", "--max-num-batched-tokens 4096"},
                                              {"sglang --chunked-prefill-size 4k", "--chunked-prefill-size 4096"},
                                              {"trtllm --max-kv-tokens 100k", "max_tokens: 102400"},
                                              {"llama-server --batch-size 2k", "--batch-size 2048"}}) {
        const Ran ran = run(asked + flags);
        CAPTURE(ran.out, ran.err);
        CHECK(ran.out.find(words) != std::string::npos);
    }
    CHECK(run(asked + "llama-server --util 0.8").code == 2);
}

}  // namespace said_cli_tests
