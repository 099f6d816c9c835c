// SPDX-License-Identifier: MIT
// A model in one line of text, read and printed: 61*mla(512,64), 8*gqa(8,128) + 40*window(1024, gqa(8,128)).
// read(print(model)) == model. The grammar is in spec/parse.hpp; the words in spec/policies.hpp and
// spec/decorators.hpp.
#pragma once

#include <kvcap/io/spec/assemble.hpp>
#include <kvcap/io/spec/parse.hpp>
#include <kvcap/io/spec/print.hpp>

namespace kvcap::inline v1 {

/// A spec line longer than this is none.
inline constexpr std::size_t longest_spec_line = std::size_t{1} << 20;

/// Whether a text can only be meant as a spec line: it has a bracket or a star, and is no JSON.
inline bool looks_like_spec_line(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] == '{' || text[first] == '[') {
        return false;
    }
    const std::string_view behind = text.substr(first).substr(0, 4) == "none" ? text.substr(first + 4) : "x";
    const bool none = behind.empty() || behind[0] == '+' || behind[0] == ' ';
    return none || text.find_first_of("(*") != std::string_view::npos;
}

/// Keys and values per token as the textbook counts them: those of the first attention layer, on every layer.
inline Textbook textbook_of(const ModelSpec& model) {
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        if (form.kind == Kind::attention && form.streams.size() == 2 && form.streams[0].role == Role::key) {
            return {
                .layers = model.layers, .kv_heads = form.streams[0].heads, .head_dim = form.streams[0].width};
        }
    }
    return {};
}

/// The model, its name left empty; draft layers are part of `spec`. Errors name the offset in the text, what
/// is there and what was wanted.
inline Diagnosed<ReadModel> read_spec_line(std::string_view text) {
    if (text.size() > longest_spec_line) {
        return Problem{.trouble = Trouble::invalid,
                       .where = "spec line",
                       .found = std::to_string(text.size()) + " characters",
                       .wanted = "at most 1,048,576",
                       .hint = {}};
    }
    spec::Parser parser{text};
    const std::vector<spec::Term> terms = parser.whole();
    if (parser.problem()) {
        return *parser.problem();
    }
    spec::Assembly assembly;
    if (!assembly.add(terms)) {
        return assembly.problem();
    }
    ReadModel read{};
    read.architecture = "spec line";
    read.spec = assembly.model();
    read.shared = assembly.shared();
    read.textbook = textbook_of(read.spec);
    return read;
}

/// The layers alone, as a heading, in the shorter way of naming shared layers: query heads are left out.
inline std::string layers_line(const ModelSpec& model, const std::vector<SharedLayer>& shared = {}) {
    std::string back = spec::Printer{model, shared, false}.layers();
    if (shared.empty()) {
        return back;
    }
    std::string absolute = spec::Printer{model, shared, true}.layers();
    return absolute.size() < back.size() ? absolute : back;
}

/// Everything: read_spec_line(spec_line(m)) has a `spec` equal to m. pre: no form stands twice in m, none is
/// empty.
inline std::string spec_line(const ModelSpec& model, const std::vector<SharedLayer>& shared = {}) {
    const std::string heads =
        model.query_heads == 0 ? "" : " + heads(" + std::to_string(model.query_heads) + ')';
    return spec::order_of_forms(model) + layers_line(model, shared) + heads;
}

}  // namespace kvcap::inline v1
