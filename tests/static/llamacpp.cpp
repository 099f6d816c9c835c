// SPDX-License-Identifier: MIT
// llama.cpp's rules as facts of the build: published log lines, and laws over contexts and devices.
#include <kvcap/core.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/llamacpp.hpp>

using namespace kvcap;
using namespace kvcap::llamacpp;

namespace {

constexpr Card uniform(const char* arch, u32 blocks, const Block& block) {
    Card card{.rule = rule_named(arch), .layers = blocks, .context = 32'768};
    for (u32 i = 0; i < blocks; ++i) {
        Block own = block;
        own.owner = static_cast<u16>(i);
        static_cast<void>(card.blocks.push(own));
    }
    return card;
}

constexpr u64 bytes_of(const Card& card, const Options& options) {
    return total_bytes(card, layout(card, options).value()).value().total();
}

constexpr bool same(const Line& line, const char* text) {
    u32 i = 0;
    while (i < line.size && text[i] == line.text[i]) {
        ++i;
    }
    return i == line.size && text[i] == '\0';
}

// DeepSeek-V3: a latent row of 576, K only: 2196.00 MiB at 32,768 in f16, 1166.62 MiB in q8_0.
constexpr Card v3 = [] {
    Card card = uniform("deepseek2", 61, {.heads = 128, .kv_heads = 1, .key = 576, .value = 512});
    card.latent = true;
    return card;
}();
static_assert(Equals<bytes_of(v3, {.n_ctx = 32'768}), (u64{2196} << 20)>);
constexpr Layout v3_q8 = layout(v3, {.n_ctx = 32'768, .type_k = Ggml::q8_0, .type_v = Ggml::q8_0}).value();
constexpr BlockBytes v3_q8_bytes = cache_bytes(v3, v3_q8, v3_q8.caches[0]).value();
static_assert(Equals<float_mib(v3_q8_bytes.k).hundredths, 116'662>);
static_assert(same(summary_line(v3, v3_q8, v3_q8.caches[0], v3_q8_bytes),
                   "size = 1166.62 MiB ( 32768 cells,  61 layers,  1/1 seqs), K (q8_0): 1166.62 MiB, V "
                   "(q8_0):    0.00 MiB"));
static_assert(refusal_of(layout(v3, {.n_ctx = 4096, .type_k = Ggml::q8_0}).error()) ==
              Refusal::latent_types_differ);

// The same model from an expanded file (DeepSeek-V2-Lite of 2024): 8640 MiB at 32,768.
constexpr Card expanded = uniform("deepseek2", 27, {.heads = 16, .kv_heads = 16, .key = 192, .value = 128});
static_assert(Equals<bytes_of(expanded, {.n_ctx = 32'768}), (u64{8640} << 20)>);

// The context is padded, divided, and rounded up again: 64 sequences of 4,096 tokens in all take 16,384
// cells.
constexpr Card llama = uniform("llama", 32, {.heads = 32, .kv_heads = 8, .key = 128, .value = 128});
constexpr Resolved many = resolve(llama, {.n_ctx = 4096, .n_seq_max = 64}).value();
static_assert(many.n_ctx == 16'384 && many.n_ctx_seq == 256 && many.streams() == 64);
constexpr Resolved odd = resolve(llama, {.n_ctx = 1}).value();
static_assert(odd.n_ctx == 256 && odd.n_batch == 1 && odd.n_ubatch == 1);
static_assert(resolve(llama, {.n_ctx = 300'000}).value().n_ctx == 300'032);
static_assert(refusal_of(resolve(llama, {.n_ctx = 256, .n_seq_max = 257}).error()) ==
              Refusal::too_many_sequences);
static_assert(
    refusal_of(resolve(llama, {.n_ctx = 256, .type_v = Ggml::q8_0, .flash_attn = Flash::off}).error()) ==
    Refusal::quantized_value_without_flash);
constexpr Card phi2 = uniform("phi2", 32, {.heads = 32, .kv_heads = 32, .key = 80, .value = 80});
static_assert(refusal_of(resolve(phi2, {.n_ctx = 2048, .type_k = Ggml::q8_0}).error()) == Refusal::key_block);

// Gemma-3-27B: 10 full blocks and 52 windows of 1,024; the window cache has 1,536 cells, 4,608 for four
// unified slots.
constexpr Card gemma = [] {
    Card card = uniform("gemma3", 62, {.heads = 32, .kv_heads = 16, .key = 128, .value = 128});
    card.window = 1024;
    card.window_type = WindowType::standard;
    for (u32 i = 0; i < 62; ++i) {
        card.blocks[i].window = in_window_pattern(i, 6, false);
    }
    return card;
}();
constexpr Layout windows = layout(gemma, {.n_ctx = 32'768}).value();
static_assert(windows.memory == Memory::iswa && windows.caches[0].part == Part::base);
static_assert(windows.caches[1].cells == 1536 && blocks_in(gemma, windows.caches[1]) == 52 &&
              !windows.can_shift);
static_assert(layout(gemma, {.n_ctx = 32'768, .n_seq_max = 4, .kv_unified = true}).value().caches[1].cells ==
              4608);
static_assert(layout(gemma, {.n_ctx = 32'768, .swa_full = true}).value().can_shift);

// Law: without a window's help, bytes are proportional to the padded context; a unified cache does not depend
// on slots.
template <u32 Slots>
constexpr bool slots_share = bytes_of(llama, {.n_ctx = 8192, .n_seq_max = Slots, .kv_unified = true}) ==
                             bytes_of(llama, {.n_ctx = 8192});
static_assert(slots_share<2> && slots_share<3> && slots_share<7>);
static_assert(bytes_of(llama, {.n_ctx = 16'384}) == 2 * bytes_of(llama, {.n_ctx = 8192}));

// V without flash attention is as wide as the widest block, also on blocks that are narrower.
constexpr Card uneven = [] {
    Card card = uniform("openelm", 2, {.heads = 12, .kv_heads = 3, .key = 64, .value = 64});
    card.blocks[1].kv_heads = 5;
    return card;
}();
static_assert(bytes_of(uneven, {.n_ctx = 256}) == 256 * 2 * 2 * 64 * (3 + 5));
static_assert(bytes_of(uneven, {.n_ctx = 256, .flash_attn = Flash::off}) == 256 * 2 * 64 * (3 + 5 + 5 + 5));

// States: rows for each sequence and rollback, f32 whatever the cache types say. Qwen3.6-27B: 598.50 MiB for
// 4 slots.
constexpr Card hybrid = [] {
    Card card = uniform("qwen35", 64, {.heads = 24, .kv_heads = 4, .key = 256, .value = 256});
    card.state = {.r = 3 * (6144 + 2 * 16 * 128), .s = 128 * 6144, .p = 0};
    card.four_positions = true;
    for (u32 i = 0; i < 64; ++i) {
        card.blocks[i].state = (i + 1) % 4 != 0;
        card.blocks[i].attention = !card.blocks[i].state;
    }
    return card;
}();
constexpr Layout slots = layout(hybrid, {.n_ctx = 262'144, .n_seq_max = 4, .kv_unified = true,
                                         .type_k = Ggml::q8_0, .type_v = Ggml::q8_0}).value();
static_assert(slots.memory == Memory::hybrid && slots.caches.size() == 2);
constexpr BlockBytes slot_states = cache_bytes(hybrid, slots, slots.caches[1]).value();
static_assert(same(summary_line(hybrid, slots, slots.caches[1], slot_states),
                   "size =  598.50 MiB (     4 cells,  64 layers,  4 seqs 0 rs_seq), R (f32):   22.50 MiB, "
                   "S (f32):  576.00 MiB, P (f32):    0.00 MiB"));
static_assert(bytes_of(hybrid, {.n_ctx = 256, .n_rs_seq = 4}) - bytes_of(hybrid, {.n_ctx = 256}) ==
              4 * slot_states.total() / 4);

// Layer split: every byte is on exactly one device, whatever the shares and however many blocks are
// offloaded.
constexpr bool conserved(const Card& card, const Devices& devices) {
    const Layout made = layout(card, {.n_ctx = 4096, .n_seq_max = 2}).value();
    const PerDevice split = per_device(card, made, devices).value();
    u64 sum = split.cpu;
    for (u32 d = 0; d < devices.count; ++d) {
        sum += split.device[d];
    }
    return sum == total_bytes(card, made).value().total();
}
static_assert(conserved(llama, {.count = 3, .gpu_layers = 99, .share = {1, 2, 5}}));
static_assert(conserved(hybrid, {.count = 2, .gpu_layers = 20, .share = {0.3F, 0.7F}}));
static_assert(conserved(gemma, {.count = 1, .gpu_layers = 0, .share = {1}}));

// Tensor split: 16 heads of 128 on three devices are 640, 640 and 768 elements; one KV head goes round whole.
constexpr Slices cut =
    slices(gemma, windows.caches[0], 5, Plane::k, 2048, {.count = 3, .share = {1, 1, 1}}, 1);
static_assert(cut.elements[0] == 640 && cut.elements[1] == 640 && cut.elements[2] == 768);
constexpr Card single = uniform("starcoder", 2, {.heads = 16, .kv_heads = 1, .key = 128, .value = 128});
constexpr Layout one = layout(single, {.n_ctx = 256}).value();
constexpr u64 turn(u32 block, u32 device) {
    return slices(single, one.caches[0], block, Plane::k, 128, {.count = 2, .share = {1, 1}}, 1)
        .elements[device];
}
static_assert(turn(0, 0) == 0 && turn(0, 1) == 128 && turn(1, 0) == 128 && turn(1, 1) == 0);

// The engine as a value: pools of cells, one for windows, and what a request takes of them.
constexpr auto gemma_spec =
    compose(QueryHeads{32},
            cycle(60, Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                  Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                  Windowed{Gqa{16, 128}, 1024_tok}, Gqa{16, 128}),
            repeat(2, Windowed{Gqa{16, 128}, 1024_tok}))
        .value();
constexpr kvcap::llamacpp::Engine engine{.options = {.n_ctx = 32'768}};
constexpr PoolPlan plan = engine.pools(gemma_spec, {}, {}).value();
static_assert(plan.pools.size() == 2 && plan.pools[0].units == 32'768 && plan.pools[1].units == 1536);
static_assert(plan.pools[0].allocated + plan.pools[1].allocated == Bytes{bytes_of(gemma, {.n_ctx = 32'768})});
static_assert(demand(plan, {.prompt = 2000_tok}).units[0] == 2000 &&
              demand(plan, {.prompt = 2000_tok}).units[1] == 1536);
static_assert(engine.pools(gemma_spec, {.cp = 2}, {}).error().code == Errc::unsupported);
constexpr Bytes small[]{1_GiB};
static_assert(engine.pools(gemma_spec, {}, {small, 1}).error().code == Errc::does_not_fit);

// What one sequence can skip: everything up to the first missing token, but no further than a window still reaches, and
// for states only where a snapshot is.
constexpr auto near_spec = compose(repeat(1, Windowed{Gqa{2, 32}, 32_tok}), repeat(1, Gqa{2, 32})).value();
constexpr auto state_spec = compose(repeat(1, Mamba1{.inner = 64, .state_dim = 16})).value();
constexpr kvcap::llamacpp::Engine tiny{.options = {.n_ctx = 256}};
constexpr u64 first_100[]{~u64{0}, (u64{1} << 36) - 1};
constexpr u64 from_40_to_100[]{~u64{0} << 40, (u64{1} << 36) - 1};
constexpr u64 snapshot_at_84[]{0, u64{1} << 19};
constexpr u64 skipped(const ModelSpec& model, Held full, Held second, u64 limit) {
    const Held held[]{full, second};
    return tiny.hits(tiny.pools(model, {}, {}).value(), held, {.limit = limit}).value().tokens;
}
static_assert(skipped(near_spec, {first_100, 128}, {from_40_to_100, 128}, 99) == 99);
static_assert(skipped(near_spec, {first_100, 128}, {from_40_to_100, 128}, 110) == 100);
static_assert(skipped(near_spec, {first_100, 128}, {from_40_to_100, 128}, 72) == 0);
static_assert(skipped(near_spec, {first_100, 128}, {first_100, 128}, 32) == 0);  // not more than the window
static_assert(skipped(state_spec, {snapshot_at_84, 128}, {}, 99) == 84);
static_assert(skipped(state_spec, {snapshot_at_84, 128}, {}, 83) == 0);

// The server: four unified slots, the model's context times four, and a line between two projections.
static_assert(server_context(llama, {}).n_ctx == 131'072 && server_context(llama, {}).kv_unified);
static_assert(server_context(llama, {.fit = false}).n_ctx == 0);
static_assert(fitted_context({4096, 1000}, {32'768, 8000}, 5000, 0, 1) == 20'480);
static_assert(fitted_context({4096, 1000}, {32'768, 8000}, 9000, 1000, 1) == 32'768);
static_assert(fitted_context({4096, 1000}, {32'768, 8000}, 900, 0, 4) == 4096);

// Devices: what fits at the answer does not fit one step further.
constexpr u64 block_weights[32]{} ;
constexpr BlockWeights no_weights{
    .blocks = block_weights, .count = 32, .input = 0, .output = 0, .tied = true};
constexpr Devices one_gpu{.count = 1, .gpu_layers = 99, .share = {1}};
constexpr DeviceMemory two_gib{.available = {u64{2} << 30}, .compute = {u64{1} << 29}};
constexpr u32 longest_c = largest_context(llama, {}, one_gpu, no_weights, two_gib, 131'072).value();
static_assert(longest_c == 12'288);  // 1.5 GiB at 128 KiB a token
static_assert(lacking_device(llama, {.n_ctx = longest_c}, one_gpu, no_weights, two_gib).value() == 1);
static_assert(lacking_device(llama, {.n_ctx = longest_c + 256}, one_gpu, no_weights, two_gib).value() == 0);
static_assert(most_offloaded(llama, {.n_ctx = 16'384}, one_gpu, no_weights, two_gib).value() ==
              25);  // 24 blocks, output
static_assert(most_offloaded(llama, {.n_ctx = longest_c}, one_gpu, no_weights, two_gib).value() == 33);

// Experts on the CPU: what leaves a device is there, and one block less does not fit.
constexpr u64 mixture[4]{100, 100, 100, 100};
constexpr u64 of_experts[4]{0, 70, 70, 70};
constexpr BlockWeights with_experts(u32 on_host) {
    return {.blocks = mixture, .count = 4, .input = 5, .output = 7, .experts = of_experts, .host_experts = on_host};
}
static_assert(weights_per_device(llama, one_gpu, with_experts(0)).device[0] == 407);
static_assert(weights_per_device(llama, one_gpu, with_experts(1)).device[0] == 407);  // the first block is dense
static_assert(weights_per_device(llama, one_gpu, with_experts(3)).device[0] == 267);
static_assert(weights_per_device(llama, one_gpu, with_experts(3)).cpu == 145);
static_assert(weights_per_device(llama, one_gpu, with_experts(99)).device[0] == 197);
constexpr u64 least_cells = u64{256} * 128 * 1024;
constexpr DeviceMemory room_for(u64 weights) { return {.available = {least_cells + weights}, .compute = {}}; }
constexpr auto least_for = [](u64 weights) {
    return least_host_experts(llama, {.n_ctx = 256}, one_gpu, with_experts(0), room_for(weights)).value();
};
static_assert(least_for(407) == 0u);
static_assert(least_for(406) == 2u);
static_assert(least_for(267) == 3u);
static_assert(least_for(266) == 4u);
static_assert(least_for(196) == std::nullopt);

// printf's rounding: ties to even.
static_assert(exact_mib((u64{5} << 20) + (u64{5} << 17)).hundredths == 562);
static_assert(exact_mib((u64{1} << 20) + (u64{3} << 17)).hundredths == 138);

// Every name is there once.
constexpr bool names_are_unique() {
    for (u16 i = 0; i < arch_count; ++i) {
        if (rule_named(arch_rules[i].name) != i) {
            return false;
        }
    }
    return arch_index("no-such-model", 13) == arch_count;
}
static_assert(names_are_unique());

}  // namespace
