// SPDX-License-Identifier: MIT
// Any bytes, as an encoding and as JSON: what decodes encodes back to the same bytes, and differs from nothing equal;
// what is read from JSON either is refused or decodes again; the rest is refused.
#include "check.hpp"

#include <kvcap/identity.hpp>
#include <kvcap/io/identity_json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace kvcap;

void check_chunk(std::string_view bytes) {
    std::vector<u32> tokens(bytes.size() / 8);
    std::vector<MediaRun> media(bytes.size() / 8);
    const DecodedChunk decoded = decode_chunk(bytes, tokens, media);
    std::string again;
    const auto put = [&](u8 byte) { again.push_back(static_cast<char>(byte)); };
    check(decoded.at <= bytes.size());
    check(!decoded || (!encode(decoded.chunk, decoded.format_digest, put) && again == bytes));
}

void check_json(std::string_view text) {
    const Diagnosed<OwnedIdentity> read = read_identity(text);
    std::string bytes;
    if (!settled(read) || encode(read->format, [&](u8 byte) { bytes.push_back(static_cast<char>(byte)); })) {
        return;
    }
    const DecodedIdentity decoded = decode(bytes);
    check(decoded && diff(decoded.identity, read->format).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    check_json(bytes);
    check_chunk(bytes);
    const DecodedIdentity decoded = decode(bytes);
    if (!decoded) {
        check(decoded.at <= size);
        return 0;
    }
    std::string again;
    check(!encode(decoded.identity, [&](u8 byte) { again.push_back(static_cast<char>(byte)); }) && again == bytes);
    check(diff(decoded.identity, decode(again).identity).empty());
    return 0;
}
