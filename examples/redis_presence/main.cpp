// SPDX-License-Identifier: MIT
// kvcap-redis-presence MODEL [options]: which chunks of a prompt does this Redis hold, how far can the prompt be
// skipped with them, and what would skipping further cost?
//
//   redis-server --port 6379 &
//   kvcap-redis-presence qwen3-next-80b-a3b --tokens 4096 --put 0:0-12 --put 1:0-16
//   kvcap-redis-presence qwen3-next-80b-a3b --tokens 4096
//
// --put GROUP:FIRST-END stores stand-ins (a few bytes each) under the keys of chunks FIRST to END - 1 of a group, so
// that there is something to find; against a store that LMCache filled, leave it out and give the prompt's token ids.
#include "verdict.hpp"

#include <kvcap/models/deepseek.hpp>
#include <kvcap/models/gemma.hpp>
#include <kvcap/models/kimi.hpp>
#include <kvcap/models/llama.hpp>
#include <kvcap/models/qwen.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>

namespace {

using namespace presence;

struct Known {
    const char* word;
    const char* name;
    const ModelSpec* model;
};

constexpr Known known[] = {
    {"llama-3.1-8b", "meta-llama/Llama-3.1-8B", &models::llama_3_1_8b},
    {"deepseek-v3", "deepseek-ai/DeepSeek-V3", &models::deepseek_v3},
    {"gemma-3-27b", "google/gemma-3-27b-it", &models::gemma_3_27b},
    {"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct", &models::qwen3_next_80b_a3b},
    {"kimi-linear-48b-a3b", "moonshotai/Kimi-Linear-48B-A3B-Instruct", &models::kimi_linear_48b_a3b},
};

constexpr const char* usage =
    "usage: kvcap-redis-presence MODEL [--host H] [--port P] [--tp N] [--chunk N] [--salt S]\n"
    "                            [--prompt FILE | --tokens N] [--put GROUP:FIRST-END]...\n"
    "  MODEL: llama-3.1-8b, deepseek-v3, gemma-3-27b, qwen3-next-80b-a3b,\n"
    "         kimi-linear-48b-a3b\n"
    "  FILE: token ids, separated by blanks; --tokens N: a made-up prompt of that length\n";

[[noreturn]] void refuse(const std::string& why) {
    throw std::invalid_argument(why);
}

u64 number_of(const std::string& text, const std::string& flag) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) {
        refuse(flag + ": '" + text + "' is no whole number below 1,000,000,000");
    }
    return std::stoull(text);
}

std::vector<u32> ids_of(const std::string& path) {
    std::ifstream in{path};
    std::vector<u32> ids;
    for (std::string word; in >> word;) {
        ids.push_back(static_cast<u32>(number_of(word, path)));
    }
    if (ids.empty()) {
        refuse(path + ": no token ids there");
    }
    return ids;
}

std::vector<u32> made_up(u64 tokens) {
    std::vector<u32> ids(tokens);
    for (u64 i = 0; i < tokens; ++i) {
        ids[i] = static_cast<u32>(i * 7919 % 100'003);
    }
    return ids;
}

struct Put {
    u32 group = 0;
    u64 first = 0;
    u64 end = 0;
};

Put put_of(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::size_t dash = text.find('-', colon == std::string::npos ? 0 : colon);
    if (colon == std::string::npos || dash == std::string::npos) {
        refuse("--put: '" + text + "' is no GROUP:FIRST-END");
    }
    return {static_cast<u32>(number_of(text.substr(0, colon), "--put")),
            number_of(text.substr(colon + 1, dash - colon - 1), "--put"), number_of(text.substr(dash + 1), "--put")};
}

struct Options {
    Deployment deployment{};
    std::vector<u32> prompt = made_up(4096);
    std::string host = "127.0.0.1";
    int port = 6379;
    std::vector<Put> puts{};
};

void set(Options& options, const std::string& flag, const std::string& value) {
    if (flag == "--host") {
        options.host = value;
    } else if (flag == "--port") {
        options.port = static_cast<int>(number_of(value, flag));
        if (options.port == 0 || options.port > 65'535) {
            refuse(flag + ": " + value + " is no port");
        }
    } else if (flag == "--tp") {
        options.deployment.sharding.tp = static_cast<u32>(number_of(value, flag));
    } else if (flag == "--chunk") {
        options.deployment.chunk = number_of(value, flag);
    } else if (flag == "--salt") {
        options.deployment.salt = value;
    } else if (flag == "--prompt") {
        options.prompt = ids_of(value);
    } else if (flag == "--tokens") {
        options.prompt = made_up(number_of(value, flag));
    } else if (flag == "--put") {
        options.puts.push_back(put_of(value));
    } else {
        refuse(flag + " is not understood");
    }
}

Options options_of(int count, char** words) {
    Options options;
    for (const Known& model : known) {
        if (count > 1 && std::strcmp(words[1], model.word) == 0) {
            options.deployment.model = *model.model;
            options.deployment.name = model.name;
        }
    }
    if (options.deployment.name.empty()) {
        refuse(count > 1 ? std::string{"'"} + words[1] + "' is none of the models" : "a model is missing");
    }
    for (int i = 2; i < count; i += 2) {
        if (i + 1 == count) {
            refuse(std::string{words[i]} + ": its value is missing");
        }
        set(options, words[i], words[i + 1]);
    }
    return options;
}

void store(const std::vector<Put>& puts, const Chunks& chunks, Redis& redis) {
    std::vector<std::pair<std::string, std::string>> objects;
    for (const Put& put : puts) {
        if (put.group >= chunks.groups().size() || put.end > chunks.count()) {
            refuse("--put: there are " + std::to_string(chunks.groups().size()) + " groups of " +
                   std::to_string(chunks.count()) + " chunks");
        }
        for (u64 page = put.first; page < put.end; ++page) {
            for (std::string& key : chunks.keys(put.group, page)) {
                objects.emplace_back(std::move(key), "kv");
            }
        }
    }
    redis.set(objects);
}

const char* words_of(ObjectKind kind) {
    return kind == ObjectKind::page ? "every chunk" : kind == ObjectKind::tail ? "the last chunks" : "one snapshot";
}

unsigned long long wide(u64 number) {
    return number;
}

void show(const Chunks& chunks, const Verdict& verdict) {
    for (const ChunkGroup& group : chunks.groups()) {
        std::printf("group %u: %s needed, %u ranks, %llu bytes a chunk; %s ...\n", group.number,
                    words_of(group.objects.kind), group.rank_count, wide(group.bytes),
                    chunks.count() == 0 ? "no key"
                                        : chunks.keys(static_cast<u32>(&group - chunks.groups().data()), 0)[0].c_str());
    }
    std::printf("asked about %llu of %llu chunks (%llu keys) in %llu round trips\n", wide(verdict.lookups),
                wide(chunks.count() * chunks.groups().size()), wide(verdict.keys), wide(verdict.trips));
    std::printf("%llu of %llu tokens can be skipped\n", wide(verdict.tokens), wide(chunks.ask().prompt));
    for (const RepairStep& step : verdict.steps) {
        std::printf("%llu with %llu bytes more\n", wide(step.tokens), wide(step.bytes));
    }
}

}  // namespace

int main(int count, char** words) {
    try {
        const Options options = options_of(count, words);
        const Chunks chunks{options.deployment, options.prompt};
        Redis redis{options.host, options.port};
        store(options.puts, chunks, redis);
        show(chunks, Inquiry{chunks, redis}.answer());
        return 0;
    } catch (const std::invalid_argument& wrong) {
        std::fprintf(stderr, "%s\n%s", wrong.what(), usage);
        return 2;
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "%s\n", wrong.what());
        return 3;
    }
}
