// SPDX-License-Identifier: MIT
// Reads a similarity table for depth reuse: how alike the keys and values of each layer and the one before it
// were, and under which storage and attention kind that was measured.
//   {"schema": "kvcap.similarity/1", "dtype": "bf16", "kind": "attention", "similarity": [null, 0.97, 0.983]}
#pragma once

#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/json_load.hpp>
#include <kvcap/io/text_file.hpp>
#include <kvcap/plan/depth_reuse.hpp>

namespace kvcap::inline v1 {

/// dtype: as the file names it.
struct ReadSimilarity {
    SimilarityTable table{};
    std::string dtype;
};

namespace io {

/// Thousandths of a share in 0..1, rounded down, so that a threshold is never passed by rounding.
inline u16 thousandths(double share) noexcept {
    return static_cast<u16>(share * 1000 + 1e-9);
}

inline std::optional<Problem> read_rows(JsonValue rows, SimilarityTable& table) {
    if (!rows.is_array() || rows.size() == 0 || rows.size() > 256) {
        return Problem{Trouble::invalid,
                       "/similarity",
                       rows.shown(),
                       "a list with one number for each layer, at most 256, the first null",
                       {}};
    }
    std::optional<Problem> wrong;
    rows.each([&](u32 i, std::string_view, JsonValue row) {
        const bool blank = i == 0 && row.is_null();
        if (!wrong && !blank && !(row.is_number() && row.real() >= -1 && row.real() <= 1)) {
            wrong = Problem{Trouble::invalid,
                            "/similarity/" + std::to_string(i),
                            row.shown(),
                            "a cosine similarity, at most 1",
                            {}};
        }
        const double share = blank || !(row.real() > 0) ? 0 : row.real();
        static_cast<void>(table.thousandths.push(thousandths(share)));
    });
    return wrong;
}

}  // namespace io

/// `form`: a growing cache of the model, whose widths give block formats their size.
inline Diagnosed<ReadSimilarity> read_similarity(std::string_view text, const LayerForm& form) {
    const Diagnosed<JsonDocument> document = load_json(text);
    if (!document) {
        return *document.error;
    }
    const JsonValue root = root_of(*document);
    if (root["schema"].text() != "kvcap.similarity/1") {
        return Problem{Trouble::invalid, "/schema", root["schema"].shown(), "\"kvcap.similarity/1\"", {}};
    }
    ReadSimilarity read{.dtype = std::string{root["dtype"].text()}};
    const io::KvScheme* scheme = io::find_named(io::kv_schemes, read.dtype);
    if (scheme == nullptr) {
        return io::unknown_name("/dtype", read.dtype, io::kv_schemes);
    }
    const std::string_view kind = root["kind"].text();
    if (kind != "attention" && kind != "latent") {
        return Problem{Trouble::invalid, "/kind", root["kind"].shown(), "\"attention\" or \"latent\"", {}};
    }
    read.table.kind = kind == "latent" ? Kind::latent : Kind::attention;
    read.table.format = scheme->store(form).streams[0].format;
    if (const std::optional<Problem> wrong = io::read_rows(root["similarity"], read.table)) {
        return *wrong;
    }
    return read;
}

}  // namespace kvcap::inline v1
