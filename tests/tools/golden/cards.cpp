// SPDX-License-Identifier: MIT
// The model cards: each reads as cards.json says (spec line, draft, context, bytes of 32,768 tokens), each file is
// listed, names and ids are unique, every card names its source, and the reference table is in step.
#include "cards.hpp"

#include "strict_object.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <kvcap/core.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/spec_line.hpp>
#include <set>

namespace golden {

using namespace kvcap;

namespace fs = std::filesystem;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>{in}, {}};
}

Json parsed(std::string text) {
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
            text.replace(at, word.size(), "null");
        }
    }
    return Json::parse(text, nullptr, false);
}

std::map<std::string, CardFile> all_cards() {
    const fs::path folder = fs::path{KVCAP_SOURCE_DIR} / "configs" / "models";
    std::map<std::string, CardFile> cards;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") {
            const std::string family = entry.path().parent_path().filename().string();
            const std::string name = family + '/' + entry.path().stem().string();
            const std::string text = text_of(entry.path());
            cards[name] = {name, parsed(text), read_config(text)};
        }
    }
    return cards;
}

namespace {

Json held(const ModelSpec& model) {
    const Result<Footprint> bytes = fold(model, {.prompt = 32'768_tok});
    return bytes ? Json(bytes->total().value) : Json("refused");
}

/// What cards.json records of a card.
Json facts(const ReadModel& model) {
    Json facts{{"spec", spec_line(model.spec, model.shared)}, {"held_32k", held(model.spec)}};
    if (model.draft.layers != 0) {
        facts["draft"] = spec_line(model.draft);
    }
    if (model.max_context != 0) {
        facts["context"] = model.max_context;
    }
    if (model.encoder_tokens != 0) {
        facts["encoder_tokens"] = model.encoder_tokens;
    }
    if (!model.kv_dtype_hint.empty()) {
        facts["kv_dtype_hint"] = model.kv_dtype_hint;
    }
    return facts;
}

/// Spec lines are compared as the models they mean.
bool same_model(const Json& line, const ModelSpec& model) {
    const Diagnosed<ReadModel> read = read_spec_line(line.is_string() ? line.get<std::string>() : "");
    return read && read->spec == model;
}

void check_facts(const ReadModel& model, Json want, Report& report) {
    Json got = facts(model);
    if (want.is_object() && same_model(want.value("spec", Json{}), model.spec)) {
        want["spec"] = got["spec"];
    }
    if (want.is_object() && model.draft.layers != 0 && same_model(want.value("draft", Json{}), model.draft)) {
        want["draft"] = got["draft"];
    }
    report.equal("facts", want, got);
    report.equal("spec line reads back", true, same_model(got["spec"], model.spec));
}

bool names_its_source(const Json& card) {
    const Json source = card.value("source", Json::object());
    const bool weights = !card.contains("weights_bytes") || card.contains("weights_source");
    return weights && !card.value("hf_id", "").empty() && !source.value("repository", "").empty() &&
           !source.value("path", "").empty();
}

/// Ids are looked up in any letter case and without their organisation, so both forms must be unique.
void check_unique(const std::map<std::string, CardFile>& cards, Report& report) {
    std::set<std::string> names;
    std::set<std::string> ids;
    report.begin("cards: names and ids are unique");
    for (const auto& [name, card] : cards) {
        const std::string id = io::lower_case(card.content.value("hf_id", ""));
        if (!names.insert(io::lower_case(name.substr(name.find('/') + 1))).second ||
            !ids.insert(id.substr(id.find('/') + 1)).second) {
            report.fail(name, "a name and an id of its own", id);
        }
    }
    report.end();
}

void check_card(const CardFile& card, const Json& want, Report& report) {
    report.begin("card " + card.name);
    if (!card.read) {
        report.fail("read", want, card.read.error->text());
    } else {
        check_facts(*card.read, want, report);
    }
    report.equal("hf_id, source and weights_source", true, names_its_source(card.content));
    report.end();
}

bool knows(const File& file) {
    return file.says("schema", "kvcap/cards/1");
}

void run(const File& file) {
    const StrictObject whole{file.content};
    const Json& wanted = whole.at("cards");
    whole.ignore("schema");
    whole.done("cards.json");
    const std::map<std::string, CardFile> cards = all_cards();
    check_unique(cards, file.report);
    file.report.begin("docs/reference/models.md");
    file.report.equal("what --cards-table prints", true,
                      text_of(fs::path{KVCAP_SOURCE_DIR} / "docs" / "reference" / "models.md") == cards_table());
    file.report.end();
    for (const auto& [name, card] : cards) {
        check_card(card, wanted.value(name, Json{}), file.report);
    }
    for (const auto& [name, want] : wanted.items()) {
        if (cards.count(name) == 0) {
            file.report.begin("card " + name);
            file.report.fail("file", "configs/models/" + name + ".json", Json{});
            file.report.end();
        }
    }
}

}  // namespace

extern const Format cards_format{"cards", knows, run};

void run_recorded_cards(Report& report) {
    const fs::path list = fs::path{KVCAP_SOURCE_DIR} / "tests" / "golden" / "cards.json";
    const Json content = parsed(text_of(list));
    run(File{list.string(), content, report});
}

}  // namespace golden
