// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

int main() {
    for (const mutation::Test* test = mutation::first; test != nullptr; test = test->next) {
        test->run();
    }
}
