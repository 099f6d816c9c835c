// SPDX-License-Identifier: MIT
// elements CONFIG TOKENS ENCODER_TOKENS: what each layer keeps of one sequence, in elements, by transformers'
// conventions: windows of span - 1 past tokens and convolution buffers as wide as the kernel. One line a
// layer: layer, elements. Used by compare.py.
#include <cstdio>
#include <cstdlib>
#include <kvcap/io/hf.hpp>
#include <map>

using namespace kvcap;

namespace {

u64 elements(const LayerForm& form, const Lengths& lengths) {
    const Retention& keep = form.retention;
    if (keep.keep == Keep::last) {
        u64 sum = 0;
        for (const Stream& stream : form.streams) {
            const bool taps = stream.role == Role::conv && stream.split != Split::replicated;
            sum += u64{stream.heads} * (stream.rows + (taps ? 1u : 0u)) * stream.width;
        }
        return sum;
    }
    const u64 here = lengths.from(keep.source);
    const bool bounded = keep.keep == Keep::window || keep.keep == Keep::chunk;
    const u64 slots = bounded ? smaller(here, keep.span.value - 1) : here / keep.stride;
    return slots * form.elements();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: elements CONFIG TOKENS ENCODER_TOKENS\n", stderr);
        return 2;
    }
    const Diagnosed<ReadModel> model = read_config_file(argv[1]);
    if (!model) {
        std::fprintf(stderr, "%s\n", model.error->text().c_str());
        return 3;
    }
    const Lengths lengths{.prompt = {std::strtoull(argv[2], nullptr, 10)},
                          .encoder = {std::strtoull(argv[3], nullptr, 10)}};
    std::map<u32, u64> layers;
    for (const Cache& cache : model->spec.caches) {
        layers[cache.layer] += elements(model->spec.form_of(cache), lengths);
    }
    for (u32 i = 0; i < model->spec.layers; ++i) {
        std::printf("%u %llu\n", i, static_cast<unsigned long long>(layers[i]));
    }
}
