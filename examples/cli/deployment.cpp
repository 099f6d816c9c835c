// SPDX-License-Identifier: MIT
// Variations of a deployment, each answered by its engine.
#include "deployment.hpp"

#include <algorithm>
#include <cmath>
#include <kvcap/io/spec_line.hpp>
#include <numeric>

namespace kvcap::cli {

std::vector<u64> Mix::counts(u64 n) const {
    const u64 all = std::accumulate(shares.begin(), shares.end(), u64{0});
    std::vector<u64> counts;
    std::vector<std::pair<u64, std::size_t>> rests;
    u64 dealt_out = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const u64 part = saturating_product(n, shares[i]);
        counts.push_back(part / all);
        rests.emplace_back(part % all, i);
        dealt_out += part / all;
    }
    std::sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; dealt_out < n && i < rests.size(); ++i, ++dealt_out) {
        ++counts[rests[i].second];
    }
    return counts;
}

double Mix::average_tokens() const {
    double sum = 0;
    double all = 0;
    for (std::size_t i = 0; i < each.size(); ++i) {
        sum += static_cast<double>((each[i].prompt + each[i].decoded).value) * static_cast<double>(shares[i]);
        all += static_cast<double>(shares[i]);
    }
    return sum / all;
}

u64 Deployment::sequences_of_one(const Setting& setting) const {
    const u64 engines = saturating_product(dp, setting.attention_dp ? setting.sharding.tp : 1);
    return ceil_div(setting.sequences, engines);
}

namespace {

/// What one rank's attention is split by: whole requests under attention data parallelism.
Sharding attention_split(const Setting& setting) {
    Sharding split = setting.sharding;
    split.tp = setting.attention_dp ? 1 : split.tp;
    return split;
}

}  // namespace

RankWeights Deployment::weights(const Setting& setting, u32 stage) const {
    if (memory.by_budget) {
        return {};
    }
    if (memory.weights_given) {
        return {memory.weights, "given"};
    }
    return weights_on_rank(weights_known, setting.sharding, setting.attention_dp, stage, face->name == "vllm");
}

std::vector<Bytes> Deployment::available(const Setting& setting, Bytes non_kv) const {
    Memory here = memory;
    if (setting.knob != 0 && knobs[setting.knob - 1].of_memory) {
        here.set_share(share_of(knobs[setting.knob - 1].values[setting.knob_value]));
    }
    std::vector<Bytes> bytes;
    for (u32 stage = 0; stage < setting.sharding.pp; ++stage) {
        bytes.push_back(here.for_cache(weights(setting, stage).bytes, non_kv, setting.extra_memory));
    }
    return bytes;
}

EngineQuestion Deployment::question(const Setting& setting, Bytes non_kv) const {
    const StoredModel& stored = formats[setting.kv_format];
    EngineQuestion question{.model = &stored.model,
                            .version = version,
                            .kv_cache_dtype = stored.dtype,
                            .sharding = attention_split(setting)};
    question.available = available(setting, non_kv);
    question.flags = &flags;
    question.capability = memory.capability;
    question.gpu = memory.gpu;
    question.each = mix.each;
    if (question.each.size() == 1) {
        const u64 decoded = std::min(question.each[0].decoded.value, setting.tokens.value);
        question.each[0].decoded = {decoded};
        question.each[0].prompt = {setting.tokens.value - decoded};
    }
    question.counts = mix.counts(sequences_of_one(setting));
    const Lengths& longest = question.longest();
    question.max_len = max_len != 0 ? max_len : larger((longest.prompt + longest.decoded).value, 1);
    return question;
}

EngineAnswer Deployment::ask(const Setting& setting, Bytes non_kv) const {
    EngineQuestion asked = question(setting, non_kv);
    EngineFlags changed = flags;
    if (setting.knob != 0 && !knobs[setting.knob - 1].of_memory) {
        for (const auto& [name, value] : turned(setting)) {
            changed[name] = value;
        }
    }
    asked.flags = &changed;
    EngineAnswer answer = face->ask(asked);
    const u64 wanted = (asked.longest().prompt + asked.longest().decoded).value;
    if (answer.runs() && wanted > asked.max_len) {
        answer.verdict.fits = false;
        answer.notes.push_back({Origin::assumed, "--engine-max-len",
                                fmt::format("{}: a request of {} tokens is longer, and the engine refuses it",
                                            report::grouped(asked.max_len), report::grouped(wanted))});
    }
    return answer;
}

EngineFlags Deployment::turned(const Setting& setting) const {
    if (setting.knob == 0) {
        return {};
    }
    const Knob& knob = knobs[setting.knob - 1];
    return {{knob.flag, knob.values[setting.knob_value]}};
}

std::vector<Knob> Deployment::knobs_of(const Setting& setting) const {
    std::vector<Knob> all = face->knobs == nullptr ? std::vector<Knob>{} : face->knobs(question(setting, {}));
    if (!memory.by_budget && !face->memory_flag.empty()) {
        Knob share{.flag = std::string{face->memory_flag}, .values = {}, .of_memory = true};
        for (int hundredths = static_cast<int>(memory.util * 100 + 1e-9) + 1; hundredths <= 98; ++hundredths) {
            share.values.push_back(fmt::format("0.{:02}", hundredths));
        }
        all.push_back(std::move(share));
    }
    all.resize(std::min<std::size_t>(all.size(), most_knobs));
    return all;
}

Bytes Deployment::known_non_kv(const Setting& setting) const {
    if (!memory.non_kv_known) {
        return {};
    }
    Bytes most{};
    for (u32 stage = 0; stage < setting.sharding.pp; ++stage) {
        most = std::max(most, memory.non_kv(weights(setting, stage).bytes));
    }
    return most;
}

std::optional<Bytes> Deployment::most_non_kv(const Setting& setting) const {
    if (!ask(setting, {}).fits()) {
        return std::nullopt;
    }
    const u64 limit = (memory.by_budget ? memory.budget : memory.total).value;
    return Bytes{largest(limit, [&](u64 bytes) { return ask(setting, {bytes}).fits(); })};
}

u64 Deployment::most_sequences(const Setting& setting, Bytes non_kv) const {
    const auto fits = [&](u64 n) {
        Setting with = setting;
        with.sequences = n;
        return n == 0 || ask(with, non_kv).fits();
    };
    u64 high = 1;
    while (high < (u64{1} << 32) && fits(high)) {
        high *= 2;
    }
    return largest(high, fits);
}

u64 Deployment::longest(const Setting& setting, Bytes non_kv, u64 limit) const {
    return largest(limit, [&](u64 n) {
        Setting with = setting;
        with.tokens = {n};
        return n == 0 || ask(with, non_kv).fits();
    });
}

Mix mix_of(const std::string& text, u64 tokens, const LengthOptions& like, const ReadModel& model) {
    Mix mix{};
    if (text.empty()) {
        mix.each.push_back(like.lengths(tokens, model));
        mix.shares.push_back(1);
        return mix;
    }
    std::vector<std::pair<u64, u64>> pairs;
    u64 before = 0;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, comma - at);
        const std::size_t colon = one.find(':');
        const std::size_t equals = one.find('=');
        if (colon != std::string::npos) {
            pairs.emplace_back(count_of(one.substr(0, colon), "--lengths"),
                               count_of(one.substr(colon + 1), "--lengths"));
        } else if (one.size() > 1 && one[0] == 'p' && equals != std::string::npos) {
            const u64 quantile = count_of(one.substr(1, equals - 1), "--lengths");
            if (quantile <= before || quantile > 100 ||
                (!pairs.empty() && count_of(one.substr(equals + 1), "--lengths") < pairs.back().first)) {
                stop(Exit::usage,
                     fmt::format(
                         "--lengths: {} does not rise above p{}; quantiles and their lengths rise to p100",
                         one, before));
            }
            pairs.emplace_back(count_of(one.substr(equals + 1), "--lengths"), quantile - before);
            before = quantile;
        } else {
            stop(Exit::usage,
                 fmt::format("--lengths: '{}' is neither TOKENS:WEIGHT nor pQUANTILE=TOKENS", one));
        }
        at = comma + 1;
    }
    if (before != 0 && before != 100) {
        stop(Exit::usage,
             fmt::format("--lengths: the last quantile is p{}; wanted p100 for the longest", before));
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a > b; });
    for (const auto& [length, share] : pairs) {
        if (share == 0) {
            continue;
        }
        mix.each.push_back(like.lengths(length, model));
        mix.shares.push_back(share);
    }
    if (mix.each.empty()) {
        stop(Exit::usage, fmt::format("--lengths: '{}' gives no length any weight", text));
    }
    return mix;
}

namespace {

/// The model with its states as SGLang stores them: f32 whatever the model's dtype, convolution states as the model.
Model load_for(const EngineFace& face, const ModelOptions& options, std::vector<Note>& notes) {
    Model model = load(options);
    if (face.name != "sglang" || options.model == "-") {
        return model;
    }
    ModelOptions stored = options;
    std::string plain;
    for (const LayerForm& form : model.read.spec.forms) {
        for (const Stream& stream : form.streams) {
            plain = stream.role == Role::state && !(stream.format == f32) ? spec::text_of(stream.format) : plain;
            stored.conv_dtype = stream.role == Role::conv ? spec::text_of(stream.format) : stored.conv_dtype;
        }
    }
    if (plain.empty()) {
        return model;
    }
    stored.state_dtype = "f32";
    const std::vector<Note> own = std::move(model.notes);
    model = load(stored);
    model.notes = own;
    notes.push_back(
        {Origin::assumed, "states",
         fmt::format("f32, as SGLang stores them unless --mamba-ssm-dtype says otherwise; the model says {}",
                     plain)});
    return model;
}

}  // namespace

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

Deployment DeploymentOptions::deployment(std::vector<Note>& notes) const {
    Deployment on{};
    on.face = &engine.face();
    on.version = engine.version();
    on.flags = engine.flags();
    refuse_formats(*on.face, model);
    const Model asked = load_for(*on.face, model, notes);
    notes.insert(notes.end(), asked.notes.begin(), asked.notes.end());
    on.formats.push_back({model.kv_cache_dtype, asked});
    for (const std::string_view smaller : on.face->formats) {
        const bool plain = model.kv_cache_dtype == "auto" || model.kv_cache_dtype == "bf16" ||
                           model.kv_cache_dtype == "bfloat16" || model.kv_cache_dtype == "float16";
        ModelOptions other = model;
        other.kv_cache_dtype = smaller;
        if (plain && model.model != "-") {
            std::vector<Note> again;
            on.formats.push_back({other.kv_cache_dtype, load_for(*on.face, other, again)});
        }
    }
    on.memory = memory_of(memory, on.face->name, notes);
    if (!on.memory.by_budget && !on.memory.weights_given && model.model != "-") {
        on.weights_known = find_weights(model.model, notes);
    }
    on.dp = whole_replicas();
    const std::vector<u64> points = lengths.points(asked.read);
    if (points.size() != 1) {
        stop(Exit::usage, "--tokens: one length is wanted here; several lengths are --lengths 8k:70,32k:30");
    }
    on.mix = mix_of(distribution, points[0], lengths, asked.read);
    on.max_len = max_model_len.empty() ? 0 : count_of(max_model_len, "--engine-max-len");
    const u64 ranks = dp_names_attention() ? sharding.dp : u64{sharding.tp} * sharding.dp;
    const bool among = sharding.cp_among_tp || on.face->name == "vllm";  // vLLM's context ranks are tensor ranks
    const u64 own_cp = among ? 1 : sharding.cp;
    const u64 needed = ranks * sharding.pp * own_cp;
    const u64 allowed = asked.read.max_context;
    for (const Lengths& each : on.mix.each) {
        if (allowed != 0 && (each.prompt + each.decoded).value > allowed) {
            notes.push_back(
                {Origin::assumed, "--tokens",
                 fmt::format(
                     "{} are more than the {} tokens of context that the model states; engines refuse it",
                     report::grouped((each.prompt + each.decoded).value), report::grouped(allowed))});
            break;
        }
    }
    if (memory.gpus != 0 && needed > memory.gpus) {
        stop(Exit::usage, fmt::format("the split needs {} GPUs and --gpus says {}", needed, memory.gpus));
    }
    return on;
}

bool DeploymentOptions::dp_names_attention() const {
    return sharding.dp_attention && sharding.dp > 1 && (sharding.tp == 1 || sharding.tp == sharding.dp);
}

u32 DeploymentOptions::whole_replicas() const {
    return dp_names_attention() ? 1 : sharding.dp;
}

Setting DeploymentOptions::setting(const Deployment& on) const {
    if (lengths.sequences() == 0) {
        stop(Exit::usage, "--batch: 0 requests fit anywhere; at least 1 is wanted");
    }
    if ((on.mix.each[0].prompt + on.mix.each[0].decoded).value == 0) {
        stop(Exit::usage, "--tokens: a request of 0 tokens fits anywhere; at least 1 is wanted");
    }
    Setting setting{.tokens = on.mix.each[0].prompt + on.mix.each[0].decoded,
                    .sequences = lengths.sequences()};
    setting.sharding = sharding.sharding();
    setting.sharding.tp = dp_names_attention() ? sharding.dp : sharding.tp;
    setting.attention_dp = sharding.dp_attention;
    return setting;
}

}  // namespace kvcap::cli
