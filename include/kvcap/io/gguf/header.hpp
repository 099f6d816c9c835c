// SPDX-License-Identifier: MIT
// What does the header of a GGUF file say? Keys with views of their values, and every tensor's name, type,
// shape and offset. Only the header is touched; memory grows with the number of keys and tensors, both
// limited. Every length is checked against the bytes that are there: a hostile file gives a Problem with its
// offset and key.
#pragma once

#include <algorithm>
#include <kvcap/io/gguf/cursor.hpp>

namespace kvcap::inline v1::gguf {

/// Bounds of this reader, far above real files (which have about 60 keys and 3,000 tensors).
inline constexpr u64 most_keys = 65'536;
inline constexpr u64 most_tensors = 262'144;
inline constexpr u64 longest_name = 65'535;
inline constexpr u32 most_dimensions = 4;

struct Entry {
    std::string_view key;
    Value value;
};

struct Tensor {
    std::string_view name;
    u32 type = 0;
    u32 dimensions = 0;
    u64 shape[most_dimensions] = {1, 1, 1, 1};
    u64 offset = 0;
};

/// Views into the bytes that were read, which must outlive it. end: offset of the first byte after the tensor
/// list.
struct Header {
    u32 version = 0;
    bool big_endian = false;
    u64 end = 0;
    std::vector<Entry> entries;  ///< sorted by key
    std::vector<Tensor> tensors;

    const Value* find(std::string_view key) const noexcept {
        const auto at =
            std::lower_bound(entries.begin(), entries.end(), key,
                             [](const Entry& entry, std::string_view k) { return entry.key < k; });
        return at != entries.end() && at->key == key ? &at->value : nullptr;
    }
};

inline Type read_type(Cursor& in) {
    const u64 start = in.offset();
    const u64 raw = in.number(4);
    if (raw >= type_count) {
        in.fail("value type " + std::to_string(raw), "a type from 0 to 12", start);
        return Type::u8_;
    }
    return static_cast<Type>(raw);
}

/// Elements of an array: skipped, not stored.
inline Value read_array(Cursor& in) {
    Value value{.array = true, .big_endian = in.big_endian()};
    const u64 start = in.offset();
    value.type = read_type(in);
    value.count = in.number(8);
    if (!in.failed() && value.type == Type::array_) {
        in.fail("an array of arrays", "an array of scalars or strings", start);
    }
    if (value.type == Type::string_) {
        value.data = in.take(0);
        for (u64 i = 0; i < value.count && !in.failed(); ++i) {
            static_cast<void>(in.text());
        }
    } else {
        value.data = in.take(saturating_product(value.count, width_of(value.type)));
    }
    return value;
}

inline Value read_value(Cursor& in) {
    const Type type = read_type(in);
    if (type == Type::array_) {
        return read_array(in);
    }
    Value value{.type = type, .big_endian = in.big_endian()};
    value.data = in.take(width_of(type));
    if (type == Type::string_) {
        static_cast<void>(in.text());
    }
    return value;
}

inline Tensor read_tensor(Cursor& in) {
    Tensor tensor{};
    in.set_key({});
    tensor.name = in.text(longest_name);
    in.set_key(tensor.name);
    const u64 start = in.offset();
    tensor.dimensions = static_cast<u32>(in.number(4));
    if (tensor.dimensions > most_dimensions) {
        in.fail(std::to_string(tensor.dimensions) + " dimensions", "at most 4", start);
        return tensor;
    }
    u64 elements = 1;
    for (u32 i = 0; i < tensor.dimensions; ++i) {
        tensor.shape[i] = in.number(8);
        elements = saturating_product(elements, tensor.shape[i]);
    }
    if (elements >= u64{1} << 63) {
        in.fail("a tensor of 2^63 elements or more", "a shape whose elements can be counted", start);
    }
    tensor.type = static_cast<u32>(in.number(4));
    tensor.offset = in.number(8);
    return tensor;
}

/// Magic and version, and with them the byte order: a big-endian file has the version's bytes the other way
/// round.
inline u32 read_version(Cursor& in) {
    const std::byte* magic = in.take(4);
    if (magic == nullptr || std::memcmp(magic, "GGUF", 4) != 0) {
        in.fail("no GGUF file", "the letters GGUF first", 0);
        return 0;
    }
    const std::byte* raw = in.take(4);
    if (raw == nullptr) {
        return 0;
    }
    u64 version = load(raw, 4, false);
    if (version != 0 && (version & 0xffff) == 0) {
        in.set_big_endian(true);
        version = load(raw, 4, true);
    }
    if (version != 2 && version != 3) {
        in.fail("GGUF version " + std::to_string(version), "version 2 or 3", 4);
    }
    return static_cast<u32>(version);
}

inline u64 read_count(Cursor& in, u64 most, const char* what) {
    const u64 start = in.offset();
    const u64 count = in.number(8);
    if (count > most) {
        in.fail(std::to_string(count) + " " + what, "at most " + std::to_string(most), start);
        return 0;
    }
    return count;
}

/// A name that occurs twice in `sorted` (anything with a view `name(item)`), if any.
template <class Items, class Name>
std::optional<std::string_view> twice(const Items& sorted, Name name) {
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        if (name(sorted[i - 1]) == name(sorted[i])) {
            return name(sorted[i]);
        }
    }
    return std::nullopt;
}

inline std::optional<std::string_view> name_twice(const std::vector<Tensor>& tensors) {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        names.push_back(tensor.name);
    }
    std::sort(names.begin(), names.end());
    return twice(names, [](std::string_view name) { return name; });
}

inline void refuse_doubles(Cursor& in, const Header& header) {
    in.set_key({});
    if (const auto key = twice(header.entries, [](const Entry& e) { return e.key; })) {
        in.fail("key " + printable(*key) + " occurs twice", "each key once", 24);
    } else if (const auto name = name_twice(header.tensors)) {
        in.fail("tensor " + printable(*name) + " occurs twice", "each tensor once", 24);
    }
}

/// Reads a header from the bytes of a file (or of its beginning). Errors name the offset and the key.
inline Diagnosed<Header> read_header(std::span<const std::byte> bytes) {
    Cursor in{bytes};
    Header header;
    header.version = read_version(in);
    header.big_endian = in.big_endian();
    const u64 tensors = read_count(in, most_tensors, "tensors");
    const u64 keys = read_count(in, most_keys, "keys");
    for (u64 i = 0; i < keys && !in.failed(); ++i) {
        in.set_key({});
        const std::string_view key = in.text(longest_name);
        in.set_key(key);
        header.entries.push_back({key, read_value(in)});
    }
    for (u64 i = 0; i < tensors && !in.failed(); ++i) {
        header.tensors.push_back(read_tensor(in));
    }
    header.end = in.offset();
    std::sort(header.entries.begin(), header.entries.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    refuse_doubles(in, header);
    if (in.failed()) {
        return *in.problem();
    }
    return header;
}

}  // namespace kvcap::inline v1::gguf
