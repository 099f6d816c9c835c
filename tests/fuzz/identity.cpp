// SPDX-License-Identifier: MIT
// Any bytes: what decodes encodes back to the same bytes, and differs from nothing equal; the rest is refused.
#include <kvcap/identity.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void check_chunk(std::string_view bytes) {
    using namespace kvcap;
    std::vector<u32> tokens(bytes.size() / 8);
    std::vector<MediaRun> media(bytes.size() / 8);
    const DecodedChunk decoded = decode_chunk(bytes, tokens, media);
    std::string again;
    const auto put = [&](u8 byte) { again.push_back(static_cast<char>(byte)); };
    if (decoded.at > bytes.size() ||
        (decoded && (encode(decoded.chunk, decoded.format_digest, put) || again != bytes))) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kvcap;
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    check_chunk(bytes);
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
