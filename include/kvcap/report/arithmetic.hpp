// SPDX-License-Identifier: MIT
// A size as one would work it out on paper: (512 + 64) x 2 B = 1,152 B per token and layer; x 61 layers =
// 70,272 B.
#pragma once

#include <kvcap/report/labels.hpp>
#include <kvcap/report/size.hpp>

namespace kvcap::inline v1::report {

/// "2 B", or "132 B per 128" for a block of elements.
inline std::string element_words(ElementFormat format) {
    return format.elems == 1 ? exact({format.bytes})
                             : fmt::format("{} per {}", exact({format.bytes}), grouped(format.elems));
}

/// "8 heads x 128", "3 x 8,192", "512"
inline std::string product_of(const Stream& stream, bool with_heads = true) {
    std::string out;
    const auto times = [&](const std::string& factor) { out += (out.empty() ? "" : " x ") + factor; };
    if (with_heads && stream.heads != 1) {
        const bool heads = stream.role == Role::key || stream.role == Role::value;
        times(grouped(stream.heads) + (heads ? " heads" : ""));
    }
    if (stream.rows != 1) {
        times(grouped(stream.rows));
    }
    if (stream.width != 1 || out.empty()) {
        times(grouped(stream.width));
    }
    return out;
}

/// The product or sum that gives one slot's bytes.
inline std::string slot_arithmetic(const LayerForm& form) {
    const Inplace<Stream, 6>& s = form.streams;
    bool alike = true;
    bool same_size = true;
    for (const Stream& stream : s) {
        alike =
            alike && stream.heads == s[0].heads && stream.rows == s[0].rows && stream.format == s[0].format;
        same_size = same_size && stream.width == s[0].width;
    }
    if (alike && same_size) {
        const std::string times = s.size() == 1 ? "" : fmt::format("{} x ", s.size());
        return fmt::format("{}{} x {}", times, product_of(s[0]), element_words(s[0].format));
    }
    std::string sum;
    for (const Stream& stream : s) {
        const bool role = stream.role == Role::conv || stream.role == Role::state;
        sum += sum.empty() ? "" : " + ";
        sum += alike ? grouped(stream.width)
                     : fmt::format("{}{} x {}", role ? fmt::format("{} ", words_of(stream.role)) : "",
                                   product_of(stream), element_words(stream.format));
    }
    if (!alike) {
        return sum;
    }
    Stream shape = s[0];
    shape.width = 1;
    const std::string heads = shape.heads == 1 && shape.rows == 1 ? "" : product_of(shape) + " x ";
    return fmt::format("{}({}) x {}", heads, sum, element_words(s[0].format));
}

inline std::string layers_words(u32 caches) {
    return caches == 1 ? "" : fmt::format(" x {} layers", grouped(caches));
}

/// What tensor parallelism does to the first stream that it divides, or that it cannot divide a cache at all.
inline std::string split_words(const LayerForm& form, const SizeQuestion& asked) {
    const u32 tp = asked.sharding.tp;
    for (const Stream& stream : form.streams) {
        const Result<u32> own = heads_on_rank(stream, asked.sharding);
        if (stream.split == Split::replicated || !own) {
            continue;
        }
        const std::string_view what = stream.split == Split::heads ? "heads" : "heads or channels";
        if (stream.heads % tp == 0) {
            return fmt::format("TP {}: {} {} / {} = {} on each rank", tp, grouped(stream.heads), what, tp,
                               grouped(*own));
        }
        return fmt::format("TP {}: {} {} for {} ranks: {} on each rank, some copied", tp,
                           grouped(stream.heads), what, tp, grouped(*own));
    }
    return fmt::format("TP {}: not divided, each rank holds all of it", tp);
}

/// Lines about one group, without line ends.
inline std::vector<std::string> group_arithmetic(const ModelSpec& model, const SizeGroup& group,
                                                 const SizeQuestion& asked, std::size_t point) {
    const LayerForm& form = model.forms[group.form];
    const Retention& kept = form.retention;
    const Slots slots = kept.slots(asked.points[point].lengths);
    const u64 sequences = asked.points[point].sequences;
    const std::string each = fmt::format("{} = {}", slot_arithmetic(form), exact(group.slot));
    const std::string layers = layers_words(group.caches);
    const std::string batch =
        sequences == 1 || kept.keep == Keep::once ? "" : fmt::format(" x {} sequences", grouped(sequences));
    std::vector<std::string> lines;
    const auto held = [&](const std::string& slots_words) {
        const std::string product = fmt::format("{}{}{}{}", slots_words, exact(group.slot), layers, batch);
        if (product != exact(group.held[point])) {
            lines.push_back(fmt::format("{} = {}", product, exact(group.held[point])));
        }
    };
    if (kept.keep == Keep::last || kept.keep == Keep::once) {
        const std::string_view per = kept.keep == Keep::last ? "sequence" : "model";
        lines.push_back(fmt::format("{} per {} and layer", each, per));
        held("");
        return lines;
    }
    const std::string_view token = kept.source == Source::encoder ? "encoder token" : "token";
    const std::string per =
        kept.stride == 1 ? std::string{token} : fmt::format("{} {}s", grouped(kept.stride), token);
    const bool grows = kept.keep == Keep::everything && kept.stride == 1;
    const Bytes rate = group.slot * u64{group.caches};
    lines.push_back(
        fmt::format("{} per {} and layer{}", each, per,
                    grows && group.caches > 1 ? fmt::format(";{} = {}", layers, exact(rate)) : ""));
    if (grows && kept.lag == 0) {
        lines.push_back(fmt::format("{} {}s x {}{} = {}", grouped(slots.value), token, exact(rate), batch,
                                    exact(group.held[point])));
        return lines;
    }
    const u64 seen = asked.points[point].lengths.from(kept.source);
    const std::string most =
        group.window == 0 ? grouped(seen) : fmt::format("min({}, {})", grouped(seen), grouped(group.window));
    const std::string less = kept.lag == 0 ? most : fmt::format("({} - {})", most, grouped(kept.lag));
    const bool plain = group.window == 0 && kept.lag == 0;
    held(kept.stride == 1
             ? fmt::format("{}{} {}s x ", plain ? "" : less + " = ", grouped(slots.value), token)
             : fmt::format("{} / {} = {} entries x ", less, grouped(kept.stride), grouped(slots.value)));
    return lines;
}

}  // namespace kvcap::inline v1::report
