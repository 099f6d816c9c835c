# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/header_folder.cmake)
kvcap_header_folder(fmt fmt fmt::fmt)
