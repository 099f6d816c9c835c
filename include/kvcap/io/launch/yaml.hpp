// SPDX-License-Identifier: MIT
// What do the pairs of a small YAML text say? Block and flow mappings, JSON among them, quoted and plain words,
// comments; lists are passed over. TensorRT-LLM's options stand in such a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <kvcap/units.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcap::inline v1::io {

/// Whether every brace, bracket and quote outside of comments is closed by its own kind.
inline bool yaml_closed(std::string_view text) {
    std::string open;
    char quote = '\0';
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool begins = i == 0 || std::string_view{" \t\n:,[{"}.find(text[i - 1]) != std::string_view::npos;
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if ((c == '"' || c == '\'') && begins) {
            quote = c;
        } else if (c == '#' && begins) {
            i = std::min(text.find('\n', i), text.size());
        } else if (c == '{' || c == '[') {
            open.push_back(c == '{' ? '}' : ']');
        } else if (c == '}' || c == ']') {
            if (open.empty() || open.back() != c) {
                return false;
            }
            open.pop_back();
        }
    }
    return open.empty() && quote == '\0';
}

/// "key: value"; in: the keys that it stands under, outermost first, with points; empty for those themselves. value:
/// "{}" and "[]" for mappings and lists in braces, empty for null and for what stands on the lines below.
struct YamlPair {
    std::string in;
    std::string key;
    std::string value;
    friend bool operator==(const YamlPair&, const YamlPair&) = default;
};

/// Reads a text whose braces are closed (yaml_closed).
class YamlReader {
public:
    explicit YamlReader(std::string_view text) : text_{text} {}

    std::vector<YamlPair> read() {
        while (at_ < text_.size()) {
            const std::size_t line = text_.rfind('\n', at_) == std::string_view::npos ? 0 : text_.rfind('\n', at_) + 1;
            skip_blanks();
            if (more() && text_[at_] == '{') {
                flow("");
            } else if (more() && text_[at_] != '\n' && text_[at_] != '-') {
                block(at_ - line);
            } else {
                skip_line();
            }
        }
        return std::move(pairs_);
    }

private:
    static constexpr u32 most_depth = 16;  ///< what is deeper is passed over, as a list is

    bool more() const { return at_ < text_.size(); }

    /// Blanks and a comment behind them; in a flow mapping line ends too.
    void skip_blanks(bool lines = false) {
        while (more()) {
            const char c = text_[at_];
            if (c == '#' && (at_ == 0 || std::string_view{" \t\n,{"}.find(text_[at_ - 1]) != std::string_view::npos)) {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == ' ' || c == '\t' || c == '\r' || (lines && (c == '\n' || c == ','))) {
                ++at_;
            } else {
                return;
            }
        }
    }

    void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }

    /// A word in quotes, or what stands before one of `ends`, a comment, or the line's end.
    std::string word(std::string_view ends) {
        if (const char quote = more() ? text_[at_] : '\0'; quote == '"' || quote == '\'') {
            const std::size_t end = std::min(text_.find(quote, at_ + 1), text_.size());
            const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
            at_ = std::min(end + 1, text_.size());
            return std::string{inside};
        }
        const std::size_t from = at_;
        while (more() && text_[at_] != '\n' && ends.find(text_[at_]) == std::string_view::npos &&
               !(text_[at_] == '#' && at_ > from && text_[at_ - 1] == ' ')) {
            ++at_;
        }
        const std::string_view plain = text_.substr(from, at_ - from);
        return std::string{plain.substr(0, plain.find_last_not_of(" \t\r") + 1)};
    }

    /// A list, with all that it holds.
    void skip_list() {
        std::size_t depth = 0;
        do {
            depth += text_[at_] == '[' || text_[at_] == '{' ? 1 : 0;
            depth -= text_[at_] == ']' || text_[at_] == '}' ? 1 : 0;
            ++at_;
        } while (more() && depth != 0);
    }

    static std::string path_of(const std::string& in, const std::string& key) {
        return in.empty() ? key : in + "." + key;
    }

    void value(const std::string& in, const std::string& key, std::string_view ends) {
        pairs_.push_back({in, key, ""});
        if (more() && (text_[at_] == '[' || text_[at_] == '{')) {
            const bool mapping = text_[at_] == '{';
            pairs_.back().value = mapping ? "{}" : "[]";
            mapping && depth_ < most_depth ? flow(path_of(in, key)) : skip_list();
        } else {
            const bool quoted = more() && (text_[at_] == '"' || text_[at_] == '\'');
            const std::string said = word(ends);
            const bool nothing = !quoted && (said == "null" || said == "Null" || said == "NULL" || said == "~");
            pairs_.back().value = nothing ? "" : said;
        }
    }

    /// pre: text_[at_] is '{'
    void flow(const std::string& in) {
        ++at_;
        ++depth_;
        for (skip_blanks(true); more() && text_[at_] != '}'; skip_blanks(true)) {
            const std::size_t before = at_;
            const std::string key = word(":,}");
            skip_blanks(true);
            if (more() && text_[at_] == ':') {
                ++at_;
                skip_blanks();
                value(in, key, ",}");
            }
            at_ += at_ == before ? 1 : 0;
        }
        at_ += more() ? 1 : 0;
        --depth_;
    }

    /// One line of a block mapping, `indent` blanks in.
    void block(std::size_t indent) {
        while (!under_.empty() && under_.back().first >= indent) {
            under_.pop_back();
        }
        const std::string key = word(":");
        skip_blanks();
        if (!more() || text_[at_] != ':') {
            return skip_line();
        }
        ++at_;
        skip_blanks();
        const std::string in = under_.empty() ? "" : under_.back().second;
        under_.emplace_back(indent, path_of(in, key));
        value(in, key, "");
        skip_line();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    u32 depth_ = 0;
    std::vector<std::pair<std::size_t, std::string>> under_;  ///< indents, and the keys with their own
    std::vector<YamlPair> pairs_;
};

inline std::vector<YamlPair> yaml_pairs(std::string_view text) { return YamlReader{text}.read(); }

}  // namespace kvcap::inline v1::io
