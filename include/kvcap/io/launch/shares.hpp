// SPDX-License-Identifier: MIT
// Among how many devices does llama-server divide a model evenly, by -ts, --device and -sm, and which split modes are
// judged? Source: llama.cpp, common/arg.cpp: "," and "/" separate shares, several of them as one, at the end too.
#pragma once

#include <cstdlib>
#include <kvcap/io/launch/line.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap::inline v1::io {

inline constexpr std::string_view wanted_shares =
    "equal shares above 0 of 1 to 15 devices, as in 1,1 (uneven ones are judged by `kvcap llamacpp --tensor-split`)";

/// One share: a plain decimal number above 0.
inline std::optional<float> launch_share(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) {
        return std::nullopt;
    }
    char* end = nullptr;
    const float share = std::strtof(text.c_str(), &end);
    return *end == '\0' && share > 0 && share <= 1e30F ? std::optional{share} : std::nullopt;
}

/// Devices of "1,1" or "3/3/3"; nothing for uneven shares, zeros, words, and 16 and more devices, which llama-server
/// refuses.
inline std::optional<u32> launch_devices(std::string_view text) {
    u32 devices = 0;
    float first = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = smaller(text.find_first_of(",/", at), text.size());
        const std::optional<float> share = launch_share(std::string{text.substr(at, end - at)});
        if (!share || (devices != 0 && *share != first)) {
            return std::nullopt;
        }
        first = *share;
        ++devices;
        at = smaller(text.find_first_not_of(",/", end), text.size());
    }
    return devices >= 1 && devices <= 15 ? std::optional{devices} : std::nullopt;
}

inline constexpr std::string_view wanted_devices =
    "names of 1 to 16 devices, as in CUDA0,CUDA1 (with none everything lies in host memory, which is not judged)";

/// Devices of "CUDA0,CUDA1"; nothing for "none", empty names and more than llama.cpp has.
inline std::optional<u32> listed_devices(std::string_view text) {
    u32 devices = 0;
    for (std::size_t at = 0; at <= text.size(); ++devices) {
        const std::size_t end = smaller(text.find(',', at), text.size());
        if (end == at) {
            return std::nullopt;
        }
        at = end + 1;
    }
    return text != "none" && devices <= 16 ? std::optional{devices} : std::nullopt;
}

/// What a line says of its devices; 0: nothing. mode none: one device, whatever the others say.
struct LlamaDevices {
    u32 shares = 0;
    u32 listed = 0;
    std::string mode = "layer";

    /// Shares beyond the devices listed say nothing, and devices beyond the shares get nothing.
    void take_into(Launch& launch) const {
        const bool one = mode == "none";
        const u64 said = shares == 0 || listed == 0 ? larger(shares, listed) : smaller(shares, listed);
        launch.over_all = said == 0 && !one ? mode : "";
        (mode == "tensor" ? launch.tp : launch.pp) = one || said == 0 ? 1 : static_cast<u32>(said);
    }
};

}  // namespace kvcap::inline v1::io
