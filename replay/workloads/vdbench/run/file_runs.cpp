// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/file_runs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "workloads/vdbench/files/file_thread.hpp"
#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

uint32_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

}  // namespace

Expectations FileRuns::expectations(const PlannedRun& run) {
  Expectations expects;
  for (const FileWork& work : run.file_works) {
    const Operation operation = work.workload.operation;
    expects.creates |= operation == Operation::create || operation == Operation::write || operation == Operation::copy;
    expects.deletes |= operation == Operation::remove;
    expects.makes_directories |= operation == Operation::mkdir;
    expects.removes_directories |= operation == Operation::rmdir;
  }
  return expects;
}

FileRuns::FileRuns(const Program& program) : Runs(program), umask_(current_umask()) {}

struct FileRuns::FileThreads final : Threads {
  explicit FileThreads(const RunContext& run) : context(run) {}
  Events events() const override {
    Events sums{};
    for (const Events* its : counted)
      for (size_t i = 0; i < kEvents; ++i) sums[i] += (*its)[i];
    return sums;
  }
  template <class Thread>
  std::unique_ptr<SimThread> count(std::unique_ptr<Thread> thread) {
    counted.push_back(&thread->events());
    return thread;
  }

  RunContext context;
  std::vector<std::unique_ptr<const FileRow>> rows;
  std::vector<std::unique_ptr<const Content>> contents;
  std::vector<std::unique_ptr<WorkContext>> works;
  std::vector<std::unique_ptr<FormatThread::Shared>> formats;
  std::vector<const Events*> counted;
};

std::unique_ptr<Runs::Threads> FileRuns::make_threads(const PlannedRun& run, const Shared& shared) {
  auto all = std::make_unique<FileThreads>(RunContext{shared.pace, shared.errors, expectations(run), umask_, runs_,
                                                      definitions_.general.validation, shared.validation});
  RankMessages& messages = shared.messages;
  unsigned number = 0;
  for (unsigned w = 0; w < run.file_works.size(); ++w) {
    const FileWork& work = run.file_works[w];
    Anchor& anchor = *tree_of(run.systems[work.system]).anchor;
    Anchor* target = work.workload.target ? tree_of(run.systems[*work.workload.target]).anchor.get() : nullptr;
    WorkContext& context = *all->works.emplace_back(new WorkContext{all->context, work, w, anchor, target});
    if (const ContentSettings content = own_content(run.content, run.systems[work.system].content); content.given()) {
      all->rows.push_back(std::make_unique<const FileRow>(anchor.structure(), Content::unit_of(content)));
      all->contents.push_back(std::make_unique<const Content>(content, "anchor=" + anchor.name(), all->rows.back()->size()));
      context.content = all->contents.back().get();
      context.content_row = all->rows.back().get();
    }
    const unsigned threads = work.workload.threads;
    const RankSlice& dealt = shared.dealt[w];
    unsigned own = 0, turn = 0;
    for (unsigned i = 0; i < threads; ++i) own += dealt.has(i);
    if (run.formats) {
      std::function<void()> report_made;
      if (leads(anchor.name())) report_made = [&messages, w] { messages.made_directories(w); };
      all->formats.push_back(
          std::make_unique<FormatThread::Shared>(own, report_made, [&messages, w] { return messages.directories_made(w); }));
    }
    for (unsigned i = 0; i < threads; ++i, ++number) {
      if (!dealt.has(i)) continue;
      std::unique_ptr<SimThread> thread =
          run.formats ? all->count(std::make_unique<FormatThread>(context, *all->formats.back(), run.format, number, turn++))
                      : all->count(std::make_unique<FileThread>(context, number));
      all->parts.push_back({std::move(thread), anchor.target_index(), number});
    }
  }
  return all;
}

std::vector<FileDeal> FileRuns::deal(const PlannedRun& run) {
  std::vector<std::vector<uint32_t>> used;
  if (ranks_.several() && !run.formats)
    for (const FileWork& work : run.file_works) {
      const FileSystem& system = run.systems[work.system];
      used.push_back(is_elsewhere(system) ? std::vector<uint32_t>() : tree_of(system).anchor->structure().chosen_by(system));
    }
  return tree_ranks_.deal(run, used, ranks_.cluster().rank());
}

// Data validation of trees: their blocks, journals and recovery.
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
