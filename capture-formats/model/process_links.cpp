// SPDX-License-Identifier: Apache-2.0
#include "model/process_links.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "model/quantiles.hpp"

namespace fsr {

namespace {

using ProcessKey = std::tuple<size_t, uint32_t, int32_t>;  // run, client, pid

// Numbers of processes come again, so the latest one that began before `time` is meant.
size_t latest(const std::map<ProcessKey, std::vector<size_t>>& processes, const std::vector<LearnedThread>& threads,
              ProcessKey key, int64_t time) {
  auto found = processes.find(key);
  if (found == processes.end()) return kNoThread;
  size_t best = kNoThread;
  for (size_t i : found->second)
    if (threads[i].first() <= time && (best == kNoThread || threads[i].first() > threads[best].first())) best = i;
  return best;
}

}  // namespace

int64_t LearnedStep::end() const { return start + int64_t(time_of_code(duration)); }

int64_t LearnedThread::end() const {
  int64_t last = 0;
  for (const LearnedStep& step : steps) last = std::max(last, step.end());
  return last;
}

void link_processes(std::vector<LearnedThread>& threads, uint64_t least) {
  std::map<ProcessKey, std::vector<size_t>> main_threads;
  for (size_t i = 0; i < threads.size(); ++i)
    if (const LearnedThread& t = threads[i]; t.pid && t.tid == t.pid && !t.steps.empty())
      main_threads[{t.run, t.client, t.pid}].push_back(i);
  std::map<ProcessKey, std::vector<size_t>> silent;  // children of processes that made no operations
  for (size_t i = 0; i < threads.size(); ++i) {
    LearnedThread& t = threads[i];
    if (t.steps.empty() || !t.pid) continue;
    const int32_t parent = t.tid != t.pid ? t.pid : t.ppid;
    if (!parent) continue;
    t.parent = latest(main_threads, threads, {t.run, t.client, parent}, t.first());
    if (t.parent == kNoThread) silent[{t.run, t.client, parent}].push_back(i);
  }
  for (const auto& [key, children] : silent) {
    if (children.size() < 2) continue;
    for (size_t i : children) threads[i].parent = threads.size();
    LearnedThread& made = threads.emplace_back();
    std::tie(made.run, made.client, made.pid) = key;
  }
  std::map<std::pair<std::string, std::string>, uint64_t> pairs;
  for (const LearnedThread& t : threads)
    if (t.parent != kNoThread) ++pairs[{threads[t.parent].command, t.command}];
  for (LearnedThread& t : threads)
    if (t.parent != kNoThread && pairs[{threads[t.parent].command, t.command}] < least) t.parent = kNoThread;
}

void add_process_steps(std::vector<LearnedThread>& threads, const std::function<SymbolId(ProcessStep, uint32_t)>& symbol) {
  std::map<size_t, std::vector<size_t>> children;
  for (size_t i = 0; i < threads.size(); ++i)
    if (threads[i].parent != kNoThread) children[threads[i].parent].push_back(i);
  std::map<size_t, std::vector<LearnedStep>> steps;
  for (const auto& [parent, its] : children) {
    std::vector<LearnedStep>& all = steps[parent] = threads[parent].steps;
    for (size_t i : its) all.push_back({threads[i].first(), symbol(ProcessStep::starts, threads[i].number), 0});
    const auto by_start = [](const LearnedStep& a, const LearnedStep& b) { return a.start < b.start; };
    std::stable_sort(all.begin(), all.end(), by_start);
    std::vector<LearnedStep> waits;
    for (size_t i : its) {
      // A parent that goes on soon after the end of a child, and did nothing for longer before it, has waited for that end.
      const LearnedStep end{threads[i].end(), symbol(ProcessStep::waits, threads[i].number), 0};
      const auto next = std::lower_bound(all.begin(), all.end(), end, by_start);
      if (next == all.begin() || next == all.end()) continue;
      if (next->start - end.start <= end.start - std::prev(next)->end()) waits.push_back(end);
    }
    all.insert(all.end(), waits.begin(), waits.end());
    std::stable_sort(all.begin(), all.end(), by_start);
  }
  for (auto& [parent, its] : steps) threads[parent].steps = std::move(its);
}

}  // namespace fsr
