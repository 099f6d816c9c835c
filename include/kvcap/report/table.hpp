// SPDX-License-Identifier: MIT
// Columns that line up: a heading, rows of cells, each column as wide as its widest cell. CSV of the same
// cells.
#pragma once

#include <kvcap/units.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvcap::inline v1::report {

/// Columns on a terminal that `text` takes (UTF-8: bytes that begin a character).
inline std::size_t width_of(std::string_view text) {
    std::size_t columns = 0;
    for (const char c : text) {
        columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    }
    return columns;
}

enum class Align : unsigned char { left, right };

class Table {
public:
    using Cells = std::vector<std::string>;

    explicit Table(std::vector<Align> columns) : align_{std::move(columns)} {}

    /// A cell is one line: ends of lines in it are shown as \n.
    Table& row(Cells cells) {
        for (std::string& cell : cells) {
            for (std::size_t at = cell.find('\n'); at != std::string::npos; at = cell.find('\n', at)) {
                cell.replace(at, 1, "\\n");
            }
        }
        rows_.push_back(std::move(cells));
        return *this;
    }

    /// Rows as lines; two spaces before the first column and between columns, none at a line's end.
    std::string text() const {
        const std::vector<std::size_t> width = widths();
        std::string out;
        for (const Cells& cells : rows_) {
            std::string line;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::size_t pad = width[i] - width_of(cells[i]);
                line += "  ";
                line.append(align_[i] == Align::right ? pad : 0, ' ');
                line += cells[i];
                line.append(align_[i] == Align::left ? pad : 0, ' ');
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + '\n';
        }
        return out;
    }

    /// The same cells as a table of Markdown; the first row is its heading.
    std::string markdown() const {
        std::string out;
        for (const Cells& cells : rows_) {
            for (const std::string& cell : cells) {
                out += "| " + cell + ' ';
            }
            out += "|\n";
            for (std::size_t i = 0; i < align_.size() && &cells == rows_.data(); ++i) {
                out += align_[i] == Align::right ? "| ---: " : "| --- ";
            }
            out += &cells == rows_.data() ? "|\n" : "";
        }
        return out;
    }

private:
    std::vector<std::size_t> widths() const {
        std::vector<std::size_t> width(align_.size(), 0);
        for (const Cells& cells : rows_) {
            for (std::size_t i = 0; i < cells.size(); ++i) {
                width[i] = width[i] < width_of(cells[i]) ? width_of(cells[i]) : width[i];
            }
        }
        return width;
    }

    std::vector<Align> align_;
    std::vector<Cells> rows_;
};

/// One CSV line (RFC 4180: quotes only where needed, doubled inside).
inline std::string csv_line(const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells) {
        line += &cell == cells.data() ? "" : ",";
        if (cell.find_first_of(",\"\r\n") == std::string::npos) {
            line += cell;
            continue;
        }
        line += '"';
        for (const char c : cell) {
            line += c == '"' ? "\"\"" : std::string(1, c);
        }
        line += '"';
    }
    return line + '\n';
}

}  // namespace kvcap::inline v1::report
