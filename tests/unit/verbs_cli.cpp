// SPDX-License-Identifier: MIT
// Verbs that ask the same question answer alike, and what was said is judged or refused: roofline, simulate, identity,
// reuse, compare and sweep.
#include "checked.hpp"
#include "folder.hpp"

namespace verbs_cli_tests {

using namespace program;

namespace {

json roofline(const std::string& arguments) { return checked("roofline", arguments); }

/// Two requests that share a block of 512 tokens, and one that ends in it.
const std::string requests =
    "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [0, 1]}\n"
    "{\"timestamp\": 1, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [0, 2]}\n";

}  // namespace

TEST_CASE("roofline: stating the weights changes no operations, and of experts those that are visited are read",
          "[cli][verbs]") {
    if (!known()) {
        return;
    }
    for (const std::string model : {"llama-3.1-8b --gpu h100", "deepseek-v3 --gpu h200 --tp 8 --batch 16",
                                    "gpt-oss-120b --gpu h100 --batch 4"}) {
        const std::string asked = model + " --tokens 8k";
        const json without = roofline(asked);
        const std::string name = model.substr(0, model.find(' '));
        const std::string tp = model.find("--tp 8") == std::string::npos ? "" : " --tp 8";
        const long long stored = checked("fit", name + " --gpu b300 --tokens 1k" + tp)["weights_bytes_per_rank"];
        const json with = roofline(asked + " --weights-bytes " + std::to_string(stored) + "B");
        CAPTURE(asked, with.dump(), without.dump());
        CHECK(with["step"]["flops"] == without["step"]["flops"]);
        CHECK(with["prompt"]["flops"] == without["prompt"]["flops"]);
        const double ratio = with["step"]["bytes"].get<double>() / without["step"]["bytes"].get<double>();
        CHECK(ratio == Approx(1).epsilon(0.05));  // quantised parts may be divided otherwise
        CHECK(without["weights_known"] == true);
        CHECK(schemas::violation_of(with, "roofline") == "");
        const json half = roofline(asked + " --weights-bytes " + std::to_string(stored / 2) + "B");
        CHECK(half["step"]["flops"] == without["step"]["flops"]);
        CHECK(half["step"]["bytes"] < with["step"]["bytes"]);
    }
    const json unknown = roofline("'8*gqa(8,128)' --gpu h100 --tokens 8k");
    CHECK(unknown["weights_known"] == false);
    refused("roofline llama-3.1-8b --gpu nosuch", 2, "is not in the catalogue");
    CHECK(run("roofline llama-3.1-8b --gpu nosuch").err.find("--gpu-mem") == std::string::npos);
}

TEST_CASE("simulate: a tier loads its own bytes, and what cannot be estimated or split is refused", "[cli][verbs]") {
    if (!known()) {
        return;
    }
    const Folder folder;
    const std::string trace = folder.write("t.jsonl", requests);
    const auto tiers = [&](const std::string& more) {
        return checked("simulate", trace + " -m llama-3.1-8b --at 1GiB " + more)["curves"][0]["tiers"];
    };
    const json both = tiers("--tier fast=1GiB@1GB --tier slow=1GiB@1GB");
    CHECK(both[0]["mean_load_seconds"] > 0);
    CHECK(both[1]["hit_tokens"] == 0);
    CHECK(both[1]["mean_load_seconds"] == 0);
    const std::string sample = "simulate " + trace + " --at 1GiB --sample-trees 2 -m ";
    for (const std::string more : {"--engine-like", "--split", "--tier a=1GiB@1GB"}) {
        refused(sample + "qwen3-next-80b-a3b " + more, 2, "--sample-trees estimates");
    }
    refused("simulate " + trace + " -m llama-3.1-8b --at 1GiB --split", 2, "--split: ");
    refused("simulate " + trace + " -m deepseek-v3 --at 1GiB --tp 3", 2, "128 query heads");
    const auto lookup = [](const std::string& model) {
        return "{\"timestamp\": 0, \"model_name\": \"" + model +
               "\", \"chunk_size\": 256, \"chunk_hashes\": [\"0x1\", \"0x2\"], \"seq_len\": 600}\n";
    };
    const auto hits = [&](const std::string& lines) {
        const std::string file = folder.write("two.jsonl", lines);
        return checked("simulate", file + " -m llama-3.1-8b --at 1GiB")["curves"][0]["points"][0]["hit_ratio"];
    };
    CHECK(hits(lookup("m") + lookup("n")) == 0);
    CHECK(hits(lookup("m") + lookup("m")) > 0);
}

TEST_CASE("identity: flags state their facts, and what no fact says is refused", "[cli][verbs]") {
    if (!known()) {
        return;
    }
    const auto facts = [](const std::string& model) {
        return json::parse(run("identity " + model + " --json").out)["facts"];
    };
    const json stated = facts("qwen3-next-80b-a3b --state-dtype f16 --conv-dtype f32");
    CHECK(stated["state_dtype"] == "f16");
    CHECK(stated["conv_dtype"] == "f32");
    CHECK(!facts("llama-3.1-8b").contains("state_dtype"));
    CHECK(!facts("llama-3.1-8b --state-dtype f16").contains("state_dtype"));  // no layer has one
    refused("identity qwen3-next-80b-a3b --state-dtype f16 --set state_dtype=bf16", 2, "contradict each other");
    refused("identity llama-3.1-8b --pp 2 --pp-split 10,22", 2, "--pp-split: no fact");
    refused("identity llama-3.1-8b --tp 3", 2, "cannot be dealt");
    refused("identity llama-3.1-8b --pp 50", 2, "");
    refused("identity llama-3.1-8b --prefix x", 2, "--prefix belongs to --as mooncake");
    refused("identity llama-3.1-8b --unit MB", 2, "--unit");
}

TEST_CASE("reuse: splits are judged as size judges them, and what changes nothing is refused", "[cli][verbs]") {
    if (!known()) {
        return;
    }
    const Folder folder;
    const std::string prompts = " --prompts " + folder.write("p.txt", "a:0-600\na:0-600\n");
    for (const std::string split : {"--engine sglang --tp 2 --cp 2", "--engine trtllm --cp 2",
                                    "--engine vllm --tp 3"}) {
        CAPTURE(split);
        CHECK(run("size llama-3.1-8b --tokens 1k " + split).code == 2);
        CHECK(run("reuse llama-3.1-8b " + split + prompts).code == 2);
    }
    for (const std::string more : {"--tp 2", "--pp 2", "--cp 2", "--dp 2", "--pp-split 1,31", "--kv-budget 1GiB",
                                   "--engine-max-len 10"}) {
        refused("reuse llama-3.1-8b --engine llamacpp " + more + prompts, 2, "");
    }
    for (const std::string more : {"--limit 3", "--unit-tokens 7", "--page-tokens 8", "--window-edge full",
                                   "--steps"}) {
        refused("reuse llama-3.1-8b --engine vllm " + more + prompts, 2, more.substr(0, more.find(' ')));
    }
    const auto skipped = [](const std::string& held) {
        return checked("reuse", "llama-3.1-8b --prompt 1000 " + held)["reusable_tokens"];
    };
    CHECK(skipped("--held 1=0-5 --held 1=6,7") == skipped("--held 1=0-7"));
    refused("compare llama-3.1-8b@pp=2 llama-3.1-8b", 2, "only @FORMAT and @tp=N are compared");
    refused("sweep llama-3.1-8b --level 80GiB", 2, "--level: ");
    refused("advise llama-3.1-8b --gpu h100 --tokens 8k --accept-stale", 2, "--accept-stale: ");
    refused("pools qwen3-next-80b-a3b --engine sglang --kv-budget 20GiB --max-mamba-cache-size 2", 1,
            "2 state slots are fewer than the 3 that one request takes");
}

TEST_CASE("a revision that the local cache does not have is no model", "[cli][verbs]") {
    if (!known()) {
        return;
    }
    const Folder folder;
    const std::string at = "hub/models--foo--bar/";
    folder.write(at + "refs/main", "abc");
    folder.write(at + "snapshots/abc/config.json",
                 R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 64})");
    const std::string cache = "HF_HUB_CACHE=" + (folder.path() / "hub").string();
    CHECK(run("size foo/bar --tokens 1k", cache).code == 0);
    CHECK(run("size foo/bar@main --tokens 1k", cache).code == 0);
    CHECK(run("size foo/bar@abc --tokens 1k", cache).code == 0);
    CHECK(run("size foo/bar@dev --tokens 1k", cache).code != 0);
    CHECK(run("size foo/bar@fp8 --tokens 1k", cache).err.find("only compare takes MODEL@FORMAT") != std::string::npos);
}

TEST_CASE("weights of a mixture that does not say its experts are unknown", "[cli][verbs]") {
    if (!known()) {
        return;
    }
    const Folder folder;
    const std::string config = R"({"model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096,
"intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8)";
    const auto weights = [&](const std::string& more) {
        return checked("fit", folder.write("m.json", config + more + "}") + " --gpu h200 --gpus 1 --tokens 1k")
            ["weights_bytes_per_rank"];
    };
    CHECK(weights("").is_null());
    CHECK(weights(", \"num_local_experts\": 8") == 2 * 46'702'792'704);
}

}  // namespace verbs_cli_tests
