# SPDX-License-Identifier: MIT
"""kvcap for Conan 2: `conan create .conan`. The library is headers; its readers and reports need nlohmann_json and fmt,
from Conan (-o "kvcap/*:io=True"), or from the system with [platform_requires] in the profile."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class KvcapRecipe(ConanFile):
    name = "kvcap"
    description = "Exact KV-cache capacity and prefix reuse"
    license = "MIT"
    topics = ("kv-cache", "llm", "inference", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"io": [True, False], "report": [True, False]}
    default_options = {"io": False, "report": False}
    no_copy_source = True

    def _root(self):
        return os.path.join(self.recipe_folder, "..")

    def set_version(self):
        header = load(self, os.path.join(self._root(), "include", "kvcap", "version.hpp"))
        self.version = re.search(r'KVCAP_VERSION "(.+)"', header).group(1)

    def export(self):
        copy(self, "version.hpp", os.path.join(self._root(), "include", "kvcap"), self.export_folder)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", ".cmake/*"):
            copy(self, pattern, self._root(), self.export_sources_folder)

    def _reads(self):
        return bool(self.options.io) or bool(self.options.report)

    def requirements(self):
        if self._reads():
            self.requires("nlohmann_json/[>=3.11 <4]")
        if self.options.report:
            self.requires("fmt/[>=9.1 <12]")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("TESTS", "EXAMPLES"):
            toolchain.cache_variables["KVCAP_" + option] = False
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json"] = not self._reads()
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_fmt"] = not bool(self.options.report)
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_id(self):
        self.info.settings.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own kvcap-config.cmake is the one
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "kvcap")]
        self.cpp_info.set_property("pkg_config_name", "kvcap")
