// SPDX-License-Identifier: MIT
// Which numbers may the value of a launch line's flag say?
#pragma once

#include <cstdlib>
#include <kvcap/io/diagnosis.hpp>
#include <kvcap/io/grouped.hpp>
#include <kvcap/io/launch/flags.hpp>
#include <kvcap/io/launch/harmless.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap::inline v1::io {

/// "on", "off" or "auto" for the words that llama.cpp takes for these; empty for others. Source: common/arg.cpp.
constexpr std::string_view llama_switch(std::string_view word) {
    constexpr std::string_view words[][2] = {{"on", "on"},   {"enabled", "on"},   {"true", "on"},   {"1", "on"},
                                             {"off", "off"}, {"disabled", "off"}, {"false", "off"}, {"0", "off"},
                                             {"auto", "auto"}, {"-1", "auto"}};
    for (const auto& [from, to] : words) {
        if (word == from) {
            return to;
        }
    }
    return {};
}

/// Older llama-servers took -fa as a switch.
inline std::string_view wanted_switch(std::string_view flag, bool may_be_auto) {
    const bool flash = flag == "-fa" || flag == "--flash-attn";
    return !may_be_auto ? "on or off"
           : flash      ? "on, off or auto (it takes a value since August 2025)"
                        : "on, off or auto";
}

/// Values as an engine's parser takes them. The last that it would not take is the problem.
class LaunchValues {
protected:
    explicit LaunchValues(const LaunchSyntax& syntax) : syntax_{syntax} {}

    const LaunchFlag* known(std::string_view name) const {
        const LaunchFlag* found = nullptr;
        for (std::size_t i = 0; i < syntax_.count; ++i) {
            found = syntax_.flags[i].name == name ? &syntax_.flags[i] : found;
        }
        return found != nullptr ? found : abbreviated(name);
    }

    /// The one flag that begins so, where the parser takes beginnings.
    const LaunchFlag* abbreviated(std::string_view name) const {
        if (!name.starts_with("--") || !may_abbreviate(syntax_.engine, name.substr(2))) {
            return nullptr;
        }
        const LaunchFlag* found = nullptr;
        for (std::size_t i = 0; i < syntax_.count; ++i) {
            const LaunchFlag& each = syntax_.flags[i];
            const bool kept_by_name = each.field >= LaunchField::count;
            if (each.name.starts_with(name) && found != nullptr && (found->field != each.field || kept_by_name)) {
                return nullptr;
            }
            found = each.name.starts_with(name) ? &each : found;
        }
        return found;
    }

    void refuse(const std::string& where, const std::string& found, std::string_view wanted) {
        problem_ = Problem{
            Trouble::invalid, where, found.empty() ? "nothing" : '"' + found + '"', std::string{wanted}, {}};
    }
    u64 whole(const std::string& flag, const std::string& value, u64 most = u64{1} << 40) {
        const LaunchFlag* own = known(flag);
        const Written written = own == nullptr ? Written::plain : own->written;
        const u64 number = launch_number(value, written).value_or(0);
        if (number == 0) {
            refuse(flag, value, "a whole number of at least 1" + std::string{written_words(written)});
        } else if (number > most) {
            refuse(flag, value, "at most " + grouped(most));
        }
        return problem_ ? 1 : number;
    }
    u32 ranks(const std::string& flag, const std::string& value) {
        return static_cast<u32>(whole(flag, value, 65536));
    }

    /// A share of memory, as it is written.
    std::string share(const std::string& flag, const std::string& value) {
        char* end = nullptr;
        const double read = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != '\0' || !(read > 0 && read <= 1)) {
            refuse(flag, value, "a share of memory, above 0 and at most 1");
        }
        return value;
    }

    /// vLLM's auto and -1 ask for the longest that fits, which `fit` finds and no line states.
    u64 length(const std::string& flag, const std::string& value) {
        if (value == "auto" || value == "-1") {
            refuse(flag, value, "a number of tokens; the longest that fits is what `kvcap fit` finds");
            return 1;
        }
        return whole(flag, value);
    }

    /// One of three words, as llama.cpp spells them.
    std::string switched(const std::string& flag, const std::string& value, bool may_be_auto) {
        const std::string_view word = llama_switch(value);
        if (word.empty() || (word == "auto" && !may_be_auto)) {
            refuse(flag, value, wanted_switch(flag, may_be_auto));
        }
        return std::string{word};
    }

    /// none: one device, whatever -ts says. row divides weights alone, which is not judged.
    std::string split_mode(const std::string& flag, const std::string& value) {
        if (value != "none" && value != "layer" && value != "tensor") {
            refuse(flag, value, "layer, tensor or none (row is not judged)");
        }
        return value;
    }

    const LaunchSyntax& syntax_;
    std::optional<Problem> problem_;
};

}  // namespace kvcap::inline v1::io
