// SPDX-License-Identifier: MIT
// Words, numbers and signs of a spec line, with their offsets. The first problem stays; after it everything
// reads as the end of the text, so that a reader needs no exit at every step.
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/letters.hpp>
#include <kvcap/units.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap::inline v1::spec {

class Scanner {
public:
    explicit Scanner(std::string_view text) : text_{text} {}

    /// Offset of the next sign that is no blank.
    std::size_t offset() {
        while (at_ < text_.size() && is_blank(text_[at_])) {
            ++at_;
        }
        return at_;
    }
    char peek() {
        const std::size_t at = offset();
        return problem_ || at >= text_.size() ? '\0' : text_[at];
    }
    bool at_digit() { return is_digit(peek()); }
    bool at_word() { return is_letter(peek()); }
    bool at_end() { return problem_ || offset() >= text_.size(); }

    bool take(char sign) {
        if (peek() != sign || sign == '\0') {
            return false;
        }
        ++at_;
        return true;
    }
    void need(char sign, std::string_view after) {
        if (!take(sign)) {
            refuse_here("'" + std::string(1, sign) + "' " + std::string{after});
        }
    }

    /// Lower case; empty when there is none.
    std::string word() {
        std::string out;
        if (!at_word()) {
            return out;
        }
        for (; at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])); ++at_) {
            out += io::lower(text_[at_]);
        }
        return out;
    }

    /// 4096, 4k (= 4,096), 1m; at most `most`.
    u64 number(u64 most, std::string_view what) {
        const std::size_t from = offset();
        if (!at_digit()) {
            refuse_here(what);
            return 0;
        }
        u64 value = 0;
        for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
            value = saturating_sum(saturating_product(value, 10), static_cast<u64>(text_[at_] - '0'));
        }
        const char suffix = at_ < text_.size() ? io::lower(text_[at_]) : '\0';
        const bool alone =
            at_ + 1 >= text_.size() || !(is_letter(text_[at_ + 1]) || is_digit(text_[at_ + 1]));
        if (alone && (suffix == 'k' || suffix == 'm')) {
            value = saturating_product(value, suffix == 'k' ? u64{1} << 10 : u64{1} << 20);
            ++at_;
        }
        if (value > most) {
            refuse(from, std::string{text_.substr(from, at_ - from)},
                   std::string{what} + " of at most " + std::to_string(most));
        }
        return value;
    }

    void refuse(std::size_t at, std::string found, std::string wanted, std::string hint = {}) {
        if (!problem_) {
            problem_ = Problem{.trouble = Trouble::invalid,
                               .where = "offset " + std::to_string(at),
                               .found = std::move(found),
                               .wanted = std::move(wanted),
                               .hint = std::move(hint)};
        }
    }
    void refuse_here(std::string_view wanted) { refuse(offset(), found_here(), std::string{wanted}); }

    bool failed() const { return problem_.has_value(); }
    const std::optional<Problem>& problem() const { return problem_; }

private:
    static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

    /// The next word, number or sign, in quotes.
    std::string found_here() {
        const std::size_t from = offset();
        if (from >= text_.size()) {
            return "the end";
        }
        std::size_t to = from;
        while (to < text_.size() && to - from < 24 && (is_letter(text_[to]) || is_digit(text_[to]))) {
            ++to;
        }
        std::string out = "'";
        for (std::size_t i = from; i < (to == from ? from + 1 : to); ++i) {
            out += text_[i] >= ' ' && text_[i] <= '~' ? text_[i] : '?';
        }
        return out + "'";
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::optional<Problem> problem_;
};

}  // namespace kvcap::inline v1::spec
