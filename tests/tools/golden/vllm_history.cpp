// SPDX-License-Identifier: MIT
// vLLM's history/1 file (the capacity cases of its folder through older rules) and engine_tests/1.
#include "reuse.hpp"
#include "vllm.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace golden {

namespace {

using vllm::Spec;

/// A planner's input without a model: specs, who owns which, memory.
struct SpecCase {
    vllm::Outcome outcome{};
    vllm::Engine engine{};
    std::vector<std::string> names;
    std::vector<Bytes> available;

    /// From specs to the plan.
    void run() {
        vllm::Design& made = outcome.design;
        made.options = engine.options;
        vllm::group(made.layout, made.options, engine.rules, made.grouping);
        engine.run({available.data(), static_cast<u32>(available.size())}, outcome);
    }
    void add(const std::string& name, const Spec& spec, u32 stage) {
        vllm::Layout& layout = outcome.design.layout;
        names.push_back(name);
        if (!layout.caches.push(
                {.spec = static_cast<u16>(layout.index_of(spec)), .stage = static_cast<u16>(stage)})) {
            throw std::runtime_error("at most 512 caches");
        }
    }
};

/// The capacity cases of the files beside `path`, by id.
std::map<std::string, Json> capacity_cases(const std::string& path) {
    std::map<std::string, Json> cases;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::absolute(path).parent_path())) {
        if (entry.path().filename().string().rfind("capacity_", 0) == 0) {
            std::ifstream in(entry.path(), std::ios::binary);
            const Json file = Json::parse(in);
            for (const Json& one : file.at("cases")) {
                cases[one.at("id").get<std::string>()] = one;
            }
        }
    }
    return cases;
}

vllm::Rules rules_at(const std::string& date) {
    const Result<vllm::Rules> rules = vllm::rules_named(date.c_str());
    if (!rules) {
        throw std::runtime_error("a date with known rules, not " + date);
    }
    return *rules;
}

/// The case's own specs, but window layers in blocks of the resolved size.
SpecCase at_date(const Json& json, const std::string& date) {
    const StrictObject one{json};
    const StrictObject engine{one.at("engine")};
    const VllmCase lowered = vllm_case(engine, StrictObject{one.at("model")});
    SpecCase to;
    to.engine = {.options = lowered.options, .rules = rules_at(date)};
    to.outcome.design.sharding = vllm::sharding_of(lowered.sharding);
    to.outcome.design.layout.stages = lowered.sharding.pp;
    to.outcome.design.load = vllm::load_of(lowered.options, to.engine.rules, lowered.sharding);
    for (const Json& bytes : engine.at("available_bytes")) {
        to.available.push_back({bytes.get<u64>()});
    }
    std::vector<Json> shapes;
    std::map<std::string, Spec> specs;
    const Json& resolved = one.at("resolved");
    for (const auto& [name, type] : resolved.at("layer_types").items()) {
        Spec spec = vllm_spec(type, shapes);
        const bool chooses =
            spec.kind == vllm::SpecKind::window && !to.engine.rules.has(vllm::Change::windows_choose_block);
        const auto form = std::find(lowered.types.begin(), lowered.types.end(), name) - lowered.types.begin();
        spec.tag = lowered.options.facts_of(static_cast<u32>(form)).tag;
        spec.version = lowered.options.facts_of(static_cast<u32>(form)).version;
        vllm::forget(spec, to.engine.rules);
        spec.block = chooses ? resolved.at("block_size").get<u64>() : spec.block;
        specs[name] = spec;
    }
    const auto ends = vllm::stage_ends(lowered.model, to.outcome.design.sharding).value();
    for (u32 c = 0; c < lowered.model.caches.size(); ++c) {
        const Cache& cache = lowered.model.caches[c];
        const auto end = std::find_if(ends.begin(), ends.end(), [&](u32 e) { return cache.layer < e; });
        to.add(lowered.caches[c], specs.at(lowered.types[cache.form]), static_cast<u32>(end - ends.begin()));
    }
    to.run();
    return to;
}

Json result_of(const SpecCase& from) {
    const vllm::Outcome& outcome = from.outcome;
    if (!outcome.runs()) {
        return {{"error", vllm::name_of(outcome.sizing.refusal.reason)}};
    }
    const VllmGroups groups{outcome.design};
    Json json{{"num_blocks", outcome.sizing.blocks}, {"max_model_len", outcome.sizing.max_len},
              {"max_concurrency", outcome.log.concurrency}, {"capacity_tokens", outcome.log.tokens}};
    json["group_sizes"] = Json::array();
    json["group_blocks"] = Json::array();
    for (u32 kind = 0; kind < groups.members.size(); ++kind) {
        for (u32 group = 0; group < groups.members[kind].size(); ++group) {
            json["group_sizes"].push_back(groups.on_stage(kind, group, 0).size());
            json["group_blocks"].push_back(outcome.design.grouping.kinds[kind].spec.block);
        }
    }
    return json;
}

void run_history(const Json& json, const std::map<std::string, Json>& cases, Report& report) {
    const StrictObject one{json};
    const auto id = one.get<std::string>("case");
    report.begin(id);
    try {
        const auto known = cases.find(id);
        if (known == cases.end()) {
            throw std::runtime_error("a capacity case of this folder");
        }
        for (const auto& [date, want] : one.at("by_date").items()) {
            report.equal(date, want, result_of(at_date(known->second, date)));
        }
        one.done("the case");
    } catch (const std::exception& wrong) {
        report.fail("case", wrong.what(), "not so");
    }
    report.end();
}

/// `engine` of engine_tests/1.
void read_engine(const StrictObject& from, SpecCase& to) {
    vllm::Options& options = to.engine.options;
    options.max_model_len = from.get<u64>("max_model_len", options.max_model_len);
    options.num_blocks_override = from.get<u64>("num_blocks_override", 0);
    options.hybrid_manager = from.get<bool>("hybrid_manager", true);
    options.auto_length = from.get<bool>("auto_fit", false);
    to.outcome.design.load = {.in_flight = from.get<u64>("max_in_flight_tokens", 0),
                              .dcp = from.get<u32>("dcp", 1)};
    from.ignore("pp");
    if (from.has("state_cache_mode") &&
        !vllm::mode_named(from.get<std::string>("state_cache_mode").c_str(), options.mode)) {
        throw std::runtime_error("a known state mode");
    }
    from.done("the engine");
}

Spec checked_spec(const Json& json, std::vector<Json>& shapes) {
    const Spec spec = vllm_spec(json, shapes);
    if (spec.page() != json.at("page_bytes").get<u64>()) {
        throw std::runtime_error("a page of " + std::to_string(spec.page()) + " bytes");
    }
    return spec;
}

/// A key that is absent when its value is 0.
void set_or_erase(Json& json, const char* key, u64 value) {
    json.erase(key);
    if (value != 0) {
        json[key] = value;
    }
}

/// The spec of a layer as it was reported, with what planning changes.
Json spec_json(const Json& own, const Spec& now) {
    Json json = own;
    json["kind"] = vllm::name_of(now.kind);
    json["block_size"] = now.block;
    json["page_bytes"] = now.page();
    set_or_erase(json, "page_bytes_padded_to", now.padded_page());
    set_or_erase(json, "window", now.window);
    set_or_erase(json, "chunk", now.chunk);
    set_or_erase(json, "alignment", now.align);
    return json;
}

Json groups_json(const SpecCase& from, const VllmGroups& groups, u32 stage,
                 const std::vector<Json>& reported) {
    Json list = Json::array();
    for (u32 kind = 0; kind < groups.members.size(); ++kind) {
        const vllm::GroupKind& of = from.outcome.design.grouping.kinds[kind];
        for (u32 group = 0; group < groups.members[kind].size(); ++group) {
            const std::vector<u32> own = groups.on_stage(kind, group, stage);
            Json one{{"layers", Json::array()}};
            Json members = Json::object();
            u64 page = 0;
            for (const u32 c : own) {
                one["layers"].push_back(from.names[c]);
            }
            for (const u32 c :
                 own.empty() ? groups.members[kind][group] : own) {  // without layers: as on the whole model
                const Spec& spec =
                    from.outcome.design.grouping.specs[from.outcome.design.layout.caches[c].spec];
                members[from.names[c]] = spec_json(reported[c], spec);
                page += spec.page();
            }
            one["spec"] = of.mixed ? Json{{"kind", "uniform_type"},
                                          {"block_size", of.spec.block},
                                          {"page_bytes", page},
                                          {"members", members}}
                                   : spec_json(reported[groups.members[kind][group][0]], of.spec);
            list.push_back(one);
        }
    }
    return list;
}

/// The file again, with keys in the order in which layers were registered.
using Ordered = nlohmann::ordered_json;

Json unordered(const Ordered& json) { return Json::parse(json.dump()); }

/// Workers name their layers; equal workers are one stage. Sets `differ` when one layer has two specs.
std::vector<u32> read_workers(const Ordered& workers, SpecCase& to, std::vector<Json>& reported,
                              bool& differ) {
    std::vector<Ordered> stages;
    std::vector<u32> stage_of;
    std::vector<Json> shapes;
    std::map<std::string, Json> known;
    for (const Ordered& worker : workers) {
        const auto seen = std::find(stages.begin(), stages.end(), worker);
        stage_of.push_back(static_cast<u32>(seen - stages.begin()));
        if (seen != stages.end()) {
            continue;
        }
        for (const auto& [name, spec] : worker.items()) {
            const Json own = unordered(spec);
            differ = differ || (known.count(name) != 0 && known[name] != own);
            known[name] = own;
        }
        stages.push_back(worker);
    }
    for (u32 stage = 0; stage < stages.size(); ++stage) {
        for (const auto& [name, spec] : stages[stage].items()) {
            reported.push_back(unordered(spec));
            to.add(name, checked_spec(reported.back(), shapes), stage);
        }
    }
    to.outcome.design.layout.stages = static_cast<u32>(stages.size());
    return stage_of;
}

void run_config(const Json& json, const Ordered& ordered, Report& report) {
    const StrictObject one{json};
    const StrictObject input{one.at("input")};
    SpecCase from;
    read_engine(StrictObject{input.at("engine")}, from);
    std::vector<Json> reported;
    bool differ = false;
    const std::vector<u32> stages = read_workers(ordered.at("input").at("workers"), from, reported, differ);
    input.ignore("workers");
    for (const Json& bytes : input.at("available_bytes")) {
        from.available.push_back({bytes.get<u64>()});
    }
    const Json& want = one.at("expected");
    Json got;
    if (differ) {
        got = {{"error", "specs_differ_across_workers"}};
    } else {
        from.run();
        got = {{"error", vllm::name_of(from.outcome.sizing.refusal.reason)}};
    }
    if (!differ && from.outcome.runs()) {
        const VllmGroups groups{from.outcome.design};
        got = {{"max_model_len_after", from.outcome.sizing.max_len}, {"workers", Json::array()}};
        for (const u32 stage : stages) {
            got["workers"].push_back(
                {{"num_blocks", from.outcome.sizing.blocks},
                 {"tensors", vllm_tensors(groups, stage, from.outcome.sizing.blocks, from.names, "layers")},
                 {"groups", groups_json(from, groups, stage, reported)}});
        }
    }
    report.equal("expected", want, got);
    input.done("the input");
    one.ignore("test");
    one.done("the case");
}

void run_groups(const Json& json, const Ordered& ordered, Report& report) {
    const StrictObject input{json.at("input")};
    SpecCase from;
    read_engine(StrictObject{input.at("engine")}, from);
    std::vector<Json> shapes;
    std::vector<Json> reported;
    input.ignore("specs");
    for (const auto& [name, spec] : ordered.at("input").at("specs").items()) {
        reported.push_back(unordered(spec));
        from.add(name, checked_spec(reported.back(), shapes), 0);
    }
    from.available.push_back({u64{1} << 40});
    from.run();
    const VllmGroups groups{from.outcome.design};
    report.equal("expected", json.at("expected"), {{"groups", groups_json(from, groups, 0, reported)}});
    input.done("the input");
}

/// Groups as given, without planning them.
void run_concurrency(const Json& json, const Ordered&, Report& report) {
    const StrictObject input{json.at("input")};
    SpecCase from;
    read_engine(StrictObject{input.at("engine")}, from);
    const StrictObject config{input.at("config")};
    config.ignore("tensors");
    vllm::Design& made = from.outcome.design;
    std::vector<Json> shapes;
    made.grouping.shape = vllm::Shape::general;
    for (const Json& group : config.at("groups")) {
        const Json& spec = group.at("spec");
        const bool mixed = spec.at("kind") == "uniform_type";
        vllm::GroupKind kind{.caches = static_cast<u16>(group.at("layers").size()), .mixed = mixed};
        kind.spec = checked_spec(mixed ? *spec.at("members").begin() : spec, shapes);
        kind.size = kind.caches;
        kind.page = spec.at("page_bytes").get<u64>();
        if (!made.grouping.kinds.push(kind)) {
            throw std::runtime_error("at most 32 groups");
        }
    }
    const vllm::Planning with{made.layout, made.grouping, from.engine.options, from.engine.rules, made.load};
    const vllm::Sizing sizing{.max_len = from.engine.options.max_model_len,
                              .blocks = config.get<u64>("num_blocks")};
    report.equal("max_concurrency", json.at("expected").at("max_concurrency"),
                 vllm::log_of(with, sizing, 0).concurrency);
    config.done("the config");
    input.done("the input");
}

/// The estimate over ungrouped specs.
void run_maxlen(const Json& json, const Ordered&, Report& report) {
    const StrictObject input{json.at("input")};
    SpecCase from;
    read_engine(StrictObject{input.at("engine")}, from);
    std::vector<Json> shapes;
    for (const auto& [name, spec] : input.at("specs").items()) {
        from.add(name, checked_spec(spec, shapes), 0);
    }
    const vllm::Design& made = from.outcome.design;
    const vllm::Planning with{made.layout, made.grouping, from.engine.options, from.engine.rules, made.load};
    const u64 usable = input.get<u64>("available_bytes");
    const u64 got = largest(from.engine.options.max_model_len, [&](u64 tokens) {
        return vllm::ungrouped_bytes(with, 0, tokens) <= usable;
    });
    report.equal("max_model_len", json.at("expected").at("max_model_len"), got);
    input.done("the input");
}

void run_test(const Json& json, const Ordered& ordered, Report& report,
              void (*run)(const Json&, const Ordered&, Report&)) {
    report.begin(json.value("test", json.dump()));
    try {
        run(json, ordered, report);
    } catch (const std::exception& wrong) {
        report.fail("case", wrong.what(), "not so");
    }
    report.end();
}

void run_tests(const File& file) {
    std::ifstream in(file.path, std::ios::binary);
    const Ordered content = Ordered::parse(in);
    for (const auto& [key, list] : file.content.items()) {
        if (!list.is_array()) {
            continue;
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Json& one = list[i];
            const Ordered& ordered = content.at(key).at(i);
            if (key == "configs") {
                run_test(one, ordered, file.report, run_config);
            } else if (key == "groups") {
                run_test(one, ordered, file.report, run_groups);
            } else if (key == "concurrency") {
                run_test(one, ordered, file.report, run_concurrency);
            } else if (key == "maxlen") {
                run_test(one, ordered, file.report, run_maxlen);
            } else if (key == "lookups") {
                vllm_lookup(one, file.report);
            } else if (key == "single_lookups") {
                vllm_single_lookup(one, file.report);
            } else {
                file.report.begin(key);
                file.report.fail("list", "a known list", key);
                file.report.end();
            }
        }
    }
}

}  // namespace

extern const Format vllm_history{"vllm history", [](const File& file) { return of_vllm(file, "history/1"); },
                                 [](const File& file) {
                                     const auto cases = capacity_cases(file.path);
                                     for (const Json& one : file.content.at("cases")) {
                                         run_history(one, cases, file.report);
                                     }
                                 }};

extern const Format vllm_engine_tests{
    "vllm engine tests", [](const File& file) { return of_vllm(file, "engine_tests/1"); }, run_tests};

}  // namespace golden
