// SPDX-License-Identifier: MIT
// The caches and devices of `kvcap llamacpp` on the screen and as JSON.
#include "llamacpp_verb.hpp"
#include "screen.hpp"

#include <kvcap/io/spec_line.hpp>

namespace kvcap::cli {

namespace {

std::string device_table(const LlamaFinding& found, report::Unit unit) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right, A::right, A::right}};
    llamacpp::Devices placed = found.devices;
    placed.offload_cache = true;  // -nkvo leaves weights where they are
    table.row({"device", "blocks", "weights", "caches", "compute", "free"});
    for (int d = llamacpp::on_cpu; d < static_cast<int>(found.devices.count); ++d) {
        u32 blocks = 0;
        for (u32 i = 0; i < found.model.card.all_layers(); ++i) {
            blocks += llamacpp::device_of(found.model.card, placed, i) == d ? 1 : 0;
        }
        if (d == llamacpp::on_cpu && found.on(d) == 0) {
            continue;
        }
        const bool known = d != llamacpp::on_cpu && found.sized;
        const u64 have = known ? found.memory.available[d] : 0;
        const std::string left = !known                ? "-"
                                 : have >= found.on(d) ? report::amount({have - found.on(d)}, unit)
                                                       : "-" + report::amount({found.on(d) - have}, unit);
        const bool computes = d != llamacpp::on_cpu && found.memory.compute[d] != 0;
        const std::string compute = computes ? report::amount({found.memory.compute[d]}, unit) : "-";
        table.row(
            {d == llamacpp::on_cpu ? "CPU" : fmt::format("{}", d),
             found.layered() ? report::grouped(blocks) : d == llamacpp::on_cpu ? "-" : "all",
             found.model.from_file ? report::amount({found.weights.at(d)}, unit) : "?",
             report::amount({found.caches.at(d)}, unit), compute, left});
    }
    return table.text();
}

}  // namespace

std::string screen_of(const LlamaFinding& found, const Model& model, report::Unit unit, const Session& session) {
    const llamacpp::Resolved& to = found.layout.resolved;
    std::string out = session.bold(fmt::format("{}   {}   llama.cpp v0.5.0 (2026-09-28)",
                                               model.label.empty() ? model.argument : model.label,
                                               found.model.card.arch().name)) +
                      '\n';
    out += paragraph(fmt::format("n_ctx = {}, {} of {} cells, n_batch = {}, n_ubatch = {}, flash attention {}",
                                 to.n_ctx, report::counted(to.streams(), "stream", "streams"),
                                 report::grouped(to.n_ctx_seq), to.n_batch, to.n_ubatch,
                                 to.flash_attn ? "on" : "off")) + '\n';
    out += log_text(cache_lines(found.model.card, found.layout), "");
    const u64 total = value_of(llamacpp::total_bytes(found.model.card, found.layout)).total();
    out +=
        fmt::format("caches in all: {}\n\n{}", report::amount_and_exact({total}), device_table(found, unit));
    if (found.sized) {
        const char* verdict = !found.fits()            ? "DOES NOT FIT"
                              : !found.model.from_file ? "FITS without its weights"
                              : found.computes()       ? "FITS"
                                                       : "FITS if compute buffers leave it";
        out += fmt::format("\n{}\n", session.bold(verdict));
        out += found.model.from_file
                   ? ""
                   : "  weights are unknown (give the GGUF file): these are caches and compute alone\n";
        out += found.largest_context == 0
                   ? fmt::format("  at -ngl {} no context fits\n", found.devices.gpu_layers)
                   : fmt::format("  largest -c at -ngl {}: {}{}\n", found.devices.gpu_layers, found.largest_context,
                                 found.largest_context == found.of_model ? " (as long as the model allows)" : "");
        out += found.model.card.context != 0 && to.n_ctx_seq > found.model.card.context
                   ? paragraph(fmt::format("  {} tokens of a sequence are beyond the model's context of {}: "
                                           "llama-server warns, sets the cells aside and caps requests at that length",
                                           report::grouped(to.n_ctx_seq), report::grouped(found.model.card.context))) +
                         '\n'
                   : "";
        out += found.layered() ? fmt::format("  largest -ngl at -c {}: {}\n", to.n_ctx, found.most_offloaded) : "";
        out += found.least_host_experts.value_or(0) != 0
                   ? fmt::format("  least -ncmoe at -c {} and -ngl {}: {}\n", to.n_ctx, found.devices.gpu_layers,
                                 *found.least_host_experts)
                   : "";
    }
    return out;
}

std::string json_of(const LlamaFinding& found, const Model& model) {
    report::Json json;
    json.object().field("schema", "kvcap.llamacpp/1").field("model", full_name(model));
    const std::string keys{llamacpp::ggml_type(found.options.type_k).name};
    const std::string values{llamacpp::ggml_type(found.options.type_v).name};
    const std::string both = keys == values ? keys : keys + '/' + values;
    json.field("spec", spec_line(model.spec, model.read.shared));
    json.field("kv_cache_dtype", both).field("kv_cache_dtype_asked", both);
    json.field("cache_type_k", keys).field("cache_type_v", values);
    json.field("architecture", found.model.card.arch().name).field("n_ctx", found.layout.resolved.n_ctx);
    json.field("n_ctx_seq", found.layout.resolved.n_ctx_seq).array("lines");
    for (const std::string& line : cache_lines(found.model.card, found.layout)) {
        json.item(line);
    }
    json.end().array("devices");
    for (int d = llamacpp::on_cpu; d < static_cast<int>(found.devices.count); ++d) {
        json.object({}, report::Layout::flat)
            .field("device", d == llamacpp::on_cpu ? "cpu" : fmt::format("{}", d));
        json.field("weights_bytes", found.weights.at(d)).field("cache_bytes", found.caches.at(d));
        json.field("total_bytes", found.on(d)).end();
    }
    json.end();
    if (found.sized) {
        json.field("weights_known", found.model.from_file);
        json.field("fits", found.fits()).field("largest_ctx", u64{found.largest_context});
        found.layered() ? json.field("largest_ngl", u64{found.most_offloaded}) : json;
        found.least_host_experts ? json.field("least_n_cpu_moe", u64{*found.least_host_experts}) : json;
    }
    json.end();
    return json.text();
}

}  // namespace kvcap::cli
