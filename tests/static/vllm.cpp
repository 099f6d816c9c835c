// SPDX-License-Identifier: MIT
// vLLM's rules as facts of the build: published numbers, versions, block alignment, groups and refusals.
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>

using namespace kvcap;
using vllm::Change;
using vllm::Reason;

namespace {

constexpr Bytes memory[2] = {{80ull << 30}, {80ull << 30}};
constexpr Budget one{memory, 1};
constexpr Budget two{memory, 2};

// --- blocks: Qwen3.5-4B logs 528, Qwen3.5-397B at TP 2 2096 (PR 35703), Qwen3.5-27B 784 (issue 40691)
constexpr ModelSpec qwen35(u32 layers, u32 value_heads, u32 kv_heads) {
    const GatedDelta delta{.key_heads = 16, .key_dim = 128, .value_heads = value_heads, .value_dim = 128};
    return compose(cycle(layers, delta, delta, delta, Gqa{kv_heads, 256})).value();
}
constexpr vllm::Engine fp32_states{.options = {.max_model_len = 32'768, .ssm_bytes = 4}};
constexpr u64 block_of(const ModelSpec& model, const Sharding& sharding) {
    return fp32_states.pools(model, sharding, one).value().classes[0].block;
}
static_assert(Equals<block_of(qwen35(32, 32, 4), {}), 528>);
static_assert(Equals<block_of(qwen35(60, 64, 2), {.tp = 2}), 2096>);
static_assert(Equals<block_of(qwen35(64, 48, 4), {}), 784>);
static_assert(Equals<block_of(qwen35(60, 64, 2), {.tp = 4}), 1056>);
static_assert(Equals<block_of(qwen35(60, 64, 2), {.tp = 8}), 528>);

// --- groups: 52 windows beside 10 full layers make 9 + 9 + 9 + 9 + 8 + 8 and 10
constexpr Windowed near{Gqa{16, 128}, 1024_tok};
constexpr auto gemma3 = compose(cycle(62, near, near, near, near, near, Gqa{16, 128})).value();
constexpr PoolPlan gemma = vllm::Engine{}.pools(gemma3, {.tp = 2}, one).value();
static_assert(gemma.classes.size() == 2 && gemma.classes[0].groups == 6 && gemma.classes[1].groups == 1);
static_assert(gemma.per_unit[0] == Bytes{10 * 16 * 8 * 256 * 2});
static_assert(gemma.placed[0] == Placement{0, 0, 0} && gemma.placed[6] == Placement{0, 5, 0});

// One window more than its span: ceil((1023 + 8192) / 16) + 1.
static_assert(gemma.classes[0].steps.units_at(131'072) == 577 &&
              gemma.classes[1].steps.units_at(131'072) == 8192);
static_assert(gemma.classes[0].steps.units_at(100) == 8);

// --- the manager off: everything as full attention; states cannot be promoted
constexpr vllm::Engine plain{.options = {.hybrid_manager = false}};
static_assert(plain.pools(gemma3, {.tp = 2}, one).value().classes.size() == 1);
static_assert(plain.start(qwen35(32, 32, 4), {}, one).sizing.refusal.reason ==
              Reason::cannot_promote_to_single_type);
constexpr Windowed nearer{Gqa{16, 128}, 512_tok};
static_assert(plain.start(compose(cycle(6, near, nearer)).value(), {}, one).sizing.refusal.reason ==
              Reason::cannot_promote_to_single_type);
constexpr auto three_spans = compose(cycle(6, near, nearer, Gqa{16, 128})).value();
static_assert(plain.start(three_spans, {}, one).sizing.refusal.reason == Reason::window_mismatch);

// --- a latent is whole on every rank; context parallelism deals its tokens
constexpr auto v3 = compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
constexpr vllm::Engine flash_mla{.options = {.kernel_blocks = {.count = 1, .items = {{64, false}}}}};
static_assert(flash_mla.pools(v3, {.tp = 8}, one).value().per_unit[0] == Bytes{70'272 * 64});
static_assert(flash_mla.pools(v3, {.tp = 8, .cp = 8}, one).value().classes[0].steps.units_at(163'840) == 320);
static_assert(flash_mla.pools(v3, {.tp = 8, .cp = 8}, one).value().scheduler_block == 512);
static_assert(vllm::Engine{}.start(gemma3, {.tp = 2, .cp = 2}, one).sizing.refusal.reason ==
              Reason::context_parallel_unsupported);
static_assert(vllm::Engine{}.pools(v3, {.tp = 8, .cp = 3}, one).error().code == Errc::not_divisible);
static_assert(vllm::Engine{}.pools(gemma3, {.tp = 3}, one).error() ==
              Error{.code = Errc::heads_not_divisible, .layer = 0, .got = 16, .want = 3});

// --- refusals carry the engine's numbers: 8192 tokens of Llama-3-8B are 512 blocks, and the null block
constexpr auto llama = compose(QueryHeads{32}, repeat(32, Gqa{8, 128})).value();
constexpr Bytes tight[1] = {{513ull * 2'097'152}};
constexpr Bytes short_by_one[1] = {{513ull * 2'097'152 - 1}};
static_assert(vllm::Engine{}.pools(llama, {}, {tight, 1}).value().pools[0].units == 513);
static_assert(vllm::Engine{}.pools(llama, {}, {short_by_one, 1}).error() ==
              Error{.code = Errc::does_not_fit, .got = (1ull << 30) - 1, .want = 1ull << 30, .hint = 8176});
constexpr Bytes nothing[1] = {{100}};
static_assert(vllm::Engine{}.pools(llama, {}, {nothing, 1}).error().code == Errc::no_memory);
static_assert(vllm::Engine{}.pools(llama, {.pp = 2}, one).error().code == Errc::rank_out_of_range);
static_assert(vllm::Engine{}.pools(llama, {.pp = 3}, two).error().code == Errc::rank_out_of_range);

// Kinds vLLM does not serve.
static_assert(vllm::Engine{}.pools(compose(repeat(2, rwkv(64, 2, 32))).value(), {}, one).error().code ==
              Errc::unsupported);
static_assert(
    vllm::Engine{}.pools(compose(repeat(2, PromptOnly{Gqa{8, 128}})).value(), {}, one).error().code ==
    Errc::unsupported);

// --- versions: a merge date is not a release
static_assert(!vllm::rules_named("0.28.0")->has(Change::spares_null_block));
static_assert(vllm::rules_named("2026-08-20")->has(Change::spares_null_block));
static_assert(!vllm::rules_named("2026-08-19")->has(Change::spares_null_block));
static_assert(!vllm::rules_named("0.28")->has(Change::zero_retention));
static_assert(vllm::rules_named("0.21.0")->has(Change::logs_concurrency));
static_assert(!vllm::rules_named("0.20.2")->has(Change::logs_concurrency));
static_assert(vllm::rules_named("0.18.1rc1")->release == 18 && vllm::rules_named("2026-05")->day == 20260501);
static_assert(vllm::candidate_named("0.18.1rc1") && !vllm::candidate_named("0.18.1"));
static_assert(!vllm::candidate_named("0.18.1rc") && !vllm::candidate_named("0.18.1rc1x"));
static_assert(!vllm::rules_named("2026-02-31") && !vllm::rules_named("2026-02-29") && !vllm::rules_named("2026-00-10"));
static_assert(!vllm::rules_named("2026-02-") && !vllm::rules_named("0.28.") && !vllm::rules_named("0.28.0rgarbage"));
static_assert(!vllm::rules_named("0.28.0rc1x") && !vllm::rules_named("2026.05") && !vllm::rules_named("0-28"));
static_assert(vllm::is_day(2028, 2, 29) && !vllm::is_day(2100, 2, 29) && vllm::is_day(2000, 2, 29));
static_assert(vllm::rules_named("0.34.0").error() ==
              Error{.code = Errc::unknown_version, .got = 34, .want = vllm::newest_release});
static_assert(vllm::rules_named("0.6").error().want == vllm::oldest_release);
static_assert(!vllm::rules_named("latest") && !vllm::rules_named("1.0") && !vllm::rules_named("2024-01-01"));
static_assert(!vllm::rules_named("0.28x") && !vllm::rules_named("") && !vllm::rules_named("2026-13-01"));

constexpr bool in_order() {
    for (u32 i = 1; i < sizeof(vllm::changes) / sizeof(vllm::changes[0]); ++i) {
        if (vllm::changes[i].release < vllm::changes[i - 1].release) {
            return false;
        }
    }
    return true;
}
static_assert(in_order());

// The log before 0.21: blocks over groups times the smallest block.
constexpr vllm::Log old_log =
    vllm::Engine{.rules = vllm::rules_named("0.20").value()}.start(gemma3, {.tp = 2}, one).log;
static_assert(old_log.tokens == gemma.pools[0].units / 7 * 16);
constexpr vllm::Log new_log = vllm::Engine{}.start(gemma3, {.tp = 2}, one).log;
static_assert(new_log.tokens == static_cast<u64>(new_log.concurrency * 8192));
static_assert(Equals<old_log.tokens, 299'584> && Equals<new_log.tokens, 299'092>);
constexpr vllm::Log long_log =
    vllm::Engine{.options = {.max_model_len = 131'072}}.start(gemma3, {.tp = 2}, one).log;
static_assert(Equals<long_log.tokens, 1'474'160>);

// --- printf's rounding
static_assert(vllm::hundredths(0.125) == 12 && vllm::hundredths(0.375) == 38 &&
              vllm::hundredths(1.005) == 100);
static_assert(vllm::hundredths(0.0) == 0 && vllm::hundredths(123456.789) == 12345679 &&
              vllm::hundredths(3.0) == 300);

// --- DeepSeek-V4 from its forms alone: 584 bytes an entry in pages of 576, blocks of 64, 4 and 8
constexpr auto v4 =
    compose(repeat(2, CompressedLatent{.latent = 512, .window = 128}),
            cycle(40, CompressedLatent{.latent = 512, .window = 128, .ratio = 4, .index_dim = 128},
                  CompressedLatent{.latent = 512, .window = 128, .ratio = 128}))
        .value();
constexpr vllm::Options v4_options = vllm::for_class(
    v4, "DeepseekV4ForCausalLM", {.block_size = 256, .kernel_blocks = {.count = 1, .items = {{64, false}}}});
static_assert(v4_options.kv_dtype == vllm::KvDtype::fp8_ds_mla);
constexpr PoolPlan packed = vllm::Engine{.options = v4_options}.pools(v4, {.tp = 8}, one).value();
static_assert(packed.reported_block == 4 && packed.scheduler_block == 256 && packed.hash_block == 4);
static_assert(packed.page_of_form[0] == Bytes{37'440});

// --- classes
static_assert(vllm::rules_of_class("NemotronHForCausalLM").fp32_state &&
              vllm::rules_of_class("NemotronHForCausalLM").widens_conv);
static_assert(!vllm::rules_of_class("GraniteMoeHybridForCausalLM").widens_conv);
static_assert(vllm::rules_of_class("SomethingNew").known == vllm::Known::by_layers);
constexpr auto zamba =
    compose(repeat(1, Mamba2{8, 64, 16}), repeat(1, Both{Mamba2{8, 64, 16}, Gqa{8, 64}})).value();
static_assert(vllm::registered(zamba, "Zamba2ForCausalLM").caches[0] == Cache{1, 1});
static_assert(vllm::registered(zamba, "FalconH1ForCausalLM") == zamba);

// --- names both ways
constexpr bool dtype_round_trips() {
    for (const vllm::DtypeName& row : vllm::dtype_names) {
        vllm::KvDtype dtype{};
        if (!vllm::dtype_named(row.name, dtype) || dtype != row.dtype) {
            return false;
        }
    }
    vllm::KvDtype untouched{};
    return !vllm::dtype_named("fp9", untouched) && !vllm::dtype_named("fp", untouched);
}
static_assert(dtype_round_trips());

// --- what is taken where nothing is said
constexpr vllm::Rules v27 = vllm::rules_of_release(27).value();
constexpr vllm::Rules v28 = vllm::rules_of_release(28).value();
static_assert(vllm::step_unsaid(v28, 160_GiB, false) == 16384 && vllm::step_unsaid(v28, 160_GiB, true) == 16384);
static_assert(vllm::step_unsaid(v27, 160_GiB, false) == 8192 && vllm::step_unsaid(v28, 159_GiB, false) == 8192);
static_assert(vllm::step_unsaid(v28, 70_GiB, false) == 8192 && vllm::step_unsaid(v28, 69_GiB, false) == 2048);
static_assert(vllm::step_unsaid(v28, 80_GiB, true) == 2048);
static_assert(vllm::requests_unsaid(70_GiB, false) == 1024 && vllm::requests_unsaid(69_GiB, false) == 256);
static_assert(vllm::requests_unsaid(80_GiB, true) == 256 && vllm::requests_unsaid(160_GiB, true) == 1024);
static_assert(vllm::state_mode_unsaid(v27, "NemotronHForCausalLM") == vllm::StateMode::all &&
              vllm::state_mode_unsaid(v28, "NemotronHForCausalLM") == vllm::StateMode::align &&
              vllm::state_mode_unsaid(v27, "Qwen3NextForCausalLM") == vllm::StateMode::align);
static_assert(vllm::caches_prefixes_unsaid(v27, v4) && vllm::caches_prefixes_unsaid(v28, zamba) &&
              !vllm::caches_prefixes_unsaid(v27, zamba));

// --- what is checked beside the pool
constexpr u64 least_step_less_block(u32 release, bool caching) {  // 0: an aligned block; else nothing is asked
    const vllm::Rules rules = vllm::rules_of_release(release).value();
    vllm::Design made{};
    static_cast<void>(vllm::Engine{.options = {.prefix_caching = caching}, .rules = rules}.design(zamba, {}, made));
    const u64 least = vllm::least_step(made, rules);
    return least == 0 ? ~u64{0} : made.blocks.block - least;
}
static_assert(least_step_less_block(17, true) == 0 && least_step_less_block(26, true) == 0);
static_assert(least_step_less_block(16, true) != 0 && least_step_less_block(27, true) != 0 &&
              least_step_less_block(26, false) != 0);
constexpr u64 most_captured_of(u32 release) {
    const vllm::Rules rules = vllm::rules_of_release(release).value();
    constexpr Bytes there[] = {1_GiB};
    return vllm::most_captured(vllm::Engine{.rules = rules}.start(zamba, {}, {there, 1}), rules);
}
static_assert(most_captured_of(19) == off_scale && most_captured_of(20) < u64{1} << 30);
static_assert(!vllm::overlaps_unsaid(vllm::rules_of_release(13).value()) &&
              vllm::overlaps_unsaid(vllm::rules_of_release(14).value()));
constexpr vllm::Rules v26 = vllm::rules_of_release(26).value();
static_assert(vllm::second_runner_unsaid(v26, "Gemma3ForCausalLM", 0, false) &&
              vllm::second_runner_unsaid(v26, "Qwen2MoeForCausalLM", 60, false) &&
              !vllm::second_runner_unsaid(v28, "GptOssForCausalLM", 128, false) &&
              !vllm::second_runner_unsaid(v28, "Qwen3NextForCausalLM", 0, true));
constexpr u64 second_runners(const vllm::Rules& rules) {  // of those with experts: 3, 6, 7 and 8 names in the sources
    u64 count = 0;
    for (const vllm::SecondRunnerClass& each : vllm::second_runner_classes) {
        count += vllm::second_runner_unsaid(rules, each.architecture, 8, each.states) ? 1u : 0u;
    }
    return count;
}
static_assert(Equals<second_runners(vllm::rules_of_release(25).value()), 3>);
static_assert(Equals<second_runners(v26), 6> && Equals<second_runners(v27), 7> && Equals<second_runners(v28), 8>);
static_assert(vllm::second_runner_unsaid(v28, "DeepseekV4ForCausalLM", 256, false) &&
              !vllm::second_runner_unsaid(v27, "DeepseekV4ForCausalLM", 256, false) &&
              !vllm::second_runner_unsaid(v28, "DeepseekV2ForCausalLM", 64, true));
static_assert(vllm::options_unsaid(v28, gemma3, {.memory = 180_GiB}) ==
              vllm::Options{.max_num_batched_tokens = 16384, .async_scheduling = true, .second_runner = true});
static_assert(vllm::options_unsaid(vllm::rules_of_release(13).value(), gemma3, {.memory = 80_GiB, .a100 = true}) ==
              vllm::Options{.max_num_batched_tokens = 2048, .second_runner = true});
static_assert(vllm::options_unsaid(v28, qwen35(32, 32, 4)) == vllm::Options{.async_scheduling = true});
static_assert(vllm::share_unsaid(vllm::rules_of_release(19).value()) == 90 && vllm::share_unsaid(v28) == 92);

// --- context ranks: which version has them, for which backend, for which cache
using vllm::KvDtype;
using vllm::Unshared;
constexpr vllm::Rules release(u32 minor, u32 patch = 0) { return vllm::rules_of_release(minor, patch).value(); }
constexpr Unshared latents(const vllm::Rules& rules, const char* backend, KvDtype dtype = KvDtype::automatic) {
    return vllm::unshared(rules, backend, true, dtype);
}
static_assert(latents(release(10, 1), "FLASHMLA") == Unshared::version &&
              latents(release(10, 2), "FLASHMLA") == Unshared::none);
static_assert(latents(release(10, 2), "TRITON_MLA") == Unshared::backend &&
              latents(release(11), "TRITON_MLA") == Unshared::none);
static_assert(vllm::unshared(release(11), "FLASH_ATTN", false, KvDtype::automatic) == Unshared::backend &&
              vllm::unshared(release(11, 1), "FLASH_ATTN", false, KvDtype::fp8) == Unshared::none);
static_assert(vllm::unshared(vllm::rules_of_day(20250912).value(), "FLASHMLA", true, {}) == Unshared::version &&
              vllm::unshared(vllm::rules_of_day(20250913).value(), "FLASHMLA", true, {}) == Unshared::none);
static_assert(latents(release(24), "FLASHINFER_MLA_SPARSE") == Unshared::backend &&
              latents(release(25), "FLASHINFER_MLA_SPARSE") == Unshared::none &&
              latents(v28, "FLASHMLA_SPARSE") == Unshared::backend);
static_assert(latents(release(24), "FLASHMLA", KvDtype::fp8) == Unshared::fp8_latents &&
              latents(release(25), "FLASHMLA", KvDtype::fp8) == Unshared::none);
constexpr bool shared_backends_are_known() {
    for (const vllm::SharedBackend& each : vllm::shared_backends) {
        if (vllm::backend_named(each.name) == nullptr) {
            return false;
        }
    }
    return true;
}
static_assert(shared_backends_are_known());

// --- blocks that the command line takes: a list until 0.17, with 256 from 0.11.1 on
static_assert(vllm::takes_block(release(10), 128) && !vllm::takes_block(release(11), 256) &&
              vllm::takes_block(release(11, 1), 256) && !vllm::takes_block(release(17, 1), 112) &&
              vllm::takes_block(release(18), 112));

// --- a format is had from its first release or day on
constexpr u64 formats_of(const vllm::Rules& rules) {
    u64 count = 0;
    for (const vllm::DtypeName& row : vllm::dtype_names) {
        count += vllm::has(rules, row) ? 1u : 0u;
    }
    return count;
}
static_assert(formats_of(vllm::rules_of_release(10).value()) == 4);
static_assert(formats_of(vllm::rules_of_release(11).value()) == 5);
static_assert(formats_of(vllm::rules_of_release(19, 1).value()) == 5);
static_assert(formats_of(vllm::rules_of_release(20).value()) == 12);
static_assert(formats_of(vllm::rules_of_release(25).value()) == 13);
static_assert(formats_of(vllm::rules_of_release(28).value()) == 14 && formats_of(vllm::newest_rules) == 14);
static_assert(formats_of(vllm::rules_of_day(20260426).value()) == 5);
static_assert(formats_of(vllm::rules_of_day(20260427).value()) == 12);

// --- hits through the plan: what the first group holds bounds the hit
constexpr u64 all_ones[64] = {~0ull, ~0ull, ~0ull, ~0ull};
constexpr u64 first_five[64] = {0b11111};
constexpr Hit hit_of(const u64* full) {
    const Held held[2] = {{all_ones, 64}, {full, 64}};
    return vllm::Engine{}.hits(gemma, held, {.lengths = {.prompt = 1024_tok}, .limit = 1023}).value();
}
static_assert(hit_of(all_ones).tokens == 1008 && hit_of(first_five).tokens == 80);

// --- the attention backend by device, dtype and release
constexpr const char* backend(const vllm::BackendNeed& need, const vllm::Rules& rules = vllm::newest_rules) {
    const vllm::BackendRow* row = vllm::choose_backend(need, rules);
    return row == nullptr ? "none" : row->name;
}
static_assert(vllm::same_text(backend({.latents = true}), "FLASH_ATTN_MLA"));
static_assert(vllm::same_text(backend({.latents = true}, vllm::rules_named("0.11").value()), "FLASHMLA"));
static_assert(vllm::same_text(backend({.latents = true, .dtype = vllm::KvDtype::fp8}), "FLASHMLA"));
static_assert(vllm::same_text(backend({.latents = true, .block = 32, .capability = 100}), "FLASHINFER_MLA"));
static_assert(vllm::same_text(backend({.latents = true, .block = 48, .capability = 100}), "TRITON_MLA"));
static_assert(vllm::same_text(backend({.dtype = vllm::KvDtype::fp8, .capability = 89}), "FLASHINFER"));
static_assert(vllm::same_text(backend({.width = 80, .capability = 100}), "FLASH_ATTN"));
static_assert(vllm::same_text(backend({.dtype = vllm::KvDtype::nvfp4}), "none"));
static_assert(vllm::same_text(backend({.block = 17}), "none"));
static_assert(vllm::forced_block({.latents = true}, 0) == 64 && vllm::forced_block({.latents = true}, 128) == 0);

}  // namespace
