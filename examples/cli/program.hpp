// SPDX-License-Identifier: MIT
// The whole program as a function: what main() runs, and what other faces (C ABI, web page, fuzzer) call in
// process, so that every face prints the same digits and the same sentences.
#pragma once

#include <string>
#include <vector>

namespace kvcap::cli {

/// out, err: what the program would write to standard output and standard error; code: its exit code.
struct Outcome {
    int code = 0;
    std::string out{};
    std::string err{};
};

/// Runs `kvcap ARGUMENTS...` on the process's own streams; returns the exit code. Never throws.
int run(std::vector<std::string> arguments) noexcept;
/// The same, with the output caught and no colours. "-" still reads standard input, and files are read by
/// name. Safe to call from several threads at once. Never throws.
Outcome run_caught(std::vector<std::string> arguments) noexcept;

}  // namespace kvcap::cli
