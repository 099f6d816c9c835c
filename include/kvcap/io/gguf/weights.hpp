// SPDX-License-Identifier: MIT
// How many bytes are the weights? Sum over the tensors of rows x row(type, length), as the file stores them:
// per type, per block, by part, and for what belongs to no block. A tensor type that ggml does not have is an error,
// not a guess.
#pragma once

#include <kvcap/engine/llamacpp/types.hpp>
#include <kvcap/io/gguf/parts.hpp>

namespace kvcap::inline v1::gguf {

struct TypeWeight {
    llamacpp::Ggml type{};
    u64 tensors = 0;
    u64 elements = 0;
    u64 bytes = 0;
    friend bool operator==(const TypeWeight&, const TypeWeight&) = default;
};

/// blocks: bytes of the tensors of each block. input: the token embedding (llama.cpp keeps it on the CPU).
/// output: the rest. tied: no output matrix of its own. parts: the same tensors as ranks of other engines deal them.
struct Weights {
    bool tied = true;
    u64 bytes = 0;
    u64 elements = 0;
    u64 input = 0;
    u64 output = 0;
    std::vector<TypeWeight> types;
    std::vector<u64> blocks;
    kvcap::Weights parts{.source = WeightSource::gguf};
    friend bool operator==(const Weights&, const Weights&) = default;
};

inline Diagnosed<u64> bytes_of(const Tensor& tensor) {
    const llamacpp::GgmlType* type = llamacpp::ggml_type(u64{tensor.type});
    const std::string where = "tensor " + printable(tensor.name);
    if (type == nullptr) {
        return Problem{.trouble = Trouble::unknown,
                       .where = where,
                       .found = "type " + std::to_string(tensor.type),
                       .wanted = "a tensor type of ggml 0.25",
                       .hint = {}};
    }
    const Result<u64> row = type->format.row_bytes(tensor.shape[0]);
    if (!row) {
        return Problem{.trouble = Trouble::invalid, .where = where,
                       .found = "rows of " + std::to_string(tensor.shape[0]) + " elements of " + type->name,
                       .wanted = "a multiple of " + std::to_string(type->format.elems), .hint = {}};
    }
    const u64 rows = tensor.shape[0] == 0 ? 0 : elements_of(tensor) / tensor.shape[0];
    return saturating_product(rows, *row);
}

inline void add_type(std::vector<TypeWeight>& types, const Tensor& tensor, u64 bytes) {
    const auto type = static_cast<llamacpp::Ggml>(tensor.type);
    auto at = std::find_if(types.begin(), types.end(), [&](const TypeWeight& w) { return w.type == type; });
    if (at == types.end()) {
        at = types.insert(types.end(), TypeWeight{.type = type});
    }
    ++at->tensors;
    at->elements = saturating_sum(at->elements, elements_of(tensor));
    at->bytes = saturating_sum(at->bytes, bytes);
}

/// Adds the tensors of one shard; call once per shard of a split file. card: of the model
inline std::optional<Problem> add_weights(Weights& sum, const Header& header, const llamacpp::Card& card) {
    for (const Tensor& tensor : header.tensors) {
        const Diagnosed<u64> own = bytes_of(tensor);
        if (!own) {
            return own.error;
        }
        const std::optional<u64> block = block_of(tensor.name);
        sum.tied = sum.tied && tensor.name != "output.weight";
        if (block && *block >= most_weight_blocks) {
            return Problem{.trouble = Trouble::invalid, .where = "tensor " + printable(tensor.name),
                           .found = "a block beyond all models", .wanted = "below 4096", .hint = {}};
        }
        if (block && *block >= sum.blocks.size()) {
            sum.blocks.resize(*block + 1);
        }
        u64& place = block                                   ? sum.blocks[*block]
                     : tensor.name.starts_with("token_embd") ? sum.input
                                                             : sum.output;
        place = saturating_sum(place, *own);
        sum.bytes = saturating_sum(sum.bytes, *own);
        sum.elements = saturating_sum(sum.elements, elements_of(tensor));
        add_type(sum.types, tensor, *own);
        add_part(sum.parts, tensor, card, *own);
    }
    return std::nullopt;
}

}  // namespace kvcap::inline v1::gguf
