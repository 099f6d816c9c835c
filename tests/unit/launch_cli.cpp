// SPDX-License-Identifier: MIT
// plan --launch as a script sees it: what stands beside a line is judged by or refused, and a line that cannot be is
// refused as fit refuses the same deployment.
#include "checked.hpp"
#include "folder.hpp"

#include <catch2/catch.hpp>

namespace launch_cli_tests {

namespace {

using nlohmann::json;
using program::refused;

/// The verdict of a line, with `beside` it.
json judged(const std::string& line, const std::string& beside = {}, int code = 0) {
    const program::Ran ran =
        program::run("plan --gpu h100 --launch " + program::quoted(line) + ' ' + beside + " --json");
    CAPTURE(line, beside, ran.err, ran.out);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, "launch") == "");
    return read;
}

void refuses(const std::string& line, const std::string& beside, const std::string& words, int code = 2) {
    const program::Ran ran = program::run("plan --gpu h100 --launch " + program::quoted(line) + ' ' + beside);
    CAPTURE(line, beside, ran.err, ran.out);
    CHECK(ran.code == code);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("plan --launch: the load beside a line is what the line is judged by", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const std::string line = "vllm serve llama-3.1-8b --max-model-len 8192";
    const std::string fit = "fit llama-3.1-8b --gpu h100 --engine vllm --util 0.92 --engine-max-len 8192 ";
    for (const std::string load :
         {"--batch 16", "--batch 300", "--tokens 4k --batch 7", "--lengths 4k:3,8k:5 --batch 8"}) {
        CAPTURE(load);
        const std::string tokens = load.find("k") == std::string::npos ? " --tokens 8k" : "";
        const int code = load == "--batch 300" ? 1 : 0;
        const json same = json::parse(program::run(fit + load + tokens + " --json").out);
        const json read = judged(line, load, code);
        CHECK(read["fits"] == same["fits"]);
        CHECK((code == 0 || read["margin_bytes"] == same["lacking_bytes"]));
    }
    const auto spare = [&](const std::string& load) { return judged(line, load)["margin_bytes"].get<long long>(); };
    CHECK(spare("--batch 1") == judged(line)["margin_bytes"]);
    CHECK(spare("--batch 15") - spare("--batch 16") == 1LL << 30);  // 8,192 tokens of 131,072 B
    CHECK(spare("--batch 16 --tokens 4k") == spare("--batch 8"));
    CHECK(spare("--batch 8 --lengths 4k:1,8k:1") == spare("--batch 6"));
    CHECK(judged(line + " --max-num-seqs 4")["margin_bytes"] == judged(line, "--batch 4")["margin_bytes"]);
    CHECK(judged(line + " # 2 servers", "--batch 8")["margin_bytes"] == judged(line, "--batch 4")["margin_bytes"]);
    const program::Ran shown = program::run("plan --gpu h100 --launch " + program::quoted(line) +
                                            " --lengths 4k:3,8k:5 --batch 8");
    CHECK(shown.out.find("8 requests (5 of 8,192, 3 of 4,096 tokens)") != std::string::npos);
    CHECK(program::widest(shown.out) <= 80);
    refuses(line + " --max-num-seqs 4", "--batch 300", "--batch 300 and --launch: the line runs 4 requests at once");
    refuses(line, "--tokens 16k", "--tokens and --launch: a request of 16,384 tokens is longer than the 8,192");
    refuses(line, "--lengths 4k:1,9k:1", "--lengths and --launch: a request of 9,216 tokens");
}

TEST_CASE("plan --launch: JSON states the load that was judged, and of which pool the margin is", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const json mixed = judged("vllm serve llama-3.1-8b --max-model-len 8192", "--lengths 4k:3,8k:5 --batch 8");
    CHECK(mixed["sequences_of_a_rank"] == 0);
    CHECK(mixed["load"] == json::parse(R"({"sequences_of_a_rank": 8, "engine_max_len": 8192, "lengths": [
        {"tokens": 8192, "sequences": 5}, {"tokens": 4096, "sequences": 3}]})"));
    for (const std::string line :
         {"vllm serve llama-3.1-8b", "vllm serve gpt-oss-20b --max-num-seqs 3", "llama-server -m llama-3.1-8b -c 8192",
          "python -m sglang.launch_server --model-path gpt-oss-20b --context-length 16384",
          "python -m sglang.launch_server --model-path qwen3-next-80b-a3b --tp 4", "trtllm-serve gpt-oss-20b"}) {
        const json read = judged(line);
        CAPTURE(line, read.dump());
        const json& pool = read["tightest_pool"];
        const auto number = [&](const char* name) { return pool[name].get<long long>(); };
        const bool bytes = line.rfind("llama-server", 0) == 0;
        CHECK((number("pool") == 0) == bytes);
        CHECK(number("pool") <= number("pools"));
        CHECK(read["margin_bytes"] == number("unit_bytes") * (number("usable_units") - number("needed_units")));
        // Written as it was said: what the engine decides is not in the line, and the line reads back to the same.
        const std::string again = read["line"];
        CHECK((again + ' ').find(" 0 ") == again.npos);
        CHECK(judged(again)["margin_bytes"] == read["margin_bytes"]);
        CHECK(judged(again)["load"] == read["load"]);
        CHECK(judged(again)["line"] == again);
    }
    const json two = judged("python -m sglang.launch_server --model-path gpt-oss-20b --context-length 16384");
    CHECK(two["tightest_pool"]["pools"] == 2);
    const json small = judged("vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 300", "", 1);
    CHECK(small["margin_bytes"] == small["tightest_pool"]["unit_bytes"].get<long long>() *
                                       (small["tightest_pool"]["needed_units"].get<long long>() -
                                        small["tightest_pool"]["usable_units"].get<long long>()));
    CHECK(judged("vllm serve llama-3.1-8b --block-size 17", "", 2)["tightest_pool"].is_null());
    const program::Ran shown = program::run("plan --gpu h100 --launch 'python -m sglang.launch_server --model-path "
                                            "gpt-oss-20b --context-length 16384'");
    CHECK(shown.out.find(" of 2, the tightest") != std::string::npos);
}

TEST_CASE("plan --launch: what a line says already, or what only a search reads, is refused beside it", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const std::string line = "vllm serve llama-3.1-8b --max-model-len 8192";
    refuses(line, "--engine sglang", "--engine sglang and --launch: the line starts vllm");
    refuses(line, "--engine exact", "--engine exact and --launch");
    CHECK(judged(line, "--engine vllm@0.28.0")["rules"].get<std::string>().find("0.28.0") != std::string::npos);
    refuses(line + " -tp 4", "--gpus 2", "--gpus 2 and --launch: the line needs 4 GPUs");
    refuses(line + " -tp 2 -dp 2 # 2 servers", "--gpus 7", "--gpus 7 and --launch: the line needs 8 GPUs");
    CHECK(judged(line + " -tp 4", "--gpus 4")["notes"].dump().find("idle") == std::string::npos);
    CHECK(judged(line + " -tp 4", "--gpus 8")["notes"].dump().find("4 are idle") != std::string::npos);
    refuses(line, "--engine-max-len 4k", "--engine-max-len and --launch");
    for (const std::string flag : {"--goal context", "--dtypes fp8", "--block-sizes 32", "--top 3"}) {
        refuses(line, flag, flag.substr(0, flag.find(' ')) + " and --launch: one line is judged");
    }
    refuses(line + " --gpu-memory-utilization 0.8", "--util 0.7", "--util and --launch: the line says it: 0.8");
    refuses(line + " --kv-cache-memory-bytes 10G", "--kv-budget 9GiB", "--kv-budget and --launch");
    CHECK(judged(line, "--util 0.7")["margin_bytes"] ==
          judged(line + " --gpu-memory-utilization 0.7")["margin_bytes"]);
    CHECK(judged(line + " --kv-cache-memory-bytes 10G")["margin_bytes"] ==
          judged(line, "--kv-budget 10GiB")["margin_bytes"]);
    refuses("vllm serve 'llama-3.1-8b --max-model-len 8192", "", "--launch: the line opens a ' and does not close it");
    refuses("vllm serve llama-3.1-8b --max-model-len 25.6K", "", "\"25.6K\"", 3);
}

TEST_CASE("plan --launch: numbers of a line are its engine's, and bytes are bytes", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const std::string line = "vllm serve gemma-2-9b --max-model-len 4096 --max-num-batched-tokens ";
    CHECK(judged(line + "25.6k")["margin_bytes"] == judged(line + "25600")["margin_bytes"]);
    CHECK(judged(line + "2k")["line"].get<std::string>().find("--max-num-batched-tokens 2000") != std::string::npos);
    CHECK(judged(line + "2K")["line"].get<std::string>().find("--max-num-batched-tokens 2048") != std::string::npos);
    CHECK(judged("vllm serve llama-3.1-8b --max-model-len 8192 --kv-cache-memory-bytes 25600", "", 1)["fits"] == false);
    refuses("vllm serve llama-3.1-8b --gpu-memory-utilization 1.5", "", "--gpu-memory-utilization: \"1.5\"", 3);
}

TEST_CASE("plan --launch: flags that make another model are refused, several values of one flag noted", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const std::string vllm = "vllm serve llama-3.1-8b --max-model-len 8192 ";
    const std::string sglang = "sglang serve llama-3.1-8b --context-length 8192 --max-running-requests 4 ";
    const std::string llama = "llama-server -m llama-3.1-8b -c 8192 ";
    refuses(vllm + "--hf-overrides '{\"a\": 1}'", "", "--hf-overrides: another model");
    refuses(sglang + "--json-model-override-args '{\"a\": 1}'", "", "--json-model-override-args: another model");
    refuses(llama + "--override-kv llama.block_count=int:4", "", "--override-kv: another model");
    CHECK(judged(sglang + "--json-model-override-args {}")["margin_bytes"] == judged(sglang)["margin_bytes"]);
    CHECK(judged(vllm + "--port 8000")["notes"].dump().find("--port: taken to change") != std::string::npos);
    refuses(vllm + "--port 8000 x", "", "launch line: \"x\"; wanted a flag", 3);
    CHECK(judged(vllm + "-O3")["notes"].dump().find("-O3: not understood") != std::string::npos);
    refuses("vllm serve llama-3.1-8b -- x", "", "launch line: \"--\"; wanted a flag with a name", 3);
    refuses(llama + "-ts 9,1", "", "-ts: \"9,1\"", 3);
}

TEST_CASE("plan --launch: a line that cannot be is refused as fit refuses it", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    struct Case {
        std::string line;
        std::string fit;
        int code;
    };
    const Case cases[] = {
        {"vllm serve llama-3-8b --tensor-parallel-size 3", "llama-3-8b --tp 3 --engine vllm", 2},
        {"python -m sglang.launch_server --model-path llama-3-8b --tp 3", "llama-3-8b --tp 3 --engine sglang", 2},
        {"trtllm-serve llama-3-8b --tp_size 3", "llama-3-8b --tp 3 --engine trtllm", 2},
        {"vllm serve llama-3-8b -pp 64", "llama-3-8b --pp 64 --engine vllm", 2},
        {"vllm serve llama-3-8b -tp 2 -dcp 2", "llama-3-8b --tp 2 --decode-context-parallel-size 2 --engine vllm", 2},
        {"vllm serve phi-3-vision-128k -tp 2 -dcp 2",
         "phi-3-vision-128k --tp 2 --decode-context-parallel-size 2 --engine vllm", 2},
        {"vllm serve rwkv-5-world-3b", "rwkv-5-world-3b --engine vllm", 4},
    };
    for (const Case& each : cases) {
        const program::Ran fit = program::run("fit --gpu h100 " + each.fit);
        CAPTURE(each.fit, fit.out, fit.err);
        CHECK(fit.code == each.code);
        CHECK(!fit.err.empty());
        refuses(each.line, "", fit.err, each.code);
    }
}

TEST_CASE("plan --emit: every line is read back and judged the same", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const char* cases = std::getenv("KVCAP_CASES");
    const std::size_t most = cases != nullptr ? std::stoul(cases) : 12;
    const json cards = json::parse(program::run("models --json").out)["models"];
    const std::size_t step = std::max<std::size_t>(cards.size() / std::max<std::size_t>(most, 1), 1);
    const std::string memory = " --gpu h200 --non-kv-bytes 2GiB --weights-bytes 20GiB";
    unsigned lines = 0;
    for (std::size_t i = 0; i < cards.size(); i += step) {
        const std::string model = cards[i]["name"];
        for (const std::string engine : {"vllm", "sglang", "llama-server", "trtllm"}) {
            const bool llama = engine == "llama-server";
            for (const std::string split : {" --gpus 8", llama ? " --gpus 2 --tp 2" : " --gpus 4 --tp 2 --pp 2",
                                            llama ? " --gpus 4 --pp 4" : " --gpus 8 --dp-attention"}) {
                const program::Ran emitted =
                    program::run("plan " + model + memory + split + " --tokens 4k --batch 8 --emit " + engine);
                if (emitted.out.empty()) {
                    continue;
                }
                const std::string line = emitted.out.substr(0, emitted.out.find('\n'));
                const program::Ran read =
                    program::run("plan" + memory + " --launch " + program::quoted(line) + " --json");
                CAPTURE(line, read.err);
                REQUIRE(read.code == 0);
                const json judged = json::parse(read.out);
                CHECK(judged["fits"] == true);
                CHECK(judged["line"] == line);
                CHECK(judged["notes"].dump().find("not understood") == std::string::npos);
                ++lines;
            }
        }
    }
    CHECK(lines > most);
}

TEST_CASE("plan --launch: what the engine took for granted is noted", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const auto notes = [](const std::string& line) { return judged(line)["notes"].dump(); };
    const std::string vllm = notes("vllm serve gemma-3-27b -tp 2 --max-model-len 8192");
    CHECK(vllm.find("batches are in flight") != std::string::npos);
    const std::string sglang = "python -m sglang.launch_server --context-length 8192 --model-path ";
    CHECK(notes(sglang + "gemma-3-27b").find("SGLang keeps no window pool for it") != std::string::npos);
    const std::string spec = "'3*window(1024, gqa(8,128)) + gqa(8,128)'";
    const program::Ran shown = program::run("plan --gpu h100 --launch " + program::quoted(sglang + spec));
    CHECK(shown.out.find("assumed architectures: not said, and SGLang keeps window pools by") != std::string::npos);
    CHECK(notes(sglang + "gpt-oss-20b").find("full length") == std::string::npos);
}

TEST_CASE("plan --emit: a model on disk stands in the line as typed", "[cli][plan]") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string text = R"({"model_type": "llama", "_name_or_path": "some/name"})";
    const std::string config = folder.write("served/config.json", text);
    const std::string served = config.substr(0, config.rfind('/'));
    const auto emitted = [](const std::string& model, const std::string& engine) {
        return program::run("plan " + model + " --kv-budget 40GiB --gpus 1 --tokens 1k --emit " + engine);
    };
    for (const std::string& typed : {config, served}) {
        CHECK(emitted(typed, "vllm").out.starts_with("vllm serve " + served + " --tensor"));
    }
    const std::string other = folder.write("other.json", text);
    CHECK(emitted(other, "trtllm").out.find("trtllm-serve " + other + " --tp_size 1") != std::string::npos);
    CHECK(emitted(other, "trtllm").err.find("loads a folder or a Hugging Face id") != std::string::npos);
    CHECK(judged(emitted(served, "vllm").out)["fits"] == true);
    const program::Ran named = emitted("llama-3.1-8b", "llama-server");
    CHECK(named.out.starts_with("llama-server -m meta-llama/Llama-3.1-8B -c 1024"));
    CHECK(named.err.find("-m reads a GGUF file") != std::string::npos);
}

}  // namespace launch_cli_tests
