// SPDX-License-Identifier: MIT
// How does a family read its config? One object that looks keys up (aliases, null, class defaults), checks
// every number, collects notes, and takes the caches of each layer. The first problem sticks: later reads
// give harmless values, so a family's rule is written straight down. Key aliases and defaults follow the
// transformers config classes.
#pragma once

#include <initializer_list>
#include <kvcap/io/hf/family.hpp>
#include <kvcap/io/json.hpp>
#include <kvcap/io/read_model.hpp>
#include <kvcap/layer/attention.hpp>

namespace kvcap::inline v1::hf {

using Keys = std::initializer_list<JsonKey>;

class Lowering {
public:
    Lowering(JsonValue block, std::string at, const Family& family)
        : block_{block}, at_{std::move(at)}, family_{&family}, per_layer_{block["per_layer_config"]} {}

    ReadModel model{};
    std::vector<Note> notes{};
    std::optional<Problem> problem{};

    void use(const Family& family) noexcept { family_ = &family; }
    const Defaults& defaults() const noexcept { return family_->defaults; }
    std::string_view type() const noexcept { return family_->type; }
    bool failed() const noexcept { return problem.has_value(); }

    // --- looking up
    JsonValue operator[](const JsonKey& key) const noexcept { return block_[key]; }
    /// The first of `keys` that is given (neither absent nor null), else one that is null, else nothing.
    JsonValue first(Keys keys) const noexcept {
        JsonValue null;
        for (const JsonKey& key : keys) {
            if (const JsonValue value = block_[key]; value.given()) {
                return value;
            } else if (value.is_null() && !null.present()) {
                null = value;
            }
        }
        return null;
    }
    std::string pointer(std::string_view key) const { return at_ + '/' + std::string{key}; }
    std::string pointer(Keys keys) const {
        for (const JsonKey& key : keys) {
            if (block_[key].given()) {
                return pointer(key.name);
            }
        }
        return pointer(keys.begin()->name);
    }

    // --- saying
    void fail(std::string where, std::string found, std::string wanted, std::string hint = {},
              Trouble trouble = Trouble::invalid) {
        if (!problem) {
            problem =
                Problem{trouble, std::move(where), std::move(found), std::move(wanted), std::move(hint)};
        }
    }
    void note(Origin origin, std::string where, std::string text) {
        notes.push_back({origin, std::move(where), std::move(text)});
    }

    // --- numbers
    /// A given value as a number from `least` to `most`.
    u64 checked(JsonValue value, const std::string& where, u64 least, u64 most) {
        if (!value.is_whole() || value.whole() < least || value.whole() > most) {
            fail(where, value.shown(),
                 "an integer from " + std::to_string(least) + " to " + std::to_string(most));
            return least == 0 ? 1 : least;
        }
        return value.whole();
    }
    /// A size; absent or null: `otherwise` (an assumption that is noted), or a refusal when that is 0.
    u32 size(Keys keys, u64 otherwise = 0, u64 least = 1, u64 most = most_size) {
        const JsonValue value = first(keys);
        if (value.given()) {
            return static_cast<u32>(checked(value, pointer(keys), least, most));
        }
        if (otherwise == 0) {
            missing(keys);
            return 1;
        }
        note(Origin::assumed, pointer(keys),
             (value.is_null() ? "null: " : "absent: ") + std::to_string(otherwise) + " (" +
                 std::string{type()} + " class default)");
        return static_cast<u32>(otherwise);
    }
    /// A size whose absence, null or zero means "none".
    u64 optional_size(Keys keys, u64 most = most_size) {
        const JsonValue value = first(keys);
        return value.given() ? checked(value, pointer(keys), 0, most) : 0;
    }
    void missing(Keys keys) {
        std::string names;
        for (const JsonKey& key : keys) {
            (names += names.empty() ? "" : " or ") += key.name;
        }
        fail(pointer(keys), "nothing", "an integer (" + names + ")",
             "no default is known for model_type " + std::string{type()});
    }
    /// null is false, as Python takes it; anything but a truth value is refused.
    bool flag(const JsonKey& key, bool otherwise) {
        const JsonValue value = block_[key];
        if (value.given() && !value.is_true() && !value.is_false()) {
            fail(pointer(key.name), value.shown(), "true or false");
        }
        return value.present() ? value.is_true() : otherwise;
    }
    /// a x b where the result is again a size, such as channels of a convolution.
    u32 product(u64 a, u64 b, std::string_view what) {
        const u64 all = saturating_product(a, b);
        if (all > (u64{1} << 28)) {
            fail(at_, std::string{what} + " of " + std::to_string(a) + " x " + std::to_string(b),
                 "at most 2^28");
            return 1;
        }
        return static_cast<u32>(all);
    }
    u32 quotient(u64 a, u64 b, const std::string& where, std::string_view what) {
        if (b == 0 || a % b != 0) {
            fail(where, std::to_string(a) + " / " + std::to_string(b),
                 std::string{what} + " to be an integer");
            return 1;
        }
        return static_cast<u32>(a / b);
    }

    // --- what most families have
    /// Absent, but kinds are listed: as many as the list has.
    u32 layers() {
        const Keys keys{"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
        const JsonValue list =
            block_["layer_types"].is_array() ? block_["layer_types"] : block_["layers_block_type"];
        if (!first(keys).given() && list.is_array() && list.size() > 0) {
            note(Origin::derived, pointer(keys),
                 std::to_string(list.size()) + " = entries of the list of layer kinds");
            return static_cast<u32>(smaller(list.size(), most_layers));
        }
        return size(keys, defaults().layers, 1, most_layers);
    }
    u32 width() { return size({"hidden_size", "n_embd", "d_model"}, defaults().width); }
    u32 heads() {
        if (heads_ == 0) {
            heads_ = size({"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"},
                          defaults().heads);
        }
        return heads_;
    }
    u32 kv_heads(Keys keys = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "num_query_groups"}) {
        const JsonValue value = first(keys);
        u32 kv = heads();
        if (value.given()) {
            kv = static_cast<u32>(checked(value, pointer(keys), 1, most_size));
        } else if (!value.present() && defaults().kv_heads != 0) {
            kv = size(keys, defaults().kv_heads);
        } else {
            note(Origin::derived, pointer(keys),
                 (value.is_null() ? "null: " : "absent: ") + std::to_string(kv) + ", one per query head");
        }
        return grouped(heads(), kv, pointer(keys));
    }
    /// Query heads share key heads evenly.
    u32 grouped(u32 query, u32 kv, const std::string& where) {
        if (query % kv != 0) {
            fail(where, std::to_string(kv) + " key heads for " + std::to_string(query) + " query heads",
                 "a divisor of the query heads");
            return 1;
        }
        return kv;
    }
    u32 head_dim(Keys keys = {"head_dim", "attention_head_dim", "kv_channels"}) {
        const JsonValue value = first(keys);
        if (value.given()) {
            return static_cast<u32>(checked(value, pointer(keys), 1, most_size));
        }
        if (!value.present() && defaults().head_dim != 0) {
            return size(keys, defaults().head_dim);
        }
        return head_dim_of_width();
    }
    u32 head_dim_of_width() {
        const u32 dim =
            quotient(width(), heads(), pointer("hidden_size"), "hidden_size / num_attention_heads");
        note(Origin::derived, pointer("head_dim"),
             std::to_string(dim) + " = hidden_size / num_attention_heads");
        return dim;
    }
    Gqa gqa() {
        const u32 kv = kv_heads();
        return {.kv_heads = kv, .head_dim = head_dim()};
    }
    /// 0: none. Absent: the class default; null: none.
    u64 window(Keys keys = {"sliding_window", "sliding_window_size"}) {
        const JsonValue value = first(keys);
        if (value.given()) {
            return checked(value, pointer(keys), 0, most_tokens);
        }
        if (value.is_null() || defaults().window == 0) {
            return 0;
        }
        return size(keys, defaults().window);
    }
    // --- taking caches
    void begin(u32 layers, u32 query_heads) {
        model.spec.layers = layers;
        model.spec.query_heads = query_heads;
        model.query_heads = query_heads;
        per_layer_.each([&](u32, std::string_view layer, JsonValue own) {
            const bool digits = layer.find_first_not_of("0123456789") == std::string_view::npos;
            if (!digits || layer.empty() || layer.size() > 9 || std::stoul(std::string{layer}) >= layers) {
                fail(pointer("per_layer_config"), '"' + std::string{layer} + '"',
                     "layers from 0 to " + std::to_string(layers - 1));
            } else if (own.given() && !own.is_object()) {
                fail(pointer("per_layer_config") + '/' + std::string{layer}, own.shown(), "an object");
            }
        });
    }
    void put(u32 layer, const LayerForms& forms) {
        const JsonValue own =
            per_layer_.is_object() ? per_layer_[std::string_view{std::to_string(layer)}] : JsonValue{};
        for (const LayerForm& form : forms) {
            put(model.spec, layer, own.is_object() ? overridden(form, own, layer) : form);
        }
    }
    void put_draft(u32 layers, std::string_view key, const LayerForms& forms) {
        model.draft_key = key;
        model.draft.layers = layers;
        model.draft.query_heads = model.spec.query_heads;
        for (u32 i = 0; i < layers && !failed(); ++i) {
            for (const LayerForm& form : forms) {
                put(model.draft, i, form);
            }
        }
        note(Origin::given, pointer(key), std::to_string(layers) +
             " draft layers: cached only with speculative decoding, never part of the layer count");
    }
    void share(u32 layer, u32 source) { model.shared.push_back({layer, source}); }

private:
    /// `per_layer_config` (transformers 5): this layer's own head width and number of key heads.
    LayerForm overridden(LayerForm form, JsonValue own, u32 layer) {
        const std::string where = pointer("per_layer_config") + '/' + std::to_string(layer) + '/';
        for (Stream& stream : form.streams) {
            if (stream.role != Role::key && stream.role != Role::value) {
                fail(where, "settings of a layer without key heads",
                     "head_dim and num_key_value_heads of attention layers");
                continue;
            }
            if (own["num_key_value_heads"].given()) {
                const std::string at = where + "num_key_value_heads";
                const u64 kv = checked(own["num_key_value_heads"], at, 1, most_size);
                stream.heads = heads_ == 0 ? static_cast<u32>(kv) : grouped(heads_, static_cast<u32>(kv), at);
            }
            const JsonKey narrow =
                stream.role == Role::value && own["v_head_dim"].given() ? "v_head_dim" : "head_dim";
            if (own[narrow].given()) {
                stream.width =
                    static_cast<u32>(checked(own[narrow], where + std::string{narrow.name}, 1, most_size));
            }
        }
        if (form.retention.keep == Keep::window && own["sliding_window"].given()) {
            form.retention.span = {checked(own["sliding_window"], where + "sliding_window", 1, most_tokens)};
        }
        return form;
    }
    void put(ModelSpec& spec, u32 layer, const LayerForm& form) {
        if (failed()) {
            return;
        }
        if (const Errc code = spec.add(layer, form); code != Errc::ok) {
            fail(pointer("num_hidden_layers"),
                 "layer " + std::to_string(layer) + " as cache " + std::to_string(spec.caches.size() + 1),
                 "at most " + std::to_string(spec.caches.capacity()) + " caches of " +
                     std::to_string(spec.forms.capacity()) + " kinds");
        }
    }

    JsonValue block_;
    std::string at_;
    const Family* family_;
    JsonValue per_layer_;
    u32 heads_ = 0;
};

}  // namespace kvcap::inline v1::hf
