// SPDX-License-Identifier: MIT
// GGUF files beside the golden files: the file of a model must say what the metadata of that model's case
// says, key by key, and must give the same card; every other file must at least be read.
#include "llamacpp.hpp"

#include <algorithm>
#include <filesystem>

namespace golden {

using namespace kvcap;

namespace {

Json element(const gguf::Value& value, u64 index) {
    if (value.type == gguf::Type::bool_) {
        return value.integer(index).value_or(0) != 0;
    }
    if (const auto real = value.real(index)) {
        return *real;
    }
    if (const auto whole = value.integer(index)) {
        return *whole;
    }
    const u64 width = gguf::width_of(value.type);
    if (width == 0) {
        return nullptr;
    }
    const u64 shift = 64 - 8 * width;
    const u64 raw = gguf::load(value.data + index * width, width, value.big_endian) << shift;
    return static_cast<std::int64_t>(raw) >> shift;
}

Json json_of(const gguf::Value& value) {
    if (const auto text = value.text()) {
        return std::string{*text};
    }
    if (!value.array) {
        return element(value, 0);
    }
    Json list = Json::array();
    for (u64 i = 0; i < value.count && value.type != gguf::Type::string_; ++i) {
        list.push_back(element(value, i));
    }
    return list;
}

/// Metadata numbers with a fraction are stored as 32-bit floats.
bool same(const Json& want, const Json& got) {
    return want == got ||
           (want.is_number_float() && got.is_number() && want.get<float>() == got.get<float>());
}

/// The keys in which a file differs from a case's metadata; "card" when they make different cards.
Json differences(const gguf::Header& header, const Json& metadata) {
    Json all = Json::object();
    for (const auto& [key, want] : metadata.items()) {
        const gguf::Value* value = header.find(key);
        const Json got = value == nullptr ? Json("missing") : json_of(*value);
        if (!same(want, got)) {
            all[key] = got;
        }
    }
    const auto read = gguf::read_card(header);
    const auto wanted = llamacpp_card(metadata, gguf::has_nextn_tensors(header));
    if (!read || !wanted || !(*read == *wanted)) {
        all["card"] = read ? "different" : read.error->text();
    }
    return all;
}

/// pre: `cases` is not empty. One of them must be the file's.
void compare_file(Report& report, const std::string& path, const std::vector<const Json*>& cases) {
    const auto file = gguf::MappedFile::open(path);
    const auto header = file ? gguf::read_header(file->bytes()) : Diagnosed<gguf::Header>{*file.error};
    if (!header) {
        report.fail("file", "a GGUF file", header.error->text());
        return;
    }
    Json nearest;
    for (const Json* one : cases) {
        const Json differing = differences(*header, one->at("metadata"));
        nearest = nearest.is_null() || differing.size() < nearest.size() ? differing : nearest;
    }
    report.equal("metadata", Json::object(), nearest);
}

}  // namespace

std::vector<std::string> gguf_files_beside(const std::string& path) {
    std::vector<std::string> files;
    const std::filesystem::path folder = std::filesystem::path{path}.parent_path() / "gguf";
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        if (entry.path().extension() == ".gguf") {
            files.push_back(entry.path().string());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

bool is_first_of_folder(const std::string& path) {
    const std::filesystem::path own{path};
    std::error_code ignored;
    const auto folder = own.has_parent_path() ? own.parent_path() : std::filesystem::path{"."};
    const auto entries = std::filesystem::directory_iterator(folder, ignored);
    return std::none_of(begin(entries), end(entries), [&](const auto& entry) {
        return entry.path().extension() == ".json" && entry.path().filename() < own.filename();
    });
}

void run_gguf_of_cases(const File& file) {
    for (const std::string& path : gguf_files_beside(file.path)) {
        const std::string name = std::filesystem::path{path}.filename().string();
        const std::string stem = name.substr(0, name.find(".header"));
        std::vector<const Json*> cases;
        for (const Json& one : file.content.at("cases")) {
            if (name != stem && one.value("id", "").rfind(stem, 0) == 0) {
                cases.push_back(&one);
            }
        }
        if (!cases.empty()) {
            file.report.begin(file.path + ": " + name);
            compare_file(file.report, path, cases);
            file.report.end();
        }
    }
}

void run_gguf_files(Report& report, const std::string& path) {
    for (const std::string& file : gguf_files_beside(path)) {
        report.begin(file);
        const auto read = gguf::read_file(file);
        if (!read) {
            report.fail("file", "a model", read.error->text());
        } else if (const auto made = llamacpp::layout(read->card, {}); !made) {
            report.fail("layout", "caches", llamacpp::sentence(llamacpp::refusal_of(made.error())));
        }
        report.end();
    }
}

}  // namespace golden
