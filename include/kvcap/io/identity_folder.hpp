// SPDX-License-Identifier: MIT
// Under which file name does vLLM's file tier, and llm-d's file backend since it uses vLLM's mapper, keep a block?
//   <model, / as _>_<12 hex digits>_r<rank>/<hhh>/<hh>_g<group>/<block hash>.bin
// The digits begin the SHA-256 of the run's config.json, keys sorted, without blanks, ASCII only. That file lies in the
// folder without _r<rank> and has facts that no identity states (names of layers by group), so it is read, not guessed.
// Source: vllm v1/kv_offload/file_mapper.py (2026), with hash_block_size or tokens_per_hash, and later fields alike.
#pragma once

#include <kvcap/identity/keys.hpp>
#include <kvcap/io/json_load.hpp>

namespace kvcap::inline v1 {

/// One run's description. agnostic: sizes are written as 1 and the rank as 0, so all shardings share the folder.
struct RunConfig {
    std::string canonical;
    std::string model;
    u64 tp = 1;
    u64 pp = 1;
    u64 pcp = 1;
    u64 dcp = 1;
    bool agnostic = false;
};

/// A problem names the field.
inline Diagnosed<RunConfig> read_run_config(std::string_view json) {
    const Diagnosed<JsonDocument> document = load_json(json);
    if (!document) {
        return *document.error;
    }
    const JsonValue root = root_of(*document);
    if (!root.is_object()) {
        return Problem{Trouble::invalid, {}, root.shown(), "an object with the fields of a run", {}};
    }
    const auto wrong = [&](std::string_view field, const char* wanted) {
        const JsonValue value = root[field];
        return Problem{Trouble::invalid, std::string{field}, value.present() ? value.shown() : "nothing", wanted,
                       "the config.json in the folder of a run"};
    };
    if (!root["model_name"].is_text()) {
        return wrong("model_name", "a text");
    }
    if (!root["kv_cache_groups"].is_array()) {
        return wrong("kv_cache_groups", "a list of groups");
    }
    RunConfig run{.canonical = {}, .model = std::string{root["model_name"].text()}};
    const std::pair<std::string_view, u64 RunConfig::*> sizes[] = {
        {"tp_size", &RunConfig::tp}, {"pp_size", &RunConfig::pp}, {"pcp_size", &RunConfig::pcp},
        {"dcp_size", &RunConfig::dcp}};
    for (const auto& [name, member] : sizes) {
        if (!root[name].is_whole() || root[name].whole() == 0) {
            return wrong(name, "a number of ranks");
        }
        run.*member = root[name].whole();
    }
    const bool single = run.tp == 1 && run.pp == 1 && run.pcp == 1 && run.dcp == 1;
    run.agnostic = single && !root["parallel_agnostic"].present();
    const nlohmann::json fields = nlohmann::json::parse(json, nullptr, false);
    if (fields.is_discarded()) {
        return Problem{Trouble::invalid, {}, "numbers that JSON does not have", "plain JSON", {}};
    }
    run.canonical = fields.dump(-1, ' ', true);
    return run;
}

/// Where a run and an identity disagree; `fine` when one folder serves both.
inline Refusal disagreement(const RunConfig& run, const FormatIdentity& id) {
    if (!(id.model == StatedText{std::string_view{run.model}})) {
        return {Field::model, WhyRefused::malformed};
    }
    const std::pair<Field, bool> same[] = {
        {Field::tp, id.tp == StatedNumber{run.tp}}, {Field::pp, id.pp == StatedNumber{run.pp}},
        {Field::pcp, id.pcp == StatedNumber{run.pcp}}, {Field::dcp, id.dcp == StatedNumber{run.dcp}}};
    for (const auto& [field, good] : same) {
        if (!good && !run.agnostic) {
            return {field, WhyRefused::malformed};
        }
    }
    return {};
}

/// The folder of all ranks' folders: config.json lies in it. digest: SHA-256.
template <Digest D>
std::string run_folder(const RunConfig& run, D&& digest) {
    std::string name = run.model;
    std::replace(name.begin(), name.end(), '/', '_');
    return name + '_' + hex(digest(std::string_view{run.canonical})).substr(0, 12);
}

/// block_hash: the vLLM block hash of the file's last block, as bytes. pre: no disagreement(run, id)
template <Digest D>
std::string run_file(const RunConfig& run, const FormatIdentity& id, std::string_view block_hash, D&& digest) {
    const std::string name = hex(block_hash);
    const u64 rank = run.agnostic ? 0 : worker_of(id).rank;
    const std::string fan_out = '/' + name.substr(0, 3) + '/' + name.substr(3, 2) + "_g";
    return run_folder(run, digest) + "_r" + std::to_string(rank) + fan_out + std::to_string(id.group.value) + '/' +
           name + ".bin";
}

}  // namespace kvcap::inline v1
