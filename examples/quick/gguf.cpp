// SPDX-License-Identifier: MIT
// The caches that llama.cpp allocates for a GGUF file, from its header alone.
#include <cstdio>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>

int main(int argc, char** argv) {
    using namespace kvcap;
    if (argc != 2 || !gguf::read_file(argv[1]).value) {
        std::fprintf(stderr, "usage: kvcap-quick-gguf MODEL.gguf\n");
        return 2;
    }
    const auto file = gguf::read_file(argv[1]).value.value();  // mapped; only the header is touched
    const auto made = llamacpp::layout(file.card, {.n_ctx = 32'768, .n_seq_max = 4}).value();
    const auto bytes = llamacpp::total_bytes(file.card, made).value().total();
    std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
}
