// SPDX-License-Identifier: Apache-2.0
#include "early_filter.hpp"

namespace fsr::shim {

namespace {

// Kinds of records that each stand for one kind of operation, and from which WitnessOps learns no name and no open instance.
constexpr struct {
  witness_kind record;
  OpKind op;
} kEarly[] = {
    {kWitnessLookup, OpKind::lookup},       {kWitnessGetattr, OpKind::getattr},
    {kWitnessSetattr, OpKind::setattr},     {kWitnessAccess, OpKind::access},
    {kWitnessReadlink, OpKind::readlink},   {kWitnessRead, OpKind::read},
    {kWitnessWrite, OpKind::write},         {kWitnessCopyRange, OpKind::copy_file_range},
    {kWitnessFallocate, OpKind::fallocate}, {kWitnessSeek, OpKind::lseek},
    {kWitnessFlush, OpKind::flush},         {kWitnessStatfs, OpKind::statfs},
    {kWitnessGetxattr, OpKind::getxattr},   {kWitnessSetxattr, OpKind::setxattr},
    {kWitnessListxattr, OpKind::listxattr}, {kWitnessRemovexattr, OpKind::removexattr},
    {kWitnessSetlk, OpKind::setlk},         {kWitnessGetlk, OpKind::getlk},
    {kWitnessFlock, OpKind::flock},
};

}  // namespace

EarlyFilter early_filter(const OpFilter& filter) {
  const OpFilter::Early rules = filter.early();
  EarlyFilter early;
  for (const auto& [record, op] : kEarly) {
    early.kinds |= uint64_t(1) << record;
    if (rules.unwanted[unsigned(op)]) early.unwanted |= uint64_t(1) << record;
  }
  auto take = [&](witness_id_rule rule, const OpFilter::Early::Ids& ids) {
    if (!ids.given) return;
    early.id_rules |= uint32_t(1) << rule;
    for (const uint32_t id : ids.numbers) early.ids.push_back({.rule = uint32_t(rule), .id = id});
  };
  take(kWitnessOnlyUid, rules.only_uids);
  take(kWitnessExceptUid, rules.except_uids);
  take(kWitnessOnlyPid, rules.only_pids);
  take(kWitnessExceptPid, rules.except_pids);
  return early;
}

std::array<uint64_t, kOpKinds> left_out_by_kind(const std::array<uint64_t, kWitnessKinds>& counts) {
  std::array<uint64_t, kOpKinds> by_kind{};
  for (const auto& [record, op] : kEarly) by_kind[unsigned(op)] += counts[record];
  return by_kind;
}

}  // namespace fsr::shim
