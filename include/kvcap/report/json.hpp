// SPDX-License-Identifier: MIT
// Writes one JSON text with keys in the order of the calls, two spaces an indent, integers as integers.
// Containers opened with `flat` stay on one line.
#pragma once

#include <concepts>
#include <fmt/format.h>
#include <kvcap/units.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::report {

/// Continuation bytes of the UTF-8 character that begins at `at`, or npos where it is ill-formed.
inline std::size_t utf8_tail(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const unsigned lead = byte(at);
    const std::size_t tail = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    bool good = lead >= 0xc2 && lead <= 0xf4 && byte(at + 1) >= low && byte(at + 1) <= high;
    for (std::size_t i = 2; i <= tail; ++i) {
        good = good && (byte(at + i) & 0xc0) == 0x80;
    }
    return good ? tail : std::string_view::npos;
}

/// An ASCII character as JSON wants it inside quotes.
inline std::string escaped(char c) {
    switch (c) {
        case '"': return "\\\"";
        case '\\': return "\\\\";
        case '\n': return "\\n";
        case '\t': return "\\t";
        default: break;
    }
    return static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\u{:04x}", c) : std::string(1, c);
}

/// A character that stands for itself inside quotes.
constexpr bool stands_for_itself(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

/// The text in quotes as JSON wants it, behind `out`; bytes that are no UTF-8 become U+FFFD.
inline void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && stands_for_itself(text[end])) {
            ++end;
        }
        out.append(text, at, end - at);
        at = end;
        if (at == text.size()) {
            break;
        }
        const std::size_t tail = utf8_tail(text, at);
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            out += escaped(text[at]);
        } else if (tail != std::string_view::npos) {
            out.append(text, at, tail + 1);
            at += tail;
        } else {
            out += "\xef\xbf\xbd";
        }
        ++at;
    }
    out += '"';
}

inline std::string quoted(std::string_view text) {
    std::string out;
    append_quoted(out, text);
    return out;
}

enum class Layout : unsigned char { lines, flat };

class Json {
public:
    Json& object(std::string_view key = {}, Layout layout = Layout::lines) { return open(key, layout, '{'); }
    Json& array(std::string_view key = {}, Layout layout = Layout::lines) { return open(key, layout, '['); }

    /// Closes the innermost container.
    Json& end() {
        const Level closing = levels_.back();
        levels_.pop_back();
        if (closing.items != 0 && closing.layout == Layout::lines) {
            new_line();
        }
        out_ += closing.close;
        return *this;
    }

    Json& field(std::string_view key, std::string_view value) {
        begin(key);
        append_quoted(out_, value);
        return *this;
    }
    Json& field(std::string_view key, const char* value) { return field(key, std::string_view{value}); }
    Json& field(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
    Json& field(std::string_view key, std::integral auto value) {
        const fmt::format_int digits{value};
        return raw(key, {digits.data(), digits.size()});
    }
    template <class Unit>
    Json& field(std::string_view key, Quantity<Unit> value) { return field(key, value.value); }
    /// Decimals as given; a number that is not finite becomes null.
    Json& field(std::string_view key, double value, int decimals) {
        const bool finite = value - value == 0.0;
        return raw(key, finite ? fmt::format("{:.{}f}", value, decimals) : "null");
    }
    Json& null(std::string_view key) { return raw(key, "null"); }
    /// An element of an array.
    Json& item(const auto& value) { return field({}, value); }

    /// pre: every container is closed
    std::string text() const { return out_ + '\n'; }

private:
    struct Level {
        char close = '}';
        Layout layout = Layout::lines;
        unsigned items = 0;
    };

    void new_line() {
        out_ += '\n';
        out_.append(levels_.size() * 2, ' ');
    }
    void begin(std::string_view key) {
        if (levels_.empty()) {
            return;
        }
        Level& level = levels_.back();
        const bool first = level.items++ == 0;
        if (!first) {
            out_ += level.layout == Layout::flat ? ", " : ",";
        }
        if (level.layout == Layout::lines) {
            new_line();
        }
        if (!key.empty()) {
            append_quoted(out_, key);
            out_ += ": ";
        }
    }
    Json& open(std::string_view key, Layout layout, char bracket) {
        begin(key);
        out_ += bracket;
        const bool inside_flat = !levels_.empty() && levels_.back().layout == Layout::flat;
        levels_.push_back({bracket == '{' ? '}' : ']', inside_flat ? Layout::flat : layout, 0});
        return *this;
    }
    Json& raw(std::string_view key, std::string_view value) {
        begin(key);
        out_ += value;
        return *this;
    }

    std::string out_;
    std::vector<Level> levels_;
};

}  // namespace kvcap::inline v1::report
