// SPDX-License-Identifier: MIT
// Observations of llama.cpp, and of ollama, which runs it: one cache of a context, as the log line shows it.
#include "llamacpp.hpp"
#include "observations.hpp"

namespace golden {

namespace {

using namespace kvcap;
using namespace kvcap::llamacpp;

Json answers(const Card& card, const Layout& layout, const CacheShape& cache) {
    const BlockBytes bytes = cache_bytes(card, layout, cache).value();
    const auto text = [](u64 value) { return mib_text(float_mib(value)); };
    u64 layer = 0;
    for (u32 i = card.all_layers(); i-- > 0;) {
        layer = owns(card, cache, i) ? key_and_value(block_bytes(card, layout, cache, i).value()) : layer;
    }
    return {{"cells", cache.cells},
            {"layers", printed_layers(card, cache)},
            {"kv_mib_2dp", text(key_and_value(bytes))},
            {"k_mib_2dp", text(bytes.k)},
            {"v_mib_2dp", text(bytes.v)},
            {"layer_mib_2dp", text(layer)},
            {"rs_mib_2dp", text(state_bytes(bytes))},
            {"r_mib_2dp", text(bytes.r)},
            {"s_mib_2dp", text(bytes.s)}};
}

Json answer(const Observation& asked) {
    const StrictObject model{asked.model};
    const auto card = llamacpp_card(model.at("metadata"), model.get<bool>("nextn_tensors_present", false));
    model.done("the model");
    const Options options = llamacpp_options(asked.options);
    if (!card) {
        return {{"error", card.error->text()}};
    }
    const Result<Layout> made = layout(*card, options);
    if (!made) {
        return {{"error", sentence(refusal_of(made.error()))}};
    }
    for (const CacheShape& cache : made->caches) {
        if (asked.role == llamacpp_part(cache.part)) {
            return answers(*card, *made, cache);
        }
    }
    return {{"error", "no cache of role " + asked.role}};
}

std::uint64_t step(const Observation&) { return 1; }

}  // namespace

extern const Observer llamacpp_observer{"llama_cpp", answer, step};
extern const Observer ollama_observer{"ollama", answer, step};

}  // namespace golden
