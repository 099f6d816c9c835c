// SPDX-License-Identifier: MIT
// How are the bytes of a large file seen without reading it? It is mapped: only pages that are looked at are
// loaded, so the header of a 100 GB model costs its own few megabytes at most.
#pragma once

#include <cstddef>
#include <fcntl.h>
#include <kvcap/io/diagnosis.hpp>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kvcap::inline v1::gguf {

/// A read-only mapping of a whole file. Empty files map to no bytes.
class MappedFile {
public:
    MappedFile() = default;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    MappedFile(MappedFile&& other) noexcept
        : data_{std::exchange(other.data_, nullptr)}, size_{other.size_} {}
    MappedFile& operator=(MappedFile&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~MappedFile() {
        if (data_ != nullptr) {
            ::munmap(data_, size_);
        }
    }

    static Diagnosed<MappedFile> open(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat about{};
        if (file < 0 || ::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
            if (file >= 0) {
                ::close(file);
            }
            return Problem{.trouble = Trouble::unreadable, .where = path,
                           .found = file < 0 ? "cannot be opened" : "is no regular file",
                           .wanted = "a readable file", .hint = {}};
        }
        MappedFile mapped;
        mapped.size_ = static_cast<std::size_t>(about.st_size);
        void* at =
            mapped.size_ == 0 ? nullptr : ::mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file, 0);
        ::close(file);
        if (at == MAP_FAILED) {
            return Problem{.trouble = Trouble::unreadable, .where = path, .found = "cannot be mapped",
                           .wanted = "a file that can be mapped into memory", .hint = {}};
        }
        mapped.data_ = at;
        return Diagnosed<MappedFile>{std::move(mapped)};
    }

    std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(data_), data_ == nullptr ? 0 : size_};
    }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace kvcap::inline v1::gguf
