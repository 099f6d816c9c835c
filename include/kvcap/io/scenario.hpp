// SPDX-License-Identifier: MIT
// How is a reuse question written down? A JSON object: the prompt's length and, for each group of caches, its
// rule, its page size and which pages are held (a string of 0 and 1, or page numbers and [first, end)
// ranges). docs/explain/reuse.md.
#pragma once

#include <kvcap/io/json_load.hpp>
#include <kvcap/io/nearest.hpp>
#include <kvcap/io/scenario_view.hpp>

namespace kvcap::inline v1 {

namespace io {

inline constexpr u64 most_scenario_pages = u64{1} << 24;
/// The search may step from boundary to boundary; with chunks that never agree, 2^32 of them take half a second.
inline constexpr u64 most_scenario_tokens = u64{1} << 32;

/// Pages [first, end). Both fit: a group has at most 2^24 pages.
struct PageSpan {
    u32 first = 0;
    u32 end = 0;
};
static_assert(most_scenario_pages < u64{1} << 32);

/// Each page once, however the spans overlap: the time is that of sorting them and of the words.
inline void set_spans(std::vector<u64>& bits, std::vector<PageSpan>& spans) {
    const auto earlier = [](const PageSpan& a, const PageSpan& b) { return a.first < b.first; };
    if (!std::is_sorted(spans.begin(), spans.end(), earlier)) {
        std::sort(spans.begin(), spans.end(), earlier);
    }
    u64 done = 0;
    for (const PageSpan& span : spans) {
        for (u64 page = larger(done, span.first); page < span.end;) {
            const u64 count = smaller(64 - page % 64, span.end - page);
            bits[page / 64] |= (~u64{0} >> (64 - count)) << (page % 64);
            page += count;
        }
        done = larger(done, span.end);
    }
}

class ScenarioReader {
public:
    Diagnosed<ReuseScenario> read(const JsonValue& root) {
        known(root, "", {"prompt_tokens", "limit_tokens", "unit_tokens", "tail_tokens", "groups", "comment"});
        Ask& ask = scenario_.ask;
        ask.prompt = whole(root["prompt_tokens"], "/prompt_tokens", 1, most_scenario_tokens);
        ask.limit = or_else(root["limit_tokens"], "/limit_tokens", 0, ask.prompt, ask.prompt == 0 ? 0 : ask.prompt - 1);
        const JsonValue groups = root["groups"];
        if (!groups.is_array() || groups.size() == 0) {
            fail("/groups", groups.shown(), "a list of groups");
        }
        if (groups.size() > most_groups) {
            fail("/groups", std::to_string(groups.size()) + " groups", "at most " + std::to_string(most_groups));
        }
        if (problem_) {
            return *problem_;
        }
        groups.each([&](u32 i, std::string_view, const JsonValue& one) {
            read_group(one, "/groups/" + std::to_string(i));
        });
        if (problem_) {
            return *problem_;
        }
        const ScenarioView view{scenario_};
        const u64 unit = common_unit(view.groups.data(), view.count());
        if (unit == off_scale && !root["unit_tokens"].given()) {
            fail("/unit_tokens", "nothing", "it: the least common multiple of the groups' pages is beyond 64 bits");
        }
        ask.grid.unit = or_else(root["unit_tokens"], "/unit_tokens", 1, u64{1} << 40, unit);
        ask.grid.tail = or_else(root["tail_tokens"], "/tail_tokens", 1, ask.prompt, off_scale);
        if (problem_) {
            return *problem_;
        }
        Diagnosed<ReuseScenario> read{std::move(scenario_)};
        if (!root["unit_tokens"].given()) {
            read.notes.push_back({Origin::derived, "/unit_tokens",
                                  "boundaries on multiples of " + std::to_string(unit) + " tokens (all pages whole)"});
        }
        return read;
    }

private:
    void fail(const std::string& where, const std::string& found, const std::string& wanted,
              const std::string& hint = {}) {
        if (!problem_) {
            problem_ = Problem{Trouble::invalid, where, found, wanted, hint};
        }
    }
    void known(const JsonValue& object, const std::string& where, const std::vector<std::string>& keys) {
        if (!object.is_object()) {
            return fail(where, object.shown(), "an object");
        }
        object.each([&](u32, std::string_view key, const JsonValue&) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
                const std::string near = nearest(key, keys);
                fail(where + "/" + std::string{key}, "a key that means nothing here", "a documented key",
                     near.empty() ? "" : "did you mean " + near + "?");
            }
        });
    }
    u64 whole(const JsonValue& value, const std::string& where, u64 least, u64 most) {
        if (!value.is_whole() || value.whole() < least || value.whole() > most) {
            fail(where, value.shown(), "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
            return least;
        }
        return value.whole();
    }
    u64 or_else(const JsonValue& value, const std::string& where, u64 least, u64 most, u64 otherwise) {
        return value.given() ? whole(value, where, least, most) : otherwise;
    }

    void read_group(const JsonValue& one, const std::string& where) {
        known(one, where,
              {"name", "needs", "page_tokens", "window_tokens", "window_edge", "sink_tokens", "chunk_tokens",
               "stride_tokens", "lag_tokens", "bytes_per_page", "pages", "present", "held", "ranks", "replicated",
               "elsewhere", "shared_with", "comment"});
        const auto earlier = [&](const std::string& name) {
            return std::find_if(scenario_.groups.begin(), scenario_.groups.end(),
                                [&](const ScenarioGroup& group) { return group.name == name; });
        };
        ScenarioGroup group;
        if (one["name"].given() && !one["name"].is_text()) {
            fail(where + "/name", one["name"].shown(), "text");
        }
        const std::string unsaid = "group " + std::to_string(scenario_.groups.size() + 1);
        group.name = one["name"].given() ? std::string{one["name"].text()} : unsaid;
        if (earlier(group.name) != scenario_.groups.end()) {
            fail(where + "/name", '"' + group.name + '"', "a name that no earlier group has");
        }
        if (one["shared_with"].given()) {
            group.follows = std::string{one["shared_with"].text()};
            const auto other = earlier(group.follows);
            if (other == scenario_.groups.end() || !other->follows.empty()) {
                fail(where + "/shared_with", one["shared_with"].shown(), "the name of an earlier group with pages");
            }
            one.each([&](u32, std::string_view key, const JsonValue& value) {
                if (value.given() && key != "name" && key != "shared_with" && key != "comment") {
                    fail(where + '/' + std::string{key}, value.shown(),
                         "nothing but a name beside shared_with: the other group's pages and rule hold");
                }
            });
        } else if (!problem_) {
            read_rule(one, where, group.rule);
            read_pages(one, where, group);
        }
        scenario_.groups.push_back(std::move(group));
    }

    void read_rule(const JsonValue& one, const std::string& where, Rule& rule) {
        constexpr u64 most = u64{1} << 40;
        const std::string_view needs = one["needs"].text();
        rule.page = or_else(one["page_tokens"], where + "/page_tokens", 1, most, 16);
        rule.needs = needs == "everything" ? Needs::everything : needs == "window" ? Needs::window
                     : needs == "chunk" ? Needs::chunk : needs == "snapshot" ? Needs::snapshot : Needs::whole;
        if (rule.needs == Needs::whole && needs != "whole") {
            const std::vector<std::string> words{"everything", "window", "chunk", "snapshot", "whole"};
            const std::string near = nearest(needs, words);
            fail(where + "/needs", one["needs"].shown(), "everything, window, chunk, snapshot or whole",
                 near.empty() ? "" : "did you mean " + near + "?");
        }
        only_of(one, where, needs);
        if (rule.needs == Needs::window) {
            const std::string_view edge = one["window_edge"].text();
            if (one["window_edge"].given() && edge != "past" && edge != "full") {
                fail(where + "/window_edge", one["window_edge"].shown(),
                     "past (window - 1 earlier tokens) or full (window)");
            }
            rule.reach = reach_of(whole(one["window_tokens"], where + "/window_tokens", 1, most),
                                  edge == "full" ? WindowEdge::full : WindowEdge::past);
            rule.sinks = or_else(one["sink_tokens"], where + "/sink_tokens", 0, most, 0);
        } else if (rule.needs == Needs::chunk) {
            rule.reach = whole(one["chunk_tokens"], where + "/chunk_tokens", 1, most);
        } else if (rule.needs == Needs::everything) {
            rule.stride = or_else(one["stride_tokens"], where + "/stride_tokens", 1, most, 1);
            rule.lag = or_else(one["lag_tokens"], where + "/lag_tokens", 0, most, 0);
        }
    }

    /// Keys that another word of `needs` would read.
    void only_of(const JsonValue& one, const std::string& where, std::string_view needs) {
        constexpr std::pair<const char*, std::string_view> owners[] = {
            {"window_tokens", "window"},     {"window_edge", "window"},   {"sink_tokens", "window"},
            {"chunk_tokens", "chunk"},       {"stride_tokens", "everything"}, {"lag_tokens", "everything"},
        };
        for (const auto& [key, owner] : owners) {
            if (one[key].given() && needs != owner) {
                fail(where + "/" + key, one[key].shown(),
                     "a group that needs \"" + std::string{owner} + "\"; this one needs \"" + std::string{needs} + '"');
            }
        }
    }

    void read_pages(const JsonValue& one, const std::string& where, ScenarioGroup& group) {
        const u64 pages = ceil_div(scenario_.ask.prompt, group.rule.page);
        group.pages = or_else(one["pages"], where + "/pages", 0, most_scenario_pages, pages);
        if (group.pages > most_scenario_pages) {
            return fail(where, std::to_string(group.pages) + " pages",
                        "at most " + std::to_string(most_scenario_pages));
        }
        if (saturating_product(group.pages, group.rule.page) >> 62 != 0) {
            fail(where + "/pages", "pages that end beyond token 2^62", "fewer or smaller pages");
        }
        group.bytes = or_else(one["bytes_per_page"], where + "/bytes_per_page", 0, u64{1} << 34, 0);
        group.replicated = one["replicated"].is_true();
        if (one["replicated"].given() && !one["replicated"].is_true() && !one["replicated"].is_false()) {
            fail(where + "/replicated", one["replicated"].shown(), "true or false");
        }
        if (!one["ranks"].given()) {
            group.ranks.push_back(words(one, where, group.pages));
        } else if (!one["ranks"].is_array() || one["ranks"].size() == 0 || one["present"].given() ||
                   one["held"].given()) {
            fail(where + "/ranks", one["ranks"].shown(), "a list of what each rank holds, instead of present or held");
        } else {
            one["ranks"].each([&](u32 r, std::string_view, const JsonValue& rank) {
                const std::string place = where + "/ranks/" + std::to_string(r);
                known(rank, place, {"present", "held"});
                group.ranks.push_back(words(rank, place, group.pages));
            });
        }
        if (one["elsewhere"].given()) {
            group.elsewhere = ranges(one["elsewhere"], where + "/elsewhere", group.pages);
        }
    }

    std::vector<u64> words(const JsonValue& one, const std::string& where, u64 pages) {
        const JsonValue present = one["present"];
        if (present.given() == one["held"].given()) {
            fail(where, present.given() ? "both present and held" : "neither present nor held",
                 "one of them");
        }
        if (!present.given()) {
            return ranges(one["held"], where + "/held", pages);
        }
        std::vector<u64> bits(pages / 64 + 1, 0);
        const std::string_view text = present.text();
        if (!present.is_text() || text.size() > pages) {
            fail(where + "/present", present.shown(), "a string of at most " + std::to_string(pages) + " times 0 or 1");
            return bits;
        }
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '0' && text[i] != '1') {
                fail(where + "/present", "'" + std::string(1, text[i]) + "' at page " + std::to_string(i),
                     "0 or 1");
            }
            bits[i / 64] |= u64{text[i] == '1' ? 1u : 0u} << (i % 64);
        }
        return bits;
    }

    /// A page or a bound; its place is written only where it is wrong.
    u64 bound(const JsonValue& value, u64 least, u64 most, const auto& place) {
        return value.is_whole() && value.whole() >= least && value.whole() <= most
                   ? value.whole()
                   : whole(value, place(), least, most);
    }

    std::vector<u64> ranges(const JsonValue& list, const std::string& where, u64 pages) {
        std::vector<u64> bits(pages / 64 + 1, 0);
        std::vector<PageSpan> spans;
        if (!list.is_array()) {
            fail(where, list.shown(), "a list of pages and [first, end) ranges");
        }
        list.each([&](u32 i, std::string_view, const JsonValue& item) {
            const auto place = [&] { return where + "/" + std::to_string(i); };
            if (!item.is_array() || item.size() != 2) {
                const u64 page = pages == 0 ? 0 : bound(item, 0, pages - 1, place);
                bits[page / 64] |= u64{pages == 0 ? 0u : 1u} << (page % 64);
                return;
            }
            u64 ends[2]{};
            item.each([&](u32 k, std::string_view, const JsonValue& end) {
                ends[k] = bound(end, k == 0 ? 0 : ends[0], pages, [&] { return place() + "/" + std::to_string(k); });
            });
            spans.push_back({static_cast<u32>(ends[0]), static_cast<u32>(ends[1])});
        });
        set_spans(bits, spans);
        return bits;
    }

    ReuseScenario scenario_{};
    std::optional<Problem> problem_{};
};

}  // namespace io

/// Pages may be listed one by one: more values than a model's configuration has.
inline constexpr JsonLimits scenario_limits{.values = u32{1} << 21};

inline Diagnosed<ReuseScenario> read_scenario(const JsonDocument& document) {
    return io::ScenarioReader{}.read(root_of(document));
}

inline Diagnosed<ReuseScenario> read_scenario(std::string_view text) {
    const Diagnosed<JsonDocument> document = load_json(text, scenario_limits);
    return document ? read_scenario(*document) : Diagnosed<ReuseScenario>{*document.error};
}

}  // namespace kvcap::inline v1
