// SPDX-License-Identifier: MIT
// What does an SGLang server hold after requests have run, one after the other? Its trees with the pools
// around them: match, evict what is short, prefill in chunks, decode, release what slid out of the window,
// store. A door of its own, since it needs containers. Sources (8905cbd): mem_cache/common.py
// evict_from_tree_cache, allocation.py alloc_for_extend, alloc_req_slots; unified_radix_cache.py
// cache_(un)finished_req; schedule_batch.py maybe_evict_swa.
#pragma once

#include <kvcap/engine/sglang/release.hpp>
#include <kvcap/engine/sglang/tree.hpp>

namespace kvcap::inline v1::sglang {

/// tokens, window_tokens, states: of the pools; off_scale: more than is ever needed. States are kept as
/// strategy no_buffer does, so pages have one token where there are states. interval: steps between window
/// releases.
struct ServerOptions {
    TreeRules rules{};
    u64 tokens = off_scale;
    u64 window_tokens = off_scale;
    u64 states = off_scale;
    u64 chunk = 8192;
    u64 interval = 128;
};

/// computed: tokens in the caches at the end, those hit included. rejected: there was no room for the rest.
struct ServedRequest {
    u64 hit = 0;
    u64 computed = 0;
    bool rejected = false;
};

class Server {
public:
    /// pre: rules.page > 0, chunk >= rules.page, interval > 0; states only with pages of 1
    explicit Server(const ServerOptions& options) : options_{options}, tree_{options.rules} {}

    /// Runs a request to its end. The last generated token is never stored. pre: the prompt is not empty
    ServedRequest serve(const std::vector<u64>& prompt, const std::vector<u64>& generated,
                        const std::optional<std::string>& extra_key = {}) {
        Running run{.tokens = prompt, .prompt = prompt.size(), .extra_key = extra_key};
        if (!generated.empty()) {
            run.tokens.insert(run.tokens.end(), generated.begin(), generated.end() - 1);
        }
        ServedRequest result{.hit = admit(run)};
        const bool whole = prefill(run, generated.size() > 1) && decode(run);
        result.rejected = !whole;
        result.computed = run.computed;
        finish(run);
        return result;
    }

    const RadixTree& tree() const { return tree_; }

private:
    /// computed, protected_prefix, released: tokens from the front. own_*: what of the pools is not in the
    /// tree.
    struct Running {
        std::vector<u64> tokens{};
        u64 prompt = 0;
        std::optional<std::string> extra_key{};
        u64 computed = 0;
        u64 protected_prefix = 0;
        u64 released = 0;
        RadixTree::Lock lock{};
        u64 own = 0;
        u64 own_window = 0;
        u64 own_states = 0;
    };

    bool has_window() const { return options_.rules.window != 0; }

    static u64 left(u64 all, u64 used) { return all == off_scale ? off_scale : all - smaller(all, used); }
    u64 free_tokens(const Running& run) const { return left(options_.tokens, stored_.full + run.own); }
    u64 free_window(const Running& run) const {
        return has_window() ? left(options_.window_tokens, stored_.window + run.own_window) : off_scale;
    }
    u64 free_states(const Running& run) const {
        return left(options_.states, stored_.states + run.own_states);
    }

    void count() {
        if (options_.tokens == off_scale && options_.window_tokens == off_scale && options_.states == off_scale) {
            return;  // nothing is ever short
        }
        const TreeAmounts idle = tree_.evictable();
        const TreeAmounts busy = tree_.locked();
        stored_ = {idle.full + busy.full, idle.window + busy.window, idle.states + busy.states};
    }
    void evict(const TreeAmounts& wanted) {
        static_cast<void>(tree_.evict(wanted));
        count();
    }

    /// With a window pool only what is short is evicted, without one as much as is wanted.
    void make_room(const Running& run, u64 wanted) {
        const u64 full = free_tokens(run);
        const u64 window = free_window(run);
        if (full >= wanted && window >= wanted) {
            return;
        }
        evict(has_window() ? TreeAmounts{wanted - smaller(wanted, full), wanted - smaller(wanted, window), 0}
                           : TreeAmounts{wanted, 0, 0});
    }

    bool take_state(Running& run) {
        if (free_states(run) == 0) {
            evict({0, 0, 1});
        }
        const bool got = free_states(run) > 0;
        run.own_states += got ? 1 : 0;
        return got;
    }

    /// Matches all but the last token, and takes the slot of the running state; three slots are made free
    /// first.
    u64 admit(Running& run) {
        constexpr u64 headroom = 3;
        const std::vector<u64> key(run.tokens.begin(),
                                   run.tokens.begin() + static_cast<std::ptrdiff_t>(run.prompt - 1));
        const Match match = tree_.lookup(key, run.extra_key);
        run.lock = tree_.lock(match.node);
        run.computed = match.hit;
        run.protected_prefix = match.hit;
        if (options_.rules.states) {
            const bool copied = match.hit > 0 && take_state(run);
            if (const u64 free = free_states(run); free < headroom) {
                evict({0, 0, headroom - free});
            }
            fits_ = copied || take_state(run);
        } else {
            fits_ = true;
        }
        return match.hit;
    }

    /// Takes slots for `more` tokens: whole pages, and one page more is asked for than that.
    bool extend(Running& run, u64 more) {
        const u64 page = options_.rules.page;
        make_room(run, page == 1 ? more : more + page);
        const u64 pages = round_up(run.computed + more, page) - round_up(run.computed, page);
        if (!fits_ || pages > free_tokens(run) || pages > free_window(run)) {
            return false;
        }
        run.own += pages;
        run.own_window += has_window() ? pages : 0;
        run.computed += more;
        ++steps_;
        return true;
    }

    bool prefill(Running& run, bool goes_on) {
        while (run.computed < run.prompt) {
            const u64 rest = run.prompt - run.computed;
            const u64 more =
                rest <= options_.chunk ? rest : options_.chunk - options_.chunk % options_.rules.page;
            if (!extend(run, more)) {
                return false;
            }
            if ((run.computed < run.prompt || goes_on) && !store_running(run)) {
                return false;
            }
        }
        return true;
    }

    bool decode(Running& run) {
        const u64 page = options_.rules.page;
        while (run.computed < run.tokens.size()) {
            if (has_window() && (steps_ + 1) % options_.interval == 0 && run.computed > run.prompt) {
                const Released gone = sglang::released({.tokens = run.computed,
                                                        .window = options_.rules.window,
                                                        .page = page,
                                                        .protected_prefix = run.protected_prefix,
                                                        .released = run.released});
                run.own_window -= smaller(run.own_window, gone.freed);
                run.released = gone.upto;
            }
            make_room(run, page);
            const u64 taken = run.computed % page == 0 ? page : 0;
            if (taken > free_tokens(run) || taken > free_window(run)) {
                return false;
            }
            run.own += taken;
            run.own_window += has_window() ? taken : 0;
            ++run.computed;
            ++steps_;
        }
        return true;
    }

    std::vector<u64> so_far(const Running& run) const {
        return {run.tokens.begin(), run.tokens.begin() + static_cast<std::ptrdiff_t>(run.computed)};
    }

    void insert(Running& run) {
        static_cast<void>(tree_.insert({.tokens = so_far(run),
                                        .extra_key = run.extra_key,
                                        .released = run.released,
                                        .prior = run.protected_prefix}));
        count();
        const u64 tail = round_up(run.computed, options_.rules.page) -
                         run.computed / options_.rules.page * options_.rules.page;
        run.own = tail;
        run.own_window = has_window() ? tail : 0;
    }

    /// At the end of a chunk and of the prompt: what is there goes into the tree, with a copy of the state,
    /// and the request goes on from the tree's copy.
    bool store_running(Running& run) {
        if (options_.rules.states && !take_state(run)) {
            return false;
        }
        insert(run);
        run.own_states -= options_.rules.states ? 1 : 0;
        const Match match = tree_.lookup(so_far(run), run.extra_key);
        tree_.unlock(run.lock);
        run.lock = tree_.lock(match.node);
        run.protected_prefix = match.hit;
        return true;
    }

    void finish(Running& run) {
        if (fits_) {
            insert(run);
        }
        tree_.unlock(run.lock);
        count();
    }

    ServerOptions options_;
    RadixTree tree_;
    TreeAmounts stored_{};
    u64 steps_ = 0;
    bool fits_ = true;
};

}  // namespace kvcap::inline v1::sglang
