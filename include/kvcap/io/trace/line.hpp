// SPDX-License-Identifier: MIT
// What does one line of a trace file say? A scanner for the flat objects that trace files consist of; whatever it
// does not recognise (escapes, nesting, duplicate keys, numbers out of range) goes to the JSON loader, which decides
// and explains. Formats: Mooncake and Alibaba Bailian (timestamp, input_length, hash_ids), LMCache lookup-hash events
// (timestamp, seq_len, chunk_size, chunk_hashes).
#pragma once

#include <kvcap/io/decimal.hpp>
#include <kvcap/io/json_load.hpp>

namespace kvcap::inline v1 {

enum class TraceFormat : unsigned char { any, mooncake, bailian, lmcache };

/// ids: numbers as given; hashes: texts as given (LMCache); one of both is empty. chunk: 0 when the line does not say.
struct TraceLine {
    TraceFormat format = TraceFormat::any;
    double at = 0;
    u64 tokens = 0;
    u64 chunk = 0;
    std::vector<u64> ids;
    std::vector<std::string> hashes;
    std::string model;

    void clear() {
        format = TraceFormat::any;
        at = 0;
        tokens = chunk = 0;
        ids.clear();
        hashes.clear();
        model.clear();
    }
};

namespace io {

/// The fast way: false means "ask the loader", never "wrong".
class FlatScanner {
public:
    explicit FlatScanner(std::string_view line) noexcept : at_{line.data()}, end_{line.data() + line.size()} {}

    bool mooncake(TraceLine& line) {
        u32 seen = 0;
        if (!take('{')) {
            return false;
        }
        do {
            std::string_view key;
            if (!text(key) || !take(':')) {
                return false;
            }
            u32 which = 0;
            while (which < 8 && key != names[which]) {
                ++which;
            }
            const u32 bit = u32{1} << which;
            if (which == 8 || (seen & bit) != 0 || !value(which, line)) {
                return false;
            }
            seen |= bit;
        } while (take(','));
        line.format = (seen & chat) != 0 ? TraceFormat::bailian : TraceFormat::mooncake;
        return take('}') && (skip(), at_ == end_) && (seen & needed) == needed;
    }

private:
    static constexpr std::string_view names[] = {"timestamp", "input_length", "hash_ids", "chat_id",
                                                 "output_length", "parent_chat_id", "type", "turn"};
    static constexpr u32 needed = 7;
    static constexpr u32 chat = 8;

    bool value(u32 which, TraceLine& line) {
        switch (which) {
            case 0: return number(line.at);
            case 1: return number(line.tokens);
            case 2: return list(line.ids);
            default: return ignored();
        }
    }
    void skip() noexcept {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) {
            ++at_;
        }
    }
    bool take(char c) noexcept {
        skip();
        return at_ != end_ && *at_ == c ? (++at_, true) : false;
    }
    bool text(std::string_view& value) noexcept {
        if (!take('"')) {
            return false;
        }
        const char* const begin = at_;
        while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20 &&
               static_cast<unsigned char>(*at_) < 0x80) {
            ++at_;
        }
        value = {begin, static_cast<std::size_t>(at_ - begin)};
        return take_here('"');
    }
    bool take_here(char c) noexcept { return at_ != end_ && *at_ == c ? (++at_, true) : false; }
    /// Digits without sign, point or leading zero, below 10^19.
    bool number(u64& value) noexcept {
        skip();
        const char* const begin = at_;
        u64 sum = 0;
        while (at_ != end_ && static_cast<unsigned char>(*at_ - '0') < 10) {
            sum = sum * 10 + static_cast<u64>(*at_++ - '0');
        }
        value = sum;
        const std::ptrdiff_t digits = at_ - begin;
        const bool plain = at_ == end_ || (*at_ != '.' && *at_ != 'e' && *at_ != 'E');
        return plain && digits > 0 && digits < 20 && (*begin != '0' || digits == 1);
    }
    /// A plain decimal number of at most 15 digits: exact in a double.
    bool number(double& value) {
        skip();
        const char* const begin = at_;
        while (at_ != end_ && (static_cast<unsigned char>(*at_ - '0') < 10 || *at_ == '.')) {
            ++at_;
        }
        if (at_ == begin || at_ - begin > 15 || *begin == '.' || at_[-1] == '.' ||
            (*begin == '0' && at_ - begin > 1 && begin[1] != '.')) {
            return false;
        }
        const std::string_view digits{begin, static_cast<std::size_t>(at_ - begin)};
        return io::read_decimal(digits, value) && (at_ == end_ || (*at_ != 'e' && *at_ != 'E'));
    }
    bool list(std::vector<u64>& values) {
        if (!take('[')) {
            return false;
        }
        if (take(']')) {
            return true;
        }
        u64 value = 0;
        do {
            if (!number(value)) {
                return false;
            }
            values.push_back(value);
        } while (take(','));
        return take(']');
    }
    /// A value nobody needs: a whole number or a plain text.
    bool ignored() noexcept {
        std::string_view words;
        u64 whole = 0;
        skip();
        if (at_ != end_ && *at_ == '"') {
            return text(words);
        }
        take_here('-');
        return at_ != end_ && *at_ >= '0' && *at_ <= '9' && number(whole);
    }

    const char* at_;
    const char* end_;
};

inline std::optional<Problem> wrong(std::string where, const JsonValue& found, std::string wanted) {
    return Problem{Trouble::invalid, std::move(where), found.shown(), std::move(wanted), {}};
}

/// A list of ids: numbers, or texts where the format has them.
inline std::optional<Problem> read_ids(const JsonValue& list, const char* name, bool texts, TraceLine& line) {
    if (!list.is_array()) {
        return wrong(std::string{"/"} + name, list, "a list of block ids");
    }
    std::optional<Problem> problem;
    list.each([&](u32 i, std::string_view, const JsonValue& id) {
        if (id.is_whole() && line.hashes.empty()) {
            line.ids.push_back(id.whole());
        } else if (texts && id.is_text() && line.ids.empty()) {
            line.hashes.emplace_back(id.text());
        } else if (!problem) {
            problem = wrong(std::string{"/"} + name + "/" + std::to_string(i), id,
                            texts ? "hashes, all texts or all whole numbers" : "a whole number");
        }
    });
    return problem;
}

/// The slow way, with reasons.
inline std::optional<Problem> read_trace_line(std::string_view text, TraceLine& line) {
    line.clear();
    const Diagnosed<JsonDocument> document = load_json(text);
    if (!document) {
        return *document.error;
    }
    const JsonValue root = root_of(*document);
    if (!root.is_object()) {
        return wrong("", root, "an object a line");
    }
    const bool lmcache = root["chunk_hashes"].present();
    line.format = lmcache                     ? TraceFormat::lmcache
                  : root["chat_id"].present() ? TraceFormat::bailian
                                              : TraceFormat::mooncake;
    const JsonValue at = root["timestamp"];
    const JsonValue tokens = root[lmcache ? "seq_len" : "input_length"];
    if (!at.is_number() && at.present()) {
        return wrong("/timestamp", at, "a number");
    }
    if (!tokens.is_whole()) {
        return wrong(lmcache ? "/seq_len" : "/input_length", tokens, "a number of tokens");
    }
    if (lmcache && root["chunk_size"].present() && root["chunk_size"].whole() == 0) {
        return wrong("/chunk_size", root["chunk_size"], "a number of tokens above 0");
    }
    line.at = at.real();
    line.tokens = tokens.whole();
    line.chunk = root["chunk_size"].whole();
    line.model = root["model_name"].text();
    return lmcache ? read_ids(root["chunk_hashes"], "chunk_hashes", true, line)
                   : read_ids(root["hash_ids"], "hash_ids", false, line);
}

}  // namespace io

}  // namespace kvcap::inline v1
