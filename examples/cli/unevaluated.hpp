// SPDX-License-Identifier: MIT
// Why a flag of a launch line is not evaluated, in words that several engines' flags share.
#pragma once

#include <string_view>

namespace kvcap::cli::why {

inline constexpr std::string_view drafts =
    "a draft's weights and caches are not evaluated; leave it out to judge the rest";
inline constexpr std::string_view on_host =
    "weights in host memory are not evaluated; leave it out and give --weights-bytes";
inline constexpr std::string_view another_model =
    "another model than its config says; give MODEL as a file with these values";
inline constexpr std::string_view wide =
    "caches and weights of 32 bits are not evaluated; engines serve 16 bits where nothing else is said";
inline constexpr std::string_view none = "auto|0|0.0";
inline constexpr std::string_view half = "auto|half|float16|bfloat16";
inline constexpr std::string_view states =
    "the engine's rules here take formats of states from the model; put it in the config given as MODEL";

}  // namespace kvcap::cli::why
