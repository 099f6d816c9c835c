// SPDX-License-Identifier: MIT
// The model cards: each reads as cards.json says (spec line, draft, context, bytes of 32,768 tokens), each file is
// listed, names and ids are unique, every card names its source. `kvcap-golden --cards CORPUS` also finds the published
// file behind each card, and checks that the card says nothing else than that file and caches the same.
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

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// Python writes Infinity and NaN bare, which is no JSON; no card has such a value, so null stands for them here.
Json parsed(std::string text) {
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
            text.replace(at, word.size(), "null");
        }
    }
    return Json::parse(text, nullptr, false);
}

}  // namespace

std::map<std::string, CardFile> all_cards() {
    const fs::path folder = fs::path{KVCAP_SOURCE_DIR} / "configs" / "models";
    std::map<std::string, CardFile> cards;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") {
            const std::string name = entry.path().parent_path().filename().string() + '/' + entry.path().stem().string();
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

std::string lower_case(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
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
        const std::string id = lower_case(card.content.value("hf_id", ""));
        if (!names.insert(lower_case(name.substr(name.find('/') + 1))).second ||
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
    return file.content.is_object() && file.content.value("schema", "") == "kvcap/cards/1";
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

// --- against the published files --------------------------------------------------------------------------------------

/// Every key of `card` is in `file`, with the same value; lists are equal, apart from objects in them.
bool says_no_more(const Json& card, const Json& file) {
    if (card.is_object()) {
        for (const auto& [key, value] : card.items()) {
            if (!file.is_object() || !file.contains(key) || !says_no_more(value, file[key])) {
                return false;
            }
        }
        return true;
    }
    if (card.is_array() && !card.empty() && card[0].is_object() && file.is_array() && file.size() == card.size()) {
        for (std::size_t i = 0; i < card.size(); ++i) {
            if (!says_no_more(card[i], file[i])) {
                return false;
            }
        }
        return true;
    }
    return card.type() == file.type() && card == file;
}

struct Published {
    std::string file;
    std::string fidelity;
    Json content;
    std::string text;
};

/// index.csv: file,model,model_type,text_model_type,source_repo,source_path,source_commit,fidelity; the key is
/// repository:path.
std::multimap<std::string, Published> published(const fs::path& configs) {
    std::multimap<std::string, Published> all;
    std::ifstream in(configs / "index.csv");
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::vector<std::string> cells;
        std::size_t at = 0;
        for (std::size_t end = 0; end != std::string::npos; at = end + 1) {
            end = line.find(',', at);
            cells.push_back(line.substr(at, end - at));
        }
        if (cells.size() == 8) {
            const std::string text = text_of(configs / cells[0]);
            const std::string fidelity = cells[7].substr(0, cells[7].find('\r'));
            all.emplace(cells[4] + ':' + cells[5],
                        Published{cells[0], fidelity, parsed(text), text});
        }
    }
    return all;
}

/// Elements per growing token, in windows, in states and per encoder token, as expected.json counts them.
struct Elements {
    double growing = 0, window = 0, state = 0, cross = 0;
};

Elements elements_of(const ModelSpec& model) {
    Elements sum;
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        const Retention& kept = form.retention;
        const double each = static_cast<double>(form.elements());
        if (form.kind == Kind::compressor || kept.keep == Keep::last) {
            sum.state += each * (kept.keep == Keep::last ? 1.0 : static_cast<double>(kept.span.value));
        } else if (kept.source == Source::encoder) {
            sum.cross += each;
        } else if (kept.keep == Keep::everything) {
            sum.growing += each / kept.stride;
        } else {
            sum.window += each * static_cast<double>(kept.span.value);
        }
    }
    return sum;
}

void check_truth(const ReadModel& model, const Json& truth, Report& report) {
    const Elements got = elements_of(model.spec);
    const auto equal = [&](const char* field, double value) {
        report.equal(field, truth.value(field, Json{}).is_number() ? truth[field].get<double>() : -1.0, value);
    };
    equal("elements_per_token_growing", got.growing);
    equal("window_elements_total", got.window);
    equal("state_elements_per_seq", got.state);
    equal("cross_elements_per_encoder_token", got.cross);
    const Json draft = truth.value("draft", Json{});
    report.equal("draft layers", draft.is_object() ? draft.value("layers", Json{}) : Json(0), model.draft.layers);
}

/// Name and dtype words aside, the card must read as the file does.
bool reads_alike(ReadModel card, const ReadModel& file) {
    card.name = file.name;
    return card == file;
}

bool needs_a_card(const std::string& fidelity) {
    return fidelity == "verbatim" || fidelity == "test-fixture" || fidelity == "python-literal-to-json";
}

}  // namespace

extern const Format cards_format{"cards", knows, run};

void run_cards(const std::string& corpus, Report& report) {
    const fs::path list = fs::path{KVCAP_SOURCE_DIR} / "tests" / "golden" / "cards.json";
    const Json content = parsed(text_of(list));
    run(File{list.string(), content, report});
    if (corpus.empty()) {
        return;
    }
    const Json truth = parsed(text_of(fs::path{corpus} / "expected.json"));
    std::multimap<std::string, Published> open = published(fs::path{corpus} / "configs");
    for (const auto& [name, card] : all_cards()) {
        Json said = card.content;
        const Json source = said.value("source", Json::object());
        for (const char* own : {"hf_id", "source", "weights_bytes", "weights_source"}) {
            said.erase(own);
        }
        const auto [first, last] = open.equal_range(source.value("repository", "") + ':' + source.value("path", ""));
        for (auto at = first; at != last; ++at) {
            const Published& file = at->second;
            if (!says_no_more(said, file.content) || !card.read) {
                continue;
            }
            report.begin("card " + name + " of " + file.file);
            const Diagnosed<ReadModel> whole = read_config(file.text);
            report.equal("reads as its file", true, whole && reads_alike(*card.read, *whole));
            check_truth(*card.read, truth["models"][file.file], report);
            report.end();
            open.erase(at);
            break;
        }
    }
    for (const auto& [key, file] : open) {
        if (needs_a_card(file.fidelity)) {
            report.begin(file.file);
            report.fail("card", "one that says what this file says", Json{});
            report.end();
        }
    }
}

}  // namespace golden
