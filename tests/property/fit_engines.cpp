// SPDX-License-Identifier: MIT
// Every engine and fit: of random cards, budgets and loads the longest request fits and the next one does not, nor does
// any longer; every suggested change fits, and the value before it does not, engine options among them.
#include "cards.hpp"
#include "random.hpp"

#include <cstdio>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/plan/changes.hpp>
#include <memory>

namespace fit_engines_tests {

using namespace kvcap;
using namespace property;

namespace {

/// A load on one rank under one engine. Knobs: each engine's own, as lists of values.
struct RankLoad {
    const Card* card = nullptr;
    Bytes budget{};
    int engine = 0;

    u32 format(const Setting& setting) const { return setting.kv_format; }
    u32 value(const Setting& setting, u32 knob, std::initializer_list<u32> values, u32 otherwise) const {
        return setting.knob == knob ? *(values.begin() + setting.knob_value) : otherwise;
    }
};

constexpr std::initializer_list<u32> block_sizes{128, 64, 32, 16};
constexpr std::initializer_list<u32> batched{4096, 2048, 1024, 512};
constexpr std::initializer_list<u32> pages{32, 16, 8, 4, 1};
constexpr std::initializer_list<u32> ratios{70, 60, 50, 40, 30, 20, 10};

u64 length_of(const Setting& setting) { return larger(setting.tokens.value, 1); }

bool vllm_fits(const RankLoad& on, const Setting& setting, const Sharding& split, Bytes budget, u64 here) {
    const ReadModel& read = on.card->read;
    vllm::Engine engine{};
    engine.options.kv_dtype = on.format(setting) == 0 ? vllm::KvDtype::automatic : vllm::KvDtype::fp8;
    engine.options.max_model_len = length_of(setting);
    engine.options.kernel_blocks = vllm::default_backend(read.spec, engine.options.kv_dtype).blocks;
    engine.options.block_size = on.value(setting, 1, block_sizes, 256);
    engine.options.max_num_batched_tokens = on.value(setting, 2, batched, 8192);
    engine.options = vllm::for_class(read.spec, read.class_name.c_str(), engine.options);
    const std::vector<Bytes> all(split.pp, budget);
    const auto outcome = std::make_unique<vllm::Outcome>(
        engine.start(vllm::registered(read.spec, read.class_name.c_str()), split, {all.data(), split.pp}));
    return outcome->runs() && judge(outcome->plan, {.prompt = setting.tokens}, here).fits;
}

bool sglang_fits(const RankLoad& on, const Setting& setting, Sharding split, Bytes budget, u64 here) {
    const ReadModel& read = on.card->read;
    u64 window = 0;
    bool latents = false;
    for (const LayerForm& form : read.spec.forms) {
        const bool own = form.retention.keep == Keep::window && form.kind != Kind::compressor;
        window = larger(window, own ? form.retention.span.value : 0);
        latents = latents || form.kind == Kind::latent;
    }
    sglang::Options options{.dtype = on.format(setting) == 0 ? sglang::KvDtype::bf16 : sglang::KvDtype::fp8,
                            .context = length_of(setting)};
    options = sglang::with_architecture(options, read.class_name.c_str(), window);
    const bool fixed = sglang::has_compressors(read.spec) || (latents && sglang::has_index(read.spec));
    options.page = fixed ? (sglang::has_compressors(read.spec) ? 256 : 64) : on.value(setting, 1, pages, 64);
    options.window_ratio = on.value(setting, 2, ratios, 80) / 100.0;
    split.remainder = Remainder::last;
    split.uneven = Uneven::floor_at_least_one;
    const std::vector<Bytes> all(split.pp, budget);
    const auto plan = sglang::Engine{options}.pools(read.spec, split, {all.data(), split.pp});
    return plan && judge(*plan, {.prompt = setting.tokens}, here).fits;
}

bool trtllm_fits(const RankLoad& on, const Setting& setting, Sharding split, Bytes budget, u64 here) {
    const trtllm::Options options{
        .dtype = on.format(setting) == 0 ? trtllm::KvDtype::half : trtllm::KvDtype::fp8,
        .tokens_per_block = on.value(setting, 1, block_sizes, 256),
        .max_seq_len = length_of(setting),
        .free_fraction = 1.0,
        .max_batch = on.value(setting, 2, {32, 16, 8, 4}, 64)};
    split.uneven = Uneven::ceil;
    const std::vector<Bytes> all(split.pp, budget);
    const auto plan = trtllm::Engine{options}.pools(on.card->read.spec, split, {all.data(), split.pp});
    return plan && plan->max_len >= length_of(setting) && judge(*plan, {.prompt = setting.tokens}, here).fits;
}

bool verdict(const RankLoad& on, const Setting& setting) {
    Sharding split = setting.sharding;
    split.tp = setting.attention_dp ? 1 : split.tp;
    const Bytes budget = on.budget + setting.extra_memory;
    const u64 here = ceil_div(setting.sequences, setting.attention_dp ? setting.sharding.tp : 1);
    return on.engine == 0   ? vllm_fits(on, setting, split, budget, here)
           : on.engine == 1 ? sglang_fits(on, setting, split, budget, here)
                            : trtllm_fits(on, setting, split, budget, here);
}

Inplace<u32, most_knobs> knob_sizes(int engine) {
    Inplace<u32, most_knobs> sizes{};
    const u32 first = static_cast<u32>(engine == 1 ? pages.size() : block_sizes.size());
    const u32 second = static_cast<u32>(engine == 0 ? batched.size() : engine == 1 ? ratios.size() : 4);
    static_cast<void>(sizes.push(first));
    static_cast<void>(sizes.push(second));
    return sizes;
}

Setting step_back(const Change& change) {
    Setting less = change.setting;
    switch (change.kind) {
        case ChangeKind::shorter: less.tokens.value += 1; break;
        case ChangeKind::fewer: less.sequences += 1; break;
        case ChangeKind::more_memory: less.extra_memory.value -= 1; break;
        case ChangeKind::more_tp: less.sharding.tp /= 2; break;
        case ChangeKind::more_pp: less.sharding.pp /= 2; break;
        case ChangeKind::more_cp: less.sharding.cp /= 2; break;
        case ChangeKind::smaller_format: --less.kv_format; break;
        case ChangeKind::attention_dp: less.attention_dp = false; break;
        case ChangeKind::knob:
            less.knob = less.knob_value == 0 ? 0 : less.knob;
            less.knob_value -= less.knob_value == 0 ? 0 : 1;
            break;
    }
    return less;
}

struct Counted {
    u64 suggested = 0;
    u64 turned = 0;
};

/// Every suggested change fits and the step before it does not. The memory that would do; 0: none would.
u64 check_changes(const RankLoad& on, const Setting& asks, Counted& counted) {
    u64 lacking = 0;
    const ChangeLimits limits{.gpus = 64, .kv_formats = 2, .knobs = knob_sizes(on.engine)};
    for (const Change& change : smallest_changes(asks, limits, [&](const Setting& s) { return verdict(on, s); })) {
        ++counted.suggested;
        counted.turned += change.kind == ChangeKind::knob ? 1 : 0;
        lacking = change.kind == ChangeKind::more_memory ? change.setting.extra_memory.value : lacking;
        CAPTURE(on.budget.value, static_cast<int>(change.kind), change.setting.knob, change.setting.knob_value);
        CHECK(verdict(on, change.setting));
        CHECK_FALSE(verdict(on, step_back(change)));
    }
    return lacking;
}

}  // namespace

TEST_CASE("fit of every engine: L fits, L + 1 does not; every change fits, the step before does not", "[engine]") {
    Random random{seed() + 5};
    u64 answers = 0;
    Counted counted;
    for (u64 i = 0; i < cases(120); ++i) {
        RankLoad on{.card = &cards()[random.in(0, cards().size() - 1)],
                       .budget = {u64{1} << random.in(27, 37)},
                       .engine = static_cast<int>(i % 3)};
        Setting asks{.tokens = {random.log_in(1 << 17)}, .sequences = random.log_in(16),
                     .sharding = {.tp = 1u << random.in32(0, 3)}};
        CAPTURE(seed(), i, on.card->name, on.engine, on.budget.value, asks.tokens.value, asks.sequences,
                asks.sharding.tp);
        const auto fits_length = [&](u64 n) {
            Setting with = asks;
            with.tokens = {n};
            return n == 0 || verdict(on, with);
        };
        const u64 limit = larger(on.card->read.max_context, 4096);
        const u64 longest = largest(limit, fits_length);
        if (longest != 0 && longest < limit) {
            ++answers;
            for (int step = 0; step < 3; ++step) {
                CHECK(fits_length(random.in(1, longest)));
                CHECK_FALSE(fits_length(random.in(longest + 1, limit)));
            }
        }
        if (verdict(on, asks)) {
            continue;
        }
        if (const u64 lacking = check_changes(on, asks, counted); lacking != 0) {
            const u64 enough = on.budget.value + lacking;  // the same load, short of a little only
            on.budget = {enough - larger(enough / random.in(10, 400), 1)};
            if (!verdict(on, asks)) {
                check_changes(on, asks, counted);
            }
        }
    }
    std::printf("fit: %llu longest requests, %llu changes, %llu of engine options\n",
                static_cast<unsigned long long>(answers), static_cast<unsigned long long>(counted.suggested),
                static_cast<unsigned long long>(counted.turned));
    CHECK(answers >= at_least(21, 120));
    CHECK(counted.suggested >= at_least(41, 120));
    CHECK(counted.turned >= at_least(4, 120));
}

}  // namespace fit_engines_tests
