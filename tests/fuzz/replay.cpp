// SPDX-License-Identifier: MIT
// Runs every file of the folders given through the fuzz target: once whole, and cut at 32 places.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::size_t runs = 0;
    const auto run = [&](const std::string& bytes) {
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++runs;
    };
    run({});
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(in), {}};
            run(bytes);
            for (std::size_t cut = 1; cut <= 32; ++cut) {
                run(bytes.substr(0, bytes.size() * cut / 33));
            }
        }
    }
    std::printf("%zu inputs replayed\n", runs);
}
