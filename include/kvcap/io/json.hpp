// SPDX-License-Identifier: MIT
// What does a reader see of a JSON file? A flat, read-only tree: nodes in reading order, each knowing where
// its subtree ends, keys compared by hash first. Built by json_load.hpp from nlohmann's parser events; this
// header needs no parser.
#pragma once

#include <bit>
#include <cstdint>
#include <kvcap/units.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1 {

enum class JsonKind : u8 { missing, null, boolean, number, text, array, object };

constexpr u32 json_hash(std::string_view key) noexcept {
    u32 hash = 2166136261u;
    for (const char c : key) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
    return hash;
}

/// A key to look up, hashed where it is written.
struct JsonKey {
    std::string_view name;
    u32 hash = 0;
    constexpr JsonKey(const char* key) noexcept : name{key}, hash{json_hash(name)} {}
    constexpr JsonKey(std::string_view key) noexcept : name{key}, hash{json_hash(key)} {}
};

/// 32 bytes, since a document may have millions of them.
struct JsonNode {
    JsonKind kind = JsonKind::null;
    bool integer = false;    ///< a number without fraction, whose magnitude is `word` exactly
    bool negative = false;   ///< of an integer
    bool truth = false;
    u32 hash = 0;            ///< of the key
    u32 key_at = 0;
    u32 key_size = 0;
    u32 end = 0;             ///< index behind the last node of this subtree
    u32 size = 0;            ///< items of an array or object, bytes of a text
    u64 word = 0;            ///< magnitude of an integer, bits of another number, where a text's characters are
};
static_assert(sizeof(JsonNode) == 32);

struct JsonDocument {
    std::vector<JsonNode> nodes;
    std::string characters;

    std::string_view text(u64 at, u32 size) const noexcept {
        return std::string_view{characters}.substr(static_cast<std::size_t>(at), size);
    }
};

/// A place in a document. A missing value is a value too, so that look-ups chain.
class JsonValue {
public:
    JsonValue() = default;
    JsonValue(const JsonDocument& document, u32 at) noexcept : document_{&document}, at_{at} {}

    JsonKind kind() const noexcept { return document_ == nullptr ? JsonKind::missing : node().kind; }
    bool present() const noexcept { return document_ != nullptr; }
    bool is_null() const noexcept { return kind() == JsonKind::null; }
    bool given() const noexcept { return present() && !is_null(); }
    bool is_object() const noexcept { return kind() == JsonKind::object; }
    bool is_array() const noexcept { return kind() == JsonKind::array; }
    bool is_text() const noexcept { return kind() == JsonKind::text; }
    bool is_number() const noexcept { return kind() == JsonKind::number; }
    bool is_true() const noexcept { return kind() == JsonKind::boolean && node().truth; }
    bool is_false() const noexcept { return kind() == JsonKind::boolean && !node().truth; }

    /// Items of an array or object.
    u32 size() const noexcept { return is_array() || is_object() ? node().size : 0; }
    std::string_view text() const noexcept {
        return is_text() ? document_->text(node().word, node().size) : std::string_view{};
    }
    /// A non-negative integer (also written as 2.0 or 2e3).
    bool is_whole() const noexcept { return is_number() && node().integer && !node().negative; }
    u64 whole() const noexcept { return is_whole() ? node().word : 0; }
    double real() const noexcept {
        if (!is_number() || !node().integer) {
            return is_number() ? std::bit_cast<double>(node().word) : 0;
        }
        const double size = static_cast<double>(node().word);
        return node().negative ? -size : size;
    }

    JsonValue operator[](const JsonKey& key) const noexcept {
        if (is_object()) {
            const std::vector<JsonNode>& nodes = document_->nodes;
            for (u32 i = at_ + 1; i < node().end; i = nodes[i].end) {
                if (nodes[i].hash == key.hash && key_of(i) == key.name) {
                    return {*document_, i};
                }
            }
        }
        return {};
    }

    /// Calls `visit(index, key, value)` for each item; keys of array items are empty.
    template <class Visit>
    void each(Visit visit) const {
        if (size() == 0) {
            return;
        }
        u32 index = 0;
        for (u32 i = at_ + 1; i < node().end; i = document_->nodes[i].end) {
            visit(index++, key_of(i), JsonValue{*document_, i});
        }
    }

    /// The value as a message shows it: short, never a whole subtree.
    std::string shown() const {
        switch (kind()) {
            case JsonKind::missing: return "nothing";
            case JsonKind::null: return "null";
            case JsonKind::boolean: return node().truth ? "true" : "false";
            case JsonKind::number: return shown_number();
            case JsonKind::text:
                return '"' + std::string{text().substr(0, 60)} + (text().size() > 60 ? "...\"" : "\"");
            case JsonKind::array: return "a list of " + std::to_string(size());
            case JsonKind::object: return "an object of " + std::to_string(size());
        }
        return {};
    }

private:
    const JsonNode& node() const noexcept { return document_->nodes[at_]; }
    std::string_view key_of(u32 i) const noexcept {
        return document_->text(document_->nodes[i].key_at, document_->nodes[i].key_size);
    }
    std::string shown_number() const {
        if (node().integer) {
            return (node().negative ? "-" : "") + std::to_string(node().word);
        }
        std::string digits = std::to_string(real());
        digits.erase(digits.find_last_not_of('0') + 1);
        digits.erase(digits.find_last_not_of('.') + 1);
        if (digits == "0" || digits == "-0") {
            return digits == "0" ? "a number below 0.000001" : "a number above -0.000001";
        }
        return digits.size() > 40 ? "a number beyond any size" : digits;
    }

    const JsonDocument* document_ = nullptr;
    u32 at_ = 0;
};

inline JsonValue root_of(const JsonDocument& document) noexcept {
    return document.nodes.empty() ? JsonValue{} : JsonValue{document, 0};
}

}  // namespace kvcap::inline v1
