// SPDX-License-Identifier: Apache-2.0
// The trees that runs use: their targets and existing files.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "util/units.hpp"
#include "workloads/vdbench/run/file_runs.hpp"

namespace fsr::vdbench {

namespace {

constexpr unsigned kTreeThreads = 8;  // that survey or remove a tree

bool is_device_path(const std::string& anchor) {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(anchor, error).string();
  return path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
}

}  // namespace

std::vector<unsigned> FileRuns::makers(const PlannedRun& run) const {
  std::vector<unsigned> makers;
  if (run.formats && !run.format.clean)
    for (const FileWork& work : run.file_works) makers.push_back(tree_ranks_.trees(run.systems[work.system].anchor));
  return makers;
}

void FileRuns::open(const std::vector<PlannedRun>& runs) {
  const Validation& how = definitions_.general.validation;
  tree_ranks_ = TreeRanks(definitions_, runs, hosts_);
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
    if (missing && !leads(system.anchor) && !may_have_own(system)) fail_not_shared(system);
    if (missing && is_device_path(system.anchor))
      throw_error("fsd={}: {} does not exist, and nothing is made below /dev", system.name, system.anchor);
    if (missing && definitions_.general.create_anchors) {
      std::error_code error;
      std::filesystem::create_directories(system.anchor, error);
      if (error) throw_error("fsd={}: {}: {}", system.name, system.anchor, error.message());
    }
    try {
      target_of_[system.anchor] = add_target(system.anchor);
    } catch (const std::runtime_error& e) {
      throw_error("fsd={}: {}{}", system.name, e.what(), missing ? " (create_anchors=yes also creates the parents)" : "");
    }
    if (missing) reports_.note("localhost-0: Created anchor directory: " + system.anchor);
  }
}

FileRuns::Tree& FileRuns::tree_of(const FileSystem& system) {
  Tree& tree = trees_[system.anchor];
  const std::string structure = structure_text(system);
  if (tree.structure == structure) return tree;
  tree.structure = structure;
  tree.is_new = true;
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
  if (const int error = shared.error) throw_error("{}: {}", tree.anchor->name(), strerror(error));
  tree.known = files;
}

void FileRuns::clean(Tree& tree, const RankSlice& dealt) {
  tree.known = dealt;
  if (!leads(tree.anchor->name())) return tree.anchor->forget();
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

// The leaders prepare first, so that other ranks do not find files that they remove.
std::vector<RankSlice> FileRuns::prepare(const PlannedRun& run) {
  std::vector<FileDeal> dealt;
  ranks_.cluster().on_all([&] { dealt = deal(run); });
  for (const bool leading : {true, false}) {
    if (!leading && !ranks_.several()) break;
    ranks_.cluster().on_all([&] {
      ranks_.work([&] {
        for (size_t w = 0; w < run.file_works.size(); ++w) {
          const FileWork& work = run.file_works[w];
          if (leads(run.systems[work.system].anchor) != leading) continue;
          prepare_tree(run, w, dealt[w].files);
          if (work.workload.target) survey(tree_of(run.systems[*work.workload.target]), dealt[w].files);
        }
      });
    });
  }
  std::vector<RankSlice> threads;
  for (const FileDeal& its : dealt) threads.push_back(its.threads);
  return threads;
}

// Compares the files of a tree that an earlier process made with its structure, which may have changed since.
void FileRuns::check_files(const PlannedRun& run, const FileWork& work, Anchor& anchor) const {
  uint64_t exist = 0, whole = 0, empty = 0;
  for (uint32_t file = 0; file < anchor.structure().files(); ++file) {
    const Anchor::File& its = anchor.file(file);
    exist += its.exists;
    whole += its.exists && its.current >= anchor.structure().size_of(file);
    empty += its.exists && its.current == 0;
    if (its.longer && !definitions_.general.validation.on)
      throw_error(
          "rd={}: {}/{} has more bytes than its structure says: expected the depth, width, files "
          "and sizes with which the tree was made, or format=yes",
          run.name, anchor.name(), anchor.structure().file_path(file));
  }
  const Operation operation = work.workload.operation;
  const bool needs_files = operation != Operation::mkdir && operation != Operation::rmdir && operation != Operation::remove &&
                           !expectations(run).creates && tree_ranks_.users(anchor.name()).size() == 1;
  if (needs_files && exist == 0 && anchor.existing_directories() != 0)
    throw_error(
        "rd={}: anchor={} has none of the {} files of its structure: expected the depth, width and "
        "files with which the tree was made, or format=yes",
        run.name, anchor.name(), format_count(anchor.structure().files()));
  if (exist > empty && whole == 0)
    reports_.note(fmt::format("rd={}: all files of anchor={} have fewer bytes than sizes= says, expected format=yes", run.name,
                              anchor.name()));
}

void FileRuns::prepare_tree(const PlannedRun& run, size_t work, const RankSlice& files) {
  const FileSystem& system = run.systems[run.file_works[work].system];
  Tree& tree = tree_of(system);
  if (run.formats && !run.format.restart && (run.format.yes || run.format.only || run.format.clean))
    clean(tree, files);
  else
    survey(tree, files);
  Anchor& anchor = *tree.anchor;
  if (std::exchange(tree.is_new, false) && !run.formats && files.step != 0) check_files(run, run.file_works[work], anchor);
  const size_t chosen = anchor.begin_run(runs_ * 1000 + work, system, files);
  if (chosen != std::exchange(tree.chosen, chosen))
    reports_.note(fmt::format("Created totalsize/workingset using {:>12} of {:>12} files for anchor={}", format_count(chosen),
                              format_count(anchor.structure().files()), anchor.name()));
  if (run.run->format.complete && !run.formats && files.step != 0 &&
      !(anchor.all_files_exist() && anchor.all_directories_exist()))
    throw_error("rd={}: format=complete, but {} has {} of {} directories and {} of {} files", run.name, anchor.name(),
                anchor.existing_directories(), anchor.structure().directories(), anchor.existing_files(), anchor.chosen().size());
}

// After a format, forgets directories that a leader failed to make. The other ranks assumed that all were made.
void FileRuns::after(const PlannedRun& run) {
  if (!run.formats || !ranks_.several()) return;
  for (const FileWork& work : run.file_works) {
    Tree& tree = tree_of(run.systems[work.system]);
    const bool its = leads(tree.anchor->name());
    if (!ranks_.cluster().any_of_ranks(its && !tree.anchor->all_directories_exist()) || its) continue;
    tree.anchor->forget();
    tree.known.reset();
  }
}

}  // namespace fsr::vdbench
