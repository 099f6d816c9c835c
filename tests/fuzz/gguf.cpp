// SPDX-License-Identifier: MIT
// GGUF headers from anywhere: reading one never crashes, and what is read gives a layout or a refusal.
#include <cstddef>
#include <cstdint>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kvcap;
    const auto header = gguf::read_header(std::as_bytes(std::span{data, size}));
    if (!header) {
        return header.error->text().empty() ? 1 : 0;
    }
    const auto model = gguf::read_model(*header);
    if (!model) {
        return model.error->text().empty() ? 1 : 0;
    }
    static_cast<void>(gguf::shard_of(*header));
    static_cast<void>(gguf::ends_early(*header, size));
    static_cast<void>(fold(model->model.spec, {.prompt = 8192_tok}));
    static_cast<void>(llamacpp::card_from(model->model.spec));
    const auto made = llamacpp::layout(model->card, {.n_ctx = 4096, .n_seq_max = 2});
    if (made) {
        static_cast<void>(llamacpp::total_bytes(model->card, *made));
        static_cast<void>(
            llamacpp::per_device(model->card, *made, {.count = 2, .gpu_layers = 3, .share = {1, 1}}));
        static_cast<void>(llamacpp::sequence_state(model->card, *made, 100, false));
        for (const llamacpp::CacheShape& cache : made->caches) {
            static_cast<void>(
                llamacpp::cache_per_slice(model->card, *made, cache, {.count = 3, .share = {1, 2, 3}}, 32));
        }
    }
    return 0;
}
