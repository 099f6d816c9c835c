// SPDX-License-Identifier: MIT
// The grammar of a spec line:
//   sum   = term { "+" term }
//   term  = [ count "*" ] ( layer | "(" sum ")" )
//   layer = name [ "(" arguments ")" ]
// Arguments are numbers first, then role=format, layers or streams, as the name wants them.
#pragma once

#include <kvcap/io/spec/layer_text.hpp>
#include <kvcap/io/spec/tree.hpp>

namespace kvcap::inline v1::spec {

class Parser {
public:
    explicit Parser(std::string_view text) : in_{text} {}

    /// The terms of the whole text; look at `problem()` first.
    std::vector<Term> whole() {
        std::vector<Term> terms = sum(true);
        if (!in_.at_end()) {
            in_.refuse_here("'+' and a further layer, or the end");
        }
        return terms;
    }
    const std::optional<Problem>& problem() const { return in_.problem(); }

private:
    std::vector<Term> sum(bool outermost) {
        std::vector<Term> terms;
        do {
            terms.push_back(term(outermost));
        } while (in_.take('+'));
        return terms;
    }

    Term term(bool outermost) {
        Term out{};
        out.offset = in_.offset();
        if (++depth_ > deepest) {
            in_.refuse_here("at most 40 levels of brackets");
        }
        if (in_.at_digit()) {
            out.count = in_.number(0xffff'ffffu, "a count");
            in_.need('*', "after a count, as in 61*mla(512,64)");
        }
        if (in_.take('(')) {
            out.what = What::group;
            out.parts = sum(false);
            in_.need(')', "or '+'");
        } else {
            named_term(out, outermost);
        }
        const bool counts_nothing = out.count == 0 && !(out.what == What::layer && out.caches.empty());
        if (counts_nothing) {
            in_.refuse(out.offset, "0 layers", "a count of at least 1");
        }
        --depth_;
        return out;
    }

    void named_term(Term& out, bool outermost) {
        const std::size_t offset = in_.offset();
        const std::string name = in_.word();
        const bool special =
            name == "heads" || name == "draft" || name == "at" || name == "beyond" || name == "forms";
        if (special && (!outermost || out.count != 1)) {
            in_.refuse(offset, "'" + name + "'",
                       name + "(...) once, outside of brackets and without a count");
        }
        if (name == "heads") {
            out.what = What::heads;
            in_.need('(', "as in heads(128)");
            out.number = in_.number(0xffff'ffffu, "a number of query heads");
            if (out.number == 0) {
                in_.refuse(offset, "0 query heads", "at least 1");
            }
            in_.need(')', "after the heads");
        } else if (name == "draft") {
            out.what = What::draft;
            in_.need('(', "as in draft(mla(512,64))");
            out.parts = sum(false);
            in_.need(')', "or '+'");
        } else if (name == "forms") {
            forms(out);
        } else if (name == "at" || name == "beyond") {
            out.relative = name == "beyond";
            at(out);
        } else if (name == "share") {
            share(out);
        } else {
            out.caches = LayerReader{in_}.layer_called(name, offset);
        }
    }

    /// forms(layer, layer, ...): the order of a model's forms where it is not that of their first use.
    void forms(Term& out) {
        out.what = What::forms;
        in_.need('(', "as in forms(gqa(8,128), mla(512,64))");
        do {
            Term part{};
            part.offset = in_.offset();
            part.caches = LayerReader{in_}.layer();
            out.parts.push_back(part);
        } while (in_.take(','));
        in_.need(')', "or ','");
    }

    /// at(3, layer), at(0..60, layer), at(1,5,9, layer); beyond(...) alike, for layers that the model does
    /// not count
    void at(Term& out) {
        out.what = What::at;
        in_.need('(', "as in at(3, gqa(8,128))");
        while (in_.at_digit()) {
            Range range{};
            range.first = range.last = in_.number(0xffff, "a layer");
            if (in_.take('.')) {
                in_.need('.', "as in at(0..60, mla(512,64))");
                range.last = in_.number(0xffff, "a layer");
            }
            if (range.last < range.first) {
                in_.refuse(out.offset, "a range that ends before it begins", "first..last");
            }
            out.places.push_back(range);
            in_.need(',', "and a layer");
        }
        if (out.places.empty()) {
            in_.refuse_here("the number of a layer, as in at(3, gqa(8,128))");
        }
        out.caches = LayerReader{in_}.layer();
        in_.need(')', "after the layer");
    }

    void share(Term& out) {
        out.what = What::share;
        in_.need('(', "as in share(-1)");
        out.relative = in_.take('-');
        out.number = in_.number(0xffff, "a layer");
        in_.need(')', "after the layer");
    }

    Scanner in_;
    u32 depth_ = 0;
};

}  // namespace kvcap::inline v1::spec
