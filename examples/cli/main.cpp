// SPDX-License-Identifier: MIT
// kvcap: how many bytes a KV cache takes, what fits, and how far a prompt can be skipped. One file per verb.
#include "program.hpp"

int main(int count, char** arguments) {
    return kvcap::cli::run({arguments + (count > 0 ? 1 : 0), arguments + count});
}
