// SPDX-License-Identifier: MIT
// What a spec line may put around layers: retention (window, sinks ...), source, storage schemes, both(...).
// Every name is the core's own rule applied to caches that are already there.
#pragma once

#include <kvcap/io/spec/form_text.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/quant/residual.hpp>

namespace kvcap::inline v1::spec {

/// Caches as a layer policy, so that the core's decorators take them.
struct Given {
    LayerForms caches{};
    constexpr LayerForms forms() const noexcept { return caches; }
    friend constexpr bool operator==(const Given&, const Given&) = default;
};

/// What a decorator needs to act on.
enum class Acts : u8 { on_tokens, on_any, on_attention };

/// What it says of a cache; said twice, only the outer word would count.
enum class Says : u8 { keep, sinks, source, format };

using Wide = Inplace<u64, 4>;

/// numbers: how many come before the layer. apply: pre: fits(...) and acts_on(...).
struct Decorator {
    std::string_view name;
    std::string_view usage;
    u32 numbers;
    Acts acts;
    Says says;
    LayerForms (*apply)(const LayerForms& forms, const Wide& n) noexcept;
};

constexpr bool keeps_tokens(const LayerForm& form) noexcept {
    return form.retention.keep != Keep::last && form.retention.keep != Keep::once;
}

constexpr bool has_attention(const LayerForm& form) noexcept {
    for (const Stream& stream : form.streams) {
        if (is_attention(stream.role)) {
            return true;
        }
    }
    return false;
}

constexpr bool acts_on(const Decorator& decorator, const LayerForms& forms) noexcept {
    for (const LayerForm& form : forms) {
        if (decorator.acts == Acts::on_any || (decorator.acts == Acts::on_tokens && keeps_tokens(form)) ||
            (decorator.acts == Acts::on_attention && has_attention(form))) {
            return true;
        }
    }
    return false;
}

constexpr Decorator decorators[] = {
    {"window", "window(tokens, layer)", 1, Acts::on_tokens, Says::keep,
     [](const LayerForms& f, const Wide& n) noexcept {
         return Windowed{Given{f}, Tokens{n[0]}}.forms();
     }},
    {"chunk", "chunk(tokens, layer)", 1, Acts::on_tokens, Says::keep,
     [](const LayerForms& f, const Wide& n) noexcept {
         return Chunked{Given{f}, Tokens{n[0]}}.forms();
     }},
    {"budget", "budget(tokens, layer)", 1, Acts::on_tokens, Says::keep,
     [](const LayerForms& f, const Wide& n) noexcept {
         return Budgeted{Given{f}, Tokens{n[0]}}.forms();
     }},
    {"hint", "hint(tokens, layer)", 1, Acts::on_tokens, Says::keep,
     [](const LayerForms& f, const Wide& n) noexcept { return retain(f, Keep::everything, Tokens{n[0]}); }},
    {"sinks", "sinks(tokens, layer)", 1, Acts::on_tokens, Says::sinks,
     [](const LayerForms& f, const Wide& n) noexcept {
         return WithSinks{Given{f}, Tokens{n[0]}}.forms();
     }},
    {"cross", "cross(layer)", 0, Acts::on_any, Says::source,
     [](const LayerForms& f, const Wide&) noexcept { return Cross{Given{f}}.forms(); }},
    {"prompt_only", "prompt_only(layer)", 0, Acts::on_any, Says::source,
     [](const LayerForms& f, const Wide&) noexcept { return PromptOnly{Given{f}}.forms(); }},
    {"fp8_tensor", "fp8_tensor(layer)", 0, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide&) noexcept {
         return Quantized{Given{f}, fp8_per_tensor}.forms();
     }},
    {"fp8_head", "fp8_head(layer)", 0, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide&) noexcept {
         return Quantized{Given{f}, fp8_per_head}.forms();
     }},
    {"fp8_token_head", "fp8_token_head(layer)", 0, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide&) noexcept {
         return Quantized{Given{f}, fp8_per_token_head}.forms();
     }},
    {"int4_token_head", "int4_token_head(layer)", 0, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide&) noexcept {
         return Quantized{Given{f}, Int4PerTokenHead{}}.forms();
     }},
    {"fp8_ds_mla", "fp8_ds_mla(layer)", 0, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide&) noexcept {
         return Quantized{Given{f}, Fp8DsMla{}}.forms();
     }},
    {"turboquant", "turboquant(key_bits,value_bits, layer)", 2, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide& n) noexcept {
         return Quantized{Given{f}, TurboQuant{.key_bits = narrow(n[0]), .value_bits = narrow(n[1])}}.forms();
     }},
    {"kivi", "kivi(residual,bits,group, layer)", 3, Acts::on_attention, Says::format,
     [](const LayerForms& f, const Wide& n) noexcept {
         return Kivi{Given{f}, narrow(n[0]), narrow(n[1]), narrow(n[2])}.forms();
     }},
};

constexpr const Decorator* decorator_named(std::string_view name) noexcept {
    const std::string_view known = name == "int8_tensor"       ? "fp8_tensor"
                                   : name == "int8_head"       ? "fp8_head"
                                   : name == "int8_token_head" ? "fp8_token_head"
                                                               : name;
    for (const Decorator& decorator : decorators) {
        if (decorator.name == known) {
            return &decorator;
        }
    }
    return nullptr;
}

constexpr bool is_quantised(const LayerForm& form) noexcept {
    for (const Stream& stream : form.streams) {
        const bool plain = stream.format == bf16 || stream.format == f16 || stream.format == f32;
        if (is_attention(stream.role) && !plain) {
            return true;
        }
    }
    return false;
}

/// What the decorator says is said inside already. A lag is KIVI's: which tokens stay follows from its residual.
constexpr bool said_inside(const Decorator& decorator, const LayerForms& forms) noexcept {
    for (const LayerForm& form : forms) {
        const Retention& kept = form.retention;
        const bool on_tokens = keeps_tokens(form) && (decorator.says == Says::keep || decorator.says == Says::sinks);
        const bool bounded = kept.keep != Keep::everything || kept.span.value != 0;
        if ((decorator.says == Says::keep && on_tokens && bounded) ||
            (decorator.says == Says::sinks && on_tokens && kept.sinks.value != 0) ||
            (on_tokens && kept.lag != 0) ||
            (decorator.says == Says::source && kept.source != Source::decoder) ||
            (decorator.says == Says::format && is_quantised(form))) {
            return true;
        }
    }
    return false;
}

/// KIVI splits keys and values that keep everything; it says nothing of others.
constexpr bool splits_no_cache(const Decorator& decorator, const LayerForms& forms) noexcept {
    for (const LayerForm& form : forms) {
        const Retention& kept = form.retention;
        const bool whole = form.kind == Kind::attention && kept.keep == Keep::everything && kept.span.value == 0 &&
                           kept.sinks.value == 0;
        if (decorator.name == "kivi" && has_attention(form) && !whole) {
            return true;
        }
    }
    return false;
}

/// Caches that the decorator would make of these: never more than a layer can keep.
constexpr bool fits(const Decorator& decorator, const LayerForms& forms) noexcept {
    u32 made = 0;
    for (const LayerForm& form : forms) {
        const bool scaled = decorator.name == "fp8_tensor" || decorator.name == "fp8_head";
        const bool split = decorator.name == "kivi" && form.kind == Kind::attention &&
                           form.retention.keep == Keep::everything;
        made += split ? 2 * form.streams.size() : scaled ? 2 : 1;
    }
    return made <= LayerForms::capacity();
}

/// A window, chunk or budget of no token: nothing would be left to read.
constexpr bool keeps_nothing(const Decorator& decorator, const Wide& n) noexcept {
    const bool bounds = decorator.name == "window" || decorator.name == "chunk" || decorator.name == "budget";
    return bounds && n[0] == 0;
}

/// FlashMLA's layout is one of latents only.
constexpr bool packs_no_latent(const Decorator& decorator, const LayerForms& forms) noexcept {
    bool latents = decorator.name != "fp8_ds_mla";
    for (const LayerForm& form : forms) {
        latents = latents || form.kind == Kind::latent;
    }
    return !latents;
}

/// Numbers that the scheme can take: a bound for each, and widths that stay inside 32 bits.
constexpr bool sensible(const Decorator& decorator, const LayerForms& forms, const Wide& n) noexcept {
    const bool turboquant = decorator.name == "turboquant";
    const bool kivi = decorator.name == "kivi";
    if (turboquant || kivi) {
        const u64 bits = kivi ? n[1] : larger(n[0], n[1]);
        if (bits > 8 || (turboquant && smaller(n[0], n[1]) == 0) ||
            (kivi && (n[1] == 0 || n[0] == 0 || n[2] == 0))) {
            return false;
        }
    }
    for (const LayerForm& form : forms) {
        for (const Stream& stream : form.streams) {
            if (stream.width > 0xffff'0000u ||
                (kivi && (saturating_product(stream.width, n[0]) > 0xffff'ffffu || n[2] > 0x0fff'ffffu))) {
                return false;
            }
        }
    }
    return true;
}

/// Nothing stands against this decorator around these forms.
constexpr bool takes(const Decorator& decorator, const LayerForms& forms, const Wide& n) noexcept {
    return acts_on(decorator, forms) && fits(decorator, forms) && !keeps_nothing(decorator, n) &&
           !packs_no_latent(decorator, forms) && !said_inside(decorator, forms) &&
           !splits_no_cache(decorator, forms) && sensible(decorator, forms, n);
}

/// All attention streams in one format.
constexpr LayerForms stored_as(const LayerForms& forms, ElementFormat format) noexcept {
    return each_form(forms, [&](const LayerForm& form) noexcept { return Stored{format}.store(form); });
}

}  // namespace kvcap::inline v1::spec
