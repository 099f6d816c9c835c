// SPDX-License-Identifier: MIT
// cases FOLDER GOLDEN.json...: writes for each distinct model of the golden files a GGUF header (metadata
// only) and the lines that kvcap expects from the engine, under options drawn from a printed seed.
#include "../../tools/golden/llamacpp_gguf.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/io/gguf.hpp>
#include <map>
#include <random>

using namespace kvcap;
using namespace kvcap::llamacpp;
using Json = nlohmann::json;

namespace {

Json first_of(const std::vector<Json>& choices, std::mt19937& random) {
    return choices[std::uniform_int_distribution<std::size_t>{0, choices.size() - 1}(random)];
}

/// The engine's addon decodes with n_ubatch = n_batch and never unifies.
Options draw(std::mt19937& random) {
    Options to{};
    to.n_ctx = first_of({1, 300, 2048, 5000, 8192, 20000, 32768}, random).get<u32>();
    to.n_batch = first_of({32, 100, 512, 2048}, random).get<u32>();
    to.n_ubatch = to.n_batch;
    to.n_seq_max = first_of({1, 1, 2, 3, 5}, random).get<u32>();
    if (to.n_ctx < to.n_seq_max) {
        to.n_ctx = 300;  // a batch below the number of sequences aborts the engine's graph
    }
    to.swa_full = first_of({false, false, false, true}, random).get<bool>();
    const std::vector<Json> types{1, 1, 8, 2, 30, 0, 20, 7};
    to.type_k = static_cast<Ggml>(first_of(types, random).get<int>());
    to.type_v = first_of({true, true, false}, random).get<bool>()
                    ? to.type_k
                    : static_cast<Ggml>(first_of(types, random).get<int>());
    to.flash_attn = static_cast<Flash>(first_of({0, 1, 2, 2}, random).get<int>());
    return to;
}

Json flags_of(const Options& o) {
    static constexpr const char* flash[] = {"off", "on", "auto"};
    return {{"contextSize", o.n_ctx},
            {"batchSize", o.n_batch},
            {"sequences", o.n_seq_max},
            {"swaFullCache", o.swa_full},
            {"kvCacheKeyType", static_cast<int>(o.type_k)},
            {"kvCacheValueType", static_cast<int>(o.type_v)},
            {"flash", flash[static_cast<int>(o.flash_attn)]}};
}

Json expectation(const Card& card, const Options& options) {
    const Result<Layout> made = layout(card, options);
    if (!made) {
        return {{"flags", flags_of(options)}, {"refused", sentence(refusal_of(made.error()))}};
    }
    Json lines = Json::array();
    for (const CacheShape& cache : made->caches) {
        if (is_compressor(cache.part)) {
            continue;
        }
        const Result<BlockBytes> bytes = cache_bytes(card, *made, cache);
        if (!bytes) {
            return {{"flags", flags_of(options)}, {"refused", "rows that are no whole blocks"}};
        }
        lines.push_back(summary_line(card, *made, cache, *bytes).text);
    }
    return {{"flags", flags_of(options)}, {"lines", lines}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: cases FOLDER GOLDEN.json...\n");
        return 2;
    }
    const auto number = [](const char* name, unsigned otherwise) {
        const char* text = std::getenv(name);
        return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    };
    const unsigned seed = number("KVCAP_SEED", 1);
    const unsigned most = number("KVCAP_CASES", ~0U);
    std::printf("seed %u\n", seed);
    std::mt19937 random{seed};
    std::map<std::string, std::string> models;
    Json all = Json::array();
    for (int i = 2; i < argc; ++i) {
        std::ifstream in{argv[i]};
        const Json file = Json::parse(in);
        for (const Json& one : file.value("cases", Json::array())) {
            const std::string id = one.at("id").get<std::string>();
            if (one.value("family", "") == "none" || !models.emplace(one.at("metadata").dump(), id).second ||
                all.size() >= most) {
                continue;
            }
            Json metadata = one.at("metadata");
            metadata["tokenizer.ggml.model"] = "none";
            golden::GgufWriter writer;
            writer.add_all(metadata);
            const std::string header = writer.bytes();
            std::ofstream{std::string{argv[1]} + "/" + id + ".gguf", std::ios::binary} << header;
            const auto parsed = gguf::read_header(std::as_bytes(std::span{header}));
            const auto card = gguf::read_card(*parsed);
            if (!card || card->load_error != 0) {
                continue;
            }
            Json asked = Json::array();
            for (int k = 0; k < 2; ++k) {
                asked.push_back(expectation(*card, draw(random)));
            }
            all.push_back({{"id", id}, {"arch", card->arch().name}, {"end", parsed->end}, {"asked", asked}});
        }
    }
    std::ofstream{std::string{argv[1]} + "/cases.json"} << all.dump(1);
    std::printf("%zu models\n", all.size());
}
