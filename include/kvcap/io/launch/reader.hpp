// SPDX-License-Identifier: MIT
// What deployment does one launch line describe, flag by flag?
#pragma once

#include <algorithm>
#include <kvcap/io/launch/experts.hpp>
#include <kvcap/io/launch/harmless.hpp>
#include <kvcap/io/launch/settings.hpp>
#include <kvcap/io/launch/shares.hpp>
#include <kvcap/io/launch/values.hpp>
#include <utility>

namespace kvcap::inline v1::io {

class LaunchReader : LaunchValues {
public:
    LaunchReader(const LaunchSyntax& syntax, const std::vector<std::string>& words)
        : LaunchValues{syntax}, words_{words} {
        read_.engine = std::string{syntax.engine};
    }

    /// pre: words[at] is the program's name
    Diagnosed<Launch> read(std::size_t at) {
        files_ = printed_files(words_, at);
        take_file(at + 1);
        for (at_ = at + 1; at_ < words_.size() && !problem_ && !ends_command(words_[at_]); ++at_) {
            const std::string& word = words_[at_];
            if (begins_long_dash(word)) {
                refuse("launch line", word, "a flag that begins with '-'");
            } else if (redirects(word)) {
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
    /// What the file of TensorRT-LLM's options says, before any flag.
    void take_file(std::size_t from) {
        for (std::size_t i = from; i < words_.size() && !ends_command(words_[i]); ++i) {
            const std::size_t equals = words_[i].find('=');
            const LaunchFlag* own = known(words_[i].substr(0, equals));
            if (own == nullptr || own->field != LaunchField::yaml) {
                continue;
            }
            const bool follows = equals == std::string::npos && i + 1 < words_.size();
            const std::string name = follows ? words_[i + 1] : words_[i].substr(equals + 1);
            const auto file = files_.find(name);
            if (file == files_.end()) {
                continue;
            }
            if (!yaml_closed(file->second)) {
                refuse(name, file->second, "YAML whose braces, brackets and quotes are closed");
                return;
            }
            for (const YamlPair& pair : yaml_pairs(file->second)) {
                take_pair(name, pair);
            }
        }
    }

    void take_pair(const std::string& file, const YamlPair& pair) {
        const LaunchField field = field_of(pair);
        const std::string flag = flag_of(pair);
        if (pair.in.empty() && pair.key == "enable_attention_dp") {
            const std::string_view on = yaml_switch(pair.value);
            read_.attention_dp = on == "true";
            if (on.empty()) {
                refuse(pair.key, pair.value, "true or false");
            }
        } else if (pair.in == "speculative_config" || (pair.key == "speculative_config" && pair.value == "{}")) {
            read_.flags["speculative-config"] = "yaml";
        } else if (field == LaunchField::ignored && flag.empty() && !yaml_harmless(pair)) {
            notes_.push_back(
                {Origin::assumed, file, pair.key + ": not read; if it changes memory, this answer is off"});
        } else if (field != LaunchField::ignored && !pair.value.empty()) {
            take(field, pair.key, pair.value);
            filed_[field] = pair.value;
        } else if (!flag.empty() && !pair.value.empty()) {
            read_.flags[flag] = std::to_string(whole(pair.key, pair.value, u64{1} << 50));
        }
    }

    /// A flag that the file says otherwise: it wins since June 2026 (NVIDIA/TensorRT-LLM, pull request 14812).
    void note_filed(LaunchField field, const std::string& flag, const std::string& value) {
        if (const auto filed = filed_.find(field); filed != filed_.end() && filed->second != value) {
            notes_.push_back({Origin::assumed, flag,
                              value + " counts, not the file's " + filed->second +
                                  ", as since June 2026; before, TensorRT-LLM took the file's"});
        }
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

    void take_count(u32& to, const std::optional<u32>& count, const std::string& flag, const std::string& value,
                    std::string_view wanted) {
        count ? static_cast<void>(to = *count) : refuse(flag, value, wanted);
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
        name = own == nullptr ? name : own->name;
        several_ = nullptr;
        if (own == nullptr) {
            const std::string kept_as = kept_name(read_.engine, name);
            std::string& kept = keep(name, is_harmless_switch(kept_as) ? "" : value());
            several_ = kept.empty() || !takes_several(kept_as) ? nullptr : &kept;
        } else if (!own->takes_value && inside) {
            refuse(name, word.substr(equals + 1), "no value: it is a switch");
        } else if (own->takes_value && !inside && !follows) {
            const bool modes = own->field == LaunchField::flash || own->field == LaunchField::fit;
            refuse(name, "", modes ? wanted_switch(name, own->field == LaunchField::flash) : "a value");
        } else {
            const std::string given = own->takes_value ? value() : "";
            note_filed(own->field, name, given);
            take(own->field, name, given);
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
            case LaunchField::expert_ranks:
            case LaunchField::expert_shards:
                (field == LaunchField::expert_ranks ? experts_.ranks : experts_.shards) = ranks(flag, value);
                experts_.say(flag, value);
                return;
            case LaunchField::expert_backend: experts_.take_backend(flag, value, notes_); return;
            case LaunchField::attention_dp: read_.attention_dp = true; return;
            case LaunchField::context:
                context_ = value == "0" ? 0 : whole(flag, value);
                read_.flags["ctx-size"] = std::to_string(context_);
                return;
            case LaunchField::gpu_layers: gpu_layers(flag, value); return;
            case LaunchField::shares:
                take_count(devices_.shares, launch_devices(value), flag, value, wanted_shares);
                return;
            case LaunchField::devices:
                take_count(devices_.listed, listed_devices(value), flag, value, wanted_devices);
                return;
            case LaunchField::flash: keep(flag, switched(flag, value, true)); return;
            case LaunchField::fit: keep(flag, switched(flag, value, false)); return;
            case LaunchField::split_mode: devices_.mode = split_mode(flag, value); return;
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
            case LaunchField::step: keep(flag, value == "-1" ? value : std::to_string(whole(flag, value))); return;
            case LaunchField::file: refuse(flag, value, "the flags themselves: the file is not read"); return;
            case LaunchField::text: keep(flag, value); return;
            case LaunchField::quantization: read_.flags["quantization"] = value; return;
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

    /// The line counts requests of all ranks, of which each runs a whole part. Source: SGLang, kv_cache_configurator.py
    /// and tp_worker.py ("max_running_request is zero").
    void share_requests() {
        const u64 each = read_.sequences / read_.tp;
        if (read_.sequences != 0 && each == 0) {
            read_.no_split = "--max-running-requests " + std::to_string(read_.sequences) +
                             ": wanted at least one for each of the " + std::to_string(read_.tp) + " ranks";
        }
        read_.sequences = each;
    }

    void finish() {
        read_.no_split = experts_.uneven(read_.tp);
        if (read_.engine == "sglang" && experts_.whole(read_.tp) != (read_.attention_dp ? read_.tp : 1)) {
            read_.flags["ep-size"] = std::to_string(experts_.whole(read_.tp));
        }
        if (read_.engine == "vllm" && expert_parallel_) {
            // each data-parallel rank is one that holds whole requests
            read_.attention_dp = read_.tp == 1 && read_.dp > 1;
            read_.attention_dp ? static_cast<void>(read_.tp = std::exchange(read_.dp, 1))
                               : static_cast<void>(read_.flags["enable-expert-parallel"]);
        }
        if (read_.engine == "sglang" && read_.attention_dp) {
            if (read_.dp != read_.tp) {
                problem_ = Problem{Trouble::unknown, "--dp-size", '"' + std::to_string(read_.dp) + '"',
                                   "as many as tensor ranks: of fewer, under attention DP, no rules are known", {}};
            }
            share_requests();
            read_.dp = 1;
        }
        if (read_.engine == "llamacpp") {
            devices_.take_into(read_);
            take_slots();
            read_.flags.emplace("cache-type-k", "f16");
            read_.flags.emplace("cache-type-v", "f16");
            read_.tokens = read_.flags.count("kv-unified") != 0 ? context_ : context_ / read_.sequences;
        }
        if (read_.model.empty() && !problem_) {
            refuse("model", "", "the model that is served");
        }
    }

    const std::vector<std::string>& words_;
    std::size_t at_ = 0;
    Launch read_{};
    std::vector<Note> notes_;
    bool expert_parallel_ = false;
    LaunchExperts experts_{};
    PrintedFiles files_;
    std::map<LaunchField, std::string> filed_;  ///< what the file said
    std::string* several_ = nullptr;
    LlamaDevices devices_{};
    u64 context_ = 0;
};

}  // namespace kvcap::inline v1::io
