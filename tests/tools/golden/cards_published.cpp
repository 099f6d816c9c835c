// SPDX-License-Identifier: MIT
// `kvcap-golden --cards CORPUS`: finds the published file behind each card, and checks that the card says nothing else
// than that file, reads as it does and caches what expected.json says of it.
#include "cards.hpp"

#include <fstream>
#include <kvcap/core.hpp>
#include <kvcap/io/hf.hpp>

namespace golden {

using namespace kvcap;

namespace {

namespace fs = std::filesystem;

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

void run_cards(const std::string& corpus, Report& report) {
    run_recorded_cards(report);
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
