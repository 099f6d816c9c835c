// SPDX-License-Identifier: MIT
// What is a cache called on a screen and in JSON? Kinds as readers of model cards know them, sizes as written
// on paper.
#pragma once

#include <kvcap/fold.hpp>
#include <kvcap/io/spec/formats.hpp>
#include <kvcap/report/amount.hpp>

namespace kvcap::inline v1::report {

/// full, sliding, chunked, budgeted, cross, prompt_only, scales; mla, compressed; else the kind's own name.
inline std::string_view kind_of(const LayerForm& form) {
    const Retention& kept = form.retention;
    if (kept.keep == Keep::once) {
        return "scales";
    }
    if (kept.source != Source::decoder) {
        return kept.source == Source::encoder ? "cross" : "prompt_only";
    }
    if (form.kind == Kind::latent && kept.keep == Keep::everything) {
        return kept.stride == 1 ? "mla" : "compressed";
    }
    if (form.kind != Kind::attention && form.kind != Kind::latent) {
        return spec::name_of(spec::kinds, form.kind);
    }
    switch (kept.keep) {
        case Keep::window: return "sliding";
        case Keep::chunk: return "chunked";
        case Keep::budget: return "budgeted";
        default: return "full";
    }
}

inline std::string_view words_of(Role role) {
    switch (role) {
        case Role::key: return "key";
        case Role::value: return "value";
        case Role::latent: return "latent";
        case Role::rope: return "rope";
        case Role::index: return "index key";
        case Role::conv: return "conv";
        case Role::state: return "state";
    }
    return "state";
}

/// "8 x 128", "32 x 128 x 128", "512": heads, rows and width without the ones.
inline std::string size_of(const Stream& stream) {
    std::string out;
    const auto times = [&](u64 n) { out += (out.empty() ? "" : " x ") + grouped(n); };
    if (stream.heads != 1) {
        times(stream.heads);
    }
    if (stream.rows != 1) {
        times(stream.rows);
    }
    if (stream.width != 1 || out.empty()) {
        times(stream.width);
    }
    return out;
}

/// The format of all streams, or empty when they differ or it is the plain one.
inline std::string format_of(const LayerForm& form) {
    for (const Stream& stream : form.streams) {
        if (stream.format != form.streams[0].format) {
            return {};
        }
    }
    return form.streams.empty() || form.streams[0].format == bf16 ? std::string{}
                                                                   : spec::text_of(form.streams[0].format);
}

/// ", window 1,024", ", sinks 4", ", one per 4 tokens", ", encoder tokens"
inline std::string retention_words(const Retention& kept) {
    std::string out;
    if (kept.keep == Keep::window || kept.keep == Keep::chunk || kept.keep == Keep::budget) {
        out += fmt::format(", {} {}", spec::name_of(spec::keeps, kept.keep), grouped(kept.span.value));
        out += kept.sinks.value == 0 ? "" : fmt::format(" + {} sinks", grouped(kept.sinks.value));
    }
    out += kept.stride == 1 ? "" : fmt::format(", 1 per {}", grouped(kept.stride));
    out += kept.lag == 0 ? "" : fmt::format(", all but {}", grouped(kept.lag));
    out += kept.source == Source::encoder  ? ", encoder"
           : kept.source == Source::prompt ? ", prompt only"
                                           : "";
    return out;
}

/// "latent 512 + rope 64", "K, V 8 x 128, window 1,024", "K 4 x 192 + V 4 x 128", "gated_delta state 32 x 128
/// x 128"
inline std::string label_of(const LayerForm& form) {
    const Inplace<Stream, 6>& s = form.streams;
    const bool once = form.retention.keep == Keep::once;
    std::string out = once ? "scales of " : "";
    const bool pair = s.size() == 2 && s[0].role == Role::key && s[1].role == Role::value;
    if (pair && size_of(s[0]) == size_of(s[1])) {
        out += "K, V " + size_of(s[0]);
    } else {
        const bool state = form.retention.keep == Keep::last;
        out += state && form.kind != Kind::state ? fmt::format("{} ", spec::name_of(spec::kinds, form.kind))
                                                 : "";
        std::string parts;
        for (const Stream& stream : s) {
            const std::string_view role = stream.role == Role::key     ? "K"
                                          : stream.role == Role::value ? "V"
                                                                       : words_of(stream.role);
            parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", role, size_of(stream));
        }
        out += parts;
    }
    const std::string format = once ? "" : format_of(form);
    return out + (format.empty() ? "" : " " + format) + retention_words(form.retention);
}

/// label_of, but a state with its convolution is "gated_delta 32 x 128 x 128 + conv", to fit a table.
inline std::string short_label_of(const LayerForm& form) {
    const Inplace<Stream, 6>& s = form.streams;
    const bool both = form.retention.keep == Keep::last && s.size() > 1 && s[0].role == Role::conv &&
                      s[s.size() - 1].role == Role::state;
    if (!both) {
        return label_of(form);
    }
    return fmt::format("{} {} + conv", spec::name_of(spec::kinds, form.kind), size_of(s[s.size() - 1]));
}

}  // namespace kvcap::inline v1::report
