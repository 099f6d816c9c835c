// SPDX-License-Identifier: MIT
// Launch lines: what is written is read back to the same value, lines of other people are understood,
// nonsense is refused at its place.
#include <catch2/catch.hpp>
#include <cstring>
#include <kvcap/report/launch.hpp>
#include <random>

namespace launch_tests {

using namespace kvcap;

namespace {

/// A launch whose engine can say all of it.
Launch some_launch(std::mt19937_64& random) {
    const auto pick = [&](u64 most) { return random() % most; };
    constexpr const char* engines[] = {"vllm", "sglang", "llamacpp", "trtllm"};
    constexpr const char* names[] = {"org/Model-7B",     "a model", "it's",
                                     "/models/x_1.gguf", "$HOME/m", "a\"b\\c"};
    Launch launch{.engine = engines[pick(4)], .model = names[pick(6)]};
    launch.servers = static_cast<u32>(1 + pick(3));
    const bool says = launch.engine == "llamacpp" || pick(4) != 0;  // else the engine decides
    launch.tokens = says ? 1 + pick(1 << 20) : 0;
    launch.sequences = says || pick(2) == 0 ? 1 + pick(512) : 0;
    launch.tp = 1u << pick(4);
    const bool llama = launch.engine == "llamacpp";
    launch.pp = llama && launch.tp > 1 ? 1 : static_cast<u32>(1 + pick(4));
    launch.attention_dp = !llama && launch.tp > 1 && pick(2) == 0;
    launch.dp = launch.attention_dp || llama || launch.engine == "trtllm" ? 1 : static_cast<u32>(1 + pick(3));
    launch.cp = launch.engine == "vllm" && !launch.attention_dp ? static_cast<u32>(1 + pick(2)) : 1;
    launch.dtype = llama ? "q8_0" : pick(2) == 0 ? "auto" : "fp8";
    launch.util = llama ? "" : "0.85";
    launch.longer_allowed = !llama && launch.engine != "trtllm" && pick(3) == 0;
    if (llama) {
        launch.flags = {{"cache-type-k", "q8_0"}, {"cache-type-v", "f16"}, {"ubatch-size", "512"}};
        launch.flags["ctx-size"] = std::to_string(launch.tokens * launch.sequences);
        const bool one = launch.tp == 1 && launch.pp == 1;
        launch.over_all = !one || pick(2) == 0 ? "" : pick(2) == 0 ? "layer" : "tensor";
        if (pick(4) == 0) {  // --fit chooses the cells
            launch.flags.erase("ctx-size");
            launch.tokens = 0;
        }
    } else if (launch.engine == "trtllm") {
        launch.flags = {{"tokens-per-block", "64"}, {"max-kv-tokens", "100000"}, {"max-beam-width", "2"}};
        launch.budget = pick(2) == 0 ? "" : "1073741824";
    } else {
        launch.flags = {{"chunked-prefill-size", "4096"}, {"disable-radix-cache", ""}, {"page-size", "64"}};
    }
    return launch;
}

Launch read(const std::string& line) {
    const Diagnosed<Launch> launch = read_launch(line);
    INFO(line);
    REQUIRE(launch);
    return *launch;
}

void refused(const std::string& line, const std::string& words) {
    const Diagnosed<Launch> launch = read_launch(line);
    CAPTURE(line);
    REQUIRE(launch.error);
    CAPTURE(launch.error->text());
    CHECK(launch.error->text().find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("a launch line is read back to the deployment it was written from", "[launch]") {
    const u64 seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    for (int i = 0; i < 400; ++i) {
        const Launch launch = some_launch(random);
        const std::string line = report::launch_line(launch);
        CAPTURE(line);
        const Diagnosed<Launch> back = read_launch(line);
        REQUIRE(back);
        CHECK(report::launch_line(*back) == line);
        CHECK(*back == launch);
        CHECK((line + ' ').find(" 0 ") == std::string::npos);  // what is not said is not written
    }
}

TEST_CASE("launch lines as people write them", "[launch]") {
    const Launch vllm = read(
        "VLLM_USE_V1=1 /opt/venv/bin/vllm serve --model=deepseek-ai/DeepSeek-V3 -tp 8 \\\n --max-model-len "
        "32K "
        "--gpu-memory-utilization=0.92 --trust-remote-code --port 8000 --max-num-seqs 16");
    CHECK(vllm.model == "deepseek-ai/DeepSeek-V3");
    CHECK(vllm.tp == 8);
    CHECK(vllm.tokens == 32768);
    CHECK(vllm.util == "0.92");
    CHECK(vllm.sequences == 16);
    CHECK(vllm.flags.at("trust-remote-code").empty());
    CHECK(vllm.flags.at("port") == "8000");
    CHECK(read("vllm serve m --max-model-len 32k").tokens == 32000);  // vLLM: k is 1,000
    // As vLLM reads them: fractions of powers of 1,000 only.
    CHECK(read("vllm serve m --max-model-len 25.6k").tokens == 25600);
    CHECK(read("vllm serve m --max-model-len 1k").tokens == 1000);
    CHECK(read("vllm serve m --max-model-len 1K").tokens == 1024);
    CHECK(read("vllm serve m --max-model-len 0.5m").tokens == 500000);
    CHECK(read("vllm serve m --kv-cache-memory-bytes 10G").budget == std::to_string(u64{10} << 30));
    CHECK(read("vllm serve m --kv-cache-memory-bytes 1.5g").budget == "1500000000");
    CHECK(read("vllm serve m --kv-cache-memory-bytes 2T").budget == std::to_string(u64{2} << 40));
    for (const char* wrong : {"25.6K", "25.6", "1.k", ".5k", "1kk", "1x", "1.5e3k", "0.0001k", "k", "-1k",
                              "0.00000000000000000000000000001t"}) {
        refused(std::string{"vllm serve m --max-model-len="} + wrong, '"' + std::string{wrong} + '"');
    }
    refused("vllm serve 'm --max-model-len 8192", "an opened '");
    refused("vllm serve \"m", "an opened \"");
    CHECK(read("CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 4").visible == 2);
    for (const char* none : {"CUDA_VISIBLE_DEVICES=", "CUDA_VISIBLE_DEVICES=-1", "CUDA_VISIBLE_DEVICES=none"}) {
        CHECK(read(std::string{none} + " vllm serve m").visible == 0);
    }
    CHECK(read("CUDA_VISIBLE_DEVICES=0,-1,1 vllm serve m").visible == 1);  // up to the first that is none
    CHECK(read("CUDA_VISIBLE_DEVICES=all vllm serve m").visible == std::nullopt);
    CHECK(read("vllm serve m").visible == std::nullopt);
    CHECK(read("docker run --gpus all vllm/vllm-openai:v0.10.2 --model m").visible == std::nullopt);
    CHECK(read("docker run --gpus 0 vllm/vllm-openai:v0.10.2 --model m").visible == 0);
    CHECK(read("docker run --gpus none vllm/vllm-openai:v0.10.2 --model m").visible == 0);
    CHECK(read("docker run --gpus '\"count=2\"' vllm/vllm-openai:v0.10.2 --model m").visible == 2);
    CHECK(read("docker run --gpus 2 vllm/vllm-openai:v0.10.2 --model m").visible == 2);
    CHECK(read("docker run --gpus=3 vllm/vllm-openai:v0.10.2 --model m").visible == 3);
    CHECK(read("docker run --gpus '\"device=0,1\"' vllm/vllm-openai:v0.10.2 --model m").visible == 2);
    CHECK(read("docker run -e HIP_VISIBLE_DEVICES=0 vllm/vllm-openai:v0.10.2 --model m").visible == 1);
    CHECK(read("CUDA_VISIBLE_DEVICES=0,0,1 vllm serve m").visible == 2);
    const std::string docker = "docker run --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=0,1,3 ";
    CHECK(read(docker + "vllm/vllm-openai:v0.10.2 --model m").visible == 3);
    CHECK(read(docker + "-e CUDA_VISIBLE_DEVICES=0 vllm/vllm-openai:v0.10.2 --model m").visible == 1);
    CHECK(read("docker run -e NVIDIA_VISIBLE_DEVICES=void vllm/vllm-openai:v0.10.2 --model m").visible == 0);
    CHECK(read("docker run --gpus 2 -e NVIDIA_VISIBLE_DEVICES=0 vllm/vllm-openai:v0.10.2 --model m").visible == 2);
    CHECK(read("NVIDIA_VISIBLE_DEVICES=0 vllm serve m -tp 4").visible == std::nullopt);  // a container's variable
    const Launch experts = read("vllm serve m -dp 8 --enable-expert-parallel");
    CHECK(experts.attention_dp);
    CHECK(experts.tp == 8);
    CHECK(experts.dp == 1);
    const Launch both = read("vllm serve m -tp 2 -dp 4 --enable-expert-parallel");
    CHECK_FALSE(both.attention_dp);
    CHECK(both.tp == 2);
    CHECK(both.dp == 4);
    CHECK(both.flags.count("enable-expert-parallel") == 1);
    CHECK(read(report::launch_line(both)) == both);
    const Launch sglang = read(
        "python3 -m sglang.launch_server --model-path m --tp 16 --dp 16 --enable-dp-attention "
        "--max-running-requests 64 --mem-fraction-static 0.8");
    CHECK(sglang.attention_dp);
    CHECK(sglang.sequences == 4);
    // The same servers by their other names: modules of Python's, and SGLang's own program.
    const Launch served = read("vllm serve m -tp 2 --max-model-len 8192");
    for (const char* begin : {"python -m vllm.entrypoints.openai.api_server", "python3 -m vllm.entrypoints.api_server",
                              "/opt/venv/bin/python -u -m vllm.entrypoints.cli.main serve", "python3 -m vllm serve"}) {
        CHECK(read(std::string{begin} + " --model=m -tp 2 --max-model-len 8192") == served);
    }
    const Launch launched = read("python -m sglang.launch_server --model-path m --tp 2 --context-length 8192");
    CHECK(launched.engine == "sglang");
    CHECK(read("sglang serve --model-path m --tp 2 --context-length 8192") == launched);
    CHECK(read("sglang serve m --tp 2 --context-length 8192") == launched);
    CHECK(read("mpirun -n 2 trtllm-serve m --free_gpu_memory_fraction 0.7").util == "0.7");
    CHECK(read("llama-server --hf-repo m -c 8") == read("llama-server -m m -c 8"));
    const Launch llama = read("./llama-server -hf org/m-GGUF -c 65536 -np 4 -ctk q8_0 -fa on -kvu");
    CHECK(llama.tokens == 65536);  // one cache for all
    CHECK(read("llama-server -m m.gguf -c 65536 -np 4").tokens == 16384);
    CHECK(llama.flags.at("flash-attn") == "on");
    const Launch trtllm = read(
        "printf 'enable_attention_dp: true\\nkv_cache_config: {tokens_per_block: 64, dtype: fp8}\\n' > "
        "x.yaml && "
        "trtllm-serve serve m --tp_size 8 --max_batch_size 32 --kv_cache_free_gpu_memory_fraction 0.7 "
        "--config x.yaml");
    CHECK(trtllm.attention_dp);
    CHECK(trtllm.flags.at("tokens-per-block") == "64");
    CHECK(trtllm.dtype == "fp8");
    CHECK(trtllm.util == "0.7");
    CHECK(trtllm.model == "m");
    const Launch under =
        read("vllm serve m --max_model_len 8192 --tensor_parallel_size=2 --kv_cache_memory 1024");
    CHECK(under.tokens == 8192);
    CHECK(under.tp == 2);
    CHECK(under.budget == "1024");
    CHECK(read("llama-server -m m -c 0").tokens == 0);  // the model's
    CHECK(read("llama-server -m m -c 8 -ctk q8_0").flags.at("cache-type-v") == "f16");
    CHECK(read("llama-server -m m -ngl -1").flags.count("n-gpu-layers") == 0);
    CHECK(read("llama-server -m m -ngl 20").flags.at("n-gpu-layers") == "20");
    CHECK(report::launch_line(read("llama-server -m m -c 8 -ngl 20")).find("-ngl 20") != std::string::npos);
    CHECK(read("llama-server -m m -nkvo").flags.count("no-kv-offload") == 1);
    CHECK(read("printf 'speculative_config: {}' > x && trtllm-serve m --config x").flags.count("speculative-config") ==
          1);
}

TEST_CASE("llama-server's -ts and -sm: equal shares by layers or tensors, one device, and nothing else", "[launch]") {
    const std::string begin = "llama-server -m m -c 8 ";
    for (const char* two : {"-ts 1,1", "-ts 1/1", "-ts 3,3", "-ts 0.5,,0.5", "-ts 1,/1,", "-ts 1e1,10",
                            "-sm layer -ts 1,1"}) {
        CAPTURE(two);
        CHECK(read(begin + two).pp == 2);
        CHECK(read(begin + two).tp == 1);
    }
    CHECK(read(begin + "-ts 7").pp == 1);
    CHECK(read(begin + "--tensor-split 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1").pp == 15);
    CHECK(read(begin + "-ts 1,1 --split-mode tensor").tp == 2);
    for (const char* one : {"-sm none -ts 1,1", "-ts 1,1,1 --split-mode none", "-sm none", "-sm tensor"}) {
        CAPTURE(one);
        CHECK(read(begin + one).pp == 1);
        CHECK(read(begin + one).tp == 1);
    }
    for (const char* shares : {"9,1", "1,1,1.5", "a", "1:1", "1,nan", "1,inf", "1,-1", ",", "/", ",1", "0,1", "0,0",
                               "1,0", "1x,1x", "0x1,0x1", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
        refused(begin + "--tensor-split=" + shares, "--tensor-split: \"" + std::string{shares} + '"');
        refused(begin + "-ts=" + shares, "wanted equal shares above 0 of 1 to 15 devices");
    }
    refused(begin + "-ts=", "-ts: nothing; wanted equal shares");
    for (const char* mode : {"row", "nonsense", "Layer", "tensors"}) {
        refused(begin + "-ts 1,1 -sm " + mode, "-sm: \"" + std::string{mode} + "\"; wanted layer, tensor or none");
    }
}

TEST_CASE("llama-server's devices: what no flag names stays apart from one", "[launch]") {
    const std::string begin = "llama-server -m m -c 8 -np 1 ";
    CHECK(read(begin).over_all == "layer");
    CHECK(read(begin + "-sm layer") == read(begin));
    CHECK(read(begin + "-sm tensor").over_all == "tensor");
    for (const char* one : {"-sm none", "-ts 7", "-dev CUDA1", "--device CUDA0,CUDA1 -sm none", "-dev a,b -ts 1"}) {
        CAPTURE(one);
        CHECK(read(begin + one).over_all.empty());
        CHECK(read(begin + one).pp == 1);
        CHECK(report::launch_line(read(begin + one)).find(" -sm none") != std::string::npos);
    }
    CHECK(report::launch_line(read(begin)).find("-sm") == std::string::npos);
    CHECK(read(begin + "-dev CUDA0,CUDA1,CUDA2").pp == 3);
    CHECK(read(begin + "-dev CUDA0,CUDA1 -sm tensor").tp == 2);
    CHECK(read(begin + "-dev CUDA0,CUDA1 -ts 1,1,1").pp == 2);
    for (const char* none : {"none", ",", "a,,b", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"}) {
        refused(begin + "-dev " + none, "-dev: \"" + std::string{none} + "\"; wanted names of 1 to 16 devices");
    }
    CHECK(read("llama-server -m m").flags.count("ctx-size") == 0);
    CHECK(read("llama-server -m m -c 0").flags.at("ctx-size") == "0");
}

TEST_CASE("llama-server's -fa and --fit take a word", "[launch]") {
    const std::string begin = "llama-server -m m -c 8 ";
    for (const char* on : {"on", "enabled", "true", "1"}) {
        CHECK(read(begin + "-fa " + on).flags.at("flash-attn") == "on");
        CHECK(read(begin + "--fit " + on).flags.at("fit") == "on");
    }
    CHECK(read(begin + "-fa -1").flags.at("flash-attn") == "auto");
    CHECK(read(begin + "--flash-attn=off").flags.at("flash-attn") == "off");
    refused(begin + "-fa", "-fa: nothing; wanted on, off or auto (it takes a value since August 2025)");
    refused(begin + "-fa -kvu", "-fa: nothing; wanted on, off or auto");
    refused(begin + "-fa maybe", "-fa: \"maybe\"; wanted on, off or auto");
    refused(begin + "--fit", "--fit: nothing; wanted on or off");
    refused(begin + "-fit auto", "-fit: \"auto\"; wanted on or off");
}

TEST_CASE("servers behind a line are a count from 1 to 65,536, and another comment is a comment", "[launch]") {
    for (const char* begin : {"vllm serve m ", "llama-server -m m ", "trtllm-serve m ", "sglang serve m "}) {
        CHECK(read(std::string{begin} + "# 1 server").servers == 1);
        CHECK(read(std::string{begin} + "#2 servers").servers == 2);
        CHECK(read(std::string{begin} + "# 65536 servers, alike").servers == 65536);
        CHECK(read(std::string{begin} + "# from 2 clients").servers == 1);
        CHECK(read(std::string{begin} + "# 3").servers == 1);
        CHECK(read(std::string{begin} + "#").servers == 1);
        for (const char* count : {"0", "-1", "65537", "4294967296", "4294967298", "18446744073709551615",
                                  "99999999999999999999", "2k", "2.0", "+2"}) {
            const std::string line = std::string{begin} + "# " + count + " servers";
            refused(line, "# servers: \"" + std::string{count} + '"');
            refused(line, "wanted a number of identical servers, 1 to 65,536");
        }
    }
    CHECK(read("vllm serve m -tp 2 # -tp 4 # 2 servers").servers == 1);
    CHECK(read("vllm serve m --enable-foo #2 servers").servers == 2);
    CHECK(read("vllm serve m --api-key '#k' -tp 2").tp == 2);
}

TEST_CASE("a flag's number is read as its engine reads it, and refused with the flag where it refuses", "[launch]") {
    const auto flag = [](const std::string& line, const char* name) { return read(line).flags.at(name); };
    const char* batched = "max-num-batched-tokens";
    CHECK(flag("vllm serve m --max-num-batched-tokens 2k", batched) == "2000");
    CHECK(flag("vllm serve m --max_num_batched_tokens=2K", batched) == "2048");
    CHECK(flag("vllm serve m --max-num-batched-tokens 25.6k", batched) == "25600");
    CHECK(read("vllm serve m --kv-cache-memory-bytes 25600").budget == "25600");
    for (const char* wrong : {"--max-num-seqs 1k", "--block-size 1K", "--num-gpu-blocks-override 1k", "-tp 1k",
                              "--max-num-batched-tokens 2Ki", "--max-num-batched-tokens 0",
                              "--max-num-batched-tokens -1"}) {
        refused(std::string{"vllm serve m "} + wrong, std::string{wrong, std::strcspn(wrong, " ")} + ": \"");
    }
    // SGLang: k, M, G, T and Ki, Mi, Gi, Ti, for lengths and the pool's tokens only.
    const std::string sglang = "sglang serve m ";
    CHECK(read(sglang + "--context-length 25.6k").tokens == 25600);
    CHECK(read(sglang + "--context-length 64Ki").tokens == 65536);
    CHECK(flag(sglang + "--max-total-tokens 100k", "max-total-tokens") == "100000");
    CHECK(flag(sglang + "--max-total-tokens 1.0000019M", "max-total-tokens") == "1000001");
    for (const char* wrong : {"--context-length 64K", "--context-length 1.5Ki", "--context-length 1m",
                              "--context-length 1kk", "--context-length 1MiB", "--max-running-requests 1k",
                              "--page-size 1Ki", "--tp 1k",
                              "--chunked-prefill-size 8k", "--max-mamba-cache-size 1k"}) {
        refused(sglang + wrong, std::string{wrong, std::strcspn(wrong, " ")} + ": \"");
    }
    for (const char* wrong : {"-c 8k", "-np 1k", "-b 2k", "-ub 1K", "--batch-size 2k", "-ngl 1k"}) {
        refused(std::string{"llama-server -m m "} + wrong, std::string{wrong, std::strcspn(wrong, " ")} + ": \"");
        refused(std::string{"llama-server -m m "} + wrong, "wanted a whole number of at least 1, in digits alone");
    }
    for (const char* wrong : {"--max_batch_size 1k", "--max_seq_len 8k", "--max_beam_width 2k", "--tp_size 1k"}) {
        refused(std::string{"trtllm-serve m "} + wrong, std::string{wrong, std::strcspn(wrong, " ")} + ": \"");
    }
    refused("printf 'kv_cache_config: {max_tokens: 1k}' > x && trtllm-serve m --config x", "max_tokens: \"1k\"");
    refused("vllm serve m --max-model-len 17T", "--max-model-len: \"17T\"; wanted at most 1,099,511,627,776");
    refused("vllm serve m --max-model-len 99999999999999999999", "wanted at most 1,099,511,627,776");
    refused("vllm serve m --max-model-len 900719925474.1t", "wanted at most 1,099,511,627,776");
    refused("vllm serve m -tp 65537", "-tp: \"65537\"; wanted at most 65,536");
}

TEST_CASE("flags that no engine has are kept as they are written", "[launch]") {
    const auto echoed = [](const std::string& begin, const std::string& flag) {
        const std::string line = report::launch_line(read(begin + flag));
        CAPTURE(line);
        CHECK((line + ' ').find(' ' + flag + ' ') != std::string::npos);
        CHECK(read(line) == read(begin + flag));
    };
    for (const char* flag : {"-O3", "-k fp8", "-x -1", "---odd", "--a-b c", "-b 4", "-fa on"}) {
        echoed("vllm serve m --max-model-len 8 --max-num-seqs 1 ", flag);
        echoed("sglang serve m --context-length 8 --max-running-requests 1 ", flag);
    }
    echoed("trtllm-serve m --max_seq_len 8 --max_batch_size 1 ", "--tp-size 2");
    echoed("trtllm-serve m --max_seq_len 8 --max_batch_size 1 ", "--odd_flag 2");
    echoed("trtllm-serve m --max_seq_len 8 --max_batch_size 1 ", "-v 2");
    echoed("sglang serve m --context-length 8 --max-running-requests 1 ", "--mem_fraction_static 0.5");
    echoed("llama-server -m m -c 8 -ctk f16 ", "-q 4");
    CHECK(read("llama-server -m m -t 4").flags.at("threads") == "4");
    CHECK(read("trtllm-serve m --tp-size 2").tp == 1);
    CHECK(read("sglang serve m --mem_fraction_static 0.5").util.empty());
    // llama-server takes underscores for dashes in its long names, as vLLM does.
    CHECK(read("llama-server -m m --ctx_size 4096 --cache_type_k q8_0") == read("llama-server -m m -c 4096 -ctk q8_0"));
    CHECK(read("llama-server -m m -b 256").flags.at("batch-size") == "256");
}

TEST_CASE("a share of memory is refused with the line's own flag", "[launch]") {
    for (const std::string share : {"0", "1.01", "-0.5", "nan", "0.9x", "90%", "half"}) {
        const std::string words = ": \"" + share + "\"; wanted a share of memory, above 0 and at most 1";
        refused("vllm serve m --gpu-memory-utilization " + share, "--gpu-memory-utilization" + words);
        refused("sglang serve m --mem-fraction-static=" + share, "--mem-fraction-static" + words);
        refused("trtllm-serve m --free_gpu_memory_fraction " + share, "--free_gpu_memory_fraction" + words);
        refused("printf 'kv_cache_config: {free_gpu_memory_fraction: " + share + "}' > x && trtllm-serve m --config x",
                "free_gpu_memory_fraction" + words);
    }
    CHECK(read("vllm serve m --gpu-memory-utilization 1").util == "1");
}

TEST_CASE("words of a line that belong to nothing are refused, and the shell's are the shell's", "[launch]") {
    refused("vllm serve m stray", "launch line: \"stray\"; wanted a flag; the model is \"m\" already");
    refused("vllm serve m -tp 2 stray", "\"stray\"");
    refused("vllm serve m --enable-expert-parallel false", "\"false\"");
    refused("sglang serve --model-path m --disable-radix-cache stray", "\"stray\"");
    refused("llama-server -m m -kvu stray", "\"stray\"");
    refused("vllm serve m --enable-expert-parallel=false", "--enable-expert-parallel: \"false\"; wanted no value");
    refused("sglang serve m --disable-radix-cache=true", "--disable-radix-cache: \"true\"; wanted no value");
    refused("llama-server -m m --kv-unified=0", "--kv-unified: \"0\"; wanted no value");
    const Launch m = read("vllm serve m -tp 2");
    for (const char* behind : {"> log 2>&1 &", ">log 2> err", "2>&1 | tee log", "&& echo -tp 4", "; sleep 1 # x",
                               "< in"}) {
        CAPTURE(behind);
        CHECK(read(std::string{"vllm serve m -tp 2 "} + behind) == m);
        CHECK(read(std::string{"vllm serve m -tp 2 --foo "} + behind).flags.at("foo").empty());
    }
    CHECK(read("vllm serve --async-scheduling m").model == "m");  // a switch takes no word
    // A flag that is not known here may have several values, and keeps them.
    const Launch several = read(
        "sglang serve m --context-length 8 --max-running-requests 1 --cuda-graph-bs 1 2 'a b' --tp 2");
    CHECK(several.tp == 2);
    const std::string line = report::launch_line(several);
    CHECK(line.find(" --cuda-graph-bs 1 2 'a b'") != std::string::npos);
    CHECK(read(line) == several);
}

TEST_CASE("TensorRT-LLM's options are those of the file that its line names", "[launch]") {
    const std::string a = "printf 'kv_cache_config: {dtype: fp8}' > a.yaml && ";
    const std::string b = "printf 'kv_cache_config: {dtype: nvfp4}' >b.yaml && ";
    CHECK(read(a + "trtllm-serve m --config a.yaml").dtype == "fp8");
    CHECK(read(a + b + "trtllm-serve m --config=b.yaml").dtype == "nvfp4");
    CHECK(read(a + b + "trtllm-serve m --extra_llm_api_options a.yaml").dtype == "fp8");
    CHECK(read(a + "trtllm-serve m").dtype == "auto");
    CHECK(read(a + "trtllm-serve m --kv_cache_dtype auto --config a.yaml").dtype == "auto");
    CHECK(read(a + "printf '\\nenable_attention_dp: true' >> a.yaml && trtllm-serve m --config a.yaml").attention_dp);
    refused(a + "trtllm-serve m --extra_llm_api_options b.yaml", "--extra_llm_api_options: \"b.yaml\"");
    refused("printf 'dtype: fp8' && trtllm-serve m --config a.yaml", "--config: \"a.yaml\"");
    for (const char* open : {"kv_cache_config: {dtype: fp8", "{dtype: fp8]", "dtype: fp8}", "[1, 2", "a: \"x",
                             "{a: [1}"}) {
        const std::string text{open};
        const std::string begin = "printf '" + text + "' > a.yaml && ";
        refused(begin + "trtllm-serve m --config a.yaml", "a.yaml: \"" + text + "\"; wanted YAML");
    }
    CHECK(read("printf 'a: [\"{\"]\\nb: {c: [1, {d: 2}]}' > a && trtllm-serve m --config a").dtype == "auto");
}

TEST_CASE("TensorRT-LLM's file says what flags say, each key in its place, and flags win", "[launch]") {
    const std::string file = "printf 'tensor_parallel_size: 4\\npipeline_parallel_size: 2\\nmax_seq_len: 4096\\n"
                             "dtype: bfloat16\\nmax_batch_size: 16\\ncuda_graph_config: {max_batch_size: 3}\\n"
                             "kv_cache_config:\\n  dtype: \"fp8\"\\n  free_gpu_memory_fraction: 0.8\\n"
                             "  max_gpu_total_bytes: 1024\\n  max_tokens: null\\n' > a.yaml && trtllm-serve m ";
    const Launch all = read(file + "--config a.yaml");
    CHECK((all.tp == 4 && all.pp == 2 && all.tokens == 4096 && all.sequences == 16));
    CHECK((all.dtype == "fp8" && all.util == "0.8" && all.budget == "1024"));
    CHECK(all.flags.count("max-kv-tokens") == 0);
    CHECK(read(file + "--tp_size 8 --config a.yaml").tp == 8);
    CHECK(read(file + "--config a.yaml --max_batch_size 2").sequences == 2);
    CHECK(read(file).tp == 1);  // names no file
    CHECK(read("printf 'dtype: bfloat16' > a && trtllm-serve m --config a").dtype == "auto");
    CHECK(read("printf 'max_beam_width: 4' > a && trtllm-serve m --config a").flags.at("max-beam-width") == "4");
    CHECK(read("printf 'kv_cache_config: {max_beam_width: 4}' > a && trtllm-serve m --config a").flags.empty());
    refused("printf 'tensor_parallel_size: none' > a && trtllm-serve m --config a", "tensor_parallel_size: \"none\"");
    refused("printf 'max_seq_len: 0' > a && trtllm-serve m --config a", "max_seq_len: \"0\"");
}

TEST_CASE("TensorRT-LLM's expert ranks and shards make its tensor ranks", "[launch]") {
    const auto with = [](const std::string& experts) {
        return read("printf 'tensor_parallel_size: 8\\n" + experts + "' > a && trtllm-serve m --config a").no_split;
    };
    const std::string ranks = "moe_expert_parallel_size: ";
    const std::string shards = "\\nmoe_tensor_parallel_size: ";
    CHECK(with(ranks + "4" + shards + "2").empty());
    CHECK(with(shards + "2").empty());
    CHECK(with(shards + "3") == "moe_tensor_parallel_size 3: wanted a number that divides the 8 tensor ranks");
    CHECK(with(ranks + "4" + shards + "4") == "moe_expert_parallel_size 4, moe_tensor_parallel_size 4: wanted numbers "
                                              "whose product is the 8 tensor ranks");
}

TEST_CASE("docker run of an image that starts a server is that server's line", "[launch]") {
    const std::string docker = "docker run --gpus all --name vllm-openai -p 8000:8000 --env=VLLM_CACHE_ROOT=/c ";
    for (const auto& [image, version] : {std::pair{"vllm/vllm-openai:v0.11.0", "0.11.0"},
                                         std::pair{"docker.io/vllm/vllm-openai:0.10.2", "0.10.2"},
                                         std::pair{"localhost:5000/vllm/vllm-openai", ""},
                                         std::pair{"vllm/vllm-openai:latest", ""},
                                         std::pair{"vllm/vllm-openai@sha256:00", ""},
                                         std::pair{"vllm/vllm-openai-rocm:v0.24.0", "0.24.0"}}) {
        CAPTURE(image);
        const Launch launch = read(docker + image + " --model a/b -tp 2 --max-model-len 8192");
        CHECK((launch.engine == "vllm" && launch.model == "a/b" && launch.tp == 2 && launch.tokens == 8192));
        CHECK(launch.version == version);
    }
    CHECK(read(docker + "vllm/vllm-openai a/b").model == "a/b");
    CHECK(read(docker + "--entrypoint vllm img vllm serve a/b").model == "a/b");
    CHECK(read("podman run ghcr.io/ggml-org/llama.cpp:server-cuda -m a.gguf -c 4096 -np 1").engine == "llamacpp");
    CHECK(read("docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model a/b").engine == "sglang");
    refused("docker run ghcr.io/ggml-org/llama.cpp:light -m a.gguf", "docker run of an image that starts one");
    refused("docker run vllm/vllm-openaix --model a/b", "docker run of an image that starts one");
    const auto notes = read_launch(docker + "vllm/vllm-openai --model a/b").notes;
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].text.starts_with("VLLM_CACHE_ROOT: "));
    CHECK(read("docker run -e VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm/vllm-openai --model m").longer_allowed);
    CHECK(read("docker run --env=VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm/vllm-openai --model m").longer_allowed);
}

TEST_CASE("words are those that a shell would make", "[launch]") {
    using Words = std::vector<std::string>;
    CHECK(shell_words(R"(a "{\"level\": 3}" 'b\"c' d\ e)") == Words{"a", R"({"level": 3})", R"(b\"c)", "d e"});
    CHECK(shell_words(R"("\$x \`y\` \\ \n")") == Words{R"($x `y` \ \n)"});
    CHECK(shell_words("a \\\r\n  b \\\n c\r\n") == Words{"a", "b", "c"});
    CHECK(shell_words("a \"b \\\n c\"") == Words{"a", "b  c"});
}

TEST_CASE("launch lines that say nothing or nonsense are refused at their place", "[launch]") {
    refused("", "vllm serve");
    refused("vllm bench m", "vllm serve");
    refused("sglang bench m", "sglang serve");
    refused("python -m vllm.entrypoints.openai.api_server", "model");
    refused("vllm serve", "model");
    refused("vllm serve m --tensor-parallel-size", "--tensor-parallel-size: nothing; wanted a value");
    refused("vllm serve m -tp 0", "-tp: \"0\"");
    refused("vllm serve m -tp 99999999999999999999", "-tp");
    refused("vllm serve m --max-model-len ten", "--max-model-len: \"ten\"");
    refused("python -m sglang.launch_server --model-path m --tp 8 --dp 3 --enable-dp-attention", "--dp-size");
    refused("llama-server -c 4096", "model");
    refused("vllm serve m --max-model-len auto", "kvcap fit");
    refused("vllm serve m --max-model-len -1", "kvcap fit");
    refused("trtllm-serve m --extra_llm_api_options x.yaml", "not read");
    CHECK(read_launch(std::string(100000, '\'')).error);
    for (const char* begin : {"vllm serve m ", "python -m sglang.launch_server --model-path m ", "llama-server -m m ",
                              "trtllm-serve m "}) {
        for (const char* nameless : {"--", "-- x", "--=3", "-=", "---", "--- 4"}) {
            refused(std::string{begin} + nameless, "launch line: \"-");
            refused(std::string{begin} + nameless, "wanted a flag with a name");
        }
    }
}

TEST_CASE("what stands beside a line and is not read is said", "[launch]") {
    const auto notes = [](const std::string& line) {
        std::string all;
        for (const Note& note : read_launch(line).notes) {
            all += note.where + ": " + note.text.substr(0, note.text.find(':')) + "; ";
        }
        return all;
    };
    const std::string file = " > a.yaml && trtllm-serve m --max_seq_len 64 --extra_llm_api_options a.yaml";
    const std::string read = "printf 'kv_cache_config: {dtype: fp8, max_tokens: 64}\\nenable_attention_dp: false\\n'";
    CHECK(notes(read + file).empty());
    CHECK(notes("printf 'max_num_tokens: 3\\nkv_cache_config: {dtype: fp8, max_attention_window: [64]}\\n'" + file) ==
          "a.yaml: max_num_tokens; a.yaml: max_attention_window; ");
    CHECK(notes("printf 'max_seq_len: 64\\n'" + file).empty());
    CHECK(notes("printf 'max_seq_len: 65\\n'" + file) == "--max_seq_len: 64 counts, not the file's 65, as since June "
                                                         "2026; before, TensorRT-LLM took the file's; ");
    CHECK(notes("printf 'cuda_graph_config: {max_batch_size: 3, enable_padding: true}\\n'" + file).empty());
    CHECK(notes("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve m").empty());
    CHECK(notes("VLLM_ATTENTION_BACKEND=CUTLASS_MLA HOME=/tmp vllm serve m") ==
          "launch line: VLLM_ATTENTION_BACKEND; ");
}

}  // namespace launch_tests
