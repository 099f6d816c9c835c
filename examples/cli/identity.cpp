// SPDX-License-Identifier: MIT
// kvcap identity: what makes two caches exchangeable, what differs, what a system's own key leaves out, and
// that key.
#include "screen.hpp"

#include <fstream>
#include <iterator>
#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/identity_folder.hpp>
#include <kvcap/io/identity_json.hpp>
#include <memory>
#include <nlohmann/json.hpp>

// The low-level calls link a few kilobytes where the envelope ones link every provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace kvcap::cli {

namespace {

struct IdentityOptions {
    std::vector<std::string> what;
    std::string as;
    std::string missing;
    std::vector<std::string> facts;
    std::string tokens;
    std::string prefix;
    std::string run_config;
    ModelOptions model;
    ShardingOptions sharding;
    Output output;
};

std::string sha256(std::string_view bytes) {
    SHA256_CTX context;
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256_Init(&context);
    SHA256_Update(&context, bytes.data(), bytes.size());
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
    return digest;
}

/// An identity as this verb prints it with --json holds the facts inside; both forms are read.
std::string facts_in(const std::string& text) {
    const nlohmann::json read = nlohmann::json::parse(text, nullptr, false);
    if (read.is_object() && read.value("schema", nlohmann::json{}) == "kvcap.identity.answer/1" &&
        read.contains("facts")) {
        return read.at("facts").dump();
    }
    return text;
}

bool states_nothing(const OwnedIdentity& id) {
    bool nothing = !id.has_chunk;
    each_format_field([&](Field, auto member) { nothing = nothing && (id.format.*member).said == Said::nothing; });
    return nothing;
}

OwnedIdentity read_file(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        stop(Exit::bad_input, path + ": no such file, or not readable; wanted an identity as JSON");
    }
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    Diagnosed<OwnedIdentity> read = read_identity(facts_in(text));
    if (!read) {
        Problem problem = *read.error;
        problem.where = path + (problem.where.empty() ? "" : ": " + problem.where);
        stop(problem);
    }
    if (states_nothing(*read)) {
        stop(Exit::bad_input,
             path + ": no fact is in it; wanted an identity, such as kvcap identity MODEL --json prints");
    }
    return std::move(*read);
}

bool is_json_file(const std::string& text) {
    return text.size() > 5 && text.substr(text.size() - 5) == ".json" && std::ifstream{text}.good() &&
           read_identity([&] {
               std::ifstream in{text, std::ios::binary};
               return facts_in(std::string{std::istreambuf_iterator<char>{in}, {}});
           }())
               .value.has_value();
}

/// The element types that formats of caches and engines have names for.
void check_dtype(const std::string& value) {
    std::vector<std::string_view> names{"float", "uint8", "float8_e5m2"};  // as PyTorch writes them
    for (const io::KvScheme& scheme : io::kv_schemes) {
        if (value == scheme.name) {
            return;
        }
        names.push_back(scheme.name);
    }
    if (std::find(names.begin(), names.end(), value) == names.end()) {
        const std::string near = nearest(value, names);
        stop(Exit::usage,
             fmt::format("--set kv_dtype: '{}' is no element type of a cache{}", value,
                         near.empty() ? "; wanted bf16, fp8_e4m3, nvfp4 ..." : " (nearest: " + near + ")"));
    }
}

/// A fact has one value: two of --set, or --set beside a flag that says another, contradict each other.
void check_once(const std::vector<std::string>& facts, const IdentityOptions& options) {
    const std::tuple<std::string, std::string, u64> flags[] = {{"tp", "--tp", options.sharding.tp},
                                                               {"pp", "--pp", options.sharding.pp},
                                                               {"dcp", "--cp", options.sharding.cp}};
    const auto parts = [](const std::string& fact) {
        const std::size_t equals = std::min(fact.find('='), fact.size());
        return std::pair{fact.substr(0, equals), fact.substr(std::min(equals + 1, fact.size()))};
    };
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const auto [name, value] = parts(facts[i]);
        for (std::size_t j = 0; j < i; ++j) {
            if (const auto [other, first] = parts(facts[j]); name == other && value != first) {
                stop(Exit::usage,
                     fmt::format("--set {}: '{}' and '{}' contradict each other", name, first, value));
            }
        }
        for (const auto& [field, flag, said] : flags) {
            if (name == field && said != 1 && value != std::to_string(said)) {
                stop(Exit::usage,
                     fmt::format("{} {} and --set {}={} contradict each other", flag, said, name, value));
            }
        }
        const std::string& dtype = options.model.kv_cache_dtype;
        if (name == "kv_dtype" && dtype != "auto" && value != dtype) {
            stop(Exit::usage,
                 fmt::format("--kv-cache-dtype {} and --set kv_dtype={} contradict each other", dtype, value));
        }
    }
}

/// FIELD=VALUE states a value, FIELD= states that there is none.
void apply(const std::vector<std::string>& facts, OwnedIdentity& id) {
    const std::pair<std::string_view, StatedText ChunkIdentity::*> content[] = {
        {"adapter", &ChunkIdentity::adapter},
        {"adapter_version", &ChunkIdentity::adapter_version},
        {"salt", &ChunkIdentity::salt},
        {"user_key", &ChunkIdentity::user_key},
        {"embeddings", &ChunkIdentity::embeddings},
        {"parent", &ChunkIdentity::parent}};
    for (const std::string& fact : facts) {
        const std::size_t equals = fact.find('=');
        const std::string name = fact.substr(0, equals);
        if (equals == std::string::npos) {
            stop(Exit::usage,
                 fmt::format("--set: '{}' states nothing; wanted FIELD=VALUE, or FIELD= for none", fact));
        }
        const std::string value = fact.substr(equals + 1);
        bool known = false;
        for (const auto& [key, member] : content) {
            if (name == key) {
                const std::optional<std::string> bytes =
                    key == "parent" ? io::bytes_of_hex(value) : std::optional{value};
                if (!value.empty() && !bytes) {
                    stop(Exit::usage,
                         fmt::format("--set parent: '{}' is no digest in lower-case hex", value));
                }
                id.chunk.*member = value.empty() ? StatedText{stated_none} : StatedText{id.keep(*bytes)};
                known = id.has_chunk = true;
            }
        }
        for (u32 i = 0; !known && i < static_cast<u32>(Field::parent); ++i) {
            const Field field = static_cast<Field>(i);
            if (name_of(field) == name) {
                known = true;
                if (field == Field::kv_dtype && !value.empty()) {
                    check_dtype(value);
                }
                if (value.empty()) {
                    io::set_none(id.format, field);
                } else if (const std::optional<Problem> problem = io::set_fact(id, field, value)) {
                    stop(Exit::usage, "--set " + problem->text());
                }
            }
        }
        if (!known && (name == "tokens" || name == "media")) {
            stop(Exit::usage, name == "tokens"
                                  ? "--set tokens: a list; --ids 1,2,3 states the chunk's tokens"
                                  : "--set media: a list; only an identity as JSON states it (content/media)");
        }
        if (!known) {
            const std::string near = io::nearest_field(name);
            stop(Exit::usage,
                 fmt::format("--set: '{}' is no fact{}", name, near.empty() ? "" : " (" + near + ")"));
        }
    }
}

void state(StatedText& fact, OwnedIdentity& id, std::string value) {
    fact = fact.said == Said::nothing && !value.empty() ? StatedText{id.keep(std::move(value))} : fact;
}
void state(StatedNumber& fact, u64 value) {
    fact = fact.said == Said::nothing ? StatedNumber{value} : fact;
}

/// What MODEL and the sharding options say by themselves; the rest stays unstated.
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
    const Sharding sharding = options.sharding.sharding();
    state(id.format.tp, sharding.tp), state(id.format.pp, sharding.pp), state(id.format.dcp, sharding.cp);
    state(id.format.cp_interleave, sharding.interleave);
    return id;
}

OwnedIdentity identity_of(const IdentityOptions& options, const std::string& what) {
    OwnedIdentity id = is_json_file(what) ? read_file(what) : from_model(options, what);
    check_once(options.facts, options);
    apply(options.facts, id);
    if (!options.tokens.empty()) {
        std::vector<u32> tokens;
        for (const u64 token : counts_of(options.tokens, "--ids")) {
            if (token > 0xffff'ffff) {
                stop(Exit::usage, fmt::format("--ids: {} is no token id", token));
            }
            tokens.push_back(static_cast<u32>(token));
        }
        id.keep_tokens(std::move(tokens));
        id.has_chunk = true;
    }
    return id;
}

std::string value_words(const OwnedIdentity& id, Field field) {
    std::string words;
    each_format_field([&](Field each, auto member) {
        using Fact = std::remove_cvref_t<decltype(id.format.*member)>;
        if (each != field) {
            return;
        }
        const Fact& fact = id.format.*member;
        if (!fact.has_value()) {
            words = fact.said == Said::none ? "none" : "not stated";
        } else if constexpr (std::same_as<Fact, StatedText>) {
            words = std::string{fact.value};
        } else if constexpr (std::same_as<Fact, StatedNumber>) {
            words = std::to_string(fact.value);
        } else {
            words = spec_line(fact.value);
        }
    });
    return words;
}

bool is_stated(const OwnedIdentity& id, Field field) {
    bool stated = true;
    each_format_field([&](Field each, auto member) {
        stated = each == field ? (id.format.*member).said != Said::nothing : stated;
    });
    return stated;
}

std::string encoded(const FormatIdentity& id) {
    std::string bytes;
    if (const Refusal refusal = encode(id, [&](u8 byte) { bytes.push_back(static_cast<char>(byte)); })) {
        stop(Exit::usage, "the identity is refused: " + words_of(refusal));
    }
    return bytes;
}

std::string harm_words(Harm harm) {
    switch (harm) {
        case Harm::corrupts: return "wrong answers";
        case Harm::leaks: return "leak";
        case Harm::fails: return "error";
        case Harm::misses: return "lost hits";
    }
    return "";
}

void add_risk(report::Json& json, Field field) {
    const FieldFacts told = facts(field);
    json.object()
        .field("field", told.name)
        .field("harm", harm_words(told.harm))
        .field("consequence", told.consequence);
    json.field("seen", told.seen).end();
}

std::string risk_line(Field field) {
    const FieldFacts told = facts(field);
    return paragraph(fmt::format("  {}: {} ({}{}{})", told.name, told.consequence, harm_words(told.harm),
                                 told.seen.empty() ? "" : "; ", told.seen)) +
           '\n';
}

System system_of(const std::string& name, std::string_view flag) {
    std::string names;
    for (u32 i = 0; i < system_count; ++i) {
        if (name_of(static_cast<System>(i)) == name) {
            return static_cast<System>(i);
        }
        names += (names.empty() ? "" : ", ") + std::string{name_of(static_cast<System>(i))};
    }
    stop(Exit::usage, fmt::format("{}: '{}' is none of {}", flag, name, names));
}

std::string_view words_of_presence(Presence presence) {
    switch (presence) {
        case Presence::absent: return "not in the key";
        case Presence::registered: return "beside the objects, for readers to check";
        case Presence::operator_only: return "only if the operator puts it into a prefix, tag or salt";
        case Presence::mistaken: return "in the key, but it does not tell these apart";
        case Presence::in_key: return "in the key";
    }
    return "";
}

void run_missing(const IdentityOptions& options, Session& session) {
    const System system = system_of(options.missing, "--missing");
    if (options.output.json) {
        report::Json json;
        json.object()
            .field("schema", "kvcap.identity.missing/1")
            .field("system", options.missing)
            .array("missing");
        for (const Field field : missing(system)) {
            json.object()
                .field("field", name_of(field))
                .field("presence", words_of_presence(presence(system, field)));
            json.field("consequence", facts(field).consequence).field("seen", facts(field).seen).end();
        }
        return session.print(json.end().end().text());
    }
    std::string out =
        fmt::format("{}: what its key does not tell apart, and what follows\n", options.missing);
    for (const Presence how :
         {Presence::mistaken, Presence::operator_only, Presence::registered, Presence::absent}) {
        std::string lines;
        for (const Field field : missing(system)) {
            lines += presence(system, field) == how ? risk_line(field) : "";
        }
        out += lines.empty() ? "" : fmt::format("\n{}\n{}", session.bold(words_of_presence(how)), lines);
    }
    session.print(out);
}

/// What one of two identities does not state; while there is such a fact, nobody knows whether they are one.
Fields missing_of(const OwnedIdentity& a, const OwnedIdentity& b, bool chunks) {
    Fields missing{};
    for (u32 i = 0; i < static_cast<u32>(Field::parent); ++i) {
        const Field field = static_cast<Field>(i);
        if (!is_stated(a, field) || !is_stated(b, field)) {
            missing.items[missing.count++] = field;
        }
    }
    const auto chunk = [&](Field field, const auto& stated) {
        if (chunks && !(stated(a.chunk) && stated(b.chunk))) {
            missing.items[missing.count++] = field;
        }
    };
    const auto text = [&](Field field, StatedText ChunkIdentity::*member) {
        chunk(field, [member](const ChunkIdentity& of) { return (of.*member).said != Said::nothing; });
    };
    text(Field::parent, &ChunkIdentity::parent);
    chunk(Field::tokens, [](const ChunkIdentity& of) { return !of.tokens.empty(); });
    text(Field::adapter, &ChunkIdentity::adapter), text(Field::adapter_version, &ChunkIdentity::adapter_version);
    text(Field::salt, &ChunkIdentity::salt), text(Field::user_key, &ChunkIdentity::user_key);
    text(Field::embeddings, &ChunkIdentity::embeddings);
    return missing;
}

std::string names_of(const Fields& fields) {
    std::string names;
    for (const Field field : fields) {
        names += (names.empty() ? "" : ", ") + std::string{name_of(field)};
    }
    return names;
}

std::string words_of_diff(const OwnedIdentity& a, const OwnedIdentity& b, const Fields& differing,
                          const std::string& blind) {
    std::string out = fmt::format("Not exchangeable: {}.\n",
                                  report::counted(differing.size(), "fact differs", "facts differ"));
    for (const Field field : differing) {
        out += risk_line(field);
        if (!is_content(field)) {
            out += paragraph(fmt::format("    {} | {}", value_words(a, field), value_words(b, field))) + '\n';
        }
    }
    return out + (blind.empty() ? "" : paragraph("The same key under: " + blind) + '\n');
}

void run_diff(const IdentityOptions& options, Session& session) {
    const OwnedIdentity a = read_file(options.what[1]);
    const OwnedIdentity b = read_file(options.what[2]);
    const bool chunks = a.has_chunk || b.has_chunk;
    Fields differing = diff(a.format, b.format);
    for (const Field field : diff(a.chunk, b.chunk)) {
        differing.items[differing.count++] = field;
    }
    const Fields missing = missing_of(a, b, chunks);
    const Refusal wrong_a = refusal_of(a.format) ? refusal_of(a.format) : chunks ? refusal_of(a.chunk) : Refusal{};
    const Refusal wrong_b = refusal_of(b.format) ? refusal_of(b.format) : chunks ? refusal_of(b.chunk) : Refusal{};
    const bool complete = missing.empty() && !wrong_a && !wrong_b;
    session.exit = !differing.empty() ? Exit::does_not_fit : complete ? Exit::ok : Exit::usage;
    std::vector<std::string_view> blind;
    for (u32 s = 0; s < system_count; ++s) {
        if (collide(static_cast<System>(s), a.format, a.chunk, b.format, b.chunk)) {
            blind.push_back(name_of(static_cast<System>(s)));
        }
    }
    if (options.output.json) {
        report::Json json;
        json.object()
            .field("schema", "kvcap.identity.diff/1")
            .field("exchangeable", complete && differing.empty())
            .field("complete", complete)
            .array("missing", report::Layout::flat);
        for (const Field field : missing) {
            json.item(name_of(field));
        }
        json.end().array("differences");
        for (const Field field : differing) {
            add_risk(json, field);
        }
        json.end().array("collide_under", report::Layout::flat);
        for (const std::string_view name : blind) {
            json.item(name);
        }
        return session.print(json.end().end().text());
    }
    const std::string unsaid =
        missing.empty()
            ? ""
            : paragraph(fmt::format("Missing from one or both ({}): {}", missing.size(), names_of(missing))) +
                  '\n';
    if (!differing.empty()) {
        return session.print(words_of_diff(a, b, differing, fmt::format("{}", fmt::join(blind, ", "))) + unsaid);
    }
    if (complete) {
        return session.print("The same identity: one may be used for the other.\n");
    }
    if (missing.empty()) {
        return session.print(paragraph("Not known to be exchangeable: nothing differs, but an identity is refused: " +
                                       words_of(wrong_a ? wrong_a : wrong_b)) +
                             '\n');
    }
    session.print("Not known to be exchangeable: nothing that both state differs, but facts are missing.\n" + unsaid);
}

/// What a key is made from must be stated; "none" counts.
void need(const OwnedIdentity& id, std::initializer_list<Field> fields) {
    for (const Field field : fields) {
        if (!is_stated(id, field)) {
            stop(Exit::usage, fmt::format("{} is not stated, and this key has it (--set {}=VALUE)", name_of(field),
                                          name_of(field)));
        }
    }
}

/// A rank that its size does not have is nobody's.
void ranks_exist(const FormatIdentity& id) {
    const std::tuple<Field, const StatedNumber&, const StatedNumber&> pairs[] = {
        {Field::tp_rank, id.tp_rank, id.tp}, {Field::pp_rank, id.pp_rank, id.pp},
        {Field::pcp_rank, id.pcp_rank, id.pcp}, {Field::dcp_rank, id.dcp_rank, id.dcp}};
    for (const auto& [field, rank, size] : pairs) {
        if (rank.has_value() && size.has_value() && rank.value >= size.value) {
            stop(Exit::usage, words_of(Refusal{field, WhyRefused::rank_out_of_range}) +
                                  fmt::format(" ({} of {})", rank.value, size.value));
        }
    }
}

/// The part of the chunk that the system's hash is made from.
ChunkIdentity chunk_for(System system, const OwnedIdentity& id) {
    const ChunkIdentity chunk = hashed_content(system, id.chunk);
    const Refusal refusal = refusal_of(chunk);
    if (!refusal) {
        return chunk;
    }
    const std::string_view field = name_of(refusal.field);
    const std::string hint = refusal.field == Field::tokens
                                 ? "--ids 1,2,3"
                                 : fmt::format("--set {}=VALUE, or --set {}= for none", field, field);
    stop(Exit::usage, fmt::format("the chunk is refused: {} ({})", words_of(refusal), hint));
}

/// A seed that every process draws anew, or another algorithm, gives keys that nobody can write down here.
std::string_view seed_of(const OwnedIdentity& id, std::string_view algorithm) {
    need(id, {Field::hash_seed});
    const StatedText& stated = id.format.hash_algorithm;
    if (!algorithm.empty() && stated.has_value() && stated.value != algorithm) {
        stop(Exit::usage, fmt::format("hash_algorithm: {}; this key is written for {} only", stated.value, algorithm));
    }
    if (!id.format.hash_seed.has_value()) {
        stop(Exit::usage, "hash_seed: none, so every process has keys of its own; wanted a value");
    }
    return id.format.hash_seed.value;
}

std::string block_hash(System system, const OwnedIdentity& id) {
    const ChunkIdentity chunk = chunk_for(system, id);
    return vllm_block_hash(chunk, seed_of(id, "sha256_cbor"), sha256);
}

std::string index_key(const OwnedIdentity& id) {
    const ChunkIdentity chunk = chunk_for(System::llmd_index, id);
    need(id, {Field::model});
    if (chunk.parent.has_value() && chunk.parent.value.size() != 8) {
        stop(Exit::usage, "parent: llm-d's block hashes are 8 bytes");
    }
    u64 parent = llmd_root(chunk.adapter.has_value() ? chunk.adapter.value : id.format.model.value, seed_of(id, ""));
    for (std::size_t i = 0; chunk.parent.has_value() && i < 8; ++i) {
        parent = parent << 8 | static_cast<u8>(chunk.parent.value[i]);
    }
    return std::to_string(llmd_block_hash(parent, chunk));
}

std::string file_name(const std::string& path, const OwnedIdentity& id) {
    std::ifstream in{path, std::ios::binary};
    if (!in) {
        stop(Exit::bad_input, path + ": no such file, or not readable; wanted the config.json of a run");
    }
    const Diagnosed<RunConfig> run = read_run_config(std::string{std::istreambuf_iterator<char>{in}, {}});
    if (!run) {
        Problem problem = *run.error;
        problem.where = path + (problem.where.empty() ? "" : ": " + problem.where);
        stop(problem);
    }
    need(id, {Field::model, Field::tp, Field::tp_rank, Field::pp, Field::pp_rank, Field::pcp, Field::pcp_rank,
              Field::dcp, Field::group});
    if (const Refusal differs = disagreement(*run, id.format)) {
        stop(Exit::usage, fmt::format("{}: its {} is not this identity's", path, name_of(differs.field)));
    }
    return run_file(*run, id.format, block_hash(System::llmd_files, id), sha256);
}

std::string key_as(const IdentityOptions& options, const OwnedIdentity& id) {
    const System system = system_of(options.as, "--as");
    ranks_exist(id.format);
    KeyText key;
    switch (system) {
        case System::vllm_block_hash: return hex(block_hash(system, id));
        case System::lmcache_key:
            need(id, {Field::model, Field::tp, Field::tp_rank, Field::pp, Field::pp_rank, Field::kv_dtype});
            key = lmcache_key(id.format, block_hash(system, id));
            break;
        case System::lmcache_object_key:
            need(id, {Field::model, Field::tp, Field::tp_rank, Field::pp, Field::pp_rank, Field::group});
            if (id.chunk.salt.said == Said::nothing) {
                stop(Exit::usage,
                     "salt is not stated, and this key has it (--set salt=VALUE, or --set salt= for none)");
            }
            key = lmcache_object_key(id.format, id.chunk, block_hash(system, id));
            break;
        case System::mooncake_connector:
            need(id, {Field::model, Field::tp_rank, Field::pcp_rank, Field::dcp_rank, Field::pp_rank, Field::group});
            key = mooncake_key(id.format, block_hash(system, id), options.prefix);
            break;
        case System::llmd_index: return index_key(id);
        case System::llmd_files:
            return options.run_config.empty() ? index_key(id) : file_name(options.run_config, id);
        default:
            stop(Exit::usage, fmt::format("--as: {} has no literal key here; wanted vllm, lmcache, "
                                          "lmcache-server, mooncake or llm-d",
                                          options.as));
    }
    if (!key) {
        stop(Exit::usage, words_of(key.refusal));
    }
    return key.text;
}

/// Facts and their values side by side; a value that has no room there stands below.
std::string facts_table(const std::vector<std::pair<std::string, std::string>>& facts) {
    constexpr std::size_t columns = 80;
    std::size_t names = 0;
    for (const auto& [name, value] : facts) {
        names = std::max(names, name.size());
    }
    std::string out;
    for (const auto& [name, value] : facts) {
        const bool fits = names + 4 + report::width_of(value) <= columns;
        out += fits ? fmt::format("  {:<{}}  {}\n", name, names, value)
                    : fmt::format("  {}\n{}\n", name, paragraph("      " + value));
    }
    return out;
}

void print_identity(const IdentityOptions& options, const OwnedIdentity& id, Session& session) {
    const Refusal refusal = refusal_of(id.format);
    const std::string bytes = refusal ? std::string{} : encoded(id.format);
    const std::string digest = refusal ? std::string{} : sha256(bytes);
    std::string chunk;
    if (!refusal && id.has_chunk) {
        std::string content;
        if (const Refusal wrong =
                encode(id.chunk, digest, [&](u8 byte) { content.push_back(static_cast<char>(byte)); })) {
            stop(Exit::usage, "the chunk is refused: " + words_of(wrong));
        }
        chunk = hex(sha256(content));
    }
    session.exit = refusal ? Exit::usage : Exit::ok;
    if (options.output.json) {
        report::Json json;
        json.object().field("schema", "kvcap.identity.answer/1").field("complete", !refusal);
        if (!refusal) {
            json.field("encoding_bytes", bytes.size())
                .field("encoding_hex", hex(bytes))
                .field("sha256", hex(digest));
        }
        if (!chunk.empty()) {
            json.field("chunk_sha256", chunk);
        }
        json.object("facts");
        for (u32 i = 0; i < static_cast<u32>(Field::parent); ++i) {
            const Field field = static_cast<Field>(i);
            const std::string words = value_words(id, field);
            if (is_stated(id, field) && words != "none") {
                json.field(name_of(field), words);
            } else if (is_stated(id, field)) {
                json.null(name_of(field));
            }
        }
        return session.print(json.end().end().text());
    }
    std::vector<std::pair<std::string, std::string>> stated;
    std::string unstated;
    for (u32 i = 0; i < static_cast<u32>(Field::parent); ++i) {
        const Field field = static_cast<Field>(i);
        if (is_stated(id, field)) {
            stated.emplace_back(name_of(field), value_words(id, field));
        } else {
            unstated += risk_line(field);
        }
    }
    std::string out = facts_table(stated);
    if (!unstated.empty()) {
        out += fmt::format(
            "\n{}\n{}",
            session.warning("Not stated, so this is no identity yet (--set FIELD=VALUE, FIELD= for none):"),
            unstated);
    } else if (refusal) {
        out += '\n' + session.warning(paragraph("Refused: " + words_of(refusal))) + '\n';
    } else {
        out += fmt::format("\nSHA-256 of the encoding ({} bytes):\n  {}\n", report::grouped(bytes.size()),
                           hex(digest));
        out += chunk.empty() ? "" : fmt::format("SHA-256 of the chunk in it:\n  {}\n", chunk);
    }
    session.print(out);
}

void run(const IdentityOptions& options, Session& session) {
    options.output.begin(session);
    if (!options.missing.empty()) {
        return run_missing(options, session);
    }
    if (options.what.empty()) {
        stop(Exit::usage, "identity: wanted a MODEL, an identity as JSON, or diff A B");
    }
    if (options.what[0] == "diff") {
        if (options.what.size() != 3) {
            stop(Exit::usage, "identity diff: wanted two files");
        }
        return run_diff(options, session);
    }
    if (options.what.size() != 1) {
        stop(Exit::usage,
             fmt::format("identity: '{}' after {} is not understood", options.what[1], options.what[0]));
    }
    const OwnedIdentity id = identity_of(options, options.what[0]);
    if (!options.run_config.empty() && options.as != "llm-d") {
        stop(Exit::usage, "--run-config belongs to --as llm-d");
    }
    if (!options.as.empty()) {
        const std::string key = key_as(options, id);
        if (!options.output.json) {
            return session.print(key + '\n');
        }
        report::Json json;
        json.object().field("schema", "kvcap.identity.key/1").field("system", options.as);
        return session.print(json.field("key", std::string_view{key}).end().text());
    }
    print_identity(options, id, session);
}

}  // namespace

void add_identity(CLI::App& app, Session& session) {
    const auto options = std::make_shared<IdentityOptions>();
    CLI::App* verb =
        app.add_subcommand("identity", "When one cache may be used for another, and what keys leave out");
    verb->add_option("WHAT", options->what, "MODEL, an identity as .json, or: diff A.json B.json")
        ->type_name("");
    verb->add_option("--set", options->facts, "FIELD=VALUE, or FIELD= for none; again for more");
    verb->add_option("--as", options->as, "The literal key: vllm, lmcache, lmcache-server, mooncake, llm-d");
    verb->add_option("--missing", options->missing, "What the key of this system does not tell apart");
    verb->add_option("--ids", options->tokens, "Token ids of the chunk: 1,2,3");
    verb->add_option("--prefix", options->prefix, "Prefix of a mooncake key");
    verb->add_option("--run-config", options->run_config, "With --as llm-d: the run's config.json, for a file name");
    options->sharding.add_to(*verb);
    options->model.add_formats_to(*verb);
    options->output.add_to(*verb, false);
    verb->footer(
        "Examples:\n"
        "  kvcap identity deepseek-v3 --tp 8 --set weights_revision=e815299 --set rope='yarn 40'\n"
        "  kvcap identity diff prefill.json decode.json\n"
        "  kvcap identity --missing mooncake\n"
        "  kvcap identity store.json --ids 1,2,3 --set parent= --as lmcache");
    verb->callback([options, &session] { run(*options, session); });
}

}  // namespace kvcap::cli
