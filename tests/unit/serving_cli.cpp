// SPDX-License-Identifier: MIT
// What TensorRT-LLM and SGLang take unsaid, keep in formats of their own and refuse: one answer from every verb.
#include "checked.hpp"
#include "folder.hpp"

namespace serving_cli_tests {

using namespace program;

namespace {

/// The note at this place, or an empty text.
std::string note_at(const json& notes, const std::string& where) {
    for (const json& note : notes) {
        if (note["where"] == where) {
            return note["text"];
        }
    }
    return {};
}

json judged(const std::string& beside, const std::string& line, int code) {
    const Ran ran = run("plan " + beside + " --launch \"" + line + "\" --json");
    CAPTURE(beside, line, ran.err, ran.out);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, "launch") == "");
    return read;
}

}  // namespace

TEST_CASE("TensorRT-LLM: a line without max_batch_size has slots of states for 2,048", "[cli][trtllm]") {
    if (!known()) {
        return;
    }
    const std::string line = "trtllm-serve qwen3.5-27b --max_seq_len 8192";
    const json unsaid = judged("--gpu h200 --batch 1", line, 1);
    const json said = judged("--gpu h200 --batch 1", line + " --max_batch_size 2048", 1);
    CHECK(unsaid["refusal"] == said["refusal"]);
    CHECK(unsaid["refusal"].get<std::string>().find("2,049 state slots") != std::string::npos);
    CHECK(says(unsaid, "says no --max-batch-size: 2,048, what TensorRT-LLM's server takes"));
    CHECK(!says(said, "slots of states"));
    judged("--gpu h200 --batch 1", line + " --max_batch_size 64", 0);
    CHECK(!says(judged("--gpu h200", "trtllm-serve llama-3.1-8b --max_seq_len 8192", 0), "slots of states"));
}

TEST_CASE("TensorRT-LLM: as many slots of states as requests are asked for, in every verb", "[cli][trtllm]") {
    if (!known()) {
        return;
    }
    const std::string load = "qwen3.5-27b --gpu h200 --non-kv-bytes 2GiB --tokens 8k --engine trtllm";
    const json fit = checked("fit", load);
    const unsigned long long most = fit["most_sequences"];
    CHECK(most > 64);
    CHECK(note_at(fit["notes"], "--max-batch-size").find("1: as many slots of states as requests are asked for") == 0);
    const auto batch = [&](unsigned long long n) { return " --batch " + std::to_string(n); };
    CHECK(checked("fit", load + batch(most))["fits"] == true);
    CHECK(checked("fit", load + batch(most + 1), 1)["fits"] == false);
    const std::string told = " --max-batch-size " + std::to_string(most);
    CHECK(checked("fit", load + batch(most) + told)["most_sequences"] == most);
    const json pools = checked("pools", load + batch(7))["engines"][0];
    CHECK(pools["pools"][1]["units"] == 8);
    CHECK(note_at(pools["notes"], "--max-batch-size").find("7: as many") == 0);
    const json plan = checked("plan", load + " --gpus 1 --kv-cache-dtype auto");
    CHECK(plan["ranked"][0]["sequences"] == most);
    CHECK(note_at(plan["notes"], "--max-batch-size").find("as many slots of states") != std::string::npos);
    const Ran emitted = run("plan " + load + " --gpus 1 --kv-cache-dtype auto --emit trtllm" + batch(most));
    CAPTURE(emitted.out, emitted.err);
    CHECK(emitted.out.find(" --max_batch_size " + std::to_string(most) + ' ') != std::string::npos);
    CHECK(emitted.err.find("max-batch-size") == std::string::npos);
    const json stateless = checked("fit", "llama-3.1-8b --kv-budget 8GiB --engine trtllm");
    CHECK(note_at(stateless["notes"], "--max-batch-size").empty());
}

TEST_CASE("TensorRT-LLM: beams count in every figure", "[cli][trtllm]") {
    if (!known()) {
        return;
    }
    const std::string load = "llama-3.1-8b --tokens 4k --engine trtllm --max-beam-width 4 --kv-budget ";
    const json one = checked("fit", load + "2GiB");  // 512 blocks of 32
    CHECK(one["units_per_request"] == 4 * 128);
    CHECK(one["reserved_bytes_per_request"] == 4LL * 4096 * 131072);
    CHECK(one["most_sequences"] == 1);
    CHECK(one["longest_tokens"] == 4096);
    CHECK(says(one, "4 beams with blocks of their own for every token"));
    checked("fit", load + "2GiB --batch 2", 1);
    const json pools = checked("pools", load + "2GiB")["engines"][0];
    CHECK(pools["units_per_request"] == 512);
    CHECK(pools["groups"][0]["units_per_request"] == 512);
    const json decoded = checked("fit", load + "2GiB --decoded 1024");  // whole blocks of the prompt once
    CHECK(decoded["units_per_request"] == 3072 / 32 + 4 * 1024 / 32);
    CHECK(decoded["most_sequences"] == 512 / 224);
    CHECK(!says(decoded, "beams with blocks"));
    CHECK(!says(decoded, "changes nothing"));
    const json odd = checked("fit", load + "2GiB --decoded 1000");  // the prompt ends within a block
    CHECK(odd["units_per_request"] == 3096 / 32 + 4 * (128 - 3096 / 32));
    const json plan = checked("plan", load + "8GiB --gpus 1 --kv-cache-dtype auto");
    CHECK(plan["ranked"][0]["sequences"] == 4);
    CHECK(run("plan " + load + "8GiB --gpus 1 --kv-cache-dtype auto --emit trtllm").out.find("--max_batch_size 4 ") !=
          std::string::npos);
    const json states = checked("fit", "qwen3-next-80b-a3b --kv-budget 60GiB --engine trtllm --max-beam-width 2", 2);
    CHECK(states["refusal"] == "--max-beam-width 2: MambaHybridCacheManager + beam search is not supported yet.");
    CHECK(!says(states, "beams with blocks"));
}

TEST_CASE("TensorRT-LLM keeps states in 16 bits, and every figure says so", "[cli][trtllm]") {
    if (!known()) {
        return;
    }
    for (const std::string model : {"nemotron-h-56b", "qwen3.5-27b", "nemotron-3-nano-30b-a3b", "qwen3-next-80b-a3b"}) {
        const json size = checked("size", model + " --tokens 100 --engine trtllm");
        CAPTURE(model);
        const unsigned long long held = size["points"][0]["held_bytes_per_rank"][0]["bytes"];
        const unsigned long long reserved = size["reserved_per_request"][0]["bytes"];
        CHECK(held <= reserved);
        CHECK(reserved - held < 32 * size["bytes_per_token"].get<unsigned long long>());  // the rest of a block
        const Ran fit = run("fit " + model + " --engine trtllm --kv-budget 100GiB --tokens 100");
        CHECK(fit.out.find("state bf16") != std::string::npos);
        CHECK(fit.out.find("as vLLM takes it") == std::string::npos);
    }
    const json wide = checked("fit", "nemotron-h-56b --engine trtllm --kv-budget 100GiB --tokens 100");
    CHECK(note_at(wide["notes"], "states") ==
          "bf16, as TensorRT-LLM of 2026-01 stores them, in the model's 16-bit dtype; the model says f32");
    const std::string asked = "nemotron-h-56b --engine trtllm --tokens 100";
    const json plan = checked("plan", asked + " --kv-budget 100GiB --gpus 1 --kv-cache-dtype auto");
    CHECK(plan["ranked"][0]["kv_read_bytes_per_token"] == checked("size", asked)["points"][0]["held_bytes_total"]);
}

TEST_CASE("TensorRT-LLM has no rules for index keys beside heads", "[cli][trtllm]") {
    if (!known()) {
        return;
    }
    const std::string words = "these rules do not cover index keys beside keys and values";
    refused("fit minimax-m3 --engine trtllm --kv-budget 100GiB --tokens 32k", 4, words);
    refused("fit '3*both(index(128), gqa(4,128))' --engine trtllm --kv-budget 100GiB --tokens 32k", 4, words);
    refused("plan --gpu h200 --launch 'trtllm-serve minimax-m3 --tp_size 8 --max_seq_len 4096'", 4, words);
    const json dsa = checked("fit", "deepseek-v3.2 --engine trtllm --kv-budget 100GiB --tokens 32k");
    CHECK(dsa["reserved_bytes_per_request"] == 32768LL * 61 * (576 * 2 + 132));
}

TEST_CASE("DeepSeek-V4's latents are what its engines store", "[cli][sglang]") {
    if (!known()) {
        return;
    }
    for (const std::string engine : {"sglang", "vllm"}) {
        for (const std::string dtype : {"auto", "bf16", "fp8"}) {
            const std::string asked =
                "deepseek-v4-flash --tokens 40000 --kv-cache-dtype " + dtype + " --engine " + engine;
            CAPTURE(asked);
            const json fit = checked("fit", asked + " --kv-budget 100GiB");
            CHECK(fit["kv_cache_dtype"] == "fp8_ds_mla");
            CHECK(fit["kv_cache_dtype_asked"] == dtype);
            CHECK(note_at(fit["notes"], "--kv-cache-dtype").find("fp8_ds_mla: the one layout") == 0);
            const json size = checked("size", asked);
            CHECK(size["kv_cache_dtype"] == "fp8_ds_mla");
            CHECK(size["points"][0]["held_bytes_per_rank"][0]["bytes"].get<long long>() <=
                  size["reserved_per_request"][0]["bytes"].get<long long>());
            CHECK(size["reserved_per_request"][0]["bytes"] == fit["reserved_bytes_per_request"]);
        }
    }
    CHECK(checked("size", "deepseek-v4-flash --tokens 40000")["kv_cache_dtype"] == "bf16");
}

TEST_CASE("launch lines: expert ranks that do not divide the tensor ranks are refused", "[cli][launch]") {
    if (!known()) {
        return;
    }
    const std::string judge = "plan --gpu h200 --launch ";
    const std::string wanted = ": wanted a number that divides the 8 tensor ranks";
    for (const std::string ranks : {"3", "16"}) {
        for (const std::string flag : {"--ep_size ", "--moe_expert_parallel_size "}) {
            refused(judge + "'trtllm-serve deepseek-v3 --tp_size 8 " + flag + ranks + " --max_seq_len 4096'", 2,
                    flag.substr(0, flag.size() - 1) + ' ' + ranks + wanted);
        }
        refused(judge + "\"printf 'moe_expert_parallel_size: " + ranks +
                    "' > a.yaml && trtllm-serve deepseek-v3 --tp_size 8 --max_seq_len 4096 --config a.yaml\"",
                2, "moe_expert_parallel_size " + ranks + wanted);
        for (const std::string flag : {"--ep-size ", "--ep ", "--expert-parallel-size="}) {
            refused(judge + "'sglang serve deepseek-v3 " + flag + ranks + " --tp 8 --context-length 4096'", 2,
                    flag.substr(0, flag.size() - 1) + ' ' + ranks + wanted);
        }
    }
    for (const std::string ranks : {"1", "2", "8"}) {
        judged("--gpu h200", "sglang serve deepseek-v3 --ep " + ranks + " --tp 8 --context-length 4096", 0);
        judged("--gpu h200", "trtllm-serve deepseek-v3 --ep_size " + ranks + " --tp_size 8 --max_seq_len 4096", 0);
    }
}

TEST_CASE("launch lines: a format that the engine does not take is refused with its choices", "[cli][launch]") {
    if (!known()) {
        return;
    }
    const std::string judge = "plan --gpu h200 --launch ";
    refused(judge + "'sglang serve llama-3.1-8b --kv-cache-dtype fp8 --context-length 4096'", 2,
            "launch line: --kv-cache-dtype: SGLang has no fp8; its choices are auto, fp8_e5m2, fp8_e4m3, mxfp8, bf16");
    refused(judge + "'vllm serve llama-3.1-8b --kv-cache-dtype bf16 --max-model-len 4096'", 2,
            "launch line: --kv-cache-dtype: vLLM has no bf16; its choices are auto, bfloat16, float16, fp8, fp8_e4m3");
    refused(judge + "'trtllm-serve llama-3.1-8b --kv_cache_dtype bfloat16 --max_seq_len 4096'", 2,
            "launch line: kv_cache_dtype: TensorRT-LLM has no bfloat16; its choices are auto, fp8, nvfp4");
    refused(judge + "'llama-server -m llama-3.1-8b -c 4096 -ctk fp8'", 2,
            "--cache-type-k: fp8 is none of f32, f16, bf16");
    const std::string on = "plan llama-3.1-8b --gpu h200 --gpus 1 --tokens 4k --kv-cache-dtype ";
    for (const std::string engine : {"sglang", "vllm", "trtllm"}) {  // kvcap's own names are written as the engine's
        for (const std::string dtype : {"auto", "bf16", "bfloat16", "float16", "half", "fp8", "fp8_e4m3"}) {
            const Ran emitted = run(on + dtype + " --emit " + engine);
            CAPTURE(engine, dtype, emitted.err);
            CHECK(emitted.code == 0);
            CHECK(emitted.out.find(engine == "trtllm" ? "trtllm-serve" : engine) != std::string::npos);
        }
    }
}

TEST_CASE("launch lines: an image's version is the engine's, and one beside the line counts", "[cli][launch]") {
    if (!known()) {
        return;
    }
    const std::string line = "docker run vllm/vllm-openai:v0.11.0 --model llama-3.1-8b --max-model-len 4096";
    const json of_image = judged("--gpu h100", line, 0);
    CHECK(of_image["rules"] == "vLLM 0.11.0");
    CHECK(note_at(of_image["notes"], "launch line").find("0.11.0, as the image's tag says") == 0);
    CHECK(judged("--gpu h100 --engine vllm@0.20.0", line, 0)["rules"] == "vLLM 0.20.0");
    refused("plan --gpu h100 --launch 'docker run vllm/vllm-openai:v9.0.0 --model llama-3.1-8b'", 4, "9.0.0");
    for (const std::string type : {"auto", "half", "float16", "bfloat16"}) {
        judged("--gpu h100", "vllm serve llama-3.1-8b --max-model-len 4096 --dtype " + type, 0);
    }
    for (const std::string type : {"float32", "float", ""}) {
        refused("plan --gpu h100 --launch 'vllm serve llama-3.1-8b --dtype=" + type + "'", 2, "--dtype: ");
        refused("plan --gpu h100 --launch 'sglang serve llama-3.1-8b --dtype=" + type + "'", 2, "--dtype: ");
    }
}

TEST_CASE("launch lines: what changes nothing is taken, and paths in JSON are its keys", "[cli][launch]") {
    if (!known()) {
        return;
    }
    const std::string vllm = "vllm serve llama-3.1-8b --max-model-len 8192 ";
    const json plain = judged("--gpu h100", vllm, 0);
    for (const std::string more : {"--cpu-offload-gb 0", "--attention-backend flash_attn", "--dtype half",
                                   "--hf-overrides '{}'"}) {
        CAPTURE(more);
        const Ran ran = run("plan --gpu h100 --json --launch " + quoted(vllm + more));
        REQUIRE(ran.code == 0);
        CHECK(json::parse(ran.out)["margin_bytes"] == plain["margin_bytes"]);
    }
    refused("plan --gpu h100 --launch '" + vllm + "--cpu-offload-gb 8'", 2, "--cpu-offload-gb: ");
    refused("plan --gpu h100 --launch '" + vllm + "--speculative-config.method mtp'", 2, "--speculative-config: ");
    refused("plan --gpu h100 --launch '" + vllm + "--hf-overrides.rope_parameters.factor 4.0'", 2, "--hf-overrides: ");
    refused("plan --gpu h100 --launch '" + vllm + "--rope-theta 5'", 2, "--rope-theta: ");
    refused("plan --gpu h100 --launch 'sglang serve llama-3.1-8b --speculative-algo NEXTN'", 2,
            "--speculative-algorithm: ");
    const json drafts = judged("--gpu h100", vllm + "--speculative-config.method ngram "
                                                    "--speculative-config.num_speculative_tokens 2", 0);
    const std::string whole_json = "--speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 2}'";
    const Ran whole = run("plan --gpu h100 --json --launch " + quoted(vllm + whole_json));
    CHECK(json::parse(whole.out)["load"] == drafts["load"]);
    judged("--gpu rtx-4090", "llama-server -m llama-3-8b -c 4096 -np 1 --n-cpu-moe 0 --gpu-layers 99 --device a", 0);
    const std::string emit =
        "plan llama-3.1-8b --gpu h100 --gpus 1 --tokens 8k --kv-cache-dtype bf16 --emit vllm --engine ";
    CHECK(run(emit + "vllm@0.10.2").out.find("--kv-cache-dtype auto") != std::string::npos);
    CHECK(run(emit + "vllm@0.20.0").out.find("--kv-cache-dtype bfloat16") != std::string::npos);
    refused("plan --gpu h100 --engine vllm@0.16.0 --launch '" + vllm + "--kv-cache-dtype float16'", 2,
            "has no float16");
    CHECK(program::run("fit llama-3.1-8b --gpu h100 --tokens 1k --engine vllm@0.10.1.1").out.find("vLLM 0.10.1") !=
          std::string::npos);  // a release behind a release
    refused("fit llama-3.1-8b --gpu h100 --tokens 1k --engine vllm@0.9.2.1", 4, "(nearest: vllm@0.10)");
}

TEST_CASE("a budget on a GPU that is named: unknown weights are said there too", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const std::string asked = "'32*gqa(8,128)' --gpu h100 --gpus 1 --tokens 8k --kv-budget 79GiB";
    const json found = checked("plan", asked);
    CHECK(found["weights_known"] == false);
    CHECK(note_at(found["notes"], "--weights-bytes").find("beside the budget is not judged") != std::string::npos);
    refused("plan " + asked + " --emit vllm", 2, "--emit: the weights of this model are unknown");
}

TEST_CASE("launch lines: weights that the engine is told to quantise", "[cli][launch]") {
    if (!known()) {
        return;
    }
    const auto weights = [](const std::string& line) {
        return judged("--gpu h100", line + " --max-model-len 4096", 0)["weights_bytes_per_rank"].get<double>();
    };
    for (const std::string serve : {"vllm serve ", "sglang serve "}) {
        const std::string length = serve == "vllm serve " ? " --max-model-len 4096" : " --context-length 4096";
        const auto of = [&](const std::string& model, const std::string& flag) {
            return judged("--gpu h100", serve + model + flag + length, 0)["weights_bytes_per_rank"].get<double>();
        };
        // 8,030,261,248 parameters, of which the embedding and the head have 128,256 x 4,096 each, and 65 norms 4,096.
        CHECK(of("llama-3.1-8b", "") == 2.0 * 8'030'261'248);
        CHECK(of("llama-3.1-8b", " --quantization fp8") == 8'030'261'248 + 2.0 * 128'256 * 4'096 + 65 * 4'096);
        CHECK(of("gpt-oss-20b", " --quantization mxfp4") == of("gpt-oss-20b", ""));  // as the checkpoint is
        refused("plan --gpu h100 --launch '" + serve + "llama-3.1-8b --quantization bitsandbytes" + length + "'", 2,
                "--quantization bitsandbytes: ");
        CHECK(judged("--gpu h100 --weights-bytes 6GiB", serve + "llama-3.1-8b --quantization awq" + length, 0)
                  ["weights_bytes_per_rank"] == std::uint64_t{6} << 30);
    }
    CHECK(weights("vllm serve llama-3.1-8b -q fp8") == weights("vllm serve llama-3.1-8b --quantization=FP8"));
}

TEST_CASE("llama.cpp's -sm tensor does not run with every format, in every verb", "[cli][llamacpp]") {
    if (!known()) {
        return;
    }
    const std::string why = "llama.cpp aborts at its first graph (its issue 27116)";
    for (const std::string type : {"q4_1", "q5_0", "q5_1", "iq4_nl"}) {
        refused("llamacpp llama-3-8b -sm tensor --device 24GiB,24GiB -ctv f16 -ctk " + type, 2, why);
        checked("llamacpp", "llama-3-8b -sm layer --device 24GiB,24GiB -ctk " + type);
        checked("llamacpp", "llama-3-8b -sm tensor --device 24GiB -ctk " + type);
        const std::string line = "llama-server -m llama-3-8b -c 4096 -np 1 -ctk " + type + " -ctv q8_0 -ts 1,1 -sm ";
        CHECK(judged("--gpu rtx-4090", line + "tensor", 2)["refusal"].dump().find(why) != std::string::npos);
        judged("--gpu rtx-4090", line + "layer", 0);
    }
    for (const std::string type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
        checked("llamacpp", "llama-3-8b -sm tensor --device 24GiB,24GiB -ctk " + type + " -ctv " + type);
    }
}

TEST_CASE("words that no verb takes are told in their order, and formats behind @ where they belong", "[cli]") {
    if (!known()) {
        return;
    }
    refused("size llama-3-8b one two three", 2, "The following arguments were not expected: one two three");
    refused("size llama-3-8b one", 2, "The following argument was not expected: one");
    refused("sweep llama-3-8b@fp8 --tokens 4k", 2,
            "llama-3-8b@fp8: only compare takes MODEL@FORMAT; here it is llama-3-8b --kv-cache-dtype fp8");
}

TEST_CASE("plan --emit names the share of the split that it emits", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const Ran emitted = run("plan deepseek-v3 --gpu h200 --gpus 16 --tp 8 --dp 2 --emit sglang --tokens 8k --batch 10 "
                            "--non-kv-bytes 1GiB");
    CAPTURE(emitted.out, emitted.err);
    const std::string flag = "--mem-fraction-static ";
    const std::size_t at = emitted.out.find(flag);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = at + flag.size();
    const std::string share = emitted.out.substr(begin, emitted.out.find(' ', begin) - begin);
    CHECK(emitted.err.find("--util: " + share + " of a GPU's memory, what SGLang takes") != std::string::npos);
    CHECK(emitted.err.find("less with more ranks") == std::string::npos);
}

TEST_CASE("fit --overhead-from a log of another engine is refused", "[cli][log]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string log = folder.write("start.log", "Loading model weights took 15.0000 GB\n"
        "the current vLLM instance can use total_gpu_memory (81.11GiB) x gpu_memory_utilization (0.90) = 73.00GiB\n"
        "model weights take 15.00GiB; non_torch_memory takes 2.00GiB; PyTorch activation peak memory takes 6.00GiB; "
        "the rest of the memory reserved for KV Cache is 50.00GiB.\n");
    const std::string asked = "fit llama-3.1-8b --gpu h100 --tokens 8k --overhead-from " + log + " --engine ";
    program::refused(asked + "sglang", 2, "--overhead-from: a log of vllm");
    program::refused(asked + "llamacpp", 2, "a log of llama.cpp is wanted");
    CHECK(program::run(asked + "vllm").code == 0);
    CHECK(program::run(asked + "exact").code == 0);
}

TEST_CASE("a launch line whose server sees fewer GPUs than its split needs", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string judge = "plan --gpu h100 --non-kv-bytes 4GiB --tokens 8k --launch ";
    program::refused(judge + "'CUDA_VISIBLE_DEVICES=0,1 vllm serve meta-llama/Llama-3.1-70B -tp 4'", 2,
                     "its server sees 2 GPUs and its split needs 4 GPUs");
    CHECK(program::run(judge + "'CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve meta-llama/Llama-3.1-70B -tp 4'").code == 0);
}

TEST_CASE("plan --launch: what waits is said, and what is open", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string line = "--launch 'vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len 131072 "
                             "--max-num-seqs 32'";
    const program::Ran lacks = program::run("plan --gpu h100 --overhead kaito-2026-06 " + line);
    CHECK(lacks.code == 1);
    CHECK(lacks.out.find("it starts all the same: 3 requests of 131,072 tokens at once, and others wait") !=
          std::string::npos);
    const program::Ran open = program::run("plan --gpu h100 --launch 'vllm serve meta-llama/Llama-3.1-8B'");
    CHECK(open.out.find("FITS if non-KV memory leaves it") != std::string::npos);
}

TEST_CASE("names of GPUs, memory of none, limits of kvcap's own and tokens of windows that never fill", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string tokens = " --tokens 8k --json";
    CHECK(program::run("fit llama-3.1-8b --gpu rtx4090" + tokens).out ==
          program::run("fit llama-3.1-8b --gpu rtx-4090" + tokens).out);
    program::refused("fit llama-3.1-8b --tokens 8k --gpu-mem 0GiB", 2, "--gpu-mem: 0GiB is no memory");
    const program::Ran stages = program::run("fit llama-3.1-70b --pp 80 --gpu h100 --engine vllm --tokens 8k");
    CHECK(stages.err.find("kvcap has no rules of") != std::string::npos);
    CHECK((stages.out + stages.err).find("DOES NOT START") == std::string::npos);
    CHECK(program::run("models phi-3-mini").out.find("393,216 B") != std::string::npos);
    const std::string file = program::quoted(std::string{KVCAP_SOURCE_DIR} + "/tests/fuzz/corpus/gguf/gemma3.gguf");
    const auto llama = [&](const std::string& rest) { return program::run("llamacpp " + file + rest).out; };
    CHECK(llama(" -c 8192 --device 24GiB").find("FITS if compute buffers leave it") != std::string::npos);
    CHECK(llama(" -c 8192 --device 24GiB --compute-buffer 1GiB").find("FITS\n") != std::string::npos);
    CHECK(llama(" -c 8192 --device 24GiB").find("(as long as the model allows)") != std::string::npos);
    CHECK(llama(" -c 65536 --device 24GiB").find("beyond the model's context of 32,768") != std::string::npos);
}

TEST_CASE("lines take the context that their engine derives from stretched positions", "[cli]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string file = folder.write("config.json", R"({"architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 1024, "vocab_size": 1000,
        "max_position_embeddings": 40960, "torch_dtype": "bfloat16", "rope_scaling": {"rope_type": "yarn",
        "factor": 4.0, "original_max_position_embeddings": 32768}})");
    const auto said = [&](const std::string& line) {
        const program::Ran ran = program::run("plan --gpu h100 --non-kv-bytes 4GiB --launch '" + line + "'");
        return ran.out + ran.err;
    };
    CHECK(said("vllm serve " + file + " --max-model-len 131072").find("FITS") != std::string::npos);
    CHECK(said("vllm serve " + file + " --max-model-len 131073").find("it states 131,072; vLLM does not") !=
          std::string::npos);
    CHECK(said("vllm serve " + file).find("says no length: 131,072 tokens") != std::string::npos);
    CHECK(said("python -m sglang.launch_server --model " + file).find("no length: 40,960 tokens") != std::string::npos);
    CHECK(said("trtllm-serve " + file).find("no length: 40,960 tokens") != std::string::npos);
}

TEST_CASE("what an image's tag and a file named by a line leave open is said", "[cli]") {
    if (!program::known()) {
        return;
    }
    const auto said = [&](const std::string& line, const std::string& more = "") {
        const program::Ran ran = program::run("plan llama-3.1-8b --gpu h100 --non-kv-bytes 4GiB " + more +
                                              " --launch '" + line + "'");
        return ran.out + ran.err;
    };
    const std::string sglang = " python3 -m sglang.launch_server --model-path m --context-length 8192";
    CHECK(said("docker run lmsysorg/sglang:v0.4.6.post5-cu124" + sglang).find("tag v0.4.6.post5-cu124") !=
          std::string::npos);
    CHECK(said("docker run lmsysorg/sglang:latest" + sglang).find("tag") == std::string::npos);
    CHECK(said("docker run nvcr.io/nvidia/tensorrt-llm/release:1.0.0 trtllm-serve m --max_seq_len 8192")
              .find("tag 1.0.0 is not read") != std::string::npos);
    const std::string file = "llama-server -m /models/Llama-3.1-8B-Q4_K_M.gguf -c 8192";
    CHECK(said(file).find("are the file's, which was not read") != std::string::npos);
    CHECK(said(file, "--weights-bytes 5GiB").find("FITS") != std::string::npos);
    CHECK(program::run("plan llama-3.1-8b --kv-budget 10GiB --launch '" + file + "'").code == 0);  // outright
    CHECK(said("llama-server -m m -c 8192 -ngl 32").find("at least 33 is wanted") != std::string::npos);
    CHECK(said("llama-server -m m -c 8192 -ngl 33").find("FITS") != std::string::npos);
    program::refused("fit qwen3-0.6b --gpu mi300x --engine trtllm --tokens 8k", 2, "runs on NVIDIA's GPUs");
    program::refused("identity llama-3.1-8b --as vllm --ids 1k,2", 2, "--ids: 'k' in 1k,2");
    const auto few = [](const std::string& requests) {
        return program::run("fit llama-3.1-8b --kv-budget 10GiB --lengths 8k:99,32k:1 --batch " + requests).out;
    };
    CHECK(few("10").find("of 10 requests none has 32,768 tokens") != std::string::npos);
    CHECK(few("100").find("none has") == std::string::npos);
    const std::string mix = "--gpu h100 --gpus 1 --lengths 8k:90,32k:10 --batch 40 --non-kv-bytes 2GiB";
    const auto search = [](const std::string& more) {
        const std::string asked = "plan llama-3.1-70b --gpu h100 --tokens 8k --non-kv-bytes 2GiB --weights-bytes 33GiB";
        return program::run(asked + more).out;
    };
    CHECK(search(" --gpus 4").find("so much on each rank of every split") != std::string::npos);
    CHECK(search(" --gpus 4 --tp 4").find("so much on each rank") == std::string::npos);
    CHECK(program::run("plan llama-3.1-8b " + mix).code == 0);  // 36 of 1 GiB and 4 of 4 in 53
    CHECK(program::run("fit mistral-7b-v0.1 --engine llamacpp --tokens 32k --kv-budget 4GiB").code == 0);
    CHECK(program::run("fit mistral-7b-v0.1 --engine llamacpp --tokens 32k --kv-budget 3GiB").code == 1);
    const auto parameters = [](const std::string& card) {
        return program::run("fit " + card + " --gpu h100 --tokens 8k --engine vllm").out;
    };
    CHECK(parameters("qwen3-vl-8b").find("8,190,735,360 parameters") != std::string::npos);  // with its head
    program::refused("roofline kimi-linear-48b-a3b --gpu h200 --tokens 32k --weights-bytes 92GiB", 3, "no bound");
}

TEST_CASE("experts of FP8 in blocks: ranks that begin inside a block do not start", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string words = "the output_size of gate's and up's weight = 192 is not divisible by weight quantization "
                              "block_n = 128";
    const std::string asked = " --gpu h200 --tokens 8k --non-kv-bytes 4GiB --engine ";
    const auto said = [](const std::string& arguments) {
        const program::Ran ran = program::run("fit " + arguments + " --json");
        return nlohmann::json::parse(ran.out)["refusal"].get<std::string>();
    };
    CHECK(said("minimax-m2.7 --tp 8" + asked + "vllm").find(words) == 0);
    CHECK(said("minimax-m2.7 --tp 8" + asked + "vllm --enable-expert-parallel").empty());
    CHECK(said("minimax-m2.7 --tp 4" + asked + "vllm").empty());
    CHECK(said("minimax-m2.7 --tp 4 --dp 2" + asked + "vllm").find(words) == 0);
    CHECK(said("qwen3-30b-a3b-fp8 --tp 4" + asked + "sglang").find(words) == 0);
    CHECK(said("qwen3-30b-a3b-fp8 --tp 4" + asked + "sglang --ep-size 4").empty());
    CHECK(said("deepseek-v3 --tp 16" + asked + "vllm").empty());
    const auto line = [](const std::string& text) {
        return program::run("plan --gpu h200 --non-kv-bytes 4GiB --tokens 8k --launch '" + text + "'").out;
    };
    CHECK(line("vllm serve Qwen/Qwen3-30B-A3B-FP8 -tp 4").find("DOES NOT START") != std::string::npos);
    CHECK(line("vllm serve Qwen/Qwen3-30B-A3B-FP8 -tp 4 --enable-expert-parallel").find("FITS") != std::string::npos);
    const std::string server = "python -m sglang.launch_server --model Qwen/Qwen3-30B-A3B-FP8 --tp 4";
    CHECK(line(server).find("DOES NOT START") != std::string::npos);
    CHECK(line(server + " --ep 2").find("FITS") != std::string::npos);  // 768 over 2 are 3 blocks
    const std::string holders = server + " --dp 4 --enable-dp-attention";  // the experts stay divided unless said
    CHECK(line(holders).find("DOES NOT START") != std::string::npos);
    CHECK(line(holders + " --ep 4").find("FITS") != std::string::npos);
    CHECK(line(holders + " --ep 4").find("--dp-attention:") == std::string::npos);
    for (const std::string& plain : {server, holders}) {
        CHECK(line(plain + " --moe-a2a-backend deepep").find("FITS") != std::string::npos);
        CHECK(line(plain + " --moe-a2a-backend=deepep").find("--moe-a2a-backend: whole experts") != std::string::npos);
        CHECK(line(plain + " --moe-a2a-backend none").find("DOES NOT START") != std::string::npos);
        CHECK(line(plain + " --enable-deepep-moe").find("FITS") != std::string::npos);
    }
    CHECK(said("qwen3-30b-a3b-fp8 --tp 4 --dp-attention --ep-size 1" + asked + "sglang").find(words) == 0);
    CHECK(said("qwen3-30b-a3b-fp8 --tp 4 --ep-size 3" + asked + "sglang") ==
          "--ep-size 3: wanted a number that divides the 4 tensor ranks");
    for (const std::string engine : {"sglang", "vllm"}) {
        const std::string out = program::run("fit qwen3-30b-a3b-fp8 --tp 4 --dp-attention" + asked + engine).out;
        CHECK(out.find("FITS") != std::string::npos);
        CHECK(out.find("assumed --dp-attention: whole experts") != std::string::npos);
    }
}

TEST_CASE("fit --overhead-from an SGLang log gives back what the log has", "[cli][log]") {
    if (!known()) {
        return;
    }
    const std::string log = "/tmp/kvcap-sglang-" + std::to_string(::getpid()) + ".log";
    std::ofstream{log}
        << "[2025-09-01 10:00:00] server_args=ServerArgs(model_path='x', tp_size=1, mem_fraction_static=0.874, "
           "chunked_prefill_size=8192, page_size=1, dp_size=1)\n"
           "[2025-09-01 10:00:11] Load weight begin. avail mem=78.60 GB\n"
           "[2025-09-01 10:00:20] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.52 GB, "
           "mem usage=15.08 GB.\n"
           "[2025-09-01 10:00:20] KV Cache is allocated. #tokens: 439234, K size: 26.81 GB, V size: 26.81 GB\n"
           "[2025-09-01 10:00:20] Memory pool end. avail mem=9.34 GB\n"
           "[2025-09-01 10:00:25] Capture cuda graph end. Time elapsed: 4.92 s. mem usage=0.50 GB. avail mem=8.80 GB.\n"
           "[2025-09-01 10:00:25] max_total_num_tokens=439234, max_running_requests=2048, context_len=131072, "
           "available_gpu_mem=8.80 GB\n";
    const std::string asked =
        "llama-3.1-8b --weights-bytes 15.08GiB --util 0.874 --tokens 8k --engine sglang --overhead-from ";
    const auto tokens = [&](const std::string& memory) {
        const json fit = checked("fit", asked + log + ' ' + memory);
        const std::string line = fit["engine_log"][0];
        const std::string before = "#tokens: ";
        return std::stol(line.substr(line.find(before) + before.size()));
    };
    // A hundredth of a GiB is 82 tokens: the log's amounts say no more.
    CHECK(std::abs(tokens("--gpu-mem 78.60GiB") - 439234) <= 82);
    CHECK(std::abs(tokens("--gpu-mem 79.65GiB") - 439234) <= 82);  // with what was not free before loading
    const std::string kaito = "llama-3.1-8b --gpu h100 --tokens 8k --overhead kaito-2026-06 --engine ";
    CHECK(says(checked("fit", kaito + "sglang"), "which SGLang keeps outside of its share"));
    CHECK(!says(checked("fit", kaito + "vllm"), "outside of its share"));
    CHECK(!says(checked("fit", asked + log + " --gpu h100"), "outside of its share"));
    std::filesystem::remove(log);
}

}  // namespace serving_cli_tests
