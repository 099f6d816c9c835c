// SPDX-License-Identifier: MIT
// llama.cpp's flags of several letters behind one dash (-np, -ctk ...) as the long ones they stand for, and -fa without
// the value that it takes today as one with an empty value, which is refused by name.
#include "cli.hpp"

namespace kvcap::cli {

std::vector<std::string> spelled_out(std::vector<std::string> arguments) {
    static constexpr std::string_view names[][2] = {
        {"-np", "--parallel"},      {"-ub", "--ubatch-size"},
        {"-ctk", "--cache-type-k"}, {"-ctv", "--cache-type-v"},
        {"-fa", "--flash-attn"},    {"-kvu", "--kv-unified"},
        {"-ngl", "--gpu-layers"},   {"-sm", "--split-mode"},
        {"-ts", "--tensor-split"},  {"--n-gpu-layers", "--gpu-layers"},
        {"-dev", "--device"},       {"-nkvo", "--no-kv-offload"},
        {"-cmoe", "--cpu-moe"},     {"-ncmoe", "--n-cpu-moe"}};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string& argument = arguments[i];
        for (const auto& [shorter, longer] : names) {
            argument = argument == shorter ? std::string{longer} : argument;
        }
        const bool last = i + 1 == arguments.size();
        if (argument == "--flash-attn" && (last || (arguments[i + 1].starts_with('-') && arguments[i + 1] != "-1"))) {
            arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++i), "");
        }
    }
    return arguments;
}

}  // namespace kvcap::cli
