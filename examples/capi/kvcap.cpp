// SPDX-License-Identifier: MIT
// The C interface over the program's library: arguments are checked here, exceptions end here, and every number
// comes from the same functions that the program prints.
#include "kvcap.h"

#include "cli.hpp"
#include "program.hpp"

#include <kvcap/io/scenario.hpp>
#include <kvcap/io/spec_line.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/report/size.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/reuse/model_rules.hpp>
#include <new>

struct kvcap_text {
    std::string text;
};

struct kvcap_model {
    kvcap::cli::Model model;
    std::string spec;
};

namespace {

using namespace kvcap;

kvcap_text* text_from(std::string text) noexcept {
    return new (std::nothrow) kvcap_text{std::move(text)};
}

kvcap_status fail(kvcap_status status, std::string text, kvcap_text** error) noexcept {
    if (error != nullptr) {
        *error = text_from(std::move(text));
    }
    return status;
}

kvcap_status status_of(cli::Exit code) {
    return static_cast<kvcap_status>(code);
}

/// Runs `body`, which returns a status; what it throws becomes one.
template <class Body>
kvcap_status guarded(kvcap_text** error, const Body& body) noexcept {
    if (error != nullptr) {
        *error = nullptr;
    }
    try {
        return body();
    } catch (const cli::Stop& end) {
        return fail(status_of(end.code), end.text, error);
    } catch (const std::bad_alloc&) {
        return KVCAP_NO_MEMORY;
    } catch (const std::exception& failure) {
        return fail(KVCAP_BAD_INPUT, failure.what(), error);
    }
}

kvcap_status null_given(const char* name, kvcap_text** error) {
    return fail(KVCAP_ABI, fmt::format("{} is NULL", name), error);
}

/// A struct of this version, or the reason why it is none.
template <class T>
bool known(const T& given) {
    return given.struct_size == sizeof(T);
}

template <class T>
kvcap_status unknown_size(const char* name, const T& given, kvcap_text** error) {
    return fail(KVCAP_ABI,
                fmt::format("{}: struct_size {}; this library knows {}", name, given.struct_size, sizeof(T)), error);
}

constexpr u64 most_ranks = 65536;

u32 or_one(u32 count) {
    return count == 0 ? 1 : count;
}

report::SizeQuestion question_of(const kvcap_size_request& request) {
    report::SizeQuestion asked{.tp = or_one(request.tp), .dp = or_one(request.dp), .points = {}};
    asked.dp_attention = request.dp_attention != 0;
    asked.sharding.tp = asked.dp_attention ? 1 : asked.tp;
    asked.sharding.pp = or_one(request.pp);
    asked.sharding.cp = or_one(request.cp);
    if (asked.ranks() > most_ranks) {
        cli::stop(cli::Exit::usage, fmt::format("{} ranks; at most {}", asked.ranks(), most_ranks));
    }
    asked.points.push_back({.tokens = request.tokens,
                            .sequences = larger(request.sequences, 1),
                            .lengths = {.prompt = {request.tokens}, .encoder = {request.encoder_tokens}}});
    return asked;
}

kvcap_size_result result_of(const report::SizeQuestion& asked, const report::SizeAnswer& size) {
    const report::SizeAnswer::At& at = size.points.front();
    kvcap_size_result out{};
    out.struct_size = sizeof out;
    out.ranks = static_cast<u32>(asked.ranks());
    out.per_token = size.per_token.value;
    out.unique = at.unique.value;
    out.all_ranks = at.total.value;
    out.state = size.state.value;
    for (const report::RankBytes& rank : at.held) {
        out.rank = larger(out.rank, rank.bytes.value);
    }
    for (const report::RankBytes& rank : size.per_token_on_rank) {
        out.rank_per_token = larger(out.rank_per_token, rank.bytes.value);
    }
    return out;
}

/// The answer, after the checks that both size functions share.
template <class Use>
kvcap_status sized(const kvcap_model* model, const kvcap_size_request* request, kvcap_text** error,
                   const Use& use) noexcept {
    return guarded(error, [&] {
        if (model == nullptr || request == nullptr) {
            return null_given(model == nullptr ? "model" : "request", error);
        }
        if (!known(*request)) {
            return unknown_size("request", *request, error);
        }
        const report::SizeQuestion asked = question_of(*request);
        return use(asked, cli::value_of(report::answer(model->model.spec, asked), model->model.label));
    });
}

kvcap_group group_from(const Rule& rule) {
    kvcap_group out{};
    out.struct_size = sizeof out;
    out.needs = static_cast<u32>(rule.needs);
    out.page = rule.page;
    out.reach = rule.reach;
    out.sinks = rule.sinks;
    out.stride = rule.stride;
    out.lag = rule.lag;
    return out;
}

Group<> group_of(const kvcap_group& given) {
    return {.rule = {.needs = static_cast<Needs>(given.needs),
                     .page = given.page,
                     .reach = given.reach,
                     .sinks = given.sinks,
                     .stride = given.stride == 0 ? 1 : given.stride,
                     .lag = given.lag},
            .pages = {.words = given.words, .count = given.pages}};
}

static_assert(KVCAP_EVERYTHING == static_cast<int>(Needs::everything) &&
              KVCAP_WINDOW == static_cast<int>(Needs::window) && KVCAP_CHUNK == static_cast<int>(Needs::chunk) &&
              KVCAP_SNAPSHOT == static_cast<int>(Needs::snapshot) && KVCAP_WHOLE == static_cast<int>(Needs::whole) &&
              KVCAP_NOTHING == static_cast<int>(Needs::nothing));

/// The groups as the library takes them; stops at the first that it cannot.
std::vector<Group<>> groups_of(const kvcap_group* groups, std::size_t count, const Ask& ask) {
    if (count == 0 || count > most_groups) {
        cli::stop(cli::Exit::usage, fmt::format("{} groups; wanted 1 to {}", count, most_groups));
    }
    std::vector<Group<>> out;
    for (std::size_t g = 0; g < count; ++g) {
        if (groups[g].needs > KVCAP_NOTHING) {
            cli::stop(cli::Exit::usage, fmt::format("groups[{}].needs is {}; wanted 0 to 5", g, groups[g].needs));
        }
        if (groups[g].words == nullptr && groups[g].pages != 0) {
            cli::stop(cli::Exit::usage, fmt::format("groups[{}].words is NULL with {} pages", g, groups[g].pages));
        }
        out.push_back(group_of(groups[g]));
    }
    if (const Error wrong = fault(out.data(), static_cast<u32>(count), ask); wrong.code != Errc::ok) {
        cli::stop(wrong, fmt::format("groups[{}]", wrong.layer));
    }
    return out;
}

}  // namespace

extern "C" {

uint32_t kvcap_capi_version(void) {
    return KVCAP_CAPI_VERSION;
}

const char* kvcap_version(void) {
    return KVCAP_CLI_VERSION;
}

const char* kvcap_text_data(const kvcap_text* text) {
    return text == nullptr ? "" : text->text.c_str();
}

size_t kvcap_text_size(const kvcap_text* text) {
    return text == nullptr ? 0 : text->text.size();
}

void kvcap_text_free(kvcap_text* text) {
    delete text;
}

kvcap_status kvcap_run(const char* const* arguments, size_t count, kvcap_text** out, kvcap_text** error) {
    return guarded(error, [&] {
        if (out == nullptr || (arguments == nullptr && count != 0)) {
            return null_given(out == nullptr ? "out" : "arguments", error);
        }
        std::vector<std::string> words;
        for (size_t i = 0; i < count; ++i) {
            if (arguments[i] == nullptr) {
                return null_given(fmt::format("arguments[{}]", i).c_str(), error);
            }
            words.emplace_back(arguments[i]);
        }
        cli::Outcome outcome = cli::run_caught(std::move(words));
        const kvcap_status status = static_cast<kvcap_status>(outcome.code);
        const bool report = status == KVCAP_OK || !outcome.out.empty();
        if (report && (*out = text_from(std::move(outcome.out))) == nullptr) {
            return KVCAP_NO_MEMORY;
        }
        return report ? status : fail(status, std::move(outcome.err), error);
    });
}

kvcap_status kvcap_model_read(const char* model, const char* kv_cache_dtype, kvcap_model** out,
                              kvcap_text** error) {
    return guarded(error, [&] {
        if (model == nullptr || out == nullptr) {
            return null_given(model == nullptr ? "model" : "out", error);
        }
        if (std::string_view{model} == "-") {
            return fail(KVCAP_USAGE, "model: '-' would read standard input; give the text itself", error);
        }
        cli::ModelOptions options{};
        options.model = model;
        options.kv_cache_dtype = kv_cache_dtype == nullptr ? "auto" : kv_cache_dtype;
        auto read = std::make_unique<kvcap_model>(kvcap_model{cli::load(options), {}});
        read->spec = spec_line(read->model.spec, read->model.read.shared);
        *out = read.release();
        return KVCAP_OK;
    });
}

void kvcap_model_free(kvcap_model* model) {
    delete model;
}

const char* kvcap_model_spec(const kvcap_model* model) {
    return model == nullptr ? "" : model->spec.c_str();
}

uint64_t kvcap_model_layers(const kvcap_model* model) {
    return model == nullptr ? 0 : model->model.spec.all_layers();
}

uint64_t kvcap_model_max_context(const kvcap_model* model) {
    return model == nullptr ? 0 : model->model.read.max_context;
}

kvcap_status kvcap_size(const kvcap_model* model, const kvcap_size_request* request, kvcap_size_result* result,
                        kvcap_text** error) {
    return sized(model, request, error, [&](const report::SizeQuestion& asked, const report::SizeAnswer& size) {
        if (result == nullptr) {
            return null_given("result", error);
        }
        if (!known(*result)) {
            return unknown_size("result", *result, error);
        }
        *result = result_of(asked, size);
        return KVCAP_OK;
    });
}

kvcap_status kvcap_size_ranks(const kvcap_model* model, const kvcap_size_request* request, uint64_t* bytes,
                              size_t capacity, kvcap_text** error) {
    return sized(model, request, error, [&](const report::SizeQuestion&, const report::SizeAnswer& size) {
        const auto& held = size.points.front().held;
        if (bytes == nullptr) {
            return null_given("bytes", error);
        }
        if (capacity < held.size()) {
            return fail(KVCAP_USAGE, fmt::format("capacity {}; {} ranks", capacity, held.size()), error);
        }
        for (size_t i = 0; i < held.size(); ++i) {
            bytes[i] = held[i].bytes.value;
        }
        return KVCAP_OK;
    });
}

kvcap_status kvcap_model_groups(const kvcap_model* model, uint64_t page, uint64_t snapshot, kvcap_group* groups,
                                size_t* count, kvcap_text** error) {
    return guarded(error, [&] {
        if (model == nullptr || groups == nullptr || count == nullptr) {
            return null_given(model == nullptr ? "model" : groups == nullptr ? "groups" : "count", error);
        }
        const ModelRules rules =
            cli::value_of(rules_of(model->model.spec, {.page = page, .snapshot = snapshot}), model->model.label);
        if (rules.size() > *count) {
            return fail(KVCAP_USAGE, fmt::format("room for {} groups; the model has {}", *count, rules.size()), error);
        }
        for (u32 g = 0; g < rules.size(); ++g) {
            groups[g] = group_from(rules[g].rule);
        }
        *count = rules.size();
        return KVCAP_OK;
    });
}

kvcap_status kvcap_reuse(const kvcap_group* groups, size_t count, uint64_t prompt, kvcap_reuse_result* result,
                         kvcap_text** reason, kvcap_text** error) {
    return guarded(error, [&] {
        if (groups == nullptr || result == nullptr) {
            return null_given(groups == nullptr ? "groups" : "result", error);
        }
        if (!known(*result)) {
            return unknown_size("result", *result, error);
        }
        for (size_t g = 0; g < count && g < most_groups; ++g) {
            if (!known(groups[g])) {
                return unknown_size("groups", groups[g], error);
            }
        }
        if (prompt > io::most_scenario_tokens) {
            return fail(KVCAP_USAGE, fmt::format("prompt: {} tokens; at most {}", prompt, io::most_scenario_tokens),
                        error);
        }
        const std::vector<Group<>> all = groups_of(groups, count, ask_for(prompt, 1));
        const u32 n = static_cast<u32>(count);
        const Explanation why = explain(all.data(), n, ask_for(prompt, common_unit(all.data(), n)));
        const u32 at = why.reason.group;
        if (reason != nullptr) {
            const std::string name = at == no_group ? "" : fmt::format("group {}", at);
            *reason = text_from(report::reason_sentence(why.reason, at == no_group ? Rule{} : all[at].rule, name));
        }
        *result = {.struct_size = sizeof *result, .limiting = at, .tokens = why.tokens,
                   .refused = why.reason.refused, .page = why.reason.page};
        return KVCAP_OK;
    });
}

}  // extern "C"
