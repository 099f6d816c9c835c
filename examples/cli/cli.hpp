// SPDX-License-Identifier: MIT
// What every verb shares: the session (where output goes, in which form, with which exit code), groups of
// options, and how a MODEL argument becomes a model. A verb is one .cpp with `void add_<verb>(CLI::App&,
// Session&)`, listed in verbs.inc; it includes options.hpp. Data goes to stdout, everything else to stderr.
#pragma once

#include <kvcap/core.hpp>
#include <kvcap/io/read_model.hpp>
#include <kvcap/report/amount.hpp>
#include <kvcap/report/json.hpp>
#include <kvcap/report/table.hpp>
#include <kvcap/report/text.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // CLI11 has constants with constructors: whoever includes it pays for them, once a source
class App;
class Option;
}  // namespace CLI

namespace kvcap::cli {

enum class Exit : int { ok = 0, does_not_fit = 1, usage = 2, bad_input = 3, unknown_architecture = 4 };

/// Thrown to end the program: `text` goes to stderr behind "kvcap: ".
struct Stop {
    Exit code = Exit::usage;
    std::string text;
};

[[noreturn]] void stop(Exit code, std::string text);
/// Exit 3, or 4 when the architecture or version is unknown.
[[noreturn]] void stop(const Problem& problem);
/// 1: there is too little memory, more of which may help; 4: rules are missing; else 2: the options do not suit the
/// model, or the engine does not take them together.
Exit exit_of(Errc code);
/// Ends with exit_of its code. `about`: what was being done, put before the sentence.
[[noreturn]] void stop(const Error& error, std::string_view about = {});

template <class T>
T value_of(const Result<T>& result, std::string_view about = {}) {
    if (!result) {
        stop(result.error(), about);
    }
    return *result;
}

/// The amount, unless it left 64 bits: then an error.
inline Bytes on_scale(Bytes bytes) {
    if (bytes.value == off_scale) {
        stop(Error{.code = Errc::overflow});
    }
    return bytes;
}

template <class T>
T value_of(Diagnosed<T> read) {
    if (!read) {
        stop(*read.error);
    }
    return std::move(*read);
}

/// One run of the program. A verb's callback prints through it and sets `exit` (ok unless it says otherwise).
struct Session {
    Exit exit = Exit::ok;
    bool colour = false;
    std::string* out = nullptr;  ///< where data is caught; null: stdout
    std::string* err = nullptr;  ///< where all else is caught; null: stderr

    /// Writes data to stdout. A closed pipe ends the program quietly.
    void print(std::string_view text);
    /// Writes "kvcap: text" to stderr: one line, folded at 80 columns on a terminal.
    void remark(std::string_view text);
    /// Writes the text itself to stderr.
    void complain(std::string_view text);
    /// Shows progress on stderr if that is a terminal; an empty text removes it.
    void progress(std::string_view text);

    std::string bold(std::string_view text) const;
    std::string dim(std::string_view text) const;
    std::string warning(std::string_view text) const;
};

/// --json --csv --unit --color
struct Output {
    bool json = false;
    bool csv = false;
    std::string unit = "auto";
    std::string color = "auto";

    void add_to(CLI::App& verb, bool with_csv = true, bool with_unit = true);
    /// Decides on colours and refuses what does not go together. Call first in the callback.
    void begin(Session& session) const;
    /// The unit asked for; `auto`: GiB, or less where the largest amount on the screen is small.
    report::Unit unit_for(Bytes largest_shown) const;
};

/// MODEL, and the formats in which its caches are stored.
struct ModelOptions {
    std::string model;
    std::string kv_cache_dtype = "auto";
    std::string state_dtype = "auto";
    std::string conv_dtype = "auto";
    std::string index_dtype = "auto";

    void add_to(CLI::App& verb);
    /// --kv-cache-dtype --state-dtype --conv-dtype --index-dtype
    void add_formats_to(CLI::App& verb);
};

/// --tp --pp --cp --dp --dp-attention --pp-split; --decode-context-parallel-size: `cp` ranks that are tensor ranks
struct ShardingOptions {
    u32 tp = 1;
    u32 pp = 1;
    u32 cp = 1;
    bool cp_among_tp = false;
    u32 dp = 1;
    bool dp_attention = false;
    std::string pp_split;  ///< empty: as the engine does, else first

    void add_to(CLI::App& verb);
    /// What shards one request: with attention data parallelism each of the `tp` ranks holds whole requests.
    Sharding sharding() const;
};

/// --tokens LIST --batch N, and what a token list means for special layers.
struct LengthOptions {
    std::string tokens;
    std::string batch = "1";
    std::string decoded = "0";
    std::string encoder_tokens;

    void add_to(CLI::App& verb);
    /// Without --tokens: 32k, or the model's longest context if that is shorter. "max" is that context.
    std::vector<u64> points(const ReadModel& model) const;
    u64 sequences() const;
    /// Lengths of one sequence of `tokens` in all. `model` supplies the encoder's length when none is given.
    Lengths lengths(u64 tokens, const ReadModel& model) const;
};

/// A model, read and stored as the options say.
struct Model {
    std::string label;  ///< what to call it on a screen
    std::string dtype;  ///< --kv-cache-dtype as it was understood
    ReadModel read;     ///< `spec` as the file gives it, before formats
    ModelSpec spec;     ///< with the stored formats
    std::vector<Note> notes;
    std::string argument;  ///< MODEL as it was given
};

/// Arguments with llama.cpp's flags of several letters behind one dash written out (-np, -ctk ...).
std::vector<std::string> spelled_out(std::vector<std::string> arguments);

/// File, folder, spec line, card name, Hugging Face id, local cache, or "-": in this order. Stops when none
/// fits.
Model load(const ModelOptions& options);

/// "32k" = 32,768 (k = K = 1,024; m = M = 1,048,576). `flag` is named when the text is no number.
u64 count_of(std::string_view text, std::string_view flag);
/// The text with control characters written as \xNN (line feeds stay): what came from a file or an argument
/// never steers a terminal.
std::string printable(std::string_view text);
/// "a,b" in its parts; an empty text is one empty part.
std::vector<std::string> parts_of(std::string_view text);
/// "8k,32k"
std::vector<u64> counts_of(std::string_view text, std::string_view flag);
/// "80GiB", "80 GB", "1024" (bytes)
Bytes bytes_of(std::string_view text, std::string_view flag);
/// The same of memory for weights, caches or devices: less than a MiB without a unit is one that was forgotten.
Bytes memory_of(std::string_view text, std::string_view flag);

}  // namespace kvcap::cli
