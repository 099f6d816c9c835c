// SPDX-License-Identifier: MIT
// Layer kinds by name: from numbers to caches, and back. `numbers` reads what a kind's caches would have been
// made from; whether they were is decided by building them again and comparing, never by the guess.
#pragma once

#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/latent.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <string_view>

namespace kvcap::inline v1::spec {

using Numbers = Inplace<u32, 8>;

/// The default of an optional number: the one before it.
inline constexpr u32 as_before = ~u32{0};

/// most - least optional numbers at the end, with their defaults. zero: bit i allows number i to be 0.
struct Policy {
    std::string_view name;
    std::string_view usage;
    u32 least;
    u32 most;
    u32 defaults[3];
    u32 zero;
    LayerForms (*build)(const Numbers& n) noexcept;
    bool (*numbers)(const LayerForms& forms, Numbers& n) noexcept;
};

template <class... N>
constexpr bool give(Numbers& n, N... numbers) noexcept {
    n = Numbers{};
    ((n.items[n.count++] = static_cast<u32>(numbers)), ...);
    return true;
}

/// One cache with this many streams.
constexpr bool is_one(const LayerForms& forms, Kind kind, u32 streams) noexcept {
    return forms.size() == 1 && forms[0].kind == kind && forms[0].streams.size() == streams;
}

constexpr Policy policies[] = {
    {"gqa", "gqa(kv_heads,head_dim[,value_dim])", 2, 3, {as_before, 0, 0}, 0,
     [](const Numbers& n) noexcept {
         return Gqa{.kv_heads = n[0], .head_dim = n[1], .value_dim = n[2]}.forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::attention, 2) &&
                give(n, f[0].streams[0].heads, f[0].streams[0].width, f[0].streams[1].width);
     }},
    {"mla", "mla(latent[,rope])", 1, 2, {0, 0, 0}, 2,
     [](const Numbers& n) noexcept { return Mla{.latent = n[0], .rope = n[1]}.forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return (is_one(f, Kind::latent, 1) || is_one(f, Kind::latent, 2)) &&
                give(n, f[0].streams[0].width, f[0].streams[1].width);
     }},
    {"sparse_mla", "sparse_mla(latent,rope,index_dim)", 3, 3, {0, 0, 0}, 2,
     [](const Numbers& n) noexcept {
         return SparseMla{.latent = n[0], .rope = n[1], .index_dim = n[2]}.forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         return f.size() == 2 && give(n, f[1].streams[0].width, f[1].streams[1].width, f[0].streams[0].width);
     }},
    {"index", "index(dim[,heads])", 1, 2, {1, 0, 0}, 0,
     [](const Numbers& n) noexcept { return IndexKeys{.dim = n[0], .heads = n[1]}.forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::index, 1) && give(n, f[0].streams[0].width, f[0].streams[0].heads);
     }},
    {"compressed", "compressed(latent,window,ratio[,index_dim])", 3, 4, {0, 0, 0}, 8,
     [](const Numbers& n) noexcept {
         return CompressedLatent{.latent = n[0], .window = n[1], .ratio = n[2], .index_dim = n[3]}.forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         return (f.size() == 3 || f.size() == 5) &&
                give(n, f[0].streams[0].width, f[0].retention.span.value, f[1].retention.stride,
                     f.size() == 5 ? f[2].streams[0].width : 0);
     }},
    {"mamba1", "mamba1(inner,state_dim[,kernel])", 2, 3, {4, 0, 0}, 0,
     [](const Numbers& n) noexcept {
         return Mamba1{.inner = n[0], .state_dim = n[1], .kernel = n[2]}.forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::mamba1, 2) &&
                give(n, f[0].streams[1].heads, f[0].streams[1].width, f[0].streams[0].rows + 1u);
     }},
    {"mamba2", "mamba2(heads,head_dim,state_dim[,groups[,kernel]])", 3, 5, {1, 4, 0}, 8,
     [](const Numbers& n) noexcept {
         return Mamba2{.heads = n[0], .head_dim = n[1], .state_dim = n[2], .groups = n[3], .kernel = n[4]}
             .forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         if (!is_one(f, Kind::mamba2, 3) && !is_one(f, Kind::mamba2, 2)) {
             return false;
         }
         const Inplace<Stream, 6>& s = f[0].streams;
         const Stream& state = s[s.size() - 1];
         return u64{state.heads} * state.rows == s[0].heads &&
                (s.size() == 2 || u64{2} * state.width == s[1].width) &&
                give(n, state.heads, state.rows, state.width, s.size() == 3 ? s[1].heads : 0, s[0].rows + 1u);
     }},
    {"gdn", "gdn(key_heads,key_dim,value_heads,value_dim[,kernel])", 4, 5, {4, 0, 0}, 0,
     [](const Numbers& n) noexcept {
         return GatedDelta{.key_heads = n[0], .key_dim = n[1], .value_heads = n[2], .value_dim = n[3],
                           .kernel = n[4]}
             .forms();
     },
     [](const LayerForms& f, Numbers& n) noexcept {
         if (!is_one(f, Kind::gated_delta, 2)) {
             return false;
         }
         const Stream& conv = f[0].streams[0];
         const Stream& state = f[0].streams[1];
         const u64 values = u64{state.heads} * state.rows;
         const u64 key = u64{2} * state.width;
         return key != 0 && conv.heads > values && (conv.heads - values) % key == 0 &&
                give(n, (conv.heads - values) / key, state.width, state.heads, state.rows, conv.rows + 1u);
     }},
    {"kda", "kda(heads,head_dim[,kernel])", 2, 3, {4, 0, 0}, 0,
     [](const Numbers& n) noexcept { return Kda{.heads = n[0], .head_dim = n[1], .kernel = n[2]}.forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::kda, 2) &&
                u64{3} * f[0].streams[1].heads * f[0].streams[1].width == f[0].streams[0].heads &&
                give(n, f[0].streams[1].heads, f[0].streams[1].width, f[0].streams[0].rows + 1u);
     }},
    {"lightning", "lightning(heads,head_dim)", 2, 2, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return lightning(n[0], n[1]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::lightning, 1) && give(n, f[0].streams[0].heads, f[0].streams[0].rows);
     }},
    {"gla", "gla(heads,key_dim,value_dim)", 3, 3, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return gla(n[0], n[1], n[2]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::gla, 1) &&
                give(n, f[0].streams[0].heads, f[0].streams[0].rows, f[0].streams[0].width);
     }},
    {"short_conv", "short_conv(width,kernel)", 2, 2, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return short_conv(n[0], n[1]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::short_conv, 1) && give(n, f[0].streams[0].heads, f[0].streams[0].rows + 1u);
     }},
    {"rglru", "rglru(width,kernel)", 2, 2, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return rg_lru(n[0], n[1]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::rglru, 2) && give(n, f[0].streams[1].heads, f[0].streams[0].rows + 1u);
     }},
    {"rwkv", "rwkv(width,heads,head_dim)", 3, 3, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return rwkv(n[0], n[1], n[2]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::rwkv, 2) &&
                give(n, f[0].streams[0].width, f[0].streams[1].heads, f[0].streams[1].rows);
     }},
    {"rwkv4", "rwkv4(width,attention_width)", 2, 2, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return rwkv4(n[0], n[1]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::rwkv, 2) && give(n, f[0].streams[0].width, f[0].streams[1].heads);
     }},
    {"mlstm", "mlstm(heads,key_dim,value_dim)", 3, 3, {0, 0, 0}, 0,
     [](const Numbers& n) noexcept { return mlstm(n[0], n[1], n[2]).forms(); },
     [](const LayerForms& f, Numbers& n) noexcept {
         return is_one(f, Kind::mlstm, 3) &&
                give(n, f[0].streams[0].heads, f[0].streams[0].rows, f[0].streams[0].width);
     }},
};

constexpr const Policy* policy_named(std::string_view name) noexcept {
    const std::string_view known = name == "mha" ? "gqa" : name == "mamba" ? "mamba1" : name;
    for (const Policy& policy : policies) {
        if (policy.name == known) {
            return &policy;
        }
    }
    return nullptr;
}

/// The default of optional number `at`, given the numbers before it.
constexpr u32 default_of(const Policy& policy, const Numbers& before, u32 at) noexcept {
    const u32 given = policy.defaults[at - policy.least];
    return given == as_before ? before[at - 1] : given;
}

/// Whether zeros stand only where the kind takes them.
constexpr bool allows(const Policy& policy, const Numbers& n) noexcept {
    for (u32 i = 0; i < n.size(); ++i) {
        if (n[i] == 0 && (policy.zero >> i & 1) == 0) {
            return false;
        }
    }
    return true;
}

}  // namespace kvcap::inline v1::spec
