// SPDX-License-Identifier: MIT
// What is not known stays so: weights that no file tells make every verdict one of at most, flags about layers that a
// model does not have say that they change nothing, and what could change nothing is refused by its name.
#include "checked.hpp"
#include "folder.hpp"

#include <algorithm>

namespace unknown_cli_tests {

using namespace program;

TEST_CASE("weights: a quantised format that only the model's name says", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    for (const char* card : {"deepseek-v3.1-nvfp4", "deepseek-v3.2-nvfp4", "glm-5-nvfp4", "qwen3-235b-a22b-nvfp4"}) {
        const json at = checked("fit", std::string{card} + " --gpu h200 --gpus 8 --tp 8 --tokens 32k");
        CHECK(at["weights_bytes_per_rank"].is_null());
        CHECK(says(at, "quantised (NVFP4, by its name)"));
    }
    const std::string asked = " --gpu h200 --tp 2 --tokens 8k";
    const json whole = checked("fit", "llama-3.1-70b" + asked);
    const json halved = checked("fit", "llama-3.1-70b-instruct-fp8" + asked);
    const long long sixteen_bits = whole["weights_bytes_per_rank"];
    const long long vocabulary = 128256LL * 8192;  // parameters of embedding or head on a rank: half
    CHECK(halved["weights_bytes_per_rank"] < sixteen_bits / 2 + 2 * vocabulary);
    CHECK(says(halved, "one byte a parameter of the linear layers, two of the rest"));
    CHECK(!says(halved, "16 bits each"));
}

TEST_CASE("weights: what ModelOpt writes beside a config says how they are stored", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const Folder folder;
    const std::string config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
        "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64, "hidden_size": 512, "vocab_size": 1000,
        "intermediate_size": 1024, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"})";
    folder.write("config.json", config);
    const std::string asked = "'" + folder.path().string() + "' --gpu h100 --tokens 1k";
    CHECK(checked("fit", asked)["weights_source"] == "derived from the config");
    folder.write("hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4"}})");
    const json packed = checked("fit", asked);
    CHECK(packed["weights_source"] == "");
    CHECK(says(packed, "quantised (NVFP4)"));
}

TEST_CASE("weights that nothing tells leave no verdict but at most", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string asked = "kimi-k2.6-nvfp4 --gpu l40s --gpus 2 --tp 2 --tokens 4k --overhead kaito-2026-06 ";
    const Ran screen = run("fit " + asked + "--engine vllm");
    CAPTURE(screen.out);
    CHECK(screen.out.find("FITS if weights are at most ") != std::string::npos);
    CHECK(screen.out.find("to spare") == std::string::npos);
    CHECK(screen.out.find("the engine will log") == std::string::npos);
    CHECK(screen.out.find("at most (if nothing else took memory)") != std::string::npos);
    CHECK(says(checked("fit", asked), "the weights are unknown"));
    CHECK(says(checked("pools", asked), "the weights are unknown"));
    CHECK(!says(checked("pools", "kimi-k2.6-nvfp4 --kv-budget 20GiB --tokens 4k"), "the weights are unknown"));
}

TEST_CASE("weights that nothing tells: the most they may be fits, and a byte more does not", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    for (const std::string beside : {"--overhead kaito-2026-06", "--non-kv-bytes 3GiB"}) {
        for (const std::string engine : {"vllm", "exact"}) {
            const std::string fit = "fit kimi-k2.6-nvfp4 --gpu l40s --tp 2 --tokens 4k --batch 16 --engine " + engine +
                                    ' ' + beside;
            const std::string screen = unfolded(run(fit).out);
            CAPTURE(fit, screen);
            const std::size_t from = screen.find("GiB (", screen.find("FITS if weights are at most")) + 5;
            REQUIRE(from != std::string::npos + 5);
            std::string bytes = screen.substr(from, screen.find(" B)", from) - from);
            bytes.erase(std::remove(bytes.begin(), bytes.end(), ','), bytes.end());
            CHECK(run(fit + " --weights-bytes " + bytes + "B").code == 0);
            CHECK(run(fit + " --weights-bytes " + std::to_string(std::stoll(bytes) + 50) + "B").code == 1);
        }
    }
}

TEST_CASE("a budget beside a GPU: its weights can be said, and what lacks is told", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string budget = "fit llama-3.1-70b --gpu h100 --kv-budget 30GiB --engine vllm --tokens 8k";
    CHECK(run(budget).code == 1);
    CHECK(run(budget + " --weights-bytes 37GiB").code == 0);
    refused("fit llama-3.1-70b --kv-budget 30GiB --tokens 8k --weights-bytes 37GiB", 2,
            "--kv-budget and --weights-bytes");
    const std::string line = "plan --gpu h100 --launch 'vllm serve llama-3.1-70b --max-model-len 8192 "
                             "--kv-cache-memory-bytes 30G'";
    CHECK(run(line + " --weights-bytes 37GiB").code == 0);
    refused(line, 1, "DOES NOT FIT as asked");
    const Ran lacking = run("fit llama-3.1-8b --gpu h100 --kv-budget 60GiB --engine vllm --tokens 8k --batch 65");
    CAPTURE(lacking.out);
    CHECK(lacking.out.find("DOES NOT FIT, 5.0") != std::string::npos);
}

TEST_CASE("flags about layers that a model does not have say that they change nothing", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string with = " --kv-budget 20GiB --tokens 4k --engine ";
    for (const char* flag : {"sglang --max-mamba-cache-size 7", "sglang --swa-full-tokens-ratio 0.1",
                             "sglang --mamba-full-memory-ratio 0.5", "vllm --mamba-cache-mode all",
                             "llamacpp --swa-full"}) {
        CAPTURE(flag);
        CHECK(says(checked("fit", "llama-3.1-8b" + with + flag), "changes nothing for this model"));
        CHECK(says(checked("pools", "llama-3.1-8b" + with + flag), "changes nothing for this model"));
    }
    CHECK(!says(checked("fit", "gpt-oss-20b" + with + "sglang --swa-full-tokens-ratio 0.1"), "changes nothing"));
    CHECK(!says(checked("fit", "gemma-3-27b" + with + "llamacpp --swa-full"), "changes nothing"));
}

TEST_CASE("one rank under --dp-attention is one rank in every verb", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    for (const char* engine : {"vllm", "sglang", "trtllm"}) {
        const std::string asked = "llama-3.1-8b --gpu h100 --tp 1 --dp-attention --tokens 4k --engine ";
        CHECK(run("fit " + asked + engine).code == 0);
        CHECK(run("plan --gpus 1 " + asked + engine).code == 0);
    }
}

TEST_CASE("what could change nothing is refused by its name", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    refused("reuse gemma-3-27b --explain --held 1=all", 2, "--held: it is asked of a prompt");
    refused("reuse gemma-3-27b --explain --limit 5", 2, "--limit: it is asked of a prompt");
    refused("reuse gemma-3-27b --engine vllm --explain --index-dtype fp8", 2, "--index-dtype: vLLM decides");
    const Folder folder;
    const std::string file = folder.write(
        "scenario.json", R"({"prompt_tokens": 64, "groups": [{"name": "all", "needs": "everything", "held": [0]}]})");
    const std::string scenario = "reuse '" + file + "' ";
    refused(scenario + "--kv-cache-dtype fp8", 2, "--kv-cache-dtype: a scenario says");
    refused(scenario + "--engine vllm --tp 4", 2, "--tp: a scenario says which pages there are");
    refused(scenario + "--engine vllm --engine-max-len 4k", 2, "--engine-max-len: a scenario says");
}

TEST_CASE("a number of bytes without a unit that can only be one that was forgotten", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string fit = "fit llama-3.1-8b --gpu h100 --tokens 4k ";
    refused(fit + "--weights-bytes 15", 2, "--weights-bytes: 15 is 15 bytes; wanted a unit as well");
    refused(fit + "--non-kv-bytes 2", 2, "--non-kv-bytes: 2 is 2 bytes; wanted a unit as well");
    CHECK(run(fit + "--non-kv-bytes 0").code == 0);
    CHECK(run(fit + "--weights-bytes 16106127360").code == 0);
}

TEST_CASE("a row that its own format cannot store is the spec's mistake", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    refused("size '3*q4_0(gqa(8,100))' --tokens 10k", 3, "model: its own formats: layer 0: a row of 100 elements");
    refused("size '3*gqa(8,100)' --tokens 10k --kv-cache-dtype q4_0", 2, "--kv-cache-dtype: q4_0");
}

TEST_CASE("advise: a choice that saves is first, also behind others that do not", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const Ran ran = run("advise gpt-oss-120b --gpu h100 --gpus 8 --tp 8 --tokens 128k --batch 64 --goal ttft "
                        "--shared-prefix 8k");
    CAPTURE(ran.out);
    CHECK(ran.out.find("first: 4 sinks + window 4,096, saves 63%") != std::string::npos);
    CHECK(ran.out.find("look elsewhere") == std::string::npos);
}

TEST_CASE("plan --launch: the memory that is not the cache's, a shell's variable, and a variable of the engine",
          "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string plan = "plan --gpu h100 --overhead kaito-2026-06 --launch ";
    const Ran screen = run(plan + "'vllm serve llama-3.1-8b --max-model-len 8192'");
    CHECK(screen.out.find("  weights 14.9") != std::string::npos);
    CHECK(screen.out.find("a rank: card; non-KV memory 3.0") != std::string::npos);
    const json read = json::parse(run(plan + "'vllm serve llama-3.1-8b --max-model-len 8192' --json").out);
    CHECK(schemas::violation_of(read, "launch") == "");
    CHECK(read["weights_source"] == "card");
    refused(plan + "'vllm serve $MODEL -tp 2'", 2, "a shell's variable is not known here");
    const std::string longer = "'VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve llama-3-8b --max-model-len 16384'";
    CHECK(unfolded(run(plan + longer).out).find("the line lets the engine take them") != std::string::npos);
}

TEST_CASE("--emit: what the engine cannot load is remarked", "[cli][unknown]") {
    if (!known()) {
        return;
    }
    const std::string asked = " --kv-budget 20GiB --gpus 1 --tokens 4k --emit vllm";
    CHECK(run("plan '32*gqa(8,128)'" + asked).err.find("loads a folder or a Hugging Face id") != std::string::npos);
    CHECK(run("plan llama-3.1-8b" + asked).err.find("loads a folder") == std::string::npos);
}

}  // namespace unknown_cli_tests
