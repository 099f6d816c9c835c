// SPDX-License-Identifier: MIT
// Identities: encode and decode are inverse, no two identities share an encoding, and every public collision is found.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/identity.hpp>
#include <kvcap/identity/keys.hpp>

#include <set>
#include <vector>

namespace identity_tests {

using namespace kvcap;

namespace {

FormatIdentity sample() {
    FormatIdentity id{};
    id.model = "deepseek-ai/DeepSeek-V3";
    id.weights_revision = "e815299b", id.tokenizer_revision = "e815299b", id.engine = "vllm 0.28.0";
    id.backend = "flashmla", id.layout = "KV_MLA_FMT", id.kv_dtype = "fp8_e4m3", id.quant_scheme = "fp8";
    id.scale_granularity = "per_tensor", id.scales_revision = "calib-7", id.index_key_format = stated_none;
    id.conv_dtype = stated_none, id.state_dtype = stated_none, id.state_layout = stated_none;
    id.rope = "yarn 40 4096", id.cache_role = "target", id.token_drop_algorithm = stated_none;
    id.token_drop_policy = stated_none, id.compression = stated_none, id.hash_algorithm = "sha256_cbor";
    id.hash_seed = "0", id.writer = stated_none, id.group_kind = "latent";
    id.chunk_tokens = 256u, id.page_tokens = 64u, id.kernel_block_tokens = 64u, id.entry_alignment = 1u;
    id.page_padding = 0u, id.tp = 8u, id.tp_rank = 3u, id.pp = 1u, id.pp_rank = 0u, id.pcp = 1u, id.pcp_rank = 0u;
    id.dcp = 1u, id.dcp_rank = 0u, id.cp_interleave = 1u, id.group = 0u;
    id.caches = compose(QueryHeads{128}, repeat(61, Mla{.latent = 512, .rope = 64})).value();
    return id;
}

std::string encoded(const FormatIdentity& id) {
    std::string bytes;
    const Refusal refusal = encode(id, [&](u8 byte) { bytes.push_back(static_cast<char>(byte)); });
    REQUIRE_FALSE(refusal);
    return bytes;
}

std::string encoded(const ChunkIdentity& chunk, std::string_view digest = "format") {
    std::string bytes;
    const Refusal refusal = encode(chunk, digest, [&](u8 byte) { bytes.push_back(static_cast<char>(byte)); });
    INFO(static_cast<int>(refusal.field) << ' ' << static_cast<int>(refusal.why));
    REQUIRE_FALSE(refusal);
    return bytes;
}

/// Values that people have confused: separators, NUL, cases, normal forms, a text inside another.
const std::vector<std::string> awkward = {
    "a", "A", "a ", " a", "a@b", "a", "b", "a@", "@b", "a/b", "a\\b", std::string("a\0b", 3), std::string("a\0", 2),
    std::string("\0", 1), "ab", "a%b", "caf\xc3\xa9", "cafe\xcc\x81", "\xe2\x84\xab", "\xc3\x85", "none", "0", "null",
    "kvcapF", std::string(300, 'a'), std::string(256, 'a')};

ChunkIdentity chunk_sample(std::span<const u32> tokens) {
    return {.parent = stated_none, .tokens = tokens, .adapter = stated_none, .adapter_version = stated_none,
            .salt = stated_none, .user_key = stated_none, .media = {}, .embeddings = stated_none};
}

}  // namespace

TEST_CASE("decode is the inverse of encode") {
    const FormatIdentity id = sample();
    const std::string bytes = encoded(id);
    const DecodedIdentity back = decode(bytes);
    REQUIRE(back);
    CHECK(back.identity == id);
    CHECK(encoded(back.identity) == bytes);
    CHECK(back.at == bytes.size());
}

TEST_CASE("no two identities that differ in one field are encoded alike") {
    std::set<std::string> seen{encoded(sample())};
    std::size_t made = 1;
    each_format_field([&](Field field, auto member) {
        const auto add = [&](const auto& value) {
            FormatIdentity id = sample();
            if (id.*member == value) {
                return;
            }
            id.*member = value;
            if (refusal_of(id)) {
                return;
            }
            ++made;
            INFO(name_of(field));
            CHECK(seen.insert(encoded(id)).second);
            CHECK(diff(id, sample()) == Fields{1, {field}});
            CHECK(decode(encoded(id)).identity == id);
        };
        if constexpr (std::same_as<decltype(member), StatedText FormatIdentity::*>) {
            for (const std::string& text : std::set<std::string>{awkward.begin(), awkward.end()}) {
                add(StatedText{text});
            }
            add(StatedText{stated_none});
        } else if constexpr (std::same_as<decltype(member), StatedNumber FormatIdentity::*>) {
            for (const u64 number :
                 {u64{0}, u64{1}, u64{2}, u64{64}, u64{128}, u64{256}, u64{512}, u64{65536}, ~u64{0}}) {
                add(StatedNumber{number});
            }
        } else {
            add(StatedCaches{compose(repeat(61, Mla{512, 64})).value()});
            add(StatedCaches{compose(repeat(60, Mla{512, 64})).value()});
            add(StatedCaches{compose(repeat(1, NoCache{}), repeat(60, Mla{512, 64})).value()});
            add(StatedCaches{compose(repeat(61, Mla{512, 64, fp8})).value()});
            add(StatedCaches{compose(repeat(61, Windowed{Mla{512, 64}, 128_tok})).value()});
        }
    });
    CHECK(made > 500);
}

TEST_CASE("no number of a cache, and no order of caches, is lost in the encoding") {
    const ModelSpec first =
        compose(QueryHeads{8}, repeat(2, WithSinks{Windowed{Gqa{8, 64}, 64_tok}, 4_tok}), repeat(1, Mla{64, 16}))
            .value();
    std::set<std::string> seen;
    std::size_t made = 0;
    const auto add = [&](const ModelSpec& caches) {
        FormatIdentity id = sample();
        id.caches = caches;
        ++made;
        CHECK(seen.insert(encoded(id)).second);
        const std::string bytes = encoded(id);
        CHECK(decode(bytes).identity.caches == StatedCaches{caches});
    };
    add(first);
    for (u32 form = 0; form < first.forms.size(); ++form) {
        u32 numbers = 0;
        encoding::each_number(first.forms[form], [&](auto) { ++numbers; });
        CHECK(numbers == 8 + 7 * first.forms[form].streams.size());
        for (u32 changed = 0; changed < numbers; ++changed) {
            ModelSpec other = first;
            u32 at = 0;
            bool is_count = false;
            LayerForm& of = other.forms[form];
            encoding::each_number(of, [&](auto& part) {
                using Part = std::remove_reference_t<decltype(part)>;
                const bool here = at++ == changed;
                const bool count = static_cast<void*>(&part) == static_cast<void*>(&of.streams.count);
                is_count = is_count || (here && count);
                const u64 was = static_cast<u64>(part);
                part = here && !count ? static_cast<Part>(was == 0 ? 1 : was - 1) : part;
            });
            if (is_count) {
                --of.streams.count;
            }
            add(other);
        }
    }
    ModelSpec other = first;
    ++other.layers;
    add(other);
    other = first, ++other.draft_layers;
    add(other);
    other = first, ++other.query_heads;
    add(other);
    other = first, std::swap(other.caches[0], other.caches[2]);
    add(other);
    other = first, other.caches[1].layer = 7;
    add(other);
    other = first, --other.caches.count;
    add(other);
    CHECK(seen.size() == made);
    CHECK(made > 40);
}

TEST_CASE("bytes that move across the border between any two facts change the encoding") {
    std::vector<StatedText FormatIdentity::*> texts;
    each_format_field([&](Field, auto member) {
        if constexpr (std::same_as<decltype(member), StatedText FormatIdentity::*>) {
            texts.push_back(member);
        }
    });
    REQUIRE(texts.size() == 23);
    const std::string whole = "a@b/c\xc3\xa9";
    for (std::size_t at = 0; at + 1 < texts.size(); ++at) {
        std::set<std::string> seen;
        std::size_t made = 0;
        for (std::size_t cut = 1; cut < whole.size(); ++cut) {
            const std::string left = whole.substr(0, cut);
            const std::string right = whole.substr(cut);
            for (const bool swapped : {false, true}) {
                FormatIdentity id = sample();
                // Partners that must be stated together, so that every field can be a text here.
                id.token_drop_algorithm = "h2o", id.token_drop_policy = "p", id.state_layout = "s", id.conv_dtype = "c";
                id.*texts[at] = swapped ? right : left;
                id.*texts[at + 1] = swapped ? left : right;
                ++made;
                CHECK(seen.insert(encoded(id)).second);
            }
        }
        CHECK(seen.size() == made);
    }
}

TEST_CASE("none and a value that looks like none are two things for every fact that may be none") {
    std::size_t tried = 0;
    each_format_field([&](Field field, auto member) {
        if constexpr (std::same_as<decltype(member), StatedText FormatIdentity::*>) {
            std::set<std::string> seen;
            for (const std::string_view text : {"none", "null", "0"}) {
                FormatIdentity id = sample();
                id.token_drop_algorithm = "h2o", id.token_drop_policy = "p", id.state_layout = "s", id.conv_dtype = "c";
                id.*member = text;
                CHECK(seen.insert(encoded(id)).second);
                id.*member = stated_none;
                const Refusal refusal = refusal_of(id);
                const bool has_partner = refusal.why == WhyRefused::both_or_neither;
                CHECK((has_partner || bool(refusal) != may_be_none(field)));
                if (!refusal && text == "none") {
                    CHECK(seen.insert(encoded(id)).second);
                    ++tried;
                }
                id.*member = "";
                CHECK(refusal_of(id) == Refusal{field, WhyRefused::empty});
                id.*member = StatedText{};
                CHECK(refusal_of(id) == Refusal{field, WhyRefused::unstated});
            }
        }
    });
    CHECK(tried >= 9);
}

TEST_CASE("absent, empty and unstated are three things") {
    FormatIdentity id = sample();
    id.rope = stated_none;
    const std::string absent = encoded(id);
    id.rope = std::string_view{"\0", 1};
    CHECK(encoded(id) != absent);
    id.rope = "";
    CHECK(refusal_of(id) == Refusal{Field::rope, WhyRefused::empty});
    id.rope = StatedText{};
    CHECK(refusal_of(id) == Refusal{Field::rope, WhyRefused::unstated});
    std::string nothing;
    CHECK(encode(id, [&](u8) { nothing += 'x'; }) == Refusal{Field::rope, WhyRefused::unstated});
    CHECK(nothing.empty());
}

TEST_CASE("what the encoder would not write is refused") {
    const std::string good = encoded(sample());
    for (std::size_t length = 0; length < good.size(); ++length) {
        CHECK_FALSE(decode(std::string_view{good}.substr(0, length)));
    }
    CHECK(decode(good + 'x').refusal == Refusal{Field::count, WhyRefused::trailing});
    std::string other = good;
    other[6] = 2;
    CHECK(decode(other).refusal.why == WhyRefused::unknown_version);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const int bit : {0, 1, 7}) {
            std::string flipped = good;
            flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
            const DecodedIdentity got = decode(flipped);
            if (got) {
                ++accepted;
                CHECK(encoded(got.identity) == flipped);
                CHECK_FALSE(got.identity == sample());
            }
        }
    }
    CHECK(accepted > 0);
}

TEST_CASE("content identity: every part counts, and none runs into its neighbour") {
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const std::vector<u32> swapped = {2, 1, 3, 4};
    const std::vector<u32> shorter = {1, 2, 3};
    const std::vector<u32> wide = {1, 2, 3, 4 + (1u << 16)};
    std::set<std::string> seen;
    const auto add = [&](const ChunkIdentity& chunk, std::string_view digest = "format") {
        const std::string bytes = encoded(chunk, digest);
        CHECK(seen.insert(bytes).second);
        u32 room[8];
        MediaRun runs[4];
        const DecodedChunk back = decode_chunk(bytes, room, runs);
        REQUIRE(back);
        CHECK(diff(back.chunk, chunk).empty());
        CHECK(back.format_digest == digest);
        CHECK(encoded(back.chunk, back.format_digest) == bytes);
    };
    const ChunkIdentity base = chunk_sample(tokens);
    add(base);
    add(base, "format2");
    add(base, std::string_view{"format\0", 7});
    add(chunk_sample(swapped)), add(chunk_sample(shorter)), add(chunk_sample(wide));
    StatedText ChunkIdentity::*const texts[] = {&ChunkIdentity::parent, &ChunkIdentity::salt, &ChunkIdentity::user_key,
                                                &ChunkIdentity::embeddings};
    for (const auto text : texts) {
        for (const std::string& value : std::set<std::string>{awkward.begin(), awkward.end()}) {
            ChunkIdentity chunk = base;
            chunk.*text = value;
            CHECK(diff(chunk, base).size() == 1);
            add(chunk);
        }
    }
    for (const auto& [name, version] : std::vector<std::pair<std::string, std::string>>{
             {"sql", "1"}, {"sql", "2"}, {"sq", "l1"}, {"sql1", "1"}, {"sql@1", "1"}, {"sql", "@1"}, {"1", "sql"}}) {
        ChunkIdentity chunk = base;
        chunk.adapter = name, chunk.adapter_version = version;
        add(chunk);
    }
    // Bytes move between neighbours: parent and the tokens' length, salt and user key, user key and media, embeddings.
    const std::string whole{"p@q\0r", 5};
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        const std::string left = "<" + whole.substr(0, cut);
        const std::string right = whole.substr(cut) + ">";
        const MediaRun of_left[] = {{left, 0, 2, 0}};
        const MediaRun of_both[] = {{left, 0, 1, 0}, {right, 1, 1, 0}};
        const MediaRun of_both_swapped[] = {{right, 0, 1, 0}, {left, 1, 1, 0}};
        ChunkIdentity chunk = base;
        chunk.salt = left, chunk.user_key = right;
        add(chunk);
        chunk.salt = right, chunk.user_key = left;
        add(chunk);
        chunk = base, chunk.user_key = left, chunk.embeddings = right;
        add(chunk);
        chunk = base, chunk.media = of_left, chunk.embeddings = right;
        add(chunk);
        chunk = base, chunk.media = of_both;
        add(chunk);
        chunk = base, chunk.media = of_both_swapped;
        add(chunk);
        chunk = base, chunk.parent = left, chunk.salt = right;
        add(chunk);
        chunk = base, chunk.adapter = left, chunk.adapter_version = right, chunk.salt = left;
        add(chunk);
    }
    const std::vector<u32> one = {1};
    ChunkIdentity numbers = chunk_sample(one);
    numbers.parent = std::string_view{"\1\0\0\0\0\0\0\0", 8};
    add(numbers);
    const std::vector<std::vector<MediaRun>> media = {
        {{"img1", 0, 2, 0}}, {{"img2", 0, 2, 0}}, {{"img1", 1, 2, 0}}, {{"img1", 0, 3, 0}}, {{"img1", 0, 2, 4}},
        {{"img1", 0, 1, 0}, {"img2", 1, 1, 0}}, {{"img2", 0, 1, 0}, {"img1", 1, 1, 0}}, {{"img1img2", 0, 2, 0}}};
    for (const auto& runs : media) {
        ChunkIdentity chunk = base;
        chunk.media = runs;
        CHECK(diff(chunk, base) == Fields{1, {Field::media}});
        add(chunk);
    }
}

TEST_CASE("a chunk's bytes that the encoder would not write are refused") {
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const MediaRun runs[] = {{"cat", 1, 2, 3}};
    ChunkIdentity chunk = chunk_sample(tokens);
    chunk.parent = "pp", chunk.adapter = "sql", chunk.adapter_version = "7", chunk.media = runs;
    const std::string good = encoded(chunk);
    u32 room[8];
    MediaRun media[4];
    for (std::size_t length = 0; length < good.size(); ++length) {
        CHECK_FALSE(decode_chunk(std::string_view{good}.substr(0, length), room, media));
    }
    CHECK(decode_chunk(good + 'x', room, media).refusal == Refusal{Field::count, WhyRefused::trailing});
    CHECK(decode_chunk(good, std::span<u32>{room, 3}, media).refusal == Refusal{Field::tokens, WhyRefused::malformed});
    CHECK(decode_chunk(good, room, {}).refusal == Refusal{Field::media, WhyRefused::malformed});
    CHECK_FALSE(decode_chunk(encoded(sample()), room, media));
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {
        for (const int bit : {0, 1, 7}) {
            std::string flipped = good;
            flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
            if (const DecodedChunk got = decode_chunk(flipped, room, media)) {
                ++accepted;
                CHECK(encoded(got.chunk, got.format_digest) == flipped);
            }
        }
    }
    CHECK(accepted > 0);
}

TEST_CASE("partial content identities are refused") {
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const auto refused = [&](auto change) {
        ChunkIdentity chunk = chunk_sample(tokens);
        change(chunk);
        return refusal_of(chunk);
    };
    CHECK_FALSE(refusal_of(chunk_sample(tokens)));
    CHECK(refused([](auto& c) { c.salt = StatedText{}; }) == Refusal{Field::salt, WhyRefused::unstated});
    CHECK(refused([](auto& c) { c.adapter = "sql"; }) == Refusal{Field::adapter_version, WhyRefused::both_or_neither});
    CHECK(refused([](auto& c) { c.tokens = {}; }) == Refusal{Field::tokens, WhyRefused::empty});
    const MediaRun outside[] = {{"img", 3, 2, 0}};
    CHECK(refused([&](auto& c) { c.media = outside; }) == Refusal{Field::media, WhyRefused::malformed});
    const MediaRun overlap[] = {{"a", 0, 2, 0}, {"b", 1, 1, 0}};
    CHECK(refused([&](auto& c) { c.media = overlap; }) == Refusal{Field::media, WhyRefused::malformed});
    const MediaRun nameless[] = {{"", 0, 2, 0}};
    CHECK(refused([&](auto& c) { c.media = nameless; }) == Refusal{Field::media, WhyRefused::empty});
}

// Each record is one public report: two caches that must not be exchanged, and a key that could not tell.
TEST_CASE("public collisions are found") {
    const FormatIdentity format = sample();
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const ChunkIdentity plain = chunk_sample(tokens);
    const auto other_format = [&](auto change) {
        FormatIdentity id = format;
        change(id);
        return diff(format, id);
    };
    const auto other_content = [&](const ChunkIdentity& from, auto change) {
        ChunkIdentity chunk = from;
        change(chunk);
        CHECK_FALSE(exchangeable(format, from, format, chunk));
        return diff(from, chunk);
    };
    const auto finds = [](System system, const Fields& differing, Field field) {
        INFO(name_of(system) << ' ' << name_of(field));
        CHECK(contains(differing, field));
        CHECK(contains(missing(system), field));
        CHECK(collides(system, differing));
        CHECK_FALSE(facts(field).consequence.empty());
    };
    SECTION("vllm#42125, vllm#30931: an adapter reloaded under its name") {
        ChunkIdentity sql = plain;
        sql.adapter = "sql", sql.adapter_version = "1";
        const Fields d = other_content(sql, [](auto& c) { c.adapter_version = "2"; });
        finds(System::vllm_block_hash, d, Field::adapter_version);
        finds(System::dynamo, d, Field::adapter_version);
    }
    SECTION("vllm#44250, vllm#54342: adapter, image or salt outside the key") {
        ChunkIdentity a = plain;
        a.adapter = "adapter_a", a.adapter_version = "1";
        finds(System::lmcache_object_key, other_content(a, [](auto& c) { c.adapter = "adapter_b"; }), Field::adapter);
        finds(System::hf3fs_connector, other_content(a, [](auto& c) { c.adapter = "adapter_b"; }), Field::adapter);
        finds(System::hf3fs_connector, other_content(plain, [](auto& c) { c.salt = "tenant"; }), Field::salt);
        CHECK_FALSE(collides(System::vllm_block_hash, other_content(plain, [](auto& c) { c.salt = "tenant"; })));
    }
    SECTION("LMCache#3301, LMCache#4086: two images behind equal placeholder tokens") {
        const MediaRun cat[] = {{"cat", 0, 2, 0}};
        const MediaRun dog[] = {{"dog", 0, 2, 0}};
        ChunkIdentity about = plain;
        about.media = cat;
        const Fields d = other_content(about, [&](auto& c) { c.media = dog; });
        finds(System::lmcache_key, d, Field::media);
        finds(System::hf3fs_connector, d, Field::media);
    }
    SECTION("sglang#24638: a user's key is no adapter") {
        ChunkIdentity adapter = plain;
        adapter.adapter = "sql", adapter.adapter_version = "1";
        ChunkIdentity user = plain;
        user.user_key = "sql";
        CHECK(encoded(adapter) != encoded(user));
        CHECK(contains(diff(adapter, user), Field::user_key));
    }
    SECTION("vllm#54338, vllm#43980: element types") {
        finds(System::lmcache_key, other_format([](auto& id) { id.kv_dtype = "fp8_e5m2"; }), Field::kv_dtype);
        finds(System::ucm, other_format([](auto& id) { id.kv_dtype = "bfloat16"; }), Field::kv_dtype);
        finds(System::mooncake_connector, other_format([](auto& id) { id.kv_dtype = "uint8"; }), Field::kv_dtype);
        CHECK(facts(Field::kv_dtype).harm == Harm::corrupts);
    }
    SECTION("lmdeploy#4930: weights, scheme and scales outside the key") {
        finds(System::mooncake_connector, other_format([](auto& id) { id.weights_revision = "new"; }),
              Field::weights_revision);
        finds(System::lmcache_key, other_format([](auto& id) { id.scales_revision = "calib-8"; }),
              Field::scales_revision);
        finds(System::aibrix, other_format([](auto& id) { id.scale_granularity = "per_head"; }),
              Field::scale_granularity);
        CHECK_FALSE(collides(System::lmcache_identity, other_format([](auto& id) { id.weights_revision = "new"; })));
    }
    SECTION("vllm#49499, dingodb#233, LMCache#2098: which ranks hold the same bytes") {
        FormatIdentity latent = format;
        CHECK_FALSE(fold_tensor_ranks(latent));
        FormatIdentity wider = format;
        wider.tp = 16u;
        CHECK_FALSE(fold_tensor_ranks(wider));
        CHECK(latent == wider);
        FormatIdentity hybrid = format;
        hybrid.caches = compose(repeat(7, Mla{512, 64}), repeat(20, Kda{.heads = 32, .head_dim = 128})).value();
        CHECK(fold_tensor_ranks(hybrid) == Refusal{Field::tp, WhyRefused::cannot_fold});
        CHECK(hybrid.tp_rank == StatedNumber{3u});
    }
    SECTION("sglang#37175, LMCache#1770: layers are global numbers") {
        const ModelSpec first = compose(repeat(4, Mla{512, 64}), repeat(4, NoCache{})).value();
        const ModelSpec second = compose(repeat(4, NoCache{}), repeat(4, Mla{512, 64})).value();
        CHECK(contains(other_format([&](auto& id) { id.caches = second; }), Field::caches));
        FormatIdentity a = format, b = format;
        a.caches = first, b.caches = second;
        CHECK(diff(a, b) == Fields{1, {Field::caches}});
        finds(System::ucm, diff(a, b), Field::caches);
    }
    SECTION("LMCache#2947: index keys beside the latent; vllm#54743, sub-paged groups") {
        finds(System::lmcache_key, other_format([](auto& id) { id.index_key_format = "fp8_scale_per_128"; }),
              Field::index_key_format);
        finds(System::mooncake_connector, other_format([](auto& id) { id.kernel_block_tokens = 32u; }),
              Field::kernel_block_tokens);
        finds(System::lmcache_key, other_format([](auto& id) { id.chunk_tokens = 512u; }), Field::chunk_tokens);
        finds(System::llmd_files, other_format([](auto& id) { id.backend = "triton"; }), Field::backend);
    }
    SECTION("vllm#46855, vllm#14952, sglang#15674: ranks of contexts and heads") {
        finds(System::ucm, other_format([](auto& id) { id.dcp = 2u; }), Field::dcp);
        finds(System::flexkv, other_format([](auto& id) { id.tp = 4u; }), Field::tp);
    }
    SECTION("sglang#35484, and facts nobody's key has") {
        finds(System::ucm, other_format([](auto& id) { id.writer = "client-2"; }), Field::writer);
        for (u32 s = 0; s < system_count; ++s) {
            finds(static_cast<System>(s), other_format([](auto& id) { id.rope = stated_none; }), Field::rope);
        }
    }
    SECTION("LMCache#2961, vllm#45549, llm-d#167: an adapter or embeddings behind equal tokens") {
        ChunkIdentity sql = plain;
        sql.adapter = "sql", sql.adapter_version = "1";
        const Fields without = other_content(sql, [](auto& c) {
            c.adapter = stated_none, c.adapter_version = stated_none;
        });
        finds(System::lmcache_key, without, Field::adapter);
        finds(System::ucm, without, Field::adapter);
        finds(System::aibrix, without, Field::adapter);
        CHECK_FALSE(collides(System::llmd_index, without));
        const Fields other = other_content(plain, [](auto& c) { c.embeddings = "e1"; });
        finds(System::lmcache_key, other, Field::embeddings);
        finds(System::dynamo, other, Field::embeddings);
        CHECK_FALSE(collides(System::vllm_block_hash, other));
    }
    SECTION("vllm#49499: one rank's shard of a state group stored for all") {
        FormatIdentity first = format;
        first.group_kind = "state", first.state_dtype = "float32";
        first.caches = compose(repeat(20, Kda{.heads = 32, .head_dim = 128})).value();
        FormatIdentity second = first;
        first.tp = second.tp = 2u, first.tp_rank = 0u, second.tp_rank = 1u;
        CHECK(diff(first, second) == Fields{1, {Field::tp_rank}});
        CHECK(fold_tensor_ranks(first) == Refusal{Field::tp, WhyRefused::cannot_fold});
        // A key whose rank was replaced by a stripe of the group no longer tells them apart.
        finds(System::vllm_block_hash, diff(first, second), Field::tp_rank);
        CHECK_FALSE(collides(System::mooncake_connector, diff(first, second)));
        FormatIdentity latent = format;
        finds(System::vllm_block_hash, other_format([](auto& id) { id.group_kind = "state"; }), Field::group_kind);
        CHECK_FALSE(fold_tensor_ranks(latent));
    }
    SECTION("vllm#51163, LMCache#1357: pages cut elsewhere, stages without a store of their own") {
        finds(System::lmcache_key, other_format([](auto& id) { id.page_tokens = 128u; }), Field::page_tokens);
        finds(System::ucm, other_format([](auto& id) { id.pp = 2u, id.pp_rank = 1u; }), Field::pp_rank);
        finds(System::hf3fs_connector, other_format([](auto& id) { id.tp_rank = 4u; }), Field::tp_rank);
    }
    SECTION("a sync of new weights under the old name, in every system that knows only the name") {
        for (const System system : {System::vllm_block_hash, System::lmcache_key, System::lmcache_object_key,
                                    System::mooncake_connector, System::llmd_index, System::llmd_files, System::flexkv,
                                    System::ucm, System::aibrix}) {
            finds(system, other_format([](auto& id) { id.weights_revision = "step-2000"; }), Field::weights_revision);
        }
    }
    SECTION("what a key has is not always what tells two values apart: bf16 and fp8, fp8 and fp8, TP 2 and PP 2") {
        FormatIdentity a = format;
        FormatIdentity b = format;
        a.kv_dtype = "bf16";
        CHECK_FALSE(collide(System::lmcache_key, a, plain, b, plain));
        CHECK(collide(System::lmcache_object_key, a, plain, b, plain));
        CHECK(collide(System::ucm, a, plain, b, plain));
        a.kv_dtype = "fp8_e5m2";
        CHECK(collide(System::lmcache_key, a, plain, b, plain));
        CHECK_FALSE(collide(System::lmcache_key, b, plain, b, plain));
        a = b;
        a.tp = 2u, a.tp_rank = 1u, b.tp = 1u, b.tp_rank = 0u, b.pp = 2u, b.pp_rank = 1u;
        CHECK(collide(System::lmcache_key, a, plain, b, plain));
        CHECK(lmcache_key(a, "h").text == lmcache_key(b, "h").text);
        CHECK_FALSE(collide(System::mooncake_connector, a, plain, b, plain));
        b.pp = 3u;
        CHECK_FALSE(collide(System::lmcache_key, a, plain, b, plain));
        ChunkIdentity salted = plain;
        salted.salt = "tenant";
        CHECK(collide(System::lmcache_key, format, plain, format, salted));
        CHECK_FALSE(collide(System::lmcache_object_key, format, plain, format, salted));
    }
    SECTION("vllm#51250: a draft model's group") {
        finds(System::vllm_block_hash, other_format([](auto& id) { id.cache_role = "draft"; }), Field::cache_role);
    }
}

TEST_CASE("another adapter, another image, another data-parallel rank's own cache: no reuse") {
    const FormatIdentity format = sample();
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const MediaRun cat[] = {{"cat", 1, 2, 0}};
    const MediaRun dog[] = {{"dog", 1, 2, 0}};
    ChunkIdentity held = chunk_sample(tokens);
    held.adapter = "sql", held.adapter_version = "1", held.media = cat;
    CHECK(exchangeable(format, held, format, held));
    ChunkIdentity asked = held;
    asked.adapter = "chat";
    CHECK_FALSE(exchangeable(format, held, format, asked));
    CHECK_FALSE(exchangeable(FormatIdentity{}, held, FormatIdentity{}, held));
    CHECK_FALSE(exchangeable(format, ChunkIdentity{}, format, ChunkIdentity{}));
    asked = held;
    asked.adapter = stated_none, asked.adapter_version = stated_none;
    CHECK_FALSE(exchangeable(format, held, format, asked));
    asked = held;
    asked.media = dog;
    CHECK_FALSE(exchangeable(format, held, format, asked));
    // A cache in one rank's own memory has that rank as its writer; a store that all ranks share states that there is
    // none.
    FormatIdentity first = format, second = format;
    first.writer = "dp0", second.writer = "dp1";
    CHECK_FALSE(exchangeable(first, held, second, held));
    CHECK(exchangeable(format, held, format, held));
}

// A toy digest: the checks are about what is digested.
TEST_CASE("literal keys") {
    const FormatIdentity id = sample();
    const std::vector<u32> tokens = {1, 2, 3, 4};
    const std::string hash{"\x00\xab\xff", 3};
    CHECK(lmcache_key(id, hash).text == "deepseek-ai/DeepSeek-V3@8@3@00abff@uint8");
    for (const auto& [ours, theirs] : {std::pair{"nvfp4", "uint8"}, std::pair{"turboquant_k8v4", "uint8"},
                                       std::pair{"int4_per_token_head", "uint8"}, std::pair{"fp8_e5m2", "uint8"},
                                       std::pair{"int8_per_token_head", "int8"}, std::pair{"bf16", "bfloat16"}}) {
        CHECK(lmcache_dtype(ours) == theirs);
    }
    CHECK(lmcache_object_key(id, chunk_sample(tokens), hash).text == "deepseek-ai/DeepSeek-V3@08030803@0@00abff");
    ChunkIdentity salted = chunk_sample(tokens);
    salted.salt = "tenant-a";
    CHECK(lmcache_object_key(id, salted, hash).text == "deepseek-ai/DeepSeek-V3@08030803@0@00abff@tenant-a");
    CHECK(mooncake_key(id, hash, "prod").text ==
          "prod@deepseek-ai/DeepSeek-V3@tp_rank:3@pcp0@dcp0@pp_rank:0@group:0@00abff");
    salted.salt = "a@b";
    CHECK(lmcache_object_key(id, salted, hash).refusal == Refusal{Field::salt, WhyRefused::separator});
    FormatIdentity plain = id;
    plain.kv_dtype = "bf16";
    CHECK(lmcache_key(plain, hash).text == "deepseek-ai/DeepSeek-V3@8@3@00abff@bfloat16");
    plain.kv_dtype = "float16";
    CHECK(lmcache_key(plain, hash).text == "deepseek-ai/DeepSeek-V3@8@3@00abff@half");
    FormatIdentity contexts = id;  // worker: stages, then prefill-context ranks, then tensor ranks
    contexts.tp = 2u, contexts.tp_rank = 1u, contexts.pcp = 3u, contexts.pcp_rank = 2u, contexts.pp = 2u;
    contexts.pp_rank = 1u;
    CHECK(lmcache_key(contexts, hash).text == "deepseek-ai/DeepSeek-V3@12@11@00abff@uint8");
    CHECK(lmcache_object_key(contexts, chunk_sample(tokens), hash).text == "deepseek-ai/DeepSeek-V3@0c0b0c0b@0@00abff");
    FormatIdentity at = id;
    at.model = "a@b";
    CHECK(lmcache_key(at, hash).refusal == Refusal{Field::model, WhyRefused::separator});
    CHECK(mooncake_key(at, hash).refusal == Refusal{Field::model, WhyRefused::separator});
    FormatIdentity many = id;
    many.tp = 256u;
    CHECK(lmcache_object_key(many, chunk_sample(tokens), hash).refusal ==
          Refusal{Field::tp_rank, WhyRefused::rank_out_of_range});
}

TEST_CASE("block hashes digest canonical CBOR") {
    CHECK(hex(Cbor{}.array(3).null().number(0).number(23).str()) == "83f60017");
    CHECK(hex(Cbor{}.number(24).number(255).number(256).number(65536).str()) == "181818ff1901001a00010000");
    CHECK(hex(Cbor{}.number(u64{1} << 32).bytes("ab").text("c").str()) == "1b00000001000000004261626163");
    const auto identity = [](std::string_view bytes) { return std::string{bytes}; };
    const std::vector<u32> tokens = {1, 300};
    ChunkIdentity chunk = chunk_sample(tokens);
    chunk.parent = "pp";
    CHECK(hex(vllm_block_hash(chunk, "0", identity)) == "83427070820119012cf6");
    chunk.adapter = "sql", chunk.adapter_version = "7";
    const std::string named = vllm_block_hash(chunk, "0", identity);
    CHECK(hex(named) == "83427070820119012c816373716c");
    chunk.adapter_version = "8";
    CHECK(vllm_block_hash(chunk, "0", identity) == named);
    chunk.parent = stated_none;
    CHECK(hex(vllm_block_hash(chunk, "0", identity)) == "83426130820119012c816373716c");
    CHECK(keys::fnv64a("") == 0xcbf29ce484222325);
    CHECK(keys::fnv64a("a") == 0xaf63dc4c8601ec8c);
    CHECK(llmd_root("m", "0") != llmd_root("sql", "0"));
}

TEST_CASE("keys: what vLLM and llm-d hash of images, salts and embeddings, byte by byte") {
    const auto itself = [](std::string_view bytes) { return std::string{bytes}; };
    const MediaRun images[] = {{.hash = "cat", .at = 1, .length = 1},
                               {.hash = "dog", .at = 300, .length = 1}};
    const u32 tokens[] = {1, 2};
    ChunkIdentity chunk{.parent = stated_none,
                        .tokens = tokens,
                        .adapter = "sql",
                        .adapter_version = "7",
                        .salt = "s",
                        .user_key = stated_none,
                        .media = images,
                        .embeddings = "ee"};
    // [digest of the seed, [1, 2], ["sql", ["cat", 1], ["dog", 300], "s", b"ee"]]
    const std::string extra = std::string{"\x85\x63sql"} +
                              "\x82\x63"
                              "cat\x01" +
                              "\x82\x63"
                              "dog\x19\x01\x2c";
    CHECK(vllm_block_hash(chunk, "0", itself) ==
          "\x83\x42\x61"
          "0"
          "\x82\x01\x02" +
              extra + "\x61s" +
              "\x42"
              "ee");
    // Behind the first block the parent has the salt in it.
    chunk.parent = "p";
    std::string behind = extra;
    behind[0] = '\x84';
    CHECK(vllm_block_hash(chunk, "0", itself) ==
          "\x83\x41p"
          "\x82\x01\x02" +
              behind +
              "\x42"
              "ee");
    chunk.adapter = stated_none, chunk.media = {}, chunk.embeddings = stated_none;
    CHECK(vllm_block_hash(chunk, "0", itself) == "\x83\x41p\x82\x01\x02\xf6");
    CHECK(llmd_block_hash(7, chunk) == keys::fnv64a("\x83\x07\x82\x01\x02\xf6"));
    chunk.media = images;
    CHECK(llmd_block_hash(7, chunk) == keys::fnv64a("\x83\x07\x82\x01\x02\x82\x63"
                                                    "cat\x63"
                                                    "dog"));
    CHECK(dynamo_positional_mode(255).value().position_bits == 8);
    CHECK(dynamo_positional_mode(256).value().position_bits == 16);
    CHECK(dynamo_positional_mode((u64{1} << 31) - 1).value().position_bits == 31);
    CHECK(dynamo_positional_mode(u64{1} << 31).error() ==
          Error{.code = Errc::unsupported, .what = Uncovered::position, .got = u64{1} << 31, .want = u64{1} << 31});
}

TEST_CASE("keys: a salt of LMCache's server key has at most 128 bytes, and no model name has its separator") {
    FormatIdentity id = sample();
    ChunkIdentity chunk{};
    chunk.salt = std::string_view{"tenant"};
    CHECK(lmcache_object_key(id, chunk, "hh"));
    const std::string longest(128, 'x'), longer(129, 'x');
    chunk.salt = std::string_view{longest};
    CHECK(lmcache_object_key(id, chunk, "hh"));
    chunk.salt = std::string_view{longer};
    CHECK(lmcache_object_key(id, chunk, "hh").refusal == Refusal{Field::salt, WhyRefused::malformed});
    chunk.salt = std::string_view{"a/b"};
    CHECK(lmcache_object_key(id, chunk, "hh").refusal == Refusal{Field::salt, WhyRefused::separator});
    chunk.salt = stated_none;
    id.model = std::string_view{"a@b"};
    CHECK(lmcache_object_key(id, chunk, "hh").refusal == Refusal{Field::model, WhyRefused::separator});
    CHECK(lmcache_key(id, "hh").refusal == Refusal{Field::model, WhyRefused::separator});
}

}  // namespace identity_tests
