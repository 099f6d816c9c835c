# SPDX-License-Identifier: MIT
# Debian's header-only packages for a compiler whose own headers must not see /usr/include: a folder with one link to
# the package's headers, and an imported target.
function(kvcap_header_folder package folder target)
    find_path(${package}_HEADERS ${folder} PATHS /usr/include /usr/local/include
        NO_CMAKE_FIND_ROOT_PATH NO_DEFAULT_PATH)
    if(NOT ${package}_HEADERS)
        set(${package}_FOUND FALSE PARENT_SCOPE)
        return()
    endif()
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
    file(CREATE_LINK ${${package}_HEADERS}/${folder} ${CMAKE_BINARY_DIR}/headers/${folder} SYMBOLIC)
    if(NOT TARGET ${target})
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        target_include_directories(${target} SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/headers)
    endif()
    set(${package}_FOUND TRUE PARENT_SCOPE)
endfunction()
