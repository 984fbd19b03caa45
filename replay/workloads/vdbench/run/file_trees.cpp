// SPDX-License-Identifier: Apache-2.0
// The trees that runs use: their targets and existing files.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "util/units.hpp"
#include "workloads/vdbench/run/file_runs.hpp"

namespace fsr::vdbench {

namespace {

constexpr unsigned kTreeThreads = 8;  // that survey or remove a tree

bool is_directory_name(const std::string& anchor) { return anchor.find(':') == std::string::npos; }

}  // namespace

FileRuns::Owner FileRuns::owner_of(const std::string& anchor) const {
  const auto owner = owners_.find(anchor);
  if (owner == owners_.end()) return Owner::all;
  return owner->second == ranks_.cluster().rank() ? Owner::this_rank : Owner::another;
}

bool FileRuns::makes_tree(const std::string& anchor) const {
  const Owner owner = owner_of(anchor);
  return owner == Owner::this_rank || (owner == Owner::all && ranks_.cluster().root());
}

void FileRuns::open(const std::vector<PlannedRun>& runs) {
  const Validation& how = definitions_.general.validation;
  know_owners(runs);
  if (how.on) know_units(runs);
  if (how.recovers) load_journals(runs);
  for (const FileSystem& system : definitions_.systems) {
    if (target_of_.count(system.anchor)) continue;
    if (is_elsewhere(system)) {
      // An empty tree stands for it, so that this rank knows its structure.
      target_of_[system.anchor] = add_target("memory:");
      continue;
    }
    const bool directory = is_directory_name(system.anchor);
    const bool missing = directory && !std::filesystem::exists(system.anchor);
    if (missing && !makes_tree(system.anchor))
      throw std::runtime_error(
          fmt::format("fsd={}: {} does not exist here, but rank 0 created this directory; use a directory that all ranks share",
                      system.name, system.anchor));
    if (missing && definitions_.general.create_anchors) {
      std::error_code error;
      std::filesystem::create_directories(system.anchor, error);
      if (error) throw std::runtime_error(fmt::format("fsd={}: {}: {}", system.name, system.anchor, error.message()));
    }
    try {
      target_of_[system.anchor] = add_target(system.anchor);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(
          fmt::format("fsd={}: {}{}", system.name, e.what(), missing ? " (create_anchors=yes also creates the parents)" : ""));
    }
    if (missing) reports_.note("localhost-0: Created anchor directory: " + system.anchor);
  }
}

FileRuns::Tree& FileRuns::tree_of(const FileSystem& system) {
  Tree& tree = trees_[system.anchor];
  const std::string structure = structure_text(system);
  if (tree.structure == structure) return tree;
  tree.structure = structure;
  tree.known.reset();
  tree.anchor = std::make_unique<Anchor>(system.anchor, system, target_of_.at(system.anchor));
  if (const auto unit = units_.find(system.anchor); unit != units_.end()) {
    const FileSystem& first = first_with(system.anchor);
    tree.anchor->validate(first, unit->second);
    if (!is_elsewhere(system)) make_journal(*tree.anchor->validated(), first.journal, shape_of(system));
    if (recovered_.count(system.anchor) == 0) tree.anchor->validated()->save_keys();
  }
  const Structure& s = tree.anchor->structure();
  reports_.note(s.text(system.anchor));
  tree.chosen = s.files();
  return tree;
}

void FileRuns::run_threads(const std::vector<SimThreadSpec>& parts) {
  const RunnerResult measured = runner_.run(parts, {.stop = &stop_});
  if (measured.abandoned) throw std::runtime_error("operations in flight did not end");
}

void FileRuns::survey(Tree& tree, const RankSlice& files) {
  if (tree.known == files) return;
  if (tree.known) tree.anchor->forget();
  tree.known.reset();
  if (files.step == 0) return;
  SurveyThread::Shared shared(*tree.anchor, files, kTreeThreads);
  std::vector<SimThreadSpec> parts;
  for (unsigned i = 0; i < kTreeThreads; ++i)
    parts.push_back({std::make_unique<SurveyThread>(shared), tree.anchor->target_index(), i});
  run_threads(parts);
  if (const int error = shared.error) throw std::runtime_error(fmt::format("{}: {}", tree.anchor->name(), strerror(error)));
  tree.known = files;
}

void FileRuns::clean(Tree& tree, const RankSlice& dealt) {
  tree.known = dealt;
  if (!makes_tree(tree.anchor->name())) return tree.anchor->forget();
  reports_.note("localhost-0: Starting cleanup for anchor=" + tree.anchor->name());
  tree.anchor->forget();
  // If the removal ends early, the remaining files are not checked.
  if (tree.anchor->validated()) tree.anchor->validated()->save_keys();
  std::vector<SimThreadSpec> parts;
  std::vector<const CleanThread*> threads;
  for (unsigned i = 0; i < kTreeThreads; ++i) {
    auto thread = std::make_unique<CleanThread>(*tree.anchor, i, kTreeThreads);
    threads.push_back(thread.get());
    parts.push_back({std::move(thread), tree.anchor->target_index(), i});
  }
  run_threads(parts);
  uint64_t files = 0, directories = 0;
  for (const CleanThread* thread : threads) {
    if (!thread->failure.empty()) throw std::runtime_error(thread->failure);
    files += thread->files;
    directories += thread->directories;
  }
  if (files + directories)
    reports_.note(fmt::format("localhost-0: Cleanup complete: {} files and {} directories removed", format_count(files),
                              format_count(directories)));
  tree.anchor->forget();
}

// The root prepares first, so that other ranks do not find files that it removes.
std::vector<RankSlice> FileRuns::prepare(const PlannedRun& run) {
  std::vector<RankSlice> dealt = deal(run);
  for (const bool by_root : {true, false}) {
    if (!by_root && !ranks_.several()) break;
    ranks_.cluster().on_all([&] {
      ranks_.work([&] {
        if (by_root != ranks_.cluster().root()) return;
        for (size_t w = 0; w < run.file_works.size(); ++w) {
          const FileWork& work = run.file_works[w];
          prepare_tree(run, w, dealt[w]);
          if (work.workload.target) survey(tree_of(run.systems[*work.workload.target]), dealt[w]);
        }
      });
    });
  }
  if (ranks_.several()) compare_trees(run, dealt);
  return dealt;
}

// Checks that a path leads to the same tree on all hosts.
void FileRuns::compare_trees(const PlannedRun& run, const std::vector<RankSlice>& dealt) {
  std::string mine;
  bool uses = false;
  for (size_t w = 0; w < run.file_works.size(); ++w) {
    const FileWork& work = run.file_works[w];
    if (owner_of(run.systems[work.system].anchor) != Owner::all) continue;
    uses |= dealt[w].step != 0;
    mine += fmt::format("{}: {} directories\n", run.systems[work.system].anchor,
                        tree_of(run.systems[work.system]).anchor->existing_directories());
  }
  const std::string of_root = ranks_.cluster().broadcast(mine);
  ranks_.cluster().on_all([&] {
    if (uses && mine != of_root)
      throw std::runtime_error(fmt::format("rd={}: this rank sees another tree than rank 0, expected a shared tree", run.name));
  });
}

void FileRuns::prepare_tree(const PlannedRun& run, size_t work, const RankSlice& files) {
  const FileSystem& system = run.systems[run.file_works[work].system];
  Tree& tree = tree_of(system);
  if (run.formats && !run.format.restart && (run.format.yes || run.format.only || run.format.clean))
    clean(tree, files);
  else
    survey(tree, files);
  Anchor& anchor = *tree.anchor;
  const size_t chosen = anchor.begin_run(runs_ * 1000 + work, system, files);
  if (chosen != std::exchange(tree.chosen, chosen))
    reports_.note(fmt::format("Created totalsize/workingset using {:>12} of {:>12} files for anchor={}", format_count(chosen),
                              format_count(anchor.structure().files()), anchor.name()));
  if (run.run->format.complete && !run.formats && files.step != 0 &&
      !(anchor.all_files_exist() && anchor.all_directories_exist()))
    throw std::runtime_error(fmt::format("rd={}: format=complete, but {} has {} of {} directories and {} of {} files", run.name,
                                         anchor.name(), anchor.existing_directories(), anchor.structure().directories(),
                                         anchor.existing_files(), anchor.chosen().size()));
}

// In a format, ranks other than the root assume that all directories were made. This forgets those that the root failed to make.
void FileRuns::after(const PlannedRun& run) {
  if (!run.formats || !ranks_.several()) return;
  for (const FileWork& work : run.file_works) {
    if (owner_of(run.systems[work.system].anchor) != Owner::all) continue;
    Tree& tree = tree_of(run.systems[work.system]);
    const bool all = !ranks_.cluster().broadcast(tree.anchor->all_directories_exist() ? "y" : "").empty();
    if (all || ranks_.cluster().root()) continue;
    tree.anchor->forget();
    tree.known.reset();
  }
}

}  // namespace fsr::vdbench
