// SPDX-License-Identifier: MIT
// From flags to a deployment: the model as its engine stores it, the memory, the split and the load.
#include "context_ranks.hpp"
#include "deployment.hpp"
#include "llamacpp.hpp"
#include "options.hpp"
#include "pairs.hpp"

namespace kvcap::cli {

void DeploymentOptions::add_to(CLI::App& verb) {
    model.add_to(verb);
    lengths.add_to(verb);
    verb.add_option("--lengths", distribution, "Mixed lengths: 8k:70,32k:30 or p50=2k,p90=8k,p100=32k")
        ->group("Lengths")->check(filled());
    verb.add_option("--engine-max-len", max_model_len,
                    "Longest request the engine is started for, when not --tokens")
        ->group("Lengths")->check(filled());
    sharding.add_to(verb);
    model.add_formats_to(verb);
    engine.add_to(verb);
    memory.add_to(verb);
}

namespace {

/// A format that nobody asked for: left out where the model's widths do not allow it.
void add_where_it_can_be(Deployment& on, const ModelOptions& model) {
    std::vector<Note> again;
    try {
        on.formats.push_back({model.kv_cache_dtype, load_for(*on.face, model, again)});
    } catch (const Stop&) {
        return;
    }
}

/// llama.cpp keeps the input embedding there.
void note_host_embedding(const Deployment& on, std::vector<Note>& notes) {
    for (const WeightGroup& group : on.weights_known.groups) {
        if (on.face->name == "llamacpp" && group.part == WeightPart::embedding) {
            notes.push_back({Origin::derived, "weights",
                             fmt::format("the input embedding, {} B, lies in host memory{}",
                                         report::grouped(group.bytes),
                                         on.weights_known.tied ? ", and a copy is the output layer" : "")});
        }
    }
}

/// What a named overhead has in it lies outside of SGLang's share, and what is taken off that share besides.
void note_outside(const Deployment& on, std::vector<Note>& notes) {
    if (on.face->name == "sglang" && on.memory.assumption == "kaito-2026-06") {
        notes.push_back({Origin::assumed, "--overhead",
                         on.memory.assumption + " has activations and graphs in it, which SGLang keeps outside of its "
                                                "share: counts are lower bounds (--non-kv-bytes 0 leaves them out)"});
    }
}

/// Requests are whole: of few, none may be left for a small share.
void note_rounding(const Mix& mix, u64 sequences, std::vector<Note>& notes) {
    const std::vector<u64> counts = mix.counts(sequences);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0 && sequences != 0) {
            notes.push_back({Origin::assumed, "--lengths",
                             fmt::format("of {} none has {} tokens, a share of {}: more --batch, or --tokens for it",
                                         report::counted(sequences, "request", "requests"),
                                         report::grouped((mix.each[i].prompt + mix.each[i].decoded).value),
                                         mix.shares[i])});
        }
    }
}

/// --dp beside --dp-attention could be read as the number of these ranks.
void note_replicas(const ShardingOptions& sharding, u64 gpus, std::vector<Note>& notes) {
    if (sharding.dp_attention && sharding.dp > 1) {
        notes.push_back({Origin::assumed, "--dp",
                         fmt::format("{} replicas of {} tensor ranks that each hold whole requests: {} GPUs",
                                     report::grouped(sharding.dp), report::grouped(sharding.tp),
                                     report::grouped(gpus))});
    }
}

/// What one engine takes beside its cache says nothing of another's.
void refuse_other_log(const Memory& memory, const EngineFace& face) {
    const std::string_view by = memory.measured_by;
    const bool same = face.name == "llamacpp" ? by == "llama.cpp" || by == "ollama"
                      : face.name == "trtllm" ? by == "tensorrt-llm"
                                              : by == face.name;
    if (!by.empty() && !same && face.name != "exact") {
        stop(Exit::usage,
             fmt::format("--overhead-from: a log of {}; what {} takes beside its cache is another's: a log of {} is "
                         "wanted, or --non-kv-bytes",
                         by, by, face.title));
    }
}

}  // namespace

Deployment DeploymentOptions::deployment(std::vector<Note>& notes) const {
    const ModelOptions stored = as_stored(model, engine.flags());
    Deployment on{};
    on.face = &engine.face();
    refuse_context_ranks(sharding, *on.face);
    refuse_attention_ranks(sharding, on.face->name);
    on.version = engine.version();
    on.flags = engine.flags();
    refuse_formats(*on.face, model);
    const Model asked = load_for(*on.face, stored, notes);
    notes.insert(notes.end(), asked.notes.begin(), asked.notes.end());
    if (on.flags.count("max-beam-width") == 0) {  // beams share what is not decoded
        note_unused(lengths, asked.spec, notes);
    }
    note_beyond_encoder(lengths, asked.read, notes);
    on.formats.push_back({stored.kv_cache_dtype, asked});
    for (const std::string_view smaller : on.face->formats) {
        const bool plain = stored.kv_cache_dtype == "auto" || stored.kv_cache_dtype == "bf16" ||
                           stored.kv_cache_dtype == "bfloat16" || stored.kv_cache_dtype == "float16";
        ModelOptions other = stored;
        other.kv_cache_dtype = smaller;
        if (plain && model.model != "-") {
            add_where_it_can_be(on, other);
        }
    }
    on.memory = memory_of(memory, on.face->share_of_free, notes);
    refuse_other_log(on.memory, *on.face);
    note_outside(on, notes);
    if (on.memory.by_budget && on.memory.total.value != 0 && !on.memory.weights_given && model.model != "-") {
        std::vector<Note> of_weights;  // a budget is outright: weights only say whether the GPU holds both
        on.beside_budget = find_weights(model.model, of_weights, {quantization, true});
    }
    if (!on.memory.by_budget && !on.memory.weights_given && model.model != "-") {
        on.weights_known = find_weights(model.model, notes, {quantization, true});
        if (on.weights_known.source == WeightSource::card && asked.read.draft.layers != 0) {
            notes.push_back({Origin::assumed, "card",
                             "the weights are the sum of the model's files, its draft layers among them, which engines "
                             "load only for drafting"});
        }
        note_host_embedding(on, notes);
    }
    on.dp = sharding.dp;
    const std::vector<u64> points = lengths.points(asked.read);
    if (points.size() != 1) {
        stop(Exit::usage, "--tokens: one length is wanted here; several lengths are --lengths 8k:70,32k:30");
    }
    on.mix = mix_of(distribution, points[0], lengths, asked.read);
    note_rounding(on.mix, lengths.sequences(), notes);
    on.max_len = max_model_len.empty() ? 0 : count_of(max_model_len, "--engine-max-len");
    if (on.max_len == 0 && !max_model_len.empty()) {
        stop(Exit::usage, "--engine-max-len: 0 tokens are no request; at least 1 is wanted");
    }
    on.cp_among_tp = among_tensor_ranks(sharding, on.face->name);
    on.gpus = u64{sharding.tp} * sharding.dp * sharding.pp * own_context_ranks(sharding, on.face->name);
    note_replicas(sharding, on.gpus, notes);
    if (on.beyond_context()) {
        notes.push_back({Origin::derived, max_model_len.empty() ? "--tokens" : "--engine-max-len", beyond_words(on)});
    }
    if (memory.gpus != 0 && on.gpus > memory.gpus) {
        stop(Exit::usage, fmt::format("the split needs {} GPUs and --gpus says {}", on.gpus, memory.gpus));
    }
    return on;
}

std::string split_words(const Sharding& sharding, u32 dp, bool attention_dp) {
    std::string out = fmt::format("TP {}", sharding.tp);
    out += sharding.pp > 1 ? fmt::format(" PP {}", sharding.pp) : "";
    out += sharding.cp > 1 ? fmt::format(" CP {}", sharding.cp) : "";
    out += dp > 1 ? fmt::format(" DP {}", dp) : "";
    return out + (attention_dp ? " attention-DP" : "");
}

void note_share(const Deployment& on, const Setting& setting, bool each, std::vector<Note>& notes) {
    if (on.memory.by_budget || on.memory.util) {
        return;
    }
    const bool own = on.face->share != nullptr && on.memory.of_free == on.face->share_of_free;
    const std::string whose = !own ? "" : fmt::format(", what {} takes", on.face->title);
    Setting wide = setting;
    wide.sharding.tp = saturating_product(setting.sharding.tp, 8) < 65536 ? setting.sharding.tp * 8 : 1;
    const std::string where = each && on.share(wide) != on.share(setting) ? ", less with more ranks" : "";
    notes.push_back({Origin::assumed, "--util",
                     fmt::format("{} of {} memory{}{}", on.share(setting), on.memory.of_free ? "free" : "a GPU's",
                                 whose, where)});
}

void note_idle(const Deployment& on, u32 gpus, std::vector<Note>& notes) {
    if (gpus <= on.gpus) {
        return;
    }
    const u64 idle = gpus - on.gpus;
    notes.push_back({Origin::assumed, "--gpus",
                     fmt::format("the split takes {} of {}, and {} {} idle: --tp, --pp or --dp uses more (kvcap plan "
                                 "ranks every split)",
                                 report::grouped(on.gpus), report::grouped(gpus), report::grouped(idle),
                                 idle == 1 ? "is" : "are")});
}

void note_unknown_weights(const Deployment& on, const Setting& setting, std::vector<Note>& notes) {
    if (on.lacks_weights(setting)) {
        notes.push_back({Origin::assumed, "--weights-bytes",
                         fmt::format("0: the weights are unknown, {}; give them",
                                     on.memory.by_budget
                                         ? "and whether a GPU holds them beside the budget is not judged"
                                         : "so counts are upper bounds")});
    }
}

void note_unknown(const Deployment& on, const Setting& setting, std::vector<Note>& notes) {
    note_unknown_weights(on, setting, notes);
    if (!on.memory.by_budget && !on.memory.non_kv_known) {
        notes.push_back(
            {Origin::assumed, "--non-kv-bytes",
             "0: nothing but weights and cache, so counts are upper bounds; give it, or --overhead"});
    }
}

Setting DeploymentOptions::setting(const Deployment& on) const {
    const Setting setting = any_setting(on);
    const Model& model_asked = on.formats[0].model;
    const u32 ranks = sharding.dp_attention ? sharding.tp : 1;
    if (const Error wrong = attention_ranks_error(model_asked.spec, ranks, *on.face); wrong.code != Errc::ok) {
        stop(wrong, model_asked.label);
    }
    refuse_split(model_asked, attention_split(setting), sharding, *on.face);
    return setting;
}

Setting DeploymentOptions::any_setting(const Deployment& on) const {
    if (lengths.sequences() == 0) {
        stop(Exit::usage, "--batch: 0 requests fit anywhere; at least 1 is wanted");
    }
    if ((on.mix.each[0].prompt + on.mix.each[0].decoded).value == 0) {
        stop(Exit::usage, "--tokens: a request of 0 tokens fits anywhere; at least 1 is wanted");
    }
    Setting setting{.tokens = on.mix.each[0].prompt + on.mix.each[0].decoded,
                    .sequences = lengths.sequences()};
    setting.sharding = split_under(*on.face, sharding);
    setting.sharding.tp = sharding.tp;
    setting.attention_dp = sharding.dp_attention;
    if (on.max_len != 0 && setting.tokens.value > on.max_len) {
        stop(Exit::usage,
             fmt::format("--engine-max-len {}: a request of {} tokens is longer, and the engine refuses it",
                         report::grouped(on.max_len), report::grouped(setting.tokens.value)));
    }
    return setting;
}

}  // namespace kvcap::cli
