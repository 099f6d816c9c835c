// SPDX-License-Identifier: MIT
// Just enough of Catch2 for mutation testing: a property test compiles in a fraction of the time, and the first failure
// ends the program.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace mutation {

struct Test {
    const char* name;
    void (*run)();
    Test* next;
};

inline Test* first = nullptr;

struct Registered {
    Test test;
    Registered(const char* name, void (*run)()) : test{name, run, first} { first = &test; }
};

inline void expect(bool holds, const char* what) {
    if (!holds) {
        std::printf("failed: %s\n", what);
        std::exit(1);
    }
}

}  // namespace mutation

#define MUTATION_JOIN_(a, b) a##b
#define MUTATION_JOIN(a, b) MUTATION_JOIN_(a, b)
#define MUTATION_TEST(id, name)                                                     \
    static void MUTATION_JOIN(test_, id)();                                         \
    static mutation::Registered MUTATION_JOIN(registered_, id){name, &MUTATION_JOIN(test_, id)}; \
    static void MUTATION_JOIN(test_, id)()
#define MUTATION_FIRST(first, ...) first
#define TEST_CASE(...) MUTATION_TEST(__COUNTER__, MUTATION_FIRST(__VA_ARGS__, ))
#define REQUIRE(...) mutation::expect(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#define CHECK(...) REQUIRE(__VA_ARGS__)
#define REQUIRE_FALSE(...) mutation::expect(!static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
#define CHECK_FALSE(...) REQUIRE_FALSE(__VA_ARGS__)
#define INFO(...) static_cast<void>(0)
#define WARN(...) static_cast<void>(0)
#define CAPTURE(...) static_cast<void>(0)
