// SPDX-License-Identifier: MIT
// A line chart as one SVG text: logarithmic or plain axes, direct labels at the lines' ends, readable on
// light and dark pages (colours follow the reader's scheme). No script, no font, no outside file.
#pragma once

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::inline v1::report {

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;
};

struct Axis {
    std::string title;
    bool logarithmic = true;
    double base = 2;                         ///< of the ticks on a logarithmic axis
    std::string (*label)(double) = nullptr;  ///< how a tick is written
};

/// "1K", "1M" in powers of 1,024.
inline std::string binary_count(double n) {
    const char* suffix[] = {"", "K", "M", "G", "T"};
    int step = 0;
    for (; n >= 1024 && step < 4; ++step) {
        n /= 1024;
    }
    return fmt::format("{:g}{}", n, suffix[step]);
}

inline std::string binary_bytes(double n) {
    const char* suffix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int step = 0;
    for (; n >= 1024 && step < 5; ++step) {
        n /= 1024;
    }
    return fmt::format("{:g} {}", n, suffix[step]);
}

inline std::string plain_number(double n) {
    return fmt::format("{:g}", n);
}

/// Text safe inside SVG.
inline std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '<'   ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '&' ? "&amp;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
    }
    return out;
}

class Plot {
public:
    Plot(std::string title, Axis x, Axis y) : title_{std::move(title)}, x_{std::move(x)}, y_{std::move(y)} {}

    Plot& add(Series series) {
        series_.push_back(std::move(series));
        return *this;
    }
    /// A level across the plot, such as the memory there is.
    Plot& level(std::string name, double y) {
        levels_.emplace_back(std::move(name), y);
        return *this;
    }

    std::string svg() const {
        const Span x = span(x_, true);
        const Span y = span(y_, false);
        std::string out = head();
        out += grid(x, y) + lines(x, y) + labels(y);
        return out + "</svg>\n";
    }

private:
    static constexpr double width = 900, height = 480, left = 86, top = 48, bottom = 56;
    static constexpr double label_step = 16, letter = 7.3;  ///< of the 13 px font, from above

    /// Room for the longest name, at least 120 and at most 400.
    double right_of() const {
        std::size_t most = 0;
        for (const Series& series : series_) {
            most = std::max(most, series.name.size());
        }
        for (const auto& each : levels_) {
            most = std::max(most, each.first.size());
        }
        return std::clamp(letter * static_cast<double>(most) + 20, 120.0, 400.0);
    }

    struct Span {
        double low = 0, high = 1;
        bool logarithmic = false;
        double at(double v) const {
            const double a = logarithmic ? std::log2(std::max(v, low)) : v;
            const double b = logarithmic ? std::log2(low) : low;
            const double c = logarithmic ? std::log2(high) : high;
            return c > b ? (a - b) / (c - b) : 0;
        }
    };

    double px(const Span& x, double v) const { return left + x.at(v) * (width - left - right_of()); }
    static double py(const Span& y, double v) { return height - bottom - y.at(v) * (height - top - bottom); }

    Span span(const Axis& axis, bool horizontal) const {
        double low = HUGE_VAL;
        double high = -HUGE_VAL;
        const auto take = [&](double v) {
            if (!axis.logarithmic || v > 0) {
                low = std::min(low, v);
                high = std::max(high, v);
            }
        };
        for (const Series& series : series_) {
            for (const auto& [px_, py_] : series.points) {
                take(horizontal ? px_ : py_);
            }
        }
        for (const auto& each : levels_) {
            if (!horizontal) {
                take(each.second);
            }
        }
        if (!(low <= high)) {
            return {1, 2, axis.logarithmic};
        }
        if (axis.logarithmic) {
            low = std::exp2(std::floor(std::log2(low)));
            high = std::exp2(std::ceil(std::log2(high)));
            return {low, high > low ? high : low * 2, true};
        }
        low = std::min(low, 0.0);
        return {low, high > low ? high * 1.05 : low + 1, false};
    }

    /// Ticks at powers of the base, thinned to at most 9; or about 5 round numbers.
    static std::vector<double> ticks(const Axis& axis, const Span& s) {
        std::vector<double> at;
        if (s.logarithmic) {
            const double steps = std::log2(s.high / s.low) / std::log2(axis.base);
            const double stride = std::max(1.0, std::ceil(steps / 8));
            for (double v = s.low; v <= s.high * 1.0001; v *= std::pow(axis.base, stride)) {
                at.push_back(v);
            }
            return at;
        }
        const double raw = (s.high - s.low) / 5;
        const double ten = std::pow(10, std::floor(std::log10(raw)));
        const double step = raw / ten < 1.5   ? ten
                            : raw / ten < 3.5 ? 2 * ten
                            : raw / ten < 7.5 ? 5 * ten
                                              : 10 * ten;
        for (double v = std::ceil(s.low / step) * step; v <= s.high; v += step) {
            at.push_back(std::abs(v) < step / 1000 ? 0 : v);
        }
        return at;
    }

    struct Colours {
        const char* paper;
        const char* ink;
        const char* soft;
        const char* grid;
        const char* line[8];
    };

    static std::string colours(const Colours& c) {
        std::string out = fmt::format(
            ".paper {{ fill: {}; }} .ink {{ fill: {}; }} .soft {{ fill: {}; }}\n"
            ".grid {{ stroke: {}; }} .level {{ stroke: {}; }}\n",
            c.paper, c.ink, c.soft, c.grid, c.soft);
        for (int i = 0; i < 8; ++i) {
            out += fmt::format(".s{0} {{ stroke: {1}; }} .t{0} {{ fill: {1}; }}{2}", i, c.line[i],
                               i % 4 == 3 ? "\n" : " ");
        }
        return out;
    }

    std::string head() const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
            "aria-label=\"{2}\">\n"
            "<style>\n{4}@media (prefers-color-scheme: dark) {{\n{5}}}\n"
            "text {{ font: 13px system-ui, sans-serif; }} path {{ fill: none; stroke-width: 2.2; }}\n"
            ".level {{ stroke-dasharray: 6 4; }}\n"
            "</style>\n<rect class=\"paper\" width=\"{0}\" height=\"{1}\"/>\n"
            "<text class=\"ink\" x=\"{3}\" y=\"26\" style=\"font-size: 16px; font-weight: 600\">{2}</text>\n",
            width, height, escaped(title_), left,
            colours(
                {"#ffffff",
                 "#1c1c1c",
                 "#5c5c5c",
                 "#d9d9d9",
                 {"#0b62a4", "#b8460e", "#2b7a3f", "#7b3fa0", "#8a6d00", "#a3195b", "#00707a", "#555555"}}),
            colours(
                {"#16181c",
                 "#ececec",
                 "#a8abb2",
                 "#3a3d44",
                 {"#6cb6ff", "#ff9d5c", "#7fd48f", "#cf9dff", "#e6c84a", "#ff8ab8", "#5cd6df", "#c0c0c0"}}));
    }

    std::string grid(const Span& x, const Span& y) const {
        std::string out;
        for (const double v : ticks(x_, x)) {
            out += fmt::format(
                "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
                "<text class=\"soft\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                px(x, v), top, height - bottom, height - bottom + 20,
                x_.label ? x_.label(v) : plain_number(v));
        }
        for (const double v : ticks(y_, y)) {
            out += fmt::format(
                "<line class=\"grid\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" x1=\"{1}\" x2=\"{2}\"/>"
                "<text class=\"soft\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                py(y, v), left, width - right_of(), left - 8, py(y, v) + 4,
                y_.label ? y_.label(v) : plain_number(v));
        }
        out += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                           left + (width - left - right_of()) / 2, height - 14, escaped(x_.title));
        out +=
            fmt::format("<text class=\"soft\" x=\"{}\" y=\"{}\">{}</text>\n", 8, top - 22, escaped(y_.title));
        return out;
    }

    std::string lines(const Span& x, const Span& y) const {
        std::string out;
        for (std::size_t i = 0; i < series_.size(); ++i) {
            std::string path;
            for (const auto& [vx, vy] : series_[i].points) {
                if ((x.logarithmic && vx <= 0) || (y.logarithmic && vy <= 0)) {
                    continue;
                }
                path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " L", px(x, vx), py(y, vy));
            }
            out += fmt::format("<path class=\"s{}\" d=\"{}\"/>\n", i % 8, path);
        }
        for (const auto& [name, v] : levels_) {
            out +=
                fmt::format("<line class=\"level\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                            left, width - right_of(), py(y, v));
        }
        return out;
    }

    /// Names at the right, moved apart so that none covers another.
    std::string labels(const Span& y) const {
        struct Label {
            double y = 0;
            std::string text;
            std::string style;
        };
        std::vector<Label> all;
        for (std::size_t i = 0; i < series_.size(); ++i) {
            if (!series_[i].points.empty()) {
                all.push_back(
                    {py(y, series_[i].points.back().second), series_[i].name, fmt::format("t{}", i % 8)});
            }
        }
        for (const auto& [name, v] : levels_) {
            all.push_back({py(y, v), name, "soft"});
        }
        std::sort(all.begin(), all.end(),
                  [](const Label& a, const Label& b) { return a.y != b.y ? a.y < b.y : a.text < b.text; });
        double next = top;
        for (Label& label : all) {
            label.y = std::max(label.y, next);
            next = label.y + label_step;
        }
        double ceiling = std::max(height - bottom, top + label_step * static_cast<double>(all.size()));
        for (std::size_t i = all.size(); i-- > 0; ceiling = all[i].y - label_step) {
            all[i].y = std::min(all[i].y, ceiling);  // those pushed below the plot move the others up
        }
        std::string out;
        for (const Label& label : all) {
            out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n",
                               width - right_of() + 8, label.y + 4, label.style, escaped(label.text));
        }
        return out;
    }

    std::string title_;
    Axis x_;
    Axis y_;
    std::vector<Series> series_;
    std::vector<std::pair<std::string, double>> levels_;
};

}  // namespace kvcap::inline v1::report
