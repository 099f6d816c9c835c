// SPDX-License-Identifier: MIT
// How are untrusted bytes walked? One step at a time, each checked against what is there; the first trouble
// stays, with its offset and the key it belongs to, and every later read gives zeros.
#pragma once

#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/gguf/value.hpp>
#include <span>

namespace kvcap::inline v1::gguf {

/// A key as it may be printed: at most 80 characters, others than printable ASCII replaced.
inline std::string printable(std::string_view text) {
    constexpr std::size_t most = 80;
    std::string shown;
    for (const char c : text.substr(0, most)) {
        shown += c >= ' ' && c <= '~' ? c : '?';
    }
    return text.size() > most ? shown + "..." : shown;
}

class Cursor {
public:
    Cursor(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    u64 offset() const noexcept { return at_; }
    bool failed() const noexcept { return problem_.has_value(); }
    const std::optional<Problem>& problem() const noexcept { return problem_; }
    void set_big_endian(bool big) noexcept { big_ = big; }
    bool big_endian() const noexcept { return big_; }
    void set_key(std::string_view key) noexcept { key_ = key; }

    void fail(std::string found, std::string wanted, u64 where) {
        if (!problem_) {
            std::string place = "offset " + std::to_string(where);
            problem_ = Problem{.trouble = Trouble::invalid,
                               .where = key_.empty() ? place : place + ", " + printable(key_),
                               .found = std::move(found), .wanted = std::move(wanted), .hint = {}};
        }
    }

    /// The next `size` bytes, or null when they are not there.
    const std::byte* take(u64 size) {
        if (failed()) {
            return nullptr;
        }
        const u64 left = bytes_.size() - at_;
        if (size > left) {
            fail("the file ends after " + std::to_string(bytes_.size()) + " bytes",
                 std::to_string(size) + " more bytes here", at_);
            return nullptr;
        }
        const std::byte* here = bytes_.data() + at_;
        at_ += size;
        return here;
    }
    u64 number(u64 width) {
        const std::byte* here = take(width);
        return here == nullptr ? 0 : load(here, width, big_);
    }
    std::string_view text(u64 longest = off_scale) {
        const u64 start = at_;
        const u64 size = number(8);
        if (size > longest) {
            fail("a text of " + std::to_string(size) + " bytes", "at most " + std::to_string(longest), start);
        }
        const std::byte* here = take(size);
        return here == nullptr ? std::string_view{}
                               : std::string_view{reinterpret_cast<const char*>(here),
                                                  static_cast<std::size_t>(size)};
    }

private:
    std::span<const std::byte> bytes_;
    u64 at_ = 0;
    bool big_ = false;
    std::string_view key_;
    std::optional<Problem> problem_;
};

}  // namespace kvcap::inline v1::gguf
