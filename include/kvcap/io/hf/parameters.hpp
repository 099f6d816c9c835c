// SPDX-License-Identifier: MIT
// How many parameters does a config describe? Matrices from the same keys that decide the cache, the rest
// from the family's traits. Dense, mixture-of-experts and MLA decoders; other families are refused. Always an
// assumption.
#pragma once

#include <algorithm>
#include <iterator>
#include <kvcap/io/grouped.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/hf/traits.hpp>
#include <kvcap/io/weights.hpp>

namespace kvcap::inline v1::hf {

class Counter {
public:
    /// tied: what holds where the decoder does not say whether its head is its embedding.
    Counter(Lowering& in, const Traits& own, bool tied) : in_{in}, own_{own}, tied_unsaid_{tied} {}

    Weights count() {
        const ModelSpec& spec = in_.model.spec;
        all_ = Weights{.source = WeightSource::derived, .layers = spec.layers};
        width_ = in_.width();
        experts_ =
            in_.optional_size({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
        if (lacks_experts()) {
            return {};
        }
        read_biases();
        for (const Cache& cache : spec.caches) {
            layer(cache.layer, spec.form_of(cache));
        }
        outside();
        return std::move(all_);
    }

private:
    /// A mixture whose config does not say of how many experts: its class's own number is not known here.
    bool lacks_experts() const {
        constexpr std::string_view mixtures[] = {"mixtral",    "gpt_oss",     "deepseek_v3", "deepseek_v32", "kimi_k2",
                                                 "qwen3_next", "llama4_text", "minimax_m2",  "dbrx"};
        const bool mixture = own_.type.find("moe") != std::string_view::npos ||
                             std::find(std::begin(mixtures), std::end(mixtures), own_.type) != std::end(mixtures);
        bool said = false;
        for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts",
                                "ffn_config"}) {
            said = said || in_[key].given();
        }
        return mixture && !said;
    }
    void add(WeightPart part, u32 layer, u64 parameters, u32 heads = 0) {
        if (parameters != 0) {
            all_.add({.part = part,
                      .layer = layer,
                      .heads = heads,
                      .parameters = parameters,
                      .bytes = 2 * parameters});
        }
    }
    void read_biases() {
        const bool attention = own_.bias_keys && in_.flag("attention_bias", false);
        qkv_bias_ = attention || own_.qkv_bias || in_.flag("use_qkv_bias", false) ||
                    (!own_.bias_keys && own_.type != "gpt_oss" && in_.flag("attention_bias", false));
        out_bias_ = (attention && in_.type() != "seed_oss") || own_.out_bias;
        mlp_bias_ = own_.mlp_bias || (own_.bias_keys && in_.flag("mlp_bias", false));
        if (in_.type() == "falcon" && in_.flag("bias", false)) {
            qkv_bias_ = out_bias_ = mlp_bias_ = true;
        }
        if (in_.type() == "starcoder2" && in_["use_bias"].is_false()) {
            qkv_bias_ = out_bias_ = mlp_bias_ = false;
        }
    }

    void layer(u32 i, const LayerForm& form) {
        if (form.kind == Kind::index) {
            return index_keys(i, form.streams[0].width);
        }
        if (form.retention.keep == Keep::last) {
            return state(i, form);
        }
        form.kind == Kind::latent ? latent(i, form) : heads(i, form);
        const u64 norm = width_ * (own_.norm_bias ? 2 : 1);
        u64 norms = own_.norms;
        if (in_.type() == "falcon" && in_.flag("new_decoder_architecture", false) &&
            in_["num_ln_in_parallel_attn"].whole() != 1) {
            norms = 2;
        }
        if ((in_.type() == "falcon" && !in_.flag("parallel_attn", true)) ||
            (in_.type() == "phimoe" && own_.norms == 2)) {
            norms = 2;
        }
        add(WeightPart::whole, i, norms * norm);
        is_sparse(i) ? mixture(i) : dense(i);
    }

    /// A state's projections, convolution and gates. Hybrid layers have norms and an MLP like the others.
    void state(u32 i, const LayerForm& form) {
        const Stream& matrix = form.streams[form.streams.size() - 1];
        u64 channels = 0;
        for (const Stream& stream : form.streams) {
            channels += stream.role == Role::conv ? u64{stream.heads} * stream.width : 0;
        }
        const u64 taps = form.streams[0].rows + 1u;
        const u64 heads = matrix.heads;
        if (form.kind == Kind::gated_delta) {
            const u64 values = heads * matrix.rows;
            add(WeightPart::attention, i,
                width_ * (channels + values + 2 * heads) + channels * taps + 2 * heads + values * width_);
            add(WeightPart::whole, i, matrix.rows + 2 * width_);
            return is_sparse(i) ? mixture(i) : dense(i);
        }
        if (form.kind == Kind::mamba2) {
            const u64 inner = heads * matrix.rows;
            add(WeightPart::attention, i,
                width_ * (inner + channels + heads) + channels * (taps + 1) + 3 * heads + inner +
                    inner * width_);
        } else if (form.kind == Kind::mamba1) {
            const u64 given = in_["time_step_rank"].whole();
            const u64 rank = given == 0 ? ceil_div(width_, 16) : given;
            const u64 inner = heads;
            add(WeightPart::attention, i,
                2 * width_ * inner + inner * (taps + 1) + inner * (rank + 2 * u64{matrix.width}) +
                    rank * inner + inner + inner * matrix.width + inner + inner * width_);
        }
        add(WeightPart::whole, i, width_);
    }

    /// q, k, v and output projections, their biases, and norms of queries and keys.
    void heads(u32 i, const LayerForm& form) {
        const Stream& key = form.streams[0];
        const Stream& value = form.streams[1];
        const u64 query = in_.heads();
        const u64 keys = u64{key.heads} * key.width + u64{value.heads} * value.width;
        add(WeightPart::keys, i, keys * (width_ + (qkv_bias_ ? 1 : 0)), key.heads);
        add(WeightPart::attention, i,
            query * key.width * (width_ + (qkv_bias_ ? 1 : 0)) + query * value.width * width_);
        add(WeightPart::whole, i, out_bias_ ? width_ : 0);
        const bool head_norm =
            own_.qk == QkNorm::head || (in_.type() == "glm4_moe" && in_.flag("use_qk_norm", false));
        const u64 whole = query * key.width + u64{key.heads} * key.width;
        add(WeightPart::whole, i, own_.qk == QkNorm::whole ? whole : head_norm ? 2 * u64{key.width} : 0);
        add(WeightPart::attention, i,
            in_.type() == "gpt_oss" ? query
            : own_.output_gate      ? query * key.width * width_
                                    : 0);
    }

    void latent(u32 i, const LayerForm& form) {
        const u64 rank = form.streams[0].width;
        const u64 rope = form.streams.size() > 1 ? form.streams[1].width : 0;
        const u64 nope = in_.size({"qk_nope_head_dim"}, 128);
        const u64 value = in_.size({"v_head_dim"}, 128);
        const u64 heads = in_.heads();
        const u64 low = in_.optional_size({"q_lora_rank"});
        const u64 bias = qkv_bias_ ? 1 : 0;
        add(WeightPart::whole, i,
            (rank + rope) * (width_ + bias) + rank + (low == 0 ? 0 : low * (width_ + bias) + low));
        add(WeightPart::attention, i,
            heads * (nope + rope) * (low == 0 ? width_ : low) + rank * heads * (nope + value) +
                heads * value * width_);
        add(WeightPart::whole, i, out_bias_ ? width_ : 0);
    }

    /// The indexer of DSA: queries from the low rank, one key with a layer norm, a weight per index head.
    void index_keys(u32 i, u64 dim) {
        const u64 low = in_.optional_size({"q_lora_rank"});
        const u64 heads = in_.model.index.heads;
        add(WeightPart::whole, i, low * heads * dim + width_ * dim + 2 * dim + width_ * heads);
    }

    bool is_sparse(u32 i) const {
        if (experts_ == 0) {
            return false;
        }
        const JsonValue kinds = in_["mlp_layer_types"];
        const JsonValue freq = in_["moe_layer_freq"];
        const JsonValue dense_first = in_["first_k_dense_replace"];
        bool sparse = i >= (dense_first.given() ? dense_first.whole() : own_.dense_first);
        if (freq.is_whole() && freq.whole() > 1) {
            sparse = sparse && i % freq.whole() == 0;
        }
        const u64 step = larger(in_["decoder_sparse_step"].whole(), in_["interleave_moe_layer_step"].whole());
        sparse = sparse && (step < 2 || (i + 1) % step == 0);
        in_["mlp_only_layers"].each(
            [&](u32, std::string_view, JsonValue only) { sparse = sparse && only.whole() != i; });
        kinds.each([&](u32 at, std::string_view, JsonValue kind) {
            sparse = at == i ? kind.text() == "sparse" : sparse;
        });
        freq.each(
            [&](u32 at, std::string_view, JsonValue flag) { sparse = at == i ? flag.whole() != 0 : sparse; });
        return sparse;
    }

    u64 feed_forward(u64 inner) const {
        const u64 up = own_.gate ? 2 : 1;
        return up * inner * (width_ + (mlp_bias_ ? 1 : 0)) + inner * width_;
    }
    u64 inner_width() {
        const Keys usual{"intermediate_size", "ffn_hidden_size", "n_inner"};
        const Keys falcons{"ffn_hidden_size"};
        const Keys& keys = in_.type() == "falcon" ? falcons : usual;
        if (!in_.first(keys).given() && !own_.gate) {
            return 4 * width_;
        }
        const u64 given = in_.size(keys);
        return in_.type() == "qwen" ? given / 2 : given;
    }
    void dense(u32 i) {
        const JsonValue wide = in_["intermediate_size_mlp"];  // Llama 4
        add(WeightPart::dense, i, feed_forward(wide.is_whole() ? wide.whole() : inner_width()));
        add(WeightPart::whole, i, mlp_bias_ ? width_ : 0);
    }
    void mixture(u32 i) {
        const bool narrow = in_["moe_intermediate_size"].is_whole() && !own_.wide_experts;
        const u64 inner = narrow ? in_["moe_intermediate_size"].whole() : inner_width();
        const bool oss = in_.type() == "gpt_oss";
        add(WeightPart::experts, i, experts_ * (feed_forward(inner) + (oss ? 2 * inner + width_ : 0)));
        add(WeightPart::whole, i, experts_ * (width_ + (oss ? 1 : 0)));
        const bool corrected = in_["topk_method"].text() == "noaux_tc" || in_.type() == "glm4_moe" ||
                               in_.type() == "glm4_moe_lite" || in_.type() == "glm_moe_dsa" ||
                               in_.type() == "deepseek_v3" || in_.type() == "deepseek_v32" ||
                               in_.type() == "kimi_k2" || in_.type() == "minimax_m2";
        add(WeightPart::whole, i, corrected ? experts_ : 0);
        const bool shares = in_.type().substr(0, 4) != "qwen" && !own_.wide_experts;
        const u64 shared = in_.type() == "llama4_text" ? inner
                           : shares                    ? in_.optional_size({"n_shared_experts"}) * inner
                                                       : 0;
        const u64 gated = in_.optional_size({"shared_expert_intermediate_size"});
        add(WeightPart::dense, i, shared != 0 ? feed_forward(shared) : gated != 0 ? feed_forward(gated) : 0);
        add(WeightPart::whole, i, gated != 0 ? width_ : 0);
    }

    void outside() {
        const u64 vocabulary = in_.size({"vocab_size", "padded_vocab_size"}, 0, 1, u64{1} << 28);
        all_.tied = in_.flag("tie_word_embeddings", tied_unsaid_) && !own_.head_bias;
        add(WeightPart::embedding, no_layer, vocabulary * width_);
        add(WeightPart::head, no_layer,
            all_.tied ? 0 : vocabulary * width_ + (own_.head_bias ? vocabulary : 0));
        if (in_.type() == "phimoe" && in_.flag("lm_head_bias", false)) {
            add(WeightPart::head, no_layer, vocabulary);
        }
        add(WeightPart::embedding, no_layer,
            own_.positions ? width_ * in_.size({"n_positions", "n_ctx"}, 1024) : 0);
        add(WeightPart::whole, no_layer, u64{own_.last_norms} * width_ * (own_.norm_bias ? 2 : 1));
    }

    Lowering& in_;
    const Traits& own_;
    bool tied_unsaid_ = false;
    Weights all_{};
    u64 width_ = 0;
    u64 experts_ = 0;
    bool qkv_bias_ = false;
    bool out_bias_ = false;
    bool mlp_bias_ = false;
};

}  // namespace kvcap::inline v1::hf

namespace kvcap::inline v1 {

/// Weights that a config describes, in 16 bits: without draft layers and encoders. Refused where no formula
/// is known.
inline Diagnosed<Weights> derived_weights(std::string_view json_text) {
    const Diagnosed<JsonDocument> document = load_json(json_text);
    if (!document) {
        return *document.error;
    }
    const hf::Decoder decoder = hf::find_decoder(root_of(*document));
    const hf::Family* family = hf::family_of(decoder.type);
    const std::string_view inside = hf::decoder_of(decoder.type);
    family = family == nullptr && !inside.empty() ? hf::family_of(inside) : family;
    const hf::Traits* traits = family == nullptr ? nullptr : hf::traits_of(family->type);
    if (traits == nullptr) {
        return Problem{Trouble::unknown, decoder.where + "/model_type", '"' + std::string{decoder.type} + '"',
                       "a family whose parameters can be counted", "give the weights' bytes"};
    }
    if (std::optional<Problem> problem = hf::wrong_key(root_of(*document), decoder)) {
        return *std::move(problem);
    }
    hf::Lowering in{decoder.block, decoder.where, *family};
    family->lower(in);
    const JsonValue outer = root_of(*document)["tie_word_embeddings"];  // of a wrapper, where its decoder says none
    const bool tied = outer.is_true() || (!outer.is_false() && traits->tied);
    Weights weights = in.problem ? Weights{} : hf::Counter{in, *traits, tied}.count();
    if (in.problem) {
        return *std::move(in.problem);
    }
    Diagnosed<Weights> result{std::move(weights)};
    result.notes.push_back(
        {Origin::assumed, decoder.where,
         io::grouped(result->parameters) +
             " parameters derived from the config, 16 bits each; draft layers and encoders not counted"});
    return result;
}

}  // namespace kvcap::inline v1
