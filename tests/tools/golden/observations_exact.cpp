// SPDX-License-Identifier: MIT
// Observations that ask for plain bytes: no engine (`exact`), or a stored object of one rank (`lmcache`).
#include "observations.hpp"

#include <kvcap/core.hpp>

namespace golden {

namespace {

using namespace kvcap;

u32 dtype_bytes(const std::string& name) {
    if (name == "f16" || name == "float16" || name == "bfloat16") {
        return 2;
    }
    if (name == "float32" || name == "f32") {
        return 4;
    }
    throw std::runtime_error("a known KV dtype, not " + name);
}

ModelSpec model_of(const Observation& asked) {
    ModelSpec model{};
    const ElementFormat format{.elems = 1, .bytes = dtype_bytes(asked.options.get<std::string>("kv_dtype"))};
    const StrictObject all{asked.model};
    for (const Json& json : all.at("groups")) {
        const StrictObject group{json};
        LayerForms forms = Gqa{.kv_heads = group.get<u32>("kv_heads"), .head_dim = group.get<u32>("head_dim"),
                               .value_dim = group.get<u32>("head_dim_v", 0), .format = format}.forms();
        const auto kind = group.get<std::string>("kind");
        if (kind == "window") {
            forms = retain(forms, Keep::window, {group.get<u64>("window")});
        } else if (kind != "full") {
            throw std::runtime_error("a known group kind, not " + kind);
        }
        for (u32 i = group.get<u32>("count"); i-- > 0;) {
            if (model.add(model.layers++, forms) != Errc::ok) {
                throw std::runtime_error("at most 512 caches");
            }
        }
        group.done("the group");
    }
    all.done("the model");
    return model;
}

/// The model with the streams of one role only.
ModelSpec only(const ModelSpec& model, Role role) {
    return restored(model, [&](u32, LayerForm form) noexcept {
               LayerForm kept = form;
               kept.streams.count = 0;
               for (const Stream& stream : form.streams) {
                   if (stream.role == role) {
                       kept.streams.items[kept.streams.count++] = stream;
                   }
               }
               return kept;
           }).value();
}

u64 held(const ModelSpec& model, u64 tokens, const Sharding& sharding) {
    return fold(model, {.prompt = {tokens}}, sharding).value().total().value;
}

Json answer(const Observation& asked) {
    const ModelSpec model = model_of(asked);
    const Sharding sharding{.tp = asked.options.get<u32>("tp")};
    Json json{{"bytes_per_token", bytes_per_token(model, sharding).value().value}};
    if (asked.options.has("tokens")) {
        const u64 tokens = asked.options.get<u64>("tokens");
        const u64 all = held(model, tokens, sharding);
        json["kv_bytes"] = all;
        json["kv_mib_2dp"] = scaled_text(all, 20, 2);
        json["kv_gib_2dp"] = scaled_text(all, 30, 2);
        json["object_gib_4dp"] = scaled_text(all, 30, 4);
        for (const auto& [name, role] : {std::pair{"k", Role::key}, std::pair{"v", Role::value}}) {
            const u64 bytes = held(only(model, role), tokens, sharding);
            json[std::string{name} + "_mib_2dp"] = scaled_text(bytes, 20, 2);
            json[std::string{name} + "_gib_2dp"] = scaled_text(bytes, 30, 2);
        }
    }
    if (asked.options.has("block_size")) {
        const u64 block = held(model, asked.options.get<u64>("block_size"), sharding);
        json["block_bytes"] = block;
        const bool stated = asked.options.has("available_bytes");
        if (asked.has_budget || stated) {
            const u64 budget = asked.has_budget ? asked.budget : asked.options.get<u64>("available_bytes");
            json["num_blocks"] = how_many(Bytes{budget}, Bytes{block}).value();
        }
    }
    return json;
}

u64 step(const Observation& asked) {
    const Json json = answer(asked);
    return json.value("block_bytes", u64{1});
}

}  // namespace

extern const Observer exact_observer{"exact", answer, step};
extern const Observer lmcache_observer{"lmcache", answer, step};

}  // namespace golden
