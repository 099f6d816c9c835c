// SPDX-License-Identifier: MIT
// How is a GGUF file on disk read? Mapped, its header only; a model in several files is given by its first
// one, and the others (NAME-00002-of-00005.gguf) are looked for beside it to sum the weights.
#pragma once

#include <kvcap/io/gguf/map.hpp>
#include <kvcap/io/gguf/model.hpp>

namespace kvcap::inline v1::gguf {

struct Shard {
    u32 number = 0;  ///< from 0
    u32 count = 1;
};

/// A scalar whole number; `off_scale` when the key is missing or holds something else.
inline u64 scalar_at(const Header& header, std::string_view key) {
    const Value* value = header.find(key);
    return value == nullptr || value->array ? off_scale : value->integer().value_or(off_scale);
}

inline Diagnosed<Shard> shard_of(const Header& header) {
    if (header.find("split.count") == nullptr) {
        return Shard{};
    }
    const u64 count = larger(scalar_at(header, "split.count"), 1);
    const u64 number = scalar_at(header, "split.no");
    if (count > 0xffff || number >= count) {
        return Problem{.trouble = Trouble::invalid,
                       .where = "split.count",
                       .found = "numbers that do not fit",
                       .wanted = "split.no below split.count",
                       .hint = {}};
    }
    return Shard{.number = static_cast<u32>(number), .count = static_cast<u32>(count)};
}

/// "-00002-of-00005.gguf"
inline std::string shard_ending(u32 number, u32 count) {
    const auto five = [](u32 value) {
        const std::string digits = std::to_string(value);
        return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
    };
    return "-" + five(number + 1) + "-of-" + five(count) + ".gguf";
}

/// Adds the weights of the other shards; what is missing is noted, and the sum is then marked incomplete.
inline std::optional<Problem> add_shards(const std::string& first, u32 count, Diagnosed<GgufModel>& read) {
    const std::string ending = shard_ending(0, count);
    const std::string stem =
        first.ends_with(ending) ? first.substr(0, first.size() - ending.size()) : std::string{};
    read->shards = count;
    for (u32 i = 1; i < count; ++i) {
        const std::string path = stem + shard_ending(i, count);
        const Diagnosed<MappedFile> file = MappedFile::open(path);
        if (stem.empty() || !file) {
            read->complete = false;
            read.notes.push_back({Origin::assumed, "split.count", "part " + std::to_string(i + 1) + " of " +
                                  std::to_string(count) + " was not found; its weights are not counted"});
            continue;
        }
        const Diagnosed<Header> header = read_header(file->bytes());
        if (!header) {
            return io::in_file(path, *header.error);
        }
        if (auto problem = add_weights(read->weights, *header, read->card)) {
            return io::in_file(path, *std::move(problem));
        }
    }
    return std::nullopt;
}

/// Whether the bytes end before the last tensor does.
inline bool ends_early(const Header& header, u64 size) {
    u64 last = 0;
    for (const Tensor& tensor : header.tensors) {
        last = larger(last, saturating_sum(tensor.offset, bytes_of(tensor).value.value_or(0)));
    }
    return last > 0 && saturating_sum(header.end, last) > size;
}

/// Reads a model from a GGUF file, given its first (or only) part.
inline Diagnosed<GgufModel> read_file(const std::string& path) {
    const Diagnosed<MappedFile> file = MappedFile::open(path);
    if (!file) {
        return *file.error;
    }
    const Diagnosed<Header> header = read_header(file->bytes());
    if (!header) {
        return io::in_file(path, *header.error);
    }
    const Diagnosed<Shard> shard = shard_of(*header);
    if (!shard) {
        return io::in_file(path, *shard.error);
    }
    if (shard->number != 0) {
        return Problem{
            .trouble = Trouble::invalid,
            .where = path,
            .found = "part " + std::to_string(shard->number + 1) + " of " + std::to_string(shard->count),
            .wanted = "the first part, which has the metadata",
            .hint = {}};
    }
    Diagnosed<GgufModel> read = read_model(*header);
    if (!read) {
        return io::in_file(path, *read.error);
    }
    read->truncated = ends_early(*header, file->bytes().size());
    if (auto problem = add_shards(path, shard->count, read)) {
        return *problem;
    }
    return read;
}

}  // namespace kvcap::inline v1::gguf
