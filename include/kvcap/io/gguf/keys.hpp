// SPDX-License-Identifier: MIT
// How are the metadata keys of an architecture asked for? By their name without the architecture's prefix;
// the first trouble stays, and what was derived or assumed is noted. A key that holds another kind of value
// is an error.
#pragma once

#include <kvcap/io/gguf/header.hpp>

namespace kvcap::inline v1::gguf {

class Keys {
public:
    Keys(const Header& header, std::string_view architecture)
        : header_{header}, prefix_{std::string{architecture} + '.'} {}

    bool failed() const noexcept { return problem_.has_value(); }
    const std::optional<Problem>& problem() const noexcept { return problem_; }
    const std::vector<Note>& notes() const noexcept { return notes_; }
    const Header& header() const noexcept { return header_; }

    const Value* find(std::string_view key) const { return header_.find(full(key)); }
    bool has(std::string_view key) const { return find(key) != nullptr; }

    void fail(std::string_view key, std::string found, std::string wanted) {
        if (!problem_) {
            problem_ = Problem{.trouble = Trouble::invalid, .where = full(key), .found = std::move(found),
                               .wanted = std::move(wanted), .hint = {}};
        }
    }
    void note(Origin origin, std::string_view key, std::string text) {
        notes_.push_back({origin, full(key), std::move(text)});
    }

    /// A whole number that fits 32 bits, or `otherwise` when the key is missing.
    u32 number(std::string_view key, u32 otherwise) {
        const Value* value = find(key);
        return value == nullptr ? otherwise : element(key, *value, 0, false);
    }
    u32 required(std::string_view key) {
        if (!has(key)) {
            fail(key, "is missing", "a whole number");
            return 0;
        }
        return number(key, 0);
    }
    bool flag(std::string_view key, bool otherwise) { return number(key, otherwise ? 1 : 0) != 0; }

    /// One number a block: a scalar stands for all, an array must have `count` elements.
    std::vector<u32> per_block(std::string_view key, u32 count, const std::vector<u32>& otherwise) {
        const Value* value = find(key);
        if (value == nullptr) {
            return otherwise;
        }
        if (!value->array) {
            return std::vector<u32>(count, element(key, *value, 0, false));
        }
        if (value->count != count) {
            fail(key, "an array of " + std::to_string(value->count),
                 "one number or " + std::to_string(count));
            return std::vector<u32>(count);
        }
        return list(key, count);
    }

    /// The first `count` numbers of an array, zeros where it is shorter.
    std::vector<u32> list(std::string_view key, u32 count) {
        std::vector<u32> all(count);
        const Value* value = find(key);
        for (u32 i = 0; value != nullptr && i < count && i < value->count; ++i) {
            all[i] = element(key, *value, i, true);
        }
        return all;
    }
    bool is_array(std::string_view key) const {
        const Value* value = find(key);
        return value != nullptr && value->array;
    }

private:
    std::string full(std::string_view key) const { return prefix_ + std::string{key}; }

    u32 element(std::string_view key, const Value& value, u64 index, bool in_array) {
        const std::optional<u64> number = value.array == in_array ? value.integer(index) : std::nullopt;
        if (!number || *number > 0xffff'ffff) {
            std::string found = value.array ? "an array of " : "a value of type ";
            fail(key, found + std::string{name_of(value.type)}, "a whole number below 2^32");
            return 0;
        }
        return static_cast<u32>(*number);
    }

    const Header& header_;
    std::string prefix_;
    std::optional<Problem> problem_;
    std::vector<Note> notes_;
};

}  // namespace kvcap::inline v1::gguf
