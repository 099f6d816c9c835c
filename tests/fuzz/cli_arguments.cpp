// SPDX-License-Identifier: MIT
// libFuzzer target of the program: any words as arguments, one a line. Whatever they are, the program ends with one of
// its exit codes, says why in printable text when it refuses, and prints JSON that is JSON. It runs in an empty folder,
// and words that could name a file anywhere else are passed over.
#include "check.hpp"
#include "program.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace {

/// An empty folder as home and working folder, and nothing on standard input.
bool confined() {
    std::string folder = (std::filesystem::temp_directory_path() / "kvcap-fuzz-XXXXXX").string();
    check(mkdtemp(folder.data()) != nullptr && chdir(folder.c_str()) == 0);
    check(std::freopen("/dev/null", "r", stdin) != nullptr);
    for (const char* name : {"HOME", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS"}) {
        check(setenv(name, folder.c_str(), 1) == 0);
    }
    std::atexit([] {
        std::error_code ignored;
        std::filesystem::remove_all(std::filesystem::current_path(), ignored);
    });
    return true;
}

/// Whether the word can only name something in the working folder: no step up, no absolute path behind any sign.
bool stays_here(std::string_view word) {
    constexpr std::string_view signs = "=,:; ()[]{}\"'+*|<>\\";
    for (std::size_t at = 0; at < word.size(); ++at) {
        const bool starts = at == 0 || signs.find(word[at - 1]) != std::string_view::npos;
        if ((word[at] == '/' && (starts || word[at - 1] == '/')) || word.substr(at, 2) == "..") {
            return false;
        }
    }
    return word.find('\0') == std::string_view::npos;
}

bool printable(std::string_view text) {
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/// At most 24 words, or none where one of them may not be used. Files are not written.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty() && words.size() < 24) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view word = text.substr(0, end);
        if (!stays_here(word) || word.substr(0, 4) == "--sv") {
            return {};
        }
        words.emplace_back(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const bool ready = confined();
    const std::vector<std::string> words = words_of({reinterpret_cast<const char*>(data), ready ? size : 0});
    const kvcap::cli::Outcome done = kvcap::cli::run_caught(words);
    check(done.code >= 0 && done.code <= 4);
    check(done.code < 2 || !done.err.empty() || !done.out.empty());
    check(printable(done.out) && printable(done.err));
    const bool help = std::find(words.begin(), words.end(), "--help") != words.end() ||
                      std::find(words.begin(), words.end(), "-h") != words.end();
    if (done.code == 0 && !help && !done.out.empty() && done.out[0] == '{') {
        check(nlohmann::json::accept(done.out));
    }
    return 0;
}
