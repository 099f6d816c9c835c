// SPDX-License-Identifier: MIT
// What does an engine do where the longest request is longer than the context that the model states, or its encoder's
// input than the positions of that?
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

void note_beyond_encoder(const LengthOptions& lengths, const ReadModel& model, std::vector<Note>& notes) {
    const u64 asked = lengths.encoder_tokens.empty() ? 0 : count_of(lengths.encoder_tokens, "--encoder-tokens");
    if (model.encoder_tokens != 0 && asked > model.encoder_tokens) {
        notes.push_back({Origin::assumed, "--encoder-tokens",
                         fmt::format("{} are more than the {} positions of the model's encoder, and engines cut or "
                                     "refuse what is beyond",
                                     report::grouped(asked), report::grouped(model.encoder_tokens))});
    }
}

}  // namespace kvcap::cli
