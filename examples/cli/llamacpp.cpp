// SPDX-License-Identifier: MIT
// kvcap llamacpp MODEL: the lines llama.cpp prints about its caches, what each device holds, and how far -c
// and -ngl go.
#include "llamacpp.hpp"
#include "screen.hpp"

#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/io/spec_line.hpp>
#include <memory>

namespace kvcap::cli {

namespace {

struct LlamaOptions {
    ModelOptions model;
    std::string context = "0";
    std::string batch = "2048";
    std::string ubatch = "512";
    u32 parallel = 1;
    u32 rollback = 0;
    std::string type_k = "f16";
    std::string type_v = "f16";
    std::string flash = "auto";
    bool swa_full = false;
    bool unified = false;
    bool server = false;
    u32 gpu_layers = ~u32{0};
    std::string split_mode = "layer";
    std::vector<float> shares;
    std::vector<std::string> devices;
    std::string compute;
    std::string prompts;
    u32 checkpoints = 32;
    std::string min_step = "8192";
    std::string reuse_chunk = "0";
    std::string ram = "8GiB";
    Output output;
};

llamacpp::Options options_of(const LlamaOptions& o, const llamacpp::Card& card, bool parallel_given) {
    llamacpp::Options to{};
    const auto small = [](const std::string& text, std::string_view flag) {
        const u64 value = count_of(text, flag);
        if (value > (u64{1} << 31)) {
            stop(Exit::usage,
                 fmt::format("{}: {} is more than llama.cpp can count; at most 2^31", flag, text));
        }
        return static_cast<u32>(value);
    };
    to.n_ctx = small(o.context, "-c");
    to.n_batch = small(o.batch, "-b");
    to.n_ubatch = small(o.ubatch, "-ub");
    to.n_seq_max = o.parallel;
    to.n_rs_seq = o.rollback;
    to.type_k = cache_type(o.type_k, "cache-type-k");
    to.type_v = cache_type(o.type_v, "cache-type-v");
    to.flash_attn = flash_named(o.flash);
    to.swa_full = o.swa_full;
    to.kv_unified = o.unified;
    if (o.split_mode != "layer" && o.split_mode != "tensor") {
        stop(Exit::usage, "--split-mode: " + o.split_mode + " is neither layer nor tensor");
    }
    to.split_mode = o.split_mode == "tensor" ? llamacpp::SplitMode::tensor : llamacpp::SplitMode::layer;
    if (o.server) {
        to = llamacpp::server_context(card, {.engine = to,
                                             .parallel = parallel_given ? static_cast<int>(o.parallel) : -1,
                                             .draft_tokens = o.rollback});
    }
    return to;
}

/// Without --tensor-split the layer split follows free memory; without sizes, devices count alike.
llamacpp::Devices devices_of(const LlamaOptions& o, const llamacpp::Card& card,
                             llamacpp::DeviceMemory& memory) {
    const std::size_t count = std::max(o.devices.size(), std::max(o.shares.size(), std::size_t{1}));
    if (count > llamacpp::most_devices) {
        stop(Exit::usage, fmt::format("--device: {} devices; llama.cpp has at most 16", count));
    }
    for (const float share : o.shares) {
        if (!(share >= 0.0F && share <= 1e9F)) {
            stop(Exit::usage, fmt::format("--tensor-split: {} is no share; wanted numbers from 0", share));
        }
    }
    if (!o.shares.empty() && !o.devices.empty() && o.shares.size() != o.devices.size()) {
        stop(Exit::usage,
             fmt::format("--tensor-split: {} shares for {} devices", o.shares.size(), o.devices.size()));
    }
    llamacpp::Devices to{.count = static_cast<u32>(count),
                         .gpu_layers = static_cast<u32>(smaller(o.gpu_layers, card.all_layers() + 1))};
    for (u32 d = 0; d < to.count; ++d) {
        memory.available[d] = o.devices.empty() ? off_scale : bytes_of(o.devices[d], "--device").value;
        memory.compute[d] = o.compute.empty() ? 0 : bytes_of(o.compute, "--compute-buffer").value;
        const bool by_memory = !o.devices.empty() && o.split_mode == "layer";
        to.share[d] = !o.shares.empty() ? o.shares[d]
                      : by_memory       ? static_cast<float>(memory.available[d])
                                        : 1.0F;
    }
    return to;
}

llamacpp::BlockWeights weights_of(const LlamaModel& model) {
    return {.blocks = model.weights.blocks.data(),
            .count = static_cast<u32>(model.weights.blocks.size()),
            .input = model.weights.input,
            .output = model.weights.output,
            .tied = model.weights.tied};
}

/// Everything the screen and the JSON show.
struct Finding {
    LlamaModel model;
    llamacpp::Options options{};
    llamacpp::Layout layout{};
    llamacpp::Devices devices{};
    llamacpp::DeviceMemory memory{};
    llamacpp::PerDevice caches{};
    llamacpp::PerDevice weights{};
    u32 largest_context = 0;
    u32 most_offloaded = 0;
    bool sized = false;  ///< devices have sizes

    bool layered() const { return options.split_mode == llamacpp::SplitMode::layer; }
    u64 on(int device) const {
        const u64 compute = device == llamacpp::on_cpu ? 0 : memory.compute[device];
        return saturating_sum(saturating_sum(caches.at(device), weights.at(device)), compute);
    }
    bool fits() const {
        bool all = true;
        for (u32 d = 0; d < devices.count; ++d) {
            all = all && on(static_cast<int>(d)) <= memory.available[d];
        }
        return all;
    }
};

llamacpp::PerDevice cut(const Finding& found) {
    llamacpp::PerDevice sum{};
    for (const llamacpp::CacheShape& cache : found.layout.caches) {
        const auto own =
            value_of(llamacpp::cache_per_slice(found.model.card, found.layout, cache, found.devices, 32));
        for (u32 d = 0; d < found.devices.count; ++d) {
            sum.device[d] += own.device[d];
        }
    }
    return sum;
}

[[noreturn]] void refuse(const Error& error) {
    stop(Exit::usage, "llama.cpp refuses: " + refusal_words(error));
}

Finding find(const LlamaOptions& o, const Model& model, bool parallel_given) {
    Finding found{.model = llama_model(model)};
    const llamacpp::Card& card = found.model.card;
    found.options = options_of(o, card, parallel_given);
    const Result<llamacpp::Layout> made = llamacpp::layout(card, found.options);
    if (!made) {
        refuse(made.error());
    }
    found.layout = *made;
    if (found.layout.resolved.n_ctx == 0) {
        stop(Exit::usage, "-c: the model does not say its context; give one");
    }
    found.devices = devices_of(o, card, found.memory);
    found.sized = !o.devices.empty();
    if (!found.layered()) {
        found.caches = cut(found);
        return found;
    }
    found.caches = value_of(llamacpp::per_device(card, found.layout, found.devices));
    found.weights = llamacpp::weights_per_device(card, found.devices, weights_of(found.model));
    if (found.sized) {
        const u32 limit = card.context == 0 ? 1U << 24 : static_cast<u32>(round_up(card.context, 256));
        const u32 all = static_cast<u32>(smaller(u64{limit} * found.options.n_seq_max, u64{1} << 30));
        found.largest_context = value_of(llamacpp::largest_context(
            card, found.options, found.devices, weights_of(found.model), found.memory, all));
        found.most_offloaded = value_of(llamacpp::most_offloaded(card, found.options, found.devices,
                                                                 weights_of(found.model), found.memory));
    }
    return found;
}

std::string device_table(const Finding& found, report::Unit unit) {
    using A = report::Align;
    report::Table table{{A::left, A::right, A::right, A::right, A::right, A::right}};
    table.row({"device", "blocks", "weights", "caches", "compute", "free"});
    for (int d = llamacpp::on_cpu; d < static_cast<int>(found.devices.count); ++d) {
        u32 blocks = 0;
        for (u32 i = 0; i < found.model.card.all_layers(); ++i) {
            blocks += llamacpp::device_of(found.model.card, found.devices, i) == d ? 1 : 0;
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
             found.layered() ? report::grouped(blocks) : "all",
             found.model.from_file && found.layered() ? report::amount({found.weights.at(d)}, unit) : "?",
             report::amount({found.caches.at(d)}, unit), compute, left});
    }
    return table.text();
}

std::string screen_of(const Finding& found, const Model& model, report::Unit unit, const Session& session) {
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
    if (found.sized && found.layered()) {
        const char* verdict = !found.fits()           ? "DOES NOT FIT"
                              : found.model.from_file ? "FITS"
                                                      : "FITS without its weights";
        out += fmt::format("\n{}\n", session.bold(verdict));
        out += found.model.from_file
                   ? ""
                   : "  weights are unknown (give the GGUF file): these are caches and compute alone\n";
        out += found.largest_context == 0
                   ? fmt::format("  at -ngl {} no context fits\n", found.devices.gpu_layers)
                   : fmt::format("  largest -c at -ngl {}: {}\n", found.devices.gpu_layers,
                                 found.largest_context);
        out += fmt::format("  largest -ngl at -c {}: {}\n", to.n_ctx, found.most_offloaded);
    }
    return out;
}

std::string json_of(const Finding& found, const Model& model) {
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
    if (found.sized && found.layered()) {
        json.field("weights_known", found.model.from_file);
        json.field("fits", found.fits()).field("largest_ctx", u64{found.largest_context});
        json.field("largest_ngl", u64{found.most_offloaded});
    }
    json.end();
    return json.text();
}

void replay(const LlamaOptions& o, const Model& model, bool parallel_given, Session& session) {
    const LlamaModel llama = llama_model(model);
    const llamacpp::ReuseOptions reuse{.checkpoints = o.checkpoints,
                                       .min_step = count_of(o.min_step, "--checkpoint-min-step"),
                                       .reuse_chunk = count_of(o.reuse_chunk, "--cache-reuse"),
                                       .ram = bytes_of(o.ram, "--cache-ram").value};
    session.print(replay_words(llama, options_of(o, llama.card, parallel_given), reuse, o.prompts));
}

void run(const LlamaOptions& o, bool parallel_given, Session& session) {
    o.output.begin(session);
    const Model model = load(o.model);
    if (!o.prompts.empty()) {
        return replay(o, model, parallel_given, session);
    }
    const Finding found = find(o, model, parallel_given);
    u64 largest = found.on(llamacpp::on_cpu);
    for (u32 d = 0; d < found.devices.count; ++d) {
        largest = larger(largest, found.on(static_cast<int>(d)));
    }
    const report::Unit unit = o.output.unit_for({largest});
    std::vector<Note> notes = model.notes;
    notes.insert(notes.end(), found.model.notes.begin(), found.model.notes.end());
    if (o.compute.empty() && found.sized) {
        notes.push_back({Origin::assumed, "--compute-buffer",
                         "none given; the engine prints its own as `compute buffer size`"});
    }
    session.print(o.output.json ? json_of(found, model)
                                : screen_of(found, model, unit, session) + notes_text(notes, false, session));
    session.exit = found.sized && found.layered() && !found.fits() ? Exit::does_not_fit : Exit::ok;
}

}  // namespace

void add_llamacpp(CLI::App& app, Session& session) {
    const auto o = std::make_shared<LlamaOptions>();
    CLI::App* verb = app.add_subcommand(
        "llamacpp", "The lines llama.cpp prints, each device's memory, the largest -c and -ngl");
    o->model.add_to(*verb);
    verb->add_option("-c,--ctx-size", o->context, "Cells of all sequences; 0 = the model's context")
        ->capture_default_str();
    CLI::Option* parallel = verb->add_option("--parallel", o->parallel, "-np: sequences at once");
    verb->add_option("-b,--batch-size", o->batch, "Tokens of one batch")->capture_default_str();
    verb->add_option("--ubatch-size", o->ubatch, "-ub: tokens of one micro-batch")->capture_default_str();
    verb->add_option("--cache-type-k", o->type_k, "-ctk: f16, q8_0, q4_0 ...")->capture_default_str();
    verb->add_option("--cache-type-v", o->type_v, "-ctv: f16, q8_0, q4_0 ...")->capture_default_str();
    verb->add_option("--flash-attn", o->flash, "-fa: on, off or auto")->capture_default_str();
    verb->add_flag("--kv-unified", o->unified, "-kvu: one cache for all sequences");
    verb->add_flag("--swa-full", o->swa_full, "Windows get cells for everything");
    verb->add_option("--draft-max", o->rollback,
                     "Draft tokens of MTP speculation: rows that states can go back to");
    verb->add_flag("--server", o->server, "What llama-server chooses where nothing is said");
    verb->add_option("--gpu-layers", o->gpu_layers, "-ngl: blocks on devices; all unless said");
    verb->add_option("--split-mode", o->split_mode, "-sm: layer or tensor")->capture_default_str();
    verb->add_option("--tensor-split", o->shares, "-ts: shares of the devices, as 3,1")->delimiter(',');
    verb->add_option("--device", o->devices, "Free memory of each device, as 24GiB,24GiB")->delimiter(',');
    verb->add_option("--compute-buffer", o->compute,
                     "Compute buffer of each device, as the engine prints it");
    verb->add_option("--prompts", o->prompts,
                     "File of prompts (a:0-600 b:0-20 +8): what the server would skip")
        ->group("Prefix reuse");
    verb->add_option("--ctx-checkpoints", o->checkpoints, "Checkpoints a slot keeps")->group("Prefix reuse");
    verb->add_option("--checkpoint-min-step", o->min_step, "Tokens between them")->group("Prefix reuse");
    verb->add_option("--cache-reuse", o->reuse_chunk, "Smallest chunk that is moved; 0 = off")
        ->group("Prefix reuse");
    verb->add_option("--cache-ram", o->ram, "Host prompt cache; 0 = off")->group("Prefix reuse");
    o->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap llamacpp model.gguf -c 32768 -ctk q8_0 -ctv q8_0\n"
        "  kvcap llamacpp model.gguf -c 65536 -np 4 -ngl 40 --device 24GiB,24GiB --compute-buffer 1GiB\n"
        "  kvcap llamacpp ollama:llama3.1:8b --server --json");
    verb->callback([o, parallel, &session] { run(*o, parallel->count() > 0, session); });
}

}  // namespace kvcap::cli
