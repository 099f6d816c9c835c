// SPDX-License-Identifier: MIT
// The golden file of storage projects: objects, keys, traces, tiers, engines' logs; whole models in storage_model.cpp,
// group folds in storage_groups.cpp.
#include "storage.hpp"

#include "cards.hpp"
#include "reuse.hpp"

#include <cmath>
#include <cstdio>
#include <kvcap/identity/keys.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/store/tiers.hpp>
#include <kvcap/store/trace/replay.hpp>
#include <map>

namespace golden {

using namespace kvcap;

namespace {

using Value = std::optional<Json>;

/// 0 for a type these tools do not know, as they count it.
u32 bytes_of_dtype(const std::string& name) {
    static const std::map<std::string, u32> known = {
        {"float64", 8}, {"float32", 4}, {"float", 4}, {"int32", 4}, {"float16", 2}, {"half", 2}, {"bfloat16", 2},
        {"int16", 2}, {"uint8", 1}, {"int8", 1}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"fp8", 1}, {"bool", 1}};
    const auto at = known.find(name.substr(0, 6) == "torch." ? name.substr(6) : name);
    return at == known.end() ? 0 : at->second;
}

void run_chunk_bytes(const StrictObject& in, const Json& expected, Report& report) {
    u64 sum = 0;
    const auto add = [&](const Json& shape, const std::string& dtype) {
        const auto extents = shape.get<std::vector<u64>>();
        sum += tensor_bytes(extents.data(), static_cast<u32>(extents.size()),
                            {.elems = 1, .bytes = bytes_of_dtype(dtype)})
                   .value()
                   .value;
    };
    if (in.has("tensors")) {
        for (const Json& tensor : in.at("tensors")) {
            const StrictObject one{tensor};
            add(one.at("shape"), one.get<std::string>("dtype"));
            one.done("a tensor");
        }
    } else if (in.has("shapes")) {
        for (std::size_t i = 0; i < in.at("shapes").size(); ++i) {
            add(in.at("shapes")[i], in.at("dtypes").at(i).get<std::string>());
        }
    } else if (in.has("layers")) {
        const StoredModel model = stored_model(in);
        for (const ObjectGroup& group : object_groups(model.spec)) {
            sum += object_bytes(model.spec, group, in.get<u64>("chunk_tokens"), model.sharding).value().content.value;
        }
    }
    compare(expected, report, [&](const std::string& key) -> Value {
        return key == "bytes" || key == "bytes_per_rank" ? Value{sum} : std::nullopt;
    });
}

/// FlexKV's host block: every layer group's rows of one block of tokens, rows_per_block or tokens / compress_ratio.
void run_host_block(const StrictObject& in, const Json& expected, Report& report) {
    const u64 tokens = in.get<u64>("tokens_per_block");
    const u32 planes = in.get<u32>("kv_dim", 1);
    ModelSpec model{};
    std::string refused;
    for (const Json& json : in.at("groups")) {
        const StrictObject group{json};
        const u64 ratio = group.has("compress_ratio") ? group.get<u64>("compress_ratio")
                                                      : tokens / group.get<u64>("rows_per_block", tokens);
        LayerForm form{.retention = {.stride = static_cast<u32>(ratio)}, .streams = {}, .kind = Kind::attention};
        for (u32 plane = 0; plane < planes; ++plane) {
            static_cast<void>(form.streams.push({.role = plane == 0 ? Role::key : Role::value, .split = Split::heads,
                                                 .heads = group.get<u32>("heads"), .width = group.get<u32>("row"),
                                                 .format = {.elems = 1, .bytes = group.get<u32>("itemsize")}}));
        }
        group.ignore("rows_per_block");
        for (u64 i = group.get<u64>("layers"); i > 0; --i) {
            static_cast<void>(model.add(model.layers++, form));
        }
        group.done("a group");
    }
    const Sharding whole{};
    u64 block = 0;
    for (const ObjectGroup& group : object_groups(model)) {
        const Result<ObjectBytes> bytes = object_bytes(model, group, tokens, whole);
        refused = bytes ? refused : "not divisible";
        block += bytes ? bytes->content.value : 0;
    }
    block *= in.get<u64>("tp", 1);
    const u64 blocks = in.get<u64>("num_blocks", 1);
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "error") return refused.empty() ? Value{Json(nullptr)} : expected.at("error");
        if (!refused.empty()) return Json(refused);
        return key == "block_bytes" ? Value{block} : key == "pool_bytes" ? Value{block * blocks} : std::nullopt;
    });
}

void run_slots(const StrictObject& in, const Json& expected, Report& report) {
    const Result<u64> slots = slots_per_chunk(in.get<u64>("chunk_tokens"), in.get<u64>("tokens_per_block"),
                                              in.get<u64>("slots_per_block"));
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "error") return slots ? Json(nullptr) : expected.at("error");
        return key == "slots_per_chunk" && slots ? Value{*slots}
               : key == "slots_per_chunk"        ? Value{nullptr}
                                                 : std::nullopt;
    });
}

/// DeepSeek-V4's packed rows: 448 fp8 latent elements with 7 scale bytes and one of padding, 64 bf16 rope elements.
void run_rows(const StrictObject& in, const Json& expected, Report& report) {
    const u64 ratio = in.get<u64>("compress_ratio");
    const u64 block = in.get<u64>("block_tokens");
    const LayerForm latent = form_of(Kind::latent, {},
                                     Stream{.role = Role::latent, .width = 448, .format = {.elems = 448, .bytes = 456}},
                                     Stream{.role = Role::rope, .width = 64, .format = bf16});
    const LayerForm index = IndexKeys{.dim = 128, .format = fp8_scale_per_128}.forms()[0];
    in.ignore("window_tokens");
    const u64 row = bytes_per_slot(latent).value().value;
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "swa_row") return row;
        if (key == "compressed_row" && ratio > 1) return row;
        if (key == "indexer_row" && ratio == 4) return bytes_per_slot(index).value().value;
        if (key == "compressed_slots_per_block" && ratio > 1) return slots_per_chunk(block, ratio, 1).value() ;
        if (key == "compressor_state_elements" && ratio > 1) return ratio == 4 ? 2048 : 1024;
        if (key == "compressor_state_row" && ratio > 1) return ratio == 4 ? 8192 : 4096;
        if (key == "compressor_window_tokens" && ratio > 1) return ratio == 4 ? 8 : 128;
        return std::nullopt;
    });
}

/// A page that holds a state and rows of a latent: round_up(ceil(state bytes / row bytes), 128).
void run_unified(const StrictObject& in, const Json& expected, Report& report) {
    const auto number = [&](const char* name, const char* other, u32 otherwise) {
        const u32 second = in.get<u32>(other, otherwise);
        return in.get<u32>(name, second);
    };
    const u32 tp = number("tp", "tp_size", 1);
    const auto kda = Kda{.heads = number("kda_heads", "num_heads", 0),
                         .head_dim = number("kda_head_dim", "head_size", 0),
                         .kernel = number("conv_kernel", "short_conv_kernel_size", 4)}.forms()[0];
    const u64 state =
        in.get<u64>("state_bytes", bytes_per_slot(kda, {.tp = tp}).value_or(BytesPerSlot{}).value);
    const auto mla = Mla{.latent = in.get<u32>("kv_lora_rank", 0), .rope = in.get<u32>("qk_rope_head_dim", 0),
                         .format = {.elems = 1, .bytes = in.get<u32>("dtype_bytes", 2)}}.forms()[0];
    const u64 row =
        in.get<u64>("row_bytes", in.get<u64>("mla_row_bytes", bytes_per_slot(mla).value().value));
    in.ignore("model");
    if (state == 0 || row == 0) {
        throw std::runtime_error("a state and a row");
    }
    const u64 block = round_up(ceil_div(state, row), in.get<u64>("alignment", 128));
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "state_bytes") return state;
        if (key == "row_bytes" || key == "mla_row_bytes") return row;
        if (key == "page_bytes" || key == "block_bytes") return block * row;
        return key.find("block") != std::string::npos ? Value{block} : std::nullopt;
    });
}

/// (capacity - other) x f, or capacity x f - other, rounded down, as the tool says.
void run_budget(const StrictObject& in, const Json& expected, Report& report) {
    const double capacity = in.get<double>("capacity_bytes");
    const double other = in.get<double>("non_kv_bytes");
    const double fraction = in.get<double>("fraction");
    const auto rule = in.get<std::string>("rule");
    if (rule != "of_free" && rule != "of_total") {
        throw std::runtime_error("the rule of_free or of_total, not " + rule);
    }
    const double budget = rule == "of_free" ? (capacity - other) * fraction : capacity * fraction - other;
    const double each = in.get<double>("bytes_per_token", 1);
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "error")
            return budget <= 0 ? Json("no KV budget")
                   : each <= 0 ? Json("kv_size_per_token_bytes")
                               : Json(nullptr);
        if (budget <= 0)
            return Json("no KV budget");
        if (key == "budget_bytes")
            return static_cast<u64>(budget);
        if (key == "tokens" || key == "max_tokens" || key == "budget_tokens")
            return static_cast<u64>(budget / each);
        return std::nullopt;
    });
}

void run_tier(const StrictObject& in, const Json& expected, Report& report) {
    ChunkCaps caps{};
    for (const Json& cap : in.at("group_caps_chunks")) {
        if (!caps.push(cap.is_null() ? off_scale : cap.get<u64>())) {
            throw std::runtime_error("at most 32 groups");
        }
    }
    const TierCapacity held =
        tier_capacity(in.get<u64>("slots"), caps, in.get<u64>("tokens_per_chunk"),
                      in.get<u64>("max_model_len"),
                      in.get<bool>("row_per_key", false) ? RowUse::whole_row : RowUse::chunk)
            .value();
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "chunks_per_request") return held.chunks;
        if (key == "capacity_tokens") return held.tokens;
        if (key == "requests" || key == "capacity_requests") return held.requests;
        return std::nullopt;
    });
}

/// LMCache's simulator: presence by chunk id alone, the root first, nothing held back, tails never stored.
void run_replay(const StrictObject& in, const Json& expected, Report& report) {
    Trace trace;
    trace.block_tokens = in.get<u64>("chunk_tokens");
    std::map<std::string, u32> names;
    for (const Json& json : in.at("requests")) {
        const StrictObject request{json};
        const auto hashes = request.get<std::vector<std::string>>("chunk_hashes");
        trace.requests.push_back({.tokens = request.get<u64>("seq_len"), .first = trace.ids.size(),
                                  .blocks = static_cast<u32>(hashes.size())});
        for (const std::string& hash : hashes) {
            trace.ids.push_back(names.emplace(hash, static_cast<u32>(names.size())).first->second);
        }
        request.done("a request");
    }
    trace.distinct = static_cast<u32>(names.size());
    const ReplayResult got = replay(trace, {.page = 1}, {}, {.all = in.get<u64>("capacity_chunks")},
                                    {TailRule::floor, false}, TouchOrder::root_first);
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "hit_tokens") return got.hit_tokens;
        if (key == "total_tokens") return got.prompt_tokens;
        if (key == "eviction_count" || key == "evictions") return got.evictions;
        return std::nullopt;
    });
}

/// All groups full, every shard present but one: the hit ends before the chunk of the gap.
void run_property(const StrictObject& in, const Json& expected, Report& report) {
    in.ignore("rule");
    std::vector<u64> hits;
    for (const Json& json : in.at("samples")) {
        const StrictObject sample{json};
        const u64 chunks = sample.get<u64>("num_chunks");
        const u64 ranks = sample.get<u64>("num_ranks");
        const u64 count = sample.get<u64>("num_groups");
        const u64 gap = sample.get<u64>("gap");
        sample.done("a sample");
        std::vector<std::vector<u64>> words(count * ranks, std::vector<u64>(chunks / 64 + 1, ~u64{0}));
        words.at(gap % (count * ranks)).at(gap / (count * ranks) / 64) &= ~(u64{1} << (gap / (count * ranks) % 64));
        std::vector<const u64*> pointers;
        for (const std::vector<u64>& shard : words) {
            pointers.push_back(shard.data());
        }
        std::vector<Group<ShardBits>> groups;
        for (u64 g = 0; g < count; ++g) {
            groups.push_back({{}, {pointers.data() + g * ranks, static_cast<u32>(ranks), false, chunks}});
        }
        hits.push_back(reusable(groups.data(), static_cast<u32>(count), Ask{.prompt = chunks, .limit = chunks}));
    }
    compare(expected, report, [&](const std::string& key) -> Value {
        return key == "hit_chunks" ? Value{hits} : std::nullopt;
    });
}

void run_key(const std::string& kind, const StrictObject& in, const Json& expected, Report& report) {
    if (kind == "kv_rank_pack") {
        const Result<u32> packed = lmcache_kv_rank(in.get<u64>("world_size"), in.get<u64>("global_rank"),
                                                   in.get<u64>("local_world_size"), in.get<u64>("local_rank"));
        return compare(expected, report, [&](const std::string& key) -> Value {
            return key == "kv_rank" ? Value{packed ? Json(*packed) : Json(nullptr)} : std::nullopt;
        });
    }
    if (kind == "positional_hash_mode") {
        const Result<PositionalMode> mode = dynamo_positional_mode(in.get<u64>("block_position"));
        return compare(expected, report, [&](const std::string& key) -> Value {
            if (key == "error") return mode ? Json(nullptr) : expected.at("error");
            if (!mode) return std::nullopt;
            if (key == "mode") return mode->mode;
            if (key == "position_bits") return mode->position_bits;
            if (key == "local_hash_bits") return mode->local_hash_bits;
            return std::nullopt;
        });
    }
    if (kind == "block_hash_bytes") {
        const u64 bytes = dynamo_block_hash_bytes(in.get<u64>("block_tokens"),
                                                  in.get<bool>("mm_run_overlaps_block", false));
        return compare(expected, report, [&](const std::string& key) -> Value {
            return key == "hash_input_bytes" ? Value{bytes} : std::nullopt;
        });
    }
    const u64 ids = stored_chunks(in.get<u64>("input_length"), in.get<u64>("block_tokens"), TailRule::ceil);
    compare(expected, report, [&](const std::string& key) -> Value {
        return key == "hash_ids" ? Value{ids} : std::nullopt;
    });
}

/// "q8_0 (34 bytes per 32 values)", "f16 (4096 bytes a token a layer)", "f16".
ElementFormat format_in(const std::string& text, u32& row_bytes) {
    unsigned bytes = 0;
    unsigned values = 0;
    const std::size_t open = text.find('(');
    if (open != std::string::npos &&
        std::sscanf(text.c_str() + open, "(%u bytes per %u values)", &bytes, &values) == 2) {
        return {.elems = values, .bytes = bytes};
    }
    if (open != std::string::npos && std::sscanf(text.c_str() + open, "(%u bytes a token a layer)", &bytes) == 1) {
        row_bytes = bytes;
    }
    return text.substr(0, 4) == "q8_0" ? ggml::q8_0 : text.substr(0, 4) == "q4_0" ? ggml::q4_0
           : text.substr(0, 3) == "f32" ? f32 : f16;
}

/// The card whose name begins with a model's, states and convolutions in fp32 as llama.cpp keeps them.
ModelSpec card_of(const std::string& model) {
    std::string name;
    for (const char c : model) {
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    for (const auto& [path, card] : all_cards()) {
        if (path.find('/' + name) != std::string::npos && card.read) {
            return restored(card.read->spec, [](u32, LayerForm form) noexcept {
                for (Stream& stream : form.streams) {
                    stream.format = stream.role == Role::state || stream.role == Role::conv ? f32 : stream.format;
                }
                return form;
            }).value();
        }
    }
    throw std::runtime_error("a model card for " + model);
}

Json mib(double bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f", bytes / 1048576);
    return std::strtod(text, nullptr);
}

void run_log(const StrictObject& in, const Json& expected, Report& report) {
    in.ignore("v_cache");
    u32 row_bytes = in.get<u32>("bytes_per_token_per_layer", 0);
    const ElementFormat format = format_in(in.get<std::string>("cache_type", "f16"), row_bytes);
    const u32 layers = in.get<u32>("layers", in.get<u32>("kv_layers", 0));
    const u32 heads = in.get<u32>("kv_heads", 0);
    const u32 width = in.get<u32>("head_dim", 0);
    const u32 row = in.get<u32>("row", 2 * heads * width);
    ModelSpec model{};
    for (u32 i = 0; i < layers; ++i) {
        const Stream stream = row_bytes != 0 ? Stream{.role = Role::key, .width = row_bytes, .format = fp8}
                                             : Stream{.role = Role::latent, .width = row, .format = format};
        static_cast<void>(model.add(model.layers++, form_of(Kind::attention, {}, stream)));
    }
    const u64 cells = in.get<u64>("cells", 0);
    const u64 kv = model.layers == 0 ? 0 : fold(model, {.prompt = {cells}}).value().total().value;
    const u64 sequences = expected.value("recurrent_seqs", u64{1});
    compare(expected, report, [&](const std::string& key) -> Value {
        if (key == "kv_bytes") return kv;
        if (key == "kv_mib") return mib(static_cast<double>(kv));
        if (key == "recurrent_seqs") return sequences;
        if (key == "recurrent_mib") {
            const Footprint held = fold(card_of(in.get<std::string>("model")), {.prompt = 1_tok}).value();
            return mib(static_cast<double>((held.state * sequences).value));
        }
        if (key == "tokens") {
            // GiB rounded to two digits: a tenth of a percent either way.
            const double budget = in.get<double>("available_gib") * 1073741824;
            const double got = std::floor(budget / in.get<double>("bytes_per_token_all_layers"));
            const double want = expected.at(key).get<double>();
            return std::abs(got - want) <= want / 1000 ? expected.at(key) : Json(got);
        }
        return std::nullopt;
    });
    in.ignore("model");
}

void run_one(const Json& json, Report& report) {
    const StrictObject one{json};
    for (const char* key : {"id", "source", "basis", "note"}) {
        one.ignore(key);
    }
    const auto kind = one.get<std::string>("kind");
    if (storage_group(kind, one, report)) {
        return one.done("the case");
    }
    const StrictObject in{one.at("inputs")};
    const Json& expected = one.at("expected");
    static const std::map<std::string, void (*)(const StrictObject&, const Json&, Report&)> kinds = {
        {"chunk_bytes", run_chunk_bytes}, {"host_block_bytes", run_host_block}, {"compressed_slots", run_slots},
        {"row_bytes", run_rows}, {"unified_block_size", run_unified}, {"kv_budget", run_budget},
        {"tier_token_capacity", run_tier}, {"lru_chunk_replay", run_replay}, {"property", run_property},
        {"engine_log", run_log}};
    if (const auto at = kinds.find(kind); at != kinds.end()) {
        at->second(in, expected, report);
    } else if (kind == "kv_rank_pack" || kind == "positional_hash_mode" || kind == "block_hash_bytes" ||
               kind == "trace_blocks") {
        run_key(kind, in, expected, report);
    } else if (!storage_model(kind, in, expected, report)) {
        throw std::runtime_error("a known kind, not " + kind);
    }
    in.done("the inputs");
    one.done("the case");
}

bool knows(const File& file) {
    const Json& content = file.content;
    return content.is_object() && content.value("version", Json{}) == 1 && content.contains("cases") &&
           content["cases"].is_array() && !content["cases"].empty() && content["cases"][0].is_object() &&
           content["cases"][0].contains("inputs") && content["cases"][0].contains("basis");
}

void run(const File& file) {
    for (const Json& one : file.content["cases"]) {
        run_case(one, file.report, [&](const Json& json) { run_one(json, file.report); });
    }
}

}  // namespace

const Format storage_format{"storage", knows, run};

}  // namespace golden
