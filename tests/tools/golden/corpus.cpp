// SPDX-License-Identifier: MIT
// The corpus: a truth file beside a folder `configs`, one case per config file. Compared: every group with
// every dimension, all totals, draft layers, query heads and what each tensor-parallel rank holds or why it
// is refused. Not compared: evidence, notes, confidence, fidelity and the textbook (naive) answer.
#include "corpus_groups.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <kvcap/io/hf.hpp>

namespace golden {

using namespace kvcap;

namespace {

/// Convolutions and token shifts are one role, everything else a state; the truth's names are labels.
bool is_conv(const std::string& name) {
    return name.find("conv") != std::string::npos || name.find("shift") != std::string::npos;
}

void compare_states(const Json& want, const Json& got, Report& report, const std::string& where) {
    if (!report.equal(where + " count", want.size(), got.size())) {
        return;
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
        const std::string at = where + " " + std::to_string(i) + " ";
        for (const auto& [field, value] : want[i].items()) {
            if (field == "name") {
                report.equal(at + "role", is_conv(value.get<std::string>()) ? "conv" : "state",
                             got[i]["role"]);
            } else if (field == "dtype") {
                report.equal(at + "dtype", value == "float32", got[i]["fp32"]);
            } else {
                report.equal(at + field, value, got[i].value(field, Json{}));
            }
        }
    }
}

void compare_group(const Json& want, const Json& got, Report& report) {
    const std::string where = "group " + want.value("kind", "?") + " ";
    for (const auto& [field, value] : want.items()) {
        const bool lightning = field == "subkind" && got.value("subkind", "") == "lightning";  // a label of its own
        if (field == "note" || lightning) {
            continue;
        }
        if (field == "states") {
            compare_states(value, got.value("states", Json::array()), report, where + "states");
        } else if (field == "indexer") {
            for (const auto& [name, fact] : value.items()) {
                if (name != "note") {
                    report.equal(where + "indexer " + name, fact,
                                 got.value("indexer", Json::object()).value(name, Json{}));
                }
            }
        } else {
            report.equal(where + field, value, got.value(field, Json{}));
        }
    }
    for (const char* marker : {"sparse", "also_in", "compress_ratio", "shared_kv_vector",
                               "window_ge_max_position", "states", "indexer", "max_encoder_tokens"}) {
        report.equal(where + marker + " given", want.contains(marker), got.contains(marker));
    }
}

void compare_groups(const ReadModel& model, const Json& want, Report& report) {
    const Json got = corpus_groups(model);
    report.equal("groups", want.size(), got.size());
    for (const Json& group : want) {
        const Json* found = nullptr;
        for (const Json& ours : got) {
            if (ours["layers"] == group["layers"] && ours["kind"] == group["kind"]) {
                found = &ours;
            }
        }
        if (found != nullptr) {
            compare_group(group, *found, report);
        } else {
            report.fail("group " + group.value("kind", "?") + " layers", group["layers"], got);
        }
    }
}

Json draft_of(const ReadModel& model) {
    if (model.draft.layers == 0) {
        return nullptr;
    }
    u64 per_token = 0;
    u64 window = 0;
    for (const Cache& cache : model.draft.caches) {
        const LayerForm& form = model.draft.form_of(cache);
        if (cache.layer == 0 && form.kind == Kind::latent && form.retention.keep == Keep::window) {
            window += form.retention.span.value * form.elements();
        } else if (cache.layer == 0) {
            per_token += form.elements() / form.retention.stride;
        }
    }
    Json draft{
        {"key", model.draft_key}, {"layers", model.draft.layers}, {"elements_per_token_each", per_token}};
    if (window != 0) {
        draft["window_elements_each"] = window;
    }
    return draft;
}

void compare_draft(const ReadModel& model, Json want, Report& report) {
    if (want.is_object()) {
        want.erase("note");
    }
    report.equal("draft", want, draft_of(model));
}

void compare_ranks(const ReadModel& model, const Json& want, Report& report) {
    for (const auto& [tp, fields] : want.items()) {
        const Json got = corpus_totals(model, static_cast<unsigned>(std::stoul(tp)));
        for (const auto& [field, value] : fields.items()) {
            if (field != "unknown") {
                report.equal("tp " + tp + " " + field, value, got.value(field, Json{}));
            }
        }
    }
}

/// "fp8" for {"num_bits": 8, "type": "float"}; a word in lower case.
Json hint_of(const Json& scheme) {
    if (scheme.is_object()) {
        return (scheme.value("type", "") == "float" ? "fp" : "int") +
               std::to_string(scheme.value("num_bits", 0));
    }
    std::string word = scheme.is_string() ? scheme.get<std::string>() : std::string{};
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

Json cache_layers(const Json& groups) {
    std::size_t most = 0;
    for (const Json& group : groups) {
        for (const Json& layer : group["layers"]) {
            most = std::max(most, layer.get<std::size_t>() + 1);
        }
    }
    return most;
}

}  // namespace

void compare_with_truth(const ReadModel& model, const Json& truth, Report& report) {
    const Json totals = corpus_totals(model, 1);
    const std::string outer = model.outer_type.empty() ? model.architecture : model.outer_type;
    for (const auto& [field, want] : truth.items()) {
        if (field == "groups") {
            compare_groups(model, want, report);
        } else if (field == "draft") {
            compare_draft(model, want, report);
        } else if (field == "tp_per_rank") {
            compare_ranks(model, want, report);
        } else if (totals.contains(field)) {
            report.equal(field, want, totals[field]);
        } else if (field == "num_cache_layers_in_config") {
            report.equal(field, want, cache_layers(corpus_groups(model)));
        } else if (field == "num_attention_heads") {
            report.equal(field, want, model.query_heads == 0 ? Json{} : Json(model.query_heads));
        } else if (field == "model_type") {
            report.equal(field, want, outer);
        } else if (field == "text_model_type" &&
                   want != outer) {  // a nested block may leave its type to the outer one
            report.equal(field, want, model.architecture);
        } else if (field == "hf_expanded_elements_per_token_per_layer") {
            report.equal(field, want, model.expanded_elements);
        } else if (field == "kv_cache_quantization_hint") {
            report.equal(field, hint_of(want.value("kv_cache_scheme", Json{})), model.kv_dtype_hint);
        } else if (field != "text_model_type" && field != "model" && field != "fidelity" &&
                   field != "nesting" && field != "evidence" && field != "confidence" && field != "notes" &&
                   field != "naive_gqa_elements_per_token") {
            report.fail(field, "a known field", want);
        }
    }
}

namespace {

bool knows_corpus(const File& file) {
    return file.content.is_object() && file.content.contains("schema") && file.content.contains("models") &&
           file.content["models"].is_object();
}

void run_corpus(const File& file) {
    const std::filesystem::path folder = std::filesystem::path{file.path}.parent_path() / "configs";
    for (const auto& [name, truth] : file.content["models"].items()) {
        file.report.begin(name);
        const Diagnosed<ReadModel> read = read_config_file(folder / name);
        if (read) {
            compare_with_truth(*read, truth, file.report);
        } else {
            file.report.fail("config", "a model", read.error->text());
        }
        file.report.end();
    }
}

}  // namespace

const Format corpus_format{"corpus", knows_corpus, run_corpus};

}  // namespace golden
