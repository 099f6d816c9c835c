// SPDX-License-Identifier: MIT
// libFuzzer target of the config reader: any bytes give a model or a problem with words, never both, and
// every model that is accepted can be summed. Run: fuzz-config -max_total_time=600 corpus/config
#include <cstdint>
#include <kvcap/fold.hpp>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/hf/parameters.hpp>
#include <kvcap/io/shape_spec.hpp>

namespace {

void check(bool holds) {
    if (!holds) {
        __builtin_trap();
    }
}

void check_model(const kvcap::ModelSpec& model) {
    check(model.layers <= kvcap::hf::most_layers);
    for (const kvcap::Cache& cache : model.caches) {
        check(cache.layer < model.all_layers());
        check(cache.form < model.forms.size());
        check(model.form_of(cache).elements() > 0);
    }
    if (model.layers > 0) {
        const auto held = kvcap::fold(model, {.prompt = {4096}, .decoded = {512}, .encoder = {100}});
        check(held.has_value() || held.error().code == kvcap::Errc::overflow ||
              held.error().code == kvcap::Errc::block_not_divisible);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const auto read = kvcap::read_config(text);
    const auto weights = kvcap::derived_weights(text);
    check(weights.value.has_value() != weights.error.has_value());
    check(!weights || read);  // what has weights has caches, or none to keep
    const auto shape = kvcap::read_shape_spec(text);
    check(shape.value.has_value() != shape.error.has_value());
    check(read.value.has_value() != read.error.has_value());
    if (read.error) {
        check(!read.error->text().empty());
        return 0;
    }
    check_model(read->spec);
    const auto stored = kvcap::stored_as(read->spec, {.kv = "fp8_ds_mla", .state = "f32", .index = "fp8"});
    check(stored.value.has_value() != stored.error.has_value());
    check_model(read->draft);
    for (const kvcap::SharedLayer& shared : read->shared) {
        check(shared.layer < read->spec.layers && shared.source < shared.layer);
    }
    return 0;
}
