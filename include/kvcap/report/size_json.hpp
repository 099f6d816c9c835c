// SPDX-License-Identifier: MIT
// `size` for programs: JSON of schema kvcap.size/1 (docs/reference/schemas/size.schema.json) and CSV, a line
// for each rank, for all ranks and for unique bytes.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/report/json.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/report/size.hpp>
#include <kvcap/report/table.hpp>
#include <kvcap/report/text.hpp>

namespace kvcap::inline v1::report {

/// What an engine sets aside on the fullest rank for one request: bytes, and units of its first pool.
struct ReservedAt {
    u64 tokens = 0;
    Bytes bytes{};
    u64 units = 0;
    std::string unit{};
};

/// What the reader and the options say, beside the numbers.
struct SizeHeading {
    std::string model;
    std::string spec;
    std::string kv_cache_dtype;                   ///< what is stored
    std::string kv_cache_dtype_asked = "auto";
    std::string engine = "exact";
    std::vector<ReservedAt> reserved{};
};

inline void write_rank(Json& json, const RankBytes& rank) {
    json.object({}, Layout::flat).object("rank");
    json.field("pp", rank.rank.pp)
        .field("tp", rank.rank.tp)
        .field("cp", rank.rank.cp)
        .field("dp", rank.rank.dp)
        .end();
    json.field("bytes", rank.bytes).end();
}

inline void write_ranks(Json& json, std::string_view key, const std::vector<RankBytes>& ranks) {
    json.array(key);
    for (const RankBytes& rank : ranks) {
        write_rank(json, rank);
    }
    json.end();
}

inline void write_notes(Json& json, const std::vector<Note>& notes) {
    json.array("notes");
    for (const Note& note : notes) {
        json.object({}, Layout::flat).field("origin", text_of(note.origin)).field("where", note.where);
        json.field("text", note.text).end();
    }
    json.end();
}

/// How often each byte of the group is stored within one replica.
inline double copies_of(const SizeGroup& group) {
    const u64 unique = group.copies.unique.value;
    return unique == 0 ? 1.0 : static_cast<double>(group.copies.stored.value) / static_cast<double>(unique);
}

inline void write_groups(Json& json, const ModelSpec& model, const SizeAnswer& size) {
    json.array("groups");
    for (const SizeGroup& group : size.groups) {
        const LayerForm& form = model.forms[group.form];
        json.object()
            .field("kind", kind_of(form))
            .field("what", label_of(form))
            .array("layers", Layout::flat);
        for (const u32 layer : group.layers) {
            json.item(layer);
        }
        json.end().field("caches", group.caches).field("bytes_per_token", group.per_token);
        json.field("bytes_per_prompt_token", group.per_prompt_token);
        json.field("bytes_per_encoder_token", group.per_encoder_token).field("state_bytes", group.state);
        if (group.window == 0) {
            json.null("window");
        } else {
            json.field("window", group.window);
        }
        json.field("held_bytes", group.held.back());
        json.field("stored_over_unique", copies_of(group), 6).end();
    }
    json.end();
}

inline void write_points(Json& json, const SizeAnswer& size) {
    json.array("points");
    for (std::size_t i = 0; i < size.points.size(); ++i) {
        const SizeAnswer::At& at = size.points[i];
        json.object().field("tokens", at.point.tokens).field("sequences", at.point.sequences);
        json.field("encoder_tokens", at.point.lengths.encoder);
        write_ranks(json, "held_bytes_per_rank", at.held);
        json.field("held_bytes_total", at.total).field("unique_bytes", at.unique);
        json.array("held_bytes_by_group", Layout::flat);
        for (const SizeGroup& group : size.groups) {
            json.item(group.held[i]);
        }
        json.end().end();
    }
    json.end();
}

/// Layer by layer, one copy, at the last point.
inline void write_layers(Json& json, const ModelSpec& model, const std::vector<SharedLayer>& shared,
                         const SizeAnswer& size) {
    json.array("layers");
    u32 next_shared = 0;
    for (u32 layer = 0; layer < model.all_layers(); ++layer) {
        json.object({}, Layout::flat).field("layer", layer).array("groups");
        Bytes rate{};
        Bytes state{};
        Bytes held{};
        for (const Cache& cache : model.caches) {
            if (cache.layer == layer) {
                const SizeGroup& group = size.groups[cache.form];
                json.item(cache.form);
                rate += {group.per_token.value / group.caches};
                state += {group.state.value / group.caches};
                held += {group.held.back().value / group.caches};
            }
        }
        json.end().field("bytes_per_token", rate).field("state_bytes", state).field("held_bytes", held);
        while (next_shared < shared.size() && shared[next_shared].layer < layer) {
            ++next_shared;
        }
        if (next_shared < shared.size() && shared[next_shared].layer == layer) {
            json.field("shares_with", shared[next_shared].source);
        }
        json.end();
    }
    json.end();
}

inline std::string size_json(const SizeHeading& heading, const ModelSpec& model, const ReadModel& read,
                             const SizeQuestion& asked, const SizeAnswer& size,
                             const std::vector<Note>& notes, bool per_layer) {
    Json json;
    json.object().field("schema", "kvcap.size/1").field("model", heading.model).field("spec", heading.spec);
    json.object("sharding", Layout::flat).field("tp", asked.tp).field("pp", asked.sharding.pp);
    json.field("cp", asked.sharding.cp).field("dp", asked.dp).field("dp_attention", asked.dp_attention);
    json.field("cp_among_tp", asked.cp_among_tp).end();
    json.field("kv_cache_dtype", heading.kv_cache_dtype);
    json.field("kv_cache_dtype_asked", heading.kv_cache_dtype_asked).field("engine", heading.engine);
    json.field("bytes_per_token", size.per_token);
    write_ranks(json, "bytes_per_token_per_rank", size.per_token_on_rank);
    json.field("state_bytes_per_sequence", size.state).field("bytes_once", size.once);
    write_points(json, size);
    write_groups(json, model, size);
    if (per_layer) {
        write_layers(json, model, read.shared, size);
    }
    if (!heading.reserved.empty()) {
        json.array("reserved_per_request");
        for (const ReservedAt& at : heading.reserved) {
            json.object({}, Layout::flat).field("tokens", at.tokens).field("bytes", at.bytes);
            json.field("units", at.units).field("unit", at.unit).end();
        }
        json.end();
    }
    write_notes(json, notes);
    return json.end().text();
}

inline std::string size_csv(const SizeQuestion& asked, const SizeAnswer& size) {
    std::string out = "tokens,sequences,scope,pp,tp,cp,dp,bytes_per_token,held_bytes\n";
    const auto number = [](u64 n) { return fmt::format_int(n).str(); };
    for (const SizeAnswer::At& at : size.points) {
        const std::string point = number(at.point.tokens) + ',' + number(at.point.sequences) + ',';
        for (std::size_t i = 0; i < at.held.size(); ++i) {
            const RankAt& rank = at.held[i].rank;
            out += fmt::format("{}rank,{},{},{},{},{},{}\n", point, rank.pp, rank.tp, rank.cp, rank.dp,
                               size.per_token_on_rank[i].bytes.value, at.held[i].bytes.value);
        }
        out += fmt::format("{}total,,,,,{},{}\n", point, per_token_over_ranks(asked, size).value,
                           at.total.value);
        out += fmt::format("{}unique,,,,,{},{}\n", point, size.per_token.value, at.unique.value);
    }
    return out;
}

}  // namespace kvcap::inline v1::report
