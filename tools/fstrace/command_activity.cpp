// SPDX-License-Identifier: Apache-2.0
#include "command_activity.hpp"

#include <algorithm>
#include <numeric>

namespace fsr::fstrace {

constexpr size_t kMostStretches = 120;

Purpose purpose_of(OpKind kind) {
  switch (kind) {
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::syncfs:
    case OpKind::flush:
      return Purpose::sync;
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
      return Purpose::data;
    case OpKind::null:
    case OpKind::lookup:
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::access:
    case OpKind::readlink:
    case OpKind::lseek:
    case OpKind::opendir:
    case OpKind::readdir:
    case OpKind::readdirplus:
    case OpKind::releasedir:
    case OpKind::statfs:
    case OpKind::getxattr:
    case OpKind::listxattr:
    case OpKind::getlk:
      return Purpose::look;
    default:
      return Purpose::change;
  }
}

double CommandActivity::Command::all_time() const { return std::accumulate(time.begin(), time.end(), 0.0); }

size_t CommandActivity::number_of(const ThreadInfo* who) {
  const auto [known, added] = known_.try_emplace(who, 0);
  if (!added) return known->second;
  const std::string_view name = who ? std::string_view(who->command) : std::string_view();
  auto number = numbers_.find(name);
  if (number == numbers_.end()) {
    number = numbers_.emplace(name, commands_.size()).first;
    commands_.push_back({.name = std::string(name)});
  }
  return known->second = number->second;
}

void CommandActivity::add(const Op& op) {
  Command& command = commands_[number_of(op.who)];
  ++command.operations;
  if (!op.has(kOpUnfinished)) {
    command.failed += op.error != 0;
    command.time[size_t(purpose_of(op.kind))] += double(op.duration);
  }
  if (start_ < 0) start_ = op.start;
  const int64_t time = std::max<int64_t>(0, op.start - start_);
  for (; size_t(time / width_) >= kMostStretches; width_ *= 2)
    for (Command& one : commands_) {
      std::vector<uint64_t> halved((one.started.size() + 1) / 2);
      for (size_t i = 0; i < one.started.size(); ++i) halved[i / 2] += one.started[i];
      one.started = std::move(halved);
    }
  command.started.resize(std::max(command.started.size(), size_t(time / width_) + 1));
  ++command.started[size_t(time / width_)];
}

}  // namespace fsr::fstrace
