// SPDX-License-Identifier: MIT
// What does an engine do where the longest request is longer than the context that the model states?
#include "deployment.hpp"
#include "screen.hpp"

namespace kvcap::cli {

std::string beyond_words(const Deployment& on) {
    if (!on.beyond_context()) {
        return {};
    }
    return fmt::format("beyond the model's context: {} tokens, and it states {}; {}",
                       report::grouped(on.longest_asked()), report::grouped(on.formats[0].model.read.max_context),
                       on.longer_allowed ? "the line lets the engine take them" : on.face->beyond_context);
}

std::string beyond_text(const Deployment& on, const Session& session) {
    const std::string words = beyond_words(on);
    return words.empty() ? "" : session.warning(paragraph(words)) + '\n';
}

}  // namespace kvcap::cli
