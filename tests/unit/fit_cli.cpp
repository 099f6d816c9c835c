// SPDX-License-Identifier: MIT
// fit, plan and what stands behind them as a script sees it: idle GPUs, the nearest miss, engines as people spell them,
// remedies between the halves and over context ranks, states of SGLang, slots of llama-server.
#include "checked.hpp"
#include "folder.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fit_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::Ran;
using program::refused;
using program::run;

/// The note about that place; empty when there is none.
std::string note(const json& read, const std::string& where) {
    for (const json& each : read["notes"]) {
        if (each["where"] == where) {
            return each["text"];
        }
    }
    return {};
}

json change(const json& found, const std::string& kind, const std::string& begin = {}) {
    for (const json& each : found["changes"]) {
        if (each["kind"] == kind && each["words"].get<std::string>().rfind(begin, 0) == 0) {
            return each;
        }
    }
    return {};
}

}  // namespace

TEST_CASE("fit and pools say which GPUs the split leaves idle", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const std::string fit = "llama-3.1-8b --gpu h100 --tokens 8k --gpus ";
    CHECK(note(checked("fit", fit + "8"), "--gpus").rfind("the split takes 1 of 8, and 7 are idle", 0) == 0);
    CHECK(note(checked("fit", fit + "8 --tp 4"), "--gpus").rfind("the split takes 4 of 8, and 4 are idle", 0) == 0);
    CHECK(note(checked("fit", fit + "3 --pp 2"), "--gpus").find("1 is idle") != std::string::npos);
    CHECK(note(checked("fit", fit + "8 --tp 4 --dp 2"), "--gpus").empty());
    CHECK(note(checked("fit", fit + "8 --tp 8 --dp-attention"), "--gpus").empty());
    CHECK(note(checked("fit", fit + "8 --tp 2 --cp 4"), "--gpus").empty());
    CHECK(note(checked("fit", "llama-3.1-8b --gpu h100 --tokens 8k"), "--gpus").empty());
    CHECK(note(checked("pools", fit + "2"), "--gpus").find("1 is idle") != std::string::npos);
    CHECK(note(checked("plan", fit + "2"), "--gpus").empty());
    const Ran shown = program::run("fit " + fit + "8");
    CHECK(shown.out.find("assumed --gpus: the split takes 1 of 8") != std::string::npos);
    CHECK(program::widest(shown.out) <= 80);
}

TEST_CASE("plan: when nothing fits, the nearest candidate and what it lacks, to the byte", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const std::string load = "deepseek-v3 --gpus 4 --tokens 8k --engine ";
    for (const std::string engine : {"vllm", "sglang", "exact"}) {
        const json found = checked("plan", load + engine + " --gpu-mem 80GiB", 1);
        CAPTURE(engine);
        REQUIRE(found["nearest"].is_object());
        const json& near = found["nearest"];
        const long long lacking = near["lacking_bytes_per_gpu"];
        CHECK(lacking > 0);
        // Bytes of the GPU, whatever the share: with a byte less than what lacks nothing fits.
        const std::string with = load + engine + " --gpu-mem ";
        const long long more = (80LL << 30) + lacking;
        CHECK(checked("plan", with + std::to_string(more) + "B")["nearest"].is_null());
        CHECK(checked("plan", with + std::to_string(more - 1) + "B", 1)["nearest"]["lacking_bytes_per_gpu"] == 1);
    }
    const Ran shown = program::run("plan " + load + "vllm --gpu h100");
    CHECK(shown.code == 1);
    CHECK(shown.out.find("nothing fits; the nearest is ") != std::string::npos);
    CHECK(shown.out.find("memory on each GPU would do") != std::string::npos);
    CHECK(program::widest(shown.out) <= 80);
    CHECK(program::run("plan " + load + "vllm --gpu h100 --emit vllm").err.find("the nearest is ") !=
          std::string::npos);
    CHECK(checked("plan", "llama-3.1-8b --gpu h100 --gpus 2 --tokens 8k")["nearest"].is_null());
    // A split that `exact` cannot deal is dropped like any other.
    CHECK(checked("plan", "llama-3.1-8b --gpu h100 --gpus 3 --engine exact --tokens 8k")["ranked"].size() > 0);
}

TEST_CASE("the longest request fits and is within the model's context, and what binds is said", "[cli]") {
    if (!program::known()) {
        return;
    }
    // 131,072 bytes a token: 6 GiB are 49,152 tokens, and less than the context in 8 bits too.
    for (const std::string engine : {"exact", "vllm", "sglang", "trtllm", "llamacpp"}) {
        const std::string asked = "llama-3.1-8b --tokens 200k --kv-budget 40GiB --engine " + engine;
        const json fit = checked("fit", asked);
        CAPTURE(engine, fit.dump());
        CHECK(fit["tokens"] == 204800);
        CHECK(fit["longest_tokens"] == 131072);
        CHECK(fit["longest_bound_by"] == "model");
        const json plan = checked("plan", asked + " --gpus 1 --tp 1");
        CHECK(plan["ranked"][0]["context"] == 131072);
        CHECK(plan["ranked"][0]["context_bound_by"] == "model");
        const std::string little = "llama-3.1-8b --tokens 8k --kv-budget 6GiB --engine " + engine;
        const json less = checked("fit", little);
        CHECK(less["longest_tokens"].get<long long>() <= 49152);
        CHECK(less["longest_tokens"].get<long long>() > 49152 - 1024);
        CHECK(less["longest_bound_by"] == "engine");
        CHECK(checked("plan", little + " --gpus 1 --tp 1")["ranked"][0]["context_bound_by"] == "engine");
    }
    const json unstated = checked("fit", "'8*gqa(1,64)' --tokens 8k --kv-budget 100GiB");
    CHECK(unstated["longest_tokens"] == 1 << 24);
    CHECK(unstated["longest_bound_by"] == "search");
    const json started = checked("fit", "llama-3.1-8b --kv-budget 8GiB --tokens 4k --engine-max-len 16k");
    CHECK(started["longest_tokens"] == 16384);
    CHECK(checked("fit", "llama-3.1-8b --lengths 4k:1,8k:1 --kv-budget 8GiB")["longest_bound_by"].is_null());
    const json limited = checked("plan", "llama-3.1-8b --tokens 8k --kv-budget 40GiB --gpus 1 --engine-max-len 16k");
    CHECK(limited["ranked"][0]["context"] == 16384);
    CHECK(limited["ranked"][0]["context_bound_by"] == "engine");
    CHECK(program::run("plan llama-3.1-8b --tokens 200k --kv-budget 40GiB --gpus 1")
              .out.find("longest: 131,072 is the context that the model states") != std::string::npos);
}

TEST_CASE("engines as people spell them", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string pools = "llama-3.1-8b --kv-budget 8GiB --tokens 4k --engine ";
    const json plain = checked("pools", pools + "vllm@0.28.0");
    for (const char* spelled : {"vLLM@0.28.0", "vllm@v0.28.0", "VLLM@V0.28.0"}) {
        CHECK(checked("pools", pools + spelled) == plain);
    }
    CHECK(checked("pools", pools + "SGLang") == checked("pools", pools + "sglang"));
    CHECK(checked("pools", pools + "TensorRT-LLM") == checked("pools", pools + "trtllm"));
    CHECK(checked("pools", pools + "llama.cpp@v0.5.0") == checked("pools", pools + "llamacpp@0.5.0"));
    CHECK(checked("pools", pools + "ALL")["engines"].size() == 4);
    CHECK(checked("size", "llama-3.1-8b --tokens 4k --engine Exact")["engine"] == "exact");
    CHECK(program::run("plan llama-3.1-8b --gpu h100 --gpus 1 --engine vLLM --emit vLLM").code == 0);
    CHECK(program::run("reuse llama-3.1-8b --engine vLLM@v0.28.0 --explain").code == 0);
    refused("pools " + pools + "vLM", 4, "vLM is no engine known here");
    refused("pools " + pools + "vllmm", 4, "did you mean vllm?");
    refused("pools " + pools + "vllm@v0.99.0", 4, "nearest: vllm@0.28");
    refused("pools " + pools + "vllm@vnext", 4, "vnext");
    refused("pools " + pools + "vllm@", 2, "names no version");
}

TEST_CASE("fit tries values between the halves, and each is the largest that fits", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const struct {
        const char* load;
        const char* flag;
        int step;
    } rows[] = {{"gemma-3-27b --kv-budget 4GiB --tokens 16k --engine vllm", "max-num-batched-tokens", 16},
                {"gemma-3-27b --kv-budget 1000MiB --tokens 4k --engine llamacpp --ubatch-size 2048", "ubatch-size", 64},
                {"nemotron-3-nano-30b-a3b --kv-budget 2GiB --tokens 32k --batch 4 --engine trtllm --max-batch-size 64",
                 "max-batch-size", 1}};
    bool between = false;
    for (const auto& [load, flag, step] : rows) {
        const std::string asked = load;
        const json found = change(checked("fit", asked, 1), "flag", std::string{"--"} + flag);
        CAPTURE(load, found.dump(1));
        REQUIRE(found.is_object());
        const int value = std::stoi(found["flags"][flag].get<std::string>());
        CHECK(value % step == 0);
        const std::string word = std::string{" --"} + flag;
        const std::string without = asked.substr(0, asked.find(word));
        const auto code = [&](int to) { return program::run("fit " + without + word + ' ' + std::to_string(to)).code; };
        CHECK(code(value) == 0);
        CHECK(code(value + step) == 1);
        between = between || (value & (value - 1)) != 0;
    }
    CHECK(between);
}

TEST_CASE("fit tries context ranks where the engine has them", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const std::string v3 = "deepseek-v3 --kv-budget 3GiB --tp 8 --gpus 8 --tokens 128k --engine ";
    const json vllm = change(checked("fit", v3 + "vllm", 1), "cp");
    REQUIRE(vllm.is_object());
    CHECK(vllm["words"] == "--decode-context-parallel-size 4");
    CHECK(vllm["sharding"]["cp"] == 4);
    CHECK(checked("fit", v3 + "vllm --decode-context-parallel-size 4")["fits"] == true);
    CHECK(checked("fit", v3 + "vllm --decode-context-parallel-size 2", 1)["fits"] == false);
    // Ranks of their own take GPUs: none is left of 8, and 4 of 32 are.
    CHECK(change(checked("fit", v3 + "exact", 1), "cp").is_null());
    const std::string more = "deepseek-v3 --kv-budget 3GiB --tp 8 --gpus 32 --tokens 128k --engine ";
    CHECK(change(checked("fit", more + "exact", 1), "cp")["words"] == "--cp 4");
    CHECK(checked("fit", more + "exact --cp 4")["fits"] == true);
    CHECK(change(checked("fit", v3 + "sglang", 1), "cp").is_null());
    // Heads that are not copied leave nothing to share.
    const json dense = checked("fit", "llama-3.1-8b --kv-budget 512MiB --tp 8 --gpus 8 --tokens 64k --engine vllm", 1);
    CHECK(change(dense, "cp").is_null());
    const std::string few = "fit llama-3.1-8b --kv-budget 8GiB --tokens 8k --tp 8 --decode-context-parallel-size 2";
    refused(few + " --engine vllm", 2, "1 copy of each head");
    refused(few, 2, "1 copy of each head");
}

TEST_CASE("roofline's context ranks are size's", "[cli][roofline]") {
    if (!program::known()) {
        return;
    }
    const std::string v3 = "deepseek-v3 --gpu h200 --tp 8 --tokens 32k --batch 16 ";
    const json plain = checked("roofline", v3);
    const json among = checked("roofline", v3 + "--decode-context-parallel-size 8");
    const json own = checked("roofline", v3 + "--cp 8");
    CHECK(plain["cp_among_tp"] == false);
    CHECK(among["cp_among_tp"] == true);
    CHECK(own["cp_among_tp"] == false);
    // A rank reads an eighth of the latents either way; among the tensor ranks it answers all 128 query heads.
    const auto latents = [](const json& sheet, const char* what) {
        for (const json& part : sheet["parts"]) {
            if (part["kind"] == "mla") {
                return part[what].get<long long>();
            }
        }
        return -1LL;
    };
    CHECK(latents(plain, "bytes") == 8 * latents(among, "bytes"));
    CHECK(latents(own, "bytes") == latents(among, "bytes"));
    CHECK(latents(among, "flops") == latents(plain, "flops"));
    CHECK(latents(plain, "flops") == 8 * latents(own, "flops"));
    CHECK(among["attention"][0]["intensity"].get<double>() ==
          Approx(8 * plain["attention"][0]["intensity"].get<double>()).margin(0.01));
    CHECK(own["attention"][0]["intensity"] == plain["attention"][0]["intensity"]);
    // Ranks of their own compute their tokens of the prompt; those among the tensor ranks are no more ranks.
    CHECK(among["prompt"]["at_least_seconds"] == plain["prompt"]["at_least_seconds"]);
    CHECK(own["prompt"]["at_least_seconds"].get<double>() ==
          Approx(plain["prompt"]["at_least_seconds"].get<double>() / 8));
    const Ran shown = program::run("roofline " + v3 + "--decode-context-parallel-size 8");
    CHECK(shown.out.find("CP among TP 8") != std::string::npos);
    refused("roofline llama-3.1-8b --gpu h100 --tp 8 --decode-context-parallel-size 2", 2, "1 copy of each head");
    refused("advise llama-3.1-8b --gpu h100 --tp 8 --decode-context-parallel-size 2", 2, "1 copy of each head");
}

TEST_CASE("SGLang stores states as mamba_ssm_dtype says, else in fp32", "[cli][sglang]") {
    if (!program::known()) {
        return;
    }
    const std::string file =
        (std::filesystem::temp_directory_path() / ("kvcap-states-" + std::to_string(::getpid()) + ".json")).string();
    const auto pool = [&](const std::string& key) {
        std::ofstream{file} << R"({"model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"],
            "num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2,
            "head_dim": 256, "full_attention_interval": 4, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
            "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
            "max_position_embeddings": 262144)" << key << "}";
        return checked("pools", file + " --kv-budget 8GiB --tokens 8k --engine sglang");
    };
    const auto slot = [](const json& read) -> long long {
        for (const json& each : read["engines"][0]["groups"]) {
            if (each["holds"] == "state slots") {
                return each["page_bytes"];
            }
        }
        return -1;
    };
    const long long conv = 3LL * 3 * 8192 * 2;
    const long long elements = 3LL * 32 * 128 * 128;
    CHECK(slot(pool("")) == conv + 4 * elements);
    CHECK(slot(pool(R"(, "mamba_ssm_dtype": "float32")")) == conv + 4 * elements);
    CHECK(slot(pool(R"(, "mamba_ssm_dtype": "bfloat16")")) == conv + 2 * elements);
    CHECK(slot(pool(R"(, "mamba_ssm_dtype": "float16")")) == conv + 2 * elements);
    CHECK(slot(pool(R"(, "mamba_ssm_cache_dtype": "bfloat16")")) == conv + 4 * elements);
    // What is assumed is said where the model says something else, and held bytes follow.
    CHECK(note(pool(""), "states").find("f32, as SGLang stores them") == 0);
    CHECK(note(pool(R"(, "mamba_ssm_dtype": "bfloat16")"), "states").empty());
    std::filesystem::remove(file);
}

TEST_CASE("llama-server runs --parallel sequences, and queues the rest", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const std::string load = "llama-3.1-8b --kv-budget 60GiB --tokens 4k --batch 8 --engine llamacpp ";
    CHECK(checked("fit", load)["fits"] == true);
    CHECK(checked("fit", load + "--parallel 8")["fits"] == true);
    const json two = checked("fit", load + "--parallel 2", 1);
    CHECK(two["fits"] == false);
    CHECK(two["most_sequences"] == 2);
    CHECK(note(two, "--parallel") == "2 sequences run at once (--parallel), and of 8 requests llama-server queues 6");
    CHECK(change(two, "fewer")["sequences"] == 2);
    CHECK(change(two, "flag", "--parallel")["words"] == "--parallel 8");
    const Ran one = program::run("fit " + load + "--parallel 1");
    CHECK(one.code == 1);
    CHECK(one.out.find("DOES NOT FIT as asked: 1 sequence runs at once (--parallel)") != std::string::npos);
    // Cells enough for all do not make up for it.
    CHECK(checked("fit", load + "--parallel 2 --kv-unified --ctx-size 64k", 1)["fits"] == false);
}

TEST_CASE("fit: counts of GPUs beyond any cluster, and context ranks that no copies allow, are usage errors", "[cli]") {
    refused("fit llama-3.1-70b --gpu h100 --gpus 2147483648 --tokens 8k", 2, "65536");
    refused("advise llama-3.1-70b --gpu h100 --gpus 2147483648 --tokens 8k", 2, "65536");
    for (const std::string engine : {"exact", "vllm"}) {
        refused("fit llama-3.1-70b --tokens 8k --kv-budget 100GiB --tp 4 --decode-context-parallel-size 2 --engine " +
                    engine,
                2, "is no multiple of 2");
    }
}

TEST_CASE("fit: a damaged safetensors file is named, not taken for unknown weights", "[cli]") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("kvcap-fit-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream{folder / "config.json"} << R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100})";
    std::ofstream{folder / "model.safetensors", std::ios::binary} << std::string(8, '\xff');
    refused("fit " + folder.string() + " --gpu h100 --tokens 4k --non-kv-bytes 1GiB", 3, "model.safetensors");
    fs::remove_all(folder);
}

TEST_CASE("fit: a checkpoint of 32 bits is cast to 16 as engines load it", "[cli]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const auto weights = [&](const std::string& stored, const std::string& more) {
        const std::string file = folder.write("config.json", R"({"model_type": "llama", "num_hidden_layers": 2,
            "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128,
            "vocab_size": 100, "weights_bytes": )" + stored + more + '}');
        const json answer = json::parse(program::run("fit " + file + " --gpu h100 --tokens 4k --json").out);
        return answer["weights_bytes_per_rank"].get<std::uint64_t>();
    };
    CHECK(weights(R"({"BF16": 1000000000})", "") == 1000000000);
    CHECK(weights(R"({"F32": 2000000000})", "") == 1000000000);
    CHECK(weights(R"({"F32": 2000000000, "BF16": 500})", "") == 1000000500);
    CHECK(weights(R"({"F32": 300, "BF16": 1000000000})", "") == 1000000300);  // states' few parameters
    CHECK(weights(R"({"F32": 2000000000})", R"(, "quantization_config": {"quant_method": "awq"})") == 2000000000);

    // an index has a total and no types: 86,848 parameters
    const auto indexed = [&](std::uint64_t total, const std::string& dtype) {
        folder.write("model.safetensors.index.json", R"({"metadata": {"total_size": )" + std::to_string(total) +
                                                         R"(}, "weight_map": {"a": "m-1.safetensors"}})");
        return weights("{}", R"(, "torch_dtype": ")" + dtype + '"');
    };
    CHECK(indexed(347'392, "float32") == 173'696);
    CHECK(indexed(347'392, "bfloat16") == 347'392);
    CHECK(indexed(173'696, "float32") == 173'696);
}

TEST_CASE("fit and plan: what leaves 64 bits in a search ends the search, not the program", "[cli][fit][plan]") {
    if (!program::known()) {
        return;
    }
    const char* const loads[] = {"'gqa(1048576,1048576)' --tokens 1", "llama-3.1-70b --tokens 1 --batch 17179869184",
                                 "'129*gqa(65536,65535)' --tokens 1", "deepseek-v3 --tokens 1 --batch 1099511627776"};
    for (const char* const load : loads) {
        for (const char* const engine : {"exact", "vllm", "sglang", "trtllm", "llamacpp"}) {
            for (const char* const memory : {"--gpu h100", "--kv-budget 1GiB"}) {
                const std::string rest = std::string{load} + ' ' + memory + " --engine " + engine;
                for (const std::string& verb : {std::string{"fit "}, std::string{"plan "}}) {
                    const Ran ran = run(verb + rest + (verb == "plan " ? " --gpus 1" : ""));
                    CAPTURE(verb, rest, ran.out, ran.err);
                    CHECK(ran.code >= 1);
                    CHECK(ran.code <= 4);
                }
            }
        }
    }
}

TEST_CASE("fit and plan: a format that nobody asked for is left out where widths do not allow it", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    for (const char* const model : {"phi-2", "stablelm-3b-4e1t", "'4*gqa(1,1)'"}) {
        const std::string load = std::string{model} + " --engine llamacpp --gpu h100 --tokens 2k --weights-bytes 8GiB";
        CHECK(checked("fit", load)["fits"] == true);
        CHECK(run("plan " + load + " --gpus 1").code == 0);
    }
    refused("fit phi-2 --engine llamacpp --gpu h100 --tokens 2k --kv-cache-dtype q8_0", 2, "blocks of 32");
    refused("plan phi-2 --engine llamacpp --gpu h100 --gpus 1 --tokens 2k --dtypes auto,q8_0", 2, "blocks of 32");
}

TEST_CASE("fit: each split that it offers is one that it takes", "[cli][fit][llamacpp]") {
    if (!program::known()) {
        return;
    }
    int offered = 0;
    for (const char* const engine : {"vllm", "sglang", "trtllm", "llamacpp"}) {
        for (const char* const model : {"phi-4", "yi-34b", "smollm2-360m", "qwen2.5-32b"}) {
            const std::string load = std::string{model} + " --engine " + engine +
                                     " --gpu-mem 30GiB --tokens 16k --batch 64";
            const Ran ran = run("fit " + load + " --json");
            CAPTURE(load, ran.out, ran.err);
            REQUIRE(ran.code == 1);
            const json read = json::parse(ran.out);
            for (const json& change : read["changes"]) {
                const json& to = change["sharding"];
                if (to["tp"] != 1 || to["pp"] != 1) {
                    const std::string split = " --tp " + to["tp"].dump() + " --pp " + to["pp"].dump();
                    CHECK(run("fit " + load + split).code <= 1);
                    ++offered;
                }
            }
        }
    }
    CHECK(offered > 0);
}

TEST_CASE("llama.cpp's answer says that cross attention keeps nothing", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const json whisper = checked("fit", "whisper-large-v3 --engine llamacpp --gpu h100 --tokens 448");
    CHECK(note(whisper, "cross attention").find("32 layers keep nothing") != std::string::npos);
    CHECK(note(checked("fit", "llama-3.1-8b --engine llamacpp --gpu h100 --tokens 448"), "cross attention").empty());
}

TEST_CASE("fit's weights of a rank are those of the stage that has most", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const auto weights = [](const std::string& split) {
        const json found = checked("fit", "glm-5.2-fp8 --gpu-mem 2TB --tokens 1k" + split);
        return found["weights_bytes_per_rank"].get<long long>();
    };
    const long long whole = weights("");
    CHECK(2 * weights(" --pp 2") > whole);  // its first layers are dense, so that the second stage has more
    CHECK(weights(" --pp 2") < whole);
    const json tight = checked("fit", "glm-5.2-fp8 --gpu-mem 440GB --tokens 1k --pp 2 --util 1");
    CHECK(tight["fits_if_non_kv_at_most_bytes"].get<long long>() + tight["weights_bytes_per_rank"].get<long long>() <
          440'000'000'000);
}

}  // namespace fit_cli_tests
