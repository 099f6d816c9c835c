#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tiny random models of many types in transformers and compares the elements in their caches with kvcap's.

    python3 -m venv venv && venv/bin/pip install torch transformers
    g++ -O1 -std=c++20 -I include tests/peers/transformers/elements.cpp -o elements
    venv/bin/python tests/peers/transformers/compare.py ./elements [MODEL_TYPE...]

Per layer: numel of every tensor of the cache after a prompt of 20 tokens. Conventions of transformers (windows of span - 1
tokens, kernel-wide convolution buffers) are applied by elements.cpp. Known differences, each settled
from the model's source, are in KNOWN. Exit 1 when another one appears.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402

TOKENS = 20
ENCODER_TOKENS = 12
BASE = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=128, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)
MOE = dict(num_experts=4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, n_routed_experts=4,
           n_shared_experts=1, n_group=1, topk_group=1)
MLA = dict(kv_lora_rank=32, q_lora_rank=24, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=16, num_key_value_heads=4,
           first_k_dense_replace=1)
GPT = dict(n_embd=64, n_head=4, n_layer=4, n_positions=64, vocab_size=128, n_inner=96, rotary_dim=8, bos_token_id=1,
           eos_token_id=2)
MAMBA2 = dict(mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=2, mamba_expand=2, mamba_d_conv=4,
              mamba_chunk_size=8)
LINEAR = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16,
              linear_conv_kernel_dim=4)
SEQ = dict(d_model=64, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4,
           encoder_ffn_dim=96, decoder_ffn_dim=96, vocab_size=128, max_position_embeddings=64, pad_token_id=0,
           bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)

# (model_type, settings): None removes a key of BASE.
CASES = [
    ("llama", {}), ("llama", dict(head_dim=32)), ("arcee", {}), ("apertus", {}), ("bitnet", {}), ("helium", dict(head_dim=16)),
    ("granite", {}), ("granitemoe", MOE), ("granitemoeshared", MOE), ("olmo", {}), ("olmo2", {}), ("olmoe", MOE),
    ("flex_olmo", MOE), ("diffllama", {}), ("ernie4_5", dict(head_dim=16)), ("ernie4_5_moe", dict(MOE, moe_num_experts=4, moe_k=2)),
    ("glm", dict(head_dim=16)), ("glm4", dict(head_dim=16)), ("glm4_moe", MOE), ("nemotron", dict(head_dim=16)), ("nanochat", {}),
    ("seed_oss", dict(head_dim=16)), ("smollm3", {}), ("smollm3", dict(use_sliding_window=True, sliding_window=8)), ("stablelm", {}),
    ("phi", {}), ("phi3", {}), ("phi3", dict(sliding_window=8)), ("phimoe", MOE), ("starcoder2", {}), ("starcoder2", dict(sliding_window=8)),
    ("mistral", dict(sliding_window=8)), ("mistral", dict(sliding_window=None)), ("ministral", dict(sliding_window=8, head_dim=16)),
    ("ministral3", dict(head_dim=32)), ("mixtral", dict(MOE, sliding_window=8)), ("cohere", {}), ("cohere2", dict(sliding_window=8)),
    ("cwm", dict(sliding_window=8, head_dim=16)), ("dots1", dict(MOE, sliding_window=8, max_window_layers=3)),
    ("exaone4", dict(sliding_window=8)), ("exaone_moe", dict(MOE, sliding_window=8)), ("gemma", dict(head_dim=32)),
    ("gemma2", dict(head_dim=32, sliding_window=8)), ("gemma3_text", dict(head_dim=32, sliding_window=8)),
    ("gemma3n_text", dict(head_dim=32, sliding_window=8, num_hidden_layers=10, num_kv_shared_layers=4, hidden_size_per_layer_input=16,
                          vocab_size_per_layer_input=128, laurel_rank=8, intermediate_size=[96] * 10)),
    ("gemma4_text", dict(head_dim=32, global_head_dim=64, sliding_window=8, num_hidden_layers=8, hidden_size_per_layer_input=16,
                         vocab_size_per_layer_input=128)),
    ("gemma4_text", dict(head_dim=32, global_head_dim=64, sliding_window=8, num_hidden_layers=8, hidden_size_per_layer_input=16,
                         vocab_size_per_layer_input=128, attention_k_eq_v=True, num_global_key_value_heads=1)),
    ("gemma4_text", dict(head_dim=32, sliding_window=8, num_hidden_layers=12, num_kv_shared_layers=4, hidden_size_per_layer_input=16,
                         vocab_size_per_layer_input=128)),
    ("vaultgemma", dict(head_dim=32, sliding_window=8)), ("gpt_oss", dict(MOE, head_dim=32, sliding_window=8)),
    ("olmo3", dict(sliding_window=8)), ("afmoe", dict(MOE, head_dim=16, sliding_window=8, num_dense_layers=1)),
    ("laguna", dict(MOE, head_dim=16, sliding_window=8, shared_expert_intermediate_size=32)),
    ("mimo_v2_flash", dict(MOE, head_dim=32, v_head_dim=16, sliding_window=9, num_hidden_layers=8)),
    ("llama4_text", dict(MOE, head_dim=16, attention_chunk_size=8, num_hidden_layers=8, intermediate_size_mlp=96)),
    ("qwen2", {}), ("qwen2", dict(use_sliding_window=True, sliding_window=8, max_window_layers=3)),
    ("qwen2_moe", dict(MOE, use_sliding_window=True, sliding_window=8, max_window_layers=3, shared_expert_intermediate_size=32)),
    ("qwen3", dict(head_dim=32)), ("qwen3_moe", dict(MOE, head_dim=32)),
    ("gpt2", GPT), ("gptj", GPT), ("codegen", GPT), ("gpt_bigcode", GPT), ("gpt_bigcode", dict(GPT, multi_query=False)),
    ("gpt_neox", dict(num_key_value_heads=None)), ("gpt_neo", dict(hidden_size=64, num_layers=4, num_heads=4, vocab_size=128,
     attention_types=[[["global", "local"], 2]], window_size=8, max_position_embeddings=64, intermediate_size=96)),
    ("opt", dict(num_key_value_heads=None, ffn_dim=96, word_embed_proj_dim=64)), ("bloom", dict(hidden_size=64, n_layer=4, n_head=4, vocab_size=128)),
    ("biogpt", dict(num_key_value_heads=None)), ("persimmon", dict(num_key_value_heads=None)), ("xglm", dict(d_model=64, num_layers=3, attention_heads=4, ffn_dim=96, vocab_size=128)),
    ("falcon", dict(num_key_value_heads=None, new_decoder_architecture=True, num_kv_heads=2)),
    ("falcon", dict(num_key_value_heads=None)), ("falcon", dict(num_key_value_heads=None, multi_query=False)),
    ("mpt", dict(d_model=64, n_heads=4, n_layers=3, vocab_size=128, expansion_ratio=2, max_seq_len=64)),
    ("dbrx", dict(d_model=64, n_heads=4, n_layers=3, vocab_size=128, max_seq_len=64, attn_config=dict(kv_n_heads=2, clip_qkv=8),
                  ffn_config=dict(ffn_hidden_size=32, moe_num_experts=4, moe_top_k=2))),
    ("jetmoe", dict(num_key_value_heads=2, num_experts_per_tok=2, kv_channels=16, num_local_experts=4, num_attention_heads=None)),
    ("deepseek_v2", dict(MLA, **MOE)), ("deepseek_v3", dict(MLA, **MOE)), ("glm4_moe_lite", dict(MLA, **MOE)),
    ("longcat_flash", dict(MLA, head_dim=8, num_layers=2, num_hidden_layers=None, ffn_hidden_size=96, expert_ffn_hidden_size=32, moe_topk=2,
                           n_routed_experts=4, zero_expert_num=2)),
    ("deepseek_v32", dict(MLA, **MOE, index_head_dim=16, index_n_heads=2, index_topk=8)),
    ("glm_moe_dsa", dict(MLA, **MOE, index_head_dim=16, index_n_heads=2, index_topk=8)),
    ("minimax_m2", dict(MOE, head_dim=16)),
    ("mamba", dict(hidden_size=64, num_hidden_layers=3, state_size=8, vocab_size=128)),
    ("falcon_mamba", dict(hidden_size=64, num_hidden_layers=3, state_size=8, vocab_size=128)),
    ("mamba2", dict(hidden_size=64, num_hidden_layers=3, state_size=8, vocab_size=128, num_heads=8, head_dim=16, n_groups=2, chunk_size=8)),
    ("jamba", dict(MOE, attn_layer_period=3, attn_layer_offset=1, mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False)),
    ("bamba", dict(MAMBA2, attn_layer_indices=[2])), ("granitemoehybrid", dict(MAMBA2, shared_intermediate_size=32, num_local_experts=0,
     layer_types=["mamba", "mamba", "attention", "mamba", "mamba", "attention"])),
    ("falcon_h1", dict(MAMBA2, mamba_d_ssm=128, head_dim=16)),
    ("zamba", dict(num_hidden_layers=10, n_mamba_heads=2, mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False, num_key_value_heads=4)),
    ("zamba2", dict(num_hidden_layers=8, mamba_d_state=8, n_mamba_heads=4, num_key_value_heads=4, chunk_size=8, use_mamba_kernels=False,
                    layers_block_type=["mamba", "mamba", "hybrid", "mamba", "mamba", "hybrid", "mamba", "mamba"])),
    ("nemotron_h", dict(MOE, hybrid_override_pattern="M-M*-M", head_dim=16, mamba_num_heads=8, mamba_head_dim=16, ssm_state_size=8, n_groups=2,
                        chunk_size=8, num_hidden_layers=None)),
    ("recurrent_gemma", dict(attention_window_size=8, lru_width=64)), ("lfm2", dict(layer_types=["conv", "conv", "full_attention"] * 2)),
    ("qwen3_next", dict(MOE, **LINEAR, head_dim=32, shared_expert_intermediate_size=32, num_hidden_layers=8)),
    ("qwen3_5_text", dict(LINEAR, head_dim=32, num_hidden_layers=8)), ("olmo_hybrid", dict(num_hidden_layers=8)),
    ("minimax", dict(MOE, head_dim=16)),
    ("kimi_linear", dict(MLA, **MOE, linear_attn_config=dict(full_attn_layers=[3, 6], kda_layers=[1, 2, 4, 5], head_dim=16, num_heads=4,
                                                            short_conv_kernel_size=4))),
    ("rwkv", dict(hidden_size=64, num_hidden_layers=3, vocab_size=128, attention_hidden_size=64)),
    ("xlstm", dict(hidden_size=128, num_hidden_layers=2, num_heads=2, vocab_size=128, chunk_size=8)),
    ("bart", SEQ), ("mbart", SEQ), ("pegasus", SEQ), ("blenderbot", SEQ), ("m2m_100", SEQ), ("marian", SEQ), ("plbart", SEQ),
    ("t5", dict(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_decoder_layers=3, num_heads=4, vocab_size=128)),
    ("mt5", dict(d_model=64, d_kv=24, d_ff=96, num_layers=2, num_heads=4, vocab_size=128)),
]

# (model_type, what): settled from the model's source; the numbers of layers and elements still have to be these.
KNOWN = {
    ("falcon", "new_decoder_architecture"): "FalconAttention._split_heads broadcasts K and V to all query heads before it "
                                            "caches them; engines keep num_kv_heads",
    ("recurrent_gemma", ""): "RecurrentGemmaRecurrentBlock keeps conv1d_width - 1 inputs, as serving engines do",
}


def settings_of(own):
    unfit = {"n_embd", "d_model", "n_layer", "state_size", "num_layers"} & set(own) and "num_attention_heads" not in own
    merged = {} if unfit or "hidden_size" in own else dict(BASE)
    merged.update(own)
    return {key: value for key, value in merged.items() if value is not None or key in ("sliding_window",)}


def build(model_type, settings):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(model_type, **settings)
    for attribute in ("_attn_implementation",):
        setattr(config, attribute, "eager")
    kinds = [transformers.AutoModelForCausalLM, transformers.AutoModelForSeq2SeqLM, transformers.AutoModel]
    for kind in kinds[1:] if config.is_encoder_decoder else kinds:
        try:
            return config, kind.from_config(config).eval()
        except ValueError as wrong:
            if "Unrecognized configuration class" not in str(wrong):
                raise
    raise ValueError("no model class")


def tensors_in(value, seen):
    """Elements of all distinct tensors inside a value."""
    if isinstance(value, torch.Tensor):
        if value.numel() == 0 or id(value) in seen or value.dtype in (torch.int64, torch.int32, torch.bool):
            return 0
        seen.add(id(value))
        return value.numel()
    if isinstance(value, dict):
        return sum(tensors_in(item, seen) for item in value.values())
    if isinstance(value, (list, tuple)):
        return sum(tensors_in(item, seen) for item in value)
    return tensors_in(vars(value), seen) if hasattr(value, "__dict__") and not isinstance(value, type) else 0


def per_layer(cache, layers):
    """Elements each layer of a cache object holds."""
    counts = [0] * layers
    for part in ("self_attention_cache", "cross_attention_cache"):
        if hasattr(cache, part):
            for i, layer in enumerate(getattr(cache, part).layers):
                counts[i] += tensors_in(layer, set())
            if part == "cross_attention_cache":
                return counts
    if hasattr(cache, "layers"):
        for i, layer in enumerate(cache.layers):
            counts[i] += tensors_in(layer, set())
        for i, state in enumerate(getattr(cache, "linear_cache", [])):  # minimax
            counts[i] += tensors_in(state, set())
        return counts
    if isinstance(cache, (list, tuple)):  # rwkv: one tensor [batch, width, layers] per state
        for tensor in cache:
            for i in range(layers):
                counts[i] += tensor[..., i].numel()
        return counts
    for name, value in vars(cache).items():
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
        for i, item in items:
            if isinstance(i, int) and i < layers:
                counts[i] += tensors_in(item, set())
        if isinstance(value, torch.Tensor) and value.shape[:1] == (layers,):
            for i in range(layers):
                counts[i] += value[i].numel()
    return counts


def run(model):
    prompt = torch.randint(3, 120, (1, TOKENS))
    inputs = dict(input_ids=prompt, use_cache=True)
    if model.config.model_type == "recurrent_gemma":  # its states live in the modules
        inputs["cache"] = transformers.DynamicCache(config=model.config)
    if model.config.is_encoder_decoder:
        inputs = dict(input_ids=torch.randint(3, 120, (1, ENCODER_TOKENS)), decoder_input_ids=prompt, use_cache=True)
    with torch.no_grad():
        out = model(**inputs)
    if "cache" in inputs:
        return inputs["cache"]
    for name in ("past_key_values", "cache_params", "state"):
        if getattr(out, name, None) is not None:
            return getattr(out, name)
    cache = next((m.cache for m in model.modules() if hasattr(m, "cache")), None)
    if cache is None:
        raise ValueError("no cache object in the output")
    return cache


def in_modules(model):
    """Elements that the layers' own modules hold (RecurrentGemma)."""
    layers = getattr(getattr(model, "model", None), "layers", [])
    return [sum(tensors_in(getattr(module, name, None), set()) for module in layer.modules()
                for name in ("conv1d_state", "recurrent_states")) for layer in layers]


def ours(program, config):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        done = subprocess.run([program, file.name, str(TOKENS), str(ENCODER_TOKENS)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError("kvcap: " + done.stderr.strip().split(": ", 1)[-1])
    return [int(line.split()[1]) for line in done.stdout.splitlines()]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "./elements"
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {TOKENS} tokens, {ENCODER_TOKENS} encoder tokens")
    types, bad = set(), 0
    only = set(sys.argv[2:])
    for model_type, own in CASES:
        if only and model_type not in only:
            continue
        what = "defaults" if not own else ", ".join(f"{key}={value}" for key, value in list(own.items())[-2:])[:60]
        try:
            config, model = build(model_type, settings_of(own))
            layers = getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None) or config.num_hidden_layers
            want = per_layer(run(model), layers)
            if model_type == "recurrent_gemma":
                want = [a + b for a, b in zip(want, in_modules(model), strict=True)]
        except Exception as wrong:  # a model that cannot be run says nothing about us
            print(f"not run    {model_type:18} {str(wrong)[:110]!r}")
            continue
        plain = {"model_type": model_type, **settings_of(own)}
        for text, given in (("as given", plain), ("as saved", json.loads(config.to_json_string(use_diff=False)))):
            try:
                got = ours(program, given)
            except ValueError as wrong:
                got = str(wrong)
            same = got == want
            types.add(model_type)
            expected = next((why for (name, key), why in KNOWN.items() if name == model_type and (not key or own.get(key))), None)
            if not same and expected is not None:
                print(f"known      {model_type:18} {text}: {expected}\n    transformers {want}\n    kvcap        {got}")
            else:
                bad += not same
                print(f"{'equal     ' if same else 'DIFFERENT '} {model_type:18} {text}, {what}: {sum(want)} elements"
                      + ("" if same else f"\n    transformers {want}\n    kvcap        {got}"))
    print(f"{len(types)} model types, {bad} unexplained differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
