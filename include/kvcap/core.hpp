// SPDX-License-Identifier: MIT
// The light door: forms, layer policies, storage schemes, models, sharding and the fold. No dependency, no containers.
#pragma once

#include <kvcap/capacity.hpp>
#include <kvcap/element.hpp>
#include <kvcap/fold.hpp>
#include <kvcap/form.hpp>
#include <kvcap/inplace.hpp>
#include <kvcap/layer/attention.hpp>
#include <kvcap/layer/concept.hpp>
#include <kvcap/layer/latent.hpp>
#include <kvcap/layer/recurrent.hpp>
#include <kvcap/layer/retain.hpp>
#include <kvcap/layer/shared.hpp>
#include <kvcap/message.hpp>
#include <kvcap/model.hpp>
#include <kvcap/quant/quantized.hpp>
#include <kvcap/quant/residual.hpp>
#include <kvcap/quant/schemes.hpp>
#include <kvcap/result.hpp>
#include <kvcap/sharding.hpp>
#include <kvcap/units.hpp>
#include <kvcap/version.hpp>
