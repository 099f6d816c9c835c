// SPDX-License-Identifier: MIT
// The program as a script sees it: what goes to which stream, exit codes, JSON against its schema, CSV,
// colours.
#include "json_schema.hpp"
#include "program.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cli_tests {

namespace {

using nlohmann::json;

using program::Ran;
using program::text_of;
using program::widest;

Ran kvcap(const std::string& arguments, const std::string& before = {}) {
    return program::run(arguments, before);
}

json size_json(const std::string& arguments) {
    const Ran ran = kvcap("size " + arguments + " --json");
    CAPTURE(arguments, ran.err);
    REQUIRE(ran.code == 0);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, "size") == "");
    return read;
}

}  // namespace

TEST_CASE("context ranks of their own multiply ranks, those among the tensor ranks share their copies") {
    if (!program::known()) {
        return;
    }
    const json own = size_json("deepseek-v3 --tokens 32k --tp 8 --cp 8");
    const json among = size_json("deepseek-v3 --tokens 32k --tp 8 --decode-context-parallel-size 8");
    CHECK(own["points"][0]["held_bytes_per_rank"].size() == 64);
    CHECK(among["points"][0]["held_bytes_per_rank"].size() == 8);
    CHECK(among["points"][0]["held_bytes_total"] == among["points"][0]["unique_bytes"]);  // no copy is left
    CHECK(among["groups"][0]["stored_over_unique"] == 1.0);
    const json windows = size_json("gemma-3-27b --tokens 32k --tp 32 --decode-context-parallel-size 2");
    CHECK(windows["points"][0]["held_bytes_total"] > windows["points"][0]["unique_bytes"]);  // windows stay whole
    CHECK(size_json("deepseek-v3 --tp 8 --cp 2 --engine vllm")["bytes_per_token_per_rank"].size() == 8);
    const Ran heads = kvcap("size llama-3.1-8b --tp 8 --decode-context-parallel-size 2");
    CHECK(heads.code == 2);
    CHECK(heads.err.find("1 copy of each head") != std::string::npos);
    CHECK(kvcap("size deepseek-v3 --tp 8 --cp 2 --decode-context-parallel-size 2").code == 2);
    CHECK(kvcap("fit deepseek-v3 --gpu h200 --tp 8 --decode-context-parallel-size 8 --gpus 8 --tokens 32k").code == 0);
}

TEST_CASE("bare kvcap prints three commands that work") {
    if (!program::known()) {
        return;
    }
    const Ran bare = kvcap("");
    CHECK(bare.code == 0);
    CHECK(bare.err.empty());
    int commands = 0;
    std::istringstream lines{bare.out};
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("  kvcap ", 0) == 0) {
            ++commands;
            const std::string arguments = line.substr(8, line.find("    ", 8) - 8);
            CAPTURE(arguments);
            CHECK(kvcap(arguments).code == 0);
        }
    }
    CHECK(commands == 3);
}

TEST_CASE("every verb has a help with an example, and every line of help fits 80 columns") {
    if (!program::known()) {
        return;
    }
    const Ran help = kvcap("--help");
    REQUIRE(help.code == 0);
    CHECK(widest(help.out) <= 80);
    std::istringstream lines{help.out.substr(help.out.find("Subcommands:\n") + 13)};
    int verbs = 0;
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        if (line[2] == ' ') {
            continue;  // the rest of a description
        }
        const std::string verb = line.substr(2, line.find(' ', 2) - 2);
        const Ran own = kvcap(verb + " --help");
        CAPTURE(verb);
        CHECK(own.code == 0);
        CHECK(own.err.empty());
        CHECK(own.out.find("Example") != std::string::npos);
        CHECK(own.out.find("kvcap " + verb + " ", own.out.find("Example")) != std::string::npos);
        CHECK(widest(own.out) <= 80);
        ++verbs;
    }
    CHECK(verbs >= 3);
    CHECK(kvcap("--version").out.rfind("kvcap ", 0) == 0);
}

TEST_CASE("help, help VERB and -v are --help, VERB --help and --version") {
    if (!program::known()) {
        return;
    }
    const std::pair<const char*, const char*> alike[] = {{"help", "--help"},
                                                         {"help help", "--help"},
                                                         {"help fit", "fit --help"},
                                                         {"help --version", "--help --version"},
                                                         {"-v", "--version"}};
    for (const auto& [shorter, longer] : alike) {
        const Ran one = kvcap(shorter);
        CAPTURE(shorter, one.err);
        CHECK(one.code == 0);
        CHECK(one.out == kvcap(longer).out);
        CHECK(!one.out.empty());
    }
    CHECK(kvcap("help fiz").code == 2);
    CHECK(kvcap("help fiz").err.find("did you mean fit?") != std::string::npos);
    CHECK(kvcap("hlep").err.find("did you mean help?") != std::string::npos);
}

TEST_CASE("a name that is not found is answered with the cards that begin like it") {
    if (!program::known()) {
        return;
    }
    const auto near = [](const std::string& name) {
        const Ran ran = kvcap("size " + name);
        CHECK(ran.code == 3);
        const std::size_t at = ran.err.find("nearest cards: ");
        return at == std::string::npos ? "" : ran.err.substr(at + 15, ran.err.find(')', at) - at - 15);
    };
    const auto all_begin = [&](const std::string& name, const std::string& beginning) {
        const std::string names = near(name);
        CAPTURE(name, names);
        std::istringstream each{names};
        int count = 0;
        for (std::string one; each >> one; ++count) {
            CHECK(one.rfind(beginning, 0) == 0);
        }
        CHECK(count == 3);
    };
    CHECK(near("llama3").rfind("llama-3-8b", 0) == 0);
    all_begin("llama3", "llama-3");
    all_begin("Llama3.1", "llama-3.1");
    all_begin("qwen2.5", "qwen2.5-");
    all_begin("qwen3", "qwen3");
    CHECK(near("deepseekv3").rfind("deepseek-v3, ", 0) == 0);
    all_begin("deepseekv3", "deepseek-v3");
    CHECK(near("depseek-v3").rfind("deepseek-v3, ", 0) == 0);
    CHECK(near("mistrl").rfind("mistral-7b", 0) == 0);
    CHECK(near("zzzzzz").empty());
    CHECK(near("_._").empty());
}

TEST_CASE("size of DeepSeek-V3 as on the screen") {
    if (!program::known()) {
        return;
    }
    const Ran ran = kvcap("size deepseek-v3 --tokens 32k --tp 8");
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK(ran.out ==
          "DeepSeek-V3 = 61*mla(512,64)          KV bf16          TP 8\n"
          "  held                  per token  32,768 tokens           exactly  copies\n"
          "  latent 512 + rope 64   70,272 B      2.145 GiB   2,302,672,896 B       8\n"
          "  each rank              70,272 B      2.145 GiB   2,302,672,896 B\n"
          "  all 8 ranks           562,176 B     17.156 GiB  18,421,383,168 B\n"
          "  unique                 70,272 B      2.145 GiB   2,302,672,896 B\n"
          "textbook formula: 1,748,992 B per token, 24.9x too much (a latent is not heads)\n");
    CHECK(kvcap("size deepseek-v3.2").out.find("78,324 B") != std::string::npos);
    CHECK(kvcap("size DeepSeek-AI/deepseek-v3 --tokens 32768 --tp 8").out == ran.out);
}

TEST_CASE("size --json keeps its schema and its numbers") {
    if (!program::known()) {
        return;
    }
    const json v3 = size_json("deepseek-v3 --tokens 8k,32k --tp 8 --pp 2 --dp 3 --batch 4 --per-layer");
    CHECK(v3["model"] == "deepseek-ai/DeepSeek-V3");
    CHECK(v3["kv_cache_dtype"] == "bf16");
    CHECK(v3["bytes_per_token"] == 70272);
    CHECK(v3["bytes_per_token_per_rank"].size() == 48);
    CHECK(v3["bytes_per_token_per_rank"][0]["bytes"] == 31 * 1152);
    CHECK(v3["bytes_per_token_per_rank"][47]["bytes"] == 30 * 1152);
    CHECK(v3["bytes_per_token_per_rank"][1]["rank"] == json::parse(R"({"pp":0,"tp":0,"cp":0,"dp":1})"));
    CHECK(v3["points"][1]["held_bytes_per_rank"][0]["bytes"] == 31LL * 1152 * 32768 * 2);
    CHECK(v3["points"][1]["held_bytes_per_rank"][1]["bytes"] == 31LL * 1152 * 32768);
    CHECK(v3["points"][1]["unique_bytes"] == 4LL * 70272 * 32768);
    CHECK(v3["points"][1]["held_bytes_total"] == 8 * 4LL * 70272 * 32768);
    CHECK(v3["groups"][0]["held_bytes"] == 4LL * 70272 * 32768);
    CHECK(v3["groups"][0]["layers"].size() == 61);
    CHECK(v3["layers"].size() == 61);
    const json hybrid = size_json(
        "'2*gdn(16,128,32,128) + 2*window(1024, gqa(8,128)) + cross(gqa(8,128))' --encoder-tokens 10");
    CHECK(hybrid["state_bytes_per_sequence"] == 2 * (3 * 8192 * 2 + 32 * 128 * 128 * 2));
    CHECK(hybrid["groups"][1]["window"] == 1024);
    CHECK(hybrid["groups"][0]["window"].is_null());
    CHECK(hybrid["points"][0]["tokens"] == 32768);
    CHECK(hybrid["points"][0]["encoder_tokens"] == 10);
    CHECK(size_json("'fp8_tensor(gqa(8,128))'")["bytes_once"] == 8);
    const json attention_dp = size_json("'gqa(8,128)' --tp 4 --dp-attention --batch 6 --tokens 1");
    CHECK(attention_dp["points"][0]["held_bytes_per_rank"][1]["bytes"] == 2 * 4096);
    CHECK(attention_dp["points"][0]["held_bytes_per_rank"][2]["bytes"] == 4096);
    const json spec_again = size_json("'" + v3["spec"].get<std::string>() + "' --tokens 8k");
    CHECK(spec_again["bytes_per_token"] == 70272);
    CHECK(spec_again["model"] == v3["spec"]);
}

TEST_CASE("csv, units and colours") {
    if (!program::known()) {
        return;
    }
    const Ran csv = kvcap("size 'gqa(8,128)' --tokens 1k --tp 2 --csv");
    CHECK(csv.out ==
          "tokens,sequences,scope,pp,tp,cp,dp,bytes_per_token,held_bytes\n"
          "1024,1,rank,0,0,0,0,2048,2097152\n"
          "1024,1,rank,0,1,0,0,2048,2097152\n"
          "1024,1,total,,,,,4096,4194304\n"
          "1024,1,unique,,,,,4096,4194304\n");
    CHECK(kvcap("size 'gqa(8,128)' --tokens 1k --unit B").out.find("4,194,304 B") != std::string::npos);
    CHECK(kvcap("size 'gqa(8,128)' --tokens 1k --unit MB").out.find("4.194 MB") != std::string::npos);
    CHECK(kvcap("size llama-2-7b").out.find('\x1b') == std::string::npos);
    CHECK(kvcap("size llama-2-7b --color always").out.find('\x1b') != std::string::npos);
    CHECK(kvcap("size llama-2-7b", "NO_COLOR= CLICOLOR_FORCE=1").out.find('\x1b') != std::string::npos);
    CHECK(kvcap("size llama-2-7b", "NO_COLOR=1 CLICOLOR_FORCE=1").out.find('\x1b') == std::string::npos);
}

TEST_CASE("exit codes: 2 usage, 3 bad input, 4 unknown architecture; nothing on stdout") {
    if (!program::known()) {
        return;
    }
    const auto fails = [](const std::string& arguments, int code, const std::string& words,
                          const std::string& before = {}) {
        const Ran ran = kvcap(arguments, before);
        CAPTURE(arguments, ran.err);
        CHECK(ran.code == code);
        CHECK(ran.out.empty());
        CHECK(ran.err.find(words) != std::string::npos);
    };
    fails("sizee", 2, "did you mean size?");
    fails("size", 2, "required");
    fails("size deepseek-v3 --tokns 3", 2, "did you mean --tokens?");
    fails("size deepseek-v3 --tokens 3x", 2, "--tokens: '3x'");
    fails("size deepseek-v3 --tokens 1,,2", 2, "--tokens: ''");
    fails("size deepseek-v3 --unit parsec", 2, "--unit: 'parsec'");
    fails("size deepseek-v3 --json --csv", 2, "--json and --csv");
    fails("size deepseek-v3 --tp 0", 2, "--tp");
    fails("size deepseek-v3 --tp 3", 2, "128 query heads cannot be dealt to 3 ranks");
    fails("size deepseek-v3 --pp 62", 2, "62 pipeline stages are more than the model's 61 layers");
    fails("size deepseek-v3 --kv-cache-dtype fp9", 2, "--kv-cache-dtype");
    fails("size deepseek-v3 --tokens 32k --batch 1m --tp 65536 --dp 65536", 2, "at most 65,536 are listed");
    fails("size depseek-v3", 3, "deepseek-v3");
    fails("size some-org/unheard-of", 3, "hf download some-org/unheard-of config.json");
    fails("size '8*gqq(8,128)'", 3, "offset 2");
    fails("size /nonexistent/config.json", 3, "/nonexistent");
    fails("size -", 3, "", "printf '{' |");
    fails("size -", 4, "martian", "printf '{\"model_type\": \"martian\"}' |");
    fails("models nosuchmodel", 3, "no card");
    fails("size '70000*none + gqa(8,128)'", 3, "layers below 65,536");
    fails("size 'gqa(8,128) + 70000*none' --per-layer", 2, "--per-layer");
}

TEST_CASE("models from stdin, files and folders are the same model") {
    if (!program::known()) {
        return;
    }
    const std::string folder =
        std::filesystem::temp_directory_path().string() + "/kvcap-cli-model-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream{folder + "/config.json"}
        << R"({"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "hidden_size": 4096, "torch_dtype": "bfloat16"})";
    const auto rate = [](const Ran& ran) { return json::parse(ran.out)["bytes_per_token"].get<int>(); };
    CHECK(rate(kvcap("size " + folder + " --json")) == 131072);
    CHECK(rate(kvcap("size " + folder + "/config.json --json")) == 131072);
    CHECK(rate(kvcap("size - --json <" + folder + "/config.json")) == 131072);
    CHECK(rate(kvcap("size - --json", "echo '32*gqa(8,128)' |")) == 131072);
    std::filesystem::remove_all(folder);
}

TEST_CASE("models lists, searches and names what it shows") {
    if (!program::known()) {
        return;
    }
    const json all = json::parse(kvcap("models --json").out);
    CHECK(all["schema"] == "kvcap.models/1");
    CHECK(all["models"].size() >= 100);
    const json one = json::parse(kvcap("models deepseek v3.2 nvfp4 --json").out);
    REQUIRE(one["models"].size() == 1);
    CHECK(one["models"][0]["bytes_per_token"] == 78324);
    CHECK(kvcap("models qwen3-next").out.find("36 gated_delta + 12 full") != std::string::npos);
    const json shown = json::parse(kvcap("show gemma-3-27b --json").out);
    CHECK(shown["spec"] ==
          "10*(5*window(1024, gqa(16,128)) + gqa(16,128)) + 2*window(1024, gqa(16,128)) + heads(32)");
    CHECK(kvcap("show gemma-3-27b").out.find("5.33x too much at 32,768 tokens") != std::string::npos);
}

TEST_CASE("a card's spec line is the card's model") {
    if (!program::known()) {
        return;
    }
    const json models = json::parse(kvcap("models --json").out)["models"];
    for (std::size_t i = 0; i < models.size(); i += 5) {
        const std::string spec = models[i]["spec"];
        const json shown = json::parse(kvcap("show '" + spec + "' --json").out);
        CAPTURE(models[i]["name"].get<std::string>(), spec);
        CHECK(shown["spec"] == spec);
        CHECK(shown["bytes_per_token"] == models[i]["bytes_per_token"]);
        CHECK(shown["state_bytes_per_sequence"] == models[i]["state_bytes_per_sequence"]);
        CHECK(shown["layers"] == models[i]["layers"]);
    }
}

TEST_CASE("screens fit 80 columns, whatever the model") {
    if (!program::known()) {
        return;
    }
    const json models = json::parse(kvcap("models --json").out);
    for (const json& model : models["models"]) {
        const std::string name = model["name"];
        if (name.size() % 7 != 0) {  // every seventh length: a fair sample of families in a second
            continue;
        }
        const Ran ran = kvcap("size " + name + " --tokens 8k,32k,max --tp 1 --batch 3 --explain");
        CAPTURE(name, ran.err, ran.out);
        CHECK((ran.code == 0 || ran.err.find("does not say how long") != std::string::npos));
        CHECK(widest(ran.out) <= 80);
    }
    CHECK(kvcap("size llama-3.2-11b-vision").out.find("cross attention holds nothing") != std::string::npos);
    CHECK(kvcap("size whisper-large-v3 --tokens 1k").out.find("beyond the model's context") !=
          std::string::npos);
}

TEST_CASE("a reader that leaves early is no error") {
    if (!program::known()) {
        return;
    }
    CHECK(kvcap("models --json | head -c 100", "").err.empty());
}

}  // namespace cli_tests
