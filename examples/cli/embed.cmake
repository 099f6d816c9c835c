# SPDX-License-Identifier: MIT
# Writes OUT, a C++ source with every card of CONFIGS/models and the GPU catalogue as text. Only names are looked at.
file(GLOB_RECURSE cards ${CONFIGS}/models/*.json)
list(SORT cards)
set(rows "")
foreach(card IN LISTS cards)
    file(READ ${card} text)
    get_filename_component(name ${card} NAME_WLE)
    get_filename_component(family ${card} DIRECTORY)
    get_filename_component(family ${family} NAME)
    set(hf_id "")
    string(JSON hf_id ERROR_VARIABLE none GET "${text}" hf_id)
    if(none)
        set(hf_id "")
    endif()
    string(APPEND rows "    {\"${name}\", \"${hf_id}\", \"${family}\",\n     R\"card(${text})card\"},\n")
endforeach()
file(READ ${CONFIGS}/gpus.json gpus)
file(WRITE ${OUT} "// Written by embed.cmake from configs/.
#include \"cards.hpp\"

namespace kvcap::cli {
namespace {
constexpr Card rows[] = {
${rows}};
}  // namespace

CardList cards() noexcept {
    return {rows, sizeof rows / sizeof rows[0]};
}

std::string_view gpu_catalogue() noexcept {
    return R\"card(${gpus})card\";
}
}  // namespace kvcap::cli
")
