// SPDX-License-Identifier: MIT
// CLI11, for the sources that add options or read what was given.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kvcap::cli {

/// For options that take a value: an empty one is refused, never read as the default.
inline CLI::Validator filled() {
    return {[](std::string& value) {
                return std::string{value.empty() ? "an empty value; leave the flag out for the default" : ""};
            },
            ""};
}

}  // namespace kvcap::cli
