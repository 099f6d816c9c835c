// SPDX-License-Identifier: MIT
// Lines of a prompts file into tokens.
#include "reuse_prompts.hpp"

#include "cli.hpp"

#include <kvcap/io/text_file.hpp>
#include <sstream>

namespace kvcap::cli {

namespace {

using TokenIds = std::vector<u64>;

/// A count in the file: what is none is wrong input, not a wrong flag.
u64 counted(std::string_view text, const std::string& where) {
    try {
        return count_of(text, where);
    } catch (const Stop& wrong) {
        stop(Exit::bad_input, wrong.text);
    }
}

/// Token ids as given, the n-th token of each text, and new ones: none of them equal.
class Texts {
public:
    static constexpr u64 most_tokens = u64{1} << 20;

    /// `a:0-600` or `17,18`
    void append(const std::string& piece, const std::string& where, TokenIds& to) {
        const bool ids = piece.find_first_not_of("0123456789,") == std::string::npos;
        ids ? append_ids(piece, where, to) : append_text(piece, where, to);
        if (to.size() > most_tokens) {
            stop(Exit::bad_input,
                 fmt::format("{}: more than {} tokens", where, report::grouped(most_tokens)));
        }
    }
    void append_new(u64 count, const std::string& where, TokenIds& to) {
        if (count > most_tokens) {
            stop(Exit::bad_input, fmt::format("{}: +{}; at most {} tokens are generated", where, count,
                                              report::grouped(most_tokens)));
        }
        for (u64 i = 0; i < count; ++i) {
            to.push_back(first_new + new_++ % first_new);
        }
    }

private:
    static constexpr u64 first_new = u64{1} << 31;

    static void append_ids(const std::string& piece, const std::string& where, TokenIds& to) {
        for (const std::string& id : parts_of(piece)) {
            const u64 token = counted(id, where);
            if (token >= most_tokens) {
                stop(Exit::bad_input, fmt::format("{}: token id {}; ids are below {}", where, id,
                                                  report::grouped(most_tokens)));
            }
            to.push_back(token);
        }
    }
    void append_text(const std::string& piece, const std::string& where, TokenIds& to) {
        const std::size_t colon = piece.find(':');
        const std::size_t dash = piece.find('-', colon == std::string::npos ? 0 : colon);
        if (colon == 0 || colon == std::string::npos || dash == std::string::npos) {
            stop(Exit::bad_input,
                 fmt::format("{}: {} is no piece of a text; wanted NAME:FROM-TO, such as a:0-600, or token "
                             "ids such as 17,18,19",
                             where, piece));
        }
        const u64 from = counted(piece.substr(colon + 1, dash - colon - 1), where);
        const u64 until = counted(piece.substr(dash + 1), where);
        if (from > until || until > most_tokens) {
            stop(Exit::bad_input, fmt::format("{}: {}; wanted FROM below TO and at most {} tokens", where,
                                              piece, report::grouped(most_tokens)));
        }
        const u64 number = number_of(piece.substr(0, colon), where);
        for (u64 i = from; i < until; ++i) {
            to.push_back(number * most_tokens + i);
        }
    }
    /// From 1 on: below lie token ids that were given.
    u64 number_of(const std::string& name, const std::string& where) {
        const auto known = std::find(names_.begin(), names_.end(), name);
        const auto number = static_cast<u64>(known - names_.begin()) + 1;
        if (known == names_.end()) {
            names_.push_back(name);
        }
        if (number * most_tokens >= first_new) {
            stop(Exit::bad_input, fmt::format("{}: more than {} texts", where, first_new / most_tokens - 1));
        }
        return number;
    }

    std::vector<std::string> names_;
    u64 new_ = 0;
};

void read_word(const std::string& word, const std::string& where, Texts& texts, report::ReplayRequest& to) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
        const std::string key = word.substr(0, equals);
        if (key != "salt" && key != "adapter") {
            stop(Exit::bad_input, fmt::format("{}: {}; wanted salt=NAME or adapter=NAME", where, word));
        }
        std::string& name = key == "salt" ? to.salt : to.adapter;
        if (!name.empty()) {
            stop(Exit::bad_input, fmt::format("{}: {} after {}={}; a prompt has one {}", where, word, key, name, key));
        }
        name = word.substr(equals + 1);
    } else if (word.front() != '+') {
        texts.append(word, where, to.tokens);
    } else if (word.find(':') != std::string::npos || word.find(',') != std::string::npos) {
        texts.append(word.substr(1), where, to.generated);
    } else {
        texts.append_new(counted(word.substr(1), where), where, to.generated);
    }
}

/// All prompts so far against what is run.
void refuse_more(const std::string& where, u64 prompts, u64 tokens) {
    constexpr u64 most_prompts = 4096;
    if (tokens > Texts::most_tokens || prompts > most_prompts) {
        stop(Exit::bad_input, fmt::format("{}: {} tokens in {} prompts so far; at most {} in {} are run", where,
                                          report::grouped(tokens), report::grouped(prompts),
                                          report::grouped(Texts::most_tokens), report::grouped(most_prompts)));
    }
}

}  // namespace

std::vector<report::ReplayRequest> prompts_of(const std::string& file) {
    const Diagnosed<std::string> text = read_text_file(file);
    if (!text) {
        stop(*text.error);
    }
    std::vector<report::ReplayRequest> all;
    Texts texts;
    std::istringstream lines{*text};
    u64 number = 0;
    u64 tokens = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words{line.substr(0, line.find('#'))};
        report::ReplayRequest prompt;
        const std::string where = fmt::format("{}, line {}", file, number);
        for (std::string word; words >> word;) {
            read_word(word, where, texts, prompt);
        }
        const bool nothing = prompt.generated.empty() && prompt.salt.empty() && prompt.adapter.empty();
        if (prompt.tokens.empty() && !nothing) {
            stop(Exit::bad_input, where + ": no token before what is generated; a prompt has at least one");
        }
        if (!prompt.tokens.empty()) {
            tokens += prompt.tokens.size() + prompt.generated.size();
            refuse_more(where, all.size() + 1, tokens);
            all.push_back(std::move(prompt));
        }
    }
    if (all.empty()) {
        stop(Exit::bad_input, file + ": no prompt in it; wanted one a line, such as a:0-600 b:0-20 +8");
    }
    return all;
}

}  // namespace kvcap::cli
