# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/header_folder.cmake)
kvcap_header_folder(CLI11 CLI CLI11::CLI11)
