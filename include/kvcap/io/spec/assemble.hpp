// SPDX-License-Identifier: MIT
// Terms counted out into a model: caches in the order of the text, layers numbered as they come. Groups that
// keep nothing are multiplied, not repeated; every other round adds a cache, so 512 rounds are the most there
// are.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/io/spec/tree.hpp>

namespace kvcap::inline v1::spec {

class Assembly {
public:
    /// The model, or false with `problem()`.
    bool add(const std::vector<Term>& terms) {
        for (const Term& term : terms) {
            if (!add(term)) {
                return false;
            }
        }
        return check_places();
    }

    const ModelSpec& model() const { return model_; }
    const std::vector<SharedLayer>& shared() const { return shared_; }
    const Problem& problem() const { return problem_; }

private:
    static constexpr u64 most_layers = 0xffff'ffff;

    bool refuse(const Term& term, std::string found, std::string wanted) {
        problem_ = {.trouble = Trouble::invalid, .where = "offset " + std::to_string(term.offset),
                    .found = std::move(found), .wanted = std::move(wanted), .hint = {}};
        return false;
    }

    bool add(const Term& term) {
        switch (term.what) {
            case What::layer: return add_layers(term);
            case What::group: return add_group(term);
            case What::share: return add_shared(term);
            case What::at: return add_at(term);
            case What::draft: return add_draft(term);
            case What::forms: return add_forms(term);
            case What::heads:
                model_.query_heads =
                    static_cast<u32>(greatest_common_divisor(model_.query_heads, term.number));
                return true;
        }
        return true;
    }

    u64 next_layer() const { return u64{model_.layers} + model_.draft_layers; }

    /// Numbers `count` more layers.
    bool count_layers(const Term& term, u64 count) {
        if (!in_draft_ && model_.draft_layers != 0) {
            return refuse(term, "layers after draft(...)", "draft(...) behind all layers");
        }
        if (saturating_sum(next_layer(), count) > most_layers) {
            return refuse(term, "more than 2^32 layers", "fewer");
        }
        (in_draft_ ? model_.draft_layers : model_.layers) += static_cast<u32>(count);
        return true;
    }

    bool keep(const Term& term, u64 layer) {
        switch (model_.add(static_cast<u32>(layer), term.caches)) {
            case Errc::ok: return true;
            case Errc::zero_dimension: return refuse(term, "a stride of 0", "at least 1");
            default: break;
        }
        if (layer > 0xffff) {
            return refuse(term, "a cache in layer " + std::to_string(layer), "layers below 65,536");
        }
        return refuse(term, "a model with more than 512 caches or 32 kinds of cache", "fewer");
    }

    bool add_layers(const Term& term) {
        if (term.caches.empty()) {
            return count_layers(term, term.count);
        }
        for (u64 i = 0; i < term.count; ++i) {
            const u64 layer = next_layer();
            if (!count_layers(term, 1) || !keep(term, layer)) {
                return false;
            }
        }
        return true;
    }

    bool add_group(const Term& term) {
        const u64 layers = next_layer();
        const u32 caches = model_.caches.size();
        const std::size_t shared = shared_.size();
        for (u64 i = 0; i < term.count; ++i) {
            for (const Term& part : term.parts) {
                if (!add(part)) {
                    return false;
                }
            }
            if (model_.caches.size() == caches && shared_.size() == shared) {
                return count_layers(term, saturating_product(next_layer() - layers, term.count - 1));
            }
        }
        return true;
    }

    bool add_shared(const Term& term) {
        for (u64 i = 0; i < term.count; ++i) {
            const u64 layer = next_layer();
            const u64 source = term.relative ? layer - term.number : term.number;
            if (layer > 0xffff) {
                return refuse(term, "a shared cache in layer " + std::to_string(layer), "layers below 65,536");
            }
            if (source >= layer) {
                return refuse(term, "layer " + std::to_string(layer) + " that shares " +
                                        (term.relative ? "-" : "") + std::to_string(term.number),
                              "an earlier layer, as in share(-1)");
            }
            if (!count_layers(term, 1)) {
                return false;
            }
            shared_.push_back({.layer = static_cast<u32>(layer), .source = static_cast<u32>(source)});
        }
        return true;
    }

    bool add_at(const Term& term) {
        for (const Range& range : term.places) {
            for (u64 layer = range.first; layer <= range.last; ++layer) {
                if (!keep(term, layer)) {
                    return false;
                }
            }
            if (!term.relative && range.last >= highest_place_) {
                highest_place_ = range.last;
                highest_term_ = term.offset;
                any_place_ = true;
            }
        }
        return true;
    }

    bool add_forms(const Term& term) {
        if (next_layer() != 0 || !model_.forms.empty()) {
            return refuse(term, "forms(...) behind a layer", "forms(...) before all layers");
        }
        for (const Term& part : term.parts) {
            for (const LayerForm& form : part.caches) {
                if (!model_.forms.push(form)) {
                    return refuse(part, "more than 32 kinds of cache", "fewer");
                }
            }
        }
        return true;
    }

    bool add_draft(const Term& term) {
        if (model_.draft_layers != 0) {
            return refuse(term, "a second draft(...)", "one");
        }
        in_draft_ = true;
        for (const Term& part : term.parts) {
            if (!add(part)) {
                return false;
            }
        }
        in_draft_ = false;
        return true;
    }

    bool check_places() {
        if (!any_place_ || highest_place_ < next_layer()) {
            return true;
        }
        Term place{};
        place.offset = highest_term_;
        return refuse(place, "layer " + std::to_string(highest_place_) + " of a model with " +
                                 std::to_string(next_layer()) + (next_layer() == 1 ? " layer" : " layers"),
                      "layers that the model has; at(...) adds to them and none counts further ones");
    }

    ModelSpec model_{};
    std::vector<SharedLayer> shared_;
    Problem problem_;
    bool in_draft_ = false;
    bool any_place_ = false;
    u64 highest_place_ = 0;
    std::size_t highest_term_ = 0;
};

}  // namespace kvcap::inline v1::spec
