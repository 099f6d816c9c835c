// SPDX-License-Identifier: MIT
// One rule of exit codes: the same refused question ends every verb with the same code.
#include "checked.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace codes_cli_tests {

namespace {

using program::refused;

/// What is asked of each verb, with the words of its refusal. line: the same as a launch line; empty: not sayable.
struct Question {
    std::string model;
    std::string memory;
    std::string flags;
    std::string line;
    int code;
    std::string words;
};

}  // namespace

TEST_CASE("a question that an engine refuses ends every verb with the same code", "[cli][codes]") {
    if (!program::known()) {
        return;
    }
    const Question questions[] = {
        // Options that do not go together: no memory helps.
        {"llama-3.1-8b", "--gpu h100", "--engine vllm --block-size 17", "vllm serve llama-3.1-8b --block-size 17", 2,
         "block_size=17"},
        {"llama-3.1-8b", "--gpu h100", "--engine vllm --attention-backend FLASHMLA",
         "vllm serve llama-3.1-8b --attention-backend FLASHMLA", 2, "non-MLA"},
        {"llama-3.1-8b", "--gpu h100", "--engine vllm --tp 3 --gpus 3", "vllm serve llama-3.1-8b -tp 3", 2,
         "dealt"},
        // A model without rules.
        {"jamba-1.5-mini", "--gpu h100", "--engine sglang",
         "python -m sglang.launch_server --model-path jamba-1.5-mini", 4, "cover"},
        // Too little memory: the engine does not start, or starts and does not hold the load.
        {"llama-3.1-8b", "--kv-budget 1MiB", "--engine vllm",
         "vllm serve llama-3.1-8b --max-model-len 8192 --kv-cache-memory-bytes 1048576", 1, ""},
        {"jamba-1.5-mini", "--kv-budget 1KiB", "--engine exact", "", 1, ""},
        {"gpt-oss-20b", "--kv-budget 64KiB", "--engine trtllm", "", 1, ""},
        {"llama-3.1-8b", "--gpu h100", "--engine llamacpp --batch 8 --parallel 2", "", 1, "--parallel"},
    };
    for (const Question& each : questions) {
        const std::string asked = each.model + " --tokens 8k " + each.flags;
        const std::string on = ' ' + each.memory;
        const bool alone = each.flags.find("--gpus") == std::string::npos;
        const bool options = each.code != 1;
        refused("fit " + asked + on, each.code, each.words);
        refused("plan " + asked + on + (alone ? " --gpus 1 --tp 1" : ""), each.code, "dropped:");
        if (options) {  // `size` has as much memory as is wanted, `pools` asks for no load
            refused("pools " + asked + on, each.code, each.words);
            refused("size " + asked.substr(0, asked.find(" --gpus")), each.code, each.words);
        }
        if (!each.line.empty()) {
            refused("plan --launch " + program::quoted(each.line) + (options ? on : " --gpu h100"), each.code,
                    each.words);
        }
    }
    refused("reuse llama-3.1-8b --engine vllm --block-size 17 --explain", 2, "No valid attention backend");
    refused("pools llama-3.1-8b --engine vllm --tokens 8k --kv-budget 1MiB", 1, "does not start");
    // Of all engines: what memory would help is said before what is refused.
    refused("pools jamba-1.5-mini --engine all --kv-budget 100GiB --tokens 8k", 4, "SGLang");
    refused("pools jamba-1.5-mini --engine all --kv-budget 1KiB --tokens 8k", 1, "SGLang");
}

TEST_CASE("messages are one line, folded on a terminal alone", "[cli][codes]") {
    if (!program::known()) {
        return;
    }
    const program::Ran whole = program::run("doctor -");
    CHECK(whole.code == 3);
    CHECK(std::count(whole.err.begin(), whole.err.end(), '\n') == 1);
    CHECK(program::widest(whole.err) > 80);
    const int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(screen >= 0);
    REQUIRE((::grantpt(screen) == 0 && ::unlockpt(screen) == 0));
    const int held = ::open(::ptsname(screen), O_RDWR | O_NOCTTY);  // so that what is written stays to be read
    REQUIRE(held >= 0);
    const std::string to = std::string{"cat /dev/null | sh -c '\"$0\" \"$@\" 2>"} + ::ptsname(screen) + "'";
    CHECK(program::run("doctor -", to).code == 3);
    REQUIRE(::fcntl(screen, F_SETFL, O_NONBLOCK) == 0);  // the program has ended: all that it wrote is there
    std::string shown;
    char text[1024];
    for (auto size = ::read(screen, text, sizeof text); size > 0; size = ::read(screen, text, sizeof text)) {
        shown.append(text, static_cast<std::size_t>(size));
    }
    ::close(held);
    ::close(screen);
    shown.erase(std::remove(shown.begin(), shown.end(), '\r'), shown.end());
    shown.erase(0, std::min(shown.size(), shown.find("kvcap: ")));  // the line of progress is wiped first
    CHECK(program::widest(shown) <= 80);
    CHECK(shown.find("kvcap: -: no line of an engine's start in 0 lines; ") == 0);
    CHECK(shown.find("/metrics\n") != std::string::npos);
}

TEST_CASE("what 64 bits do not hold is refused, the textbook's bytes too", "[cli][codes]") {
    if (!program::known()) {
        return;
    }
    const std::string asked = "compare deepseek-v4-flash-nvfp4 gpt2 --batch 400000 --json --tokens ";
    refused(asked + "1073741824", 2, "does not fit into 64 bits");
    CHECK(program::run(asked + "1048576").code == 0);
}

}  // namespace codes_cli_tests
