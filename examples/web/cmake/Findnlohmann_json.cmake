# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/header_folder.cmake)
kvcap_header_folder(nlohmann_json nlohmann nlohmann_json::nlohmann_json)
