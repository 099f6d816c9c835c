// SPDX-License-Identifier: MIT
// Which flags of launch lines say nothing about the memory of caches and weights, and which of them take no value?
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace kvcap::inline v1::io {

/// By the names under which they are kept, without dashes; "log_level" is trtllm-serve's. dtype: of 16 bits, others are
/// refused; attn-cp-size and its like: of 1.
inline constexpr std::string_view harmless[] = {
    "dtype", "enable-chunked-prefill",
    "host", "port", "api-key", "served-model-name", "seed", "random-seed", "alias", "log-level", "log-level-http",
    "uvicorn-log-level", "tool-call-parser", "reasoning-parser", "chat-template", "tokenizer", "tokenizer-path",
    "tokenizer-mode", "download-dir", "threads", "threads-batch", "generation-config", "allowed-origins",
    "root-path", "ssl-keyfile", "ssl-certfile", "stream-interval", "watchdog-timeout", "log-file", "middleware",
    "allowed-methods", "allowed-headers", "response-role", "chat-template-content-format",
    "override-generation-config", "structured-outputs-config", "guided-decoding-backend", "grammar-backend",
    "constrained-json-whitespace-pattern", "max-log-len", "max-logprobs", "scheduling-policy", "schedule-policy",
    "schedule-conservativeness", "api-server-count", "tokenizer-revision", "tokenizer-worker-num", "revision",
    "code-revision", "load-format", "use-tqdm-on-load", "otlp-traces-endpoint", "kv-events-config",
    "log-requests-level", "decode-log-interval", "dist-init-addr", "nccl-init-addr", "nccl-port", "dist-timeout",
    "nnodes", "node-rank", "master-addr", "master-port", "distributed-executor-backend",
    "distributed-timeout-seconds", "data-parallel-address", "data-parallel-rpc-port", "data-parallel-backend",
    "base-gpu-id", "gpu-id-step", "numa-node", "sampling-backend", "long-prefill-token-threshold",
    "tool-parser-plugin", "reasoning-parser-plugin", "uds", "ssl-ca-certs", "ssl-cert-reqs", "crash-dump-folder",
    "weight-version", "preferred-sampling-params", "completion-template", "log_level", "threads-http", "timeout",
    "chat-template-file", "reasoning-format", "reasoning-budget", "slot-save-path", "numa", "prio", "hf-file",
    "main-gpu", "cache-reuse", "defrag-thold", "keep", "temperature", "frequency-penalty", "mirostat", "grammar",
    "api-key-file", "api-prefix", "hf-token", "rope-scaling", "rope-scale", "rope-freq-base", "rope-freq-scale",
    "yarn-orig-ctx", "temp", "top-k", "top-p", "min-p", "repeat-penalty", "presence-penalty", "n-predict",
    "verbosity", "attn-cp-size", "attention-context-parallel-size", "dcp-size", "decode-context-parallel-size",
};

/// Those without a value.
inline constexpr std::string_view harmless_switches[] = {
    "trust-remote-code", "jinja", "disable-log-requests", "disable-log-stats", "enable-log-requests",
    "enable-auto-tool-choice", "enable-metrics", "metrics", "no-webui", "verbose",
    "enable-log-outputs", "enable-server-load-tracking", "disable-uvicorn-access-log", "disable-fastapi-docs",
    "disable-frontend-multiprocessing", "allow-credentials", "return-tokens-as-token-ids", "log-requests",
    "show-time-cost", "enable-cache-report", "collect-tokens-histogram", "skip-server-warmup",
    "skip-tokenizer-init", "headless", "enable-mixed-chunk", "calculate-kv-scales", "disable-cascade-attn",
    "enable-prompt-tokens-details", "enable-force-include-usage", "enable-request-id-headers", "sleep-on-idle",
    "cont-batching", "no-cont-batching", "slots", "no-slots", "props", "no-jinja", "mlock", "mmap", "no-mmap",
    "no-warmup", "context-shift", "no-context-shift", "cache-prompt", "no-cache-prompt", "ignore-eos", "webui",
    "log-prefix", "log-timestamps", "offline",
};

/// Those that take one value and more.
inline constexpr std::string_view harmless_lists[] = {"served-model-name", "api-key", "allowed-origins", "middleware"};

constexpr bool is_harmless_switch(std::string_view name) {
    return std::find(std::begin(harmless_switches), std::end(harmless_switches), name) != std::end(harmless_switches);
}

constexpr bool is_harmless(std::string_view name) {
    return is_harmless_switch(name) || std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless);
}

/// Whether the engine's parser may take this word, without dashes, for a longer flag that begins so: Python's argparse
/// does, where the word is no flag itself and no other begins so.
constexpr bool may_abbreviate(std::string_view engine, std::string_view word) {
    return (engine == "vllm" || engine == "sglang") && word.size() > 2 && !is_harmless(word);
}

constexpr bool takes_several(std::string_view name) {
    return !is_harmless(name) ||
           std::find(std::begin(harmless_lists), std::end(harmless_lists), name) != std::end(harmless_lists);
}

}  // namespace kvcap::inline v1::io
