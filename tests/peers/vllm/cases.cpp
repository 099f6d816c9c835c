// SPDX-License-Identifier: MIT
// cases VERSION CARDS_FOLDER SEED COUNT: plans of every card and of COUNT random sets of layers by the rules of
// VERSION, one JSON object a line: the layers' specs and memory (what vLLM's planner is given), and the answer.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/hf.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

using namespace kvcap;
using Json = nlohmann::ordered_json;
using vllm::Spec;
using vllm::SpecKind;

namespace {

Json spec_json(const Spec& spec) {
    const char* quant = vllm::quant_mode_of(spec.quant);
    return {{"kind", vllm::name_of(spec.kind)}, {"block", spec.block}, {"heads", spec.heads},
            {"key_dim", spec.key_dim}, {"value_dim", spec.value_dim}, {"slots", spec.slots},
            {"cell", spec.cell}, {"dtype_bytes", spec.dtype_bytes}, {"quant", quant == nullptr ? "none" : quant},
            {"by_stride", spec.by_stride}, {"ratio", spec.ratio}, {"align", spec.align},
            {"version", spec.version}, {"tag", spec.tag}, {"window", spec.window}, {"chunk", spec.chunk},
            {"sinks", spec.sinks}, {"drafts", spec.spec_blocks}, {"origin", spec.origin},
            {"state_bytes", spec.state_bytes}, {"padded", spec.padded_page()},
            {"mode", vllm::name_of(spec.mode)}, {"page", spec.page()}};
}

/// What vLLM's planner is given: specs, memory, and the few options it reads.
Json input_json(const vllm::Outcome& outcome, const std::vector<std::string>& names,
                const std::vector<Bytes>& memory) {
    const vllm::Design& made = outcome.design;
    Json specs = Json::array();
    for (const Spec& spec : made.layout.specs) {
        specs.push_back(spec_json(spec));
    }
    Json workers = Json::array();
    for (u32 stage = 0; stage < made.layout.stages; ++stage) {
        Json own = Json::object();
        for (u32 c = 0; c < made.layout.caches.size(); ++c) {
            const vllm::Member& cache = made.layout.caches[c];
            if (cache.stage == stage && cache.spec != vllm::no_spec) {
                own[names[c]] = cache.spec;
            }
        }
        workers.push_back(own);
    }
    Json bytes = Json::array();
    for (const Bytes& each : memory) {
        bytes.push_back(each.value);
    }
    return {{"specs", specs}, {"workers", workers}, {"available_bytes", bytes}, {"in_flight", made.load.in_flight},
            {"dcp", made.load.dcp}, {"max_model_len", made.options.max_model_len},
            {"auto_length", made.options.auto_length}, {"override", made.options.num_blocks_override},
            {"hybrid_manager", made.options.hybrid_manager}, {"encoder_tokens", made.options.encoder_tokens},
            {"mode", vllm::name_of(vllm::mode_of(made.options))}};
}

Json groups_json(const vllm::Design& made, const std::vector<std::string>& names, u32 stage) {
    Json all = Json::array();
    for (u32 k = 0; k < made.grouping.kinds.size(); ++k) {
        const vllm::GroupKind& kind = made.grouping.kinds[k];
        for (u32 g = 0; g < kind.groups; ++g) {
            std::vector<std::string> own(kind.caches);
            for (u32 c = 0; c < made.layout.caches.size(); ++c) {
                const Placement& at = made.grouping.placed[c];
                if (at.group_class == k && at.group == g && made.layout.caches[c].stage == stage) {
                    own.at(at.place) = names[c];
                }
            }
            Json layers = Json::array();
            for (const std::string& name : own) {
                if (!name.empty()) {
                    layers.push_back(name);
                }
            }
            all.push_back({{"layers", layers}, {"block", kind.spec.block}});
        }
    }
    return all;
}

Json answer_json(const vllm::Outcome& outcome, const std::vector<std::string>& names) {
    if (!outcome.runs()) {
        return {{"error", vllm::name_of(outcome.sizing.refusal.reason)}};
    }
    const vllm::Design& made = outcome.design;
    Json json{{"max_model_len", outcome.sizing.max_len}, {"blocks", outcome.sizing.blocks},
              {"tokens", outcome.log.tokens}, {"concurrency", vllm::hundredths(outcome.log.concurrency)}};
    json["bytes"] = made.grouping.shape == vllm::Shape::packed ? Json(nullptr) : Json::array();
    for (u32 stage = 0; stage < made.layout.stages; ++stage) {
        json["groups"].push_back(groups_json(made, names, stage));
        if (json["bytes"].is_array()) {
            json["bytes"].push_back(outcome.sizing.uses[stage].allocated * outcome.sizing.blocks);
        }
    }
    return json;
}

void write(const std::string& title, const vllm::Outcome& outcome, const std::vector<std::string>& names,
           const std::vector<Bytes>& memory) {
    const Json line{{"case", title}, {"input", input_json(outcome, names, memory)},
                    {"answer", answer_json(outcome, names)}};
    std::puts(line.dump().c_str());
}

// --- cards

vllm::Engine engine_for(const ReadModel& model, vllm::Options options, const vllm::Rules& rules) {
    options.kernel_blocks = vllm::default_backend(model.spec, options.kv_dtype).blocks;
    return {.options = vllm::for_class(model.spec, model.class_name.c_str(), options), .rules = rules};
}

std::vector<std::string> names_of(const ModelSpec& model) {
    std::vector<std::string> names;
    for (const Cache& cache : model.caches) {
        names.push_back("model.layers." + std::to_string(cache.layer) + "." + std::to_string(cache.form));
    }
    return names;
}

/// Returns how many were refused before vLLM's planner.
int plan_card(const std::string& card, const ReadModel& model, const vllm::Rules& rules) {
    constexpr vllm::KvDtype dtypes[] = {vllm::KvDtype::automatic, vllm::KvDtype::fp8,
                                        vllm::KvDtype::int8_per_token_head};
    constexpr Sharding splits[] = {{}, {.tp = 8}, {.pp = 2}};
    const ModelSpec spec = vllm::registered(model.spec, model.class_name.c_str());
    int refused = 0;
    for (const vllm::KvDtype dtype : dtypes) {
        for (const Sharding& split : splits) {
            for (const u64 mib : {512u, 4096u, 60'000u}) {
                const vllm::Options options{.kv_dtype = dtype, .max_model_len = 16'384,
                                            .encoder_tokens = model.encoder_tokens};
                const std::vector<Bytes> memory(split.pp, Bytes{mib << 20});
                const auto outcome = std::make_unique<vllm::Outcome>(engine_for(model, options, rules).start(
                    spec, split, {memory.data(), static_cast<u32>(memory.size())}));
                if (outcome->error.code != Errc::ok) {
                    ++refused;
                    continue;
                }
                const std::string title = card + " " + vllm::name_of(dtype) + " tp" + std::to_string(split.tp) +
                                          " pp" + std::to_string(split.pp) + " " + std::to_string(mib) + " MiB";
                write(title, *outcome, names_of(spec), memory);
            }
        }
    }
    return refused;
}

void plan_cards(const std::filesystem::path& folder, const vllm::Rules& rules) {
    int cards = 0;
    int refused = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".json") {
            continue;
        }
        if (const Diagnosed<ReadModel> read = read_config_file(entry.path()); read) {
            refused += plan_card(entry.path().stem().string(), *read, rules);
            ++cards;
        }
    }
    std::fprintf(stderr, "%d cards; %d plans refused for their split or layers, which no planner sees\n", cards,
                 refused);
}

// --- random layers

class Draw {
public:
    explicit Draw(u64 seed) : random_{seed} {}
    template <class T, std::size_t N>
    T of(const T (&values)[N]) {
        return values[below(N)];
    }
    u64 below(u64 n) { return random_() % n; }
    bool once_in(u64 n) { return below(n) == 0; }

private:
    std::mt19937_64 random_;
};

void latent(Draw& draw, Spec& spec) {
    spec.heads = spec.slots = 1;
    spec.key_dim = draw.of({576u, 512u, 132u});
    spec.value_dim = 0;
    spec.align = draw.of({0u, 0u, 576u});
}

Spec random_spec(Draw& draw, vllm::StateMode mode, const vllm::Rules& rules) {
    Spec spec{.kind = draw.of({SpecKind::full, SpecKind::full, SpecKind::window, SpecKind::window,
                               SpecKind::chunked, SpecKind::mla, SpecKind::window_mla, SpecKind::state}),
              .by_stride = !draw.once_in(4), .dtype_bytes = draw.of({u8{2}, u8{2}, u8{2}, u8{4}}),
              .block = draw.of({u64{16}, u64{16}, u64{32}, u64{64}}), .heads = draw.of({1u, 2u, 2u, 4u, 8u}),
              .key_dim = draw.of({64u, 64u, 128u, 96u})};
    spec.value_dim = draw.once_in(5) ? spec.key_dim / 2 : spec.key_dim;
    spec.slots = spec.heads;
    switch (spec.kind) {
        case SpecKind::full: spec.window = draw.of({u64{0}, u64{0}, u64{128}}); break;
        case SpecKind::window: spec.window = draw.of({u64{128}, u64{256}, u64{1024}}); break;
        case SpecKind::chunked: spec.chunk = draw.of({u64{128}, u64{512}}); break;
        case SpecKind::mla: latent(draw, spec); break;
        case SpecKind::window_mla:
            latent(draw, spec);
            spec.window = draw.of({u64{128}, u64{8}});
            break;
        default:
            spec = {.kind = SpecKind::state, .mode = mode, .block = draw.of({u64{16}, u64{64}}),
                    .spec_blocks = draw.of({0u, 0u, 2u}), .origin = static_cast<u32>(draw.below(3))};
            spec.state_bytes = 2432 * (spec.origin + 1);
            spec.padded = draw.of({u64{0}, u64{0}, u64{65'536}});
    }
    spec.cell = u64{spec.key_dim + spec.value_dim} * spec.dtype_bytes;
    vllm::forget(spec, rules);
    return spec;
}

void plan_random(Draw& draw, const std::string& title, const vllm::Rules& rules) {
    vllm::Engine engine{.rules = rules};
    vllm::Options& options = engine.options;
    options.max_model_len = draw.of({u64{16}, u64{500}, u64{4096}, u64{30'000}});
    options.auto_length = draw.once_in(6);
    options.hybrid_manager = !draw.once_in(6);
    options.num_blocks_override = draw.once_in(8) ? 40 : 0;
    const bool modes = rules.has(vllm::Change::aligned_states);
    options.mode = modes ? draw.of({vllm::StateMode::none, vllm::StateMode::align, vllm::StateMode::all})
                         : vllm::StateMode::none;
    options.prefix_caching = options.mode != vllm::StateMode::none;
    const auto outcome = std::make_unique<vllm::Outcome>();
    vllm::Design& made = outcome->design;
    made.options = options;
    made.load = {.in_flight = draw.of({u64{256}, u64{2048}}), .dcp = 1};
    made.layout.stages = draw.once_in(4) ? 2 : 1;
    std::vector<Spec> specs(1 + draw.below(4));
    for (Spec& spec : specs) {
        spec = random_spec(draw, options.mode, rules);
    }
    std::vector<std::string> names;
    const u64 layers = made.layout.stages + draw.below(24);
    for (u64 l = 0; l < layers; ++l) {
        const Spec& spec = specs[draw.once_in(2) ? draw.below(specs.size()) : l % specs.size()];
        const u16 stage = l + 1 < layers && l < layers / 2 ? u16{0} : static_cast<u16>(made.layout.stages - 1);
        names.push_back("model.layers." + std::to_string(l));
        static_cast<void>(made.layout.caches.push({static_cast<u16>(made.layout.index_of(spec)), stage}));
    }
    std::vector<Bytes> memory(made.layout.stages);
    for (Bytes& each : memory) {
        each = {draw.of({u64{1'000'000}, u64{100'000'000}, u64{1'000'000'000}}) + draw.below(99'999)};
    }
    vllm::group(made.layout, options, rules, made.grouping);
    engine.run({memory.data(), static_cast<u32>(memory.size())}, *outcome);
    write(title, *outcome, names, memory);
}

}  // namespace

int main(int count, char** arguments) {
    const Result<vllm::Rules> rules = vllm::rules_named(count == 5 ? arguments[1] : "");
    if (!rules) {
        std::fprintf(stderr, "cases VERSION CARDS_FOLDER SEED COUNT; known: 0.%u to 0.%u\n", vllm::oldest_release,
                     vllm::newest_release);
        return 2;
    }
    plan_cards(arguments[2], *rules);
    Draw draw{std::strtoull(arguments[3], nullptr, 10)};
    for (u64 i = 0; i < std::strtoull(arguments[4], nullptr, 10); ++i) {
        plan_random(draw, "random " + std::to_string(i), *rules);
    }
}
