// SPDX-License-Identifier: MIT
// Which words name these caches of a layer? Every candidate is built again by the rule that reads it and
// compared, so a wrong guess is never printed; what nothing names is written out as form(...).
#pragma once

#include <kvcap/io/spec/decorators.hpp>
#include <kvcap/io/spec/policies.hpp>

namespace kvcap::inline v1::spec {

inline LayerForms part_of(const LayerForms& forms, u32 begin, u32 end) {
    LayerForms part{};
    for (u32 i = begin; i < end; ++i) {
        part.items[part.count++] = forms[i];
    }
    return part;
}

inline std::string call(std::string_view name, const Wide& numbers, const std::string& inner) {
    std::string out{name};
    out += '(';
    for (u32 i = 0; i < numbers.size(); ++i) {
        out += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    }
    return out + (numbers.empty() ? "" : ", ") + inner + ')';
}

/// form(...), exactly.
inline std::string spelled_out(const LayerForm& form) {
    std::string out = "form(" + std::string{name_of(kinds, form.kind)};
    const Retention& r = form.retention;
    const auto field = [&](std::string_view name, const std::string& value) {
        out += ", " + std::string{name} + '=' + value;
    };
    if (r.keep != Keep::everything) {
        field("keep", std::string{name_of(keeps, r.keep)});
    }
    if (r.source != Source::decoder) {
        field("source", std::string{name_of(sources, r.source)});
    }
    if (r.span.value != 0) {
        field("span", std::to_string(r.span.value));
    }
    if (r.sinks.value != 0) {
        field("sinks", std::to_string(r.sinks.value));
    }
    if (r.stride != 1) {
        field("stride", std::to_string(r.stride));
    }
    if (r.lag != 0) {
        field("lag", std::to_string(r.lag));
    }
    for (const Stream& s : form.streams) {
        out += ", " + std::string{name_of(roles, s.role)} + '(' + std::string{name_of(splits, s.split)} +
               ',' + std::to_string(s.heads) + ',' + std::to_string(s.rows) + ',' + std::to_string(s.width) +
               ',' + text_of(s.format) + ')';
    }
    return out + ')';
}

class Recogniser {
public:
    /// Text of a layer with these caches.
    static std::string layer(const LayerForms& forms) {
        if (forms.empty()) {
            return "none";
        }
        if (std::string whole = named(forms); !whole.empty()) {
            return whole;
        }
        std::string parts;
        u32 count = 0;
        for (u32 begin = 0; begin < forms.size(); ++count) {
            u32 end = forms.size();
            std::string text;
            while (end > begin && (text = named(part_of(forms, begin, end))).empty()) {
                --end;
            }
            if (text.empty()) {
                text = spelled_out(forms[begin]);
                end = begin + 1;
            }
            parts += (parts.empty() ? "" : ", ") + text;
            begin = end;
        }
        return count == 1 ? parts : "both(" + parts + ')';
    }

private:
    /// One call that gives exactly these caches; empty when there is none.
    static std::string named(const LayerForms& forms) {
        for (const auto attempt : {by_scheme, by_format, by_policy, by_retention, by_scales, by_kivi}) {
            if (std::string text = attempt(forms); !text.empty()) {
                return text;
            }
        }
        return {};
    }

    static std::string by_policy(const LayerForms& forms) {
        for (const Policy& policy : policies) {
            Numbers n{};
            if (!policy.numbers(forms, n)) {
                continue;
            }
            LayerForms built = policy.build(n);
            std::string formats_text;
            if (allows(policy, n) && restored(built, forms, formats_text) && built == forms) {
                return spelled(policy, n, formats_text);
            }
        }
        return {};
    }

    /// Gives `built` the formats of `forms`, role by role, and says which differ.
    static bool restored(LayerForms& built, const LayerForms& forms, std::string& text) {
        for (const Named<Role>& role : roles) {
            const Stream* as_wanted = first_of(forms, role.value);
            const Stream* as_built = first_of(built, role.value);
            if (as_wanted == nullptr || as_built == nullptr || as_wanted->format == as_built->format ||
                as_wanted->format.elems == 0) {
                continue;
            }
            const ElementFormat format = as_wanted->format;
            text += ", " + std::string{role.name} + '=' + text_of(format);
            for (LayerForm& form : built) {
                for (Stream& stream : form.streams) {
                    stream.format = stream.role == role.value ? format : stream.format;
                }
            }
        }
        return true;
    }

    static const Stream* first_of(const LayerForms& forms, Role role) {
        for (const LayerForm& form : forms) {
            for (const Stream& stream : form.streams) {
                if (stream.role == role) {
                    return &stream;
                }
            }
        }
        return nullptr;
    }

    static std::string spelled(const Policy& policy, Numbers n, const std::string& formats_text) {
        while (n.size() > policy.least && n[n.size() - 1] == default_of(policy, n, n.size() - 1)) {
            --n.count;
        }
        std::string out{policy.name};
        for (u32 i = 0; i < n.size(); ++i) {
            out += (i == 0 ? "(" : ",") + std::to_string(n[i]);
        }
        return out + formats_text + ')';
    }

    /// A source, sinks or a span around caches that keep everything.
    static std::string by_retention(const LayerForms& forms) {
        const Retention& r = forms[0].retention;
        if (r.source != Source::decoder) {
            return around(r.source == Source::prompt ? "prompt_only" : "cross", {}, forms,
                          [](Retention& own) { own.source = Source::decoder; });
        }
        if (r.sinks.value != 0) {
            return around("sinks", one(r.sinks.value), forms, [](Retention& own) { own.sinks = {}; });
        }
        if (r.span.value == 0 || r.keep == Keep::last || r.keep == Keep::once || r.span.value == off_scale) {
            return {};
        }
        return around(r.keep == Keep::everything ? "hint" : name_of(keeps, r.keep), one(r.span.value), forms,
                      [](Retention& own) {
                          own.keep =
                              own.keep == Keep::last || own.keep == Keep::once ? own.keep : Keep::everything;
                          own.span = {};
                      });
    }

    static Wide one(u64 n) {
        Wide numbers{};
        static_cast<void>(numbers.push(n));
        return numbers;
    }

    static std::string around(std::string_view name, const Wide& n, const LayerForms& forms, auto strip) {
        LayerForms inner = forms;
        for (LayerForm& form : inner) {
            strip(form.retention);
        }
        return inner == forms ? std::string{} : if_it_gives(name, n, inner, forms);
    }

    /// name(n, inner), if that gives `forms`.
    static std::string if_it_gives(std::string_view name, const Wide& n, const LayerForms& inner,
                                   const LayerForms& forms) {
        const Decorator& decorator = *decorator_named(name);
        const bool good = takes(decorator, inner, n) && decorator.apply(inner, n) == forms;
        return good ? call(name, n, layer(inner)) : std::string{};
    }

    static LayerForms plain(const LayerForms& forms) { return stored_as(forms, bf16); }

    /// One named format on all attention streams.
    static std::string by_format(const LayerForms& forms) {
        for (const LayerForm& form : forms) {
            for (const Stream& stream : form.streams) {
                if (is_attention(stream.role)) {
                    const std::string_view name = name_of(formats, stream.format);
                    const bool good = !name.empty() && stream.format != bf16 &&
                                      stored_as(forms, stream.format) == forms;
                    return good ? call(name, {}, layer(plain(forms))) : std::string{};
                }
            }
        }
        return {};
    }

    static std::string by_scheme(const LayerForms& forms) {
        const LayerForms inner = plain(forms);
        if (inner == forms) {
            return {};
        }
        for (const std::string_view name : {"fp8_token_head", "int4_token_head", "fp8_ds_mla"}) {
            const bool latent = name == "fp8_ds_mla";
            if (latent && first_of(forms, Role::latent) == nullptr) {
                continue;
            }
            if (std::string text = if_it_gives(name, {}, inner, forms); !text.empty()) {
                return text;
            }
        }
        const Stream* value = first_of(forms, Role::value);
        if (value == nullptr || value->format.elems != value->width) {
            return {};
        }
        for (u64 bits = 8; bits-- > 0;) {
            for (u64 value_bits = 8; value_bits-- > 0;) {
                Wide n = one(bits + 1);
                static_cast<void>(n.push(value_bits + 1));
                if (std::string text = if_it_gives("turboquant", n, inner, forms); !text.empty()) {
                    return text;
                }
            }
        }
        return {};
    }

    /// Caches and, behind them, their scales.
    static std::string by_scales(const LayerForms& forms) {
        u32 own = 0;
        while (own < forms.size() && forms[own].retention.keep != Keep::once) {
            ++own;
        }
        if (own == 0 || own == forms.size()) {
            return {};
        }
        const LayerForms inner = plain(part_of(forms, 0, own));
        const std::string text = if_it_gives("fp8_tensor", {}, inner, forms);
        return text.empty() ? if_it_gives("fp8_head", {}, inner, forms) : text;
    }

    static std::string by_kivi(const LayerForms& forms) {
        if (forms.size() != 4 || forms[1].streams.empty() || forms[0].streams.empty()) {
            return {};
        }
        LayerForm kept{
            .retention = {.source = forms[1].retention.source}, .streams = {}, .kind = forms[1].kind};
        kept.streams = Inplace<Stream, 6>{};
        for (const u32 recent : {1u, 3u}) {
            for (const Stream& stream : forms[recent].streams) {
                static_cast<void>(kept.streams.push(stream));
            }
        }
        const ElementFormat packed = forms[0].streams[0].format;
        const u64 bits = packed.elems == 0 || packed.bytes < 4 ? 0 : u64{packed.bytes - 4} * 8 / packed.elems;
        Wide n = one(forms[1].retention.span.value);
        static_cast<void>(n.push(bits));
        static_cast<void>(n.push(packed.elems));
        return if_it_gives("kivi", n, forms_of(kept), forms);
    }
};

}  // namespace kvcap::inline v1::spec
