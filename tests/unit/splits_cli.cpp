// SPDX-License-Identifier: MIT
// What fit, size, pools and plan say alike: how much more memory would do, splits that cannot be, context ranks that an
// engine does not have, and searches in which nothing was possible.
#include "checked.hpp"

#include <catch2/catch.hpp>

namespace splits_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::more_memory;
using program::refused;

/// A load that does not fit the memory, with the engine and its options.
struct Unfit {
    std::string arguments;
    long long gib;
};

}  // namespace

TEST_CASE("fit: so many more bytes of the GPU do, and one less does not, under every engine and share", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const std::string dense = "llama-3.1-8b --tokens 16k --batch 8 --overhead kaito-2026-06 --engine ";
    const Unfit all[] = {
        {dense + "exact", 24},
        {dense + "vllm", 24},
        {dense + "vllm --util 0.37", 24},
        {dense + "sglang --mem-fraction-static 0.83", 24},
        {dense + "sglang --fraction-of free --util 0.7", 24},
        {dense + "trtllm", 24},
        {dense + "trtllm --free-gpu-memory-fraction 0.57", 24},
        {dense + "trtllm --fraction-of total", 24},
        {dense + "llamacpp --parallel 8", 24},
        {dense + "vllm --pp 2", 12},
        {dense + "vllm --tp 4 --util 0.61", 6},
        {"deepseek-v3 --tokens 32k --batch 64 --tp 8 --dp-attention --non-kv-bytes 3GiB --engine sglang", 80},
        {"deepseek-v3 --tokens 32k --batch 64 --tp 8 --dp-attention --non-kv-bytes 3GiB --engine trtllm", 80},
        {"gpt-oss-120b --tokens 32k --batch 64 --tp 2 --engine trtllm --weights-bytes 30GiB --non-kv-bytes 1GiB", 40},
    };
    for (const Unfit& each : all) {
        CAPTURE(each.arguments);
        const auto with = [&](long long bytes, int code) {
            return checked("fit", each.arguments + " --gpu-mem " + std::to_string(bytes) + "B", code);
        };
        const long long memory = each.gib << 30;
        const long long more = more_memory(with(memory, 1));
        REQUIRE(more > 0);
        CHECK(with(memory + more, 0)["fits"] == true);
        const json short_of_one = with(memory + more - 1, 1);
        CHECK(short_of_one["fits"] == false);
        CHECK(more_memory(short_of_one) == 1);
    }
    const std::string budget = "llama-3.1-8b --tokens 16k --batch 8 --engine vllm --kv-budget ";
    const json by_budget = checked("fit", budget + "8GiB", 1);
    const long long more = more_memory(by_budget);
    CHECK(checked("fit", budget + std::to_string((8LL << 30) + more) + "B")["fits"] == true);
    CHECK(checked("fit", budget + std::to_string((8LL << 30) + more - 1) + "B", 1)["fits"] == false);
    refused("fit " + budget + "8GiB", 1, "more --kv-budget would do");
    refused("fit " + all[5].arguments + " --gpu-mem 24GiB", 1, "more memory on each GPU would do");
}

TEST_CASE("fit: what non-KV memory takes too much is what must go, to the byte", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    for (const std::string engine : {"vllm", "sglang", "trtllm", "exact"}) {
        const std::string asked = "llama-3.1-8b --gpu-mem 24GiB --tokens 16k --engine " + engine + " --non-kv-bytes ";
        const json found = checked("fit", asked + "9GiB", 1);
        const long long most = found["fits_if_non_kv_at_most_bytes"];
        CHECK(checked("fit", asked + std::to_string(most) + "B")["fits"] == true);
        CHECK(checked("fit", asked + std::to_string(most + 1) + "B", 1)["fits"] == false);
        refused("fit " + asked + "9GiB", 1, "non-KV memory takes ");
    }
}

TEST_CASE("size, fit and pools refuse the same splits, in the same words, on screens and in JSON", "[cli]") {
    if (!program::known()) {
        return;
    }
    struct Case {
        std::string split;
        std::string words;
    };
    const Case cases[] = {
        {"llama-3.1-8b --tp 3", "Llama-3.1-8B: 32 query heads cannot be dealt to 3 ranks"},
        {"llama-3.1-8b --tp 64", "32 query heads cannot be dealt to 64 ranks"},
        {"llama-3.1-8b --pp 200", "200 pipeline stages are more than the model's 32 layers"},
        {"llama-3.1-8b --pp 2 --pp-split 1,2", "layers"},
        {"'4*gqa(4,128)+heads(12)' --tp 3", "4 heads"},
        {"llama-3.1-8b --tp 8 --decode-context-parallel-size 2", ""},
    };
    for (const Case& each : cases) {
        for (const std::string engine : {"exact", "vllm", "sglang", "trtllm", "llamacpp"}) {
            const std::string asked = each.split + " --tokens 4k --engine " + engine;
            const program::Ran size = program::run("size " + asked);
            CAPTURE(asked, size.err);
            CHECK(size.code == 2);
            CHECK(size.err.find(each.words) != std::string::npos);
            for (const std::string verb : {"fit ", "pools "}) {
                for (const std::string memory : {" --gpu-mem 2000GiB", " --gpu-mem 1MiB", " --kv-budget 1GiB --json"}) {
                    const program::Ran ran = program::run(verb + asked + memory);
                    CAPTURE(verb, memory);
                    CHECK(ran.code == 2);
                    CHECK(ran.err == size.err);
                }
            }
        }
    }
    // Under attention data parallelism each rank has all heads, so no number of ranks is wrong.
    CHECK(program::run("fit llama-3.1-8b --tp 3 --dp-attention --kv-budget 9GiB --tokens 4k").code == 0);
}

TEST_CASE("engines without context ranks refuse them in every verb alike", "[cli]") {
    if (!program::known()) {
        return;
    }
    struct Case {
        std::string engine;
        std::string words;
    };
    const Case cases[] = {{"sglang", "of --attn-cp-size each hold every token"},
                          {"trtllm", "the rules of TensorRT-LLM that are known have no context ranks"},
                          {"llamacpp", "llama.cpp has no context ranks"}};
    for (const Case& each : cases) {
        for (const std::string flag : {"--cp 2", "--decode-context-parallel-size 2"}) {
            const std::string asked = "deepseek-v3 --tokens 8k " + flag + " --engine " + each.engine;
            const program::Ran size = program::run("size " + asked + " --tp 8");
            CAPTURE(asked, size.err);
            CHECK(size.code == 2);
            CHECK(size.err.find(flag + ": ") != std::string::npos);
            CHECK(size.err.find(each.words) != std::string::npos);
            CHECK(program::run("fit " + asked + " --tp 8 --gpu h200").err == size.err);
            CHECK(program::run("pools " + asked + " --tp 8 --gpu h200").err == size.err);
            CHECK(program::run("plan " + asked + " --gpus 8 --gpu h200").err == size.err);
            CHECK(program::run("plan " + asked + " --gpus 8 --gpu h200").code == 2);
        }
    }
    // Among all engines each says for itself.
    refused("pools deepseek-v3 --tp 8 --cp 2 --kv-budget 40GiB --tokens 8k --engine all", 2,
            "does not start: SGLang's");
}

TEST_CASE("fit's JSON says where context ranks lie, as size's does", "[cli][fit]") {
    if (!program::known()) {
        return;
    }
    const std::string v3 = "deepseek-v3 --tokens 32k --tp 8 ";
    const auto both = [&](const std::string& flags) {
        const json size = checked("size", v3 + flags)["sharding"];
        const json fit = checked("fit", v3 + flags + " --kv-budget 40GiB")["sharding"];
        CHECK(size["cp_among_tp"] == fit["cp_among_tp"]);
        return fit["cp_among_tp"].get<bool>();
    };
    CHECK_FALSE(both("--cp 2"));
    CHECK(both("--decode-context-parallel-size 2"));
    CHECK(both("--cp 2 --engine vllm"));
    const json found = checked("fit", v3 + "--kv-budget 1GiB --engine vllm", 1);
    for (const json& each : found["changes"]) {
        CHECK(each["sharding"]["cp_among_tp"] == true);
    }
}

TEST_CASE("plan: where rules exclude every candidate, that is said, with the rules and their code", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const auto counted = [](const json& found) {
        long long sum = 0;
        for (const json& each : found["reasons"]) {
            sum += each["candidates"].get<long long>();
        }
        return sum;
    };
    struct Case {
        std::string arguments;
        int code;
        std::string words;
    };
    const Case cases[] = {
        {"llama-3.1-8b --gpus 3 --tp 3", 2, "4 x 32 query heads cannot be dealt to 3 ranks"},
        {"llama-3.1-8b --gpus 3 --tp 3 --dp-attention --engine sglang", 2, "2 x 32 query heads cannot be dealt to 3"},
        {"llama-3.1-8b --gpus 1 --batch 8 --engine llamacpp --parallel 2", 1, "more requests at once than the server"},
        {"jamba-1.5-mini --gpus 2 --engine sglang", 4, "8 x these rules do not cover Mamba-1 states"},
    };
    for (const Case& each : cases) {
        const std::string asked = each.arguments + " --gpu h100 --tokens 8k";
        CAPTURE(asked);
        const json found = checked("plan", asked, each.code);
        CHECK(found["nothing_possible"] == true);
        CHECK(found["nearest"].is_null());
        CHECK(counted(found) == found["dropped"].get<long long>());
        for (const json& reason : found["reasons"]) {
            CHECK(reason["by_rule"] == true);
        }
        refused("plan " + asked, each.code, "nothing is possible: rules exclude every candidate");
        refused("plan " + asked, each.code, each.words);
    }
    refused("plan llama-3.1-8b --gpus 3 --tp 3 --gpu h100 --tokens 8k --emit vllm", 2, "no line: 4 x 32 query heads");
    refused("plan llama-3.1-8b --gpus 2 --gpu h100 --tokens 8k --engine-max-len 1k", 2, "--engine-max-len 1,024");
    // Memory is no rule: where it alone lacks, the nearest is named.
    const json lacks = checked("plan", "deepseek-v3 --gpus 4 --gpu h100 --tokens 8k", 1);
    CHECK(lacks["nothing_possible"] == false);
    CHECK(lacks["nearest"].is_object());
    CHECK(counted(lacks) == lacks["dropped"].get<long long>());
    const json fits = checked("plan", "llama-3.1-8b --gpus 2 --gpu h100 --tokens 8k");
    CHECK(fits["nothing_possible"] == false);
    CHECK(counted(fits) == fits["dropped"].get<long long>());
}

TEST_CASE("TensorRT-LLM's words group thousands as all others do", "[cli][trtllm]") {
    if (!program::known()) {
        return;
    }
    const std::string states = "fit qwen3-next-80b-a3b --tokens 8k --engine trtllm --max-batch-size 2048 --kv-budget ";
    refused(states + "1GiB", 1, "1,073,741,824 bytes are left, less than the 2,049 state slots");
    refused("fit llama-3.1-8b --tokens 128k --engine trtllm --kv-budget 1GiB --json", 1,
            "the pool cuts it to 8,192 tokens");
}

TEST_CASE("vLLM's context ranks need copies of heads in windows too, and ranks to be among", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::pair<const char*, const char*> cases[] = {
        {"phi-3-vision-128k --tp 1", "among 1 tensor rank: 1 copy of each head, and 1 is no multiple of 2"},
        {"phi-3-vision-128k --tp 2", "among 2 tensor ranks: 1 copy of each head, and 1 is no multiple of 2"},
        {"falcon-mamba-7b", "among 1 tensor rank: 1 is no multiple of 2"},
    };
    for (const auto& [split, words] : cases) {
        for (const std::string verb : {"size ", "fit --gpu h100 ", "pools --gpu h100 "}) {
            for (const std::string flag : {"--decode-context-parallel-size", "--cp"}) {
                refused(verb + split + " --tokens 4k --engine vllm " + flag + " 2", 2,
                        flag + ": 2 context ranks " + words);
            }
        }
    }
    const std::string copies = "size llama-3.1-8b --tokens 4k --tp 16 --engine vllm ";
    CHECK(program::run(copies + "--decode-context-parallel-size 2").code == 0);
}

TEST_CASE("a request longer than --engine-max-len is refused by every verb alike", "[cli]") {
    if (!program::known()) {
        return;
    }
    for (const std::string verb : {"fit", "pools", "plan --gpus 1"}) {
        const std::string asked = verb + " llama-3.1-8b --gpu h100 --tokens 8k --engine vllm --engine-max-len ";
        refused(asked + "1k", 2, "--engine-max-len 1,024: a request of 8,192 tokens is longer");
        refused(asked + "8191", 2, "--engine-max-len 8,191");
        refused(asked + "0", 2, "--engine-max-len: 0 tokens");
        CHECK(program::run(asked + "8192").code == 0);
    }
}

}  // namespace splits_cli_tests
