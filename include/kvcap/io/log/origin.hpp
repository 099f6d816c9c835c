// SPDX-License-Identifier: MIT
// Who printed this line? What stands in front of the engine's sentence: a service of a compose file, process and
// rank tags, the clock, a file mark. Prefixes of containers, journals and supervisors are stepped over; colours are
// ignored.
#pragma once

#include <kvcap/io/log/pattern.hpp>

namespace kvcap::inline v1::logs {

/// A coordinate is -1 when the line has none.
struct Ranks {
    int dp = -1;
    int pp = -1;
    int tp = -1;
    int ep = -1;
    int dcp = -1;

    constexpr bool any() const noexcept { return dp >= 0 || pp >= 0 || tp >= 0; }
    /// "PP0_TP1", "TP3", "DP1"; empty without coordinates.
    std::string name() const {
        std::string out;
        const auto add = [&](const char* what, int rank) {
            if (rank >= 0) {
                out += (out.empty() ? "" : "_") + std::string{what} + std::to_string(rank);
            }
        };
        add("DP", dp);
        add("PP", pp);
        add("TP", tp);
        return out;
    }
};

struct Origin {
    std::string_view service{};  ///< in front of "|"
    std::string_view process{};  ///< "EngineCore_DP0"
    std::string_view pid{};
    std::string_view clock{};  ///< the engine's own, "13:02:50"
    std::string_view file{};   ///< "gpu_worker.py"
    Ranks ranks{};
};

constexpr bool letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The number behind `tag`, where no letter stands in front of it ("TP3" but not "HTTP3").
constexpr int rank_behind(std::string_view text, std::string_view tag) noexcept {
    for (std::size_t i = text.find(tag); i != text.npos; i = text.find(tag, i + 1)) {
        const std::size_t n = digits_at(text, i + tag.size());
        if (n >= 1 && n <= 5 && (i == 0 || !letter(text[i - 1]))) {
            return static_cast<int>(*integer_of(text.substr(i + tag.size(), n)));
        }
    }
    return -1;
}

/// Ranks of a tag such as "Worker_PP0_TP1", "VllmWorker rank=1", "2025-10-16 09:31:01 DP0 TP0".
constexpr Ranks ranks_of(std::string_view tag) noexcept {
    Ranks ranks{.dp = rank_behind(tag, "DP"),
                .pp = rank_behind(tag, "PP"),
                .tp = rank_behind(tag, "TP"),
                .ep = rank_behind(tag, "EP"),
                .dcp = rank_behind(tag, "DCP")};
    if (ranks.tp < 0 && tag.find("VllmWorker") != tag.npos) {
        ranks.tp = rank_behind(tag, "rank=");
    }
    return ranks;
}

/// "qwen-1  | " in front: a name of the characters that Docker allows, not a time.
constexpr std::string_view service_of(std::string_view front) noexcept {
    const std::size_t bar = front.find(" | ");
    std::string_view name = front.substr(0, bar == front.npos ? 0 : bar);
    while (!name.empty() && blank(name.back())) {
        name.remove_suffix(1);
    }
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const bool plain = !name.empty() && name.find_first_not_of(allowed) == name.npos &&
                       name.find_first_not_of("0123456789.-") != name.npos;
    return plain ? name : std::string_view{};
}

constexpr void read_process(std::string_view front, Origin& origin) noexcept {
    const std::size_t mark = front.rfind("pid=");
    const std::size_t open = mark == front.npos ? mark : front.rfind('(', mark);
    if (open == front.npos || mark - open > 64) {
        return;
    }
    origin.process = front.substr(open + 1, mark - open - 1);
    while (!origin.process.empty() && blank(origin.process.back())) {
        origin.process.remove_suffix(1);
    }
    origin.pid = front.substr(mark + 4, digits_at(front, mark + 4));
    origin.ranks = ranks_of(origin.process);
}

/// The last "12:34:56" in front of the sentence.
constexpr std::string_view clock_of(std::string_view front) noexcept {
    for (std::size_t i = front.size() < 8 ? 0 : front.size() - 7; i-- > 0;) {
        const bool time = digits_at(front, i) == 2 && front[i + 2] == ':' && digits_at(front, i + 3) == 2 &&
                          front[i + 5] == ':' && digits_at(front, i + 6) == 2;
        if (time && (i == 0 || !digit(front[i - 1]))) {
            return front.substr(i, 8);
        }
    }
    return {};
}

/// "gpu_worker.py" of "[gpu_worker.py:424]" or "worker.py:243]".
constexpr std::string_view file_of(std::string_view front) noexcept {
    const std::size_t end = front.rfind(".py:");
    if (end == front.npos) {
        return {};
    }
    std::size_t begin = end;
    while (begin > 0 && (letter(front[begin - 1]) || digit(front[begin - 1]) || front[begin - 1] == '_')) {
        --begin;
    }
    return front.substr(begin, end + 3 - begin);
}

/// SGLang: "[2025-10-16 09:31:01 DP0 TP5]".
constexpr Ranks bracket_ranks(std::string_view front) noexcept {
    const std::size_t close = front.rfind(']');
    const std::size_t open = close == front.npos ? close : front.rfind('[', close);
    return open == front.npos ? Ranks{} : ranks_of(front.substr(open, close - open));
}

constexpr Origin origin_of(std::string_view front) noexcept {
    Origin origin{.service = service_of(front), .clock = clock_of(front), .file = file_of(front)};
    read_process(front, origin);
    if (!origin.ranks.any()) {
        origin.ranks = bracket_ranks(front);
    }
    return origin;
}

}  // namespace kvcap::inline v1::logs
