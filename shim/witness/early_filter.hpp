// SPDX-License-Identifier: Apache-2.0
// The part of --only and --exclude that the programs in the kernel decide, so that no record is made.
//
// It is decided by kind, user and process id, never by command or path. Only records that nothing else depends on are left out
// so. Names of files and numbers of open instances follow from the others, which the writer leaves out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../filter.hpp"
#include "witness_record.h"

namespace fsr::shim {

struct EarlyFilter {
  uint64_t kinds = 0;     // bits by witness_kind: those that may be left out
  uint64_t unwanted = 0;  // bits by witness_kind
  uint32_t id_rules = 0;  // bits by witness_id_rule
  std::vector<witness_id> ids;
  explicit operator bool() const { return unwanted != 0 || id_rules != 0; }
};

EarlyFilter early_filter(const OpFilter& filter);

// Counts by kind of operation of counts by witness_kind, of which those of EarlyFilter::kinds alone are not 0.
std::array<uint64_t, kOpKinds> left_out_by_kind(const std::array<uint64_t, kWitnessKinds>& counts);

}  // namespace fsr::shim
