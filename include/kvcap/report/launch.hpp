// SPDX-License-Identifier: MIT
// The launch line of a deployment, with everything that was evaluated: split, lengths, memory share, storage,
// blocks. io/launch.hpp reads it back to the same value.
#pragma once

#include <fmt/format.h>
#include <kvcap/io/launch.hpp>

namespace kvcap::inline v1::report {

/// A word for a shell: quoted when a shell would change it.
inline std::string shell_word(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
        return word;
    }
    std::string out = "'";
    for (const char c : word) {
        out += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return out + "'";
}

/// Names without dashes are the engine's own; those with them are said as they were written.
inline std::string other_flags(const Launch& launch) {
    std::string out;
    for (const auto& [name, value] : launch.flags) {
        std::string own = name.starts_with('-') ? name : "--" + name;
        if (launch.engine == "trtllm" && own.size() > name.size()) {
            std::replace(own.begin() + 2, own.end(), '-', '_');
        }
        out += ' ' + shell_word(own);
        for (std::size_t at = 0; at < value.size();) {
            const std::size_t end = smaller(value.find(launch_values, at), value.size());
            out += ' ' + shell_word(value.substr(at, end - at));
            at = end + 1;
        }
    }
    return out;
}

/// " --flag N", or nothing when it is not said and the engine decides.
inline std::string said_number(std::string_view flag, u64 number) {
    return number == 0 ? std::string{} : fmt::format(" {} {}", flag, number);
}

inline std::string vllm_line(const Launch& l) {
    std::string out = fmt::format(
        "vllm serve {} --tensor-parallel-size {} --pipeline-parallel-size {} --data-parallel-size {}",
        shell_word(l.model), l.attention_dp ? 1 : l.tp, l.pp, l.attention_dp ? l.tp : l.dp);
    out += l.cp > 1 ? fmt::format(" --decode-context-parallel-size {}", l.cp) : "";
    out += l.attention_dp ? " --enable-expert-parallel" : "";
    out += said_number("--max-model-len", l.tokens) + said_number("--max-num-seqs", l.sequences);
    out += " --kv-cache-dtype " + l.dtype;
    out += l.util.empty() ? "" : " --gpu-memory-utilization " + l.util;
    out += l.budget.empty() ? "" : " --kv-cache-memory-bytes " + l.budget;
    return out + other_flags(l);
}

inline std::string sglang_line(const Launch& l) {
    std::string out =
        fmt::format("python -m sglang.launch_server --model-path {} --tp-size {} --pp-size {} --dp-size {}",
                    shell_word(l.model), l.tp, l.pp, l.attention_dp ? l.tp : l.dp);
    out += l.attention_dp ? " --enable-dp-attention" : "";
    out += l.attention_dp && l.flags.count("ep-size") == 0 ? fmt::format(" --ep-size {}", l.tp) : "";
    out += said_number("--context-length", l.tokens);
    out += said_number("--max-running-requests", saturating_product(l.sequences, l.attention_dp ? l.tp : 1));
    out += " --kv-cache-dtype " + l.dtype;
    out += l.util.empty() ? "" : " --mem-fraction-static " + l.util;
    return out + other_flags(l);
}

/// Over which devices: without any of it llama-server takes all that it sees, by layers.
inline std::string llama_devices(const Launch& l) {
    if (!l.over_all.empty()) {
        return l.over_all == "layer" ? "" : " -sm " + l.over_all;
    }
    const u32 devices = static_cast<u32>(larger(l.tp, l.pp));
    std::string parts = "1";
    for (u32 i = 1; i < devices; ++i) {
        parts += ",1";
    }
    return devices == 1 ? " -sm none" : fmt::format(" -sm {} -ts {}", l.tp > 1 ? "tensor" : "layer", parts);
}

inline std::string llama_line(Launch l) {
    const auto layers = l.flags.find("n-gpu-layers");
    const auto cells = l.flags.find("ctx-size");
    std::string out = "llama-server -m " + shell_word(l.model);
    out += cells == l.flags.end() ? "" : " -c " + cells->second;
    out += fmt::format(" -np {} -ngl {}", l.sequences, layers == l.flags.end() ? "999" : layers->second);
    out += llama_devices(l);
    out += fmt::format(" -ctk {} -ctv {}", l.flags["cache-type-k"], l.flags["cache-type-v"]);
    for (const char* said : {"ctx-size", "cache-type-k", "cache-type-v", "n-gpu-layers"}) {
        l.flags.erase(said);
    }
    return out + other_flags(l);
}

/// What trtllm-serve has no flag for goes into a YAML file that the line writes first.
inline std::string trtllm_line(Launch l) {
    std::string cache = "dtype: " + l.dtype;
    cache += l.util.empty() ? "" : ", free_gpu_memory_fraction: " + l.util;
    cache += l.budget.empty() ? "" : ", max_gpu_total_bytes: " + l.budget;
    for (const io::TrtllmKey& each : io::trtllm_keys) {
        const auto found = l.flags.find(each.flag);
        if (each.in == "kv_cache_config" && found != l.flags.end()) {
            cache += fmt::format(", {}: {}", each.key, found->second);
            l.flags.erase(found);
        }
    }
    std::string yaml = "kv_cache_config: {" + cache + "}\\n";
    yaml += l.attention_dp ? "enable_attention_dp: true\\n" : "";
    std::string out = fmt::format("printf '{}' > kvcap.yaml && trtllm-serve {} --tp_size {} --pp_size {}",
                                  yaml, shell_word(l.model), l.tp, l.pp);
    out += l.attention_dp ? fmt::format(" --ep_size {}", l.tp) : "";
    out += said_number("--max_seq_len", l.tokens) + said_number("--max_batch_size", l.sequences);
    return out + other_flags(l) + " --extra_llm_api_options kvcap.yaml";
}

/// One line, without its end. pre: the engine is one of the four
inline std::string launch_line(const Launch& launch) {
    const std::string line = launch.engine == "vllm"       ? vllm_line(launch)
                             : launch.engine == "sglang"   ? sglang_line(launch)
                             : launch.engine == "llamacpp" ? llama_line(launch)
                                                           : trtllm_line(launch);
    const std::string_view longer = io::longer_variable(launch.engine);
    const std::string before = launch.longer_allowed && !longer.empty() ? fmt::format("{}=1 ", longer) : "";
    return before + line + (launch.servers > 1 ? fmt::format(" # {} servers", launch.servers) : "");
}

}  // namespace kvcap::inline v1::report
