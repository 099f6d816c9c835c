// SPDX-License-Identifier: MIT
// vLLM's capacity/1 and pipeline_split/1 files.
#include "vllm.hpp"

namespace golden {

namespace {

using vllm::Spec;
using vllm::SpecKind;

Json state_shapes(const VllmCase& from, const LayerForm& form) {
    Json conv;
    Json states = Json::array();
    for (const Stream& stream : form.streams) {
        const u32 local = form.kind == Kind::lightning ? stream.heads / from.sharding.tp
                                                       : heads_on_rank(stream, from.sharding).value();
        if (stream.role == Role::conv) {
            const u64 channels = (conv.is_null() ? 0 : conv[1].get<u64>()) + u64{local} * stream.width;
            conv = {stream.rows + vllm::draft_rows(form.kind, from.options), channels};
        } else if (form.kind == Kind::mamba1) {
            states.push_back({local, stream.width});
        } else {
            states.push_back({local, stream.rows, stream.width});
        }
    }
    Json all = Json::array();
    if (!conv.is_null()) {
        all.push_back(conv);
    }
    all.insert(all.end(), states.begin(), states.end());
    return all;
}

Json state_dtypes(const VllmCase& from, const LayerForm& form) {
    const std::string conv = from.conv_dtype == "auto" ? from.model_dtype : from.conv_dtype;
    const std::string state = form.kind == Kind::kda     ? "float32"
                              : from.ssm_dtype == "auto" ? conv
                                                         : from.ssm_dtype;
    if (form.kind == Kind::lightning || form.kind == Kind::short_conv) {
        return {conv};
    }
    return {conv, state};
}

std::string stored_dtype(const VllmCase& from, const Spec& spec, u32 form, const StrictObject& type) {
    const vllm::FormFacts facts = from.options.facts_of(form);
    if (facts.own_format) {
        return type.get<std::string>("dtype") == "float32" ? "float32"
               : spec.dtype_bytes == 1                     ? "uint8"
                                                           : from.model_dtype;
    }
    if (spec.quant == vllm::KvDtype::automatic) {
        return from.model_dtype;
    }
    return spec.quant == vllm::KvDtype::int8_per_token_head ? "int8" : "uint8";
}

/// Compares a field that is absent when it does not apply.
void optional(Report& report, const StrictObject& want, const std::string& key, const std::string& at,
              bool applies, const Json& got) {
    const Json wanted = want.has(key) ? want.at(key) : Json();
    report.equal(at + key, wanted, applies ? got : Json());
}

void compare_spec(const StrictObject& want, const VllmCase& from, const StrictObject& type, const Spec& spec,
                  u32 form, Report& report) {
    const std::string at = from.types[form] + ".";
    report.equal(at + "kind", want.at("kind"), vllm::name_of(spec.kind));
    report.equal(at + "block_size", want.at("block_size"), spec.block);
    report.equal(at + "unpadded_page_bytes", want.at("unpadded_page_bytes"), spec.natural_page());
    report.equal(at + "page_bytes", want.at("page_bytes"), spec.page());
    optional(report, want, "page_bytes_padded_to", at, spec.padded_page() != 0, spec.padded_page());
    if (spec.kind == SpecKind::state) {
        report.equal(at + "state_shapes", want.at("state_shapes"),
                     state_shapes(from, from.model.forms[form]));
        report.equal(at + "state_dtypes", want.at("state_dtypes"),
                     state_dtypes(from, from.model.forms[form]));
        report.equal(at + "cache_mode", want.at("cache_mode"), vllm::name_of(spec.mode));
        report.equal(at + "spec_blocks", want.at("spec_blocks"), spec.spec_blocks);
        return want.done("the spec");
    }
    report.equal(at + "kv_heads_local", want.at("kv_heads_local"), spec.heads);
    report.equal(at + "head_dim", want.at("head_dim"), spec.key_dim);
    report.equal(at + "head_dim_v", want.at("head_dim_v"), spec.value_dim);
    report.equal(at + "dtype", want.at("dtype"), stored_dtype(from, spec, form, type));
    report.equal(at + "dtype_bytes", want.at("dtype_bytes"), spec.dtype_bytes);
    const char* mode = vllm::quant_mode_of(spec.quant);
    optional(report, want, "quant_mode", at, mode != nullptr, mode == nullptr ? "" : mode);
    optional(report, want, "head_slots", at, spec.slots != spec.heads, spec.slots);
    if (want.has("bytes_per_slot_entry")) {
        report.equal(at + "bytes_per_slot_entry", want.at("bytes_per_slot_entry"), spec.cell);
    }
    const bool chunked = spec.kind == SpecKind::chunked;
    optional(report, want, "window", at, !chunked && spec.window != 0, spec.window);
    optional(report, want, "chunk", at, chunked, spec.chunk);
    optional(report, want, "sink_len", at, spec.sinks != 0, spec.sinks);
    optional(report, want, "compress_ratio", at, spec.ratio != 1, spec.ratio);
    optional(report, want, "alignment", at, spec.align != 0, spec.align);
    report.equal(at + "pad_by_stride", want.at("pad_by_stride"), spec.by_stride);
    want.done("the spec");
}

void compare_resolved(const StrictObject& want, const VllmCase& from, const Json& types,
                      const vllm::Design& made, Report& report) {
    report.equal("block_size", want.at("block_size"), made.blocks.block);
    Json stages = Json::array();
    for (u32 stage = 0; stage < made.sharding.pp; ++stage) {
        const LayerRange range = layers_of_stage(from.model.layers, made.sharding, stage).value();
        stages.push_back({range.begin, range.end});
    }
    report.equal("stages", want.at("stages"), stages);
    report.equal("max_in_flight_tokens", want.at("max_in_flight_tokens"), made.load.in_flight);
    report.equal("in_flight_batches", want.at("in_flight_batches"),
                 vllm::batches_in_flight(from.options, from.sharding.pp));
    bool states = false;
    for (const LayerForm& form : from.model.forms) {
        states = states || vllm::is_state(form);
    }
    optional(report, want, "state_cache_mode", "", states, vllm::name_of(made.blocks.mode));
    optional(report, want, "state_block_size", "", states, made.blocks.state_block);
    const Json& specs = want.at("layer_types");
    report.equal("layer_types.size", specs.size(), from.types.size());
    for (u32 form = 0; form < from.types.size(); ++form) {
        const bool skipped = from.options.facts_of(form).unquantised;
        const auto spec = vllm::spec_of(from.model.forms[form], form, skipped,
                                        {made.options, vllm::newest_rules, made.sharding, made.blocks});
        Spec reported = spec.value();
        reported.extra = 0;
        compare_spec(StrictObject{specs.at(from.types[form])}, from, StrictObject{types.at(from.types[form])},
                     reported, form, report);
    }
    want.done("resolved");
}

Json group_json(const VllmGroups& groups, const VllmCase& from, u32 kind, u32 group,
                const vllm::Outcome& outcome) {
    const vllm::GroupKind& of = groups.made.grouping.kinds[kind];
    const Lengths lengths = vllm::request_of(outcome.sizing.max_len, from.options);
    Json json{{"kind", vllm_group_kind(groups, kind)}, {"block_size", of.spec.block}, {"page_bytes", of.page},
              {"blocks_per_request", outcome.plan.classes[kind].steps.units(lengths)}};
    json["caches"] = Json::array();
    for (const u32 c : groups.members[kind][group]) {
        json["caches"].push_back(from.caches[c]);
        if (of.mixed) {
            json["uniform_type"] = true;
            json["page_bytes_by_cache_type"][from.types[from.model.caches[c].form]] =
                groups.made.grouping.specs[groups.made.layout.caches[c].spec].page();
        }
    }
    if (vllm::is_window(of.spec.kind)) {
        json["window"] = of.spec.window;
    }
    if (of.spec.kind == SpecKind::chunked) {
        json["chunk"] = of.spec.chunk;
    }
    const bool hinted = !of.mixed && (of.spec.kind == SpecKind::full || of.spec.kind == SpecKind::sink);
    if (hinted && of.spec.window != 0) {
        json["window_hint"] = of.spec.window;
    }
    if (hinted && of.spec.chunk != 0) {
        json["chunk_hint"] = of.spec.chunk;
    }
    if (of.draft) {
        json["eagle_flag"] = true;
    }
    return json;
}

Json workers_json(const VllmGroups& groups, const VllmCase& from, const vllm::Outcome& outcome) {
    Json workers = Json::array();
    const u32 count = static_cast<u32>(from.available.size());
    const vllm::Planning with{groups.made.layout, groups.made.grouping, groups.made.options,
                              vllm::newest_rules, groups.made.load};
    for (u32 w = 0; w < count; ++w) {
        const u32 stage = vllm::stage_of(w, count, groups.made.layout.stages);
        const vllm::Use& use = outcome.sizing.uses[stage];
        workers.push_back(
            {{"pool_bytes_per_block", use.per_block},
             {"max_bytes_per_request", vllm::request_bytes(with, use, stage, outcome.sizing.max_len)},
             {"tensors", vllm_tensors(groups, stage, outcome.sizing.blocks, from.caches, "caches")}});
    }
    return workers;
}

Json expected_json(const VllmCase& from, const vllm::Outcome& outcome) {
    if (!outcome.runs()) {
        return {{"error", vllm_error(outcome.sizing.refusal)}};
    }
    const VllmGroups groups{outcome.design};
    Json json{{"max_model_len", outcome.plan.max_len}, {"num_blocks", outcome.plan.pools[0].units},
              {"workers", workers_json(groups, from, outcome)}};
    json["groups"] = Json::array();
    Json padding = Json::array();
    for (u32 kind = 0; kind < groups.members.size(); ++kind) {
        for (u32 group = 0; group < groups.members[kind].size(); ++group) {
            json["groups"].push_back(group_json(groups, from, kind, group, outcome));
        }
        if (outcome.design.grouping.kinds[kind].padding != 0) {
            padding.push_back(outcome.design.grouping.kinds[kind].padding);
        }
    }
    if (!padding.empty()) {  // the recorded runs grouped twice, so every warning is there twice
        Json twice = padding;
        twice.insert(twice.end(), padding.begin(), padding.end());
        json["padding_layers"] = twice;
    }
    if (!groups.members.empty()) {
        const Lengths lengths = vllm::request_of(outcome.plan.max_len, from.options);
        json["blocks_per_request"] = demand(outcome.plan, lengths).units[0];
        json["max_concurrency"] = outcome.log.concurrency;
        json["max_concurrency_text"] = two_decimals(outcome.log.concurrency);
        json["capacity_tokens"] = outcome.log.tokens;
        json["reported_block_size"] = outcome.plan.reported_block;
        json["scheduler_block_size"] = outcome.plan.scheduler_block;
        json["hash_block_size"] = outcome.plan.hash_block;
    }
    return json;
}

/// Both ways: a field that one side lacks is a difference.
void compare_expected(const Json& want, const Json& got, Report& report) {
    for (const auto& [key, value] : want.items()) {
        report.equal(key, value, got.value(key, Json()));
    }
    for (const auto& [key, value] : got.items()) {
        if (!want.contains(key)) {
            report.fail(key, Json(), value);
        }
    }
}

void compare_error(const Json& want, const Json& got, Report& report) {
    if (!got.contains("error")) {
        report.fail("error", want, "a plan");
        return;
    }
    for (const auto& [key, value] : want.items()) {
        report.equal("error." + key, value, got["error"].value(key, Json()));
    }
}

void run_capacity(const Json& json, Report& report) {
    const StrictObject one{json};
    one.ignore("id");
    one.ignore("title");
    one.ignore("tags");
    const StrictObject engine{one.at("engine")};
    VllmCase from = vllm_case(engine, StrictObject{one.at("model")});
    for (const Json& bytes : engine.at("available_bytes")) {
        from.available.push_back({bytes.get<u64>()});
    }
    engine.done("the engine");
    const vllm::Engine vllm{.options = from.options};
    const vllm::Outcome outcome = vllm.start(
        from.model, from.sharding, {from.available.data(), static_cast<u32>(from.available.size())});
    if (outcome.error.code != Errc::ok) {
        char text[256];
        throw std::runtime_error(std::string{"a model that can be planned: "} +
                                 message(outcome.error, text, sizeof text));
    }
    compare_resolved(StrictObject{one.at("resolved")}, from, one.at("model").at("layer_types"),
                     outcome.design, report);
    const Json got = expected_json(from, outcome);
    const Json& want = one.at("expected");
    if (want.contains("error")) {
        compare_error(want["error"], got, report);
    } else {
        compare_expected(want, got, report);
    }
    one.done("the case");
}

void run_split(const Json& json, Report& report) {
    const StrictObject one{json};
    const Sharding sharding = vllm::sharding_of({.pp = one.get<u32>("stages")});
    Json got = Json::array();
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        const Result<LayerRange> range = layers_of_stage(one.get<u32>("num_layers"), sharding, stage);
        got.push_back(range ? Json(range->end - range->begin) : Json(sentence(range.error().code)));
    }
    report.equal("expected", one.at("expected"), got);
    one.done("the case");
}

}  // namespace

extern const Format vllm_capacity{
    "vllm capacity",
    [](const File& file) { return of_vllm(file, "capacity/1"); },
    [](const File& file) {
        for (const Json& one : file.content.at("cases")) {
            run_case(one, file.report, [&](const Json& json) { run_capacity(json, file.report); });
        }
    }};

extern const Format vllm_pipeline_split{
    "vllm pipeline split",
    [](const File& file) { return of_vllm(file, "pipeline_split/1"); },
    [](const File& file) {
        for (const Json& one : file.content.at("cases")) {
            run_case(one, file.report, [&](const Json& json) { run_split(json, file.report); });
        }
    }};

}  // namespace golden
