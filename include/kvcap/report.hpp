// SPDX-License-Identifier: MIT
// The door to words, tables, JSON and CSV. Needs fmt.
#pragma once

#include <kvcap/report/amount.hpp>
#include <kvcap/report/arithmetic.hpp>
#include <kvcap/report/json.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/report/layers.hpp>
#include <kvcap/report/size.hpp>
#include <kvcap/report/size_json.hpp>
#include <kvcap/report/size_text.hpp>
#include <kvcap/report/table.hpp>
#include <kvcap/report/text.hpp>
#include <kvcap/report/textbook.hpp>
