// SPDX-License-Identifier: Apache-2.0
#include "stat_groups.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fsr::fstrace {

namespace {

constexpr uint32_t kUnfinished = UINT32_MAX;  // as an outcome

struct DimensionEntry {
  const char* name;
  std::vector<const char*> labels;
};

// In the order of Dimension.
const std::vector<DimensionEntry>& dimensions() {
  static const std::vector<DimensionEntry> kEntries = {
      {"op", {"op"}},           {"process", {"client", "pid", "command"}},
      {"command", {"command"}}, {"thread", {"client", "pid", "tid", "command"}},
      {"user", {"uid"}},        {"client", {"client"}},
      {"outcome", {"outcome"}}, {"file", {"path"}},
  };
  return kEntries;
}

}  // namespace

const char* dimension_name(Dimension d) { return dimensions()[size_t(d)].name; }
std::vector<const char*> label_names(Dimension d) { return dimensions()[size_t(d)].labels; }

Dimension dimension_from_name(const std::string& name) {
  std::string known;
  for (size_t i = 0; i < dimensions().size(); ++i) {
    if (name == dimensions()[i].name) return Dimension(i);
    known += (i ? ", " : "") + std::string(dimensions()[i].name);
  }
  throw std::runtime_error("--by " + name + ": expected some of " + known);
}

void Measure::merge(const Measure& other) {
  operations += other.operations;
  failed += other.failed;
  unfinished += other.unfinished;
  reads += other.reads;
  writes += other.writes;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  transfers += other.transfers;
  successive += other.successive;
  sequential += other.sequential;
  latency.merge(other.latency);
  size.merge(other.size);
  carried += other.carried;
}

void StatGroups::clear() {
  groups_.clear();
  group_table_.clear();
}

std::vector<StatGroups::Group> StatGroups::take() {
  group_table_.clear();
  return std::exchange(groups_, {});
}

// A thread's name and process may change while it lives. The reader has one ThreadInfo for each of its definitions.
uint32_t StatGroups::thread_of(const Op& op) {
  uint32_t i = thread_table_.find(op.thread, [&](uint32_t k) { return threads_[k].id == op.thread; });
  if (i == SlotTable::kAbsent) {
    i = uint32_t(threads_.size());
    threads_.push_back({.id = op.thread, .batch = UINT64_MAX});
    thread_table_.insert(op.thread, i);
  }
  Thread& t = threads_[i];
  if (t.batch == batch_ && t.who == op.who) return i;
  t.batch = batch_;
  t.who = op.who;
  const ThreadInfo nobody{};
  const ThreadInfo& who = op.who ? *op.who : nobody;
  t.tid = who.tid;
  t.client = who.client;
  auto [process, new_process] = process_ids_.try_emplace({who.client, who.pid}, uint32_t(processes_.size()));
  if (new_process) processes_.push_back({who.client, who.pid, {}});
  t.process = process->second;
  processes_[t.process].command = who.command;
  auto command = command_ids_.find(who.command);
  if (command == command_ids_.end()) {
    command = command_ids_.emplace(who.command, uint32_t(commands_.size())).first;
    commands_.emplace_back(who.command);
  }
  t.command = command->second;
  return i;
}

uint32_t StatGroups::file_of(ObjectId object) {
  uint32_t i = file_table_.find(object, [&](uint32_t k) { return files_[k] == object; });
  if (i != SlotTable::kAbsent) return i;
  files_.push_back(object);
  file_table_.insert(object, uint32_t(files_.size() - 1));
  return uint32_t(files_.size() - 1);
}

StatGroups::Group& StatGroups::group_of(const Op& op) {
  Key key{};
  uint64_t hash = 0;
  for (size_t i = 0; i < by_.size(); ++i) {
    switch (by_[i]) {
      case Dimension::op:
        key[i] = uint32_t(op.kind);
        break;
      case Dimension::process:
        key[i] = threads_[thread_of(op)].process;
        break;
      case Dimension::command:
        key[i] = threads_[thread_of(op)].command;
        break;
      case Dimension::thread:
        key[i] = thread_of(op);
        break;
      case Dimension::user:
        key[i] = op.uid;
        break;
      case Dimension::client:
        key[i] = threads_[thread_of(op)].client;
        break;
      case Dimension::outcome:
        key[i] = op.has(kOpUnfinished) ? kUnfinished : uint32_t(op.error);
        break;
      case Dimension::file:
        key[i] = file_of(op.object);
        break;
    }
    hash = (hash ^ key[i]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  uint32_t i = group_table_.find(hash, [&](uint32_t k) { return groups_[k].key == key; });
  if (i == SlotTable::kAbsent) {
    i = uint32_t(groups_.size());
    groups_.push_back({.key = key, .measure = {}});
    group_table_.insert(hash, i);
  }
  return groups_[i];
}

void StatGroups::count_data(Measure& m, const Op& op) {
  const bool write = op.kind != OpKind::read;
  ++(write ? m.writes : m.reads);
  if (!op.error) (write ? m.written_bytes : m.read_bytes) += op.result;
  m.size.add(int64_t(std::min<uint64_t>(op.length, INT64_MAX)));
  if (op.kind == OpKind::copy_file_range) return;
  const Positions::Access place = positions_.move(op);
  ++m.transfers;
  m.successive += place != Positions::Access::first;
  m.sequential += place == Positions::Access::sequential;
}

void StatGroups::add(const Op& op) {
  Measure& m = group_of(op).measure;
  ++m.operations;
  if (op.has(kOpUnfinished)) {
    ++m.unfinished;
    return;
  }
  count_outcome(m, op);
}

void StatGroups::add_end(const Op& op, int64_t counted) {
  Measure& m = group_of(op).measure;
  m.carried -= counted;
  count_outcome(m, op);
}

void StatGroups::count_outcome(Measure& m, const Op& op) {
  m.failed += op.error != 0;
  m.latency.add(op.duration);
  switch (op.kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
      count_data(m, op);
      break;
    case OpKind::release:
      positions_.close(op.handle);
      break;
    default:
      break;
  }
}

std::vector<Label> StatGroups::label(Dimension d, uint32_t id, const Paths& paths) const {
  auto process = [&](const Process& p) {
    return std::vector<Label>{
        {"client", std::to_string(p.client), true}, {"pid", std::to_string(p.pid), true}, {"command", p.command}};
  };
  switch (d) {
    case Dimension::op:
      return {{"op", op_name(OpKind(id))}};
    case Dimension::process:
      return process(processes_[id]);
    case Dimension::command:
      return {{"command", commands_[id]}};
    case Dimension::thread: {
      std::vector<Label> out = process(processes_[threads_[id].process]);
      out.insert(out.begin() + 2, {"tid", std::to_string(threads_[id].tid), true});
      return out;
    }
    case Dimension::user:
      return {{"uid", std::to_string(id), true}};
    case Dimension::client:
      return {{"client", std::to_string(id), true}};
    case Dimension::outcome:
      return {{"outcome", id == kUnfinished ? "unfinished" : id ? error_name(int(id)) : "ok"}};
    case Dimension::file:
      return {{"path", files_[id] ? paths.path(files_[id]) : "none"}};
  }
  return {};
}

std::vector<Label> StatGroups::labels(const Group& group, const Paths& paths) const {
  std::vector<Label> out;
  for (size_t i = 0; i < by_.size(); ++i)
    for (Label& l : label(by_[i], group.key[i], paths)) out.push_back(std::move(l));
  return out;
}

}  // namespace fsr::fstrace
