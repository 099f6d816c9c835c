// SPDX-License-Identifier: MIT
// `kvcap simulate` and `kvcap identity` as a script sees them.
#include "folder.hpp"
#include "json_schema.hpp"
#include "program.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace trace_cli_tests {

namespace {

using nlohmann::json;

using program::Ran;
using program::text_of;

Ran kvcap(const std::string& arguments) { return program::run(arguments); }

/// Two conversations over one shared block of 512 tokens; the first is continued once.
const std::string trace =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 1, \"hash_ids\": [0, 1, 2]}\n"
    "{\"timestamp\": 1, \"input_length\": 1100, \"output_length\": 1, \"hash_ids\": [0, 3, 4]}\n"
    "{\"timestamp\": 2, \"input_length\": 1600, \"output_length\": 1, \"hash_ids\": [0, 1, 5, 6]}\n";

const std::string identity =
    R"x({"model":"m","weights_revision":"1","tokenizer_revision":"1","engine":null,"backend":null,
"layout":"KV_MLA_FMT","kv_dtype":"fp8_e4m3","quant_scheme":null,"scale_granularity":null,"scales_revision":null,
"index_key_format":null,"conv_dtype":null,"state_dtype":null,"state_layout":null,"rope":null,"cache_role":"target",
"token_drop_algorithm":null,"token_drop_policy":null,"compression":null,"hash_algorithm":"sha256_cbor","hash_seed":"0",
"writer":null,"group_kind":"latent","chunk_tokens":256,"page_tokens":64,"kernel_block_tokens":64,"entry_alignment":1,
"page_padding":0,"tp":8,"tp_rank":3,"pp":1,"pp_rank":0,"pcp":1,"pcp_rank":0,"dcp":1,"dcp_rank":0,"cp_interleave":1,
"group":0,"caches":"61*mla(512,64)","content":{"parent":null,"tokens":[1,2,3,4],"adapter":"sql","adapter_version":"1",
"salt":null,"user_key":null,"embeddings":null}})x";

const std::string run_config =
    R"x({"model_name": "org/model", "hash_block_size": 16, "gpu_blocks_per_file": 16, "tp_size": 2, "pp_size": 1,
"pcp_size": 1, "dcp_size": 1, "dtype": "auto", "inference_engine": "vllm", "kv_cache_groups": [{"block_size": 16,
"layer_names": ["model.layers.0.self_attn.attn", "model.layers.1.self_attn.attn"]}]})x";

}  // namespace

TEST_CASE("simulate answers with exact curves, tiers and a picture") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string path = folder.write("t.jsonl", trace);
    const std::string svg = (folder.path() / "hits.svg").string();
    const Ran ran =
        kvcap("simulate " + path +
                     " -m '1*gqa(1,128)' -m '1*gqa(1,128) + 1*window(513,gqa(1,128))'"
                     " --at 256KiB,512KiB,1MiB,1GiB --tier dram=512KiB@1GB --tier disk=1GiB --json --svg " +
                     svg);
    REQUIRE(ran.err == "");
    REQUIRE(ran.code == 0);
    const json got = json::parse(ran.out);
    CHECK(got["schema"] == "kvcap.simulate/1");
    CHECK(schemas::violation_of(got, "simulate") == "");
    CHECK(schemas::violation_of(json{{"schema", 1}}, "simulate") != "");
    CHECK(got["trace"]["prompt_tokens"] == 3800);
    CHECK(got["trace"]["distinct_blocks"] == 7);
    // One block takes 512 x 2 x 128 x 2 bytes. The second request hits the root, the third the root and block 1.
    const json& pages = got["curves"][0];
    CHECK(pages["object_bytes"]["page"] == 262144);
    CHECK(pages["policy"] == "pages");
    CHECK(pages["reachable_tokens"] == 512 + 1024);
    CHECK(pages["bytes_for_50"] == 262144);
    CHECK(pages["bytes_for_99"] == 3 * 262144);
    CHECK(pages["points"][0]["hit_ratio"] == Approx(1024.0 / 3800).margin(1e-6));
    CHECK(pages["points"][2]["hit_ratio"] == Approx(1536.0 / 3800).margin(1e-6));
    CHECK(pages["tiers"][0]["hit_tokens"] == 1024);
    CHECK(pages["tiers"][1]["hit_tokens"] == 512);
    const json& window = got["curves"][1];
    CHECK(window["object_bytes"]["window_blocks"][0]["needed"] == 1);
    CHECK(window["policy"] == "junction+end");
    CHECK(window["reachable_tokens"] == 1024);
    CHECK(text_of(svg).find("<svg") == 0);
    // The first block is a sink: what the first request's end saved of it serves the second request's boundary too.
    const Ran sinks = kvcap("simulate " + path +
                                   " -m '1*gqa(1,128) + 1*sinks(4,window(513,gqa(1,128)))' --at 1GiB --json");
    REQUIRE(sinks.code == 0);
    const json with_sinks = json::parse(sinks.out)["curves"][0];
    CHECK(with_sinks["object_bytes"]["window_blocks"][0]["sinks"] == 1);
    CHECK(with_sinks["reachable_tokens"] == 512 + 1024);
    const Ran like = kvcap("simulate " + path +
                                  " -m '1*gqa(1,128) + 1*window(513,gqa(1,128))' --engine-like --at 1GiB");
    CHECK(like.code == 0);
    CHECK(like.out.find("26.95%") != std::string::npos);
    CHECK(like.out.find("replays of single capacities") != std::string::npos);
}

TEST_CASE("simulate reads Bailian's and LMCache's traces") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const auto hits = [&](const std::string& name, const std::string& text, const std::string& more = "") {
        const Ran ran = kvcap("simulate " + folder.write(name, text) + " -m '1*gqa(1,128)' --json " + more);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        const json got = json::parse(ran.out);
        return std::pair{got["trace"]["block_tokens"].get<int>(), got["curves"][0]["reachable_tokens"].get<int>()};
    };
    // 16 tokens a block and an id for the partial one, timestamps in seconds.
    const std::string bailian =
        R"x({"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 33, "output_length": 132,)x"
        R"x( "type": "text", "turn": 1, "hash_ids": [1089, 1090, 1091]})x"
        "\n"
        R"x({"chat_id": 160, "parent_chat_id": 159, "timestamp": 62.5, "input_length": 50, "output_length": 80,)x"
        R"x( "type": "text", "turn": 2, "hash_ids": [1089, 1090, 6326, 13148]})x"
        "\n";
    CHECK(hits("bailian.jsonl", bailian) == std::pair{16, 32});
    CHECK(hits("bailian.jsonl", bailian, "--format bailian --tail ceil") == std::pair{16, 32});
    // Whole chunks only, hashes as texts, lines of two models.
    const std::string lmcache =
        R"x({"timestamp": 1.0, "model_name": "a", "chunk_hashes": ["0xaa", "0xbb"],)x"
        R"x( "seq_len": 600, "chunk_size": 256})x"
        "\n"
        R"x({"timestamp": 2.0, "model_name": "a", "chunk_hashes": ["0xaa", "0xbb"],)x"
        R"x( "seq_len": 512, "chunk_size": 256})x"
        "\n"
        R"x({"timestamp": 3.0, "model_name": "b", "chunk_hashes": ["0xaa", "0xcc"],)x"
        R"x( "seq_len": 700, "chunk_size": 256})x"
        "\n";
    CHECK(hits("lmcache.jsonl", lmcache) == std::pair{256, 256});
    CHECK(hits("lmcache.jsonl", lmcache, "--trace-model a") == std::pair{256, 256});
    const Ran wrong = kvcap("simulate " + folder.write("lmcache.jsonl", lmcache) +
                                   " -m '1*gqa(1,128)' --format mooncake");
    CHECK(wrong.code == 3);
}

TEST_CASE("simulate refuses what it cannot answer") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string path = folder.write("t.jsonl", trace);
    CHECK(kvcap("simulate /nonexistent -m llama-3.1-8b").code == 3);
    CHECK(kvcap("simulate " + folder.write("bad.jsonl", trace + "{}") + " -m llama-3.1-8b").err.find("line 4") !=
          std::string::npos);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)' --policy jnction").code == 2);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)' --policy window").code == 2);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)' --tier dram").code == 2);
    const Ran twice = kvcap("simulate " + path + " -m '1*gqa(1,128)' --tier a=1GiB --tier a=2GiB");
    CHECK(twice.code == 2);
    CHECK(twice.err.find("--tier: a is there twice") != std::string::npos);
    const Ran tiers = kvcap("simulate " + path + " -m '1*gqa(1,128)' --tier a=1GiB --tier b=2GiB");
    CHECK(tiers.code == 0);
    CHECK(program::widest(tiers.out) <= 80);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)' --tail round").err.find("none of floor, ceil") !=
          std::string::npos);
    CHECK(kvcap("simulate " + path).code == 2);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)' --trace-model x").err.find("an LMCache trace") !=
          std::string::npos);
    CHECK(kvcap("simulate " + path + " -m '3*sinks(4,chunk(1024,gqa(8,64)))'").err.find("4 sinks beside") !=
          std::string::npos);
    CHECK(kvcap("simulate " + path + " -m '1*gqa(1,128)'").out.find("[1] 1*gqa(1,128), pages") !=
          std::string::npos);
    // Ids that follow two different blocks are no prefix hashes: single capacities, as a list.
    const std::string loose = folder.write("loose.jsonl", trace +
        "{\"timestamp\": 3, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [9, 1]}\n");
    const Ran ran = kvcap("simulate " + loose + " -m '1*gqa(1,128)' --json");
    CHECK(ran.code == 0);
    CHECK(json::parse(ran.out)["trace"]["prefix_forest"] == false);
    CHECK(json::parse(ran.out)["curves"][0]["exact"] == false);
}

TEST_CASE("identity: digest, difference, key, and what is left out") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string a = folder.write("a.json", identity);
    CHECK(schemas::violation_of(json::parse(identity), "identity") == "");
    std::string other = identity;
    other.replace(other.find("fp8_e4m3"), 8, "fp8_e5m2");
    const std::string b = folder.write("b.json", other);
    const json whole = json::parse(kvcap("identity " + a + " --json").out);
    CHECK(whole["complete"] == true);
    CHECK(whole["sha256"].get<std::string>().size() == 64);
    CHECK(whole["sha256"] != json::parse(kvcap("identity " + b + " --json").out)["sha256"]);
    CHECK(whole["chunk_sha256"] != json::parse(kvcap("identity " + b + " --json").out)["chunk_sha256"]);
    const Ran differ = kvcap("identity diff " + a + ' ' + b + " --json");
    CHECK(differ.code == 1);
    const json found = json::parse(differ.out);
    CHECK(found["exchangeable"] == false);
    REQUIRE(found["differences"].size() == 1);
    CHECK(found["differences"][0]["field"] == "kv_dtype");
    CHECK(found["collide_under"].dump().find("mooncake") != std::string::npos);
    CHECK(kvcap("identity diff " + a + ' ' + a).code == 0);
    // sha256 over the CBOR of [digest of "0", [1, 2, 3, 4], ["sql"]], from an independent program.
    const std::string hash = "f374114a258409ac3ddea812e4d896becd135086cb09a9009806590b5758dc84";
    CHECK(kvcap("identity " + a + " --as vllm").out == hash + "\n");
    // LMCache's chunk hash knows no adapter: [digest of "0", [1, 2, 3, 4], null].
    const std::string plain = "c9d58ba695280d69b243e1e0df813136ca9196b286fb1a021e0b2e028ef071cb";
    CHECK(kvcap("identity " + a + " --as lmcache").out == "m@8@3@" + plain + "@uint8\n");
    CHECK(kvcap("identity " + a + " --as lmcache-server").out == "m@08030803@0@" + plain + "\n");
    CHECK(kvcap("identity " + a + " --as lmcache-server --set salt=t").out == "m@08030803@0@" + plain + "@t\n");
    CHECK(kvcap("identity " + a + " --as mooncake --prefix p").out ==
          "p@m@tp_rank:3@pcp0@dcp0@pp_rank:0@group:0@" + hash + "\n");
    CHECK(kvcap("identity " + a + " --as llm-d").out == "16866328065299863580\n");
    CHECK(kvcap("identity " + a + " --as llm-d-index").out == "16866328065299863580\n");
    // The name of a file: digits from hashlib over json.dumps(sort_keys=True, separators=(",", ":")).
    const std::string run = folder.write("config.json", run_config);
    CHECK(kvcap("identity " + a + " --as llm-d --run-config " + run + " --set model=org/model --set tp=2 "
                       "--set tp_rank=1 --set group=2").out ==
          "org_model_4e318a76785a_r1/f37/41_g2/" + hash + ".bin\n");
    CHECK(kvcap("identity " + a + " --as llm-d --run-config " + run + " --set model=org/model").err.find(
              "its tp is not this identity's") != std::string::npos);
    CHECK(kvcap("identity " + a + " --as vllm --run-config " + run).code == 2);
    CHECK(kvcap("identity " + a + " --as llm-d --run-config " + folder.write("bad.json", "{}")).code == 3);
    // What a key does not have need not be stated; what it has must be, and none is a statement.
    const std::string few = "identity '61*mla(512,64)' --ids 1,2,3,4 --set model=m --set hash_seed=0 --set parent= "
                            "--set kv_dtype=bfloat16 --set tp_rank=0 --set pp_rank=0";
    CHECK(kvcap(few + " --as lmcache").out == "m@1@0@" + plain + "@bfloat16\n");
    CHECK(kvcap(few + " --as vllm").err.find("--set adapter= for none") != std::string::npos);
    CHECK(kvcap(few + " --as vllm --set adapter= --set salt= --set embeddings=").out == plain + "\n");
    const std::string all = kvcap("identity llama-3.1-8b --as lmcache --ids 1,2").err;  // in one sentence
    for (const char* fact : {"tp_rank (--set tp_rank=VALUE)", "parent (", "--set parent= for none", "hash_seed ("}) {
        CAPTURE(fact, all);
        CHECK(all.find(fact) != std::string::npos);
    }
    CHECK(kvcap("identity llama-3.1-8b --as ucm").err.find("ucm has no literal key here") != std::string::npos);
    std::string drawn = few;
    drawn.replace(drawn.find("hash_seed=0"), 11, "hash_seed=");
    CHECK(kvcap(drawn + " --as lmcache").err.find("every process") != std::string::npos);
    CHECK(kvcap(few + " --as lmcache --set hash_seed=").err.find("contradict") != std::string::npos);
    CHECK(kvcap(few + " --as lmcache --set hash_algorithm=xxhash_cbor").err.find("sha256_cbor only") !=
          std::string::npos);
    CHECK(kvcap("identity --missing ucm").out.find("kv_dtype") != std::string::npos);
    const Ran partial = kvcap("identity '61*mla(512,64)'");
    CHECK(partial.code == 2);
    CHECK(partial.out.find("weights_revision") != std::string::npos);
    CHECK(kvcap("identity " + a + " --set modle=x").err.find("did you mean model?") != std::string::npos);
    CHECK(kvcap("identity " + a + " --set rope").code == 2);
    CHECK(kvcap("identity " + a + " --as nothing").code == 2);
    CHECK(kvcap("identity " + a + " --as lmcache --set tp_rank=8").err.find("(8 of 8)") != std::string::npos);
    CHECK(kvcap("identity diff " + a).code == 2);
    for (const std::string flag : {"--tp 8", "--set tp=4", "--kv-cache-dtype fp8", "--ids 1,2", "--as vllm",
                                   "--dp-attention", "--run-config x", "--prefix p"}) {
        const Ran beside = kvcap("identity diff " + a + ' ' + b + ' ' + flag);
        CAPTURE(flag, beside.err);
        CHECK(beside.code == 2);
        CHECK(beside.err.find(flag.substr(0, flag.find(' ')) + " and identity diff: ") != std::string::npos);
    }
    CHECK(kvcap("identity diff " + a + ' ' + b + " --json --color never").code == 1);
    CHECK(kvcap("identity " + a + " --missing ucm").err.find("--missing and " + a) != std::string::npos);
    CHECK(kvcap("identity --missing ucm --tp 8").err.find("--tp and --missing: ") != std::string::npos);
    CHECK(json::parse(kvcap("identity " + a + " --as vllm --json").out)["key"] == hash);
}

TEST_CASE("identity: what is not stated is never exchangeable, and what contradicts is refused") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string part = folder.write("part.json", kvcap("identity '61*mla(512,64)' --json").out);
    const Ran unknown_yet = kvcap("identity diff " + part + ' ' + part);
    CHECK(unknown_yet.code == 2);
    CHECK(unknown_yet.out.find("weights_revision") != std::string::npos);
    const json told = json::parse(kvcap("identity diff " + part + ' ' + part + " --json").out);
    const json schema = schemas::of("identity");
    CHECK(schemas::violation(told, schema["$defs"]["diff"], schema) == "");
    const json answer = json::parse(kvcap("identity deepseek-v3 --tp 8 --json").out);
    CHECK(schemas::violation(answer, schema["$defs"]["answer"], schema) == "");
    const json missing = json::parse(kvcap("identity --missing mooncake --json").out);
    CHECK(schemas::violation(missing, schema["$defs"]["missing"], schema) == "");
    CHECK(told["exchangeable"] == false);
    CHECK(told["complete"] == false);
    CHECK(told["missing"].dump().find("weights_revision") != std::string::npos);
    const std::string empty = folder.write("empty.json", "{}");
    CHECK(kvcap("identity diff " + empty + ' ' + empty).code == 3);
    for (const std::string wrong : {"--set media=", "--tp 8 --set tp=4", "--set tp=4 --set tp=2",
                                    "--set kv_dtype=banana", "--kv-cache-dtype fp8 --set kv_dtype=bf16"}) {
        CAPTURE(wrong);
        const Ran refused = kvcap("identity '61*mla(512,64)' " + wrong);
        CHECK(refused.code == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err.find("did you mean media") == std::string::npos);
    }
}

TEST_CASE(
    "identity: a file meant as one is read as one, and its error names place, value and what was wanted") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::pair<const char*, const char*> wrong[] = {
        {R"({"schema": "kvcap.identity/1", "model": "m", "tp": [8]})",
         ": /tp: a list of 1; wanted a text, a whole number"},
        {R"({"schema": "kvcap.identity.answer/1", "facts": {"tp": true}})",
         ": /facts/tp: true; wanted a text"},
        {R"({"model": "m", "kv_dtype": 8})", ": /kv_dtype: 8; wanted a text"},
        {R"({"tp": "eight"})", ": /tp: \"eight\"; wanted a whole number"},
        {R"({"facts": {"model": "x", "tp": "8"}})", ": /facts: an unknown fact"},
        {R"({"schema": "kvcap.fit/1"})", ": /schema: \"kvcap.fit/1\"; wanted \"kvcap.identity/1\""},
        {R"({"schema": 1})", ": /schema: 1; wanted \"kvcap.identity/1\""},
        {R"({"content": {"adapter": 7}})", ": /content/adapter: 7; wanted a text or null"},
        {R"({"kv_dtype": "fp8", "modle": "m"})",
         ": /modle: an unknown fact; wanted one of an identity (did you mean model?)"},
        {R"({"schema": "kvcap.identity.diff/1", "exchangeable": true})",
         ": /schema: \"kvcap.identity.diff/1\"; wanted \"kvcap.identity/1\" or \"kvcap.identity.answer/1\""}};
    for (const char* name : {"id.json", "id.txt"}) {
        for (const auto& [text, words] : wrong) {
            CAPTURE(name, text);
            const std::string file = folder.write(name, text);
            const Ran ran = kvcap("identity " + file);
            CHECK(ran.code == 3);
            CHECK(ran.out.empty());
            CHECK(ran.err.find(file + words) != std::string::npos);
            const Ran diff = kvcap("identity diff " + file + ' ' + file);
            CHECK(diff.code == 3);
            CHECK(diff.err == ran.err);
        }
    }
    // A model's config stays one, whatever else is in it.
    const std::string config = folder.write(
        "config.json",
        R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64,
                           "tp": [1], "backend": 3})");
    CHECK(kvcap("identity " + config).out.find("not stated") == std::string::npos);
    CHECK(kvcap("identity " + config).out.find("caches") != std::string::npos);
}

TEST_CASE("identity: a file's facts are changed by --set alone, and ranks are of their sizes") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string file = folder.write("id.json", R"({"schema": "kvcap.identity/1", "model": "m", "tp": 8})");
    for (const std::string flag : {"--tp 4", "--tp 1", "--pp 2", "--kv-cache-dtype fp8", "--dp-attention",
                                   "--decode-context-parallel-size 2", "--state-dtype f32"}) {
        const Ran ran = kvcap("identity " + file + ' ' + flag);
        CAPTURE(flag, ran.err);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(ran.err.find(flag.substr(0, flag.find(' ')) + " and " + file) != std::string::npos);
        CHECK(ran.err.find("--set FIELD=VALUE") != std::string::npos);
    }
    CHECK(json::parse(kvcap("identity " + file + " --set tp=4 --json").out)["facts"]["tp"] == "4");
    const Ran beyond = kvcap("identity " + file + " --set tp_rank=99");
    CHECK(beyond.code == 2);
    CHECK(beyond.out.empty());
    CHECK(beyond.err.find("tp_rank is no rank of its size (99 of 8)") != std::string::npos);
    CHECK(kvcap("identity '61*mla(512,64)' --tp 8 --set tp_rank=8").err.find("(8 of 8)") != std::string::npos);
    CHECK(kvcap("identity " + file + " --set tp_rank=7").out.find("tp_rank") != std::string::npos);
}

TEST_CASE("identity: no line of a screen is wider than 80 columns, and long names are whole") {
    if (!program::known()) {
        return;
    }
    const Folder folder;
    const std::string name(200, 'n');
    std::string other = identity;
    other.replace(other.find("\"m\""), 3, '"' + name + '"');
    const std::string a = folder.write("a.json", identity);
    const std::string b = folder.write("b.json", other);
    const std::string part = folder.write("part.json", R"({"model": "m"})");
    std::string letters;
    for (int i = 0; i < 100; ++i) {
        letters += "\xC3\xA9";  // an e with an accent, two bytes
    }
    const std::string accents = folder.write("accents.json", R"({"model": ")" + letters + R"("})");
    for (const std::string& arguments :
         {b, part, accents, "diff " + a + ' ' + b, "diff " + a + ' ' + part, "diff " + part + ' ' + part,
          "diff " + b + ' ' + b, "diff " + a + ' ' + accents, std::string{"deepseek-v4-pro"},
          std::string{"gemma-3-27b --tp 8"}, std::string{"--missing mooncake"},
          std::string{"--missing lmcache"}, std::string{"--missing vllm"}}) {
        const Ran ran = kvcap("identity " + arguments);
        CAPTURE(arguments, ran.out, ran.err);
        CHECK(!ran.out.empty());
        CHECK(program::widest(ran.out) <= 80);
    }
    std::string whole = kvcap("identity " + b).out;
    whole.erase(std::remove_if(whole.begin(), whole.end(), [](char c) { return c == '\n' || c == ' '; }),
                whole.end());
    CHECK(whole.find(name) != std::string::npos);
    const std::string steers = folder.write("steers.json", R"({"model": "\u001b[31mred"})");
    CHECK(kvcap("identity " + steers).out.find('\x1b') == std::string::npos);
}

}  // namespace trace_cli_tests
