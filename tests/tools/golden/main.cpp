// SPDX-License-Identifier: MIT
// kvcap-golden PATH...: runs recorded facts (files, or the *.json of folders) through the public API.
#include "cards.hpp"
#include "conformance.hpp"
#include "runner.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

namespace golden {

void Report::begin(std::string id) {
    id_ = std::move(id);
    in_case_ = 0;
}

void Report::end() {
    ++(in_case_ == 0 ? passed_ : failed_);
    in_case_ = 0;
}

void Report::fail(std::string_view field, const Json& want, const Json& got) {
    ++in_case_;
    std::printf("%s: %.*s: want %s, got %s\n", id_.c_str(), static_cast<int>(field.size()), field.data(),
                want.dump().c_str(), got.dump().c_str());
}

bool Report::equal(std::string_view field, const Json& want, const Json& got) {
    if (want == got) {
        return true;
    }
    fail(field, want, got);
    return false;
}

void Report::skip(std::string_view kind) {
    ++skipped_;
    auto& count = kinds_[std::string{kind}];
    count = count.is_null() ? 1 : count.get<int>() + 1;
}

void Report::not_askable(std::string_view) {
    ++not_askable_;
}

int Report::finish() const {
    for (const auto& [kind, count] : kinds_.items()) {
        std::printf("skipped: %s (%d)\n", kind.c_str(), count.get<int>());
    }
    if (not_askable_ > 0) {
        std::printf("not askable: %d\n", not_askable_);
    }
    std::printf("%d passed, %d failed, %d skipped\n", passed_, failed_, skipped_);
    return failed_ == 0 && passed_ + skipped_ > 0 ? 0 : 1;
}

namespace {

std::vector<Format> formats() {
    return {
#define KVCAP_GOLDEN_FORMAT(name) name,
#include "formats.inc"
#undef KVCAP_GOLDEN_FORMAT
    };
}

std::vector<std::string> files_of(const std::string& path) {
    if (!std::filesystem::is_directory(path)) {
        return {path};
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
        if (entry.is_regular_file() && entry.path().extension() == ".json") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

void run_file(const std::string& path, Report& report) {
    const auto failed = [&](const char* wanted, const std::string& got) {
        report.begin(path);
        report.fail("file", wanted, got);
        report.end();
    };
    std::ifstream in(path, std::ios::binary);
    const Json content = Json::parse(in, nullptr, false);
    if (content.is_discarded()) {
        return failed("a readable JSON file", "unreadable");
    }
    const File file{path, content, report};
    for (const Format& format : formats()) {
        if (format.knows(file)) {
            return format.run(file);
        }
    }
    failed("a documented format",
           content.is_object() ? content.value("schema", Json{}).dump().substr(0, 200) : "no object");
}

}  // namespace
}  // namespace golden

int main(int argc, char** argv) {
    if (argc < 2 || std::string_view{argv[1]} == "--help") {
        std::puts(
            "usage: kvcap-golden PATH...\n"
            "       kvcap-golden --cards [CORPUS]\n"
            "       kvcap-golden --cards-table\n"
            "       kvcap-golden --answer\n"
            "Runs files, or the *.json files of folders, of the documented golden formats.\n"
            "A line for each failing case (id, field, want, got); ends with `N passed, M failed, K "
            "skipped`.\n"
            "--cards checks the model cards, with CORPUS (expected.json, configs/index.csv) against "
            "published files.\n"
            "--answer reads a conformance case a line and writes its answer (tests/conformance).\n"
            "example: kvcap-golden tests/golden/vllm");
        return argc < 2 ? 2 : 0;
    }
    if (std::string_view{argv[1]} == "--cards-table") {
        std::fputs(golden::cards_table().c_str(), stdout);
        return 0;
    }
    if (std::string_view{argv[1]} == "--answer") {
        return golden::answer_lines();
    }
    golden::Report report;
    if (std::string_view{argv[1]} == "--cards") {
        golden::run_cards(argc > 2 ? argv[2] : "", report);
        return report.finish();
    }
    for (int i = 1; i < argc; ++i) {
        for (const std::string& file : golden::files_of(argv[i])) {
            golden::run_file(file, report);
        }
    }
    return report.finish();
}
