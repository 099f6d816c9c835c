// SPDX-License-Identifier: MIT
// replay FOLDER...: runs every file below the folders through the fuzz target, once whole and cut at 32 places. A
// target stops when something does not hold; a folder that is not there or holds no file is a mistake.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::size_t replay(const std::filesystem::path& folder) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) {
            continue;
        }
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        run(bytes);
        for (std::size_t cut = 1; cut <= 32; ++cut) {
            run(bytes.substr(0, bytes.size() * cut / 33));
        }
        ++files;
    }
    return files;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> folders;  // a target may change the working folder
    for (int i = 1; i < argc; ++i) {
        folders.push_back(std::filesystem::absolute(argv[i]));
    }
    run({});
    bool missing = folders.empty();
    for (const std::filesystem::path& folder : folders) {
        const std::size_t files = std::filesystem::is_directory(folder) ? replay(folder) : 0;
        std::printf("%s: %zu files replayed\n", folder.c_str(), files);
        missing = missing || files == 0;
    }
    return missing ? 1 : 0;
}
