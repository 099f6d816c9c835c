// SPDX-License-Identifier: MIT
// Engines' own rules by hand: what each refuses and in which words, drafts and request caps of SGLang,
// devices, server and log lines of llama.cpp, cells of vLLM's stored formats, states and chains of
// TensorRT-LLM, and what attention reads.
#include <algorithm>
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/sglang/tree_node.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/trtllm/presence.hpp>
#include <kvcap/engine/vllm.hpp>
#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/log.hpp>
#include <kvcap/models/deepseek.hpp>
#include <kvcap/report/refusal_vllm.hpp>
#include <kvcap/roofline.hpp>
#include <set>
#include <string>

namespace engine_rules_tests {

using namespace kvcap;

namespace {

constexpr Gqa heads{.kv_heads = 8, .head_dim = 128};
const ModelSpec plain = compose(repeat(32, heads), QueryHeads{32}).value();
const ModelSpec windowed =
    compose(cycle(36, Windowed{Gqa{8, 64}, 128_tok}, Gqa{8, 64}), QueryHeads{64}).value();

template <class T>
Error why(const Result<T>& result) {
    CHECK_FALSE(result.has_value());
    return result.error();
}

kvcap::llamacpp::Card llama_card() {
    return kvcap::llamacpp::card_from(plain).value();
}

}  // namespace

TEST_CASE("vLLM: each reason has a name for JSON and words of its own, with the flag that changes it") {
    std::set<std::string_view> words;
    std::set<std::string_view> names;
    for (u8 reason = 0; reason <= static_cast<u8>(vllm::Reason::no_valid_backend); ++reason) {
        words.insert(report::words_of(vllm::Reason{reason}));
        names.insert(vllm::name_of(vllm::Reason{reason}));
    }
    CHECK(words.size() == 11);
    CHECK(names.size() == 11);
    CHECK(words.count("unknown") + names.count("unknown") == 0);
    const auto says = [](vllm::Reason reason, std::string_view flag) {
        return report::words_of(reason).find(flag) != std::string_view::npos;
    };
    CHECK(says(vllm::Reason::auto_fit_impossible, "--max-model-len auto"));
    CHECK(says(vllm::Reason::context_parallel_unsupported, "--decode-context-parallel-size"));
    CHECK(says(vllm::Reason::cannot_promote_to_single_type, "--disable-hybrid-kv-cache-manager"));
    CHECK(says(vllm::Reason::match_unit_not_divisible, "--prefix-match-unit"));
}

TEST_CASE("llama.cpp: refusals of a model or context, in words") {
    using namespace kvcap::llamacpp;
    const std::pair<Refusal, const char*> all[] = {
        {Refusal::none, "nothing is refused"},
        {Refusal::longer_decoder,
         "the decoder has more blocks than block_count says; the model does not load"},
        {Refusal::loop_count, "block_count is not layers_per_stack x h_cycles x (l_cycles + 1)"},
        {Refusal::tensor_split_arch, "-sm tensor is not implemented for this architecture"},
        {Refusal::too_many_sequences, "at most 256 parallel sequences are possible"},
        {Refusal::latent_types_differ, "a latent (MLA) cache needs equal -ctk and -ctv"},
        {Refusal::quantized_value_without_flash, "a quantized -ctv needs flash attention"},
        {Refusal::key_block, "the key head width is no multiple of the -ctk block"},
        {Refusal::value_block, "the value head width is no multiple of the -ctv block"},
        {Refusal::tensor_split_without_flash, "-sm tensor needs flash attention"},
        {Refusal::no_blocks, "the model has no blocks"}};
    for (const auto& [refusal, words] : all) {
        CHECK(std::string{kvcap::llamacpp::sentence(refusal)} == words);
        CHECK(refuses_model(refusal) ==
              (refusal >= Refusal::longer_decoder && refusal <= Refusal::tensor_split_arch));
    }
    Card card = llama_card();
    CHECK(refusal_of(check(card, {.type_v = Ggml::q8_0, .flash_attn = Flash::off})) ==
          Refusal::quantized_value_without_flash);
    CHECK(refusal_of(check(card, {.flash_attn = Flash::off, .split_mode = SplitMode::tensor})) ==
          Refusal::tensor_split_without_flash);
    CHECK(refusal_of(check({}, {})) == Refusal::no_blocks);
    CHECK(refusal_of(check(card, {.n_seq_max = 257})) == Refusal::too_many_sequences);
    CHECK(check(card, {.type_k = Ggml::q8_0, .type_v = Ggml::q8_0}).code == Errc::ok);
    card.blocks[3].value = 100;
    CHECK(check(card, {.type_v = Ggml::q8_0}) == Error{.code = Errc::refused_combination,
                                                       .layer = 3,
                                                       .got = static_cast<u64>(Refusal::value_block),
                                                       .want = 32,
                                                       .hint = 100});
    card.blocks[2].key = 100;
    CHECK(check(card, {.type_k = Ggml::q8_0}).layer == 2);
    CHECK(refusal_of(Error{.code = Errc::overflow}) == Refusal::none);
}

TEST_CASE("llama.cpp: models that it has no memory for") {
    using kvcap::llamacpp::card_from;
    const auto unsupported = [](u32 layer, Uncovered what, u64 got = 0, u64 want = 0) {
        return Error{.code = Errc::unsupported, .what = what, .layer = layer, .got = got, .want = want};
    };
    CHECK(why(card_from(
              compose(repeat(1, Windowed{heads, 64_tok}), repeat(1, Windowed{heads, 128_tok})).value())) ==
          unsupported(1, Uncovered::second_window, 128, 64));
    CHECK(why(card_from(compose(repeat(1, heads), repeat(1, Budgeted{heads, 64_tok})).value())) ==
          unsupported(1, Uncovered::budget));
    CHECK(why(card_from(compose(repeat(1, PromptOnly{heads})).value())) ==
          unsupported(0, Uncovered::prompt_only));
    CHECK(why(card_from(compose(repeat(1, Mamba1{.inner = 64, .state_dim = 16}),
                                repeat(1, Mamba1{.inner = 32, .state_dim = 16}))
                            .value())) == unsupported(1, Uncovered::second_state));
    ModelSpec long_model{};
    long_model.layers = 10'000;
    CHECK(why(card_from(long_model)) ==
          Error{.code = Errc::capacity, .got = 10'000, .want = kvcap::llamacpp::max_blocks});
}

TEST_CASE("llama.cpp: the server's context, slots and fit") {
    using namespace kvcap::llamacpp;
    Card card = llama_card();
    card.context = 40'960;
    CHECK(server_context(card, {}).n_ctx == 4 * 40'960);
    CHECK(server_context(card, {.parallel = 2}).n_ctx == 2 * 40'960);
    CHECK(server_context(card, {.per_slot = 10'000}).n_ctx == 40'000);
    CHECK(server_context(card, {.fit = false}).n_ctx == 0);
    CHECK(server_context(card, {.embeddings = true}).n_batch == 512);
    CHECK(server_context(card, {.engine = {.n_ubatch = 0}, .embeddings = true}).n_batch == 2'048);
    const Resolved long_context = resolve(card, {.n_ctx = 100'000}).value();
    CHECK(slot_context(card, long_context) == 40'960);
    CHECK(slot_context(card, long_context, 1'000) == 1'000);
    CHECK(slot_context(card, resolve(card, {.n_ctx = 8'192, .n_seq_max = 4}).value()) == 2'048);
    // On the line from 1,000 bytes at 4,096 to 8,000 at 32,768: 4,500 free of 5,000 give (4,500 - 1,000) /
    // 7,000 of it.
    CHECK(fitted_context({4'096, 1'000}, {32'768, 8'000}, 5'000, 500, 1) == 4'096 + 14'336);
    CHECK(fitted_context({4'096, 1'000}, {32'768, 8'000}, 5'000, 0, 4) == 20'480);
    CHECK(fitted_context({4'096, 1'000}, {32'768, 8'000}, 8'000, 0, 1) == 32'768);
    CHECK(fitted_context({4'096, 1'000}, {32'768, 8'000}, 900, 0, 1) == 4'096);
    CHECK(fitted_context({4'096, 1'000}, {32'768, 8'000}, 900, 1'000, 1) == 4'096);
    for (u64 free = 1'000; free < 8'000; free += 333) {  // whole steps, and never beyond the line
        const u64 fit = fitted_context({4'096, 1'000}, {32'768, 8'000}, free, 0, 2);
        CHECK(fit % 512 == 0);
        CHECK(static_cast<double>(fit - 4'096) <= static_cast<double>(free - 1'000) / 7'000 * 28'672);
    }
}

TEST_CASE("llama.cpp: --fit lowers a context that nobody gave, by the memory of all devices") {
    using namespace kvcap::llamacpp;
    const Card card = llama_card();  // 128 KiB a cell
    const Devices one{.count = 1, .gpu_layers = 33};
    const Devices two{.count = 2, .gpu_layers = 33, .share = {1, 1}};
    const auto cells = [&](const Options& options, const Devices& devices, u64 each, u64 waste) {
        DeviceMemory memory{};
        for (u32 d = 0; d < devices.count; ++d) {
            memory.available[d] = each;
        }
        return fitted_cells(card, options, devices, {}, memory, waste).value();
    };
    constexpr u64 gib = u64{1} << 30;
    const Options four{.n_ctx = 131'072, .n_seq_max = 4, .kv_unified = true};  // 16 GiB
    CHECK(cells(four, one, 17 * gib, 0) == 131'072);
    CHECK(cells(four, one, 17 * gib - 1, 0) == 131'072 - 256);
    CHECK(cells(four, one, 5 * gib, 0) == 4 * 8'192);
    CHECK(cells(four, one, gib / 2, 0) == 4'096);
    CHECK(cells({.n_ctx = 131'072, .n_seq_max = 4}, one, gib / 2, 0) == 4 * 4'096);
    CHECK(cells({.n_ctx = 131'072, .n_seq_max = 4}, one, 5 * gib - 1, 0) == 4 * 8'192 - 4 * 256);
    CHECK(cells({.n_ctx = 4'096}, one, gib, 0) == 4'096);
    CHECK(cells(four, two, 9 * gib, 8 * gib) == 131'072);  // enough: the waste does not count
    CHECK(cells(four, two, 5 * gib, 0) == 8 * 8'192);
    CHECK(cells(four, two, 5 * gib, 4 * gib) == 4 * 8'192);
    CHECK(fit_waste(1, 100 * gib, 32, false) == 0);
    CHECK(fit_waste(2, 32 * gib, 32, false) == 3 * gib / 2);
    CHECK(fit_waste(2, 32 * gib, 32, true) == gib / 2);
    CHECK(fit_waste(2, 32 * gib, 0, false) == 0);
}

TEST_CASE("llama.cpp: how far -c and -ngl go on a device") {
    using namespace kvcap::llamacpp;
    const Card card = llama_card();  // 32 blocks, 131,072 bytes a cell
    const u64 weights[32]{};
    const BlockWeights none{.blocks = weights, .count = 32, .tied = true};
    const Devices one{.count = 1, .gpu_layers = 99, .share = {1}};
    const DeviceMemory memory{.available = {u64{2} << 30}, .compute = {u64{1} << 29}};
    CHECK(largest_context(card, {}, one, none, memory, 131'072) == u32{12'288});  // 1.5 GiB / 131,072
    CHECK(largest_context(card, {}, one, none, {.available = {1 << 20}, .compute = {}}, 131'072) == u32{0});
    CHECK(most_offloaded(card, {.n_ctx = 16'384}, one, none, memory) == u32{25});  // 24 blocks and the output
    CHECK(most_offloaded(card, {.n_ctx = 16'384}, one, none,
                         {.available = {1 << 20}, .compute = {1 << 21}}) == u32{0});
    const Options refused_options{.n_ctx = 256, .n_seq_max = 300};
    CHECK(refusal_of(why(largest_context(card, refused_options, one, none, memory, 4'096))) ==
          Refusal::too_many_sequences);
    CHECK(refusal_of(why(most_offloaded(card, refused_options, one, none, memory))) ==
          Refusal::too_many_sequences);
}

TEST_CASE("llama.cpp: a written buffer line is read as written") {
    using namespace kvcap::llamacpp;
    const auto text = [](const Line& line) { return std::string{line.text, line.size}; };
    CHECK(text(buffer_line("CUDA0", Part::kv, u64{1'152} << 20)) ==
          "     CUDA0 KV buffer size =  1152.00 MiB");
    const LogReading read = read_log(
        "llama_kv_cache: " + text(buffer_line("CUDA0", Part::kv, u64{1'152} << 20)) +
        "\nllama_memory_recurrent: " + text(buffer_line("CUDA0", Part::rs, (u64{62} << 20) + (1 << 18))) +
        "\n");
    REQUIRE(read.starts.size() == 1);
    CHECK(read.starts[0].facts.text("kv_mib") == "1152.00");
    CHECK(read.starts[0].facts.text("rs_mib") == "62.25");
}

TEST_CASE("SGLang: tokens that a step of drafts may allocate") {
    using namespace kvcap::sglang;
    const Speculation chain{.draft = Draft::eagle, .layers = 1, .tokens = 4, .steps = 3, .topk = 1};
    const Speculation tree{.draft = Draft::eagle, .layers = 1, .tokens = 8, .steps = 3, .topk = 4};
    CHECK(overlapped_draft(chain, 64) == 4);          // no branch: the drafted tokens
    CHECK(overlapped_draft(tree, 1) == 12);           // steps x branches
    CHECK(overlapped_draft(tree, 64) == 2 * 64 * 4);  // each branch may touch two pages
    CHECK(serial_draft(chain, 64) == 64);
    CHECK(serial_draft(tree, 64) == 128 * 4);
    CHECK(serial_draft(tree, 1) == 12);
    CHECK(decode_allocation({.page = 64}) == 64);
    CHECK(decode_allocation({.page = 64, .speculation = tree}) == 2 * 512);
    CHECK(decode_allocation({.page = 64, .overlap = false, .speculation = tree}) == 512);
    CHECK(media_token(3) == 1'000'003);
    CHECK(media_token((u64{1} << 30) + 3) == media_token(3));
}

TEST_CASE("SGLang: a window pool by requests, where their number is capped and no prefix is kept") {
    using namespace kvcap::sglang;
    Options options = with_architecture({.page = 64, .max_running_requests = 10, .prefix_cache = false},
                                        "GptOssForCausalLM", 128);
    options.effective_window = 0;
    // Each request: the window, 128 tokens until it is cut, a page, and a page of the next step; two chunks
    // of prefill.
    const u64 each = 128 + 128 + 64 + 64;
    CHECK(request_cap(128, options) == 10 * each + 2 * 8'192 + 64);
    options.decode_only = true;
    options.decode_extra_slots = 5;
    CHECK(request_cap(128, options) == 10 * each + 5 * (128 + 64));
    const RankPools rank = rank_pools(windowed, {}, 0, 50.0, options).value();
    CHECK(rank.pools.window == 10 * each + 5 * (128 + 64));
    // 18 layers of 2,048 bytes each: what the window pool leaves, in whole pages.
    const u64 left = (u64{50} << 30) - rank.pools.window * 18 * 2'048;
    CHECK(rank.pools.full == left / (18 * 2'048) / 64 * 64);
    options.max_total_tokens = 1'000;
    CHECK(rank_pools(windowed, {}, 0, 50.0, options).value().pools.window == 1'000);
    options.max_total_tokens = not_set;
    CHECK(why(rank_pools(windowed, {}, 0, 0.05, options)).code == Errc::no_memory);
    Options listed = with_architecture({.page = 64}, "GptOssForCausalLM", 128);
    listed.max_total_tokens = 128;
    CHECK(why(rank_pools(windowed, {}, 0, 50.0, listed)) ==
          Error{.code = Errc::window_pool_too_small, .got = 64, .want = listed.effective_window + 64 + 1});
}

TEST_CASE("SGLang: splits, drafts beside states and host tiers") {
    using namespace kvcap::sglang;
    CHECK(why(rank_pools(plain, {.tp = 0}, 0, 50.0, {})).code == Errc::zero_parallelism);
    CHECK(why(rank_pools(plain, {.tp = 4}, 0, 50.0, {.attention_dp = 3})) ==
          Error{.code = Errc::not_divisible, .got = 4, .want = 3});
    const ModelSpec hybrid =
        compose(repeat(3, GatedDelta{16, 128, 32, 128}), repeat(1, Gqa{2, 256}), QueryHeads{16}).value();
    const Speculation drafts{.draft = Draft::eagle, .layers = 1, .tokens = 4};
    CHECK(why(rank_pools(hybrid, {}, 0, 50.0, {.speculation = drafts})) ==
          Error{.code = Errc::refused_combination, .got = 4});
    CHECK(why(rank_pools(hybrid, {}, 0, 50.0,
                         {.overlap = false, .states = StateStrategy::extra_buffer_lazy})) ==
          Error{.code = Errc::refused_combination});
    CHECK(rank_pools(compose(repeat(1, Budgeted{heads, 64_tok})).value(), {}, 0, 50.0, {}).error().code ==
          Errc::unsupported);
    const Memory card{.total_before_load_gib = 80, .free_after_load_gib = 60, .static_fraction = 0.9};
    CHECK(budget_of(card) == Bytes{u64{52} << 30});
    const Bytes budget[] = {budget_of(card)};
    const PoolPlan tiered =
        kvcap::sglang::Engine{{.page = 64, .host_ratio = 2}}.pools(hybrid, {}, {budget, 1}).value();
    REQUIRE(tiered.pools.size() == 2);
    for (const Pool& pool : tiered.pools) {
        CHECK(pool.second >= 2 * pool.units);
        CHECK(pool.second <= 2 * pool.units + 1);
    }
}

TEST_CASE("vLLM: refusals and kernels in its own words, stored formats in bytes") {
    using namespace kvcap::vllm;
    const char* names[] = {"none",
                           "no_memory",
                           "not_enough_memory",
                           "cannot_unify_page_size",
                           "cannot_promote_to_single_type",
                           "window_mismatch",
                           "context_parallel_unsupported",
                           "auto_fit_impossible",
                           "match_unit_not_divisible",
                           "assertion",
                           "no_valid_backend"};
    for (u8 i = 0; i < std::size(names); ++i) {
        CHECK(std::string{name_of(Reason{i})} == names[i]);
    }
    CHECK(error_of({}).code == Errc::ok);
    CHECK(error_of({.reason = Reason::no_memory, .available = 5, .kept_back = 9}) ==
          Error{.code = Errc::no_memory, .got = 5, .want = 9});
    CHECK(error_of({.reason = Reason::not_enough_memory,
                    .available = 9,
                    .kept_back = 5,
                    .needed = 8,
                    .longest = 7}) == Error{.code = Errc::does_not_fit, .got = 4, .want = 8, .hint = 7});
    CHECK(error_of({.reason = Reason::assertion}) ==
          Error{.code = Errc::refused_combination, .got = static_cast<u64>(Reason::assertion)});
    const BackendNeed latents{.latents = true, .index_keys = true};
    CHECK(reason_of(error_of({.reason = Reason::assertion})) == Reason::assertion);
    CHECK(reason_of(Error{.code = Errc::overflow}) == Reason::none);
    CHECK(reason_of(Error{.code = Errc::refused_combination, .got = 4'096}) == Reason::none);
    CHECK(std::string{words_of(Unfit::none, {})}.empty());
    CHECK(std::string{words_of(Unfit::head_size, {})} == "head_size not supported");
    CHECK(std::string{words_of(Unfit::kv_cache_dtype, {})} == "kv_cache_dtype not supported");
    CHECK(std::string{words_of(Unfit::block_size, {})} == "block_size not supported");
    CHECK(std::string{words_of(Unfit::mla, latents)} == "MLA not supported");
    CHECK(std::string{words_of(Unfit::mla, {})} == "non-MLA not supported");
    CHECK(std::string{words_of(Unfit::sinks, {})} == "attention sinks not supported");
    CHECK(std::string{words_of(Unfit::sparse, latents)} == "sparse not supported");
    CHECK(std::string{words_of(Unfit::sparse, {})} == "non-sparse not supported");
    CHECK(std::string{words_of(Unfit::capability, {})} == "compute capability not supported");
    // Until 0.17 the platform sets the block of latents: 64 where an index is, and on Hopper and Blackwell
    // otherwise.
    CHECK(forced_block({}, 0) == 0);
    CHECK(forced_block(latents, 0) == 64);
    CHECK(forced_block({.latents = true}, 128) == 0);
    CHECK(forced_block({.latents = true}, 0) == 64);
    CHECK(forced_block({.latents = true, .capability = 100}, 32) == 0);
    CHECK(forced_block({.latents = true, .capability = 100}, 16) == 64);
    CHECK(forced_block({.latents = true, .capability = 80}, 16) == 0);

    const auto bytes = [](const Result<Packing>& packing) {
        return packing.value().slots * packing.value().cell;
    };
    CHECK(bytes(pack_heads(KvDtype::automatic, 8, 128, 128, 512)) == 8 * 512);
    CHECK(bytes(pack_heads(KvDtype::fp8, 8, 128, 128, 512)) == 8 * 256);
    CHECK(bytes(pack_heads(KvDtype::int8_per_token_head, 8, 128, 128, 512)) == 8 * (256 + 8));
    CHECK(bytes(pack_heads(KvDtype::int4_per_token_head, 8, 128, 128, 512)) == 8 * (128 + 8));
    CHECK(bytes(pack_heads(KvDtype::nvfp4, 8, 128, 128, 512)) == 16 * (64 + 8));
    CHECK(why(pack_heads(KvDtype::nvfp4, 8, 192, 128, 640)) ==
          Error{.code = Errc::unsupported, .what = Uncovered::unequal_widths, .got = 128, .want = 192});
    // TurboQuant: value bits of the value and 4 bytes of it; keys in 8 bits, or in their bits and 2 bytes.
    const u64 k8 = bytes(pack_heads(KvDtype::turboquant_k8v4, 1, 128, 128, 512));
    const u64 k4 = bytes(pack_heads(KvDtype::turboquant_4bit_nc, 1, 128, 128, 512));
    const u64 k3 = bytes(pack_heads(KvDtype::turboquant_k3v4_nc, 1, 128, 128, 512));
    const u64 v3 = bytes(pack_heads(KvDtype::turboquant_3bit_nc, 1, 128, 128, 512));
    CHECK(k4 - k3 == 16);
    CHECK(k3 - v3 == 16);
    CHECK(k8 > k4);
    CHECK(k8 == turboquant_cell(128, 128, 8, 4));
    CHECK(bytes(pack_latent(KvDtype::int4_per_token_head, 576, 1'152)) == 576 / 2 + 8);
    CHECK(bytes(pack_latent(KvDtype::fp8_ds_mla, 576, 1'152)) == 656);
    CHECK(why(pack_latent(KvDtype::nvfp4, 576, 1'152)).code == Errc::unsupported);
}

TEST_CASE("vLLM: window latents had pages of latents until 2026-08-10, and have their own since") {
    using namespace kvcap::vllm;
    const Bytes memory[] = {60_GiB};
    u64 padded_pages = 0;
    for (const KvDtype dtype : {KvDtype::automatic, KvDtype::fp8, KvDtype::fp8_ds_mla}) {
        for (const char* version : {"0.26", "2026-08-09", "2026-08-10", "0.28"}) {
            const bool padded =
                std::string_view{version} == "0.26" || std::string_view{version} == "2026-08-09";
            const kvcap::vllm::Engine engine{.options = {.kv_dtype = dtype, .block_size = 256},
                                             .rules = rules_named(version).value()};
            const auto outcome = engine.start(models::deepseek_v4_flash, {}, {memory, 1});
            REQUIRE(outcome.runs());
            CHECK(outcome.design.grouping.shape == Shape::packed);
            const auto& specs = outcome.design.grouping.specs;
            for (const Spec& spec : specs) {
                u64 least = off_scale;
                for (const Spec& latent : specs) {
                    const bool holds = is_latent(latent.kind) && latent.page() >= spec.natural_page();
                    least = holds ? std::min(least, latent.page()) : least;
                }
                if (spec.kind == SpecKind::window_mla && padded) {
                    CHECK(spec.page() == least);
                    padded_pages += spec.page() > spec.natural_page() + 576 ? 1u : 0u;
                } else {
                    CHECK(spec.page() == (spec.align == 0 ? spec.natural_page()
                                                          : (spec.natural_page() + spec.align - 1) /
                                                                spec.align * spec.align));
                }
            }
        }
    }
    CHECK(padded_pages > 0);
}

TEST_CASE("TensorRT-LLM: shares, states, chains and splits") {
    using namespace kvcap::trtllm;
    Options shares{};
    for (const double share : {1.0, 2.0, 5.0}) {
        REQUIRE(shares.shares.push(share));
    }
    CHECK(share_of(0, 3, shares) == 0.125f);
    CHECK(share_of(2, 3, shares) == 0.625f);
    CHECK(share_of(2, 4, {}) == 0.25f);
    const LayerForm state = Mamba2{.heads = 6, .head_dim = 64, .state_dim = 16}.forms()[0];
    CHECK(why(state_bytes(state, 4, {})) == Error{.code = Errc::channels_not_divisible, .got = 6, .want = 4});
    CHECK(state_bytes(state, 2, {.state_format = f32}).value().state == 6 * 64 * 16 * 4 / 2);
    CHECK(HybridBudget{.attention = 10, .state = 1'000, .slots = 3}.max_tokens(4'000) == 100);
    CHECK(HybridBudget{.attention = 10, .state = 1'000, .slots = 3}.max_tokens(3'000) == 0);
    // A snapshot every 256 tokens: 1,000 / 256 rounded up; every 100 tokens a block of 32 is broken as well.
    CHECK(HybridBudget{.attention = 10, .state = 1'000, .interval = 256}.slope() == 10 + 4);
    CHECK(HybridBudget{.attention = 10, .state = 1'000, .interval = 100}.slope() == 10 + 10 + 4);
    CHECK(most_blocks(1'000, 200, {.tokens_per_block = 64, .window = 150, .beams = 4}) == 4 * (3 + 1));

    const u64 chain[1] = {0b1110'1111};
    const MatchedGroup groups[2] = {{.window = 0, .pages = {chain, 8}}, {.window = 64, .pages = {chain, 8}}};
    CHECK(reused_tokens(groups, 1, 250, 32) == u64{128});
    CHECK(reused_tokens(groups + 1, 1, 250, 32) ==
          u64{250});  // 63 tokens before the end lie in the last pages
    CHECK(reused_tokens(groups, 2, 250, 32) == u64{128});
    CHECK(why(reused_tokens(groups, 2, 250, 0)).code == Errc::zero_dimension);
    CHECK(why(reused_tokens(groups, 33, 250, 32)) == Error{.code = Errc::capacity, .got = 33, .want = 32});
    const Bytes memory[] = {4_GiB};
    CHECK(why(kvcap::trtllm::Engine{}.pools(plain, {.tp = 0}, {memory, 1})).code == Errc::zero_parallelism);
    CHECK(why(kvcap::trtllm::Engine{}.pools(plain, {.cp = 2}, {memory, 1})) ==
          Error{.code = Errc::unsupported, .what = Uncovered::context_ranks, .got = 2});
    CHECK(why(kvcap::trtllm::Engine{}.pools(plain, {.tp = 3}, {memory, 1})) ==
          Error{.code = Errc::query_heads_not_divisible, .got = 32, .want = 3});
}

TEST_CASE("caches that an engine does not serve are refused at their layer") {
    static Bytes memory[65];
    std::fill(std::begin(memory), std::end(memory), 60_GiB);
    const auto at = [](u32 layer, Uncovered what, u64 got = 0, u64 want = 0) {
        return Error{.code = Errc::unsupported, .what = what, .layer = layer, .got = got, .want = want};
    };
    const auto second = [](const Retention& kept) {
        ModelSpec model = compose(repeat(2, heads), QueryHeads{8}).value();
        LayerForm form = heads.forms()[0];
        form.retention = kept;
        REQUIRE(model.add(1, form) == Errc::ok);
        return model;
    };
    const auto vllm = [](const ModelSpec& model, const Sharding& sharding = {}) {
        return why(kvcap::vllm::Engine{}.pools(model, sharding, {memory, sharding.pp}));
    };
    const auto sglang = [](const ModelSpec& model) {
        return why(kvcap::sglang::Engine{}.pools(model, {}, {memory, 1}));
    };
    const auto trtllm = [](const ModelSpec& model) {
        return why(kvcap::trtllm::Engine{}.pools(model, {}, {memory, 1}));
    };
    const ModelSpec budget = second({.keep = Keep::budget, .span = 64_tok});
    const ModelSpec lag = second({.lag = 4});
    for (const ModelSpec* model : {&budget, &lag}) {
        const Error wanted = model == &lag ? at(1, Uncovered::lag, 4) : at(1, Uncovered::budget);
        CHECK(vllm(*model) == wanted);
        CHECK(sglang(*model) == wanted);
        CHECK(trtllm(*model) == wanted);
    }
    CHECK(vllm(second({.source = Source::prompt})) == at(1, Uncovered::prompt_only));
    CHECK(vllm(second({.keep = Keep::window, .span = 64_tok, .sinks = 4_tok})) == at(1, Uncovered::sinks));
    CHECK(vllm(compose(repeat(2, Chunked{Mla{512, 64}, 64_tok})).value()) == at(0, Uncovered::chunked_latent));
    CHECK(vllm(compose(repeat(2, Cross{Mla{512, 64}})).value()) == at(0, Uncovered::encoder_part));
    CHECK(vllm(compose(repeat(2, rwkv(64, 2, 32))).value()) == at(0, Uncovered::rwkv));
    CHECK(vllm(compose(repeat(70, heads)).value(), {.pp = 65}) ==
          Error{.code = Errc::capacity, .got = 65, .want = 64});
    CHECK(sglang(second({.stride = 8})) == at(1, Uncovered::stride, 8));
    CHECK(trtllm(second({.stride = 8})) == at(1, Uncovered::stride, 8));
    CHECK(sglang(compose(repeat(1, heads), repeat(1, Gqa{4, 64})).value()) == at(1, Uncovered::second_shape));
    CHECK(sglang(compose(repeat(2, rwkv(64, 2, 32))).value()) == at(0, Uncovered::rwkv));
    CHECK(trtllm(compose(repeat(2, lightning(8, 64))).value()) == at(0, Uncovered::lightning));
    CHECK(trtllm(compose(repeat(2, Gqa{8, 192, 128})).value()) == at(0, Uncovered::unequal_widths, 128, 192));
    CHECK(trtllm(compose(repeat(2, Both{IndexKeys{.dim = 128}, heads})).value()) == at(0, Uncovered::bare_index));
    CHECK(kvcap::trtllm::Engine{}.pools(compose(repeat(2, SparseMla{512, 64, 128})).value(), {}, {memory, 1}));
    ModelSpec windows{};
    windows.layers = 9;
    for (u32 i = 0; i < 9; ++i) {
        REQUIRE(windows.add(i, Windowed{heads, {64 + i}}.forms()) == Errc::ok);
    }
    CHECK(trtllm(windows) == Error{.code = Errc::capacity, .layer = 7, .want = 7});
    // Constants that exist once a model lie in no pool, and change nothing.
    const ModelSpec scaled = second({.keep = Keep::once});
    const ModelSpec bare = compose(repeat(2, heads), QueryHeads{8}).value();
    CHECK(kvcap::vllm::Engine{}.pools(scaled, {}, {memory, 1})->pools ==
          kvcap::vllm::Engine{}.pools(bare, {}, {memory, 1})->pools);
    CHECK(kvcap::sglang::Engine{}.pools(scaled, {}, {memory, 1})->pools ==
          kvcap::sglang::Engine{}.pools(bare, {}, {memory, 1})->pools);
    CHECK(kvcap::trtllm::Engine{}.pools(scaled, {}, {memory, 1})->pools ==
          kvcap::trtllm::Engine{}.pools(bare, {}, {memory, 1})->pools);
}

TEST_CASE("attention: what a query reads and computes on a cached position") {
    const PositionCost each = position_cost(plain.forms[0], 32).value();
    CHECK(each == PositionCost{.flops = 2 * 32 * 256, .bytes = 4'096});
    CHECK(each.intensity().over == 16'384);
    CHECK(each.intensity().under == 4'096);
    CHECK(why(position_cost(plain.forms[0], 32, {.tp = 3})).code == Errc::heads_not_divisible);
    // MLA written out per head (128 heads of 192 and 128) reads 128 x 320 elements; absorbed 576 with far
    // more work.
    CHECK(expanded_mla(128, 192, 128, 2) == PositionCost{.flops = 2 * 128 * 320, .bytes = 2 * 128 * 320});
    const ModelSpec latent = compose(repeat(1, Mla{.latent = 512, .rope = 64})).value();
    CHECK(position_cost(latent.forms[0], 128).value() ==
          PositionCost{.flops = 2 * 128 * (576 + 512), .bytes = 1'152});

    const CacheWork work = cache_work(plain, {.prompt = {1'000}}).value();
    REQUIRE(work.size() == 1);
    CHECK(work[0].entries == 1'000);
    CHECK(work[0].bytes == Bytes{32'000 * 4'096});
    CHECK(work[0].intensity().over * 4'096 == work[0].intensity().under * 16'384);
    CHECK(why(cache_work(plain, {}, {.tp = 3})).code == Errc::query_heads_not_divisible);
    // A sparse index in each layer: queries of that layer's heads read what it picked.
    const ModelSpec sparse =
        compose(repeat(2, Both{IndexKeys{.dim = 64}, heads}), repeat(1, heads), QueryHeads{32}).value();
    const CacheWork picked =
        cache_work(sparse, {.prompt = {1'000}}, {}, {}, {.index_heads = 4, .picked = 100}).value();
    u64 entries[2] = {0, 0};
    for (const FormWork& part : picked) {
        entries[part.picks ? 1 : 0] += part.entries * part.caches;
    }
    CHECK(entries[0] == 2 * 1'000 + 1'000);  // the indexes, and the layer without one
    CHECK(entries[1] == 2 * 100);

    CHECK(causal_positions(10, 4) == 1 + 2 + 3 + 4 + 6 * 4);
    CHECK(causal_positions(4, 10) == 10);
    CHECK(prefill_flops(plain, 10, 1'000).value() == 2 * 1'000 * 10 + 32 * 55 * 16'384);
    CHECK(why(prefill_flops(plain, 10, 1'000, {.tp = 3})).code == Errc::heads_not_divisible);
    const ModelSpec crossing = compose(repeat(1, Cross{heads}), QueryHeads{32}).value();
    CHECK(prefill_flops(crossing, 10, 1'000) == u64{20'000});
}

}  // namespace engine_rules_tests
