// SPDX-License-Identifier: MIT
// A temporary folder for files that a test makes: of its own, removed at the end.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

class Folder {
public:
    Folder() { std::filesystem::create_directories(path_); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const { return path_; }

    /// Writes the file `name`, in folders below this one that need not exist yet, and returns where it lies.
    std::string write(const std::filesystem::path& name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file, std::ios::binary} << text;
        return file.string();
    }

private:
    static inline int made_ = 0;
    std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                  ("kvcap-test-" + std::to_string(::getpid()) + '-' + std::to_string(++made_));
};
