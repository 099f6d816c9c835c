// SPDX-License-Identifier: MIT
// The verbs that ask engines, as a script sees them: JSON against schemas, 80 columns, refused flags, the attention
// backend by GPU, and the changes that make a load fit.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <sstream>

namespace engines_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::Ran;
using program::refused;

Ran kvcap(const std::string& arguments) { return program::run(arguments); }

}  // namespace

TEST_CASE("every verb's JSON keeps its schema, and says model and dtype alike") {
    if (!program::known()) {
        return;
    }
    const std::string v3 = "deepseek-v3 --kv-budget 40GiB --tokens 8k";
    const json fits = checked("fit", v3);
    const json lacks = checked("fit", "gemma-3-27b --kv-budget 1GiB --tokens 128k --batch 4 --engine sglang", 1);
    CHECK(!lacks["changes"].empty());
    const json pools = checked("pools", v3 + " --engine all");
    CHECK(pools["engines"].size() == 4);
    const json shown = checked("show", "deepseek-v3");
    const json compared = checked("compare", "deepseek-v3 deepseek-v3@fp8@tp=8 --tokens 8k");
    const json swept = checked("sweep", "deepseek-v3 --tokens 1k:4k:x2 --dtype auto,bfloat16");
    const json sized = checked("size", "deepseek-v3 --tokens 8k");
    const json ggml = checked("llamacpp", "deepseek-v3 -c 8192 --device 24GiB,24GiB -ctk q8_0 -ctv q8_0", 0);
    checked("plan", "llama-3.1-8b --gpu h100 --gpus 2 --tokens 8k");
    CHECK(checked("models", "deepseek")["models"].size() > 3);
    const std::string name = "deepseek-ai/DeepSeek-V3";
    for (const json& one : {fits, pools, shown, sized, ggml, compared["sides"][0], swept["lines"][0]}) {
        CHECK(one["model"] == name);
    }
    for (const json& one : {fits, pools, shown, sized, compared["sides"][0], swept["lines"][0]}) {
        CHECK(one["kv_cache_dtype"] == "bf16");
        CHECK(one["kv_cache_dtype_asked"] == "auto");
    }
    CHECK(swept["lines"][1]["kv_cache_dtype"] == "bf16");
    CHECK(swept["lines"][1]["kv_cache_dtype_asked"] == "bfloat16");
    CHECK(compared["sides"][1]["kv_cache_dtype"] == "fp8");
    CHECK(ggml["kv_cache_dtype"] == "q8_0");
}

TEST_CASE("sweep: --json and --csv are --out json and --out csv") {
    if (!program::known()) {
        return;
    }
    const std::string sweep = "sweep llama-3.1-8b --tokens 1k,2k ";
    CHECK(kvcap(sweep + "--json").out == kvcap(sweep + "--out json").out);
    CHECK(kvcap(sweep + "--csv").out == kvcap(sweep + "--out csv").out);
    refused(sweep + "--json --csv", 2, "--json and --csv");
    refused(sweep + "--json --out svg", 2, "--json and --out svg");
}

TEST_CASE("screens of engines fit 80 columns") {
    if (!program::known()) {
        return;
    }
    const std::string models[] = {"deepseek-v3", "deepseek-v4-flash-fp8", "gemma-3-27b", "qwen3-next-80b-a3b",
                                  "whisper-large-v3", "nemotron-3-nano-30b-a3b"};
    for (const std::string& model : models) {
        for (const std::string& run :
             {"pools " + model + " --kv-budget 40GiB --engine all --tokens 8k --encoder-tokens 1500",
              "fit " + model + " --kv-budget 1GiB --tokens 64k --batch 64 --engine vllm",
              "fit " + model + " --gpu b200 --tokens 8k --engine trtllm", "llamacpp " + model + " -c 8192",
              "compare " + model + " qwen3-next-80b-a3b@fp8@tp=4 deepseek-v3 --tokens 8k",
              "sweep " + model + " qwen3-next-80b-a3b nemotron-3-nano-30b-a3b --tokens 1k,1m --tp 1,2"}) {
            const Ran ran = kvcap(run);
            CAPTURE(run, ran.out, ran.err);
            const bool no_rules = ran.code == 4 && ran.err.find("kvcap has no rules of") != std::string::npos;
            CHECK((ran.code == 0 || ran.code == 1 || no_rules));
            CHECK(program::widest(ran.out) <= 80);
        }
    }
}

TEST_CASE("flags of engines refuse what is no number of theirs") {
    if (!program::known()) {
        return;
    }
    const struct {
        const char* engine;
        const char* flag;
    } flags[] = {{"vllm", "block-size"},          {"vllm", "max-num-batched-tokens"},
                 {"vllm", "num-speculative-tokens"}, {"vllm", "num-gpu-blocks-override"},
                 {"vllm", "prefix-match-unit"},   {"sglang", "page-size"},
                 {"sglang", "max-total-tokens"},  {"sglang", "max-running-requests"},
                 {"sglang", "max-mamba-cache-size"}, {"sglang", "chunked-prefill-size"},
                 {"sglang", "mamba-full-memory-ratio"}, {"sglang", "swa-full-tokens-ratio"},
                 {"trtllm", "tokens-per-block"},  {"trtllm", "max-kv-tokens"},
                 {"trtllm", "max-batch-size"},    {"trtllm", "max-beam-width"},
                 {"trtllm", "host-cache-size"},   {"llamacpp", "ctx-size"},
                 {"llamacpp", "parallel"},        {"llamacpp", "batch-size"},
                 {"llamacpp", "ubatch-size"}};
    for (const auto& [engine, flag] : flags) {
        for (const std::string junk : {"abc", "-1", "''", "1e400x", "99999999999999999999"}) {
            if (flag == std::string{"chunked-prefill-size"} && junk == "-1") {
                continue;  // no chunks
            }
            const Ran ran = kvcap(std::string{"pools llama-3.1-8b --kv-budget 8GiB --tokens 4k --engine "} + engine +
                                  " --" + flag + " " + junk);
            CAPTURE(engine, flag, junk, ran.err, ran.out);
            CHECK(ran.code == 2);
            CHECK(ran.out.empty());
            CHECK(ran.err.find(std::string{"--"} + flag) != std::string::npos);
        }
    }
    refused("pools llama-3.1-8b --kv-budget 8GiB --block-size 0", 2, "--block-size: 0");
    refused("pools llama-3.1-8b --kv-budget 8GiB --engine trtllm --max-beam-width 65", 2, "at most 64");
    refused("pools llama-3.1-8b --kv-budget 8GiB --block-size 17", 2,
            "does not start: No valid attention backend found");
    refused("pools llama-3.1-8b --kv-budget 8GiB --block-size 17", 2, "[block_size not supported]");
    refused("pools llama-3.1-8b --kv-budget 8GiB --attention-backend FLASHMLA", 2, "non-MLA not supported");
    refused("pools llama-3.1-8b --kv-budget 8GiB --attention-backend FLASH_ATN", 2, "did you mean FLASH_ATTN?");
}

TEST_CASE("vLLM's attention backend follows the GPU") {
    if (!program::known()) {
        return;
    }
    const struct {
        const char* model;
        const char* gpu;
        const char* dtype;
        const char* backend;
        int block;
    } rows[] = {{"deepseek-v3", "h200", "auto", "FLASH_ATTN_MLA", 16},
                {"deepseek-v3", "h200", "fp8", "FLASHMLA", 64},
                {"deepseek-v3", "b200", "auto", "FLASHINFER_MLA", 32},
                {"deepseek-v3", "a100-80g", "auto", "TRITON_MLA", 16},
                {"deepseek-v3", "rtx-pro-6000", "fp8", "TRITON_MLA", 16},
                {"deepseek-v3.2", "h200", "auto", "FLASH_ATTN_MLA_SPARSE", 64},
                {"deepseek-v3.2", "b200", "fp8", "FLASHINFER_MLA_SPARSE", 64},
                {"llama-3.1-8b", "l40s", "auto", "FLASH_ATTN", 16},
                {"llama-3.1-8b", "l40s", "fp8", "FLASHINFER", 16},
                {"llama-3.1-8b", "h100", "fp8", "FLASH_ATTN", 16},
                {"llama-3.1-8b", "h100", "fp8_e5m2", "FLASHINFER", 16},
                {"llama-3.1-8b", "b200", "nvfp4", "FLASHINFER", 16},
                {"llama-3.1-8b", "t4", "auto", "TRITON_ATTN", 16},
                {"llama-3.1-8b", "h100", "int8_per_token_head", "TRITON_ATTN", 16},
                {"gpt-oss-20b", "a100-80g", "auto", "TRITON_ATTN", 16}};
    for (const auto& [model, gpu, dtype, backend, block] : rows) {
        const std::string run = std::string{model} + " --gpu " + gpu + " --gpus 8 --tp 8 --weights-bytes 1GiB" +
                                " --tokens 4k --engine vllm@0.28.0 --kv-cache-dtype " + dtype;
        const json one = checked("pools", run)["engines"][0];
        CAPTURE(run);
        CHECK(one["backend"] == backend);
        CHECK(one["block_size"] == block);
        CHECK(one["notes"][0]["origin"] == "derived");
        CHECK(one["notes"][0]["text"].get<std::string>().find("compute capability") != std::string::npos);
    }
    const std::string v32 = "deepseek-v3.2 --weights-bytes 1GiB --tokens 4k --kv-cache-dtype fp8 --gpu ";
    const json fp8 = checked("pools", v32 + "b200");
    const json packed = checked("pools", v32 + "h200");
    CHECK(fp8["engines"][0]["groups"][0]["page_bytes"] == 61 * 64 * (576 + 132));
    CHECK(packed["engines"][0]["groups"][0]["page_bytes"] == 61 * 64 * (656 + 132));
    const json assumed = checked("pools", "llama-3.1-8b --kv-budget 8GiB --tokens 4k")["engines"][0];
    CHECK(assumed["notes"][0]["origin"] == "assumed");
    CHECK(assumed["notes"][0]["text"].get<std::string>().find("Hopper") != std::string::npos);
    const json old = checked("pools", "deepseek-v3 --kv-budget 8GiB --tokens 4k --engine vllm@0.16.0");
    CHECK(old["engines"][0]["block_size"] == 64);
    refused("pools llama-3.1-8b --gpu h100 --kv-cache-dtype nvfp4", 2, "[kv_cache_dtype not supported]");
}

TEST_CASE("a format is refused by a vLLM older than it, with the first that has it") {
    if (!program::known()) {
        return;
    }
    const std::string asked = "pools llama-3.1-8b --kv-budget 8GiB --tokens 4k --engine vllm@";
    refused(asked + "0.19.1 --kv-cache-dtype int8_per_token_head", 2,
            "vLLM 0.19.1 has no int8_per_token_head; the first with it is vLLM 0.20.0");
    refused(asked + "2026-07-01 --kv-cache-dtype int4_per_token_head", 2,
            "vLLM of 2026-07-01 has no int4_per_token_head; the first with it is vLLM 0.25.0 of 2026-07-11");
    refused(asked + "0.11.0 --kv-cache-dtype turboquant_k8v4", 2, "the first with it is vLLM 0.20.0");
    const std::string latents =
        "pools deepseek-v3.2 --kv-budget 80GiB --tokens 4k --kv-cache-dtype fp8_ds_mla --engine vllm@";
    refused(latents + "0.10.2", 2, "vLLM 0.10.2 has no fp8_ds_mla; the first with it is vLLM 0.11.0");
    CHECK(program::run(latents + "0.11.0").code == 0);
    refused(asked + "0.19 --kv-cache-dtype q8_0", 2, "vLLM 0.19.0 has no q8_0; it has auto, fp8, fp8_e4m3");
    const json had = checked("pools", asked.substr(6) + "0.20.0 --kv-cache-dtype int8_per_token_head");
    CHECK(had["engines"][0]["groups"][0]["page_bytes"] == 16 * 2 * 8 * (128 + 4));
}

TEST_CASE("what vLLM refuses is said in words, its own category stands in JSON, and what it lacks comes first") {
    if (!program::known()) {
        return;
    }
    const std::string asked = " mimo-v2-flash --kv-budget 8GiB --tokens 4k --engine vllm@0.11.0";
    for (const char* verb : {"pools", "fit"}) {
        const std::string line = verb + asked;
        refused(line, 2, "the layers'");
        CHECK(program::run(line).out.find("cannot_unify_page_size") == std::string::npos);
        // Whatever else is refused, this version has no such format.
        for (const char* format : {"nvfp4", "turboquant_k8v4", "int8_per_token_head"}) {
            refused(line + " --kv-cache-dtype " + format, 2,
                    std::string{"vLLM 0.11.0 has no "} + format + "; the first with it is vLLM 0.20.0");
        }
    }
    const json pools = checked("pools", asked.substr(1), 2)["engines"][0];
    CHECK(pools["reason"] == "cannot_unify_page_size");
    CHECK(pools["refusal"].get<std::string>().find('_') == std::string::npos);
    CHECK(pools["refusal"].get<std::string>().find("the layers' blocks take different numbers of bytes") !=
          std::string::npos);
    CHECK(checked("fit", asked.substr(1), 2)["reason"] == "cannot_unify_page_size");
    CHECK(checked("pools", "llama-3.1-8b --kv-budget 8GiB --tokens 4k")["engines"][0]["reason"] == "");
    const json blocks = checked("pools", "llama-3.1-8b --kv-budget 8GiB --tokens 4k --block-size 17", 2)["engines"][0];
    CHECK(blocks["reason"] == "no_valid_backend");
    // A backend has as many reasons as vLLM lists.
    const json both = checked("pools", "mimo-v2-flash --tokens 4k --gpu h100 --kv-cache-dtype nvfp4", 2)["engines"][0];
    CHECK(both["refusal"].get<std::string>().find(
              "FLASHINFER: [head_size not supported, kv_cache_dtype not supported]") != std::string::npos);
}

TEST_CASE("where nothing is said vLLM's own defaults hold, by version and GPU, and are named") {
    if (!program::known()) {
        return;
    }
    const std::string gemma = "gemma-4-31b-it-nvfp4 --tokens 256k --max-num-batched-tokens 32768 --engine vllm@";
    const auto reserved = [&](const std::string& rest) {
        return checked("size", gemma + rest)["reserved_per_request"][0]["bytes"].get<long long>();
    };
    CHECK(reserved("0.26.0") == reserved("0.26.0 --async-scheduling"));
    CHECK(reserved("0.26.0") > reserved("0.26.0 --no-async-scheduling"));
    CHECK(reserved("0.25.0") == reserved("0.25.0 --no-async-scheduling"));  // one batch, whatever is in flight
    refused("size " + gemma + "0.26.0 --async-scheduling --no-async-scheduling", 2, "one of them is wanted");
    const auto batches = [&](const std::string& model) {
        const json all = checked("pools", model + " --kv-budget 40GiB --tokens 8k --pp 2 --engine vllm@0.28.0");
        return all["engines"][0]["notes"].dump().find("3 batches are in flight") != std::string::npos;
    };
    CHECK(batches("gemma-3-27b"));           // dense: the V2 runner
    CHECK_FALSE(batches("gpt-oss-20b"));     // experts: as many as stages
    const auto step = [&](const std::string& rest) {
        const json all = checked("pools", "gemma-3-27b --tokens 8k " + rest);
        for (const json& note : all["engines"][0]["notes"]) {
            if (note["where"] == "--max-num-batched-tokens") {
                return note["origin"].get<std::string>() + " " + note["text"].get<std::string>().substr(0, 6);
            }
        }
        return std::string{};
    };
    CHECK(step("--weights-bytes 1GiB --gpu l40s --engine vllm@0.28.0") == "derived 2,048 ");
    CHECK(step("--weights-bytes 1GiB --gpu a100-80g --engine vllm@0.28.0") == "derived 2,048 ");
    CHECK(step("--weights-bytes 1GiB --gpu h100 --engine vllm@0.28.0") == "derived 8,192 ");
    CHECK(step("--weights-bytes 1GiB --gpu b200 --engine vllm@0.27.0") == "derived 8,192 ");
    CHECK(step("--weights-bytes 1GiB --gpu b200 --engine vllm@0.28.0") == "derived 16,384");
    CHECK(step("--kv-budget 8GiB --engine vllm@0.28.0") == "assumed 8,192 ");
    CHECK(step("--weights-bytes 1GiB --gpu h100 --max-num-batched-tokens 512").empty());
}

TEST_CASE("each format that an engine's refusal offers is read") {
    if (!program::known()) {
        return;
    }
    for (const char* const engine : {"vllm", "sglang", "trtllm"}) {
        const std::string ask = std::string{"pools deepseek-v3 --kv-budget 8GiB --tokens 4k --engine "} + engine;
        const std::string refusal = program::run(ask + " --kv-cache-dtype q8_0").err;
        const std::size_t from = refusal.find(" no q8_0; it has ");
        REQUIRE(from != std::string::npos);
        std::istringstream names{refusal.substr(from + std::string_view{" no q8_0; it has "}.size())};
        int offered = 0;
        for (std::string name; std::getline(names, name, ','); ++offered) {
            name = name.substr(name.find_first_not_of(' '), name.find_first_of("\n"));
            CAPTURE(engine, name);
            CHECK(program::run(ask + " --kv-cache-dtype " + name).err.find("wanted one of") == std::string::npos);
        }
        CHECK(offered >= 3);
    }
}

TEST_CASE("fit turns an engine's flags, and each change fits") {
    if (!program::known()) {
        return;
    }
    const struct {
        const char* load;
        const char* flag;
    } rows[] = {{"gemma-3-27b --kv-budget 4GiB --tokens 16k --engine vllm", "max-num-batched-tokens"},
                {"gpt-oss-20b --kv-budget 1GiB --tokens 16k --batch 2 --engine sglang", "swa-full-tokens-ratio"},
                {"qwen3-next-80b-a3b --kv-budget 4GiB --tokens 128k --engine sglang", "mamba-full-memory-ratio"},
                {"nemotron-3-nano-30b-a3b --kv-budget 2GiB --tokens 32k --batch 4 --engine trtllm --max-batch-size 64",
                 "max-batch-size"},
                {"llama-3.1-8b --gpu rtx-4090 --tokens 42000 --non-kv-bytes 2GiB --engine vllm",
                 "gpu-memory-utilization"},
                {"llama-3.1-8b --kv-budget 80MiB --tokens 513 --engine vllm --block-size 256", "block-size"},
                {"gemma-3-27b --kv-budget 1000MiB --tokens 4k --engine llamacpp --ubatch-size 2048", "ubatch-size"}};
    for (const auto& [load, flag] : rows) {
        const json found = checked("fit", load, 1);
        CAPTURE(load, found["changes"].dump(1));
        bool turned = false;
        for (const json& change : found["changes"]) {
            if (change["kind"] != "flag") {
                continue;
            }
            const std::string words = change["words"];
            CAPTURE(words);
            std::string asked = load;  // a flag is given once
            if (const std::size_t at = asked.find(words.substr(0, words.find(' '))); at != std::string::npos) {
                asked.resize(at);
            }
            CHECK(kvcap("fit " + asked + ' ' + words).code == 0);
            turned = turned || change["flags"].contains(flag);
        }
        CHECK(turned);
    }
}

TEST_CASE("bad input is refused at its place, with the value and what was wanted") {
    if (!program::known()) {
        return;
    }
    refused("fit llama-3.1-8b --gpu foo", 2, "--gpu: foo");
    refused("fit llama-3.1-8b --gpu h20O", 2, "did you mean h200?");
    refused("fit llama-3.1-8b --kv-budget 8GiB --lengths ''", 2, "--lengths");
    refused("fit llama-3.1-8b --kv-budget 8GiB --engine-max-len ''", 2, "--engine-max-len");
    refused("fit llama-3.1-8b --kv-budget ''", 2, "--kv-budget");
    refused("fit llama-3.1-8b --kv-budget 20", 2, "20 is 20 bytes; wanted a unit as well, such as 20GiB");
    refused("fit llama-3.1-8b --gpu-mem 24", 2, "such as 24GiB");
    refused("advise llama-3.1-8b --gpu h100 --gpus 0", 2, "--gpus");
    refused("size llama-3.1-8b --tokens ''", 2, "--tokens");
    refused("size llama-3.1-8b --batch ''", 2, "--batch");
    refused("size llama-3.1-8b --encoder-tokens ''", 2, "--encoder-tokens");
    refused("size llama-3.1-8b --kv-cache-dtype fp8_ds_mla", 2, "MLA");
    refused("size 'window(0, gqa(8,128))'", 3, "at least 1 token");
    refused("size 'chunk(0, gqa(8,128))'", 3, "at least 1 token");
    refused("size 'fp8_ds_mla(gqa(8,128))'", 3, "latent");
    const std::string config = R"(size '{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8,
        "hidden_size": 1024, )";
    refused(config + "\"torch_dtype\": \"float13\"}'", 3, "/torch_dtype: \"float13\"");
    refused(config + "\"mamba_ssm_dtype\": \"x\"}'", 3, "/mamba_ssm_dtype: \"x\"");
    refused(config + "\"quantization_config\": {\"kv_cache_scheme\": \"fp99\"}}'", 3,
            "/quantization_config/kv_cache_scheme: \"fp99\"");
    refused(config + "\"quantization_config\": {\"kv_cache_scheme\": {\"num_bits\": 7, \"type\": \"float\"}}}'", 3,
            "/quantization_config/kv_cache_scheme/num_bits: 7");
}

TEST_CASE("what kvcap does not know of an engine is said as such") {
    if (!program::known()) {
        return;
    }
    const std::string fit = "fit llama-3.1-8b --kv-budget 40GiB --tokens 8k --engine ";
    refused(fit + "vllm@2030-01-01", 4, "nearest: vllm@2026-08-20");
    refused(fit + "llamacpp@2030-01-01", 4, "nearest: llamacpp@2026-09-28");
    refused(fit + "vllm@0.28.0rc1", 4, "nearest: vllm@0.28.0, or the day it was built");
    refused(fit + "vllm@0.28.0rgarbage", 4, "nearest: vllm@0.28");
    for (const char* day : {"2026-02-31", "2026-02-29", "2026-13-01", "2026-00-10", "2026-02-"}) {
        refused(fit + "vllm@" + day, 4, std::string{day} + ": the calendar has no such day; wanted YYYY-MM-DD");
    }
    refused(fit + "vllm@2024-02-28", 4, "no rules are known for vLLM 2024-02-28");
    refused(fit + "vllm --state-dtype f32", 2, "--state-dtype");
    refused(fit + "vllm --cp 4", 2, "4 context ranks among 1 tensor rank");
    refused("reuse llama-3.1-8b --prompt 64 --engine vllm@2030-01-01", 4, "nearest: vllm@2026-08-20");
    refused("pools llama-3.1-8b --kv-budget 9GiB --engine vllm@2020-01-01", 4, "nearest: vllm@2025-07-01");
    refused(fit + "vllm --engine-max-len 1k", 2, "a request of 8,192 tokens is longer");
    refused("fit jamba-1.5-mini --kv-budget 40GiB --tokens 8k --engine sglang", 4, "kvcap has no rules of SGLang");
    refused("fit llama-3.1-8b --gpu h100 --gpus 0", 2, "--gpus");
    const Ran one_cache =
        kvcap("fit gpt-oss-120b --engine llamacpp --kv-budget 100GiB --tokens 4096 --batch 8 --kv-unified");
    CHECK(one_cache.code == 0);
}

TEST_CASE("an engine's name as people write it, and what stands beside one that is none", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string pools = "pools llama-3.1-8b --kv-budget 40GiB --engine ";
    const std::pair<const char*, const char*> spelled[] = {
        {"trt-llm", "trtllm"}, {"tensorrt_llm", "trtllm"}, {"TensorRT-LLM", "trtllm"}, {"llama_cpp", "llamacpp"},
        {"llama.cpp", "llamacpp"}, {"vLLM", "vllm"}};
    for (const auto& [written, meant] : spelled) {
        CAPTURE(written);
        const Ran ran = kvcap(pools + written);
        CHECK(ran.code == 0);
        CHECK(ran.out == kvcap(pools + meant).out);
    }
    refused(pools + "ollama", 4, "(ollama serves with llama.cpp: --engine llamacpp)");
    refused(pools + "sgl", 4, "(did you mean sglang?)");
    refused(pools + "vlm", 4, "(did you mean vllm?)");
    refused(pools + "trt", 4, "(did you mean trtllm?)");
    refused(pools + "x", 4, "wanted one of exact, vllm, sglang, llamacpp, trtllm\n");
    CHECK(kvcap("-V").out == kvcap("--version").out);
    CHECK(kvcap("-V").code == 0);
}

}  // namespace engines_cli_tests
