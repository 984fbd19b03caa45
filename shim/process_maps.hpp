// SPDX-License-Identifier: Apache-2.0
// The addresses at which processes have files of a capture mapped, as reported by events.
//
// The kernel reports neither munmap(2) nor mremap(2). A mapping therefore stays until another one replaces it, its process ends
// or executes another program, or the file is dropped. Stale mappings do no harm, because unmapped addresses cause no page
// faults. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

namespace fsr::shim {

template <class File>
class ProcessMaps {
 public:
  struct Mapping {
    uint64_t end = 0, offset = 0;  // offset: position of its first byte in the file
    bool stores = false;           // stores change the file
    std::shared_ptr<File> file;
  };

  // Adds a mapping of any memory, which replaces earlier ones. `mapping`: null: the memory is not of a file of the capture.
  void mapped(pid_t pid, uint64_t start, uint64_t end, const Mapping* mapping) {
    auto at = processes_.find(pid);
    if (at == processes_.end()) {
      if (!mapping) return;
      at = processes_.try_emplace(pid).first;
    }
    Maps& maps = at->second;
    auto next = maps.lower_bound(start);
    if (next != maps.begin() && std::prev(next)->second.end > start) {
      auto before = std::prev(next);
      if (before->second.end > end) keep_from(maps, *before, end);
      before->second.end = start;
    }
    while (next != maps.end() && next->first < end) {
      if (next->second.end > end) keep_from(maps, *next, end);
      next = maps.erase(next);
    }
    if (mapping) maps[start] = *mapping;
    if (maps.empty()) processes_.erase(at);
  }
  void forked(pid_t parent, pid_t child) {
    if (auto at = processes_.find(parent); at != processes_.end()) {
      const Maps copy = at->second;
      processes_[child] = copy;
    }
  }
  void ended(pid_t pid) { processes_.erase(pid); }
  void drop_if(const std::function<bool(const File&)>& gone) {
    for (auto at = processes_.begin(); at != processes_.end();) {
      std::erase_if(at->second, [&](const auto& one) { return gone(*one.second.file); });
      at = at->second.empty() ? processes_.erase(at) : std::next(at);
    }
  }
  bool empty() const { return processes_.empty(); }
  // Returns the mapping at an address, and its start in *start. Null: there is none.
  const Mapping* find(pid_t pid, uint64_t address, uint64_t* start) const {
    auto process = processes_.find(pid);
    if (process == processes_.end()) return nullptr;
    auto at = process->second.upper_bound(address);
    if (at == process->second.begin() || (--at)->second.end <= address) return nullptr;
    *start = at->first;
    return &at->second;
  }

 private:
  using Maps = std::map<uint64_t, Mapping>;  // by start

  static void keep_from(Maps& maps, const std::pair<const uint64_t, Mapping>& old, uint64_t start) {
    Mapping rest = old.second;
    rest.offset += start - old.first;
    maps[start] = rest;
  }

  std::unordered_map<pid_t, Maps> processes_;
};

}  // namespace fsr::shim
