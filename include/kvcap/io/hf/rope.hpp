// SPDX-License-Identifier: MIT
// What does a config say of the scaling of its rotary positions? `rope_scaling`, or `rope_parameters` of transformers
// 5; of a table for each kind of layer nothing is read.
#pragma once

#include <kvcap/io/json.hpp>
#include <kvcap/models/rope.hpp>
#include <string_view>

namespace kvcap::inline v1::hf {

constexpr RopeKind rope_kind(std::string_view name) noexcept {
    return name.empty() || name == "default" || name == "mrope" ? RopeKind::none
           : name == "llama3"                                   ? RopeKind::llama3
           : name == "longrope" || name == "su"                 ? RopeKind::longrope
           : name == "yarn"                                     ? RopeKind::yarn
                                                                : RopeKind::other;
}

/// block: of the decoder. A factor that is none (null, for positions of video) stretches nothing.
inline RopeScaling rope_of(JsonValue block, JsonValue root) {
    RopeScaling rope{};
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        const JsonValue said = block[key].is_object() ? block[key] : root[key];
        const JsonValue type = said["rope_type"].is_text() ? said["rope_type"] : said["type"];
        if (!said.is_object() || !type.is_text()) {
            continue;
        }
        rope.kind = rope_kind(type.text());
        const JsonValue before = said["original_max_position_embeddings"];
        rope.original = before.is_whole() && before.whole() <= (u64{1} << 40) ? before.whole() : 0;
        const double factor = said["factor"].is_number() ? said["factor"].real() : 1;
        rope.factor = factor > 0 && factor <= 65536 ? factor : 1;
        return rope;
    }
    return rope;
}

}  // namespace kvcap::inline v1::hf
