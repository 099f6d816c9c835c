// SPDX-License-Identifier: MIT
// What does a finding hold? What was seen (and on which lines), what it means, what to change and what that gains;
// its figures by name, printed or computed. Data only: screens and JSON are made of it.
#pragma once

#include <kvcap/io/log.hpp>
#include <kvcap/report/diagnose/sentence.hpp>

#include <algorithm>

namespace kvcap::inline v1::report {

/// A number, or words where they are not empty.
struct Figure {
    std::string name;
    double value = 0;
    std::string words{};
};

struct Finding {
    std::string kind;
    std::string seen;
    std::string meaning;
    std::string change{};
    double gain_bytes = 0;  ///< memory on one rank; 0: none computed
    std::vector<Figure> figures{};
    std::vector<u64> lines{};

    Finding& with(std::string_view name, double value) {
        if (std::isfinite(value)) {
            figures.push_back({std::string{name}, value});
        }
        return *this;
    }
    Finding& with(std::string_view name, std::string_view words) {
        figures.push_back({std::string{name}, 0, std::string{words}});
        return *this;
    }
};

inline constexpr double kib = 1024;
inline constexpr double mib = 1024 * kib;
inline constexpr double gib = 1024 * mib;

/// One start's facts and the findings made of them.
class Diagnosis {
public:
    explicit Diagnosis(const logs::Facts& facts) : facts_{facts} {}

    /// Not a number when the log does not say; every comparison with it is false.
    double operator[](std::string_view name) const { return facts_.number(name).value_or(std::nan("")); }
    bool has(std::string_view name) const { return facts_.has(name); }
    std::string text(std::string_view name) const { return facts_.text(name); }
    const logs::Datum* find(std::string_view name) const { return facts_.find(name); }
    const logs::Facts& facts() const noexcept { return facts_; }
    /// The values that a printed decimal stands for.
    double low(std::string_view name) const { return (*this)[name] - half(name); }
    double high(std::string_view name) const { return (*this)[name] + half(name); }

    /// `from`: names of the facts it rests on, for the lines; the reference holds until the next one is added. A
    /// sentence with a figure that is not there, or divided by zero, is not kept.
    Finding& add(std::string_view kind, std::initializer_list<std::string_view> from, Sentence seen, Sentence meaning,
                 Sentence change = {}) {
        if (!seen.founded || !meaning.founded || !change.founded) {
            return unfounded_ = {};
        }
        findings.push_back(
            {std::string{kind}, std::move(seen.text), std::move(meaning.text), std::move(change.text)});
        for (const std::string_view name : from) {
            const logs::Datum* datum = facts_.find(name);
            std::vector<u64>& lines = findings.back().lines;
            const bool told = datum == nullptr || std::find(lines.begin(), lines.end(), datum->line) != lines.end();
            if (!told && datum->line != 0) {
                lines.push_back(datum->line);
            }
        }
        return findings.back();
    }

    std::vector<Finding> findings;

private:
    double half(std::string_view name) const {
        const logs::Datum* datum = facts_.find(name);
        return datum == nullptr ? 0 : logs::half_digit(*datum);
    }
    const logs::Facts& facts_;
    Finding unfounded_;
};

inline bool known(double value) noexcept {
    return std::isfinite(value);
}
template <class... More>
bool known(double value, More... more) noexcept {
    return std::isfinite(value) && known(more...);
}

/// The number in [low, high] that is a multiple of the largest power of two: sizes of layouts are such numbers.
struct Round {
    double value = std::nan("");
    int twos = -1;
};
inline Round roundest(double low, double high) {
    for (int twos = 40; twos >= 0 && low > 0 && high >= low; --twos) {
        const double step = std::ldexp(1.0, twos);
        if (const double multiple = std::ceil(low / step) * step; multiple <= high) {
            return {multiple, twos};
        }
    }
    return {};
}

/// Bytes a token that a printed amount in GiB and a token count allow, and the roundest of them. An amount that may be
/// zero or less says nothing of a token.
inline void per_token(Diagnosis& on, std::string_view amount, double tokens, double parts = 1) {
    const double low = on.low(amount) * parts * gib / tokens;
    const double high = on.high(amount) * parts * gib / tokens;
    const Round round = roundest(low, high);
    if (!(tokens > 0) || !(low > 0) || !known(high) || std::ceil(low) > std::floor(high)) {
        return;  // no whole number of bytes a token is so printed
    }
    on.add(
          "bytes-per-token", {amount},
          parts == 1 ? said("{} GiB of cache for {} tokens", on.text(amount), commas(tokens))
                     : said("{} GiB of keys, and as much of values, for {} tokens", on.text(amount), commas(tokens)),
          said(
              "on average {} to {} bytes a token{}", commas(std::ceil(low)), commas(std::floor(high)),
              known(round.value) ? said("; the round number in between is {}", commas(round.value)) : ""))
        .with("bytes_per_token", round.value)
        .with("bytes_per_token_middle", (low + high) / 2)
        .with("kib_per_token", round.value / kib);
}

}  // namespace kvcap::inline v1::report
