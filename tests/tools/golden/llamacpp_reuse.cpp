// SPDX-License-Identifier: MIT
// Recorded runs of llama-server: which tokens of each prompt were taken from its caches, by which slot, and
// which checkpoints were made.
#include "llamacpp.hpp"

#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/engine/llamacpp/server_reuse.hpp>

namespace golden {

using namespace kvcap;
using namespace kvcap::llamacpp;

namespace {

struct Server {
    ServerOptions options{};
    ReuseOptions reuse{};
};

Server server_of(const StrictObject& flags) {
    Server to{};
    Options& engine = to.options.engine;
    engine.n_ctx = flags.get<u32>("n_ctx");
    engine.n_batch = flags.get<u32>("n_batch");
    engine.n_ubatch = flags.get<u32>("n_ubatch");
    engine.swa_full = flags.get<bool>("swa_full");
    to.options.parallel = flags.get<int>("parallel");
    const bool unified = flags.get<bool>("kv_unified");
    engine.kv_unified = to.options.parallel >= 0 && unified;
    to.reuse.checkpoints = flags.get<u32>("ctx_checkpoints");
    to.reuse.min_step = flags.get<u64>("checkpoint_min_step");
    to.reuse.reuse_chunk = flags.get<u64>("cache_reuse");
    to.reuse.ram = flags.get<u64>("cache_ram_mib") << 20;
    flags.done("flags");
    return to;
}

TokenList tokens_of(const Json& segments, const Json& streams) {
    TokenList tokens;
    for (const Json& segment : segments) {
        const Json& stream = streams.at(segment.at(0).get<std::string>());
        for (std::size_t i = segment.at(1).get<std::size_t>(); i < segment.at(2).get<std::size_t>(); ++i) {
            tokens.push_back(stream.at(i).get<u32>());
        }
    }
    return tokens;
}

/// MiB with three decimals, as "%.3f" shows them.
std::string mib_3(u64 bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / 1048576.0);
    return text;
}

Json checkpoint_json(const Checkpoint& c) {
    return {{"n_tokens", c.tokens}, {"pos_min", c.first}, {"pos_max", c.last}, {"size_mib", mib_3(c.bytes)}};
}

const char* kind_of(const Layout& layout) {
    switch (layout.memory) {
        case Memory::recurrent: return "recurrent";
        case Memory::hybrid:
        case Memory::hybrid_iswa:
        case Memory::hybrid_idx: return "hybrid";
        case Memory::iswa:
        case Memory::dsa_iswa: return "swa";
        default: return "full";
    }
}

void check_request(Report& report, const Json& json, const Json& streams, ServerReuse& server, u64 predicted,
                   Json& made) {
    const StrictObject request{json};
    const std::string name = request.get<std::string>("name");
    const TokenList prompt = tokens_of(request.at("segments"), streams);
    const auto generated = request.get<TokenList>("generated");
    const Served served = server.serve(prompt, generated);
    report.equal(name + ".prompt_tokens", request.at("prompt_tokens"), prompt.size());
    report.equal(name + ".generated", predicted, generated.size());
    report.equal(name + ".slot", request.at("slot"), served.slot);
    report.equal(name + ".cached_tokens", request.at("cached_tokens"), served.cached);
    report.equal(name + ".processed_tokens", request.at("processed_tokens"), served.processed);
    for (const Checkpoint& checkpoint : served.made) {
        made.push_back(checkpoint_json(checkpoint));
    }
    request.done("request");
}

void check_run(Report& report, const Json& json, const Json& streams) {
    const StrictObject run{json};
    run.ignore("id");
    run.ignore("model");
    const Diagnosed<Card> card = llamacpp_card(run.at("metadata"), false);
    const Server flags = server_of(StrictObject{run.at("flags")});
    if (!card) {
        report.fail("metadata", "a model", card.error->text());
        return;
    }
    const Result<Layout> made = layout(*card, server_context(*card, flags.options));
    if (!made) {
        report.fail("flags", "a context", sentence(refusal_of(made.error())));
        return;
    }
    report.equal("kv_unified", run.at("flags").at("kv_unified"), made->resolved.kv_unified);
    report.equal("memory_kind", run.at("memory_kind"), kind_of(*made));
    report.equal("window", run.at("window"), card->window);
    ServerReuse server{*card, *made, flags.reuse};
    Json checkpoints = Json::array();
    for (const Json& request : run.at("requests")) {
        check_request(report, request, streams, server, run.get<u64>("n_predict"), checkpoints);
    }
    report.equal("checkpoints_created", run.at("checkpoints_created"), checkpoints);
    run.done("run");
}

bool knows_llamacpp_reuse(const File& file) {
    return file.says("engine", "llama.cpp") &&
           file.content.contains("runs");
}

void run_llamacpp_reuse(const File& file) {
    const Json& streams = file.content.at("streams");
    for (const Json& one : file.content.at("runs")) {
        run_case(one, file.report, [&](const Json& json) { check_run(file.report, json, streams); });
    }
}

}  // namespace

const Format llamacpp_reuse_format{"llama.cpp server", knows_llamacpp_reuse, run_llamacpp_reuse};

}  // namespace golden
