// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/file_runs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <stdexcept>
#include <utility>

#include "workloads/vdbench/files/file_thread.hpp"
#include "workloads/vdbench/language/definitions.hpp"

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

}  // namespace fsr::vdbench
