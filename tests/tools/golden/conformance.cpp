// SPDX-License-Identifier: MIT
// kv-conformance/1: held bytes of cards and spec lines, growth over lengths, presence of pages. Every field of `want`
// is compared; the cases are those that any other tool can be asked (tests/conformance/check.py).
#include "conformance.hpp"
#include "strict_object.hpp"

#include <iostream>
#include <kvcap/capacity.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/scenario.hpp>
#include <kvcap/io/spec_line.hpp>

namespace golden {

using namespace kvcap;

namespace {

/// The case's model, stored in the case's formats. A spec line says its formats itself.
ModelSpec model_of(const Json& one, const Json& config) {
    const bool line = one.contains("spec");
    const Diagnosed<ReadModel> read =
        line ? read_spec_line(one["spec"].get<std::string>()) : read_config(config.dump());
    if (!read) {
        throw std::runtime_error(read.error->text());
    }
    if (line) {
        return read->spec;
    }
    const Json& formats = one.at("formats");
    const Diagnosed<ModelSpec> stored = stored_as(read->spec, {.kv = formats.at("kv").get<std::string>(),
                                                               .state = formats.at("state").get<std::string>(),
                                                               .index = formats.at("index").get<std::string>(),
                                                               .conv = formats.at("conv").get<std::string>()});
    if (!stored) {
        throw std::runtime_error(stored.error->text());
    }
    return *stored;
}

Lengths lengths_of(const Json& one, u64 tokens) {
    const u64 decoded = one.value("decoded_tokens", u64{0});
    return {.prompt = {tokens - decoded}, .decoded = {decoded}, .encoder = {one.value("encoder_tokens", u64{0})}};
}

Sharding sharding_of(const Json& one) {
    Sharding to{.tp = one.value("tp", 1u), .cp = one.value("cp", 1u)};
    for (const Json& layers : one.value("pp_layers", Json::array())) {
        if (!to.stage_layers.push(layers.get<u16>())) {
            throw std::runtime_error("at most 64 stages");
        }
    }
    to.pp = to.stage_layers.empty() ? 1 : to.stage_layers.size();
    return to;
}

const char* role_name(Role role) {
    constexpr const char* names[] = {"key", "value", "latent", "rope", "index", "conv", "state"};
    return names[static_cast<u8>(role)];
}

/// Bytes of the unsharded model with nothing but the streams of one role.
u64 bytes_of_role(ModelSpec model, const Lengths& lengths, Role role) {
    for (LayerForm& form : model.forms) {
        Inplace<Stream, 6> kept{};
        for (const Stream& stream : form.streams) {
            if (stream.role == role && !kept.push(stream)) {
                throw std::runtime_error("at most six streams");
            }
        }
        form.streams = kept;
    }
    return fold(model, lengths).value().total().value;
}

Json by_stream(const ModelSpec& model, const Lengths& lengths, u64 sequences) {
    Json bytes = Json::object();
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            bytes[role_name(stream.role)] = sequences * bytes_of_role(model, lengths, stream.role);
        }
    }
    return bytes;
}

Json size_answer(const Json& one, const ModelSpec& model) {
    const Lengths lengths = lengths_of(one, one.at("tokens").get<u64>());
    const Sharding sharding = sharding_of(one);
    const u64 sequences = one.value("sequences", u64{1});
    Json ranks = Json::array();
    u64 growth = 0;
    for (u32 stage = 0; stage < sharding.pp; ++stage) {
        for (u32 cp = 0; cp < sharding.cp; ++cp) {
            const Result<Footprint> held = fold(model, lengths, sharding, {.stage = stage, .cp = cp});
            if (!held) {
                return {{"refused", sentence(held.error().code)}};
            }
            ranks.push_back(sequences * held->total().value);
        }
        growth += bytes_per_token(model, sharding, stage).value().value;
    }
    return {{"rank_bytes", ranks}, {"growth_per_token", growth},
            {"unique_bytes", sequences * over_ranks(model, lengths, sharding).value().unique.value},
            {"unique_bytes_by_stream", by_stream(model, lengths, sequences)}};
}

Json depth_answer(const Json& one, const ModelSpec& model) {
    Json all = Json::array();
    for (const Json& tokens : one.at("lengths")) {
        all.push_back(fold(model, lengths_of(one, tokens.get<u64>())).value().total().value);
    }
    return {{"rank_bytes", all}};
}

Json presence_answer(const Json& one) {
    Json question = one;
    for (const char* key : {"id", "kind", "want", "source"}) {
        question.erase(key);
    }
    const Diagnosed<ReuseScenario> read = read_scenario(question.dump());
    if (!read) {
        throw std::runtime_error(read.error->text());
    }
    const ScenarioView view{*read};
    const Explanation known = explain(view.groups.data(), view.count(), read->ask);
    const Repairs repairs = repair(view.groups.data(), view.count(), read->ask, view.prices());
    Json answer{{"boundary_tokens", known.tokens}, {"limiting_groups", Json::array()},
                {"without_tokens", Json::array()}, {"cheapest_repair", nullptr}};
    for (const u32 g : known.limiting) {
        answer["limiting_groups"].push_back(read->groups[view.index[g]].name);
    }
    for (u32 g = 0; g < view.count(); ++g) {
        answer["without_tokens"].push_back(known.without[g]);
    }
    if (repairs.steps > 0) {
        answer["cheapest_repair"] = {{"tokens", repairs.cheapest.tokens}, {"bytes", repairs.cheapest.bytes}};
    }
    return answer;
}

/// How a split that does not divide is refused is each tool's own; engines' refusals have categories.
bool agree(const Json& one, const std::string& field, const Json& want, const Json& got) {
    return field == "refused" && one.at("kind") == "bytes" ? got.is_string() : want == got;
}

void check(const Json& one, const Json& models, Report& report) {
    const Json got = conformance_answer(one, models.value(one.value("model", ""), Json()));
    for (const auto& [field, want] : one.at("want").items()) {
        const Json own = got.value(field, Json());
        if (!agree(one, field, want, own)) {
            report.fail(field, want, own);
        }
    }
    if (one.at("want").empty()) {
        report.fail("want", "something", "nothing");
    }
}

bool knows(const File& file) {
    return file.says("schema", "kv-conformance/1");
}

void run(const File& file) {
    const Json models = file.content.value("models", Json::object());
    for (const Json& one : file.content.at("cases")) {
        run_case(one, file.report, [&](const Json& json) { check(json, models, file.report); });
    }
}

}  // namespace

Json conformance_answer(const Json& one, const Json& model) {
    const std::string kind = one.at("kind").get<std::string>();
    if (kind == "presence") {
        return presence_answer(one);
    }
    if (kind == "plan") {
        return conformance_plan(one);
    }
    if (kind != "bytes" && kind != "depth") {
        throw std::runtime_error("the kind bytes, depth, presence or plan, not " + kind);
    }
    const ModelSpec read = model_of(one, model.is_object() ? model.value("config", Json()) : Json());
    return kind == "bytes" ? size_answer(one, read) : depth_answer(one, read);
}

int answer_lines() {
    for (std::string line; std::getline(std::cin, line);) {
        Json answer;
        try {
            const Json one = Json::parse(line);
            answer = conformance_answer(one, one);
        } catch (const std::exception& wrong) {
            answer = {{"error", wrong.what()}};
        }
        std::cout << answer.dump() << std::endl;
    }
    return 0;
}

extern const Format conformance_format{"conformance", knows, run};

}  // namespace golden
