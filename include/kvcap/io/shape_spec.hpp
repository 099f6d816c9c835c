// SPDX-License-Identifier: MIT
// LMCache's shape spec as a model: groups `(kv_size,NB,BS,NH,HS):dtype:layers`, joined by ";". kv_size 2 is
// keys and values of NH heads of HS, 1 one plane (a latent). NB and BS describe the pool, not the model.
// Shapes are one rank's.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/layer/attention.hpp>

namespace kvcap::inline v1 {

/// Whether a MODEL argument is meant as a shape spec: it begins like one.
inline bool looks_like_shape_spec(std::string_view text) noexcept {
    return text.size() > 8 && text[0] == '(' && (text[1] >= '0' && text[1] <= '9') && text[2] == ',' &&
           text.find("):") != std::string_view::npos;
}

namespace io {

class ShapeSpec {
public:
    explicit ShapeSpec(std::string_view text) : text_{text} {}

    Diagnosed<ReadModel> read() {
        ReadModel model;
        do {
            read_group(model);
        } while (!problem_ && take(';'));
        if (!problem_ && at_ != text_.size()) {
            fail("\"" + std::string{text_.substr(at_, 20)} + "\"", "the end, or ; and another group");
        }
        if (problem_) {
            return *std::move(problem_);
        }
        model.architecture = "shape spec";
        Diagnosed<ReadModel> done{std::move(model)};
        done.notes.push_back({Origin::given, "shape spec", "blocks " + std::to_string(blocks_) + " of " +
                              std::to_string(tokens_) + " tokens; shapes are those of one rank"});
        return done;
    }

private:
    void fail(std::string found, std::string wanted) {
        if (!problem_) {
            problem_ = Problem{Trouble::invalid, "character " + std::to_string(at_), std::move(found),
                               std::move(wanted), "(kv_size,NB,BS,NH,HS):dtype:layers;..."};
        }
    }
    bool take(char c) {
        const bool here = at_ < text_.size() && text_[at_] == c;
        at_ += here ? 1 : 0;
        return here;
    }
    void need(char c) {
        if (!take(c)) {
            fail(at_ < text_.size() ? std::string{text_[at_]} : "the end", std::string{c});
        }
    }
    u64 number(u64 most) {
        const std::size_t from = at_;
        u64 value = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= most) {
            value = value * 10 + static_cast<u64>(text_[at_++] - '0');
        }
        if (at_ == from || value == 0 || value > most) {
            fail(at_ == from ? "no number" : std::string{text_.substr(from, at_ - from)},
                 "a number from 1 to " + std::to_string(most));
            return 1;
        }
        return value;
    }
    ElementFormat dtype() {
        const std::size_t end = text_.find(':', at_);
        const std::string_view name = text_.substr(at_, end == std::string_view::npos ? 0 : end - at_);
        at_ += name.size();
        if (name == "float16" || name == "bfloat16") {
            return bf16;
        }
        if (name != "float32" && name != "uint8") {
            fail('"' + std::string{name} + '"', "float16, bfloat16, float32 or uint8");
        }
        return name == "float32" ? f32 : fp8;
    }
    void same(u64& all, u64 value, const char* name) {
        if (all != 0 && all != value) {
            fail(std::string{name} + " " + std::to_string(value),
                 "one " + std::string{name} + " for all groups");
        }
        all = value;
    }
    void read_group(ReadModel& model) {
        need('(');
        const u64 planes = number(2);
        need(',');
        same(blocks_, number(u64{1} << 40), "NB");
        need(',');
        same(tokens_, number(u64{1} << 30), "BS");
        need(',');
        const auto heads = static_cast<u32>(number(1 << 20));
        need(',');
        const auto width = static_cast<u32>(number(1 << 20));
        need(')');
        need(':');
        const ElementFormat format = dtype();
        need(':');
        const auto layers = static_cast<u32>(number(4096));
        const LayerForm plane = form_of(
            Kind::latent, {}, Stream{.role = Role::latent, .heads = heads, .width = width, .format = format});
        const LayerForms forms = planes == 1 ? forms_of(plane) : Gqa{heads, width, width, format}.forms();
        for (u32 i = 0; i < layers && !problem_; ++i) {
            if (model.spec.add(model.spec.layers++, forms) != Errc::ok) {
                fail(std::to_string(model.spec.layers) + " layers", "at most 512");
            }
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    u64 blocks_ = 0;
    u64 tokens_ = 0;
    std::optional<Problem> problem_{};
};

}  // namespace io

inline Diagnosed<ReadModel> read_shape_spec(std::string_view text) {
    return io::ShapeSpec{text}.read();
}

}  // namespace kvcap::inline v1
