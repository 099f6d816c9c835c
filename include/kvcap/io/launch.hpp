// SPDX-License-Identifier: MIT
// What deployment does an engine's launch line describe? vllm serve, sglang.launch_server, llama-server, trtllm-serve
// (and the YAML that its own flags cannot say), read into one value. report/launch.hpp writes the same lines.
#pragma once

#include <charconv>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/units.hpp>
#include <algorithm>
#include <map>
#include <string_view>

namespace kvcap::inline v1 {

/// engine: vllm, sglang, llamacpp or trtllm. servers: how many identical ones. sequences: of one rank that holds whole
/// requests. util, budget: as written; empty when the line does not say. flags: the engine's other flags by long name
/// without dashes; switches have an empty value.
struct Launch {
    std::string engine{};
    std::string model{};
    u32 servers = 1;
    u32 tp = 1;
    u32 pp = 1;
    u32 cp = 1;
    u32 dp = 1;
    bool attention_dp = false;
    u64 tokens = 0;
    u64 sequences = 0;
    std::string dtype = "auto";
    std::string util{};
    std::string budget{};
    std::map<std::string, std::string, std::less<>> flags{};
    friend bool operator==(const Launch&, const Launch&) = default;
};

/// A line in words: blanks separate, '...' and "..." group, a backslash keeps the next character, "\" at a line's end
/// goes on.
inline std::vector<std::string> shell_words(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool open = false;
    char quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote != '\0') {
            quote == c ? static_cast<void>(quote = '\0') : word.push_back(c);
        } else if (c == '\'' || c == '"') {
            quote = c;
            open = true;
        } else if (c == '\\' && i + 1 < line.size()) {
            ++i;
            if (line[i] != '\n') {
                word.push_back(line[i]);
                open = true;
            }
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            if (open) {
                words.push_back(std::move(word));
            }
            word.clear();
            open = false;
        } else {
            word.push_back(c);
            open = true;
        }
    }
    if (open) {
        words.push_back(std::move(word));
    }
    return words;
}

namespace io {

enum class LaunchField : unsigned char {
    model, tp, pp, cp, dp, tokens, sequences, dtype, util, budget, expert_parallel, attention_dp, context, devices,
    split_mode, key_type, value_type, yaml, ignored,
};

struct LaunchFlag {
    std::string_view name;
    LaunchField field;
    bool takes_value = true;
};

inline constexpr LaunchFlag vllm_flags[] = {
    {"--model", LaunchField::model},
    {"--tensor-parallel-size", LaunchField::tp},
    {"-tp", LaunchField::tp},
    {"--pipeline-parallel-size", LaunchField::pp},
    {"-pp", LaunchField::pp},
    {"--decode-context-parallel-size", LaunchField::cp},
    {"-dcp", LaunchField::cp},
    {"--data-parallel-size", LaunchField::dp},
    {"-dp", LaunchField::dp},
    {"--max-model-len", LaunchField::tokens},
    {"--max-num-seqs", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--gpu-memory-utilization", LaunchField::util},
    {"--kv-cache-memory-bytes", LaunchField::budget},
    {"--enable-expert-parallel", LaunchField::expert_parallel, false},
};

inline constexpr LaunchFlag sglang_flags[] = {
    {"--model-path", LaunchField::model},
    {"--model", LaunchField::model},
    {"--tp-size", LaunchField::tp},
    {"--tp", LaunchField::tp},
    {"--tensor-parallel-size", LaunchField::tp},
    {"--pp-size", LaunchField::pp},
    {"--pp", LaunchField::pp},
    {"--pipeline-parallel-size", LaunchField::pp},
    {"--dp-size", LaunchField::dp},
    {"--dp", LaunchField::dp},
    {"--data-parallel-size", LaunchField::dp},
    {"--ep-size", LaunchField::ignored},
    {"--context-length", LaunchField::tokens},
    {"--max-running-requests", LaunchField::sequences},
    {"--kv-cache-dtype", LaunchField::dtype},
    {"--mem-fraction-static", LaunchField::util},
    {"--enable-dp-attention", LaunchField::attention_dp, false},
};

inline constexpr LaunchFlag llama_flags[] = {
    {"-m", LaunchField::model},
    {"--model", LaunchField::model},
    {"-hf", LaunchField::model},
    {"-c", LaunchField::context},
    {"--ctx-size", LaunchField::context},
    {"-np", LaunchField::sequences},
    {"--parallel", LaunchField::sequences},
    {"-ctk", LaunchField::key_type},
    {"--cache-type-k", LaunchField::key_type},
    {"-ctv", LaunchField::value_type},
    {"--cache-type-v", LaunchField::value_type},
    {"-ts", LaunchField::devices},
    {"--tensor-split", LaunchField::devices},
    {"-sm", LaunchField::split_mode},
    {"--split-mode", LaunchField::split_mode},
    {"-ngl", LaunchField::ignored},
    {"--n-gpu-layers", LaunchField::ignored},
};

inline constexpr LaunchFlag trtllm_flags[] = {
    {"--tp_size", LaunchField::tp},
    {"--pp_size", LaunchField::pp},
    {"--ep_size", LaunchField::ignored},
    {"--max_seq_len", LaunchField::tokens},
    {"--max_batch_size", LaunchField::sequences},
    {"--kv_cache_dtype", LaunchField::dtype},
    {"--kv_cache_free_gpu_memory_fraction", LaunchField::util},
    {"--extra_llm_api_options", LaunchField::yaml},
    {"--config", LaunchField::yaml},
};

/// Short names of llama.cpp's other flags.
inline std::string long_name(std::string_view flag) {
    constexpr std::pair<std::string_view, std::string_view> shorts[] = {
        {"-b", "batch-size"}, {"-ub", "ubatch-size"}, {"-fa", "flash-attn"}, {"-kvu", "kv-unified"}};
    for (const auto& [from, to] : shorts) {
        if (flag == from) {
            return std::string{to};
        }
    }
    std::string name{flag.substr(flag.find_first_not_of('-'))};
    for (char& c : name) {
        c = c == '_' ? '-' : c;
    }
    return name;
}

/// Flags of one engine, and how its line begins.
struct LaunchSyntax {
    std::string_view engine;
    std::string_view program;
    const LaunchFlag* flags;
    std::size_t count;
};

inline constexpr LaunchSyntax launch_syntaxes[] = {
    {"vllm", "vllm", vllm_flags, std::size(vllm_flags)},
    {"sglang", "sglang.launch_server", sglang_flags, std::size(sglang_flags)},
    {"llamacpp", "llama-server", llama_flags, std::size(llama_flags)},
    {"trtllm", "trtllm-serve", trtllm_flags, std::size(trtllm_flags)},
};

/// "65536", "64k" and "64K" (vLLM: k = 1,000, K = 1,024; the other engines write plain numbers).
inline std::optional<u64> launch_number(std::string_view text) {
    u64 value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view rest{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    if (wrong != std::errc{} || rest.size() > 1) {
        return std::nullopt;
    }
    const u64 times = rest.empty()    ? 1
                      : rest == "k" ? 1000
                      : rest == "K" ? 1024
                      : rest == "m" ? 1000000
                      : rest == "M" ? u64{1} << 20
                                    : 0;
    return times == 0 ? std::nullopt : std::optional<u64>{saturating_product(value, times)};
}

class LaunchReader {
public:
    LaunchReader(const LaunchSyntax& syntax, const std::vector<std::string>& words) : syntax_{syntax}, words_{words} {
        read_.engine = std::string{syntax.engine};
    }

    /// pre: words[at] is the program's name
    Diagnosed<Launch> read(std::size_t at) {
        for (at_ = at + 1; at_ < words_.size() && !problem_; ++at_) {
            const std::string& word = words_[at_];
            if (word == "#") {
                break;
            }
            word.size() > 1 && word[0] == '-' ? flag(word) : plain(word);
        }
        finish();
        if (problem_) {
            return *problem_;
        }
        Diagnosed<Launch> all{read_};
        all.notes = notes_;
        return all;
    }

    /// What "key: value" pairs of a flow-style YAML say of the cache: the only ones TensorRT-LLM's flags cannot.
    void yaml(std::string_view text) {
        const auto value = [&](std::string_view key) {
            const std::size_t found = text.find(std::string{key} + ": ");
            const bool whole = begins_key(text, found);
            const std::size_t from = whole ? found + key.size() + 2 : std::string_view::npos;
            return whole ? std::string{text.substr(from, text.find_first_of(",}\n\\", from) - from)} : std::string{};
        };
        read_.attention_dp = value("enable_attention_dp") == "true";
        read_.util = value("free_gpu_memory_fraction");
        read_.budget = value("max_gpu_total_bytes");
        if (const std::string dtype = value("dtype"); !dtype.empty()) {
            read_.dtype = dtype;
        }
        for (const char* key : {"tokens_per_block", "max_tokens", "host_cache_size"}) {
            if (const std::string found = value(key); !found.empty()) {
                read_.flags[key == std::string_view{"max_tokens"} ? "max-kv-tokens" : long_name("--" + std::string{key})] = found;
            }
        }
    }

private:
    /// Whether a key may begin at `at`: at the start, behind a blank, a brace, or a line's end (also as printf has it).
    static bool begins_key(std::string_view text, std::size_t at) {
        if (at == 0 || at == std::string_view::npos) {
            return at == 0;
        }
        const char before = text[at - 1];
        return before == ' ' || before == '{' || before == '\n' ||
               (before == 'n' && at > 1 && text[at - 2] == '\\');
    }

    void refuse(const std::string& where, const std::string& found, const char* wanted) {
        problem_ = Problem{Trouble::invalid, where, found.empty() ? "nothing" : '"' + found + '"', wanted, {}};
    }
    u64 whole(const std::string& flag, const std::string& value, u64 most = u64{1} << 40) {
        const std::optional<u64> number = launch_number(value);
        if (!number || *number == 0 || *number > most) {
            refuse(flag, value, most == 65536 ? "a number of ranks, 1 to 65,536" : "a whole number of at least 1");
            return 1;
        }
        return *number;
    }
    u32 ranks(const std::string& flag, const std::string& value) { return static_cast<u32>(whole(flag, value, 65536)); }

    void plain(const std::string& word) {
        const bool verb = word == "serve" || word == "&&" || word == "\\";
        if (!verb && read_.model.empty()) {
            read_.model = word;
        }
    }

    void flag(const std::string& word) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const LaunchFlag* known = nullptr;
        for (std::size_t i = 0; i < syntax_.count; ++i) {
            known = syntax_.flags[i].name == name ? &syntax_.flags[i] : known;
        }
        const bool inside = equals != std::string::npos;
        const bool follows = !inside && at_ + 1 < words_.size() && words_[at_ + 1] != "#" && words_[at_ + 1] != "&&" &&
                             (words_[at_ + 1].size() < 2 || words_[at_ + 1][0] != '-');
        if (known == nullptr) {
            read_.flags[long_name(name)] = inside ? word.substr(equals + 1) : follows ? words_[++at_] : "";
            return;
        }
        if (known->takes_value && !inside && !follows) {
            return refuse(name, "", "a value");
        }
        take(known->field, name, !known->takes_value ? "" : inside ? word.substr(equals + 1) : words_[++at_]);
    }

    void take(LaunchField field, const std::string& flag, const std::string& value) {
        switch (field) {
            case LaunchField::model: read_.model = value; return;
            case LaunchField::tp: read_.tp = ranks(flag, value); return;
            case LaunchField::pp: read_.pp = ranks(flag, value); return;
            case LaunchField::cp: read_.cp = ranks(flag, value); return;
            case LaunchField::dp: read_.dp = ranks(flag, value); return;
            case LaunchField::tokens: read_.tokens = whole(flag, value); return;
            case LaunchField::sequences: read_.sequences = whole(flag, value); return;
            case LaunchField::dtype: read_.dtype = value; return;
            case LaunchField::util: read_.util = value; return;
            case LaunchField::budget: read_.budget = value; return;
            case LaunchField::expert_parallel: expert_parallel_ = true; return;
            case LaunchField::attention_dp: read_.attention_dp = true; return;
            case LaunchField::context: context_ = whole(flag, value); return;
            case LaunchField::devices: devices_ = static_cast<u32>(1 + std::count(value.begin(), value.end(), ',')); return;
            case LaunchField::split_mode: by_tensor_ = value == "tensor"; return;
            case LaunchField::key_type: read_.dtype = value; read_.flags["cache-type-k"] = value; return;
            case LaunchField::value_type: read_.flags["cache-type-v"] = value; return;
            case LaunchField::yaml:
            case LaunchField::ignored: return;
        }
    }

    void finish() {
        if (read_.engine == "vllm" && expert_parallel_ && read_.dp > 1) {
            read_.attention_dp = true;  // each data-parallel rank holds whole requests
            read_.tp == 1 ? static_cast<void>(read_.tp = std::exchange(read_.dp, 1))
                          : refuse("--data-parallel-size", std::to_string(read_.dp),
                                   "one of tensor and data parallelism beside expert parallelism");
        }
        if (read_.engine == "sglang" && read_.attention_dp) {
            if (read_.dp != read_.tp) {
                refuse("--dp-size", std::to_string(read_.dp), "as many as tensor ranks, under data-parallel attention");
            }
            read_.sequences = ceil_div(read_.sequences, read_.tp);  // the line counts those of all ranks
            read_.dp = 1;
        }
        if (read_.engine == "llamacpp") {
            (by_tensor_ ? read_.tp : read_.pp) = devices_;
            read_.sequences = larger(read_.sequences, 1);
            read_.flags["ctx-size"] = std::to_string(context_);
            read_.tokens = read_.flags.count("kv-unified") != 0 ? context_ : context_ / read_.sequences;
        }
        if (read_.model.empty() && !problem_) {
            refuse("model", "", "the model that is served");
        }
    }

    const LaunchSyntax& syntax_;
    const std::vector<std::string>& words_;
    std::size_t at_ = 0;
    Launch read_{};
    std::vector<Note> notes_;
    std::optional<Problem> problem_;
    bool expert_parallel_ = false;
    bool by_tensor_ = false;
    u32 devices_ = 1;
    u64 context_ = 0;
};

}  // namespace io

/// The deployment of a launch line; "# 2 servers" at its end counts identical ones.
inline Diagnosed<Launch> read_launch(std::string_view line) {
    const std::vector<std::string> words = shell_words(line);
    for (const io::LaunchSyntax& syntax : io::launch_syntaxes) {
        for (std::size_t at = 0; at < words.size(); ++at) {
            const std::string_view word = words[at];
            const bool named = word == syntax.program || word.ends_with("/" + std::string{syntax.program});
            if (!named || (syntax.engine == "vllm" && (at + 1 == words.size() || words[at + 1] != "serve"))) {
                continue;
            }
            io::LaunchReader reader{syntax, words};
            for (std::size_t before = 0; before + 1 < at; ++before) {
                if (words[before] == "printf") {
                    reader.yaml(words[before + 1]);
                }
            }
            Diagnosed<Launch> read = reader.read(at);
            for (std::size_t i = at; read && i + 2 < words.size(); ++i) {
                if (words[i] == "#" && words[i + 2].starts_with("server")) {
                    read->servers = static_cast<u32>(io::launch_number(words[i + 1]).value_or(1));
                }
            }
            return read;
        }
    }
    return Problem{Trouble::invalid, "launch line", line.empty() ? "nothing" : '"' + std::string{line.substr(0, 60)} + '"',
                   "vllm serve, python -m sglang.launch_server, llama-server or trtllm-serve with its flags", {}};
}

}  // namespace kvcap::inline v1
