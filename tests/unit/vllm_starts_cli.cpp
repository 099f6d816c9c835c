// SPDX-License-Identifier: MIT
// When does vLLM start at all? Steps against requests and blocks, requests against blocks of states, budgets against
// the GPU; what its server takes by itself, and what a line cannot say.
#include "checked.hpp"

#include <catch2/catch.hpp>

namespace vllm_starts_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::more_memory;
using program::run;

/// Whether the answer has the words anywhere: in its refusal, or in a note.
bool tells(const json& found, const std::string& words) { return found.dump().find(words) != std::string::npos; }

json judged(const std::string& line, int code = 0, const std::string& beside = "--gpu h100") {
    const program::Ran ran = run("plan " + beside + " --json --launch " + program::quoted(line));
    CAPTURE(line, beside, ran.out, ran.err);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, "launch") == "");
    return read;
}

void refused(const std::string& arguments, int code, const std::string& words) {
    const program::Ran ran = run(arguments);
    CAPTURE(arguments, ran.err, ran.out);
    CHECK(ran.code == code);
    CHECK(program::unfolded(ran.err + ran.out).find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("fit: so many more bytes of a budget do, and one less does not, also where windows reserve for a step",
          "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const struct {
        std::string load;
        long long mib;
    } all[] = {{"gemma-3-27b --tokens 32768 --batch 4", 40960},
               {"gpt-oss-120b --tokens 32768 --batch 64", 100000},
               {"ministral-8b --tokens 131072 --batch 64", 100},
               {"ministral-8b --tokens 131072 --batch 64 --max-num-batched-tokens 512", 100},
               {"command-a --tokens 65536 --batch 8", 4096},
               {"gemma-3-27b --tokens 32768 --batch 1 --gpu h100", 4096}};
    for (const std::string engine : {"vllm", "vllm@0.28.0", "vllm@0.27.0"}) {
        for (const auto& each : all) {
            const std::string asked = each.load + " --engine " + engine + " --kv-budget ";
            CAPTURE(asked, each.mib);
            const auto with = [&](long long bytes, int code) {
                return checked("fit", asked + std::to_string(bytes) + "B", code);
            };
            const long long budget = each.mib << 20;
            const program::Ran ran = run("fit " + asked + std::to_string(budget) + "B --json");
            CAPTURE(ran.err);
            REQUIRE((ran.code == 1 || ran.code == 2));
            const long long more = more_memory(json::parse(ran.out));
            REQUIRE(more > 0);
            CHECK(with(budget + more, 0)["fits"] == true);
            const program::Ran less = run("fit " + asked + std::to_string(budget + more - 1) + "B --json");
            CHECK(less.code != 0);
            CHECK(more_memory(json::parse(less.out)) == 1);
        }
    }
}

TEST_CASE("vLLM 0.17 to 0.26: a block of aligned states is at most a step", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const std::string words = "block_size (2,096) must be <= max_num_batched_tokens (2,048)";
    const std::string fit = "fit qwen3.5-122b-a10b --gpu a100-80gb --tp 4 --tokens 32k --kv-cache-dtype fp8 "
                            "--overhead kaito-2026-06 --enable-prefix-caching --engine vllm@";
    for (const char* version : {"0.17.0", "0.26.0", "2026-05-20"}) {
        CAPTURE(version);
        refused(fit + version, 2, words);
        refused(fit + version + " --mamba-cache-mode align", 2, words);
        const program::Ran more = run(fit + version);
        CHECK(program::unfolded(more.out + more.err).find("--max-num-batched-tokens 2096") != std::string::npos);
        CHECK(run(fit + version + " --max-num-batched-tokens 2096").code == 0);
        CHECK(run(fit + version + " --max-num-batched-tokens 2095").code == 2);
    }
    for (const char* version : {"0.16.0", "0.27.0", "0.28.0"}) {
        CAPTURE(version);
        CHECK(run(fit + version).code == 0);
    }
    CHECK(run("fit qwen3.5-122b-a10b --gpu a100-80gb --tp 4 --tokens 32k --kv-cache-dtype fp8 --engine vllm@0.26.0")
              .code == 0);  // states are cached on request only
    judged("vllm serve qwen3.5-27b --max-model-len 8192 --max-num-seqs 8 --max-num-batched-tokens 512");
    judged("vllm serve qwen3.5-27b --max-model-len 8192 --max-num-seqs 8 --max-num-batched-tokens 512 "
           "--enable-prefix-caching",
           2, "--gpu h100 --engine vllm@0.26.0");
    judged("vllm serve qwen3.5-27b --max-model-len 400 --max-num-seqs 1 --enable-prefix-caching", 2,
           "--gpu h100 --engine vllm@0.26.0");  // an unsaid step is no longer than all requests
    const json answer = judged("vllm serve qwen3.5-27b --max-model-len 8192 --max-num-seqs 8 "
                               "--max-num-batched-tokens 512 --enable-prefix-caching",
                               2, "--gpu h100 --engine vllm@0.26.0");
    CHECK(answer["reason"] == "assertion");
    CHECK(answer["runs"] == false);
}

TEST_CASE("vLLM caches states on request before 0.28, and in mode all where the class has it", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const auto pools = [](const std::string& options) {
        return checked("pools", "qwen3.5-27b --kv-budget 40GiB --tokens 8k --engine vllm@" + options)["engines"][0];
    };
    CHECK(pools("0.27.0")["units_per_request"] == 3 + 11);  // a state of each of three groups, and blocks of tokens
    CHECK(pools("0.27.0")["groups"] == pools("0.27.0 --no-enable-prefix-caching")["groups"]);
    CHECK(pools("0.27.0 --enable-prefix-caching")["units_per_request"] == 2 * 3 + 11);
    CHECK(pools("0.28.0")["groups"] == pools("0.28.0 --enable-prefix-caching")["groups"]);
    CHECK(pools("0.28.0")["units_per_request"] == 2 * 3 + 11);
    CHECK(tells(pools("0.27.0"), "off, as vLLM 0.27.0 takes it for a model with states"));
    const std::string nemotron = "nemotron-h-56b --kv-budget 40GiB --tokens 8k --enable-prefix-caching --engine vllm@";
    CHECK(tells(checked("pools", nemotron + "0.27.0"), "all, as vLLM 0.27.0 takes it for this class"));
    CHECK_FALSE(tells(checked("pools", nemotron + "0.28.0"), "takes it for this class"));
    const std::string reuse = "reuse qwen3.5-27b --explain --engine vllm";
    refused(reuse + "@0.26", 0, "taken as given: vLLM 0.26.0 caches nothing of a model with states without it");
    CHECK(run(reuse).out.find("taken as given") == std::string::npos);
    refused("fit qwen3.5-27b --kv-budget 9GiB --tokens 8k --engine vllm --enable-prefix-caching "
            "--no-enable-prefix-caching",
            2, "one of them is wanted");
}

TEST_CASE("vLLM 0.20 on: graphs are captured with a block of states for every request", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const std::string beside = "--gpu h100 --overhead kaito-2026-06";
    const std::string line = "vllm serve qwen3.5-27b --max-model-len 132000 --gpu-memory-utilization 0.90";
    const json unsaid = judged(line, 2, beside);
    CHECK(tells(unsaid, "max_num_seqs (1,024) exceeds available Mamba cache blocks ("));
    CHECK(tells(unsaid, "says no --max-num-seqs: 1,024, what vLLM's server takes on such a GPU"));
    const std::string refusal = unsaid["refusal"];
    const std::string blocks = refusal.substr(refusal.find("blocks (") + 8, 3);
    const long most = std::stol(blocks);
    const std::string short_load = beside + " --tokens 1k --batch 1";
    judged(line + " --max-num-seqs " + std::to_string(most), 0, short_load);
    judged(line + " --max-num-seqs " + std::to_string(most + 1), 2, short_load);
    judged(line + " --enforce-eager --max-num-seqs 1024", 0, short_load);
    judged(line + " --enforce-eager", 0, short_load);
    judged(line + " --max-num-seqs 1024", 0, short_load + " --engine vllm@0.19.0");
    judged(line + " --max-num-seqs 1024", 2, short_load + " --engine vllm@0.20.0");
    judged("vllm serve llama-3.1-8b --max-model-len 8192", 0, beside);
    CHECK(tells(checked("fit", "qwen3.5-27b --gpu h100 --overhead kaito-2026-06 --engine vllm --tokens 132000"),
               "vLLM's server takes up to 1,024 where its line does not say it"));
}

TEST_CASE("vLLM: a step has a token of every request at once", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const std::string words = "max_num_batched_tokens (1,024) must be greater than or equal to max_num_seqs (2,000)";
    const json said = judged("vllm serve llama-3.1-8b --max-model-len 128 --max-num-seqs 2000 "
                             "--max-num-batched-tokens 1024", 2);
    CHECK(tells(said, words));
    judged("vllm serve llama-3.1-8b --max-model-len 128 --max-num-seqs 2000 --max-num-batched-tokens 2000");
    judged("vllm serve llama-3.2-1b --max-model-len 128 --max-num-seqs 3000", 2, "--gpu l40s");
    const std::string load = "llama-3.2-1b --gpu l40s --tokens 100 --batch 3000";
    const program::Ran emitted = run("plan " + load + " --gpus 1 --emit vllm");
    CHECK(emitted.out.find("--max-num-seqs 3000 ") != std::string::npos);
    CHECK(emitted.out.find("--max-num-batched-tokens 3000") != std::string::npos);
    CHECK(judged(emitted.out.substr(0, emitted.out.size() - 1), 0, "--gpu l40s")["fits"] == true);
    CHECK(tells(checked("fit", load + " --engine vllm"), "3,000 tokens a step, one for each request at once"));
    refused("fit " + load + " --engine vllm --max-num-batched-tokens 512", 1,
            "512 sequences run at once (--max-num-batched-tokens), and of 3,000");
    const json planned = checked("plan", "llama-3.2-1b --gpu l40s --gpus 1 --tokens 100 --batch 3 --engine vllm "
                                         "--max-num-batched-tokens 16");
    CHECK(planned["ranked"][0]["sequences"] == 16);
    const std::string few = run("plan llama-3.2-1b --gpu l40s --gpus 1 --tokens 8k --batch 3 --emit vllm "
                                "--max-num-batched-tokens 16").out;
    CHECK(few.find("--max-num-seqs 16 ") != std::string::npos);
    CHECK(run("plan llama-3.2-1b --gpu l40s --gpus 1 --tokens 8k --batch 3 --emit vllm --max-num-batched-tokens 1")
              .out == "");
    const json queued = judged("vllm serve llama-3.2-1b --max-model-len 128", 1, "--gpu h100 --batch 2000");
    CHECK(tells(queued, "1,024 sequences run at once (--max-num-seqs), and of 2,000 requests vLLM queues 976"));
}

TEST_CASE("a budget that the GPU cannot hold beside the weights does not fit", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    for (const std::string engine : {"vllm", "sglang", "trtllm", "exact"}) {
        const std::string fit = "fit llama-3.1-8b --gpu h100 --tokens 8k --engine " + engine + " --kv-budget ";
        CAPTURE(engine);
        refused(fit + "200GiB", 1, "more than a GPU has");
        refused(fit + "70GiB", 1, "beside");
        CHECK(run(fit + "60GiB").code == 0);
        const json little = checked("fit", "llama-3.1-8b --gpu h100 --tokens 128k --batch 3 --engine " + engine +
                                               " --kv-budget 10GiB",
                                    1);
        CHECK(more_memory(little) > 0);
        const json lacking = checked("fit", "llama-3.1-8b --gpu h100 --tokens 128k --batch 5 --engine " + engine +
                                                " --kv-budget 10GiB",
                                     1);
        CHECK(more_memory(lacking) == 0);  // the GPU has not as much
    }
    const json line = judged("vllm serve llama-3.1-8b --max-model-len 8192 --kv-cache-memory-bytes 200G", 1);
    CHECK(line["fits"] == false);
    CHECK(tells(line, "more than a GPU has"));
}

TEST_CASE("--encoder-tokens: no line says them, and the model has so many positions", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const std::string plan = "plan whisper-large-v3 --gpu h100 --gpus 1 --tokens 448 --batch 16 --emit vllm";
    refused(plan + " --encoder-tokens 100", 2,
            "the launch line has no flag for --encoder-tokens 100; vLLM takes 1,500");
    CHECK(run(plan + " --encoder-tokens 1500").out == run(plan).out);
    const std::string fit = "whisper-large-v3 --gpu h100 --tokens 448 --engine vllm --encoder-tokens ";
    CHECK(tells(checked("fit", fit + "100000"), "100,000 are more than the 1,500 positions"));
    CHECK_FALSE(tells(checked("fit", fit + "1500"), "positions of the model"));
    const auto logged = [&](const char* tokens) { return checked("fit", fit + tokens)["engine_log"]; };
    CHECK(logged("100") == logged("1500"));  // vLLM sizes by all positions
}

TEST_CASE("plan --launch: drafts of the text itself have no weights and no caches", "[cli][vllm-start]") {
    if (!program::known()) {
        return;
    }
    const std::string dense = "vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 4";
    const std::string ngram = R"( --speculative-config '{"method":"ngram","num_speculative_tokens":3}')";
    CHECK(judged(dense + ngram)["margin_bytes"] == judged(dense)["margin_bytes"]);
    CHECK(tells(judged(dense + ngram), "ngram: drafts of the text itself"));
    CHECK(judged(dense + " --spec-method ngram --spec-tokens 3")["fits"] == true);
    CHECK(judged(dense + R"( --speculative-config '{"method":"suffix"}')")["fits"] == true);
    const std::string states = "vllm serve qwen3.5-27b --max-model-len 8192 --max-num-seqs 4";
    CHECK(judged(states + ngram)["margin_bytes"] < judged(states)["margin_bytes"]);  // a state for every draft token
    const auto refuses = [](const std::string& line, const std::string& words) {
        refused("plan --gpu h100 --launch " + program::quoted(line), 2, words);
    };
    refuses(dense + R"( --speculative-config '{"method":"ngram"}')", "num_speculative_tokens: not said");
    refuses(dense + R"( --speculative-config '{"method":"ngram","num_speculative_tokens":-1}')", "at least 1");
    refuses(dense + " --speculative-config nothing", "JSON object");
    refuses(dense + R"( --speculative-config '{"method":"eagle","model":"x"}')", "a draft");
    refuses(dense + " --spec-method mtp --spec-tokens 2", "a draft");
    refused("fit llama-3.1-8b --kv-budget 9GiB --tokens 8k --engine vllm --spec-method medusa", 2,
            "none of mtp, ngram");
}

}  // namespace vllm_starts_cli_tests
