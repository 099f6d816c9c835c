// SPDX-License-Identifier: MIT
// Errors and notes in sentences, for people. Core errors become words in message.hpp; this adds what a front
// end knows.
#pragma once

#include <fmt/format.h>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/message.hpp>
#include <stdexcept>
#include <string>

namespace kvcap::inline v1::report {

inline std::string text_of(const Error& error) {
    char text[256];
    return message(error, text, sizeof text);
}

inline const char* text_of(Origin origin) {
    switch (origin) {
        case Origin::given: return "given";
        case Origin::derived: return "derived";
        case Origin::assumed: return "assumed";
    }
    return "given";
}

/// "assumed /torch_dtype: bf16, the file does not say"
inline std::string text_of(const Note& note) {
    return fmt::format("{}{}{}: {}", text_of(note.origin), note.where.empty() ? "" : " ", note.where,
                       note.text);
}

/// The value, or std::runtime_error with the sentence: for programs that want exceptions.
template <class T>
T or_throw(const Result<T>& result) {
    if (!result) {
        throw std::runtime_error{text_of(result.error())};
    }
    return *result;
}

}  // namespace kvcap::inline v1::report
