// SPDX-License-Identifier: MIT
// read(print(model)) == model for every model: of policies under every decorator, of raw forms with arbitrary
// fields, in order and out of order, with draft and shared layers. And no text, however broken, is read as
// something else. Every card, shown by the program as a spec line and typed again, is the same card.
#include "../unit/program.hpp"
#include "grid.hpp"

#include <kvcap/io/spec_line.hpp>
#include <nlohmann/json.hpp>

namespace spec_line_tests {

using namespace kvcap;
using namespace property;

namespace {

ElementFormat any_format(Random& r) {
    const std::size_t named = std::size(spec::formats);
    return r.chance(70) ? spec::formats[r.in(0, named - 1)].value
                        : ElementFormat{.elems = r.in32(1, 300), .bytes = r.in32(0, 600)};
}

/// Every field anywhere in its range.
LayerForm raw_form(Random& r) {
    LayerForm form{};
    form.kind = static_cast<Kind>(r.in(0, static_cast<u64>(Kind::state)));
    form.retention.keep = static_cast<Keep>(r.in(0, static_cast<u64>(Keep::once)));
    form.retention.source = static_cast<Source>(r.in(0, 2));
    form.retention.stride = r.chance(70) ? 1 : static_cast<u32>(r.log_in(~u32{0}));
    form.retention.lag = r.chance(80) ? 0 : static_cast<u32>(r.log_in(~u32{0}));
    form.retention.span = {r.chance(50) ? 0 : r.log_in(off_scale)};
    form.retention.sinks = {r.chance(70) ? 0 : r.log_in(off_scale)};
    const u64 streams = r.in(1, 6);
    for (u64 i = 0; i < streams; ++i) {
        static_cast<void>(form.streams.push({.role = static_cast<Role>(r.in(0, 6)),
                                             .split = static_cast<Split>(r.in(0, 3)),
                                             .rows = static_cast<u16>(r.chance(60) ? 1 : r.log_in(0xffff)),
                                             .heads = static_cast<u32>(r.log_in(~u32{0})),
                                             .width = static_cast<u32>(r.log_in(~u32{0})),
                                             .format = any_format(r)}));
    }
    return form;
}

/// A policy under one or two storage schemes and retentions, by the library's own decorators.
LayerForms decorated(Random& r, LayerForms forms) {
    for (u64 i = r.in(0, 2); i > 0; --i) {
        const spec::Decorator& decorator = spec::decorators[r.in(0, std::size(spec::decorators) - 1)];
        spec::Wide n{};
        static_cast<void>(n.push(r.in(1, 8)));
        static_cast<void>(n.push(r.in(1, 8)));
        static_cast<void>(n.push(r.in(1, 64)));
        if (spec::takes(decorator, forms, n)) {
            forms = decorator.apply(forms, n);
        }
    }
    return forms;
}

LayerForms any_layer(Random& r) {
    if (r.chance(70)) {
        return decorated(r, property::random_layer(r));
    }
    LayerForms forms{};
    for (u64 i = r.in(1, 8); i > 0; --i) {
        static_cast<void>(forms.push(raw_form(r)));
    }
    return forms;
}

/// Layers in their order, or with caches that come late, early or beyond the model.
ModelSpec any_model(Random& r) {
    ModelSpec model{};
    LayerForms kinds[4];
    for (LayerForms& kind : kinds) {
        kind = any_layer(r);
    }
    model.layers = r.in32(0, 40);
    model.draft_layers = r.chance(25) ? r.in32(1, 4) : 0;
    model.query_heads = r.chance(50) ? 0 : static_cast<u32>(r.log_in(~u32{0}));
    const u32 period = r.in32(1, 6);
    const bool orderly = r.chance(70);
    for (u32 i = 0; i < model.all_layers(); ++i) {
        const u32 layer = orderly ? i : r.in32(0, model.all_layers() + (r.chance(5) ? 3 : 0) - 1);
        const LayerForms& kind = r.chance(90) ? kinds[i % period % 4] : kinds[r.in(0, 3)];
        if (model.caches.size() + kind.size() > 500 || model.add(layer, kind) != Errc::ok) {
            break;
        }
    }
    return model;
}

/// The same model with its forms in another order, perhaps one unused.
ModelSpec reordered(Random& r, const ModelSpec& model) {
    ModelSpec other = model;
    for (u32 i = model.forms.size(); i > 1; --i) {
        const u32 j = r.in32(0, i - 1);
        std::swap(other.forms[i - 1], other.forms[j]);
        for (Cache& cache : other.caches) {
            cache.form = cache.form == j       ? static_cast<u16>(i - 1)
                         : cache.form == i - 1 ? static_cast<u16>(j)
                                               : cache.form;
        }
    }
    const LayerForm more = raw_form(r);
    if (r.chance(30) && std::find(other.forms.begin(), other.forms.end(), more) == other.forms.end()) {
        static_cast<void>(other.forms.push(more));
    }
    return other;
}

std::vector<SharedLayer> any_shared(Random& r, const ModelSpec& model) {
    std::vector<bool> owns(model.all_layers(), false);
    for (const Cache& cache : model.caches) {
        if (cache.layer < owns.size()) {
            owns[cache.layer] = true;
        }
    }
    std::vector<SharedLayer> shared;
    for (u32 layer = 1; layer < model.layers; ++layer) {
        if (!owns[layer] && r.chance(50)) {
            shared.push_back({layer, r.in32(0, layer - 1)});
        }
    }
    return shared;
}

/// Forms that `add` refuses or leaves out cannot be in a model.
bool buildable(const ModelSpec& model) {
    for (const LayerForm& form : model.forms) {
        if (form.elements() == 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("spec lines round-trip every model") {
    Random random{property::seed()};
    u64 read_back = 0;
    u64 spelled_out = 0;
    const u64 cases = property::cases(20'000);
    for (u64 i = 0; i < cases; ++i) {
        const ModelSpec canonical = any_model(random);
        const ModelSpec model = random.chance(10) ? reordered(random, canonical) : canonical;
        REQUIRE(buildable(model));
        const std::string text = spec_line(model);
        const Diagnosed<ReadModel> again = read_spec_line(text);
        CAPTURE(property::seed(), i, text);
        REQUIRE(again.error.value_or(Problem{}).text().empty());
        REQUIRE(again->spec == model);
        spelled_out += text.find("form(") != std::string::npos ? 1 : 0;
        ++read_back;
    }
    CHECK(read_back == cases);
    CHECK(cases - spelled_out >= at_least(1, 20'000));
}

TEST_CASE("what policies make is printed by their names, a KIVI layer stored once more excepted") {
    Random random{property::seed() + 2};
    for (u64 i = 0; i < property::cases(2000); ++i) {
        const std::string text = spec_line(property::random_model(random));
        CAPTURE(property::seed(), i, text);
        REQUIRE((text.find("form(") == std::string::npos || text.find("lag=") != std::string::npos));
    }
}

TEST_CASE("what a spec line shares round-trips") {
    Random random{property::seed()};
    for (u64 i = 0; i < property::cases(500); ++i) {
        const ModelSpec model = property::random_model(random);
        const std::vector<SharedLayer> shared = any_shared(random, model);
        const std::string text = spec_line(model, shared);
        const Diagnosed<ReadModel> again = read_spec_line(text);
        CAPTURE(property::seed(), i, text);
        REQUIRE(again);
        REQUIRE(again->spec == model);
        REQUIRE(again->shared == shared);
    }
}

TEST_CASE("a printed line prints the same again, and broken lines are refused with an offset inside them") {
    Random random{property::seed() + 1};
    const std::string alphabet = "()*+,=:.- 0123456789kabcefghilmnopqrstuwx_#";
    for (u64 i = 0; i < property::cases(3000); ++i) {
        std::string text = spec_line(any_model(random));
        const Diagnosed<ReadModel> model = read_spec_line(text);
        CAPTURE(property::seed(), i, text);
        REQUIRE(model);
        REQUIRE(spec_line(model->spec, model->shared) == text);
        text[random.in(0, text.size() - 1)] = alphabet[random.in(0, alphabet.size() - 1)];
        const Diagnosed<ReadModel> broken = read_spec_line(text);
        CAPTURE(text);
        REQUIRE(broken.value.has_value() != broken.error.has_value());
        if (broken) {
            REQUIRE(read_spec_line(spec_line(broken->spec, broken->shared))->spec == broken->spec);
        } else {
            REQUIRE(broken.error->where.substr(0, 7) == "offset ");
            REQUIRE(std::stoull(broken.error->where.substr(7)) <= text.size());
            REQUIRE_FALSE(broken.error->wanted.empty());
        }
    }
}

TEST_CASE("grid: every card's spec line reads back as the card") {
    for (const Card& card : cards()) {
        INFO(card.name);
        const std::string text = spec_line(card.read.spec, card.read.shared);
        const Diagnosed<ReadModel> again = read_spec_line(text);
        REQUIRE(again);
        REQUIRE(again->spec == card.read.spec);
        REQUIRE(again->shared == card.read.shared);
    }
}

TEST_CASE("grid: what the program shows of a card, typed as a spec line, holds and shows the same") {
    if (!program::known()) {
        return;
    }
    Tally tally{"grid, shown"};
    const auto show = [](const std::string& model) {
        const program::Ran ran = program::run("show " + program::quoted(model) + " --json");
        REQUIRE(ran.code == 0);
        return nlohmann::json::parse(ran.out);
    };
    const Sharding splits[] = {{}, {.tp = 2}, {.pp = 2}, {.tp = 2, .cp = 2}};
    for (const Point& point : walk({cards().size(), 1, 1}, 1'000)) {
        const Card& card = cards()[point.card];
        CAPTURE(card.name);
        ++tally.points;
        const auto shown = show(card.path);
        const std::string line = shown.at("spec");
        const Diagnosed<ReadModel> typed = read_spec_line(line);
        REQUIRE(typed);
        for (const Sharding& split : splits) {
            for (const u64 n : grid_lengths) {
                const Lengths lengths{.prompt = {n}, .decoded = {5}, .encoder = {3}};
                REQUIRE(fold(typed->spec, lengths, split) == fold(card.read.spec, lengths, split));
                ++tally.laws;
            }
        }
        const auto again = show(line);
        for (const char* field : {"spec", "layers", "bytes_per_token", "state_bytes_per_sequence", "groups"}) {
            if (std::string{field} == "groups" && shown.at("encoder_tokens") != 0) {
                continue;  // sizes at the encoder's length, which no spec line says
            }
            CAPTURE(field);
            REQUIRE(again.at(field) == shown.at(field));
            ++tally.laws;
        }
        if (const std::string draft = shown.at("draft_spec"); !draft.empty()) {
            REQUIRE(read_spec_line(draft));
            REQUIRE(read_spec_line(draft)->spec == card.read.draft);
            ++tally.laws;
        }
    }
    CHECK(tally.laws >= at_least(100 * std::size(splits) * std::size(grid_lengths), 1'000));
}

}  // namespace spec_line_tests
