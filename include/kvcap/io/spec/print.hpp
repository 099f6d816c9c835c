// SPDX-License-Identifier: MIT
// A model as one line: layers in order, runs as count*layer, repeated patterns as count*(pattern). Caches
// that do not come in the order of their layers are written at(layer, ...), in the order in which they come.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/io/spec/recognise.hpp>
#include <kvcap/io/spec/tree.hpp>
#include <algorithm>

namespace kvcap::inline v1::spec {

/// The same text `count` times over.
struct Run {
    u64 count = 0;
    std::string text;
    friend bool operator==(const Run&, const Run&) = default;
};

/// A pattern of `period` runs, found `rounds` times one after another.
struct Repetition {
    std::size_t period = 0;
    std::size_t rounds = 1;
    std::size_t runs() const { return period * rounds; }
};

/// The pattern at `at` that covers most runs; period 0 when nothing repeats.
inline Repetition repetition_at(const std::vector<Run>& runs, std::size_t at, std::size_t end) {
    Repetition best{};
    const auto run = [&](std::size_t i) { return runs.begin() + static_cast<std::ptrdiff_t>(i); };
    for (std::size_t period = 2; period * 2 <= end - at && period <= 64; ++period) {
        std::size_t rounds = 1;
        while (at + (rounds + 1) * period <= end &&
               std::equal(run(at), run(at + period), run(at + rounds * period))) {
            ++rounds;
        }
        if (rounds > 1 && rounds * period > best.runs()) {
            best = {period, rounds};
        }
    }
    return best;
}

/// "5*a + b": runs in their order, patterns of runs found again and again in brackets.
inline std::string compressed(const std::vector<Run>& runs, std::size_t begin, std::size_t end) {
    std::string out;
    const auto append = [&](u64 count, const std::string& text) {
        out += (out.empty() ? "" : " + ") + (count == 1 ? "" : std::to_string(count) + '*') + text;
    };
    for (std::size_t at = begin; at < end;) {
        const Repetition pattern = repetition_at(runs, at, end);
        if (pattern.period == 0) {
            append(runs[at].count, runs[at].text);
            ++at;
        } else {
            append(pattern.rounds, '(' + compressed(runs, at, at + pattern.period) + ')');
            at += pattern.runs();
        }
    }
    return out;
}

inline void extend(std::vector<Run>& runs, u64 count, const std::string& text) {
    if (count == 0) {
        return;
    }
    if (!runs.empty() && runs.back().text == text) {
        runs.back().count += count;
    } else {
        runs.push_back({count, text});
    }
}

class Printer {
public:
    /// absolute: share(14), not share(-3).
    Printer(const ModelSpec& model, const std::vector<SharedLayer>& shared, bool absolute)
        : model_{model}, shared_{shared}, absolute_{absolute} {}

    /// Layers only, without heads(...).
    std::string layers() {
        for (u32 at = 0; at < model_.caches.size();) {
            at = next(at);
        }
        close_places();
        finish();
        return text_.empty() ? "0*none" : text_;
    }

private:
    /// One layer's adjacent caches, from cache `at` on; returns the first cache behind them.
    u32 next(u32 at) {
        const u32 layer = model_.caches[at].layer;
        std::vector<u16> key;
        LayerForms forms{};
        u32 end = at;
        while (end < model_.caches.size() && model_.caches[end].layer == layer && forms.push(form(end))) {
            key.push_back(model_.caches[end++].form);
        }
        const std::string& text = named(key, forms);
        const bool trunk = layer < model_.layers;
        if (is_shared(layer)) {  // counted as share(...), its own cache beside that
            add_place(layer, text);
        } else if (trunk && !in_draft_ && layer >= counted_) {
            close_places();
            skip_to(layer);
            extend(runs_, 1, text);
            counted_ = layer + 1;
        } else if (!trunk && layer < model_.all_layers() &&
                   (in_draft_ ? layer >= counted_ : counted_ <= model_.layers)) {
            close_places();
            begin_draft();
            skip_to(layer);
            extend(runs_, 1, text);
            counted_ = layer + 1;
        } else {
            add_place(layer, text);
        }
        return end;
    }

    const LayerForm& form(u32 cache) const { return model_.form_of(model_.caches[cache]); }

    const std::string& named(const std::vector<u16>& key, const LayerForms& forms) {
        for (const Known& known : known_) {
            if (known.key == key) {
                return known.text;
            }
        }
        known_.push_back({key, Recogniser::layer(forms)});
        return known_.back().text;
    }

    bool is_shared(u32 layer) const {
        const auto at = std::lower_bound(shared_.begin(), shared_.end(), layer,
                                         [](const SharedLayer& one, u32 sought) { return one.layer < sought; });
        return at != shared_.end() && at->layer == layer;
    }

    /// Layers without a cache up to `layer`, as share(-k) where another's cache is known to serve.
    void skip_to(u64 layer) {
        while (counted_ < layer) {
            while (next_shared_ < shared_.size() && shared_[next_shared_].layer < counted_) {
                ++next_shared_;
            }
            const bool any = next_shared_ < shared_.size() && shared_[next_shared_].layer < layer;
            const u64 stop = any ? shared_[next_shared_].layer : layer;
            extend(runs_, stop - counted_, "none");
            counted_ = stop;
            if (any) {
                const u64 source = shared_[next_shared_].source;
                extend(runs_, 1, absolute_ ? "share(" + std::to_string(source) + ')'
                                           : "share(-" + std::to_string(stop - source) + ')');
                ++counted_;
            }
        }
    }

    void flush() {
        if (!runs_.empty()) {
            text_ += (text_.empty() ? "" : " + ") + compressed(runs_, 0, runs_.size());
            runs_.clear();
        }
    }

    void begin_draft() {
        if (in_draft_) {
            return;
        }
        skip_to(model_.layers);
        flush();
        in_draft_ = true;
        trunk_text_ = std::move(text_);
        text_.clear();
    }

    void end_draft() {
        skip_to(model_.all_layers());
        flush();
        text_ = trunk_text_ + (trunk_text_.empty() ? "" : " + ") + "draft(" + text_ + ')';
        in_draft_ = false;
        counted_ = off_scale;
    }

    void finish() {
        if (counted_ != off_scale) {
            if (model_.draft_layers != 0) {
                begin_draft();
                end_draft();
            } else {
                skip_to(model_.layers);
            }
        }
        flush();
    }

    /// A cache that belongs to a layer which is not the next one.
    void add_place(u32 layer, const std::string& text) {
        if (in_draft_) {
            end_draft();
        }
        flush();
        const std::string word = layer < model_.all_layers() ? "at(" : "beyond(";
        if (text != place_text_ || word != place_word_) {
            close_places();
            place_text_ = text;
            place_word_ = word;
        }
        if (!places_.empty() && places_.back().last + 1 == layer) {
            places_.back().last = layer;
        } else {
            places_.push_back({layer, layer});
        }
    }

    void close_places() {
        if (places_.empty()) {
            return;
        }
        text_ += (text_.empty() ? "" : " + ") + place_word_;
        for (const Range& place : places_) {
            text_ += std::to_string(place.first);
            if (place.last != place.first) {
                text_ += ".." + std::to_string(place.last);
            }
            text_ += ',';
        }
        text_ += ' ' + place_text_ + ')';
        places_.clear();
        place_text_.clear();
    }

    struct Known {
        std::vector<u16> key;
        std::string text;
    };

    const ModelSpec& model_;
    const std::vector<SharedLayer>& shared_;
    bool absolute_;
    std::vector<Known> known_;
    std::vector<Run> runs_;
    std::vector<Range> places_;
    std::string place_text_;
    std::string place_word_;
    std::string text_;
    std::string trunk_text_;
    u64 counted_ = 0;
    std::size_t next_shared_ = 0;
    bool in_draft_ = false;
};

/// Whether the forms stand in the order of their first use, none unused: what ModelSpec::add leaves.
inline bool in_order_of_use(const ModelSpec& model) {
    u32 used = 0;
    for (const Cache& cache : model.caches) {
        if (cache.form > used) {
            return false;
        }
        used += cache.form == used ? 1 : 0;
    }
    return used == model.forms.size();
}

/// "forms(...) + ", or nothing where the layers alone give the forms in their order.
inline std::string order_of_forms(const ModelSpec& model) {
    if (in_order_of_use(model)) {
        return {};
    }
    std::string out;
    for (const LayerForm& form : model.forms) {
        out += (out.empty() ? "forms(" : ", ") + Recogniser::layer(forms_of(form));
    }
    return out + ") + ";
}

}  // namespace kvcap::inline v1::spec
