// SPDX-License-Identifier: MIT
// Writes GGUF files without tensor data from JSON metadata: whole numbers as u32 (i32 when negative, u64 when
// larger), fractions as f32, lists of one type. So golden metadata takes the same way into the library as a
// file does.
#pragma once

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace golden {

struct TensorInfo {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::uint32_t type = 0;
};

class GgufWriter {
public:
    explicit GgufWriter(bool big_endian = false, std::uint32_t version = 3)
        : big_{big_endian}, version_{version} {}

    void add(std::string_view key, const nlohmann::json& value) {
        text(keys_, key);
        if (value.is_array()) {
            number(keys_, 9, 4);
            const std::uint32_t type = value.empty() ? 4 : list_type(key, value);
            number(keys_, type, 4);
            number(keys_, value.size(), 8);
            for (const auto& item : value) {
                scalar(keys_, item, type);
            }
        } else {
            const std::uint32_t type = type_of(value);
            number(keys_, type, 4);
            scalar(keys_, value, type);
        }
        ++key_count_;
    }
    void add_all(const nlohmann::json& metadata) {
        for (const auto& [key, value] : metadata.items()) {
            add(key, value);
        }
    }
    void add(const TensorInfo& tensor, std::uint64_t bytes = 0) {
        text(tensors_, tensor.name);
        number(tensors_, tensor.shape.size(), 4);
        for (const std::uint64_t size : tensor.shape) {
            number(tensors_, size, 8);
        }
        number(tensors_, tensor.type, 4);
        number(tensors_, offset_, 8);
        offset_ += (bytes + 31) / 32 * 32;
        ++tensor_count_;
    }

    std::string bytes() const {
        std::string file = "GGUF";
        number(file, version_, 4);
        number(file, tensor_count_, 8);
        number(file, key_count_, 8);
        file += keys_ + tensors_;
        file.resize((file.size() + 31) / 32 * 32);
        return file;
    }

private:
    void number(std::string& to, std::uint64_t value, unsigned size) const {
        for (unsigned i = 0; i < size; ++i) {
            const unsigned shift = 8 * (big_ ? size - 1 - i : i);
            to += static_cast<char>(value >> shift & 0xff);
        }
    }
    void text(std::string& to, std::string_view value) const {
        number(to, value.size(), 8);
        to += value;
    }
    static std::uint32_t type_of(const nlohmann::json& value) {
        if (value.is_boolean()) {
            return 7;
        }
        if (value.is_string()) {
            return 8;
        }
        if (value.is_number_float()) {
            return 6;
        }
        if (!value.is_number_integer()) {
            throw std::runtime_error("metadata that is a scalar or a list, not " + value.dump());
        }
        if (value.is_number_unsigned()) {
            return value.get<std::uint64_t>() > 0xffff'ffff ? 10 : 4;
        }
        return value.get<std::int64_t>() < 0 ? 5 : 4;
    }
    static std::uint32_t list_type(std::string_view key, const nlohmann::json& list) {
        std::uint32_t type = type_of(list[0]);
        for (const auto& item : list) {
            const std::uint32_t own = type_of(item);
            type = type == 4 && (own == 5 || own == 10) ? own : type;
        }
        return key.find(".ple.") != std::string_view::npos && type == 4 && list.size() > 1 ? 10 : type;
    }
    void scalar(std::string& to, const nlohmann::json& value, std::uint32_t type) const {
        switch (type) {
            case 7: return number(to, value.get<bool>() ? 1 : 0, 1);
            case 8: return text(to, value.get<std::string>());
            case 6: return number(to, std::bit_cast<std::uint32_t>(value.get<float>()), 4);
            case 10: return number(to, value.get<std::uint64_t>(), 8);
            default: return number(to, static_cast<std::uint32_t>(value.get<std::int64_t>()), 4);
        }
    }

    bool big_;
    std::uint32_t version_;
    std::string keys_;
    std::string tensors_;
    std::uint64_t key_count_ = 0;
    std::uint64_t tensor_count_ = 0;
    std::uint64_t offset_ = 0;
};

}  // namespace golden
