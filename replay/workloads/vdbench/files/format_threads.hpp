// SPDX-License-Identifier: Apache-2.0
// Threads that survey a tree, remove files of an earlier run, or make the complete tree. Several threads of one kind divide the
// work on an anchor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/task.hpp"
#include "threads/barrier.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"

namespace fsr::vdbench {

// Tells the anchor which of its directories and files exist, and the sizes of files. Only files with numbers in `files` are
// surveyed.
class SurveyThread final : public SimThread {
 public:
  struct Shared {
    Anchor& anchor;
    const RankSlice files;
    Barrier levels;
    std::atomic<uint64_t> next{0};
    std::atomic<int> error{0};  // first errno except ENOENT
    Shared(Anchor& a, const RankSlice& f, unsigned threads) : anchor(a), files(f), levels(threads) {}
  };
  explicit SurveyThread(Shared& shared) : shared_(shared) {}
  SimTask run(SimContext& sim) override;

 private:
  Shared& shared_;
};

// Removes entries with vdbench's names from the anchor, with everything below them. Other entries stay.
class CleanThread final : public SimThread {
 public:
  // `number`: of this thread, below `threads`.
  CleanThread(Anchor& anchor, unsigned number, unsigned threads) : anchor_(anchor), number_(number), threads_(threads) {}
  SimTask run(SimContext& sim) override;

  uint64_t files = 0, directories = 0;
  std::string failure;  // the first failure, one line

 private:
  Task empty(SimContext& sim, ObjectId directory, const std::string& path, bool share);
  Task remove(SimContext& sim, ObjectId parent, const std::string& name, const std::string& path);
  void failed(const std::string& path, int error);

  Anchor& anchor_;
  const unsigned number_, threads_;
};

// One thread of a format: makes directories by depth, then files with their content. With several ranks, only one makes the
// directories.
class FormatThread final : public TreeThread {
 public:
  struct Shared {
    const unsigned threads;  // number of threads on this rank
    // report_made() reports that all directories exist; the rank that makes them calls it. made() returns whether they exist; the
    // other ranks call it. Any thread.
    const std::function<void()> report_made;  // null: another rank makes the directories
    const std::function<bool()> made;
    Barrier levels;
    std::atomic<uint64_t> next{0};  // next index in the anchor's chosen()
    Shared(unsigned p, std::function<void()> report, std::function<bool()> m)
        : threads(p), report_made(std::move(report)), made(std::move(m)), levels(p) {}
  };
  // `number`: of this thread among those of all ranks. `turn`: of this thread among those of this rank.
  FormatThread(WorkContext& context, Shared& shared, const Format& format, unsigned number, unsigned turn)
      : TreeThread(context, number, true), shared_(shared), format_(format), turn_(turn) {}
  SimTask run(SimContext& sim) override;

 private:
  Task make_directories(SimContext& sim);  // returns 0, or ECANCELED if the run ends early
  Task make_file(SimContext& sim, uint32_t file);

  Shared& shared_;
  const Format& format_;
  const unsigned turn_;
};

}  // namespace fsr::vdbench
