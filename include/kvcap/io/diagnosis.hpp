// SPDX-License-Identifier: MIT
// What does a reader return? A value, or the one problem that stopped it with its place, and a note for each field that
// was derived or assumed rather than given: provenance is what makes a number trustworthy.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::inline v1 {

enum class Origin : unsigned char { given, derived, assumed };

/// where: a JSON pointer, key, flag or offset.
struct Note {
    Origin origin = Origin::given;
    std::string where;
    std::string text;
    friend bool operator==(const Note&, const Note&) = default;
};

/// unreadable: no such file, not text, too large. invalid: read, but wrong. unknown: an architecture or version without
/// rules. The CLI's exit codes are 3, 3 and 4.
enum class Trouble : unsigned char { unreadable, invalid, unknown };

/// what was found `where`, and what was wanted; hint: the nearest known, or the next step.
struct Problem {
    Trouble trouble = Trouble::invalid;
    std::string where;
    std::string found;
    std::string wanted;
    std::string hint;

    std::string text() const {
        std::string all = where.empty() ? found : where + ": " + found;
        if (!wanted.empty()) {
            all += "; wanted " + wanted;
        }
        if (!hint.empty()) {
            all += " (" + hint + ")";
        }
        return all;
    }
    friend bool operator==(const Problem&, const Problem&) = default;
};

namespace io {

/// The problem with its file in front of its place.
inline Problem in_file(const std::string& path, Problem problem) {
    problem.where = path + (problem.where.empty() ? "" : ": " + problem.where);
    return problem;
}

}  // namespace io

template <class T>
struct [[nodiscard]] Diagnosed {
    std::optional<T> value;
    std::optional<Problem> error;
    std::vector<Note> notes;

    Diagnosed() = default;
    Diagnosed(T good) : value{std::move(good)} {}
    Diagnosed(Problem bad) : error{std::move(bad)} {}

    explicit operator bool() const noexcept { return value.has_value(); }
    const T& operator*() const { return *value; }
    T& operator*() { return *value; }
    const T* operator->() const { return &*value; }
    T* operator->() { return &*value; }
};

}  // namespace kvcap::inline v1
