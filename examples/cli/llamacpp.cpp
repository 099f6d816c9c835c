// SPDX-License-Identifier: MIT
// kvcap llamacpp MODEL: the lines llama.cpp prints about its caches, what each device holds, and how far -c
// and -ngl go.
#include "llamacpp_verb.hpp"
#include "options.hpp"
#include "screen.hpp"

#include <memory>

namespace kvcap::cli {

namespace {

void replay(const LlamaOptions& o, const Model& model, Session& session) {
    const LlamaModel llama = llama_model(model);
    const llamacpp::ReuseOptions reuse{.checkpoints = o.checkpoints,
                                       .min_step = count_of(o.min_step, "--checkpoint-min-step"),
                                       .reuse_chunk = count_of(o.reuse_chunk, "--cache-reuse"),
                                       .ram = bytes_of(o.ram, "--cache-ram").value};
    const std::vector<ServerRequest> requests =
        replay_on_server(llama, options_of(o, llama.card), reuse, o.prompts);
    session.print(o.output.json ? replay_json(requests, model, llama) : replay_words(requests));
}

/// What --fit and the split do that the table does not say.
void note_choices(const LlamaOptions& o, const LlamaFinding& found, std::vector<Note>& notes) {
    const llamacpp::Options& to = found.options;
    if (found.by_fit) {
        notes.push_back({Origin::assumed, "--server", fitted_words(found.model.card.context, to.n_seq_max, to.n_ctx)});
    }
    if (o.split_mode == "none" && o.devices.size() > 1) {
        notes.push_back({Origin::assumed, "--split-mode", "none: the first of the devices alone"});
    }
    if (o.split_mode == "tensor" && found.model.from_file) {
        notes.push_back({Origin::assumed, "--split-mode",
                         "tensor: matrices count as cut by the shares, norms and routers as whole on each device; the "
                         "engine rounds each cut to blocks of its format"});
    }
    if (found.host_experts != 0 && found.experts.empty()) {
        notes.push_back({Origin::assumed, o.all_on_host ? "--cpu-moe" : "--n-cpu-moe",
                         "no block has experts: nothing moves"});
    }
    if (o.threads != 0) {
        notes.push_back({Origin::assumed, "--threads", "changes no memory"});
    }
}

void run(const LlamaOptions& o, Session& session) {
    o.output.begin(session);
    const Model model = load(o.model);
    if (!o.prompts.empty()) {
        return replay(o, model, session);
    }
    const LlamaFinding found = finding_of(o, model);
    const bool cut = o.split_mode == "tensor" && found.devices.count > 1;
    if (const std::string why = cut ? no_tensor_split(found.options) : ""; !why.empty()) {
        stop(Exit::usage, why);
    }
    u64 largest = found.on(llamacpp::on_cpu);
    for (u32 d = 0; d < found.devices.count; ++d) {
        largest = larger(largest, found.on(static_cast<int>(d)));
    }
    const report::Unit unit = o.output.unit_for({largest});
    std::vector<Note> notes = model.notes;
    notes.insert(notes.end(), found.model.notes.begin(), found.model.notes.end());
    note_choices(o, found, notes);
    if (o.compute.empty() && found.sized) {
        notes.push_back({Origin::assumed, "--compute-buffer",
                         "none given; the engine prints its own as `compute buffer size`"});
    }
    session.print(o.output.json ? json_of(found, model)
                                : screen_of(found, model, unit, session) + notes_text(notes, false, session));
    session.exit = found.sized && !found.fits() ? Exit::does_not_fit : Exit::ok;
}

/// llama.cpp's words and negative numbers for every block.
std::string whole_model(std::string& layers) {
    const bool negative = layers.size() > 1 && layers[0] == '-' &&
                          layers.find_first_not_of("0123456789", 1) == std::string::npos;
    if (negative || layers == "all" || layers == "auto") {
        layers = std::to_string(LlamaOptions{}.gpu_layers);
    }
    return {};
}

}  // namespace

void add_llamacpp(CLI::App& app, Session& session) {
    const auto o = std::make_shared<LlamaOptions>();
    CLI::App* verb = app.add_subcommand(
        "llamacpp", "The lines llama.cpp prints, each device's memory, the largest -c and -ngl");
    o->model.add_to(*verb);
    CLI::Option* context =
        verb->add_option("-c,--ctx-size", o->context, "Cells of all sequences; 0 = the model's context");
    context->capture_default_str();
    CLI::Option* parallel = verb->add_option("--parallel", o->parallel, "-np: sequences at once; -1 = as a server does")
                                ->check(CLI::Range(-1, 65536).description(""));
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
    verb->add_option("--gpu-layers", o->gpu_layers, "-ngl: blocks on devices; all unless said")
        ->transform(CLI::Validator{whole_model, ""});
    CLI::Option* all = verb->add_flag("--cpu-moe", o->all_on_host, "-cmoe: experts of every block stay on the CPU");
    verb->add_option("--n-cpu-moe", o->host_experts, "-ncmoe: those of so many first blocks")->excludes(all);
    verb->add_option("--split-mode", o->split_mode, "-sm: layer, tensor or none")->capture_default_str();
    verb->add_option("--tensor-split", o->shares, "-ts: shares of the devices, as 3,1")->delimiter(',');
    verb->add_option("--device", o->devices, "Free memory of each device, as 24GiB,24GiB")->delimiter(',');
    verb->add_option("--gpu", o->gpu, "The same by a GPU's name (rtx-4090 ...)")->check(filled());
    verb->add_option("--gpus", o->gpus, "How many of them; else as many as -ts has shares, or 1")
        ->check(CLI::Range(1u, 16u).description(""));
    verb->add_flag("--no-kv-offload", o->no_kv_offload, "-nkvo: caches stay in host memory");
    verb->add_option("-t,--threads", o->threads, "As llama.cpp takes it; changes no memory");
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
    verb->callback([o, context, parallel, &session] {
        o->context_said = context->count() > 0;
        o->parallel_said = parallel->count() > 0;
        run(*o, session);
    });
}

}  // namespace kvcap::cli
