// SPDX-License-Identifier: MIT
// What can a log say? A flag, an integer, words (decimals keep their printed digits), a list or a record; each with
// the line it came from. Facts are fields in the order in which they were first said; the last word on a name
// counts.
#pragma once

#include <kvcap/io/decimal.hpp>
#include <kvcap/units.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap::inline v1::logs {

struct Field;

struct Datum {
    enum class Kind : unsigned char { none, flag, integer, words, list, record };

    Kind kind = Kind::none;
    std::int64_t integer = 0;  ///< also a flag: 0 or 1
    std::string words;
    std::vector<Field> items;  ///< a list's fields have no names
    u64 line = 0;              ///< 1-based; 0: not from one line
};

struct Field {
    std::string name;
    Datum value;
};

inline Datum flag(bool value, u64 line = 0) {
    return {Datum::Kind::flag, value ? 1 : 0, {}, {}, line};
}
inline Datum integer(std::int64_t value, u64 line = 0) {
    return {Datum::Kind::integer, value, {}, {}, line};
}
inline Datum list() {
    return {Datum::Kind::list, 0, {}, {}, 0};
}
inline Datum record() {
    return {Datum::Kind::record, 0, {}, {}, 0};
}

/// Bytes of one well-formed UTF-8 character at the front that may be shown; 0: a control character or no character.
constexpr std::size_t shown_bytes(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
    };
    const unsigned first = byte(0);
    if (first < 0x80) {
        return first >= 0x20 && first != 0x7F ? 1 : 0;
    }
    const std::size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
    if (length == 0 || first > 0xF4 || (first == 0xC2 && byte(1) < 0xA0)) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool beyond = first == 0xF4 && byte(1) >= 0x90;
    const bool turns =
        first == 0xE2 &&
        ((byte(1) == 0x80 && ((byte(2) >= 0xAA && byte(2) <= 0xAE) || byte(2) == 0xA8 || byte(2) == 0xA9)) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9));
    return surrogate || overlong || beyond || turns ? 0 : length;
}

/// Text of a log that can be shown: at most 512 bytes, '?' for control characters, marks that turn the direction of
/// writing, and bytes that are no UTF-8.
inline std::string shown(std::string_view text) {
    std::string out;
    while (!text.empty() && out.size() < 512) {
        const std::size_t length = shown_bytes(text);
        length == 0 ? out.append(1, '?') : out.append(text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

inline Datum words(std::string_view text, u64 line = 0) {
    return {Datum::Kind::words, 0, shown(text), {}, line};
}

/// The number a datum holds, printed digits read as a decimal; nullopt for words.
inline std::optional<double> number(const Datum& datum) {
    if (datum.kind == Datum::Kind::integer) {
        return static_cast<double>(datum.integer);
    }
    double value = 0;
    return datum.kind == Datum::Kind::words && io::read_decimal(datum.words, value)
               ? std::optional{value + 0.0}  // "-0.00" is zero
               : std::nullopt;
}

/// Half a unit of the last printed digit: "4.8" stands for 4.75 to 4.85. 0 for integers.
inline double half_digit(const Datum& datum) {
    const std::size_t point = datum.words.find('.');
    if (datum.kind != Datum::Kind::words) {
        return 0;
    }
    double half = 0.5;
    for (std::size_t i = point == std::string::npos ? datum.words.size() : point + 1; i < datum.words.size(); ++i) {
        half /= 10;
    }
    return half;
}

class Facts {
public:
    Facts() = default;
    explicit Facts(std::vector<Field> fields) : fields_{std::move(fields)} {}

    const Datum* find(std::string_view name) const {
        for (const Field& field : fields_) {
            if (field.name == name && field.value.kind != Datum::Kind::none) {
                return &field.value;
            }
        }
        return nullptr;
    }
    bool has(std::string_view name) const { return find(name) != nullptr; }
    void put(std::string_view name, Datum value) {
        for (Field& field : fields_) {
            if (field.name == name) {
                field.value = std::move(value);
                return;
            }
        }
        fields_.push_back({std::string{name}, std::move(value)});
    }
    /// Only when nothing was said before.
    void offer(std::string_view name, Datum value) {
        if (!has(name)) {
            put(name, std::move(value));
        }
    }
    void drop(std::string_view name) {
        std::erase_if(fields_, [&](const Field& field) { return field.name == name; });
    }
    std::optional<double> number(std::string_view name) const {
        const Datum* datum = find(name);
        return datum == nullptr ? std::nullopt : logs::number(*datum);
    }
    std::string text(std::string_view name) const {
        const Datum* datum = find(name);
        return datum == nullptr ? std::string{} : datum->words;
    }
    bool is(std::string_view name, bool value) const {
        const Datum* datum = find(name);
        return datum != nullptr && datum->kind == Datum::Kind::flag && (datum->integer != 0) == value;
    }
    const std::vector<Field>& fields() const noexcept { return fields_; }
    bool empty() const noexcept { return fields_.empty(); }

private:
    std::vector<Field> fields_;
};

}  // namespace kvcap::inline v1::logs
