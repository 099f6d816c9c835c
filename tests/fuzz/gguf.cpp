// SPDX-License-Identifier: MIT
// GGUF headers from anywhere: reading one never crashes, and what is read gives a layout or a refusal. The devices hold
// together what the layout has, and a longer context or another sequence never takes less.
#include "check.hpp"

#include <cstddef>
#include <cstdint>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>

namespace {

using namespace kvcap;

u64 sum_of(const llamacpp::PerDevice& bytes) {
    u64 sum = bytes.cpu;
    for (const u64 each : bytes.device) {
        sum = saturating_sum(sum, each);
    }
    return sum;
}

/// Bytes of all caches. 0: no layout, or more than 64 bits.
u64 laid_out(const llamacpp::Card& card, const llamacpp::Options& options) {
    const auto made = llamacpp::layout(card, options);
    const auto bytes = made ? llamacpp::total_bytes(card, *made) : Errc::unsupported;
    return bytes && bytes->total() != off_scale ? bytes->total() : 0;
}

void check_card(const llamacpp::Card& card) {
    const llamacpp::Options options{.n_ctx = 4096, .n_seq_max = 2};
    const auto made = llamacpp::layout(card, options);
    if (!made) {
        return;
    }
    const u64 all = laid_out(card, options);
    const auto devices = llamacpp::per_device(card, *made, {.count = 2, .gpu_layers = 3, .share = {1, 1}});
    check(all == 0 || !devices || sum_of(*devices) == all);
    const u64 longer = laid_out(card, {.n_ctx = 8192, .n_seq_max = 2});
    check(longer == 0 || longer >= all);
    const u64 more = laid_out(card, {.n_ctx = 6144, .n_seq_max = 3});  // 2,048 cells a sequence, as before
    check(more == 0 || more >= all);
    const auto few = llamacpp::sequence_state(card, *made, 100, false);
    const auto many = llamacpp::sequence_state(card, *made, 101, false);
    check(!few || !many || *few <= *many);
}

/// Slices of a tensor split hold at least what is sliced: each ends on a whole element.
void check_slices(const llamacpp::Card& card) {
    const auto made =
        llamacpp::layout(card, {.n_ctx = 4096, .n_seq_max = 2, .split_mode = llamacpp::SplitMode::tensor});
    if (!made) {
        return;
    }
    for (const llamacpp::CacheShape& cache : made->caches) {
        const auto own = llamacpp::cache_bytes(card, *made, cache);
        const auto slices = llamacpp::cache_per_slice(card, *made, cache, {.count = 3, .share = {1, 2, 3}}, 32);
        check(!own || !slices || sum_of(*slices) >= own->total());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto header = gguf::read_header(std::as_bytes(std::span{data, size}));
    if (!settled(header)) {
        return 0;
    }
    const auto model = gguf::read_model(*header);
    if (!settled(model)) {
        return 0;
    }
    static_cast<void>(gguf::shard_of(*header));
    static_cast<void>(gguf::ends_early(*header, size));
    const auto few = fold(model->model.spec, {.prompt = 8192_tok});
    const auto many = fold(model->model.spec, {.prompt = 8193_tok});
    check(!few || !many || few->total().value <= many->total().value);
    static_cast<void>(llamacpp::card_from(model->model.spec));
    check_card(model->card);
    check_slices(model->card);
    return 0;
}
