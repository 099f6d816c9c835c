// SPDX-License-Identifier: MIT
// One layer of a spec line: a kind with its numbers and formats, a decorator around a layer, both(...),
// form(...).
#pragma once

#include <kvcap/io/spec/decorators.hpp>
#include <kvcap/io/spec/form_text.hpp>
#include <kvcap/io/spec/policies.hpp>

namespace kvcap::inline v1::spec {

inline std::vector<std::string_view> known_names() {
    std::vector<std::string_view> names{"none",  "share", "both", "form", "at",
                                        "heads", "draft", "mqa",  "mha"};
    for (const Policy& policy : policies) {
        names.push_back(policy.name);
    }
    for (const Decorator& decorator : decorators) {
        names.push_back(decorator.name);
    }
    for (const Named<ElementFormat>& format : formats) {
        names.push_back(format.name);
    }
    return names;
}

/// Brackets inside brackets that are read; more would be no model.
inline constexpr u32 deepest = 40;

class LayerReader {
public:
    explicit LayerReader(Scanner& in) : in_{in} {}

    LayerForms layer() {
        const std::size_t offset = in_.offset();
        if (++depth_ > deepest) {
            in_.refuse_here("at most 40 levels of brackets");
        }
        const LayerForms forms = layer_called(in_.word(), offset);
        --depth_;
        return forms;
    }

    LayerForms layer_called(const std::string& name, std::size_t offset) {
        if (in_.failed() || name.empty()) {
            in_.refuse_here("a layer such as gqa(8,128) or mla(512,64)");
            return LayerForms{};
        }
        if (name == "none") {
            return LayerForms{};
        }
        if (name == "mqa") {
            return mqa_layer(offset);
        }
        if (const Policy* policy = policy_named(name)) {
            return policy_layer(*policy, Numbers{}, offset);
        }
        if (const Decorator* decorator = decorator_named(name)) {
            return decorated(*decorator, offset);
        }
        if (const std::optional<ElementFormat> format = value_named(formats, name)) {
            return stored(name, *format, offset);
        }
        if (name == "both") {
            return both(offset);
        }
        if (name == "form") {
            return forms_of(FormReader{in_}.form(offset));
        }
        const std::string near = nearest(name, known_names());
        in_.refuse(offset, "'" + name + "'", "a kind of layer such as gqa(8,128) or mla(512,64)",
                   near.empty() ? "" : "did you mean " + near + "?");
        return LayerForms{};
    }

private:
    LayerForms mqa_layer(std::size_t offset) {
        Numbers one{};
        static_cast<void>(one.push(1));
        return policy_layer(*policy_named("gqa"), one, offset);
    }

    /// Numbers beyond those in `n`, then role=format.
    LayerForms policy_layer(const Policy& policy, Numbers n, std::size_t offset) {
        const std::string usage = "as in " + std::string{policy.usage};
        in_.need('(', usage);
        bool more = true;
        while (in_.at_digit() && n.size() < policy.most && more) {
            static_cast<void>(n.push(narrow(in_.number(0xffff'ffffu, "a number"))));
            more = in_.take(',');
        }
        if (n.size() < policy.least) {
            in_.refuse_here(std::to_string(policy.least) + " numbers, " + usage);
        }
        while (n.size() < policy.most && !in_.failed()) {
            static_cast<void>(n.push(default_of(policy, n, n.size())));
        }
        if (!in_.failed() && !allows(policy, n)) {
            in_.refuse(offset, std::string{policy.name} + " with a size of 0", "at least 1, " + usage);
        }
        if (in_.failed()) {
            return LayerForms{};
        }
        LayerForms forms = built(policy, n, offset);
        while (more && !in_.failed()) {
            restore(forms, policy.name);
            more = in_.take(',');
        }
        in_.need(')', usage);
        return forms;
    }

    LayerForms built(const Policy& policy, const Numbers& n, std::size_t offset) {
        const LayerForms forms = policy.build(n);
        Numbers back{};
        if (!policy.numbers(forms, back) || !(back == n)) {
            in_.refuse(offset, std::string{policy.name} + " with sizes whose products leave 32 bits",
                       "smaller numbers, as in " + std::string{policy.usage});
        }
        for (const LayerForm& form : forms) {
            if (form.elements() == 0) {
                in_.refuse(offset, std::string{policy.name} + " that keeps nothing", "larger sizes, or none");
            }
        }
        return forms;
    }

    /// role=format on the streams of that role.
    void restore(LayerForms& forms, std::string_view policy) {
        const std::size_t offset = in_.offset();
        const std::string word = in_.word();
        const std::optional<Role> role = value_named(roles, word);
        if (word.empty()) {
            in_.refuse_here("a part and its format, as in state=f32, or ')'");
        }
        if (!role) {
            in_.refuse(offset, "'" + word + "'",
                       "a part and its format, as in state=f32, index=fp8_128 or key=q8_0");
            return;
        }
        in_.need('=', "and a format");
        const ElementFormat format = FormReader{in_}.element_format();
        bool found = false;
        for (LayerForm& form : forms) {
            for (Stream& stream : form.streams) {
                if (stream.role == *role) {
                    stream.format = format;
                    found = true;
                }
            }
        }
        if (!found) {
            in_.refuse(offset, "'" + word + "'", "a part that " + std::string{policy} + " has");
        }
    }

    static constexpr std::string_view already(Says says) noexcept {
        switch (says) {
            case Says::keep: return "has its tokens bounded already";
            case Says::sinks: return "has sinks, or its tokens bounded, already";
            case Says::source: return "has a source already";
            case Says::format: return "has a format already";
        }
        return {};
    }

    LayerForms decorated(const Decorator& decorator, std::size_t offset) {
        const std::string usage = "as in " + std::string{decorator.usage};
        in_.need('(', usage);
        Wide n{};
        for (u32 i = 0; i < decorator.numbers; ++i) {
            static_cast<void>(n.push(in_.number(off_scale - 1, "a number, " + usage)));
            in_.need(',', usage);
        }
        const LayerForms inner = layer();
        in_.need(')', usage);
        if (in_.failed()) {
            return LayerForms{};
        }
        const std::string name{decorator.name};
        if (!acts_on(decorator, inner)) {
            in_.refuse(offset, name + " around a layer on which it has nothing to act",
                       decorator.acts == Acts::on_attention
                           ? "a layer with keys, values or latents (states: state=f32)"
                           : "a layer that keeps tokens");
        } else if (!fits(decorator, inner)) {
            in_.refuse(offset, name + " that makes more than 8 caches of a layer", "fewer caches inside");
        } else if (keeps_nothing(decorator, n)) {
            in_.refuse(offset, name + "(0, ...), which keeps no token", "at least 1 token");
        } else if (packs_no_latent(decorator, inner)) {
            in_.refuse(offset, name + " around a layer without latents", "mla(...): the format packs a latent of 512");
        } else if (said_inside(decorator, inner)) {
            in_.refuse(offset, name + " around a layer that " + std::string{already(decorator.says)},
                       "that said once: of two, only the outer would count");
        } else if (splits_no_cache(decorator, inner)) {
            in_.refuse(offset, name + " around latents, windows or sinks", "keys and values that keep everything");
        } else if (!sensible(decorator, inner, n)) {
            in_.refuse(offset, name + " with numbers that it cannot take",
                       "1 to 8 bits and sizes within 32 bits");
        } else {
            return decorator.apply(inner, n);
        }
        return LayerForms{};
    }

    LayerForms stored(const std::string& name, ElementFormat format, std::size_t offset) {
        in_.need('(', "and a layer, as in fp8(gqa(8,128))");
        const LayerForms inner = layer();
        in_.need(')', "after the layer");
        bool acts = false;
        for (const LayerForm& form : inner) {
            acts = acts || has_attention(form);
        }
        bool twice = false;
        for (const LayerForm& form : inner) {
            twice = twice || (is_quantised(form) && has_attention(form));
        }
        if (!acts) {
            in_.refuse(offset, name + " around a layer without keys, values or latents",
                       "state=" + name + " or index=" + name + " inside the layer");
        } else if (twice) {
            in_.refuse(offset, name + " around a layer that " + std::string{already(Says::format)},
                       "that said once: of two, only the outer would count");
        }
        return stored_as(inner, format);
    }

    LayerForms both(std::size_t offset) {
        in_.need('(', "as in both(gqa(8,128), mamba2(...))");
        LayerForms all{};
        do {
            for (const LayerForm& form : layer()) {
                if (!all.push(form)) {
                    in_.refuse(offset, "a layer with more than 8 caches", "at most 8");
                }
            }
        } while (in_.take(','));
        in_.need(')', "or ','");
        return all;
    }

    Scanner& in_;
    u32 depth_ = 0;
};

}  // namespace kvcap::inline v1::spec
