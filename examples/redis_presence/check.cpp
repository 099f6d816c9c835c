// SPDX-License-Identifier: MIT
// check REDIS-SERVER PROGRAM: a server of its own on a free loopback port, without persistence, in a folder that goes
// away; chunks in it; and the verdict, the repair and the round trips compared with the evaluator on the whole bitmap.
#include "verdict.hpp"

#include <kvcap/models/deepseek.hpp>
#include <kvcap/models/gemma.hpp>
#include <kvcap/models/llama.hpp>
#include <kvcap/models/qwen.hpp>

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace {

using namespace presence;
namespace fs = std::filesystem;

int failures = 0;

void check(bool good, const std::string& what) {
    if (!good) {
        std::printf("FAILED: %s\n", what.c_str());
        ++failures;
    }
}

/// A port that was free a moment ago.
int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(socket);
    if (!bound) {
        throw std::runtime_error("no free port on the loopback interface");
    }
    return ntohs(address.sin_port);
}

/// A server that lives as long as this does. Another process may take the port first: then the next one is tried.
class Server {
public:
    explicit Server(const char* program) : program_{program} {
        std::string name = (fs::temp_directory_path() / "kvcap-redis-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error(name + ": cannot be made");
        }
        folder_ = fs::canonical(name);  // as the server will name it
        for (int attempt = 0; attempt < 5; ++attempt) {
            start();
            if (answers()) {
                return;
            }
            stop();
        }
        fs::remove_all(folder_);
        throw std::runtime_error(program_ + " does not start");
    }
    ~Server() {
        stop();
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    int port() const noexcept { return port_; }

private:
    void start() {
        port_ = free_port();
        const std::string port = std::to_string(port_);
        child_ = ::fork();
        if (child_ == 0) {
#ifdef __linux__
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
            ::setenv("LC_ALL", "C", 1);  // Redis refuses to start under a locale that is not installed
            ::execl(program_.c_str(), "redis-server", "--port", port.c_str(), "--bind", "127.0.0.1", "--save", "",
                    "--appendonly", "no", "--daemonize", "no", "--dir", folder_.c_str(), "--logfile",
                    (folder_ / "log").c_str(), static_cast<char*>(nullptr));
            ::_exit(127);
        }
    }
    /// Whether it is this server that answers: it names our folder as its own.
    bool answers() {
        for (int wait = 0; wait < 500; ++wait) {
            if (::waitpid(child_, nullptr, WNOHANG) == child_) {
                child_ = -1;
                return false;
            }
            try {
                return fs::path{Redis{"127.0.0.1", port_}.setting("dir")} == folder_;
            } catch (const std::exception&) {
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            }
        }
        return false;
    }
    void stop() {
        bool alive = child_ > 0 && ::kill(child_, SIGTERM) == 0;
        for (int wait = 0; alive && wait < 200; ++wait) {
            alive = ::waitpid(child_, nullptr, WNOHANG) == 0;
            std::this_thread::sleep_for(std::chrono::milliseconds{alive ? 10 : 0});
        }
        if (alive) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        child_ = -1;
    }

    std::string program_;
    fs::path folder_;
    int port_ = 0;
    pid_t child_ = -1;
};

std::vector<u32> prompt_of(u64 tokens, u32 seed) {
    std::mt19937 random{seed};
    std::vector<u32> ids(tokens);
    for (u32& id : ids) {
        id = static_cast<u32>(random() % 150'000);
    }
    return ids;
}

using Bits = std::vector<std::vector<bool>>;

void store(const Chunks& chunks, Redis& redis, const Bits& held) {
    std::vector<std::pair<std::string, std::string>> objects;
    for (u32 g = 0; g < held.size(); ++g) {
        for (u64 page = 0; page < chunks.count(); ++page) {
            for (std::string& key : chunks.keys(g, page)) {
                if (held[g][page]) {
                    objects.emplace_back(std::move(key), std::string{"kv\0kv", 5});
                }
            }
        }
    }
    redis.set(objects);
}

/// What the store was given, as the evaluator reads it: the answer that questions must arrive at.
struct Truth {
    std::vector<std::vector<u64>> words;
    std::vector<Group<>> groups;
    std::vector<u64> bytes;

    Truth(const Chunks& chunks, const Bits& held) {
        for (std::size_t g = 0; g < held.size(); ++g) {
            std::vector<u64>& row = words.emplace_back(chunks.count() / 64 + 1);
            for (u64 page = 0; page < chunks.count(); ++page) {
                row[page / 64] |= u64{held[g][page] ? 1u : 0u} << (page % 64);
            }
            bytes.push_back(chunks.groups()[g].bytes);
        }
        for (std::size_t g = 0; g < held.size(); ++g) {
            groups.push_back({chunks.groups()[g].rule, {words[g].data(), chunks.count()}});
        }
    }
};

void compare(const Chunks& chunks, Redis& redis, const Bits& held, const std::string& name) {
    const Truth truth{chunks, held};
    const u32 count = static_cast<u32>(truth.groups.size());
    const Verdict got = Inquiry{chunks, redis}.answer();
    check(got.tokens == reusable(truth.groups.data(), count, chunks.ask()), name + ": verdict");
    std::vector<RepairStep> steps;
    repair(truth.groups.data(), count, chunks.ask(), Prices<>{.bytes = truth.bytes.data()},
           [&](const RepairStep& step) { steps.push_back(step); });
    check(got.steps == steps, name + ": repair");
    check(got.lookups <= chunks.count() * chunks.groups().size(), name + ": nothing is asked twice");
    check(got.trips <= 2 * 64u && got.repair_trips <= 1, name + ": round trips");
}

/// Half of it held from the start, a window and snapshots here and there.
void random_stores(Redis& redis) {
    std::mt19937 random{20261129};
    const ModelSpec* const known[] = {&models::llama_3_1_8b, &models::deepseek_v3, &models::gemma_3_27b,
                                      &models::qwen3_next_80b_a3b};
    for (u32 c = 0; c < 24; ++c) {
        const Deployment of{.model = *known[c % 4], .name = "m" + std::to_string(c), .sharding = {.tp = 1u << c % 3},
                            .chunk = 256, .salt = c % 2 == 0 ? "" : "tenant"};
        const Chunks chunks{of, prompt_of(256 * (1 + random() % 150) + random() % 256, c)};
        Bits held(chunks.groups().size(), std::vector<bool>(chunks.count()));
        for (std::size_t g = 0; g < held.size(); ++g) {
            const u64 solid = random() % (chunks.count() + 1);
            for (u64 page = 0; page < chunks.count(); ++page) {
                held[g][page] = page < solid ? random() % 40 != 0 : random() % 3 == 0;
            }
        }
        store(chunks, redis, held);
        compare(chunks, redis, held, "case " + std::to_string(c));
    }
}

/// Qwen3-Next, 16 chunks: attention pages of the first 12, states after chunks 4, 8 and 16.
void worked_example(Redis& redis) {
    const Deployment of{.model = models::qwen3_next_80b_a3b, .name = "Qwen/Qwen3-Next-80B-A3B-Instruct",
                        .sharding = {.tp = 2}};
    const Chunks chunks{of, prompt_of(4100, 7)};
    check(chunks.count() == 16 && chunks.groups().size() == 2, "16 chunks of two groups");
    const u32 states = chunks.groups()[0].objects.kind == ObjectKind::snapshot ? 0 : 1;
    Bits held(2, std::vector<bool>(16));
    for (u64 page = 0; page < 12; ++page) {
        held[1 - states][page] = true;
    }
    held[states][3] = held[states][7] = held[states][15] = true;
    store(chunks, redis, held);
    const Verdict got = Inquiry{chunks, redis}.answer();
    const u64 page = chunks.groups()[1 - states].bytes;
    const u64 state = chunks.groups()[states].bytes;
    check(got.tokens == 2048, "the state after chunk 8 is the last with all its pages");
    check(page == 256 * 24'576, "two KV heads on two ranks: each byte once");
    check(4 * page < state && got.steps == std::vector<RepairStep>{{4096, 4 * page}},
          "the state at the end is there and lacks four pages, which are less than the state after chunk 12");
    check(got.trips == 5 && got.lookups == 28, "questions: " + std::to_string(got.lookups) + " in " +
                                                   std::to_string(got.trips) + " round trips");
    check(chunks.keys(states, 0).size() == 2 && chunks.keys(states, 0)[0] != chunks.keys(states, 0)[1],
          "states differ between ranks");
}

/// Equal bytes on all ranks are one object; another salt, seed or prompt finds nothing.
void identities(Redis& redis) {
    const std::vector<u32> prompt = prompt_of(2049, 3);
    Deployment of{.model = models::deepseek_v3, .name = "deepseek-ai/DeepSeek-V3", .sharding = {.tp = 8}};
    const Chunks chunks{of, prompt};
    check(chunks.keys(0, 0).size() == 1, "a latent is stored once, whatever the ranks");
    check(chunks.keys(0, 0)[0].rfind("deepseek-ai/DeepSeek-V3@01000100@0@", 0) == 0, "LMCache's key text");
    store(chunks, redis, Bits(1, std::vector<bool>(8, true)));
    const auto skipped = [&](const Deployment& deployment, const std::vector<u32>& tokens) {
        return Inquiry{Chunks{deployment, tokens}, redis}.answer().tokens;
    };
    check(skipped(of, prompt) == 2048, "everything but the last token");
    std::vector<u32> other = prompt;
    other[700] += 1;
    check(skipped(of, other) == 512, "another token in the third chunk");
    of.salt = "tenant";
    check(skipped(of, prompt) == 0, "another tenant");
    of.salt = "", of.hash_seed = "1";
    check(skipped(of, prompt) == 0, "another hash seed");
    of.hash_seed = "0", of.sharding.tp = 4;
    check(skipped(of, prompt) == 2048, "another number of ranks reads the same latent");
    check(skipped(of, {1, 2, 3}) == 0, "less than a chunk");
}

/// One shard of one rank missing makes the chunk missing.
void one_shard(Redis& redis) {
    const Deployment of{.model = models::llama_3_1_8b, .name = "meta-llama/Llama-3.1-8B", .sharding = {.tp = 4}};
    const Chunks chunks{of, prompt_of(2049, 4)};
    std::vector<std::pair<std::string, std::string>> objects;
    for (u64 page = 0; page < 8; ++page) {
        for (u32 rank = 0; rank < 4; ++rank) {
            if (page != 5 || rank != 2) {
                objects.emplace_back(chunks.keys(0, page)[rank], "kv");
            }
        }
    }
    redis.set(objects);
    check(Inquiry{chunks, redis}.answer().tokens == 5 * 256, "rank 2 lacks its shard of chunk 5");
}

std::string output_of(const std::string& command) {
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    char part[4096];
    for (std::size_t got = 0; pipe != nullptr && (got = std::fread(part, 1, sizeof part, pipe)) != 0;) {
        out.append(part, got);
    }
    return pipe != nullptr && ::pclose(pipe) == 0 ? out : "";
}

void program(const std::string& path, int port) {
    const std::string run = '\'' + path + "' gemma-3-27b --port " + std::to_string(port) + " --tokens 8192";
    check(output_of(run).find("0 of 8192 tokens can be skipped") != std::string::npos, "an empty store");
    const std::string out = output_of(run + " --put 0:0-20 --put 1:0-30");
    check(out.find("5120 of 8192 tokens can be skipped") != std::string::npos, "the windows of chunk 20");
    check(out.find("bytes more") != std::string::npos, "a way to skip more");
    check(output_of(run + " --put 2:0-1 2> /dev/null").empty(), "no such group");
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: %s REDIS-SERVER PROGRAM\n", words[0]);
        return 2;
    }
    try {
        const Server server{words[1]};
        Redis redis{"127.0.0.1", server.port()};
        worked_example(redis);
        identities(redis);
        one_shard(redis);
        random_stores(redis);
        program(words[2], server.port());
    } catch (const std::exception& wrong) {
        check(false, wrong.what());
    }
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
