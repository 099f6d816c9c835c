// SPDX-License-Identifier: MIT
// Context ranks of vLLM: since when, for which backends and caches, and among which heads.
#include "engine_vllm_context.hpp"

#include "engine_vllm_version.hpp"

namespace kvcap::cli {

namespace {

/// vLLM's conditions on context ranks where keys and values have heads: as many copies of each KV head as context
/// ranks, and query heads of each divided among them. Source: ModelConfig.verify_with_parallel_config.
std::string heads_words(const ModelSpec& model, const Sharding& sharding) {
    for (const LayerForm& form : model.forms) {
        const u64 heads = form.kind == Kind::attention && !form.streams.empty() ? form.streams[0].heads : 0;
        if (heads == 0) {
            continue;
        }
        const u64 copies = sharding.tp / heads;
        if (copies < sharding.cp) {
            return fmt::format("{} context ranks (--decode-context-parallel-size) share copies of KV heads, and {} "
                               "tensor ranks make {} of each of {}",
                               sharding.cp, sharding.tp, report::counted(larger(copies, 1), "copy", "copies"), heads);
        }
        if (const u64 queries = model.query_heads / heads; queries % sharding.cp != 0) {
            return fmt::format("{} query heads to a KV head cannot be dealt to {} context ranks", queries, sharding.cp);
        }
    }
    return {};
}

/// "; the first with them is vLLM 0.10.2", with its day where the rules are a day's.
std::string first_words(const vllm::Rules& rules, const vllm::Since& since) {
    return fmt::format("; the first with them is vLLM 0.{}.{}{}", since.release, since.patch,
                       rules.release == 0 ? fmt::format(" of {}", day_text(since.day)) : "");
}

std::string unshared_words(vllm::Unshared why, const vllm::Rules& rules, const std::string& backend) {
    constexpr const char* flag = "context ranks (--decode-context-parallel-size)";
    switch (why) {
        case vllm::Unshared::none: break;
        case vllm::Unshared::version:
            return fmt::format("{} has no {}{}", name_of(rules), flag,
                               first_words(rules, vllm::first_context_ranks));
        case vllm::Unshared::backend: {
            const vllm::Since* since = vllm::shared_since(backend.c_str());
            return fmt::format("{} of {} has no {}: its decode returns no log-sum-exp to join them by{}", backend,
                               name_of(rules), flag,
                               since == nullptr ? std::string{} : first_words(rules, *since));
        }
        case vllm::Unshared::fp8_latents:
            return fmt::format("{} has no {} over latents in fp8{}", name_of(rules), flag,
                               first_words(rules, vllm::first_fp8_context_ranks));
    }
    return {};
}

void refuse(EngineAnswer& answer, std::string words, const Error& error) {
    answer.refusal = std::move(words);
    answer.error = error;
}

}  // namespace

void refuse_context(const EngineQuestion& question, const vllm::Rules& rules, vllm::KvDtype dtype,
                    EngineAnswer& answer) {
    const Sharding& split = question.sharding;
    const ModelSpec& model = question.model->read.spec;
    if (split.cp < 2) {
        return;
    }
    const vllm::Unshared why =
        vllm::unshared(rules, answer.backend.c_str(), vllm::has_kind(model, Kind::latent), dtype);
    const bool by_layers = vllm::has_kind(model, Kind::compressor);  // DeepSeek-V4's are asked for no log-sum-exp
    if (why != vllm::Unshared::none && !(by_layers && why == vllm::Unshared::backend)) {
        constexpr vllm::Reason reason = vllm::Reason::context_parallel_unsupported;
        answer.reason = vllm::name_of(reason);
        return refuse(answer, unshared_words(why, rules, answer.backend), vllm::error_of({.reason = reason}));
    }
    if (split.tp % split.cp != 0) {
        return;
    }
    if (std::string words = heads_words(model, split); !words.empty()) {
        refuse(answer, std::move(words), {.code = Errc::not_divisible, .got = split.tp, .want = split.cp});
    }
}

}  // namespace kvcap::cli
