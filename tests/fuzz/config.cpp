// SPDX-License-Identifier: MIT
// libFuzzer target of the config reader: any bytes give a model or a problem with words, never both. A model that is
// accepted can be summed: more tokens never hold less, two stages hold together what one holds, and its spec line reads
// back as the same model. Run: fuzz-config -max_total_time=600 corpus/config ../../configs/models
#include "check.hpp"

#include <cstdint>
#include <kvcap/fold.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/hf/parameters.hpp>
#include <kvcap/io/shape_spec.hpp>
#include <kvcap/io/spec_line.hpp>

namespace {

using namespace kvcap;

constexpr Lengths shorter{.prompt = {4096}, .decoded = {512}, .encoder = {100}};
constexpr Lengths longer{.prompt = {4097}, .decoded = {513}, .encoder = {101}};

void check_sums(const ModelSpec& model) {
    const auto held = fold(model, shorter);
    if (!held) {
        check(held.error().code == Errc::overflow || held.error().code == Errc::block_not_divisible);
        return;
    }
    const auto more = fold(model, longer);
    check(more ? more->total().value >= held->total().value : more.error().code == Errc::overflow);
    const Sharding stages{.pp = 2};
    const auto first = fold(model, shorter, stages, {.stage = 0});
    const auto second = fold(model, shorter, stages, {.stage = 1});
    check(!first || !second || first->total().value + second->total().value == held->total().value);
}

void check_model(const ModelSpec& model) {
    check(model.layers <= hf::most_layers);
    for (const Cache& cache : model.caches) {
        check(cache.layer < model.all_layers());
        check(cache.form < model.forms.size());
        check(model.form_of(cache).elements() > 0);
    }
    if (model.layers > 0) {
        check_sums(model);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto read = read_config(text);
    const auto weights = derived_weights(text);
    settled(weights);
    check(!weights || read);  // what has weights has caches, or none to keep
    settled(read_shape_spec(text));
    if (!settled(read)) {
        return 0;
    }
    check_model(read->spec);
    settled(stored_as(read->spec, {.kv = "fp8_ds_mla", .state = "f32", .index = "fp8"}));
    check_model(read->draft);
    for (const SharedLayer& shared : read->shared) {
        check(shared.layer < read->spec.layers && shared.source < shared.layer);
    }
    const auto again = read_spec_line(spec_line(read->spec, read->shared));
    check(again && again->spec == read->spec && again->shared == read->shared);
    return 0;
}
