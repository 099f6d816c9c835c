// SPDX-License-Identifier: MIT
// Headings and notes.
#include "screen.hpp"

#include <algorithm>
#include <kvcap/io/spec_line.hpp>

namespace kvcap::cli {

namespace {

constexpr std::size_t columns = 80;

/// At most `most` bytes from the front, and no part of a UTF-8 character.
std::string_view whole_characters(std::string_view text, std::size_t most) {
    while (most > 1 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) {
        --most;
    }
    return text.substr(0, most);
}

/// Text into lines of at most 80 columns, cut behind `seam`, or behind blanks where a piece is longer than a
/// line; lines after the first are indented.
/// broken: a word longer than a line goes on in the next.
std::string folded(std::string_view text, std::string_view seam, bool broken = false) {
    constexpr std::size_t indent = 4;
    constexpr std::size_t word = columns - 2 * indent;
    std::string out;
    std::string line;
    const auto add = [&](std::string_view piece) {
        const std::size_t end = piece.find_last_not_of(' ') + 1;
        if (line.find_last_not_of(' ') != std::string::npos && line.size() + end > columns) {
            out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
            line.assign(indent, ' ');
        }
        line += piece;
    };
    while (!text.empty()) {
        const std::size_t found = text.find(seam);
        std::string_view piece =
            text.substr(0, found == std::string_view::npos ? found : found + seam.size());
        text.remove_prefix(piece.size());
        while (piece.size() > columns - indent && piece.find(' ') < piece.size() - 1) {
            const std::size_t blank = piece.find(' ') + 1;
            add(piece.substr(0, blank));
            piece.remove_prefix(blank);
        }
        while (broken && piece.size() > word) {
            const std::string_view part = whole_characters(piece, word);
            add(part);
            piece.remove_prefix(part.size());
        }
        add(piece);
    }
    return out + line;
}

std::string format_of_streams(const ModelSpec& model, bool (*wanted)(const LayerForm&, const Stream&)) {
    std::string name;
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            if (form.retention.keep == Keep::once || !wanted(form, stream)) {
                continue;
            }
            const std::string own = spec::text_of(stream.format);
            name = name.empty() || name == own ? own : "mixed";
        }
    }
    return name;
}

}  // namespace

std::string formats_words(const ModelSpec& model, std::string_view kv_dtype) {
    std::string out;
    const auto add = [&](std::string_view what, const std::string& format) {
        out += format.empty() ? "" : fmt::format("{}{} {}", out.empty() ? "" : ", ", what, format);
    };
    const std::string kv =
        format_of_streams(model, [](const LayerForm&, const Stream& s) { return is_attention(s.role); });
    add("KV", kv.empty() || kv_dtype == "auto" || kv_dtype.empty() ? kv : std::string{kv_dtype});
    add("index",
        format_of_streams(model, [](const LayerForm&, const Stream& s) { return s.role == Role::index; }));
    add("conv",
        format_of_streams(model, [](const LayerForm&, const Stream& s) { return s.role == Role::conv; }));
    add("state",
        format_of_streams(model, [](const LayerForm&, const Stream& s) { return s.role == Role::state; }));
    return out;
}

std::string heading(const Model& model, std::string_view further, const Session& session) {
    const std::string spec = layers_line(model.spec, model.read.shared);
    const std::string formats = formats_words(model.spec, model.dtype);
    const std::string title = model.label.empty() ? "" : model.label + " = ";
    std::string facts = formats;
    if (!further.empty()) {
        const bool fits = 2 + facts.size() + 10 + further.size() <= columns;
        facts += (facts.empty() ? "" : fits ? "          " : "\n  ") + std::string{further};
    }
    std::string line = folded(title + spec, " + ");
    const std::size_t last = line.size() - (line.rfind('\n') + 1);
    const bool beside = line.find('\n') == std::string::npos && facts.find('\n') == std::string::npos &&
                        last + 10 + facts.size() <= columns;
    if (!model.label.empty()) {
        line = session.bold(line.substr(0, model.label.size())) + line.substr(model.label.size());
    }
    return line + (facts.empty() ? "" : beside ? "          " + facts : "\n  " + facts) + '\n';
}

std::string paragraph(std::string_view text) {
    return folded(text, " ");
}

std::string broken_paragraph(std::string_view text) {
    return folded(text, " ", true);
}

std::string paragraphs(std::string_view lines) {
    std::string out;
    for (std::size_t end = 0; (end = lines.find('\n')) != std::string_view::npos;
         lines.remove_prefix(end + 1)) {
        out += paragraph(lines.substr(0, end)) + '\n';
    }
    return out;
}

std::size_t widest_line(std::string_view text) {
    std::size_t most = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        most = std::max(most, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return most;
}

std::string log_text(const std::vector<std::string>& lines, std::string_view before) {
    std::string out;
    for (const std::string& line : lines) {
        out += paragraph(std::string{before} + line) + '\n';
    }
    return out;
}

ModelSpec growing_to(ModelSpec model, u64 tokens) {
    for (LayerForm& form : model.forms) {
        Retention& kept = form.retention;
        if ((kept.keep == Keep::window || kept.keep == Keep::chunk) && (kept.span + kept.sinks).value > tokens) {
            kept = {.source = kept.source, .stride = kept.stride, .lag = kept.lag};
        }
    }
    return model;
}

std::string full_name(const Model& model) {
    return !model.read.name.empty() ? model.read.name
           : !model.label.empty()   ? model.label
                                    : spec_line(model.spec, model.read.shared);
}

void write_model(report::Json& json, const Model& model, std::string_view asked_dtype) {
    json.field("model", full_name(model)).field("spec", spec_line(model.spec, model.read.shared));
    json.field("kv_cache_dtype", model.dtype).field("kv_cache_dtype_asked", asked_dtype);
}

std::string notes_text(const std::vector<Note>& notes, bool all, const Session& session) {
    std::string out;
    for (const Note& note : notes) {
        if (all || note.origin == Origin::assumed) {
            out += session.dim(paragraph(report::text_of(note))) + '\n';
        }
    }
    return out;
}

}  // namespace kvcap::cli
