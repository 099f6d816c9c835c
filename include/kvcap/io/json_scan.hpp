// SPDX-License-Identifier: MIT
// What can be refused before parsing? One pass over the bytes: encoding, nesting, string lengths, and the places of
// Python's bare NaN and Infinity, which become the strings "NaN" and "Infinity" (RFC 8259 knows no such numbers).
#pragma once

#include <algorithm>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/units.hpp>
#include <string_view>

namespace kvcap::inline v1 {

struct JsonLimits {
    u64 bytes = u64{16} << 20;
    u32 depth = 64;
    u64 string_bytes = u64{1} << 20;
    u32 values = u32{1} << 18;
};

namespace io {

inline std::string byte_place(std::string_view text, u64 at) {
    const std::string_view before = text.substr(0, static_cast<std::size_t>(at));
    const auto lines = std::count(before.begin(), before.end(), '\n');
    return "line " + std::to_string(lines + 1) + " (byte " + std::to_string(at) + ")";
}

inline bool begins_with(std::string_view text, std::string_view what) noexcept {
    return text.substr(0, what.size()) == what;
}

/// What the file is when it is no text; empty when it may be text.
inline std::string not_text(std::string_view text) {
    const std::string_view head = text.substr(0, 4);
    if (begins_with(head, "\xff\xfe") || begins_with(head, "\xfe\xff")) {
        return "UTF-16 text";
    }
    if (begins_with(head, std::string_view{"\0\0\xfe\xff", 4})) {
        return "UTF-32 text";
    }
    if (begins_with(head, "GGUF")) {
        return "a GGUF file";
    }
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') {
            return text.size() >= 2 && (text[0] == '\0' || text[1] == '\0') ? "UTF-16 or binary data"
                                                                            : "binary data";
        }
    }
    return {};
}

/// One pass over the bytes: nesting, string lengths, and the places of bare NaN and Infinity.
class ByteScan {
public:
    ByteScan(std::string_view text, const JsonLimits& limits) : text_{text}, limits_{limits} {}

    std::optional<Problem> run() {
        for (std::size_t i = 0; i < text_.size() && !problem_; ++i) {
            const char c = text_[i];
            if (c == '"') {
                i = skip_string(i);
            } else if (c == '{' || c == '[') {
                enter(i);
            } else if (c == '}' || c == ']') {
                depth_ -= depth_ > 0 ? 1 : 0;
            } else if (c == 'N' || c == 'I' || (c == '-' && i + 1 < text_.size() && text_[i + 1] == 'I')) {
                i = note_special(i);
            }
        }
        return problem_;
    }

    bool has_special() const noexcept { return !filtered_.empty(); }
    /// The text with every bare special number as a string. pre: has_special()
    std::string filtered() {
        filtered_ += text_.substr(copied_);
        return std::move(filtered_);
    }

private:
    std::size_t skip_string(std::size_t from) {
        std::size_t i = from + 1;
        while (i < text_.size() && text_[i] != '"') {
            i += text_[i] == '\\' ? 2 : 1;
        }
        if (i - from > limits_.string_bytes) {
            problem_ = Problem{
                Trouble::unreadable, byte_place(text_, from), "a string of over 1 MiB", "shorter text", {}};
        }
        return i;
    }
    void enter(std::size_t at) {
        if (++depth_ > limits_.depth) {
            problem_ = Problem{Trouble::unreadable, byte_place(text_, at),
                               "more than " + std::to_string(limits_.depth) + " levels of nesting",
                               "at most " + std::to_string(limits_.depth), {}};
        }
    }
    std::size_t note_special(std::size_t at) {
        const std::string_view rest = text_.substr(at, 9);
        const std::string_view word = begins_with(rest, "NaN")         ? "NaN"
                                      : begins_with(rest, "Infinity")  ? "Infinity"
                                      : begins_with(rest, "-Infinity") ? "-Infinity"
                                                                       : "";
        if (word.empty()) {
            return at;
        }
        if (++specials_ > limits_.values) {
            problem_ = Problem{Trouble::unreadable,
                               byte_place(text_, at),
                               "more than " + std::to_string(limits_.values) + " numbers that are none",
                               "a model's configuration",
                               {}};
            return at;
        }
        if (specials_ == 1) {
            filtered_.reserve(text_.size() + 4096);
        }
        filtered_ += text_.substr(copied_, at - copied_);
        ((filtered_ += '"') += word) += '"';
        copied_ = at + word.size();
        return copied_ - 1;
    }

    std::string_view text_;
    JsonLimits limits_;
    std::optional<Problem> problem_{};
    std::string filtered_{};
    std::size_t copied_ = 0;
    u32 specials_ = 0;
    u32 depth_ = 0;
};

}  // namespace io
}  // namespace kvcap::inline v1
