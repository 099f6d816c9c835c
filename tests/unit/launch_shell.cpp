// SPDX-License-Identifier: MIT
// What a shell makes of a launch line: where its commands end, which of them starts a server, what it writes into
// files; and flags as Python's parsers take them.
#include <catch2/catch.hpp>
#include <kvcap/io/launch.hpp>

namespace launch_shell_tests {

using namespace kvcap;

namespace {

Launch read(const std::string& line) {
    const Diagnosed<Launch> got = read_launch(line);
    CAPTURE(line, got ? "" : got.error->text());
    REQUIRE(got);
    return *got;
}

void refused(const std::string& line, const std::string& words) {
    const Diagnosed<Launch> got = read_launch(line);
    CAPTURE(line);
    REQUIRE(!got);
    CHECK(got.error->text().find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a line's end ends the command, and a second server is not passed over", "[launch]") {
    const std::string one = "vllm serve a --port 8000";
    for (const std::string between : {"\n", "\n\n# the other\n", " &\n", " && ", "; ", " # first\nX=1 "}) {
        CAPTURE(between);
        refused(one + between + "vllm serve b -tp 4", "a second server behind the first");
    }
    CHECK(read(one + "\ncurl http://localhost:8000/health") == read(one));
    CHECK(read("\n\nexport VLLM_X=1\n" + one + "\n") == read(one));
    CHECK(read("cd /srv; " + one + "; echo done") == read(one));
    CHECK(read("vllm serve a \\\n  -tp 2 \\\n  --port 1").tp == 2);
    refused("vllm serve a\n  -tp 2", "\"-tp\" on a line of its own; wanted a backslash");
    CHECK(read("vllm serve a --max-model-len 8192  # start server on node 1").servers == 1);
    CHECK(read("vllm serve a # The server listens").servers == 1);
    CHECK(read("vllm serve a #use 8k") == read("vllm serve a"));
    CHECK(read("# Don't forget\nvllm serve a") == read("vllm serve a"));
    CHECK(read("vllm serve a --api-key '#k;x' -tp 2").flags.at("api-key") == "#k;x");
}

TEST_CASE("words that belong to no flag are refused behind flags that are known to take one", "[launch]") {
    refused("vllm serve a --port 8000 stray", "\"stray\"");
    refused("vllm serve a --trust-remote-code stray", "\"stray\"");
    refused("vllm serve a --port 8000 \xe2\x80\x93tensor-parallel-size 4", "wanted a flag that begins with '-'");
    CHECK(read("vllm serve a --served-model-name x y -tp 2").tp == 2);
    CHECK(read("vllm serve --trust-remote-code a").model == "a");
    CHECK(read("vllm serve --max-num-seqs 8 a --enable-auto-tool-choice").model == "a");
    refused("vllm serve --config c.yaml", "--config: \"c.yaml\"; wanted the flags themselves");
    refused("sglang serve --model a --config c.yaml", "--config: \"c.yaml\"");
}

TEST_CASE("images: a tag's version, the device they are made for, and programs named behind them", "[launch]") {
    const auto version = [](const std::string& image) { return read("docker run " + image + " --model m").version; };
    CHECK(version("vllm/vllm-openai:v0.17.0-cu130") == "0.17.0");
    CHECK(version("vllm/vllm-openai:v0.14.1-aarch64-cu130") == "0.14.1");
    CHECK(version("vllm/vllm-openai:v0.11.0rc1") == "0.11.0rc1");
    CHECK(version("vllm/vllm-openai:v0.10.1.1") == "0.10.1.1");
    CHECK(version("vllm/vllm-openai:nightly-0a1b") == "");
    for (const char* image : {"vllm/vllm-openai-cpu:latest", "vllm/vllm-openai-xpu",
                              "ghcr.io/ggml-org/llama.cpp:server", "ghcr.io/ggml-org/llama.cpp:server-b4567"}) {
        refused(std::string{"docker run "} + image + " -m m --model m", "an image that runs on ");
    }
    CHECK(read("docker run --entrypoint python3 vllm/vllm-openai:v0.11.0 -m vllm.entrypoints.openai.api_server "
               "--model a").version == "0.11.0");
    CHECK(read("srun --container-image=vllm/vllm-openai:v0.10.2 vllm serve a").version == "0.10.2");
    const Launch inner = read("docker run -e VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 --entrypoint bash "
                              "vllm/vllm-openai:v0.10.2 -c \"pip install x && vllm serve a -tp 2\"");
    CHECK((inner.model == "a" && inner.tp == 2 && inner.version == "0.10.2" && inner.longer_allowed));
    CHECK(read("bash -lc 'vllm serve a -tp 2'").tp == 2);
    const Launch named = read("docker run --name llama-server --device /dev/kfd --device /dev/dri -v ~/m:/models "
                              "ghcr.io/ggml-org/llama.cpp:server-rocm -m /models/a.gguf -c 4096 -np 2");
    CHECK((named.model == "/models/a.gguf" && named.over_all == "layer" && named.flags.count("verbose") == 0));
}

TEST_CASE("flags as Python's parser takes them", "[launch]") {
    CHECK(read("vllm serve a --tensor-parallel 4").tp == 4);
    CHECK(read("vllm serve a --max-model 4096").tokens == 4096);
    CHECK(read("sglang serve --model a --mem-frac 0.5").util == "0.5");
    CHECK(read("vllm serve a --max 4096").tokens == 0);             // begins several
    CHECK(read("llama-server -m a --ctx-si 4096").tokens == 0);    // llama.cpp has no beginnings
    CHECK(read("sglang serve --model a --chunked-prefill-size -1").flags.at("chunked-prefill-size") == "-1");
    refused("sglang serve --model a --chunked-prefill-size -2", "--chunked-prefill-size: \"-2\"");
    CHECK(read("vllm serve a -q fp8") == read("vllm serve a --quantization fp8"));
}

TEST_CASE("SGLang's requests under attention data parallelism: each rank runs a whole part", "[launch]") {
    const std::string line = "sglang serve --model a --tp 8 --dp 8 --enable-dp-attention --max-running-requests ";
    CHECK(read(line + "16").sequences == 2);
    CHECK(read(line + "23").sequences == 2);
    CHECK(read(line + "8").no_split.empty());
    CHECK(read(line + "7").no_split == "--max-running-requests 7: wanted at least one for each of the 8 ranks");
}

TEST_CASE("YAML as TensorRT-LLM reads it: comments, quotes, JSON, words for yes and no", "[launch]") {
    const auto with = [](const std::string& text) {
        return read("printf '" + text + "' > f && trtllm-serve m --config f");
    };
    CHECK(with("kv_cache_config:\\n  # dtype: fp8\\n  free_gpu_memory_fraction: 0.8 # room\\n").dtype == "auto");
    CHECK(with("kv_cache_config:\\n  # dtype: fp8\\n  free_gpu_memory_fraction: 0.8 # room\\n").util == "0.8");
    const Launch json = with("{\"kv_cache_config\": {\"dtype\": \"fp8\", \"max_tokens\": 64}, "
                             "\"enable_attention_dp\": true}");
    CHECK((json.dtype == "fp8" && json.attention_dp && json.flags.at("max-kv-tokens") == "64"));
    for (const std::string yes : {"True", "TRUE", "yes", "on"}) {
        CHECK(with("enable_attention_dp: " + yes).attention_dp);
    }
    for (const std::string no : {"False", "no", "off", "null"}) {
        CHECK(!with("enable_attention_dp: " + no).attention_dp);
    }
    refused("printf 'enable_attention_dp: maybe' > f && trtllm-serve m --config f", "enable_attention_dp: \"maybe\"");
    CHECK(with("speculative_config: null").flags.empty());
    CHECK(with("speculative_config:\\n  decoding_type: MTP").flags.count("speculative-config") == 1);
    CHECK(with("cuda_graph_config:\\n  kv_cache_config:\\n    dtype: fp8").dtype == "auto");
    const Launch words = read("printf '%s\\n' 'enable_attention_dp: true' 'kv_cache_config: {dtype: fp8}' > f && "
                              "trtllm-serve m --config f");
    CHECK((words.attention_dp && words.dtype == "fp8"));
    const std::string deep(2000, '{');
    refused("printf 'a: " + deep + "' > f && trtllm-serve m --config f", "wanted YAML");
    CHECK(with("a: " + deep + std::string(2000, '}')).dtype == "auto");
}

}  // namespace launch_shell_tests
