// SPDX-License-Identifier: Apache-2.0
// Data validation of trees: their blocks, journals and recovery.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "workloads/vdbench/run/file_runs.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

std::string FileRuns::structure_text(const FileSystem& f) {
  std::string text =
      fmt::format("{} {} {} {} {} {}", f.depth, f.width, f.files, f.all_directories, f.directory_mask, f.file_mask);
  for (const auto& [size, share] : f.sizes) text += fmt::format(" {} {}", size, share);
  return text;
}

uint64_t FileRuns::shape_of(const FileSystem& f) {
  const std::string text = structure_text(f);
  return XXH3_64bits(text.data(), text.size()) | 1;  // 0 is the shape of an SD
}

// Finds, for each anchor, the unit of all its transfers. Throws if a run can't be validated.
void FileRuns::know_units(const std::vector<PlannedRun>& runs) {
  for (const PlannedRun& run : runs)
    for (const FileWork& work : run.file_works) {
      const FileSystem& system = run.systems[work.system];
      if (work.workload.operation == Operation::copy)
        throw_error("rd={}: expected no copy with data validation: a copy holds another file's marks", run.name);
      check_owner("fsd", first_with(system.anchor).name);
      uint64_t& unit = units_[system.anchor];
      for (const auto& [bytes, share] : work.workload.transfers.shares) unit = std::gcd(unit, bytes);
      for (const auto& [bytes, share] : system.sizes)
        if (unit % kSector || bytes % kSector)
          throw_error("fsd={}: expected sizes of files and transfers that are multiples of 512 for data validation", system.name);
    }
}

// Returns the first FSD with that anchor. The content written below the anchor and its journal have the name of this FSD.
const FileSystem& FileRuns::first_with(const std::string& anchor) const {
  return *std::find_if(definitions_.systems.begin(), definitions_.systems.end(),
                       [&](const FileSystem& f) { return f.anchor == anchor; });
}

// Loads the journals. Each must belong to a tree of the runs.
void FileRuns::load_journals(const std::vector<PlannedRun>& runs) {
  for (auto& [anchor, unit] : units_) {
    const FileSystem& first = first_with(anchor);
    if (is_elsewhere(first)) continue;
    Recovered found{recover_keys(first.journal, first.name), {}};
    bool known = false;
    for (const PlannedRun& run : runs)
      for (const FileWork& work : run.file_works) {
        const FileSystem& system = run.systems[work.system];
        if (known || system.anchor != anchor || shape_of(system) != found.keys.shape) continue;
        found.system = system;
        known = true;
      }
    if (!known)
      throw_error("fsd={}: the journal belongs to another tree, expected that tree's depth, width, files and sizes", first.name);
    const Structure structure(found.system);
    uint64_t expected = unit;
    for (uint64_t file = 0; file < structure.files(); ++file) expected = std::gcd(expected, structure.size_of(file));
    check_unit("fsd=" + first.name, found.keys, expected);
    unit = found.keys.unit;
    recovered_.emplace(anchor, std::move(found));
  }
}

std::vector<ValidatedStorage*> FileRuns::validated(const PlannedRun* run) {
  std::vector<ValidatedStorage*> its;
  auto is_used = [&](const std::string& anchor) {
    return !run ||
           std::ranges::any_of(run->file_works, [&](const FileWork& work) { return run->systems[work.system].anchor == anchor; });
  };
  for (const auto& [anchor, tree] : trees_)
    if (tree.anchor && tree.anchor->validated() && is_used(anchor)) its.push_back(tree.anchor->validated());
  return its;
}

void FileRuns::recover_all(RecoveryRun& recovery) {
  for (const auto& [anchor, recovered] : recovered_) {
    Tree& tree = tree_of(recovered.system);
    survey(tree, {});
    recovery.recover(recovered.keys, *tree.anchor, *targets_[target_of_.at(anchor)]);
  }
  recovered_.clear();
}

}  // namespace fsr::vdbench
