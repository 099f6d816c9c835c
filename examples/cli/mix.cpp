// SPDX-License-Identifier: MIT
// Requests of different lengths: read from --lengths, and how many of n have which.
#include "deployment.hpp"

#include <algorithm>
#include <numeric>

namespace kvcap::cli {

std::vector<u64> Mix::counts(u64 n) const {
    const u64 all = std::accumulate(shares.begin(), shares.end(), u64{0});
    std::vector<u64> counts;
    std::vector<std::pair<u64, std::size_t>> rests;
    u64 dealt_out = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const u64 part = saturating_product(n, shares[i]);
        counts.push_back(part / all);
        rests.emplace_back(part % all, i);
        dealt_out += part / all;
    }
    std::sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; dealt_out < n && i < rests.size(); ++i, ++dealt_out) {
        ++counts[rests[i].second];
    }
    return counts;
}

double Mix::average_tokens() const {
    double sum = 0;
    double all = 0;
    for (std::size_t i = 0; i < each.size(); ++i) {
        sum += static_cast<double>((each[i].prompt + each[i].decoded).value) * static_cast<double>(shares[i]);
        all += static_cast<double>(shares[i]);
    }
    return sum / all;
}

Mix mix_of(const std::string& text, u64 tokens, const LengthOptions& like, const ReadModel& model) {
    Mix mix{};
    if (text.empty()) {
        mix.each.push_back(like.lengths(tokens, model));
        mix.shares.push_back(1);
        return mix;
    }
    std::vector<std::pair<u64, u64>> pairs;
    u64 before = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, comma - at);
        const std::size_t colon = one.find(':');
        const std::size_t equals = one.find('=');
        if (colon != std::string::npos) {
            pairs.emplace_back(count_of(one.substr(0, colon), "--lengths"),
                               count_of(one.substr(colon + 1), "--lengths"));
        } else if (one.size() > 1 && one[0] == 'p' && equals != std::string::npos) {
            const u64 quantile = count_of(one.substr(1, equals - 1), "--lengths");
            if (quantile <= before || quantile > 100 ||
                (!pairs.empty() && count_of(one.substr(equals + 1), "--lengths") < pairs.back().first)) {
                stop(Exit::usage,
                     fmt::format(
                         "--lengths: {} does not rise above p{}; quantiles and their lengths rise to p100",
                         one, before));
            }
            pairs.emplace_back(count_of(one.substr(equals + 1), "--lengths"), quantile - before);
            before = quantile;
        } else {
            stop(Exit::usage,
                 fmt::format("--lengths: '{}' is neither TOKENS:WEIGHT nor pQUANTILE=TOKENS", one));
        }
        at = comma + 1;
    }
    if (before != 0 && before != 100) {
        stop(Exit::usage,
             fmt::format("--lengths: the last quantile is p{}; wanted p100 for the longest", before));
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a > b; });
    for (const auto& [length, share] : pairs) {
        if (share == 0) {
            continue;
        }
        mix.each.push_back(like.lengths(length, model));
        mix.shares.push_back(share);
    }
    if (mix.each.empty()) {
        stop(Exit::usage, fmt::format("--lengths: '{}' gives no length any weight", text));
    }
    return mix;
}

}  // namespace kvcap::cli
