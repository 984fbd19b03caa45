// SPDX-License-Identifier: Apache-2.0
// Values that occur in several sections.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

const char* const kOperationNames[kOperations] = {"read",  "write",  "mkdir",   "rmdir",   "create", "delete", "open",
                                                  "close", "access", "getattr", "setattr", "copy",   "move"};

namespace {

constexpr uint64_t kLargest = 1u << 30;

uint64_t transfer_size(const Value& value, uint64_t unit) {
  const uint64_t size = whole(value, unit, kLargest);
  if (size % unit) throw ParameterError(value.position, "'{}': expected a multiple of {}", value.text, unit);
  return size;
}

}  // namespace

uint64_t TransferSizes::largest() const {
  if (align) return most;
  uint64_t largest = 0;
  for (const auto& [size, share] : shares) largest = std::max(largest, size);
  return largest;
}

uint64_t TransferSizes::draw(Random& random) const {
  if (align) return least + random.below((most - least) / align + 1) * align;
  if (shares.size() == 1) return shares[0].first;
  double at = random.unit() * 100;
  for (const auto& [size, share] : shares) {
    if (at < share) return size;
    at -= share;
  }
  return shares.back().first;
}

TransferSizes transfer_sizes(const Parameter& parameter, uint64_t unit) {
  const std::vector<Value>& v = parameter.values;
  TransferSizes sizes;
  if (v.size() == 1) {
    sizes.shares = {{transfer_size(v[0], unit), 100}};
    return sizes;
  }
  if (v.size() == 3) {
    sizes.least = transfer_size(v[0], unit);
    sizes.most = transfer_size(v[1], unit);
    sizes.align = transfer_size(v[2], unit);
    if (sizes.least > sizes.most || sizes.least % sizes.align || sizes.most % sizes.align)
      throw ParameterError(v[0].position, "expected (smallest,largest,alignment), both multiples of the third");
    return sizes;
  }
  sizes.shares.clear();
  double total = 0;
  for (size_t i = 0; i < v.size(); i += 2) {
    if (i + 1 == v.size()) throw ParameterError(v[i].position, "expected a percentage after each size");
    const double share = number(v[i + 1]).value;
    if (share < 0) throw ParameterError(v[i + 1].position, "expected a percentage from 0 to 100");
    sizes.shares.push_back({transfer_size(v[i], unit), share});
    total += share;
  }
  if (std::lround(total) != 100)  // three thirds are accepted, too
    throw ParameterError(parameter.position, "the percentages add up to {:g}, expected 100", total);
  return sizes;
}

Commands commands_of(const Parameter& parameter) {
  constexpr const char* kWhere[] = {"console", "summary", "logfile"};
  Commands commands;
  for (const Value& value : parameter.values) {
    const bool where = value.text.size() >= 3 && std::any_of(std::begin(kWhere), std::end(kWhere),
                                                             [&](const char* word) { return begins_word(word, value.text); });
    if (!where && !same_word(value.text, "master") && !same_word(value.text, "slave")) commands.push_back(value.text);
  }
  return commands;
}

Operation operation_of(const Value& value) {
  const auto operation = Operation(one_of(value, {kOperationNames, kOperationNames + kOperations}));
  if (operation == Operation::move) throw ParameterError(value.position, "move is refused: 5.04 can't move either");
  return operation;
}

// Reads flags as numbers of open(2): "0x4000".
static uint32_t flags_of(const Value& value) {
  constexpr uint32_t kKnown = O_DIRECT | O_SYNC;  // O_DSYNC is a part of O_SYNC
  size_t used = 0;
  unsigned long flags = 0;
  try {
    flags = std::stoul(value.text, &used, 16);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != value.text.size() || (flags & ~uint64_t(kKnown)))
    throw ParameterError(value.position, "expected {:#x} (O_DIRECT), {:#x} (O_DSYNC), {:#x} (O_SYNC) or a sum of these", O_DIRECT,
                         O_DSYNC, O_SYNC);
  return uint32_t(flags);
}

OpenFlags open_flags(const Parameter& parameter) {
  OpenFlags flags;
  for (const Value& value : parameter.values) {
    if (value.text.starts_with("0x")) {
      flags.flags |= flags_of(value);
      continue;
    }
    const size_t which = one_of(value, {"o_direct", "directio", "o_sync", "o_dsync", "o_rsync", "fsync", "none"});
    if (which < 2) flags.flags |= O_DIRECT;
    if (which >= 2 && which < 5) flags.flags |= O_DSYNC;  // all three open files this way in 5.04 on Linux
    if (which == 5) flags.sync_at_close = true;
  }
  return flags;
}

}  // namespace fsr::vdbench
