// SPDX-License-Identifier: MIT
// plan, roofline and advise as a script sees them: published numbers, the eight scenarios of advice, launch
// lines that are read back and fit, JSON against its schema, screens of 80 columns, exit codes.
#include "json_schema.hpp"
#include "program.hpp"

#include <catch2/catch.hpp>
#include <kvcap/plan/depth_reuse.hpp>
#include <vector>

namespace choice_cli_tests {

using namespace program;
using nlohmann::json;

namespace {

json json_of(const std::string& arguments, const std::string& schema, int code = 0) {
    const Ran ran = run(arguments + " --json");
    CAPTURE(arguments, ran.err);
    REQUIRE(ran.code == code);
    const json read = json::parse(ran.out);
    CHECK(schemas::violation_of(read, schema) == "");
    return read;
}

json roofline(const std::string& arguments) {
    return json_of("roofline " + arguments, "roofline");
}
json advise(const std::string& arguments, int code = 0) {
    return json_of("advise " + arguments, "advise", code);
}

const json& choice(const json& advice, const std::string& technique) {
    for (const json& each : advice["choices"]) {
        if (each["technique"] == technique) {
            return each;
        }
    }
    static const json none;
    FAIL("no choice " << technique);
    return none;
}

std::string first(const json& advice) {
    return advice["choices"][0]["technique"];
}
double saved(const json& advice, const std::string& technique) {
    return choice(advice, technique)["saved"];
}
bool starts(const json& advice, const std::string& words) {
    return advice["verdict"].get<std::string>().rfind(words, 0) == 0;
}

/// A similarity table: every odd layer `odd`, every other 0.9.
class Table {
public:
    Table(int layers, double odd, const std::string& dtype = "bf16", const std::string& kind = "attention") {
        json table = {{"schema", "kvcap.similarity/1"}, {"dtype", dtype}, {"kind", kind}};
        table["similarity"] = json::array({nullptr});
        for (int i = 1; i < layers; ++i) {
            table["similarity"].push_back(i % 2 == 1 ? odd : 0.9);
        }
        std::ofstream{path_} << table.dump();
    }
    ~Table() { std::filesystem::remove(path_); }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    std::string flag() const { return " --similarity " + path_; }

private:
    std::string path_ =
        (std::filesystem::temp_directory_path() / ("kvcap-table-" + std::to_string(::getpid()) + ".json"))
            .string();
};

void fails(const std::string& arguments, int code, const std::string& words) {
    const Ran ran = run(arguments);
    CAPTURE(arguments, ran.err);
    CHECK(ran.code == code);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("roofline: Llama-3-8B at 8K, where cache reads pass weight reads at 14 sequences",
          "[cli][roofline]") {
    if (!known()) {
        return;
    }
    const json at = roofline("llama-3-8b --gpu h100 --tokens 8k --batch 14 --generate 64");
    CHECK(at["cache_passes_weights_at"] == 14);
    CHECK(at["device"]["turning_point"].get<double>() == Approx(295.2).margin(0.1));
    CHECK(at["attention"][0]["intensity"] == 4.0);
    CHECK(at["attention"][0]["bound_by"] == "reading");
    CHECK(at["step"]["cache_bytes"] == 14LL * 8192 * 131072);
    CHECK(at["step"]["bytes"] == 14LL * 8192 * 131072 + 2 * (8030261248LL - 128256 * 4096));
    const double bytes = at["step"]["bytes"];
    CHECK(at["step"]["at_least_seconds"].get<double>() == Approx(bytes / 3.35e12));
    CHECK(at["prefix_bytes"] == 8192LL * 131072);
    CHECK(at["generation"]["passes_with_cache"] == 8192 + 63);
    CHECK(at["generation"]["passes_without_cache"] == 64 * 8192 + 64 * 63 / 2);
    const double flops = at["prompt"]["flops"];
    const double head = 128256.0 * 4096;  // of the last token alone
    CHECK(flops == 2.0 * (7504924672 - head) * 8192 + 2 * head + 32.0 * 16384 * (8192.0 * 8193 / 2));
    CHECK(at["break_even_bytes_per_second"].get<double>() == Approx(8192.0 * 131072 * 989e12 / flops));
    CHECK(at["transfer_seconds"].get<double>() == Approx(8192.0 * 131072 / 450e9));
    CHECK(at["experts"].is_null());
    const json parts = roofline("llama-3-8b --gpu h100 --tokens 8k")["parts"];
    long long sum = 0;
    for (const json& part : parts) {
        sum += part["bytes"].get<long long>();
    }
    CHECK(sum == 8192LL * 131072 + 2 * (8030261248LL - 128256 * 4096));
}

TEST_CASE("roofline: MLA is not always bound by reading, and experts fill a link first", "[cli][roofline]") {
    if (!known()) {
        return;
    }
    const json v3 = roofline("deepseek-v3 --gpu h200 --tp 1 --tokens 32k --batch 16");
    CHECK(v3["attention"][0]["intensity"].get<double>() == Approx(241.78).margin(0.01));
    CHECK(v3["attention"][0]["expanded_intensity"] == 1.0);
    CHECK(v3["attention"][0]["bound_by"] == "computing");
    CHECK(v3["device"]["turning_point"].get<double>() == Approx(206.0).margin(0.1));
    CHECK(roofline("deepseek-v3 --gpu h100 --tokens 1k")["attention"][0]["bound_by"] == "reading");
    CHECK(roofline("deepseek-v3 --gpu h100 --tokens 1k --kv-cache-dtype fp8")["attention"][0]["bound_by"] ==
          "computing");
    CHECK(v3["experts"]["bytes_per_token"] == 9977856);
    CHECK(v3["experts"]["cache_bytes_per_token"] == 70272);
    CHECK(v3["experts"]["saturates_first"] == "experts");
    CHECK(v3["experts"]["tokens_per_second"].get<double>() == Approx(450e9 / 9977856));
    CHECK(v3["experts"]["cache_tokens_per_second"].get<double>() == Approx(450e9 / 70272));
    CHECK(run("roofline deepseek-v3 --gpu h200 --tokens 32k").out.find("142.0x") != std::string::npos);
    const json slow = roofline("deepseek-v3 --gpu h200 --tp 8 --tokens 32k --link 50GB");
    CHECK(slow["transfer_seconds"].get<double>() ==
          Approx(32768.0 * 70272 / 50e9));  // each rank needs the latent
    // A sparse index is read whole, 2,048 latents of 32,768.
    const json sparse = roofline("deepseek-v3.2 --gpu h200 --tp 8 --tokens 32k");
    long long index = 0;
    long long latents = 0;
    for (const json& part : sparse["parts"]) {
        index += part["kind"] == "index" ? part["bytes"].get<long long>() : 0;
        latents += part["kind"] == "mla" ? part["bytes"].get<long long>() : 0;
    }
    CHECK(index == 61LL * 132 * 32768);
    CHECK(latents == 61LL * 1152 * 2048);
}

TEST_CASE("roofline and advise: screens fit 80 columns, bad input is refused at its place",
          "[cli][roofline][advise]") {
    if (!known()) {
        return;
    }
    for (const char* model :
         {"deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b", "gpt-oss-120b", "deepseek-v3.2"}) {
        for (const char* rest : {" --gpu h200 --tp 1 --tokens 32k --batch 3",
                                 " --gpu b200 --tp 4 --pp 2 --tokens 1m --batch 64"}) {
            const Ran shown = run("roofline " + std::string{model} + rest);
            CAPTURE(model, rest, shown.err, shown.out);
            CHECK(shown.code == 0);
            CHECK(widest(shown.out) <= 80);
            for (const char* goal : {"memory", "throughput"}) {
                const Ran advised = run("advise " + std::string{model} + rest + " --explain --goal " + goal);
                CAPTURE(goal, advised.err, advised.out);
                CHECK((advised.code == 0 || advised.code == 1));
                CHECK(widest(advised.out) <= 80);
            }
        }
    }
    fails("roofline llama-3-8b", 2, "--gpu is required");
    fails("roofline llama-3-8b --gpu h1000", 2, "did you mean h100");
    fails("roofline llama-3-8b --gpu rtx-3090", 3, "does not state the bf16 rate");
    fails("roofline llama-3-8b --gpu h100 --tokens 1k,2k", 2, "--tokens");
    fails("roofline llama-3-8b --gpu h100 --batch 0", 2, "--batch");
    fails("roofline llama-3-8b --gpu h100 --tp 3", 2, "cannot be dealt");
    fails("roofline llama-3-8b --gpu h100 --link 0GB", 2, "--link");
    fails("roofline llama-3-8b --gpu h100 --compute fp7", 2, "--compute");
    fails("advise llama-3-8b --gpu h100 --goal speed", 2, "--goal: speed");
    fails("advise '32*gqa(8,128)' --gpu h100", 3, "--weights-bytes");
    fails("advise '32*gqa(8,128)' --gpu h100 --tp 3", 2, "cannot be dealt");
    fails("advise llama-3-8b --gpu h100 --shared-prefix 64k --tokens 32k", 2, "--shared-prefix");
    fails("advise llama-3-8b --gpu h100 --fallback 2", 2, "--fallback");
    fails("advise llama-3-8b --gpu h100 --similarity /nonexistent.json", 3, "/nonexistent.json");
    fails("advise llama-3-8b --gpu h100 --gpus 4 --tp 8", 2, "--gpus");
    fails("advise llama-3-8b --gpu h100 --gpus 1 --dp 2", 2, "--gpus");
    CHECK(advise("llama-3.1-8b --gpu h100 --cp 4")["gpus"] == 4);
    for (const char* goal : {"latency", "ttft", "throughput"}) {  // the catalogue has no rate of this one
        fails(std::string{"advise llama-3.1-8b --gpu rtx-3090 --tokens 4k --goal "} + goal, 3, "bf16 rate of rtx-3090");
    }
    const json memory = advise("llama-3.1-8b --gpu rtx-3090 --tokens 4k");
    const json halved = choice(memory, "quantised_8_bit")["cache_bytes"];
    CHECK(halved.get<std::uint64_t>() * 2 == memory["as_asked"]["cache_bytes"]);
    CHECK(memory["as_asked"]["step_seconds"].is_null());
    CHECK(memory["as_asked"]["tokens_per_second"].is_null());
    CHECK(run("advise llama-3.1-8b --gpu rtx-3090 --tokens 4k").out.find("does not state the bf16 rate, so no") !=
          std::string::npos);
    const json known =
        advise("llama-3.1-8b --gpu h100 --tokens 32k --shared-prefix 32k --goal ttft --rank 0");
    CHECK(choice(known, "prefix_cache")["first_token_seconds"] > 0.001);  // the weights are read once
    CHECK(known.dump().find("low_rank") == std::string::npos);
    fails("compare llama-3.1-8b@fp8@bf16 llama-3.1-8b", 2, "contradict");
    fails("compare llama-3.1-8b@tp=8@tp=4 llama-3.1-8b", 2, "contradict");
    for (const std::string verb :
         {"size llama-3.1-8b", "sweep llama-3.1-8b", "compare llama-3.1-8b llama-3.1-8b"}) {
        fails(verb + " --batch 0", 2, "at least 1 is wanted");
    }
    const Ran book = run("compare llama-3.1-8b llama-3.1-8b@fp8@tp=8 qwen3-next-80b-a3b --textbook");
    CHECK(widest(book.out) <= 80);
    CHECK(book.out.find("Llama-3.1-8B fp8 TP 8") != std::string::npos);
}

TEST_CASE("advise 1: long context and little memory: a latent first", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const json at = advise("llama-2-7b --gpu rtx-4090 --tokens 128k --goal memory");
    CHECK(at["as_asked"]["fits"] == false);
    CHECK(at["as_asked"]["cache_bytes"] == 131072LL * 524288);
    CHECK(first(at) == "latent");
    CHECK(choice(at, "latent")["fits"] == true);
    CHECK(choice(at, "latent")["cache_bytes"] == 131072LL * 32 * 1152);
    CHECK(choice(at, "quantised_8_bit")["fits"] == false);
    CHECK(choice(at, "quantised_4_bit")["cache_bytes"] == 131072LL * 32 * 2 * 32 * 68);
    CHECK(choice(at, "fewer_heads")["cache_bytes"] == 131072LL * 32 * 4096);
    CHECK(choice(at, "low_rank")["cache_bytes"] == 131072LL * 262144);
    CHECK(choice(at, "window_and_sinks")["cache_bytes"] == 4100LL * 524288);
    CHECK(choice(at, "token_budget")["cache_bytes"] == 26214LL * 524288);
}

TEST_CASE("advise 2: short context and many requests: KV quantisation or fewer heads", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const json at = advise("llama-2-7b --gpu h100 --gpus 8 --tp 8 --tokens 1k --batch 64 --goal throughput");
    CHECK(first(at) == "quantised_4_bit");
    CHECK(saved(at, "quantised_8_bit") > 0.4);
    // Heads divide over tensor ranks and a latent does not: 1 head of 8 beats a whole latent.
    CHECK(saved(at, "fewer_heads") > saved(at, "latent"));
    const long long most = at["as_asked"]["most_sequences"];
    CHECK(choice(at, "quantised_8_bit")["most_sequences"] >= 2 * most);
    CHECK(choice(at, "quantised_8_bit")["most_sequences"] <= 2 * most + 1);
}

TEST_CASE("advise 3: decode latency: depth reuse, and watch the similarity", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const Table table{32, 0.985};
    const json seven = advise("llama-2-7b --gpu h100 --tokens 512 --goal latency" + table.flag());
    CHECK(first(seven) == "depth_reuse");
    const double all = 2.0 * (6738415616.0 - 32000.0 * 4096) + 512.0 * 524288;
    CHECK(saved(seven, "depth_reuse") == Approx(16.0 * 2 * 2 * 4096 * 4096 / all).margin(1e-4));
    CHECK(saved(seven, "depth_reuse") > 0.079);
    CHECK(choice(seven, "depth_reuse")["verify"].get<std::string>().find("similarity") != std::string::npos);
    CHECK(saved(advise("llama-2-7b --gpu h100 --tokens 512 --goal latency --fallback 0.5" + table.flag()),
                "depth_reuse") == Approx(saved(seven, "depth_reuse") / 2).margin(1e-4));
    const json eight = advise("llama-3-8b --gpu h100 --tokens 512 --goal latency" + table.flag());
    CHECK(saved(eight, "depth_reuse") == Approx(0.018).margin(0.0005));
    CHECK(starts(eight, "look elsewhere"));
    // Below the threshold nothing is reused.
    const json none =
        advise("llama-2-7b --gpu h100 --tokens 512 --goal latency --threshold 0.99" + table.flag());
    for (const json& each : none["choices"]) {
        CHECK(each["technique"] != "depth_reuse");
    }
}

TEST_CASE("advise 4: long prefill, few outputs: a stored prefix; depth reuse gains nothing",
          "[cli][advise]") {
    if (!known()) {
        return;
    }
    const Table table{32, 0.985};
    const json at =
        advise("llama-3.1-8b --gpu h100 --tokens 32k --shared-prefix 24k --goal ttft" + table.flag());
    CHECK(first(at) == "prefix_cache");
    constexpr double head = 128256.0 * 4096;  // of the last token alone
    const auto flops = [](double n) { return 2.0 * (7504924672 - head) * n + 32.0 * 16384 * (n * (n + 1) / 2); };
    CHECK(saved(at, "prefix_cache") == Approx(flops(24576) / (flops(32768) + 2 * head)).margin(1e-4));
    CHECK(at["as_asked"]["first_token_seconds"].get<double>() == Approx((flops(32768) + 2 * head) / 989e12));
    CHECK(saved(at, "depth_reuse") == 0);
    CHECK(saved(at, "quantised_8_bit") == 0);
}

TEST_CASE("advise 5: depth reuse on a latent stacks, and is measured apart", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const Table table{27, 0.985, "bf16", "latent"};
    const std::string asked = "deepseek-v2-lite --gpu h100 --tokens 32k --decoded 8k --goal memory";
    const json at = advise(asked + table.flag());
    CHECK(at["as_asked"]["cache_bytes"] == 27LL * 1152 * 32768);
    const long long entries = static_cast<long long>(kvcap::layer_tokens(27, 13, 24576, 8192));
    CHECK(choice(at, "depth_reuse")["cache_bytes"] == 1152 * entries);
    CHECK(unfolded(run("advise " + asked + table.flag()).out).find("measure each apart") !=
          std::string::npos);
    const Table eight{27, 0.985, "fp8", "latent"};
    CHECK(choice(advise(asked + " --kv-cache-dtype fp8" + eight.flag()), "depth_reuse")["cache_bytes"] ==
          576 * entries);
    fails("advise llama-2-7b --gpu h100" + eight.flag(), 2, "recalibrate");
}

TEST_CASE("advise 6: a latent at 2K is little of what is read: look elsewhere", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const json at = advise("deepseek-v3 --gpu h200 --gpus 8 --tp 8 --tokens 2k --goal latency");
    CHECK(at["as_asked"]["cache_share_of_reads"].get<double>() > 0.01);
    CHECK(at["as_asked"]["cache_share_of_reads"].get<double>() < 0.04);
    CHECK(starts(at, "look elsewhere"));
    CHECK(saved(at, "quantised_8_bit") < 0.02);
}

TEST_CASE("advise 7: INT8 cache and depth reuse: recalibrate", "[cli][advise]") {
    if (!known()) {
        return;
    }
    const std::string asked =
        "llama-2-7b --gpu h100 --tokens 8k --decoded 4k --goal memory --kv-cache-dtype int8";
    {
        const Table table{32, 0.98};
        fails("advise " + asked + table.flag(), 2, "recalibrate");
        const json stale = advise(asked + " --accept-stale" + table.flag());
        CHECK(choice(stale, "depth_reuse")["size"] == 16);
    }
    const Table table{32, 0.995, "int8"};
    CHECK(choice(advise(asked + table.flag()), "depth_reuse")["cache_bytes"] ==
          8192LL * (32 * 4096 + 16 * 4096));
    fails("advise llama-2-7b --gpu h100 --kv-cache-dtype fp8" + table.flag(), 2, "recalibrate");
    fails("advise llama-3.1-70b --gpu h100 --kv-cache-dtype int8" + table.flag(), 3,
          "similarities of 32 layers, and the model has 80");
}

TEST_CASE("advise 8: the cache is no bottleneck at all", "[cli][advise]") {
    if (!known()) {
        return;
    }
    for (const char* goal : {"latency", "memory"}) {
        const json at =
            advise("llama-3.1-70b --gpu h100 --gpus 8 --tp 8 --tokens 512 --goal " + std::string{goal});
        CHECK(at["as_asked"]["fits"] == true);
        CHECK(at["as_asked"]["cache_share_of_reads"].get<double>() < 0.002);
        CHECK(starts(at, "look elsewhere"));
    }
}

TEST_CASE("plan: every emitted line is read back, and its engine says that it fits", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const char* models[] = {"llama-3.1-70b",      "deepseek-v3",  "gemma-3-27b",
                            "qwen3-next-80b-a3b", "gpt-oss-120b", "qwen3-0.6b"};
    const char* loads[] = {
        " --gpu h200 --gpus 8 --tokens 32k --batch 20",
        " --gpu b200 --gpus 12 --tokens 8k --batch 3 --util 0.8 --non-kv-bytes 6GiB --goal context"};
    int lines = 0;
    for (const std::string model : models) {
        for (const std::string load : loads) {
            for (const std::string engine : {"vllm", "sglang", "llama-server", "trtllm"}) {
                const std::string blocks = engine == "vllm" ? " --block-sizes 0,64" : "";
                const Ran emitted = run("plan " + model + load + blocks + " --emit " + engine);
                CAPTURE(model, load, engine, emitted.out, emitted.err);
                if (emitted.out.empty()) {
                    CHECK(emitted.code != 0);
                    continue;
                }
                CHECK(emitted.code == 0);
                const std::string line = emitted.out.substr(0, emitted.out.size() - 1);
                const std::string beside =
                    load.substr(0, load.find(" --gpus")) +
                    (load.find("--non-kv-bytes") != std::string::npos ? " --non-kv-bytes 6GiB" : "");
                const json back = json_of("plan --launch " + quoted(line) + beside, "launch");
                CHECK(back["fits"] == true);
                CHECK(back["line"] == line);
                ++lines;
            }
        }
    }
    CHECK(lines >= 30);
}

TEST_CASE("plan: launch lines carry what was evaluated, and no other engine's line", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const std::string asked = "plan llama-3.1-70b --gpu h100 --gpus 8 --tokens 16k --batch 12 --util 0.85";
    const std::string vllm = run(asked + " --dtypes fp8 --block-sizes 32 --emit vllm").out;
    for (const char* part : {"--max-model-len 16384", "--gpu-memory-utilization 0.85", "--kv-cache-dtype fp8",
                             "--block-size 32", "--max-num-seqs ", "--max-num-batched-tokens 8192"}) {
        CAPTURE(vllm, part);
        CHECK(vllm.find(part) != std::string::npos);
    }
    const std::string sglang = run(asked + " --dtypes fp8 --block-sizes 64 --emit sglang").out;
    for (const char* part :
         {"--context-length 16384", "--mem-fraction-static 0.85", "--kv-cache-dtype fp8_e4m3",
          "--page-size 64", "--max-running-requests ", "--chunked-prefill-size 8192"}) {
        CAPTURE(sglang, part);
        CHECK(sglang.find(part) != std::string::npos);
    }
    const std::string trtllm = run(asked + " --dtypes fp8 --block-sizes 64 --emit trtllm").out;
    for (const char* part : {"--max_seq_len 16384", "free_gpu_memory_fraction: 0.85", "dtype: fp8",
                             "tokens_per_block: 64", "--max_batch_size "}) {
        CAPTURE(trtllm, part);
        CHECK(trtllm.find(part) != std::string::npos);
    }
    const std::string shared = asked.substr(0, asked.find(" --util"));  // llama.cpp takes all
    const std::string llama = run(shared + " --dtypes q8_0 --emit llama-server").out;
    for (const char* part : {"-ctk q8_0", "-ctv q8_0", "-np ", "--ubatch-size 512"}) {
        CAPTURE(llama, part);
        CHECK(llama.find(part) != std::string::npos);
    }
    fails(asked + " --emit tgi", 2, "--emit: tgi");
    fails(asked + " --engine vllm --emit sglang", 2, "--emit sglang and --engine vllm");
    fails("plan --gpu h100 --launch nonsense", 3, "launch line");
    fails("plan --gpu h100 --gpus 8", 2, "MODEL is required");
    fails(asked + " --fraction-of free --emit vllm", 2, "--fraction-of");
    fails("plan llama-3.1-70b --kv-budget 40GiB --gpus 8 --emit sglang", 2, "SGLang has no flag");
    const Ran small = run("plan --gpu l4 --launch 'vllm serve llama-3.1-70b'");
    CHECK(small.code == 1);
    CHECK(widest(small.out) <= 80);
}

TEST_CASE("plan: what is not known is said, on the screen, in JSON and beside a line", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const std::string unknown =
        "plan '80*gqa(8,128)' --gpu l4 --gpus 1 --tokens 32k --dtypes fp8 --non-kv-bytes 1GiB";
    CHECK(run(unknown).out.find("the weights are unknown") != std::string::npos);
    CHECK(run(unknown).out.find("rules: vLLM") != std::string::npos);
    CHECK(json_of(unknown, "plan")["notes"].dump().find("the weights are unknown") != std::string::npos);
    CHECK(run(unknown).out.find("requests <=") != std::string::npos);
    CHECK(json_of(unknown, "plan")["weights_known"] == false);
    CHECK(json_of(unknown + " --weights-bytes 10GiB", "plan")["weights_known"] == true);
    const Ran emitted = run(unknown + " --emit vllm");
    CHECK(emitted.code == 2);
    CHECK(emitted.err.find("--emit: the weights of this model are unknown") != std::string::npos);
    const json line =
        json_of("plan --gpu l4 --launch \"vllm serve '80*gqa(8,128)' --max-model-len 4096\"", "launch");
    CHECK(line["notes"].dump().find("the weights are unknown") != std::string::npos);
    CHECK(line["notes"].dump().find("--non-kv-bytes") != std::string::npos);
}

TEST_CASE("plan: flags that name a split or a format leave the search no other", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const std::string asked = "plan llama-3.1-70b --gpu h100 --gpus 4 --tokens 32k --overhead kaito-2026-06";
    CHECK(run(asked + " --kv-cache-dtype bf16 --emit vllm").out.find("fp8") == std::string::npos);
    const json by_tensor = json_of(asked + " --tp 2", "plan");
    for (const json& each : by_tensor["ranked"]) {
        CHECK(each["tp"] == 2);
    }
    const json by_stage = json_of(asked + " --pp 4", "plan");
    for (const json& each : by_stage["ranked"]) {
        CHECK(each["pp"] == 4);
    }
    CHECK(run(asked + " --emit trtllm --max-batch-size 8").out.find("--max_batch_size 8 ") !=
          std::string::npos);
    CHECK(run(asked + " --emit sglang --max-running-requests 8").out.find("--max-running-requests 8 ") !=
          std::string::npos);
    fails(asked + " --tp 3", 2, "--tp: no split of 4 GPUs");
    fails(asked + " --kv-cache-dtype bf16 --dtypes fp8", 2, "said twice");
    fails(asked + " --pp-split 30,18 --pp 2", 2, "the model has 80");
    fails(asked + " --pp-split 41,39 --pp 2 --emit vllm", 2, "no flag for --pp-split");
    fails(asked + " --emit vllm --json", 2, "--emit and --json");
    fails(asked + " --top 0", 2, "--top");
    fails("plan --tp 4 --gpu h100 --launch 'vllm serve llama-3.1-8b'", 2, "--tp and --launch");
    const json twice = json_of(asked + " --dtypes fp8,fp8", "plan");
    CHECK(twice["ranked"] == json_of(asked + " --dtypes fp8", "plan")["ranked"]);
    const std::string host = run(asked + " --emit trtllm --host-cache-size 1GiB").out;
    CHECK(host.find("host_cache_size: 1073741824") != std::string::npos);
    const Ran none = run("plan llama-3.1-70b --gpu l4 --gpus 1 --emit vllm");
    CHECK(none.code == 1);
    CHECK(none.err.find("not enough memory") != std::string::npos);
}

TEST_CASE("plan --launch: the engine's own defaults, and what it does not evaluate", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const auto judged = [](const std::string& line, int code = 0) {
        return json_of("plan --gpu h100 --launch " + quoted(line), "launch", code);
    };
    const auto refuses = [](const std::string& line, const std::string& words) {
        fails("plan --gpu h100 --launch " + quoted(line), 2, words);
    };
    CHECK(judged("vllm serve llama-3.1-8b")["notes"].dump().find("131,072 tokens") != std::string::npos);
    CHECK(judged("vllm serve llama-3.1-8b")["margin_bytes"] ==
          judged("vllm serve llama-3.1-8b --max_model_len 131072")["margin_bytes"]);
    CHECK(judged("llama-server -m llama-3.1-8b -c 0 -np 1")["margin_bytes"] ==
          judged("llama-server -m llama-3.1-8b -c 131072 -np 1")["margin_bytes"]);
    CHECK(judged("llama-server -m llama-3.1-8b -c 8192 -np 4 --kv-unified")["fits"] == true);
    CHECK(judged("vllm serve llama-3.1-8b --mystery 3")["notes"].dump().find("not understood") !=
          std::string::npos);
    CHECK(judged("python3 -m vllm.entrypoints.openai.api_server --model llama-3.1-8b")["line"] ==
          judged("vllm serve llama-3.1-8b")["line"]);
    CHECK(judged("sglang serve --model-path llama-3.1-8b")["engine"] == "sglang");
    CHECK(judged("sglang serve llama-3.1-8b --tp 2 --attn-cp-size 1")["fits"] == true);
    refuses("sglang serve llama-3.1-8b --tp 2 --attn-cp-size 2", "each hold every token");
    refuses("python -m sglang.launch_server --model-path llama-3.1-8b --tp 2 --dcp-size 2", "--dcp-size");
    refuses("llama-server -m llama-3.1-8b -c 8192 -nkvo", "host memory");
    refuses("llama-server -m llama-3.1-8b -c 8192 -ngl 10", "-ngl 10");
    refuses("vllm serve llama-3.1-8b --speculative-config '{}'", "draft");
    refuses("vllm serve jamba-1.5-mini --max-model-len 8192 --mamba-ssm-cache-dtype float32",
            "formats of states");
    const std::string line =
        run("plan llama-3.1-8b --gpu h100 --gpus 1 --tokens 32k --batch 4 --kv-unified --emit llama-server")
            .out;
    CHECK(line.find("-c 131072 -np 4") != std::string::npos);
    CHECK(judged(line.substr(0, line.size() - 1))["fits"] == true);
}

TEST_CASE("plan: 64 GPUs, its JSON keeps its schema", "[cli][plan]") {
    if (!known()) {
        return;
    }
    const json all = json_of(
        "plan deepseek-v3 --gpu h200 --gpus 64 --tokens 32k --dtypes auto,fp8,bf16,fp8_ds_mla "
        "--block-sizes 0,32,64",
        "plan");
    CHECK(all["ranked"].size() > 100);
    for (const json& each : all["ranked"]) {
        const int tp = each["tp"];
        const int cp = each["cp"];
        CHECK(tp * each["pp"].get<int>() * each["dp"].get<int>() == 64);
        CHECK(tp % cp == 0);  // vLLM's context ranks are tensor ranks
    }
    const json by_itself = json_of("plan llama-3.1-70b --gpu h100 --gpus 16 --tokens 8k", "plan");
    for (const json& each : by_itself["ranked"]) {
        CHECK(each["dp_attention"] == false);  // a dense model: that is DP
        CHECK((each["cp"] == 1 || each["tp"].get<int>() >= 8 * each["cp"].get<int>()));
    }
}

}  // namespace choice_cli_tests
