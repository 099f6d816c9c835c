// SPDX-License-Identifier: MIT
// Any bytes: what decodes encodes back to the same bytes, and differs from nothing equal; the rest is refused.
#include <kvcap/identity.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kvcap;
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const DecodedIdentity decoded = decode(bytes);
    if (!decoded) {
        if (decoded.at > size) {
            std::abort();
        }
        return 0;
    }
    std::string again;
    if (encode(decoded.identity, [&](u8 byte) { again.push_back(static_cast<char>(byte)); }) || again != bytes ||
        !diff(decoded.identity, decode(again).identity).empty()) {
        std::abort();
    }
    return 0;
}
