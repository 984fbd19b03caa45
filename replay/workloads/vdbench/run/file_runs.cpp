// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/file_runs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <stdexcept>
#include <utility>

#include "workloads/vdbench/files/file_thread.hpp"
#include "workloads/vdbench/language/checks.hpp"

namespace fsr::vdbench {

namespace {

uint32_t current_umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

Expectations expectations(const PlannedRun& run) {
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

}  // namespace

FileRuns::FileRuns(const Definitions& definitions, Clock& clock, const std::atomic<int>& stop, Reports& reports, RankGroup& ranks,
                   const RankHosts& hosts)
    : definitions_(definitions),
      clock_(clock),
      stop_(stop),
      reports_(reports),
      ranks_(ranks),
      hosts_(hosts),
      umask_(current_umask()),
      runner_(clock) {}

FileRuns::FileRunSetup FileRuns::setup(const PlannedRun& run, RunContext& context, const std::vector<RankSlice>& all_dealt,
                                       RankMessages& messages) {
  FileRunSetup setup;
  unsigned number = 0;
  for (unsigned w = 0; w < run.file_works.size(); ++w) {
    const FileWork& work = run.file_works[w];
    Anchor& anchor = *tree_of(run.systems[work.system]).anchor;
    Anchor* target = work.workload.target ? tree_of(run.systems[*work.workload.target]).anchor.get() : nullptr;
    setup.works.emplace_back(new WorkContext{context, work, w, anchor, target});
    if (const ContentSettings content = own_content(run.content, run.systems[work.system].content); content.given()) {
      setup.rows.push_back(std::make_unique<const FileRow>(anchor.structure(), Content::unit_of(content)));
      setup.contents.push_back(std::make_unique<const Content>(content, "anchor=" + anchor.name(), setup.rows.back()->size()));
      setup.works.back()->content = setup.contents.back().get();
      setup.works.back()->content_row = setup.rows.back().get();
    }
    const unsigned threads = work.workload.threads;
    const RankSlice& dealt = all_dealt[w];
    unsigned own = 0, turn = 0;
    for (unsigned i = 0; i < threads; ++i) own += dealt.has(i);
    if (run.formats) {
      std::function<void()> report_made;
      if (makes_tree(anchor.name())) report_made = [&messages, w] { messages.made_directories(w); };
      setup.formats.push_back(
          std::make_unique<FormatThread::Shared>(own, report_made, [&messages, w] { return messages.directories_made(w); }));
    }
    for (unsigned i = 0; i < threads; ++i, ++number) {
      if (!dealt.has(i)) continue;
      std::unique_ptr<SimThread> thread;
      if (run.formats) {
        auto one = std::make_unique<FormatThread>(*setup.works.back(), *setup.formats.back(), run.format, number, turn++);
        setup.events.push_back(&one->events());
        thread = std::move(one);
      } else {
        auto one = std::make_unique<FileThread>(*setup.works.back(), number);
        setup.events.push_back(&one->events());
        thread = std::move(one);
      }
      setup.parts.push_back({std::move(thread), anchor.target_index(), number});
    }
  }
  return setup;
}

std::vector<RankSlice> FileRuns::deal(const PlannedRun& run) {
  const unsigned rank = ranks_.cluster().rank();
  std::vector<std::vector<uint32_t>> used;
  PlannedRun shared = run;
  shared.file_works.clear();
  for (const FileWork& work : run.file_works) {
    const FileSystem& system = run.systems[work.system];
    if (owner_of(system.anchor) != Owner::all) continue;
    shared.file_works.push_back(work);
    if (ranks_.several() && !run.formats) used.push_back(tree_of(system).anchor->structure().chosen_by(system));
  }
  const RankSlice of_shared = deal_files(shared, used, rank, ranks_.cluster().size());
  std::vector<RankSlice> dealt;
  for (const FileWork& work : run.file_works) {
    const Owner owner = owner_of(run.systems[work.system].anchor);
    dealt.push_back(owner == Owner::all ? of_shared : owner == Owner::this_rank ? RankSlice() : RankSlice{0, 0});
  }
  return dealt;
}

RunRecord FileRuns::perform(const PlannedRun& run, bool* ends_all) {
  const std::vector<RankSlice> dealt = deal(run);
  prepare(run, dealt);
  std::vector<PaceShare> shares;
  for (const FileWork& work : run.file_works)
    shares.push_back({.share = work.share, .threads = work.workload.threads, .dealt = dealt[shares.size()]});
  PaceOptions options{.rate = run.rate.kind == Rate::fixed && !run.formats ? run.rate.value : 0};
  options.arrival = Arrival(run.run->distribution);
  options.queue = definitions_.general.queue;
  if (!run.formats) options.steps = timed_steps(*run.run);
  options.spike = run.run->spike && !run.formats;
  options.seed = runs_;
  Pace pace(shares, options);
  std::atomic<bool> over = false;
  RankMessages messages(ranks_, over, stop_, run.file_works.size(), run.formats && !run.format.clean);
  auto note_error = [this](const std::string& line, const ErrorLocation&) { reports_.error(line); };
  ErrorLog errors(limits_of(definitions_.general), over,
                  [&](const std::string& line, const ErrorLocation& location) { messages.error(line, location, note_error); });
  ValidatedRun checks{.name = run.name, .rank = ranks_.cluster().rank()};
  RunContext context{pace, errors, expectations(run), umask_, runs_, definitions_.general.validation, checks};
  FileRunSetup setup = this->setup(run, context, dealt, messages);
  for (const FileWork& work : run.file_works)
    if (const ValidatedStorage* its = tree_of(run.systems[work.system]).anchor->validated(); its && its->journal)
      its->journal->begin_run(run.name, checks.rank);
  RunOutcome performed =
      vdbench::perform(runner_, setup.parts, run, reports_, messages, {&stop_, &over, definitions_.general.monitor, &errors});
  for (const Events* its : setup.events)
    for (size_t i = 0; i < kEvents; ++i) performed.own.events[i] += (*its)[i];
  performed.own.wrong_blocks = checks.bad.lines();
  messages.gather(performed.own, performed.record);
  error_count_ += performed.record.errors;
  *ends_all = performed.ends_all;
  reports_.end(performed.record);
  messages.check([&] {
    if (!performed.failure.empty()) throw std::runtime_error(performed.failure);
  });
  for (const FileWork& work : run.file_works) begin_journal(tree_of(run.systems[work.system]));
  messages.check([&] {
    if (performed.own.threads) end_validation(checks, run, definitions_.general, stop_, reports_);
    if (ranks_.cluster().root()) end_at_errors(errors, "rd=" + run.name, definitions_.general, reports_);
  });
  forget_unmade(run);
  return std::move(performed.record);
}

}  // namespace fsr::vdbench
