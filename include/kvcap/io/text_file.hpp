// SPDX-License-Identifier: MIT
// How is a file read without trusting it? Only regular files, at most `most` bytes; loops and missing files
// say so.
#pragma once

#include <filesystem>
#include <fstream>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/units.hpp>

namespace kvcap::inline v1 {

inline Diagnosed<std::string> read_text_file(const std::filesystem::path& path, u64 most = u64{16} << 20) {
    std::error_code wrong;
    const std::filesystem::file_status status = std::filesystem::status(path, wrong);
    const std::string name = path.string();
    if (!std::filesystem::exists(status)) {
        return Problem{Trouble::unreadable, name, wrong ? wrong.message() : "no such file", "a file", {}};
    }
    if (!std::filesystem::is_regular_file(status)) {
        const bool folder = std::filesystem::is_directory(status);
        return Problem{Trouble::unreadable, name, folder ? "a folder" : "no regular file", "a file", {}};
    }
    const std::uintmax_t size = std::filesystem::file_size(path, wrong);
    if (wrong || size > most) {
        return Problem{Trouble::unreadable, name, wrong ? wrong.message() : std::to_string(size) + " bytes",
                       "at most " + std::to_string(most >> 20) + " MiB", {}};
    }
    std::ifstream in{path, std::ios::binary};
    std::string text(static_cast<std::size_t>(size), '\0');
    in.read(text.data(), static_cast<std::streamsize>(size));
    if (in.bad() || (size > 0 && in.gcount() == 0)) {
        return Problem{Trouble::unreadable, name, "the file cannot be read", "a readable file", {}};
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

}  // namespace kvcap::inline v1
