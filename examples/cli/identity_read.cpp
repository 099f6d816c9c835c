// SPDX-License-Identifier: MIT
// From where does kvcap identity have an identity? A file with one, or a MODEL and the flags.
#include "identity.hpp"

#include "context_ranks.hpp"
#include "options.hpp"

#include <filesystem>
#include <kvcap/io/text_file.hpp>

namespace kvcap::cli {

namespace {

Diagnosed<OwnedIdentity> read_file(const std::string& path) {
    return read_identity(text_of_file(path, "an identity as JSON"));
}

OwnedIdentity with_a_fact(const std::string& path, OwnedIdentity id) {
    bool nothing = !id.has_chunk;
    each_format_field([&](Field field, auto) { nothing = nothing && !is_stated(id, field); });
    if (nothing) {
        stop(Exit::bad_input,
             path + ": no fact is in it; wanted an identity, such as kvcap identity MODEL --json prints");
    }
    return id;
}

/// Nothing when WHAT is a MODEL, as a file with something else is. A file meant as an identity is one, right or wrong.
std::optional<OwnedIdentity> identity_named(const std::string& what) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(what, none)) {
        return std::nullopt;
    }
    const Diagnosed<std::string> text = read_text_file(what);
    const Diagnosed<JsonDocument> document = text ? load_json(*text) : Diagnosed<JsonDocument>{*text.error};
    if (!document) {
        return std::nullopt;
    }
    Diagnosed<OwnedIdentity> read = read_identity(*document);
    if (!read && !declares_identity(*document)) {
        return std::nullopt;
    }
    return with_a_fact(what, value_in(what, std::move(read)));
}

void state(StatedText& fact, OwnedIdentity& id, std::string value) {
    if (!value.empty()) {
        fact = id.keep(std::move(value));
    }
}

/// A format that was asked for, of streams that the model has.
void state_given(StatedText& fact, OwnedIdentity& id, const Model& model, Role role, const std::string& asked) {
    for (const LayerForm& form : model.spec.forms) {
        for (const Stream& stream : form.streams) {
            if (asked != "auto" && stream.role == role) {
                return state(fact, id, asked);
            }
        }
    }
}

/// What a MODEL is split and stored by; a file says it of itself.
void refuse_beside_file(const IdentityOptions& options, const std::string& file) {
    for (const char* flag :
         {"--tp", "--pp", "--cp", "--decode-context-parallel-size", "--dp", "--dp-attention", "--pp-split",
          "--kv-cache-dtype", "--state-dtype", "--conv-dtype", "--index-dtype"}) {
        if (options.verb->get_option(flag)->count() != 0) {
            stop(Exit::usage, fmt::format("{} and {}: a file states its facts; --set FIELD=VALUE changes them", flag,
                                          file));
        }
    }
}

OwnedIdentity from_model(const IdentityOptions& options, const std::string& name) {
    ModelOptions asked = options.model;
    asked.model = name;
    const Model model = load(asked);
    OwnedIdentity id;
    id.format.caches = model.spec;
    // The whole name, as engines are started with it and keys have it.
    state(id.format.model, id, model.read.name.empty() ? model.label : printable(model.read.name));
    if (model.dtype != "auto" && model.dtype != "mixed") {
        state(id.format.kv_dtype, id, model.dtype);
    }
    state_given(id.format.state_dtype, id, model, Role::state, options.model.state_dtype);
    state_given(id.format.conv_dtype, id, model, Role::conv, options.model.conv_dtype);
    if (!options.sharding.pp_split.empty()) {
        stop(Exit::usage, "--pp-split: no fact of an identity says which layers a stage has, so that unlike stages "
                          "would look alike");
    }
    refuse_split(model, options.sharding.sharding(), options.sharding, EngineOptions{}.face());
    const Sharding sharding = options.sharding.sharding();
    id.format.tp = sharding.tp, id.format.pp = sharding.pp, id.format.dcp = sharding.cp;
    id.format.cp_interleave = sharding.interleave;
    return id;
}

std::vector<u32> token_ids(const std::string& list) {
    std::vector<u32> tokens;
    if (const std::size_t odd = list.find_first_not_of("0123456789, "); odd != std::string::npos) {
        stop(Exit::usage, fmt::format("--ids: '{}' in {}; wanted token ids: 1,2,3", list[odd], printable(list)));
    }
    for (const u64 token : counts_of(list, "--ids")) {
        if (token > 0xffff'ffff) {
            stop(Exit::usage, fmt::format("--ids: {} is no token id", token));
        }
        tokens.push_back(static_cast<u32>(token));
    }
    return tokens;
}

}  // namespace

std::string text_of_file(const std::string& path, std::string_view wanted) {
    Diagnosed<std::string> text = read_text_file(path);
    if (!text) {
        stop(Exit::bad_input, fmt::format("{}; wanted {}", text.error->text(), wanted));
    }
    return *std::move(text.value);
}

OwnedIdentity identity_file(const std::string& path) {
    return with_a_fact(path, value_in(path, read_file(path)));
}

OwnedIdentity identity_of(const IdentityOptions& options) {
    const std::string& what = options.what[0];
    std::optional<OwnedIdentity> named = identity_named(what);
    if (named) {
        refuse_beside_file(options, what);
    }
    OwnedIdentity id = named ? std::move(*named) : from_model(options, what);
    set_facts(options, id);
    ranks_exist(id.format);
    if (!options.tokens.empty()) {
        id.keep_tokens(token_ids(options.tokens));
        id.has_chunk = true;
    }
    return id;
}

}  // namespace kvcap::cli
