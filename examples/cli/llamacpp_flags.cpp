// SPDX-License-Identifier: MIT
// llama.cpp's flags of several letters behind one dash (-np, -ctk ...) as the long ones they stand for.
#include "cli.hpp"

namespace kvcap::cli {

std::vector<std::string> spelled_out(std::vector<std::string> arguments) {
    static constexpr std::string_view names[][2] = {
        {"-np", "--parallel"},      {"-ub", "--ubatch-size"},
        {"-ctk", "--cache-type-k"}, {"-ctv", "--cache-type-v"},
        {"-fa", "--flash-attn"},    {"-kvu", "--kv-unified"},
        {"-ngl", "--gpu-layers"},   {"-sm", "--split-mode"},
        {"-ts", "--tensor-split"},  {"--n-gpu-layers", "--gpu-layers"}};
    for (std::string& argument : arguments) {
        for (const auto& [shorter, longer] : names) {
            argument = argument == shorter ? std::string{longer} : argument;
        }
    }
    return arguments;
}

}  // namespace kvcap::cli
