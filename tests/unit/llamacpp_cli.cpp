// SPDX-License-Identifier: MIT
// llama.cpp as a script sees it: GGUF weights by part, devices and cells that a server's line leaves unsaid, keys and
// values of unlike types, and flags of llama.cpp that are judged or refused.
#include "../tools/golden/llamacpp_gguf.hpp"
#include "checked.hpp"
#include "folder.hpp"

#include <catch2/catch.hpp>
#include <functional>

namespace llamacpp_cli_tests {

namespace {

using nlohmann::json;
using program::checked;
using program::quoted;
using program::refused;

constexpr std::uint64_t width = 512, heads = 8, key_heads = 2, head = 64, inner = 1024, vocabulary = 32'000;
constexpr std::uint32_t layers = 4;
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

json metadata(unsigned experts) {
    json keys{{"general.architecture", "llama"},        {"llama.block_count", layers},
              {"llama.context_length", 8192},           {"llama.embedding_length", width},
              {"llama.attention.head_count", heads},    {"llama.attention.head_count_kv", key_heads},
              {"llama.feed_forward_length", inner}};
    if (experts != 0) {
        keys["llama.expert_count"] = experts;
        keys["llama.expert_used_count"] = 2;
    }
    return keys;
}

/// A Llama, or a Mixtral, all of it in f16 as a config's parameters are counted. fused: q, k and v in one matrix.
std::string gguf_of(unsigned experts, bool fused = false, const std::function<void(json&)>& change = {}) {
    golden::GgufWriter writer;
    json keys = metadata(experts);
    if (change) {
        change(keys);
    }
    writer.add_all(keys);
    const auto tensor = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        writer.add(golden::TensorInfo{name, std::move(shape), 1});
    };
    tensor("token_embd.weight", {width, vocabulary});
    tensor("output.weight", {width, vocabulary});
    tensor("output_norm.weight", {width});
    for (unsigned i = 0; i < layers; ++i) {
        const std::string blk = "blk." + std::to_string(i) + '.';
        tensor(blk + "attn_norm.weight", {width});
        tensor(blk + "ffn_norm.weight", {width});
        if (fused) {
            tensor(blk + "attn_qkv.weight", {width, (heads + 2 * key_heads) * head});
        } else {
            tensor(blk + "attn_q.weight", {width, heads * head});
            tensor(blk + "attn_k.weight", {width, key_heads * head});
            tensor(blk + "attn_v.weight", {width, key_heads * head});
        }
        tensor(blk + "attn_output.weight", {heads * head, width});
        const std::string of = experts == 0 ? ".weight" : "_exps.weight";
        for (const char* each : {"ffn_gate", "ffn_up", "ffn_down"}) {
            const bool down = std::string{each} == "ffn_down";
            std::vector<std::uint64_t> shape{down ? inner : width, down ? width : inner};
            if (experts != 0) {
                shape.push_back(experts);
            }
            tensor(blk + each + of, shape);
        }
        if (experts != 0) {
            tensor(blk + "ffn_gate_inp.weight", {width, experts});
        }
    }
    return writer.bytes();
}

std::string config_of(unsigned experts) {
    json config{{"architectures", {experts == 0 ? "LlamaForCausalLM" : "MixtralForCausalLM"}},
                {"model_type", experts == 0 ? "llama" : "mixtral"},
                {"hidden_size", width},
                {"intermediate_size", inner},
                {"num_hidden_layers", layers},
                {"num_attention_heads", heads},
                {"num_key_value_heads", key_heads},
                {"max_position_embeddings", 8192},
                {"vocab_size", vocabulary},
                {"tie_word_embeddings", false},
                {"torch_dtype", "float16"}};
    if (experts != 0) {
        config["num_local_experts"] = experts;
        config["num_experts_per_tok"] = 2;
        config["sliding_window"] = nullptr;
    }
    return config.dump();
}

/// The verdict of a line, with what stands beside it.
json judged(const std::string& line, const std::string& beside, int code = 0) {
    const program::Ran ran = program::run("plan --launch " + quoted(line) + ' ' + beside + " --json");
    CAPTURE(line, beside, ran.err, ran.out);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, "launch") == "");
    return read;
}

}  // namespace

TEST_CASE("llamacpp: experts of the first blocks stay in host memory", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string file = folder.write("m.gguf", gguf_of(8));
    const std::string dense = folder.write("d.gguf", gguf_of(0));
    const std::string asked = "llamacpp " + file + " -c 256 ";
    constexpr std::uint64_t block = std::uint64_t{3} * inner * width * 8 * 2, input = width * vocabulary * 2;
    const auto weights = [&](const std::string& more, std::size_t device) {
        const program::Ran ran = program::run(asked + more + " --json");
        CAPTURE(more, ran.err);
        return json::parse(ran.out)["devices"][device]["weights_bytes"].get<std::uint64_t>();
    };
    const std::uint64_t all = weights("", 1);
    CHECK(weights("", 0) == input);
    CHECK(weights("--n-cpu-moe 3", 0) == input + 3 * block);
    CHECK(weights("-ncmoe 3", 1) == all - 3 * block);
    CHECK(weights("-cmoe", 1) == all - layers * block);
    CHECK(weights("--n-cpu-moe 99", 1) == all - layers * block);
    CHECK(weights("-cmoe -ngl 2", 0) + weights("-cmoe -ngl 2", 1) == weights("", 0) + all);
    CHECK(weights("-ncmoe 1 -sm tensor -ts 1,1", 0) == input + block);
    CHECK(weights("-ncmoe 1 -sm tensor -ts 1,1", 1) == weights("-sm tensor -ts 1,1", 1) - block / 2);

    const auto least = [&](std::uint64_t free) {
        return json::parse(program::run(asked + "--device " + std::to_string(free) + " --json").out)["least_n_cpu_moe"];
    };
    const std::uint64_t cells = checked("llamacpp", file + " -c 256")["devices"][1]["cache_bytes"];
    CHECK(least(cells + all) == 0);
    CHECK(least(cells + all - 1) == 1);
    CHECK(least(cells + all - 3 * block) == 3);
    CHECK(least(cells + all - 4 * block - 1).is_null());
    CHECK(program::run(asked + "--device " + std::to_string(cells + all - 1)).out.find(
              "least -ncmoe at -c 256 and -ngl 5: 1") != std::string::npos);
    CHECK(program::run("llamacpp " + dense + " --device 8GiB").out.find("ncmoe") == std::string::npos);
    CHECK(program::run("llamacpp " + dense + " --cpu-moe").out.find("no block has experts") != std::string::npos);
    refused("llamacpp mixtral-8x7b --n-cpu-moe 3", 2, "--n-cpu-moe: the weights are not known");
    refused("llamacpp mixtral-8x7b --cpu-moe", 2, "--cpu-moe: the weights are not known");
    refused(asked + "--n-cpu-moe 3 --cpu-moe", 2, "--cpu-moe");
    refused(asked + "--n-cpu-moe -3", 2, "--n-cpu-moe");
    refused("plan --gpu rtx-4090 --launch 'llama-server -m " + file + " -c 256 -ncmoe 3'", 2, "kvcap llamacpp");
}

TEST_CASE("a GGUF's weights are parts, as the same model's config has them", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    for (const unsigned experts : {0U, 8U}) {
        const std::string stem = "m" + std::to_string(experts);
        const std::string config = folder.write(stem + "/config.json", config_of(experts));
        const std::string file = folder.write(stem + ".gguf", gguf_of(experts));
        const std::string fused = folder.write(stem + "-fused.gguf", gguf_of(experts, true));
        CAPTURE(experts);
        for (const std::string split : {"", " --tp 2", " --tp 4", " --pp 2", " --batch 3 --tp 2 --dp-attention"}) {
            const auto parts = [&](const std::string& model) {
                return checked("roofline", model + " --gpu h100 --tokens 4k" + split)["parts"];
            };
            CAPTURE(split);
            CHECK(parts(file) == parts(config));
            CHECK(parts(fused) == parts(config));
        }
        for (const std::string on : {" --engine vllm --tp 2", " --engine vllm --tp 2 --enable-expert-parallel --dp 2",
                                     " --engine sglang --tp 4", " --engine llamacpp --pp 2",
                                     " --engine llamacpp --tp 2"}) {
            const auto weights = [&](const std::string& model) {
                const std::string asked = model + " --gpu h100 --tokens 4k --non-kv-bytes 1GiB" + on;
                return checked("fit", asked)["weights_bytes_per_rank"];
            };
            CAPTURE(on);
            CHECK(weights(file) == weights(config));
            CHECK(weights(fused) == weights(config));
        }
    }
}

TEST_CASE("a GGUF whose key projections contradict its heads is refused by key and tensor", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const auto file = [&](const std::function<void(json&)>& change) {
        return folder.write("m.gguf", gguf_of(0, false, change));
    };
    const std::string words =
        ": 0 heads of block 0; wanted as many as tensor blk.0.attn_k.weight has, which is 512 x 128";
    for (const char* key : {"llama.attention.head_count", "llama.attention.head_count_kv"}) {
        refused("size " + file([&](json& keys) { keys[key] = 0; }), 3, key + words);
    }
    refused("size " + file([](json& keys) { keys.erase("llama.attention.head_count"); }), 3,
            "llama.attention.head_count" + words);
}

TEST_CASE("plan --launch: llama-server takes all devices there are, unless its line names some", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const std::string line = "llama-server -m llama-3.1-8b -c 8192 -np 1";
    const std::string two = "--gpu-mem 12GiB --gpus 2";
    const json all = judged(line, two);
    CHECK(all["pp"] == 2);
    CHECK(all["notes"].dump().find("split over 2 GPUs by layers") != std::string::npos);
    CHECK(all["margin_bytes"] == judged(line + " -ts 1,1", two)["margin_bytes"]);
    CHECK(all["margin_bytes"] == judged(line + " -dev CUDA0,CUDA1", two)["margin_bytes"]);
    CHECK(judged(line + " -sm tensor", two)["tp"] == 2);
    CHECK(judged(line + " # 2 servers", "--gpu-mem 12GiB --gpus 4")["pp"] == 2);
    for (const std::string one : {" -sm none", " -ts 1", " -dev CUDA1"}) {
        CAPTURE(one);
        CHECK(judged(line + one, two, 1)["pp"] == 1);
    }
    CHECK(judged(line, "--gpu-mem 12GiB", 1)["notes"].dump().find("judged on one GPU") != std::string::npos);
    refused("plan --gpu-mem 12GiB --gpus 40 --launch " + quoted(line), 2, "llama.cpp has at most 16 devices");
    const std::string emitted =
        program::run("plan llama-3.1-8b --gpu-mem 24GiB --gpus 1 --tokens 8k --emit llama-server").out;
    CHECK(emitted.find(" -sm none ") != std::string::npos);
}

TEST_CASE("a server without -c: context times slots, lowered by --fit, in both verbs", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string file = folder.write("m.gguf", gguf_of(0));
    const auto verb = [&](const std::string& flags) { return checked("llamacpp", file + ' ' + flags); };
    const auto line = [&](const std::string& flags, const std::string& beside, int code = 0) {
        return judged("llama-server -m " + file + ' ' + flags, beside, code);
    };
    // 2 KiB a cell (4 layers of K and V, 2 heads of 64 in f16), so 512 cells a MiB.
    CHECK(verb("--server")["n_ctx"] == 4 * 8192);
    CHECK(verb("--server -np 2")["n_ctx"] == 2 * 8192);
    CHECK(verb("--server -np -1") == verb("--server"));
    for (const char* none : {"--server -np 0", "-np -1"}) {
        CHECK(program::run("llamacpp " + file + ' ' + none).code == 2);
    }
    CHECK(verb("-np 0")["n_ctx"] == 8192);  // one sequence, as llama_context takes it
    CHECK(verb("--server -sm tensor")["n_ctx"] == 8192);  // --fit does nothing there
    CHECK(line("", "--gpu-mem 4GiB")["load"]["lengths"][0]["tokens"] == 8192);
    CHECK(line("-np 1", "--gpu-mem 4GiB")["load"]["lengths"][0]["tokens"] == 8192);
    CHECK(line("-sm tensor", "--gpu-mem 4GiB --gpus 2")["load"]["lengths"][0]["tokens"] == 2048);
    CHECK(line("--fit off", "--gpu-mem 4GiB")["load"]["lengths"][0]["tokens"] == 2048);
    // Beside the weights there are 25 MiB for the cache and 1 GiB that stays free.
    constexpr std::uint64_t mib = gib >> 10;
    const std::uint64_t weights = checked("llamacpp", file + " --device 4GiB")["devices"][1]["weights_bytes"];
    const std::string bytes = std::to_string(weights + gib + 25 * mib);
    const json lowered = verb("--server --device " + bytes);
    CHECK(lowered["n_ctx"] == 25 * 512);
    CHECK(lowered["fits"] == true);
    CHECK(line("", "--gpu-mem " + bytes)["load"]["lengths"][0]["tokens"] == 25 * 512 / 4);
    CHECK(line("", "--gpu-mem " + bytes)["notes"].dump().find("lowered by --fit to 12,800") != std::string::npos);
    CHECK(program::unfolded(program::run("llamacpp " + file + " --server --device " + bytes).out)
              .find("lowered by --fit to 12,800") != std::string::npos);
    CHECK(verb("-c 0 --server --device " + bytes)["n_ctx"] == 4 * 8192);  // said: not lowered
    CHECK(line("-c 0", "--gpu-mem " + bytes)["load"]["lengths"][0]["tokens"] == 8192);
    CHECK(line("-c 0", "--gpu-mem " + std::to_string(weights + 25 * mib), 1)["fits"] == false);
    // At the least, 4,096 cells for each stream.
    const json least = line("", "--gpu-mem " + std::to_string(weights + gib / 2));
    CHECK(least["load"]["lengths"][0]["tokens"] == 1024);
    CHECK(line("-np 2", "--gpu-mem " + std::to_string(weights + gib / 2))["load"]["lengths"][0]["tokens"] == 4096);
}

TEST_CASE("keys and values of unlike types: held, named and emitted as such", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const auto held = [](const std::string& flags) {
        return checked("size", "llama-3.1-8b --tokens 8k " + flags)["points"][0]["unique_bytes"].get<std::uint64_t>();
    };
    const auto both = [&](const std::string& k, const std::string& v) {
        return (held("--kv-cache-dtype " + k) + held("--kv-cache-dtype " + v)) / 2;
    };
    CHECK(held("--engine llamacpp -ctk q8_0") == both("q8_0", "f16"));
    CHECK(held("--engine llamacpp -ctv q4_0") == both("f16", "q4_0"));
    CHECK(held("--engine llamacpp -ctk q8_0 -ctv q4_0") == both("q8_0", "q4_0"));
    CHECK(held("--kv-cache-dtype q8_0/q4_0") == both("q8_0", "q4_0"));
    const json fit = checked("fit", "llama-3.1-8b --gpu h100 --engine llamacpp --tokens 8k -ctk q8_0");
    CHECK(fit["kv_cache_dtype"] == "q8_0/f16");
    CHECK(fit["kv_cache_dtype_asked"] == "q8_0/f16");
    CHECK(fit["reserved_bytes_per_request"] == both("q8_0", "f16"));
    const std::string named = "llama-3.1-8b --gpu h100 --engine llamacpp --tokens 8k --kv-cache-dtype q8_0/f16";
    CHECK(checked("fit", named)["engine_log"] == fit["engine_log"]);
    // 65,536 elements a token: half at 34 bytes for 32, half at 2 bytes.
    const std::string book = program::run("size llama-3.1-8b --tokens 8k --kv-cache-dtype q8_0/f16").out;
    CHECK(book.find("100,352 B per token, the same") != std::string::npos);
    CHECK(program::run("fit llama-3.1-8b --gpu h100 --engine llamacpp --tokens 8k -ctk q8_0").out.find("KV q8_0/f16") !=
          std::string::npos);
    CHECK(checked("size", "llama-3.1-8b --engine llamacpp -ctk f16")["kv_cache_dtype"] == "f16");
    const json line = judged("llama-server -m llama-3.1-8b -c 8192 -np 1 -ctv q8_0", "--gpu h100");
    CHECK(line["kv_cache_dtype"] == "f16/q8_0");
    CHECK(line["line"].get<std::string>().find("-ctk f16 -ctv q8_0") != std::string::npos);
    const std::string emitted =
        program::run("plan llama-3.1-8b --gpu h100 --gpus 1 --tokens 8k -ctk q8_0 --emit llama-server").out;
    CHECK(emitted.find("-ctk q8_0 -ctv f16") != std::string::npos);
    refused("size llama-3.1-8b --kv-cache-dtype q8_0/fp8", 2, "KEYS/VALUES, each one of f32, f16");
    refused("fit llama-3.1-8b --gpu h100 --engine vllm --kv-cache-dtype q8_0/f16", 2, "q8_0/f16");
}

TEST_CASE("kvcap llamacpp: -sm, -nkvo, -t, -fa and --gpu as llama.cpp's own", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string file = folder.write("m.gguf", gguf_of(0));
    const auto verb = [&](const std::string& flags, int code = 0) {
        return checked("llamacpp", file + ' ' + flags, code);
    };
    const json one = verb("-c 8192 --device 4GiB");
    CHECK(verb("-c 8192 -sm none --device 4GiB,24GiB")["devices"] == one["devices"]);
    CHECK(verb("-c 8192 -t 8 --device 4GiB")["devices"] == one["devices"]);
    const json host = verb("-c 8192 -nkvo --device 4GiB");
    CHECK(host["devices"][0]["cache_bytes"] == 8192 * 2048);
    CHECK(host["devices"][1]["cache_bytes"] == 0);
    CHECK(host["devices"][1]["weights_bytes"] == one["devices"][1]["weights_bytes"]);
    CHECK(verb("-c 8192 --gpu rtx-4090 --gpus 2")["devices"].size() == 3);
    CHECK(verb("-c 8192 --gpu rtx-4090 -ts 1,1,1")["devices"].size() == 4);
    refused("llamacpp " + file + " -c 8192 --gpu rtx-4090 --device 4GiB", 2, "--gpu and --device");
    refused("llamacpp " + file + " -c 8192 --gpus 2", 2, "--gpu NAME");
    refused("llamacpp " + file + " -c 8192 -sm row", 2, "row is none of layer, tensor, none; it cuts rows");
    refused("llamacpp " + file + " -c 8192 -fa", 2, "on, off, auto (it takes a value since August 2025)");
    refused("llamacpp " + file + " -fa -c 8192", 2, "--flash-attn: nothing");
    CHECK(verb("-c 8192 -fa 1")["lines"] == one["lines"]);
    // Tensor split: matrices by the shares, norms whole, a verdict and the largest -c.
    const json cut = verb("-c 8192 -sm tensor --device 4GiB,4GiB");
    const std::uint64_t norms = (2 * layers + 1) * width * 2;
    const std::uint64_t all = one["devices"][1]["weights_bytes"];
    CHECK(cut["devices"][1]["weights_bytes"] == (all - norms) / 2 + norms);
    CHECK(cut["devices"][0]["weights_bytes"] == one["devices"][0]["weights_bytes"]);
    CHECK(cut["fits"] == true);
    CHECK(cut["largest_ctx"] == 8192);
    const std::uint64_t uneven = verb("-c 8192 -sm tensor -ts 3,1")["devices"][1]["weights_bytes"];
    CHECK(uneven == (all - norms) / 4 * 3 + norms);
    const std::string tight = std::to_string((all - norms) / 2 + norms + 4096 * 1024);
    const json most = verb("-c 8192 -sm tensor --device " + tight + ',' + tight, 1);
    CHECK(most["fits"] == false);
    CHECK(most["largest_ctx"] == 4096);
    refused("llamacpp " + file + " -c 8192 -sm tensor -ngl 2", 2, "--gpu-layers 2");
}

TEST_CASE("llama.cpp's tensor split stores each byte once", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    const std::string fit = "fit gemma-2b --tp 4 --kv-budget 100GiB --tokens 5000 --engine ";
    CHECK(program::run(fit + "llamacpp").out.find("store each byte") == std::string::npos);
    CHECK(program::run(fit + "vllm").out.find("store each byte") != std::string::npos);
}

TEST_CASE("what is not there is fetched by a command that works", "[cli][llamacpp]") {
    if (!program::known()) {
        return;
    }
    refused("size org/repo", 3, "hf download org/repo config.json)");
    refused("size org/repo@rev", 3, "hf download org/repo config.json --revision rev)");
    refused("size org/repo:Q4_K_M", 3,
            "hf download org/repo --include '*Q4_K_M*.gguf' --local-dir repo (MODEL is repo then)");
}

}  // namespace llamacpp_cli_tests
