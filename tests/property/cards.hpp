// SPDX-License-Identifier: MIT
// Every model card, read once.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <kvcap/io/locate.hpp>
#include <string>
#include <vector>

namespace property {

struct Card {
    std::string name;
    std::string path;
    kvcap::ReadModel read;
};

inline const std::vector<Card>& cards() {
    static const std::vector<Card> all = [] {
        std::vector<Card> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(KVCAP_SOURCE_DIR "/configs/models")) {
            if (entry.path().extension() == ".json") {
                const auto read = kvcap::read_model(entry.path().string());
                INFO(entry.path().string());
                REQUIRE(read);
                found.push_back({entry.path().stem().string(), entry.path().string(), *read});
            }
        }
        REQUIRE(found.size() > 100);
        return found;
    }();
    return all;
}

}  // namespace property
