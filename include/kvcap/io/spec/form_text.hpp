// SPDX-License-Identifier: MIT
// The general spelling of one cache, for whatever no layer kind names:
//   form(kind, keep=window, span=1024, sinks=4, stride=4, lag=0, source=prompt, key(heads,8,1,128,bf16), ...)
// A stream is role(split,heads,rows,width,format). Formats are names or elems:bytes.
#pragma once

#include <kvcap/io/nearest.hpp>
#include <kvcap/io/spec/formats.hpp>
#include <kvcap/io/spec/scan.hpp>

namespace kvcap::inline v1::spec {

constexpr u32 narrow(u64 n) noexcept {
    return static_cast<u32>(n);
}

class FormReader {
public:
    explicit FormReader(Scanner& in) : in_{in} {}

    /// Behind the word "form" at `offset`.
    LayerForm form(std::size_t offset) {
        in_.need('(', "as in form(attention, key(heads,8,1,128,bf16), value(heads,8,1,128,bf16))");
        LayerForm out{};
        out.kind = one_of(kinds, "a kind such as attention or state");
        while (in_.take(',')) {
            part(out);
        }
        in_.need(')', "or ','");
        if (!in_.failed() && out.elements() == 0) {
            in_.refuse(offset, "a form that keeps nothing", "streams with a size, or none");
        }
        return out;
    }

    ElementFormat element_format() {
        const std::size_t offset = in_.offset();
        if (in_.at_digit()) {
            const u64 elems = in_.number(0xffff'ffffu, "a number of elements");
            in_.need(':', "and bytes, as in 128:132");
            const u64 bytes = in_.number(0xffff'ffffu, "a number of bytes");
            if (elems == 0) {
                in_.refuse(offset, "a block of 0 elements", "at least 1");
            }
            return {.elems = narrow(elems), .bytes = narrow(bytes)};
        }
        const std::string name = in_.word();
        const std::optional<ElementFormat> format = value_named(formats, name);
        if (!format) {
            std::vector<std::string_view> names;
            for (const Named<ElementFormat>& row : formats) {
                names.push_back(row.name);
            }
            const std::string near = nearest(name, names);
            in_.refuse(offset, "'" + name + "'", "a format such as bf16, f32, fp8, q8_0 or 128:132",
                       near.empty() ? "" : "did you mean " + near + "?");
        }
        return format.value_or(bf16);
    }

private:
    void part(LayerForm& out) {
        const std::size_t offset = in_.offset();
        const std::string word = in_.word();
        if (in_.peek() == '=') {
            retention(out.retention, word, offset);
        } else {
            stream(out, word, offset);
        }
    }

    void retention(Retention& out, const std::string& word, std::size_t offset) {
        in_.need('=', "and a value");
        if (word == "keep") {
            out.keep = one_of(keeps, "everything, window, chunk, budget, last or once");
        } else if (word == "source") {
            out.source = one_of(sources, "decoder, prompt or encoder");
        } else if (word == "span") {
            out.span = {in_.number(off_scale, "tokens")};
        } else if (word == "sinks") {
            out.sinks = {in_.number(off_scale, "tokens")};
        } else if (word == "lag") {
            out.lag = narrow(in_.number(0xffff'ffffu, "tokens"));
        } else if (word == "stride") {
            out.stride = narrow(in_.number(0xffff'ffffu, "tokens"));
            if (out.stride == 0) {
                in_.refuse(offset, "a stride of 0", "at least 1");
            }
        } else {
            in_.refuse(offset, "'" + word + "'", "keep, source, span, sinks, stride or lag");
        }
    }

    /// role(split,heads,rows,width,format)
    void stream(LayerForm& form, const std::string& word, std::size_t offset) {
        const std::optional<Role> role = value_named(roles, word);
        if (!role) {
            in_.refuse(offset, "'" + word + "'",
                       "a stream such as key(heads,8,1,128,bf16), or keep=, span= ...");
            return;
        }
        Stream out{.role = *role};
        in_.need('(', "as in key(heads,8,1,128,bf16)");
        out.split = one_of(splits, "replicated, heads, channels or groups");
        in_.need(',', "and heads");
        out.heads = narrow(in_.number(0xffff'ffffu, "heads"));
        in_.need(',', "and rows");
        out.rows = static_cast<u16>(in_.number(0xffff, "rows"));
        in_.need(',', "and a width");
        out.width = narrow(in_.number(0xffff'ffffu, "a width"));
        in_.need(',', "and a format");
        out.format = element_format();
        in_.need(')', "after the format");
        if (!form.streams.push(out)) {
            in_.refuse(offset, "more than 6 streams in a form", "at most 6");
        }
    }

    template <class T, std::size_t N>
    T one_of(const Named<T> (&table)[N], std::string_view wanted) {
        const std::size_t offset = in_.offset();
        const std::string word = in_.word();
        const std::optional<T> value = value_named(table, word);
        if (!value) {
            in_.refuse(offset, "'" + word + "'", std::string{wanted});
        }
        return value.value_or(T{});
    }

    Scanner& in_;
};

}  // namespace kvcap::inline v1::spec
