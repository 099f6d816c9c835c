// SPDX-License-Identifier: MIT
// From options to what a step reads: weights by part, experts, what sparse attention picks.
#include "work.hpp"

#include "cards.hpp"
#include "context_ranks.hpp"
#include "options.hpp"

#include <filesystem>
#include <kvcap/io/locate.hpp>

namespace kvcap::cli {

namespace {

/// The config behind a MODEL argument, or empty (spec lines, GGUF, stdin).
std::string config_text(const std::string& argument) {
    std::filesystem::path file = argument;
    std::error_code wrong;
    if (std::filesystem::is_directory(file, wrong)) {
        file /= "config.json";
    }
    if (std::filesystem::is_regular_file(file, wrong) && file.extension() != ".gguf") {
        const Diagnosed<std::string> text = read_text_file(file);
        return text ? *text : std::string{};
    }
    const Card* card = find_card(argument);
    return card != nullptr ? std::string{card->text} : std::string{};
}

/// A GGUF file says itself how many experts a token visits; else the config does.
Mixture mixture_for(const std::string& argument, const Weights& weights) {
    const std::filesystem::path path = io::gguf_path(argument);
    if (path.empty()) {
        return mixture_of(config_text(argument), weights);
    }
    const Diagnosed<gguf::GgufModel> read = gguf::read_file(path.string());
    Mixture mixture{.hidden = read ? read->width : 0};
    for (const WeightGroup& group : weights.groups) {
        mixture.layers += group.part == WeightPart::experts ? 1 : 0;
    }
    mixture.experts = read && mixture.layers != 0 ? read->experts : 0;
    mixture.per_token = read && mixture.layers != 0 ? read->experts_used : 0;
    return mixture;
}

}  // namespace

void DeviceOptions::add_to(CLI::App& verb) {
    verb.add_option("--gpu", gpu, "GPU by name (h100, h200, a100-80gb ...)")->group("Device")->required();
    verb.add_option("--compute", compute, "Type whose dense rate bounds: bf16, fp8")
        ->group("Device")
        ->capture_default_str();
    verb.add_option("--link", link, "Bytes a second of a link: 50GB; else the GPU's own")->group("Device");
}

std::string unrated(const Machine& machine) {
    return machine.device.bandwidth <= 0 ? "memory bandwidth"
           : machine.device.peak <= 0    ? machine.compute + " rate"
                                         : "";
}

Machine machine_of(const DeviceOptions& options, bool timed) {
    Machine machine{.gpu = gpu_named(options.gpu), .compute = options.compute};
    if (options.compute != "bf16" && options.compute != "fp8") {
        stop(Exit::usage, fmt::format("--compute: {} is neither bf16 nor fp8", options.compute));
    }
    machine.device = {.bandwidth = machine.gpu.bandwidth,
                      .peak = options.compute == "fp8" ? machine.gpu.dense_fp8 : machine.gpu.dense_bf16,
                      .link = machine.gpu.link_bandwidth};
    if (!options.link.empty()) {
        machine.device.link = static_cast<double>(bytes_of(options.link, "--link").value);
        if (machine.device.link <= 0) {
            stop(Exit::usage, "--link: 0 bytes a second carry nothing");
        }
    }
    if (const std::string lacks = unrated(machine); timed && !lacks.empty()) {
        stop(Exit::bad_input, fmt::format("--gpu: the catalogue does not state the {} of {}; time cannot be bounded",
                                          lacks, machine.gpu.name));
    }
    return machine;
}

Result<WeightReads> Work::reads(const Sharding& split, bool attention_dp, u64 tokens, u32 stage) const {
    const WeightSplit by{.sharding = split, .ep = attention_dp ? split.tp : 1, .attention_dp = attention_dp};
    const Bytes given = weights_given.value_or(Bytes{});
    if (weights.bytes == 0) {
        return WeightReads{.dense = {given, given.value / 2}};
    }
    const Result<WeightReads> whole = weight_reads(weights, mixture, by, tokens, stage);
    const u64 counted = weights_on_rank(weights, {.sharding = split, .attention_dp = attention_dp, .stage = stage})
                            .bytes.value;
    if (!whole || !weights_given || counted == 0) {
        return whole;
    }
    WeightReads reads = *whole;
    const double share = static_cast<double>(given.value) / static_cast<double>(counted);
    for (WeightReads::Part* part : {&reads.attention, &reads.keys, &reads.dense, &reads.experts, &reads.head}) {
        part->read = {static_cast<u64>(static_cast<double>(part->read.value) * share + 0.5)};
    }
    return reads;
}

Bytes Work::stored(const Sharding& split, bool attention_dp, u32 stage) const {
    return weights_given ? *weights_given
                         : weights_on_rank(weights, {.sharding = split, .attention_dp = attention_dp, .stage = stage})
                               .bytes;
}

Work work_of(const ModelOptions& options, const ShardingOptions& sharding, const std::string& weights_bytes) {
    Work work{.model = load(options)};
    work.notes = work.model.notes;
    const ReadModel& read = work.model.read;
    work.facts = {.index_heads = read.index.heads,
                  .picked = read.index.picked,
                  .block = read.index.block,
                  .expanded = read.expanded_elements,
                  .cp_among_tp = among_tensor_ranks(sharding)};
    const std::string refusal = work.facts.cp_among_tp ? context_refusal(work.model.spec, sharding.sharding()) : "";
    if (!refusal.empty()) {
        stop(Exit::usage, refusal);
    }
    if (!weights_bytes.empty()) {
        work.weights_given = memory_of(weights_bytes, "--weights-bytes");
    }
    if (options.model == "-") {
        return work;
    }
    work.weights = work.weights_given ? parts_of_weights(options.model)
                                      : find_weights(options.model, work.notes, {.in_16_bits = true});
    if (work.weights_given && work.weights.bytes == 0 && read.experts != 0) {
        stop(Exit::bad_input, fmt::format("--weights-bytes: of {}'s {} experts a step reads some, and how large they "
                                          "are is not known: no bound follows from the sum",
                                          options.model, read.experts));
    }
    if (work.weights_given) {
        work.notes.push_back({Origin::assumed, "--weights-bytes",
                              work.weights.bytes == 0 ? "no parts are known: all are read, two bytes a parameter"
                                                      : "divided among the parts as the model's own are"});
    }
    work.mixture = mixture_for(options.model, work.weights);
    if (work.mixture.layers != 0 && !work.mixture.routed()) {
        work.notes.push_back(
            {Origin::assumed, "experts", "all are read: the model does not say how many a token visits"});
    }
    return work;
}

}  // namespace kvcap::cli
