// SPDX-License-Identifier: MIT
// What deployment does one launch line describe, flag by flag?
#pragma once

#include <algorithm>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/grouped.hpp>
#include <kvcap/io/launch/flags.hpp>
#include <kvcap/io/launch/shares.hpp>
#include <kvcap/io/launch/yaml.hpp>
#include <utility>

namespace kvcap::inline v1::io {

class LaunchReader {
public:
    LaunchReader(const LaunchSyntax& syntax, const std::vector<std::string>& words)
        : syntax_{syntax}, words_{words} {
        read_.engine = std::string{syntax.engine};
    }

    /// pre: words[at] is the program's name
    Diagnosed<Launch> read(std::size_t at) {
        files_ = printed_files(words_, at);
        take_file(at + 1);
        for (at_ = at + 1; at_ < words_.size() && !problem_ && !ends_command(words_[at_]); ++at_) {
            const std::string& word = words_[at_];
            if (redirects(word)) {
                at_ += word.ends_with('<') || word.ends_with('>') ? 1 : 0;  // the file is a word of its own
            } else {
                word.size() > 1 && word[0] == '-' ? flag(word) : plain(word);
            }
        }
        finish();
        if (problem_) {
            return *problem_;
        }
        Diagnosed<Launch> all{read_};
        all.notes = notes_;
        return all;
    }

private:
    /// What the file of TensorRT-LLM's options says of the cache, before any flag: those win. The only settings that
    /// its flags cannot say.
    void take_file(std::size_t from) {
        for (std::size_t i = from; i < words_.size() && !begins_comment(words_[i]); ++i) {
            const std::size_t equals = words_[i].find('=');
            const LaunchFlag* own = known(words_[i].substr(0, equals));
            if (own == nullptr || own->field != LaunchField::yaml) {
                continue;
            }
            const bool follows = equals == std::string::npos && i + 1 < words_.size();
            const std::string name = follows ? words_[i + 1] : words_[i].substr(equals + 1);
            if (const auto file = files_.find(name); file != files_.end()) {
                yaml_closed(file->second)
                    ? yaml(file->second)
                    : refuse(name, file->second, "YAML whose braces, brackets and quotes are closed");
            }
        }
    }

    void yaml(std::string_view text) {
        if (begins_yaml_key(text, text.find("speculative_config:"))) {
            read_.flags["speculative-config"] = "yaml";
        }
        read_.attention_dp = yaml_value(text, "enable_attention_dp") == "true";
        if (const std::string util = yaml_value(text, "free_gpu_memory_fraction"); !util.empty()) {
            read_.util = share("free_gpu_memory_fraction", util);
        }
        if (const std::string budget = yaml_value(text, "max_gpu_total_bytes"); !budget.empty()) {
            read_.budget = std::to_string(whole("max_gpu_total_bytes", budget, u64{1} << 50));
        }
        if (const std::string dtype = yaml_value(text, "dtype"); !dtype.empty()) {
            read_.dtype = dtype;
        }
        for (const TrtllmKey& each : trtllm_keys) {
            if (const std::string found = yaml_value(text, each.key); !found.empty()) {
                const u64 number = whole(std::string{each.key}, found, u64{1} << 50);
                read_.flags[std::string{each.flag}] = std::to_string(number);
            }
        }
    }

    void refuse(const std::string& where, const std::string& found, std::string_view wanted) {
        problem_ = Problem{
            Trouble::invalid, where, found.empty() ? "nothing" : '"' + found + '"', std::string{wanted}, {}};
    }
    u64 whole(const std::string& flag, const std::string& value, u64 most = u64{1} << 40) {
        const LaunchFlag* own = known(flag);
        const Written written = own == nullptr ? Written::plain : own->written;
        const u64 number = launch_number(value, written).value_or(0);
        if (number == 0) {
            refuse(flag, value, "a whole number of at least 1" + std::string{written_words(written)});
        } else if (number > most) {
            refuse(flag, value, "at most " + grouped(most));
        }
        return problem_ ? 1 : number;
    }
    u32 ranks(const std::string& flag, const std::string& value) {
        return static_cast<u32>(whole(flag, value, 65536));
    }

    /// A share of memory, as it is written.
    std::string share(const std::string& flag, const std::string& value) {
        char* end = nullptr;
        const double read = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || !(read > 0 && read <= 1)) {
            refuse(flag, value, "a share of memory, above 0 and at most 1");
        }
        return value;
    }

    /// vLLM's auto and -1 ask for the longest that fits, which `fit` finds and no line states.
    u64 length(const std::string& flag, const std::string& value) {
        if (value == "auto" || value == "-1") {
            refuse(flag, value, "a number of tokens; the longest that fits is what `kvcap fit` finds");
            return 1;
        }
        return whole(flag, value);
    }

    /// Layers on the GPU, where that may be fewer than all: 999 and more, negative numbers, auto and all are all.
    void gpu_layers(const std::string& flag, const std::string& value) {
        read_.flags.erase("n-gpu-layers");
        const bool less = value.size() > 1 && value[0] == '-' && value.find_first_not_of("0123456789", 1) == value.npos;
        if (value == "auto" || value == "all" || less) {
            return;
        }
        const u64 layers = value == "0" ? 0 : whole(flag, value);
        if (!problem_ && layers < 999) {
            read_.flags["n-gpu-layers"] = std::to_string(layers);
        }
    }

    void devices(const std::string& flag, const std::string& value) {
        const std::optional<u32> count = launch_devices(value);
        count ? static_cast<void>(devices_ = *count) : refuse(flag, value, wanted_shares);
    }

    /// none: one device, whatever -ts says. row divides weights alone, which is not judged.
    void split_mode(const std::string& flag, const std::string& value) {
        if (value != "none" && value != "layer" && value != "tensor") {
            refuse(flag, value, "layer, tensor or none (row is not judged)");
        }
        split_mode_ = value;
    }

    std::string& keep(const std::string& flag, const std::string& value) {
        return read_.flags[kept_name(read_.engine, flag)] = value;
    }

    /// The model; or one more value of a flag that is not known here, which may have several.
    void plain(const std::string& word) {
        if (read_.model.empty()) {
            read_.model = word == "serve" ? "" : word;
        } else if (several_ != nullptr) {
            *several_ += launch_values + word;
        } else {
            refuse("launch line", word, "a flag; the model is \"" + read_.model + "\" already");
        }
    }

    /// Whether the next word is the value of this one: no flag, unless that is a negative number.
    bool value_follows() const {
        if (at_ + 1 == words_.size()) {
            return false;
        }
        const std::string& next = words_[at_ + 1];
        const bool dashed = next.size() > 1 && next[0] == '-' && (next[1] < '0' || next[1] > '9');
        return !dashed && !ends_command(next) && (!redirects(next) || (next[0] == '<' && next != "<"));
    }

    const LaunchFlag* known(std::string_view name) const {
        const LaunchFlag* found = nullptr;
        for (std::size_t i = 0; i < syntax_.count; ++i) {
            found = syntax_.flags[i].name == name ? &syntax_.flags[i] : found;
        }
        return found;
    }

    void flag(const std::string& word) {
        const std::size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        if (name.find_first_not_of('-') == std::string::npos) {
            refuse("launch line", word, "a flag with a name");
            return;
        }
        const bool both = syntax_.engine == "vllm" || syntax_.engine == "llamacpp";
        if (both && name.starts_with("--")) {  // their parsers take underscores for dashes
            std::replace(name.begin(), name.end(), '_', '-');
        }
        const bool inside = equals != std::string::npos;
        const bool follows = !inside && value_follows();
        const auto value = [&] {
            return inside ? word.substr(equals + 1) : follows ? words_[++at_] : std::string{};
        };
        const LaunchFlag* own = known(name);
        several_ = nullptr;
        if (own == nullptr) {
            std::string& kept = keep(name, value());
            several_ = kept.empty() ? nullptr : &kept;
        } else if (!own->takes_value && inside) {
            refuse(name, word.substr(equals + 1), "no value: it is a switch");
        } else if (own->takes_value && !inside && !follows) {
            refuse(name, "", "a value");
        } else {
            take(own->field, name, own->takes_value ? value() : "");
        }
    }

    void take(LaunchField field, const std::string& flag, const std::string& value) {
        switch (field) {
            case LaunchField::model: read_.model = value; return;
            case LaunchField::tp: read_.tp = ranks(flag, value); return;
            case LaunchField::pp: read_.pp = ranks(flag, value); return;
            case LaunchField::cp: read_.cp = ranks(flag, value); return;
            case LaunchField::dp: read_.dp = ranks(flag, value); return;
            case LaunchField::tokens: read_.tokens = length(flag, value); return;
            case LaunchField::sequences:
                read_.sequences = syntax_.engine == "llamacpp" && value == "-1" ? 0 : whole(flag, value);
                return;
            case LaunchField::dtype: read_.dtype = value; return;
            case LaunchField::util: read_.util = share(flag, value); return;
            case LaunchField::budget: read_.budget = std::to_string(whole(flag, value, u64{1} << 50)); return;
            case LaunchField::expert_parallel: expert_parallel_ = true; return;
            case LaunchField::attention_dp: read_.attention_dp = true; return;
            case LaunchField::context: context_ = value == "0" ? 0 : whole(flag, value); return;
            case LaunchField::gpu_layers: gpu_layers(flag, value); return;
            case LaunchField::devices: devices(flag, value); return;
            case LaunchField::split_mode: split_mode(flag, value); return;
            case LaunchField::key_type:
                read_.dtype = value;
                read_.flags["cache-type-k"] = value;
                return;
            case LaunchField::value_type: read_.flags["cache-type-v"] = value; return;
            case LaunchField::yaml:
                if (files_.find(value) == files_.end()) {
                    refuse(flag, value,
                           "what is in the file, which is not read, in front of the line: printf '...' > FILE &&");
                }
                return;
            case LaunchField::count: keep(flag, std::to_string(whole(flag, value))); return;
            case LaunchField::text: keep(flag, value); return;
            case LaunchField::ignored: return;
        }
    }

    /// llama-server without -np, or with -1: four slots that share the cells (tools/server/server.cpp).
    void take_slots() {
        if (read_.sequences == 0) {
            read_.sequences = 4;
            read_.flags["kv-unified"] = "";
            notes_.push_back({Origin::assumed, "launch line",
                              "says no --parallel: 4 slots that share the cells, as llama-server starts"});
        }
    }

    void finish() {
        if (read_.engine == "vllm" && expert_parallel_ && read_.dp > 1) {
            read_.attention_dp = read_.tp == 1;  // each data-parallel rank is one that holds whole requests
            read_.attention_dp ? static_cast<void>(read_.tp = std::exchange(read_.dp, 1))
                               : static_cast<void>(read_.flags["enable-expert-parallel"]);
        }
        if (read_.engine == "sglang" && read_.attention_dp) {
            if (read_.dp != read_.tp) {
                problem_ = Problem{Trouble::unknown, "--dp-size", '"' + std::to_string(read_.dp) + '"',
                                   "as many as tensor ranks: of fewer, under attention DP, no rules are known", {}};
            }
            read_.sequences = ceil_div(read_.sequences, read_.tp);  // the line counts those of all ranks
            read_.dp = 1;
        }
        if (read_.engine == "llamacpp") {
            (split_mode_ == "tensor" ? read_.tp : read_.pp) = split_mode_ == "none" ? 1 : devices_;
            take_slots();
            read_.flags["ctx-size"] = std::to_string(context_);
            read_.flags.emplace("cache-type-k", "f16");
            read_.flags.emplace("cache-type-v", "f16");
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
    std::string split_mode_ = "layer";
    std::map<std::string, std::string, std::less<>> files_;
    std::string* several_ = nullptr;
    u32 devices_ = 1;
    u64 context_ = 0;
};

}  // namespace kvcap::inline v1::io
