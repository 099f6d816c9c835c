// SPDX-License-Identifier: MIT
// A card planned by each engine, and what the planned ranks hold of it as that engine stores it: what the laws of
// grid_engines.cpp compare. Where held bytes cannot be compared, the plan says why.
#pragma once

#include "grid.hpp"
#include "vllm_stored.hpp"

#include <kvcap/engine/exact.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/message.hpp>
#include <memory>
#include <string>
#include <vector>

namespace property {

using namespace kvcap;

/// How many bits an element is asked to take: as the model says, 8, 4, and 4 in the engine's other layout.
enum class Width : u8 { own, eight, four, other_four };
inline constexpr u64 widths = 4;

/// refused: why there is no plan. unlike: why held bytes are not compared. stages: those that the plan reserves for.
struct Planned {
    PoolPlan plan{};
    ModelSpec stored{};
    Sharding ranks{};
    std::vector<u32> stages{0};
    std::string refused{};
    const char* unlike = nullptr;
    bool within_budget = true;
    bool keeps_encoder = true;
    u64 longest = off_scale;

    explicit operator bool() const { return refused.empty(); }
};

using Made = std::unique_ptr<Planned>;

struct Asked {
    const ReadModel& read;
    Sharding split;
    Width width;
    Bytes each;

    std::vector<Bytes> memory() const { return std::vector<Bytes>(split.pp, each); }
};

inline Made not_made(std::string why) {
    for (std::size_t at = why.find('%'); at != std::string::npos; at = why.find('%')) {
        why.replace(at, 2, "N");
    }
    auto made = std::make_unique<Planned>();
    made->refused = why;
    return made;
}

template <class Engine>
Made planned(const Engine& engine, const ModelSpec& model, const Asked& asked) {
    const std::vector<Bytes> memory = asked.memory();
    const auto plan = engine.pools(model, asked.split, {memory.data(), asked.split.pp});
    if (!plan) {
        REQUIRE(plan.error().code != Errc::ok);
        return not_made(sentence(plan.error().code));
    }
    auto made = std::make_unique<Planned>();
    made->plan = *plan;
    made->ranks = asked.split;
    return made;
}

inline Made plan_exact(const Asked& asked) {
    constexpr const char* names[] = {"auto", "fp8", "nvfp4", "int4_per_token_head"};
    const auto stored = stored_as(asked.read.spec, {.kv = names[static_cast<u8>(asked.width)]});
    if (!stored) {
        REQUIRE(asked.width >= Width::four);
        return not_made("the format divides no row");
    }
    Made made = planned(ExactEngine{}, *stored, asked);
    if (*made) {
        made->stored = *stored;
        made->stages = {made->plan.pools[0].limiting};
    }
    return made;
}

inline Made plan_vllm(const Asked& asked) {
    constexpr vllm::KvDtype dtypes[] = {vllm::KvDtype::automatic, vllm::KvDtype::fp8, vllm::KvDtype::nvfp4,
                                        vllm::KvDtype::int4_per_token_head};
    vllm::Options options{.kv_dtype = dtypes[static_cast<u8>(asked.width)], .max_model_len = 65'536,
                          .encoder_tokens = asked.read.encoder_tokens};
    options.kernel_blocks = vllm::default_backend(asked.read.spec, options.kv_dtype).blocks;
    const char* name = asked.read.class_name.c_str();
    const vllm::Engine engine{.options = vllm::for_class(asked.read.spec, name, options)};
    Made made = planned(engine, vllm::registered(asked.read.spec, name), asked);
    if (*made) {
        made->stored = as_stored(asked.read.spec, engine.options);
        made->stages = {made->plan.pools[0].limiting};
        made->ranks = vllm::sharding_of(asked.split);
    }
    return made;
}

inline sglang::Options sglang_options(const Asked& asked) {
    constexpr sglang::KvDtype dtypes[] = {sglang::KvDtype::bf16, sglang::KvDtype::fp8, sglang::KvDtype::fp4,
                                          sglang::KvDtype::fp4};
    u64 window = 0;
    for (const LayerForm& form : asked.read.spec.forms) {
        const bool slides = form.retention.keep == Keep::window && form.kind != Kind::compressor;
        window = larger(window, slides ? form.retention.span.value : 0);
    }
    sglang::Options options{.dtype = dtypes[static_cast<u8>(asked.width)],
                            .fp4 = asked.width == Width::other_four ? sglang::Fp4::mx_block16 : sglang::Fp4::nvfp4,
                            .page = sglang::has_compressors(asked.read.spec) ? 256u
                                    : sglang::has_index(asked.read.spec)     ? 64u
                                                                             : 16u};
    options = sglang::with_architecture(options, asked.read.class_name.c_str(), window);
    options.window_pool = options.window_pool || sglang::has_compressors(asked.read.spec);
    return options;
}

/// The stage with the fewest tokens by its own memory: whose pools the plan has.
inline u32 poorest_stage(const Asked& asked, const sglang::Options& options) {
    const double rest = static_cast<double>(asked.each.value) / bytes_per_gib;
    u64 fewest = off_scale;
    u32 poorest = 0;
    for (u32 stage = 0; stage < asked.split.pp; ++stage) {
        const auto own = sglang::rank_pools(asked.read.spec, asked.split, stage, rest, options);
        poorest = own.value().tokens_alone < fewest ? stage : poorest;
        fewest = smaller(fewest, own.value().tokens_alone);
    }
    return poorest;
}

inline Made plan_sglang(const Asked& asked) {
    const sglang::Options options = sglang_options(asked);
    Made made = planned(sglang::Engine{options}, asked.read.spec, asked);
    if (*made) {
        made->stored = sglang::as_stored(asked.read.spec, options).value();
        made->ranks = sglang::attention_ranks(asked.read.spec, asked.split, options).value();
        made->ranks.cp = 1;  // context ranks each keep every token
        made->stages = {poorest_stage(asked, options)};
        // fp8 latents of sparse attention (656 bytes for 576) and padded pages of DeepSeek-V4 are charged less.
        made->within_budget = !sglang::has_index(asked.read.spec) && !sglang::has_compressors(asked.read.spec);
    }
    return made;
}

inline Made plan_trtllm(const Asked& asked) {
    if (asked.width == Width::other_four) {
        return not_made("no other format of 4 bits");
    }
    constexpr trtllm::KvDtype dtypes[] = {trtllm::KvDtype::half, trtllm::KvDtype::fp8, trtllm::KvDtype::nvfp4};
    const trtllm::Options options{.dtype = dtypes[static_cast<u8>(asked.width)]};
    Made made = planned(trtllm::Engine{options}, asked.read.spec, asked);
    if (!*made) {
        return made;
    }
    made->stored = trtllm::as_stored(asked.read.spec, options).value();
    made->ranks = trtllm::attention_ranks(asked.read.spec, asked.split, options).value();
    made->stages = {made->plan.pools[0].limiting};
    for (const Pool& pool : made->plan.pools) {
        made->unlike = pool.limiting != made->stages[0] ? "pools bound by different stages" : made->unlike;
    }
    for (const LayerForm& form : asked.read.spec.forms) {
        for (const Stream& stream : form.streams) {
            const bool dealt = stream.split == Split::groups && stream.heads % made->ranks.tp != 0;
            made->unlike = dealt ? "groups that do not divide are dealt like channels" : made->unlike;
        }
    }
    made->longest = made->plan.max_len / 2;
    made->within_budget = false;  // C++ rounds up to whole blocks: engines_sglang_trtllm.cpp has the bound
    return made;
}

/// Blocks of each device under the layer split, which is a split into stages by their layers.
inline Sharding layer_split(const llamacpp::Card& card, const Sharding& split) {
    Sharding stages = split;
    u16 layers[llamacpp::most_devices]{};
    const llamacpp::Devices devices = llamacpp::devices_of(card, split);
    for (u32 block = 0; block < card.all_layers(); ++block) {
        ++layers[llamacpp::device_of(card, devices, block)];
    }
    for (u32 d = 0; d < split.pp; ++d) {
        REQUIRE(stages.stage_layers.push(layers[d]));
    }
    return stages;
}

/// A tensor split copies nothing but index keys: latents, and heads fewer than devices, lie on one device each.
inline bool rotates(const ModelSpec& model, u32 tp) {
    bool whole = false;
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            whole = whole || (stream.split == Split::replicated ? stream.role != Role::index : stream.heads % tp != 0);
        }
    }
    return tp > 1 && whole;
}

inline Made plan_llamacpp(const Asked& asked) {
    constexpr llamacpp::Ggml types[] = {llamacpp::Ggml::f16, llamacpp::Ggml::q8_0, llamacpp::Ggml::q4_0,
                                        llamacpp::Ggml::iq4_nl};
    const llamacpp::Ggml type = types[static_cast<u8>(asked.width)];
    Made made = planned(llamacpp::Engine{.options = {.n_ctx = 16'384, .type_k = type, .type_v = type}},
                        asked.read.spec, asked);
    if (!*made) {
        return made;
    }
    made->stored = restored(asked.read.spec, [&](u32, LayerForm form) noexcept {
                       for (Stream& stream : form.streams) {
                           const bool state = stream.role == Role::state || stream.role == Role::conv;
                           stream.format = state ? f32 : llamacpp::ggml_type(type).format;
                       }
                       return form;
                   }).value();
    if (rotates(asked.read.spec, asked.split.tp)) {
        made->unlike = "a tensor split rotates what it cannot cut";
    }
    if (asked.split.pp > 1) {
        made->ranks = layer_split(llamacpp::card_from(asked.read.spec).value(), asked.split);
        made->stages.clear();  // each pool has the bytes of its fullest device
        for (u32 d = 0; d < asked.split.pp; ++d) {
            made->stages.push_back(d);
        }
    }
    made->keeps_encoder = false;
    made->longest = made->plan.max_len / 2;
    return made;
}

struct NamedEngine {
    const char* name;
    Made (*plan)(const Asked&);
};
inline constexpr NamedEngine engines[] = {{"exact", plan_exact}, {"vllm", plan_vllm}, {"sglang", plan_sglang},
                                          {"trtllm", plan_trtllm}, {"llamacpp", plan_llamacpp}};

}  // namespace property
