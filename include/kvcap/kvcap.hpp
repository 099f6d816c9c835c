// SPDX-License-Identifier: MIT
// The whole library without its heavy doors: models, sharding, reuse, engines, identity, plans, stores,
// bounds on time. No dependency. Readers are in io.hpp (nlohmann_json), words and tables in report.hpp (fmt).
#pragma once

#include <kvcap/core.hpp>
#include <kvcap/engine.hpp>
#include <kvcap/identity.hpp>
#include <kvcap/plan/advice_rank.hpp>
#include <kvcap/plan/changes.hpp>
#include <kvcap/plan/depth_reuse.hpp>
#include <kvcap/plan/fit.hpp>
#include <kvcap/plan/search.hpp>
#include <kvcap/reuse.hpp>
#include <kvcap/roofline.hpp>
#include <kvcap/store.hpp>
#include <kvcap/version.hpp>
