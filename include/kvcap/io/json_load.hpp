// SPDX-License-Identifier: MIT
// How is text from anywhere read safely? Limits are checked on the bytes before and while parsing: 16 MiB, 64
// levels, 1 MiB a string, 2^18 values; duplicate keys, UTF-16 and binary files are refused. Python's bare NaN
// and Infinity are turned into the strings "NaN" and "Infinity" by a filter on the byte stream (RFC 8259
// knows no such numbers).
#pragma once

#include <algorithm>
#include <cmath>
#include <kvcap/io/json.hpp>
#include <kvcap/io/json_scan.hpp>
#include <nlohmann/json.hpp>

namespace kvcap::inline v1 {

namespace io {

/// Builds the flat tree from the parser's events.
class TreeBuilder {
public:
    TreeBuilder(JsonDocument& into, const JsonLimits& limits) : document_{into}, limits_{limits} {}

    bool null() { return leaf({.kind = JsonKind::null}); }
    bool boolean(bool value) { return leaf({.kind = JsonKind::boolean, .truth = value}); }
    bool number_integer(std::int64_t value) {
        const u64 size = value < 0 ? u64{0} - static_cast<u64>(value) : static_cast<u64>(value);
        return leaf({.kind = JsonKind::number, .integer = true, .negative = value < 0, .word = size});
    }
    bool number_unsigned(std::uint64_t value) {
        return leaf({.kind = JsonKind::number, .integer = true, .word = value});
    }
    bool number_float(double value, const std::string&) {
        const bool exact = std::abs(value) <= 9007199254740992.0 && std::floor(value) == value;
        return leaf({.kind = JsonKind::number, .integer = exact, .negative = value < 0,
                     .word = exact ? static_cast<u64>(std::abs(value)) : std::bit_cast<u64>(value)});
    }
    bool string(std::string& value) {
        JsonNode node{.kind = JsonKind::text};
        node.word = document_.characters.size();
        node.size = static_cast<u32>(value.size());
        document_.characters += value;
        return leaf(node);
    }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(std::size_t) { return open(JsonKind::object); }
    bool start_array(std::size_t) { return open(JsonKind::array); }
    bool end_object() { return no_duplicates() && close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        pending_.hash = json_hash(name);
        pending_.key_at = static_cast<u32>(document_.characters.size());
        pending_.key_size = static_cast<u32>(name.size());
        document_.characters += name;
        return true;
    }
    bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception& why) {
        failed_at = at == 0 ? 0 : at - 1;
        const std::string text = why.what();
        const std::size_t colon = text.find(": ");
        const std::size_t bracket = text.find("] ");
        message = text.substr(colon != std::string::npos     ? colon + 2
                              : bracket != std::string::npos ? bracket + 2
                                                             : 0);
        return false;
    }

    std::optional<Problem> problem;
    std::string message;
    u64 failed_at = 0;

private:
    bool add(JsonNode node) {
        if (document_.nodes.size() >= limits_.values) {
            problem = Problem{Trouble::unreadable,
                              pointer(),
                              "more than " + std::to_string(limits_.values) + " values",
                              "a model's configuration",
                              {}};
            return false;
        }
        node.hash = pending_.hash;
        node.key_at = pending_.key_at;
        node.key_size = pending_.key_size;
        pending_ = JsonNode{};
        if (!open_.empty()) {
            ++document_.nodes[open_.back()].size;
        }
        document_.nodes.push_back(node);
        return true;
    }
    bool leaf(const JsonNode& node) {
        if (!add(node)) {
            return false;
        }
        document_.nodes.back().end = static_cast<u32>(document_.nodes.size());
        return true;
    }
    bool open(JsonKind kind) {
        if (!add({.kind = kind})) {
            return false;
        }
        open_.push_back(static_cast<u32>(document_.nodes.size() - 1));
        return true;
    }
    bool close() {
        document_.nodes[open_.back()].end = static_cast<u32>(document_.nodes.size());
        open_.pop_back();
        return true;
    }
    std::string_view key_at(u32 i) const {
        return document_.text(document_.nodes[i].key_at, document_.nodes[i].key_size);
    }
    bool no_duplicates() {
        std::vector<JsonNode>& nodes = document_.nodes;
        sorted_.clear();
        for (u32 i = open_.back() + 1; i < nodes.size(); i = nodes[i].end) {
            sorted_.push_back(i);
        }
        std::sort(sorted_.begin(), sorted_.end(), [&](u32 a, u32 b) {
            return nodes[a].hash != nodes[b].hash ? nodes[a].hash < nodes[b].hash : key_at(a) < key_at(b);
        });
        const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(), [&](u32 a, u32 b) {
            return nodes[a].hash == nodes[b].hash && key_at(a) == key_at(b);
        });
        if (twice == sorted_.end()) {
            return true;
        }
        problem = Problem{Trouble::invalid,
                          pointer() + "/" + std::string{key_at(*twice)},
                          "the same key twice",
                          "each key once",
                          {}};
        return false;
    }
    std::string pointer() const {
        std::string path;
        for (std::size_t i = 1; i < open_.size(); ++i) {
            const JsonNode& in = document_.nodes[open_[i - 1]];  // of an array the last item so far
            const bool item = in.kind == JsonKind::array;
            (path += '/') += item ? std::to_string(in.size - 1) : std::string{key_at(open_[i])};
        }
        return path;
    }

    JsonDocument& document_;
    JsonLimits limits_;
    JsonNode pending_{};
    std::vector<u32> open_{};
    std::vector<u32> sorted_{};
};

}  // namespace io

/// The tree of a JSON text, or why not. Trouble::unreadable: too large, too deep, not text. Trouble::invalid:
/// not JSON.
inline Diagnosed<JsonDocument> load_json(std::string_view text, const JsonLimits& limits = {}) {
    if (text.size() > limits.bytes) {
        return Problem{Trouble::unreadable, {}, std::to_string(text.size()) + " bytes", "at most 16 MiB", {}};
    }
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        return Problem{Trouble::unreadable, {}, "an empty file", "a JSON object", {}};
    }
    if (const std::string what = io::not_text(text); !what.empty()) {
        return Problem{Trouble::unreadable, {}, what, "JSON in UTF-8", {}};
    }
    io::ByteScan scan{text, limits};
    if (std::optional<Problem> bad = scan.run()) {
        return *std::move(bad);
    }
    const std::string filtered = scan.has_special() ? scan.filtered() : std::string{};
    const std::string_view clean = filtered.empty() ? text : std::string_view{filtered};
    JsonDocument document;
    document.nodes.reserve(static_cast<std::size_t>(smaller(clean.size() / 16 + 8, 4096)));
    document.characters.reserve(static_cast<std::size_t>(smaller(clean.size(), 65536)));
    io::TreeBuilder builder{document, limits};
    if (nlohmann::json::sax_parse(clean.begin(), clean.end(), &builder)) {
        return document;
    }
    if (builder.problem) {
        return *std::move(builder.problem);
    }
    return Problem{Trouble::invalid, io::byte_place(clean, builder.failed_at), builder.message, "JSON", {}};
}

}  // namespace kvcap::inline v1
