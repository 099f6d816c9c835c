# SPDX-License-Identifier: MIT
# A relocatable package: find_package(kvcap) gives the core alone; COMPONENTS io report add their dependency.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(kvcap_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/kvcap)
foreach(kvcap_part kvcap kvcap_io kvcap_report)
    if(TARGET ${kvcap_part})
        install(TARGETS ${kvcap_part} EXPORT ${kvcap_part}-targets FILE_SET HEADERS)
        install(EXPORT ${kvcap_part}-targets NAMESPACE kvcap:: DESTINATION ${kvcap_package_dir})
    endif()
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kvcap-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/kvcap-config.cmake INSTALL_DESTINATION ${kvcap_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/kvcap-config-version.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvcap-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/kvcap-config-version.cmake
    DESTINATION ${kvcap_package_dir})
# The way back to the prefix, so that the package may be moved.
file(RELATIVE_PATH kvcap_pc_up /prefix/${CMAKE_INSTALL_DATADIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" kvcap_pc_up "${kvcap_pc_up}")
set(kvcap_pc_include "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(kvcap_pc_include ${CMAKE_INSTALL_INCLUDEDIR})
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/kvcap.pc.in ${CMAKE_CURRENT_BINARY_DIR}/kvcap.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvcap.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/kvcap)
if(TARGET kvcap-cli-static)
    install(TARGETS kvcap-cli-static RUNTIME)
endif()

# The core in one file, for who copies headers: `cmake --build build --target kvcap-single-header` writes it to the build
# folder, KVCAP_SINGLE_HEADER installs it too.
option(KVCAP_SINGLE_HEADER "Install the core as one header, kvcap_core.hpp, as well" OFF)
set(kvcap_single ${CMAKE_CURRENT_BINARY_DIR}/single/kvcap_core.hpp)
add_custom_command(OUTPUT ${kvcap_single}
    COMMAND ${CMAKE_COMMAND} -D INCLUDE=${PROJECT_SOURCE_DIR}/include -D DOOR=kvcap/core.hpp -D OUT=${kvcap_single}
        -P ${CMAKE_CURRENT_LIST_DIR}/single_header.cmake
    DEPENDS ${kvcap_plain} ${CMAKE_CURRENT_LIST_DIR}/single_header.cmake
    COMMENT "Writing kvcap_core.hpp" VERBATIM)
if(KVCAP_SINGLE_HEADER)
    add_custom_target(kvcap-single-header ALL DEPENDS ${kvcap_single})
    install(FILES ${kvcap_single} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
else()
    add_custom_target(kvcap-single-header DEPENDS ${kvcap_single})
endif()
