// SPDX-License-Identifier: MIT
// What each rank holds of the weights under each engine's data parallelism, what --dp and --dp-attention mean in every
// verb, and rows of plan typed back into fit and size.
#include "checked.hpp"

#include <catch2/catch.hpp>

namespace ranks_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::refused;
using program::unfolded;

const std::string roomy = " --gpu-mem 4000GiB --tokens 8k ";

/// Bytes of weights on the fullest rank.
long long weights(const std::string& model, const std::string& split) {
    return checked("fit", model + roomy + split)["weights_bytes_per_rank"];
}

/// A row of plan in fit's and size's flags.
std::string typed(const json& row) {
    std::string out;
    for (const std::string flag : {"tp", "pp", "cp", "dp"}) {
        out += " --" + flag + " " + std::to_string(row[flag].get<long long>());
    }
    out += row["dp_attention"] == true ? " --dp-attention" : "";
    return out + " --kv-cache-dtype " + row["kv_cache_dtype_asked"].get<std::string>();
}

/// Bytes that the fullest rank holds of one request.
long long most_held(const json& size) {
    long long most = 0;
    for (const json& rank : size["points"][0]["held_bytes_per_rank"]) {
        most = std::max(most, rank["bytes"].get<long long>());
    }
    return most;
}

}  // namespace

TEST_CASE("vLLM deals experts over all data-parallel ranks, and each holds the rest", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const auto rank = [](int tp, int dp, const std::string& more = "--engine vllm") {
        return weights("deepseek-v3", "--tp " + std::to_string(tp) + " --dp " + std::to_string(dp) + " " + more);
    };
    const long long layers = 58;  // with experts; each rounds up
    const long long of_eighth = rank(4, 1) - rank(4, 2);  // a quarter of the experts against an eighth
    const long long of_sixteenth = rank(8, 1) - rank(8, 2);
    CHECK(of_eighth > 80'000'000'000);
    CHECK(std::abs(of_eighth - 2 * of_sixteenth) <= 4 * layers);
    CHECK(rank(1, 8) == rank(8, 1, "--dp-attention --engine vllm"));
    CHECK(rank(1, 16) == rank(8, 2, "--dp-attention --engine vllm"));
    // With whole experts the tensor ranks deal tokens, and each has the shared expert: 3 x 7,168 x 2,048 in a layer.
    const long long shared = rank(4, 2, "--engine vllm --enable-expert-parallel") - rank(4, 2);
    CHECK(shared > layers * 3 * 7168 * 2048 / 4 * 3);
    CHECK(shared < layers * 3 * 7168 * 2048);
    CHECK(rank(8, 1, "--engine vllm --enable-expert-parallel") == rank(8, 1));
    CHECK(rank(1, 8, "--engine vllm --enable-expert-parallel") == rank(1, 8));
    // A dense model's ranks, and replicas of other engines, hold all that one holds.
    CHECK(weights("llama-3.1-8b", "--dp 4 --engine vllm") == weights("llama-3.1-8b", "--engine vllm"));
    CHECK(rank(8, 2, "--engine sglang") == rank(8, 1, "--engine sglang"));
    CHECK(rank(8, 2, "--engine trtllm") == rank(8, 1, "--engine trtllm"));
    // Experts are 4-bit in gpt-oss-120b: 60,914,073,600 B, beside biases in 16 bits (36 x 128 x 3 x 2,880 of them).
    const long long experts = 60'914'073'600 + 2LL * 36 * 128 * 3 * 2880;
    const auto oss = [](const std::string& split) { return weights("gpt-oss-120b", split + " --engine vllm"); };
    CHECK(std::abs(oss("--dp 1") - oss("--dp 8") - experts / 8 * 7) <= 36);
}

TEST_CASE("a launch line's experts lie on all ranks of its server", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const std::string line =
        "plan --gpu h200 --non-kv-bytes 4GiB --launch 'vllm serve deepseek-v3 --max-model-len 8192 ";
    refused(line + "-tp 4 -dp 2'", 0, "FITS");
    refused(line + "-tp 4'", 1, "DOES NOT START: No available memory");
    refused(line + "-dp 8'", 0, "FITS");
    refused(line + "-tp 4 -dp 2 --enable-expert-parallel'", 0, "FITS");
    refused(line + "-dp 8 --enable-expert-parallel'", 0, "FITS");
    const std::string two = "deepseek-v3 --gpu h200 --gpus 8 --tp 4 --pp 1 --tokens 8k --non-kv-bytes 4GiB";
    const json emitted = checked("plan", two);
    REQUIRE(emitted["ranked"].size() > 0);
    CHECK(emitted["ranked"][0]["dp"] == 2);
    const program::Ran said = program::run("plan " + two + " --emit vllm");
    CHECK(said.out.find("--tensor-parallel-size 4 --pipeline-parallel-size 1 --data-parallel-size 2 ") !=
          std::string::npos);
    CHECK(said.out.find("servers") == std::string::npos);
}

TEST_CASE("under attention data parallelism each engine holds whole what it does not divide", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const auto rank = [](const std::string& engine) {
        return weights("deepseek-v3", "--tp 8 --dp-attention --engine " + engine);
    };
    // exact divides the embedding, SGLang holds it; TensorRT-LLM and vLLM hold all but the experts.
    const long long embedding = rank("sglang") - rank("exact");
    CHECK(embedding > 1'600'000'000);  // 7/8 of 129,280 x 7,168 in about 2 bytes
    CHECK(rank("trtllm") == rank("vllm"));
    CHECK(rank("trtllm") > rank("sglang"));
}

TEST_CASE("llama.cpp keeps the input embedding on the host, in fit as in its own verb", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const std::string file = std::string{KVCAP_SOURCE_DIR} + "/tests/golden/llama_cpp/gguf/llama31-8b.header.gguf";
    const auto most = [&](const std::string& shares) {
        long long bytes = 0;
        const json found = checked("llamacpp", file + " -c 8192 --tensor-split " + shares);
        for (const json& each : found["devices"]) {
            bytes = each["device"] == "cpu" ? bytes : std::max(bytes, each["weights_bytes"].get<long long>());
        }
        return bytes;
    };
    CHECK(weights(file, "--engine llamacpp") == most("1"));
    CHECK(weights(file, "--engine llamacpp --pp 2") == most("1,1"));
    CHECK(weights(file, "--engine llamacpp --pp 4") == most("1,1,1,1"));
    const long long embedding = 128'256LL * 4096 * 2;
    const long long without = weights("llama-3.1-8b", "--engine llamacpp");
    CHECK(std::abs(weights("llama-3.1-8b", "--engine exact") - without - embedding) < 1'000'000);
    // Tied: the output layer is a copy on the GPU.
    CHECK(weights("gemma-3-27b", "--engine exact") == weights("gemma-3-27b", "--engine llamacpp"));
    // Its tensor ranks have slices of rows: no more is held than is reserved.
    const program::Ran shown =
        program::run("fit llama-3.1-8b --tp 16 --engine llamacpp --kv-budget 40GiB --tokens 8k");
    CHECK(shown.out.find("0.062 GiB  0.062 GiB") != std::string::npos);
}

TEST_CASE("--dp counts replicas in every verb, --dp-attention is among the tensor ranks", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const std::string memory = " --kv-budget 40GiB --gpus 8";
    for (const std::string verb : {"size", "fit", "pools", "roofline", "advise", "plan", "compare deepseek-r1"}) {
        const std::string gpu = verb == "roofline" || verb == "advise" ? " --gpu h200"
                                : verb.size() == 4 && verb != "plan"   ? ""
                                : verb[0] == 'c'                       ? ""
                                                                       : memory;
        CAPTURE(verb);
        refused(verb + " deepseek-v3 --tokens 8k --dp 8 --dp-attention" + gpu, 2,
                "kvcap: --dp-attention and --dp 8: --dp counts replicas, each of one tensor rank here; 8 ranks that "
                "each hold whole requests are --tp 8 --dp-attention");
    }
    for (const std::string verb : {"size", "fit", "pools", "plan"}) {
        const std::string gpu = verb == "size" ? "" : memory;
        CAPTURE(verb);
        refused(verb + " llama-3.1-8b --tokens 8k --engine llamacpp --tp 4 --dp-attention" + gpu, 2,
                "--dp-attention: llama.cpp has no ranks that each hold whole requests");
    }
    for (const std::string verb : {"size", "fit", "pools"}) {
        const std::string gpu = verb == "size" ? "" : memory;
        CAPTURE(verb);
        refused(verb + " llama-3.1-8b --tokens 8k --tp 3 --dp-attention --engine sglang" + gpu, 2,
                "32 query heads cannot be dealt to 3 ranks");
        for (const std::string engine : {"exact", "vllm", "trtllm"}) {
            const std::string asked = verb + " llama-3.1-8b --tokens 8k --tp 3 --dp-attention --engine " + engine;
            CHECK(program::run(asked + gpu).code == 0);
        }
    }
    const std::string three =
        "plan llama-3.1-8b --tokens 8k --gpus 3 --kv-budget 40GiB --tp 3 --dp-attention --engine ";
    refused(three + "sglang", 2, "32 query heads cannot be dealt to 3 ranks");
    for (const std::string engine : {"exact", "vllm", "trtllm"}) {
        CHECK(program::run(three + engine).code == 0);
    }
    const json two = checked("fit", "deepseek-v3 --tokens 8k --tp 4 --dp 2 --dp-attention --batch 8" + memory);
    CHECK(two["sharding"]["dp"] == 2);
    CHECK(two["sharding"]["tp"] == 4);
    bool noted = false;
    for (const json& each : two["notes"]) {
        noted = noted || each["text"] == "2 replicas of 4 tensor ranks that each hold whole requests: 8 GPUs";
    }
    CHECK(noted);
    refused("fit deepseek-v3 --tokens 8k --tp 8 --dp 8 --dp-attention" + memory, 2, "needs 64 GPUs and --gpus says 8");
}

TEST_CASE("every row of plan can be typed back into fit and size, with the same numbers", "[cli][plan][ranks]") {
    if (!program::known()) {
        return;
    }
    const std::string loads[][2] = {{"llama-3.1-8b --tokens 8k", " --gpus 4 --gpu h100 --batch 4"},
                                    {"deepseek-v3 --tokens 8k", " --gpus 16 --gpu h200 --batch 16"},
                                    {"gpt-oss-120b --tokens 8k", " --gpus 4 --gpu h100 --batch 4"},
                                    {"qwen3-next-80b-a3b --tokens 8k", " --gpus 4 --gpu h200 --batch 4"},
                                    {"llama-3.1-8b --tokens 4k", " --gpus 6 --gpu l40s --batch 3"}};
    std::size_t rows = 0;
    for (const auto& [load, gpus] : loads) {
        for (const std::string engine : {"vllm", "sglang", "trtllm", "llamacpp", "exact"}) {
            const std::string asked = load + gpus + " --non-kv-bytes 3GiB --engine " + engine;
            const program::Ran ran = program::run("plan " + asked + " --json");
            const json found = ran.code < 2 ? json::parse(ran.out) : json{{"ranked", json::array()}};
            for (std::size_t i = 0; i < found["ranked"].size(); i += 1 + i / 3) {
                const json& row = found["ranked"][i];
                CAPTURE(asked, row.dump());
                const json fit = checked("fit", asked + typed(row));
                CHECK(fit["fits"] == true);
                CHECK(fit["most_sequences"] == row["sequences"]);
                CHECK(fit["longest_tokens"] == row["context"]);
                const json size = checked("size", load + " --engine " + engine + typed(row));
                CHECK(most_held(size) == row["kv_read_bytes_per_token"]);
                ++rows;
            }
        }
    }
    CHECK(rows > 60);
}

TEST_CASE("what a request reserves is named of all pools, and does not depend on the memory", "[cli][ranks]") {
    if (!program::known()) {
        return;
    }
    const std::string v4 = "deepseek-v4-flash --tokens 32k --engine sglang --tp ";
    for (const std::string tp : {"1", "8"}) {
        const json at_size = checked("size", v4 + tp)["reserved_per_request"][0]["bytes"];
        for (const std::string budget : {"60GiB", "200GiB", "1000GiB"}) {
            CAPTURE(tp, budget);
            CHECK(checked("fit", v4 + tp + " --kv-budget " + budget)["reserved_bytes_per_request"] == at_size);
            const json pools = checked("pools", v4 + tp + " --kv-budget " + budget)["engines"][0];
            CHECK(pools["reserved_bytes_per_request"] == at_size);
            for (const json& pool : pools["pools"]) {
                CHECK(pool["unit_bytes"].get<long long>() * pool["units"].get<long long>() <=
                      pool["allocated_bytes"].get<long long>());
            }
        }
    }
    const std::string words = "2 pages of 256 (window tokens), 128 (entries per 4), 2 (compressor states per 4), 128 "
                              "(entries per 128), 1 (compressor states per request)";
    const program::Ran fit = program::run("fit " + v4 + "8 --kv-budget 200GiB");
    CHECK(unfolded(fit.out).find("reserved: " + words) != std::string::npos);
    CHECK(program::widest(fit.out) <= 80);
    CHECK(unfolded(program::run("size " + v4 + "8").out).find("(" + words + ")") != std::string::npos);
    refused("fit llama-3.1-8b --tokens 8k --engine vllm --kv-budget 20GiB", 0, "  reserved: 512 blocks of 16\n");
}

}  // namespace ranks_cli_tests
