// SPDX-License-Identifier: MIT
// The screen of `size`: groups, each rank, all ranks, unique; then the arithmetic, if asked for.
#pragma once

#include <kvcap/report/arithmetic.hpp>
#include <kvcap/report/table.hpp>

namespace kvcap::inline v1::report {

/// "TP 8, PP 2, 16 sequences", or empty.
inline std::string sharding_words(const SizeQuestion& asked) {
    std::string out;
    const auto add = [&](std::string_view name, u64 n) {
        out += n == 1 ? "" : fmt::format("{}{} {}", out.empty() ? "" : ", ", name, n);
    };
    add(asked.dp_attention ? "attention-DP" : "TP", asked.tp);
    add("PP", asked.sharding.pp);
    add(asked.cp_among_tp ? "CP among TP" : "CP", asked.sharding.cp);
    add("DP", asked.dp);
    const u64 sequences = asked.points.empty() ? 1 : asked.points.front().sequences;
    if (sequences != 1) {
        out += fmt::format("{}{} sequences", out.empty() ? "" : ", ", grouped(sequences));
    }
    return out;
}

/// 1, 8, 1.02: how often each byte is stored.
inline std::string copies_words(const Spread& copies) {
    if (copies.unique.value == 0) {
        return "1";
    }
    const u64 whole = copies.stored.value / copies.unique.value;
    return copies.stored.value % copies.unique.value == 0
               ? grouped(whole)
               : fmt::format("{:.2f}", static_cast<double>(copies.stored.value) /
                                           static_cast<double>(copies.unique.value));
}

class SizeScreen {
public:
    SizeScreen(const ModelSpec& model, const SizeQuestion& asked, const SizeAnswer& answer, Unit unit)
        : model_{model}, asked_{asked}, answer_{answer}, unit_{unit} {}

    /// Exact bytes stand beside the rounded ones where a single point leaves room in 80 columns, else in a
    /// table of their own. Where not all points fit side by side, the groups are those of the last one.
    std::string table() {
        const std::size_t all = asked_.points.size();
        std::string wide = build(true);
        if (all == 1 && widest(wide) <= columns) {
            return wide;
        }
        std::string side_by_side = build(false);
        if (widest(side_by_side) > columns) {
            begin_ = all - 1;
            side_by_side = build(false);
        }
        return side_by_side + points_table();
    }

private:
    static constexpr std::size_t columns = 80;

    static std::size_t widest(std::string_view text) {
        std::size_t most = 0;
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            most = std::max(most, width_of(text.substr(0, end)));
            text.remove_prefix(end + 1);
        }
        return most;
    }

    bool shows_layers() const { return answer_.groups.size() > 1; }
    bool shows_copies() const { return asked_.tp * asked_.own_cp() > 1 && !asked_.dp_attention; }

    struct Heading {
        std::vector<Align> align{Align::left};
        Table::Cells cells{"held"};
        void add(std::string name) {
            align.push_back(Align::right);
            cells.push_back(std::move(name));
        }
    };

    Heading columns_of(bool exactly) const {
        Heading heading;
        if (shows_layers()) {
            heading.add("layers");
        }
        heading.add("per token");
        for (std::size_t i = begin_; i < asked_.points.size(); ++i) {
            heading.add(counted(asked_.points[i].tokens, "token", "tokens"));
            if (exactly) {
                heading.add("exactly");
            }
        }
        if (shows_copies()) {
            heading.add("copies");
        }
        return heading;
    }

    std::string build(bool with_exact) const {
        const bool exactly = with_exact && unit_.bytes != 1;
        const Heading heading = columns_of(exactly);
        Table table{heading.align};
        table.row(heading.cells);
        for (const SizeGroup& group : answer_.groups) {
            table.row(group_row(group, exactly));
        }
        rank_rows(table, exactly);
        if (asked_.ranks() > 1) {
            const std::string all = fmt::format("all {} ranks", grouped(asked_.ranks()));
            table.row(sum_row(all, exactly, &SizeAnswer::At::total));
        }
        table.row(sum_row("unique", exactly, &SizeAnswer::At::unique));
        return table.text();
    }

    void held_cell(Table::Cells& cells, Bytes bytes, bool exactly) const {
        cells.push_back(amount(bytes, unit_));
        if (exactly) {
            cells.push_back(exact(bytes));
        }
    }

    Table::Cells group_row(const SizeGroup& group, bool exactly) const {
        const LayerForm& form = model_.forms[group.form];
        Table::Cells cells{short_label_of(form)};
        if (shows_layers()) {
            cells.push_back(grouped(group.caches));
        }
        cells.push_back(group.per_token.value == 0 ? "-" : exact(group.per_token));
        for (std::size_t i = begin_; i < asked_.points.size(); ++i) {
            held_cell(cells, group.held[i], exactly);
        }
        if (shows_copies()) {
            cells.push_back(copies_words(group.copies));
        }
        return cells;
    }

    Table::Cells row_of(std::string label, Bytes per_token, bool exactly, auto held_at) const {
        Table::Cells cells{std::move(label)};
        if (shows_layers()) {
            cells.push_back("");
        }
        cells.push_back(exact(per_token));
        for (std::size_t i = begin_; i < asked_.points.size(); ++i) {
            held_cell(cells, held_at(i), exactly);
        }
        return cells;
    }

    Table::Cells sum_row(std::string label, bool exactly, Bytes SizeAnswer::At::*sum) const {
        const bool stored = sum == &SizeAnswer::At::total;
        const Bytes rate = stored ? per_token_over_ranks(asked_, answer_) : answer_.per_token;
        return row_of(std::move(label), rate, exactly, [&](std::size_t i) { return answer_.points[i].*sum; });
    }

    /// Ranks that hold alike are one row; otherwise stage by stage, and the fullest and leanest of a stage.
    void rank_rows(Table& table, bool exactly) const {
        const std::size_t all = answer_.per_token_on_rank.size();
        const std::size_t in_stage = all / asked_.sharding.pp;
        if (all == 1) {
            return;
        }
        if (alike(0, all)) {
            table.row(rank_row("each rank", 0, exactly));
            return;
        }
        for (std::size_t first = 0; first < all;) {
            std::size_t end = first + in_stage;
            while (end < all && alike(first, end + in_stage)) {
                end += in_stage;
            }
            const std::size_t from = first / in_stage;
            const std::size_t to = (end - 1) / in_stage;
            const std::string stage = asked_.sharding.pp == 1 ? ""
                                      : from == to            ? fmt::format("stage {}, ", from)
                                                              : fmt::format("stages {}-{}, ", from, to);
            if (alike(first, end)) {
                table.row(rank_row(stage + "each rank", first, exactly));
            } else {
                const auto [low, high] = extremes(first, end);
                table.row(rank_row(stage + "fullest rank", high, exactly));
                table.row(rank_row(stage + "emptiest rank", low, exactly));
            }
            first = end;
        }
    }

    bool alike(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            if (answer_.per_token_on_rank[i].bytes != answer_.per_token_on_rank[begin].bytes) {
                return false;
            }
            for (const SizeAnswer::At& at : answer_.points) {
                if (at.held[i].bytes != at.held[begin].bytes) {
                    return false;
                }
            }
        }
        return true;
    }

    std::pair<std::size_t, std::size_t> extremes(std::size_t begin, std::size_t end) const {
        std::pair<std::size_t, std::size_t> at{begin, begin};
        const std::vector<RankBytes>& held = answer_.points.back().held;
        for (std::size_t i = begin; i < end; ++i) {
            at.first = held[i].bytes < held[at.first].bytes ? i : at.first;
            at.second = held[at.second].bytes < held[i].bytes ? i : at.second;
        }
        return at;
    }

    Table::Cells rank_row(std::string label, std::size_t rank, bool exactly) const {
        return row_of(std::move(label), answer_.per_token_on_rank[rank].bytes, exactly,
                      [&](std::size_t i) { return answer_.points[i].held[rank].bytes; });
    }

    /// One row for each length; on ranks what one holds and what all do, in two tables where one is too wide.
    std::string points_table() const {
        if (asked_.ranks() == 1) {
            return points_table(true, false, "unique");
        }
        const std::string one = points_table(true, true, "fullest rank");
        return widest(one) <= columns ? one
                                      : points_table(true, false, "fullest rank") + points_table(false, true, {});
    }

    std::string points_table(bool fullest, bool all, std::string name) const {
        Table table{std::vector<Align>(1 + (fullest ? 2 : 0) + (all ? 2 : 0), Align::right)};
        const auto row = [&](Table::Cells cells, Table::Cells of_one, Table::Cells of_all) {
            cells.insert(cells.end(), of_one.begin(), fullest ? of_one.end() : of_one.begin());
            cells.insert(cells.end(), of_all.begin(), all ? of_all.end() : of_all.begin());
            table.row(cells);
        };
        row({"tokens"}, {std::move(name), "exactly"}, {"all ranks", "unique"});
        for (const SizeAnswer::At& at : answer_.points) {
            Bytes most{};
            for (const RankBytes& rank : at.held) {
                most = most < rank.bytes ? rank.bytes : most;
            }
            row({grouped(at.point.tokens)}, {amount(most, unit_), exact(most)}, {exact(at.total), exact(at.unique)});
        }
        return table.text();
    }

    const ModelSpec& model_;
    const SizeQuestion& asked_;
    const SizeAnswer& answer_;
    Unit unit_;
    std::size_t begin_ = 0;
};

inline void add_to(std::string& sum, Bytes part) {
    sum += part.value == 0 ? "" : (sum.empty() ? "" : " + ") + grouped(part.value);
}

inline std::string sum_line(std::string_view what, const std::string& sum, Bytes total) {
    const bool adds = sum.find('+') != std::string::npos;
    return fmt::format("{}: {}{}\n", what, adds ? sum + " = " : "", exact(total));
}

/// The work behind the last point, group by group, and the sums.
inline std::string arithmetic_text(const ModelSpec& model, const SizeQuestion& asked,
                                   const SizeAnswer& size) {
    const std::size_t point = asked.points.size() - 1;
    std::string out;
    std::string rates;
    std::string helds;
    for (const SizeGroup& group : size.groups) {
        const LayerForm& form = model.forms[group.form];
        out += fmt::format("{}, {}\n", label_of(form), counted(group.caches, "layer", "layers"));
        for (const std::string& line : group_arithmetic(model, group, asked, point)) {
            out += "  " + line + '\n';
        }
        if (asked.sharding.tp > 1) {
            out += "  " + split_words(form, asked) + '\n';
        }
        add_to(rates, group.per_token);
        add_to(helds, group.held[point]);
    }
    if (size.groups.size() > 1) {
        out += sum_line("one more token", rates, size.per_token);
        out += sum_line("held", helds, size.points[point].unique);
    }
    return out;
}

}  // namespace kvcap::inline v1::report
