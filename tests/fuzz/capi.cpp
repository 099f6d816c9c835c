// SPDX-License-Identifier: MIT
// libFuzzer target of the C interface: any numbers in its structs, any text as a model. A call fails with a
// sentence and writes nothing, or succeeds with numbers that agree with each other.
#include "check.hpp"
#include "kvcap.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// The input, read from the front; zeros behind its end.
struct Input {
    const std::uint8_t* data;
    std::size_t size;

    template <class T>
    T take() {
        T value{};
        const std::size_t length = size < sizeof value ? size : sizeof value;
        std::memcpy(&value, data, length);
        data += length;
        size -= length;
        return value;
    }
    /// Small most of the time, anything now and then.
    std::uint64_t number() {
        const auto kind = take<std::uint8_t>();
        return kind < 200 ? kind : kind < 240 ? take<std::uint32_t>() : take<std::uint64_t>();
    }
};

/// Frees what a call said, and asks that it said something exactly when it failed.
void settle(kvcap_status status, kvcap_text* error, bool reports = false) {
    check(status <= KVCAP_NO_MEMORY);
    check((error == nullptr) == (status == KVCAP_OK || (reports && status == KVCAP_DOES_NOT_FIT)));
    check(error == nullptr || (kvcap_text_size(error) != 0 && kvcap_text_data(error)[kvcap_text_size(error)] == '\0'));
    kvcap_text_free(error);
}

void ask_size(const kvcap_model* model, Input& in) {
    kvcap_size_request request{};
    request.struct_size = in.take<std::uint8_t>() == 1 ? in.take<std::uint32_t>() : sizeof request;
    request.tp = static_cast<std::uint32_t>(in.number());
    request.pp = static_cast<std::uint32_t>(in.number());
    request.cp = static_cast<std::uint32_t>(in.number());
    request.dp = static_cast<std::uint32_t>(in.number());
    request.dp_attention = in.take<std::uint8_t>() & 1;
    request.tokens = in.number();
    request.sequences = in.number();
    request.encoder_tokens = in.number();
    kvcap_size_result result{};
    result.struct_size = sizeof result;
    kvcap_text* error = nullptr;
    const kvcap_status status = kvcap_size(model, &request, &result, &error);
    settle(status, error);
    if (status != KVCAP_OK) {
        check(result.ranks == 0 && result.all_ranks == 0);
        return;
    }
    check(result.rank <= result.all_ranks && result.ranks > 0);
    std::vector<std::uint64_t> bytes(result.ranks + std::size_t{1}, 0);
    error = nullptr;
    settle(kvcap_size_ranks(model, &request, bytes.data(), result.ranks, &error), error);
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    for (const std::uint64_t each : bytes) {
        sum += each;
        most = each > most ? each : most;
    }
    check(sum == result.all_ranks && most == result.rank && bytes.back() == 0);
}

void ask_reuse(Input& in) {
    const std::size_t count = in.take<std::uint8_t>() % 40;
    std::vector<std::vector<std::uint64_t>> words(count);
    std::vector<kvcap_group> groups(count);
    for (std::size_t i = 0; i < count; ++i) {
        kvcap_group& group = groups[i];
        group.struct_size = in.take<std::uint8_t>() == 1 ? in.take<std::uint32_t>() : sizeof group;
        group.needs = in.take<std::uint8_t>() % 8;
        group.page = in.number();
        group.reach = in.number();
        group.sinks = in.number();
        group.stride = in.number();
        group.lag = in.number();
        group.pages = in.take<std::uint8_t>();
        words[i].resize(group.pages / 64 + 1);
        for (std::uint64_t& word : words[i]) {
            word = in.take<std::uint64_t>();
        }
        group.words = in.take<std::uint8_t>() == 1 ? nullptr : words[i].data();
    }
    kvcap_reuse_result result{};
    result.struct_size = sizeof result;
    kvcap_text* reason = nullptr;
    kvcap_text* error = nullptr;
    const std::uint64_t prompt = in.number();
    const kvcap_status status = kvcap_reuse(groups.data(), count, prompt, &result, &reason, &error);
    settle(status, error);
    check(status == KVCAP_OK || (reason == nullptr && result.tokens == 0));
    check(status != KVCAP_OK || ((result.tokens < prompt || result.tokens == 0) && result.refused >= result.tokens));
    kvcap_text_free(reason);
}

void ask_groups(const kvcap_model* model, Input& in) {
    std::vector<kvcap_group> groups(40);
    for (kvcap_group& group : groups) {
        group.struct_size = sizeof group;
    }
    std::size_t count = in.take<std::uint8_t>() % 40;
    const std::size_t room = count;
    kvcap_text* error = nullptr;
    const std::uint64_t page = in.number();
    const kvcap_status status = kvcap_model_groups(model, page, in.number(), groups.data(), &count, &error);
    settle(status, error);
    check(status != KVCAP_OK || count <= room);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in{data, size};
    const auto kind = in.take<std::uint8_t>();
    if (kind % 4 == 0) {
        ask_reuse(in);
        return 0;
    }
    // The text of a model: behind the first line feed; a spec line or JSON, never the name of a file.
    const void* feed = std::memchr(in.data, '\n', in.size);
    if (feed == nullptr) {
        return 0;
    }
    const char* text = static_cast<const char*>(feed) + 1;
    const char* end = reinterpret_cast<const char*>(in.data) + in.size;
    const std::string model_text{text, static_cast<std::size_t>(end - text)};
    in.size = static_cast<std::size_t>(text - 1 - reinterpret_cast<const char*>(in.data));
    if (model_text.find('/') != std::string::npos || model_text.find_first_of("({") == std::string::npos) {
        return 0;
    }
    kvcap_model* model = nullptr;
    kvcap_text* error = nullptr;
    const kvcap_status status = kvcap_model_read(model_text.c_str(), kind & 8 ? "fp8" : nullptr, &model, &error);
    settle(status, error);
    check((status == KVCAP_OK) == (model != nullptr));
    if (model != nullptr) {
        check(kvcap_model_spec(model)[0] != '\0');
        kind & 16 ? ask_groups(model, in) : ask_size(model, in);
    }
    kvcap_model_free(model);
    return 0;
}
