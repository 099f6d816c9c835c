// SPDX-License-Identifier: MIT
// What engines have and since when, as a script sees it: vLLM's context ranks and blocks by version, llama.cpp's tensor
// split by architecture, and heads that SGLang's and TensorRT-LLM's models do not deal.
#include "checked.hpp"

#include <catch2/catch.hpp>

namespace engine_facts_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::refused;

json change(const json& found, const std::string& kind) {
    for (const json& each : found["changes"]) {
        if (each["kind"] == kind) {
            return each;
        }
    }
    return nullptr;
}

/// A model among 16 tensor ranks of which two share each copy.
std::string shared(const std::string& model, const std::string& engine) {
    const std::string gpu = model.find("--gpu") == std::string::npos ? " --gpu h200" : "";
    return model + gpu + " --weights-bytes 40GiB --tp 16 --decode-context-parallel-size 2 --tokens 8k --engine " +
           engine;
}

}  // namespace

TEST_CASE("vLLM: context ranks by version, backend and format", "[cli][engine]") {
    if (!program::known()) {
        return;
    }
    struct Case {
        std::string model;
        std::string version;
        std::string words;  ///< of the refusal; empty: it starts
    };
    const std::string fp8 = " --kv-cache-dtype fp8";
    const std::string none = " has no context ranks (--decode-context-parallel-size)";
    const std::string first = " the first with them is vLLM ";
    const Case cases[] = {
        {"deepseek-v3", "0.10.1", "vLLM 0.10.1" + none + ";" + first + "0.10.2"},
        {"deepseek-v3", "2025-09-12", "the first with them is vLLM 0.10.2 of 2025-09-13"},
        {"deepseek-v3", "0.10.2", ""},
        {"deepseek-v3", "2025-09-13", ""},
        {"llama-3.1-405b", "0.11.0", "FLASH_ATTN of vLLM 0.11.0 has no context ranks"},
        {"llama-3.1-405b", "0.11.1", ""},
        {"llama-3.1-405b --gpu b200", "0.11.0", "FLASHINFER of vLLM 0.11.0"},
        {"deepseek-v3" + fp8, "0.24.0", "vLLM 0.24.0" + none + " over latents in fp8;" + first + "0.25.0"},
        {"deepseek-v3" + fp8, "0.25.0", ""},
        {"llama-3.1-405b" + fp8, "0.24.0", ""},
        {"deepseek-v3 --gpu b200", "0.24.0",
         "FLASHINFER_MLA of vLLM 0.24.0" + none + ": its decode returns no log-sum-exp to join them by;" +
             first + "0.25.0"},
        {"deepseek-v3 --gpu b200", "0.25.0", ""},
        {"deepseek-v3.2 --gpu b200", "0.25.0", ""},
        {"deepseek-v3.2", "0.28.0", "FLASH_ATTN_MLA_SPARSE of vLLM 0.28.0"},
        {"llama-3.1-405b --attention-backend TRITON_ATTN", "0.28.0", "TRITON_ATTN of vLLM 0.28.0"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.model, each.version);
        const json found = checked("fit", shared(each.model, "vllm@" + each.version), each.words.empty() ? 0 : 2);
        CHECK(found["fits"] == each.words.empty());
        CHECK(found["refusal"].get<std::string>().find(each.words) != std::string::npos);
        CHECK(found["reason"] == (each.words.empty() ? "" : "context_parallel_unsupported"));
    }
    const std::string tight = "deepseek-v3 --kv-budget 3GiB --tp 8 --gpus 8 --tokens 128k --engine vllm@0.10.";
    CHECK(change(checked("fit", tight + "1", 1), "cp").is_null());
    CHECK(change(checked("fit", tight + "2", 1), "cp").is_object());
    const std::string searched = "plan deepseek-v3 --kv-budget 9GiB --gpus 8 --tokens 32k --tp 8 --engine vllm@0.10.";
    CHECK(json::parse(program::run(searched + "1 --json").out)["ranked"].size() <
          json::parse(program::run(searched + "2 --json").out)["ranked"].size());
}

TEST_CASE("vLLM: blocks that the command line takes, and those that fit suggests", "[cli][engine]") {
    if (!program::known()) {
        return;
    }
    const std::string odd = "fit llama-3-8b --kv-budget 20GiB --tokens 8k --block-size 112 --engine vllm@";
    refused(odd + "0.17.0", 2, "--block-size 112: vLLM 0.17.0 takes 1, 8, 16, 32, 64, 128, 256");
    CHECK(program::run(odd + "0.18.0").code == 0);
    const std::string large = "fit llama-3-8b --kv-budget 20GiB --tokens 8k --block-size 256 --engine vllm@0.11.";
    refused(large + "0", 2, "--block-size 256: vLLM 0.11.0 takes 1, 8, 16, 32, 64, 128; the");
    CHECK(program::run(large + "1").code == 0);
    // 1,040 MiB are 37 blocks of 224, of which one stays free: too few for 8,191 tokens, which 64 blocks of 128 hold.
    const std::string tight = "llama-3-8b --kv-budget 1040MiB --tokens 8191 --engine vllm@0.28.0 --block-size 224";
    const json knob = change(checked("fit", tight, 1), "flag");
    REQUIRE(knob.is_object());
    CHECK(knob["words"] == "--block-size 128");
}

TEST_CASE("vLLM: batches in flight with pipeline stages, by version", "[cli][engine]") {
    if (!program::known()) {
        return;
    }
    const std::string staged = "deepseek-v4-flash --gpu h200 --pp 2 --tokens 32k --weights-bytes 60GiB --engine vllm@";
    const json before = checked("fit", staged + "0.27.0");
    const json after = checked("fit", staged + "0.28.0");
    CHECK(before["notes"].dump().find(": 2 batches are in flight") != std::string::npos);
    CHECK(after["notes"].dump().find(": 3 batches are in flight") != std::string::npos);
    CHECK(after["units_per_request"] > before["units_per_request"]);
}

TEST_CASE("plan and fit find one longest context, whatever a longer one reserves", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    for (const std::string asked :
         {"deepseek-v4-flash --kv-budget 12GiB --tokens 32k --engine vllm@0.28.0",
          "gemma-3-27b --kv-budget 30GiB --tokens 8k --batch 3 --engine vllm@0.28.0",
          "gpt-oss-120b --kv-budget 9GiB --tokens 8k --engine sglang",
          "qwen3-next-80b-a3b --kv-budget 4GiB --tokens 8k --engine trtllm",
          "llama-3.1-8b --kv-budget 9GiB --tokens 8k --engine llamacpp"}) {
        CAPTURE(asked);
        const json fit = checked("fit", asked);
        const json plan = checked("plan", asked + " --gpus 1 --kv-cache-dtype auto");
        CHECK(plan["ranked"][0]["context"] == fit["longest_tokens"]);
        CHECK(fit["longest_tokens"].get<unsigned long long>() > 0);
    }
}

TEST_CASE("llama.cpp refuses -sm tensor for latents and a few others", "[cli][engine]") {
    if (!program::known()) {
        return;
    }
    const std::string two = " --kv-budget 40GiB --tokens 4k --tp 2 --engine llamacpp";
    for (const std::string model : {"deepseek-v2-lite", "olmo-2-7b", "minimax-m2.5"}) {
        refused("fit " + model + two, 2, "-sm tensor is not implemented for this architecture");
        const std::string asked = " --kv-budget 40GiB --tokens 4k --gpus 2 --emit llama-server";
        const program::Ran line = program::run("plan " + model + asked);
        CAPTURE(line.out, line.err);
        CHECK(line.out.find("-sm tensor") == std::string::npos);
        CHECK(line.code == 0);
        CHECK(change(checked("fit", model + two, 2), "dp_attention").is_null());  // which llama.cpp does not have
    }
    CHECK(program::run("fit llama-3.1-8b" + two).code == 0);
}

TEST_CASE("KV heads that tensor ranks cannot share evenly are refused under every engine", "[cli][engine]") {
    if (!program::known()) {
        return;
    }
    for (const std::string engine : {"exact", "vllm", "sglang", "trtllm"}) {  // 96 query heads, 8 KV heads
        refused("fit command-a --kv-budget 90GiB --tokens 4k --tp 12 --engine " + engine, 2, "8 heads cannot be dealt");
        CHECK(program::run("fit command-a --kv-budget 90GiB --tokens 4k --tp 16 --engine " + engine).code == 0);
    }
}

}  // namespace engine_facts_cli_tests
