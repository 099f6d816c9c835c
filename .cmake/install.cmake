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
configure_file(${CMAKE_CURRENT_LIST_DIR}/kvcap.pc.in ${CMAKE_CURRENT_BINARY_DIR}/kvcap.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvcap.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/kvcap)
if(TARGET kvcap-cli)
    install(TARGETS kvcap-cli)
endif()
