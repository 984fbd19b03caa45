// SPDX-License-Identifier: Apache-2.0
#include "model/courses.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

namespace fsr {

namespace {

constexpr int64_t kShortestPart = 40'000;  // of the span: a shorter pause is not kept

constexpr double kNoRank = -1;

// Calls `visit` with the number of each step but the first, and the pause before it in ns.
template <class Visit>
void each_pause(const LearnedThread& thread, Visit visit) {
  int64_t end = thread.steps.empty() ? 0 : thread.steps[0].end();
  for (size_t i = 1; i < thread.steps.size(); end = std::max(end, thread.steps[i++].end()))
    visit(i, std::max<int64_t>(0, thread.steps[i].start - end));
}

// Returns the references of a symbol that are names.
std::vector<Reference*> references(Symbol& s) {
  std::vector<Reference*> names;
  for (Reference* r : {&s.object, &s.parent, &s.second})
    if (r->relation == Relation::hot || r->relation == Relation::name) names.push_back(r);
  return names;
}

}  // namespace

double middle_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
}

size_t typical_run(const std::vector<LearnedThread>& threads, const std::vector<std::pair<int64_t, int64_t>>& runs) {
  constexpr size_t kParts = 32;  // of the longest run
  int64_t longest = 1;
  for (const auto& [first, last] : runs) longest = std::max(longest, last - first);
  std::vector<std::array<double, kParts>> begun(runs.size());  // steps in each part
  for (const LearnedThread& t : threads)
    for (const LearnedStep& step : t.steps)
      ++begun[t.run][std::min(kParts - 1, size_t(double(step.start - runs[t.run].first) / double(longest) * kParts))];
  std::array<double, kParts> middle{};  // of the sums up to each part
  for (size_t i = 0; i < kParts; ++i) {
    std::vector<double> sums;
    for (auto& of_run : begun) sums.push_back(of_run[i] += i ? of_run[i - 1] : 0);
    middle[i] = middle_of(std::move(sums));
  }
  const auto far = [&](const auto& of_run) {
    double sum = 0;
    for (size_t i = 0; i < kParts; ++i) sum += std::abs(of_run[i] - middle[i]);
    return sum;
  };
  const auto nearest =
      std::min_element(begun.begin(), begun.end(), [&](const auto& a, const auto& b) { return far(a) < far(b); });
  return size_t(nearest - begun.begin());
}

int64_t long_pause(const std::vector<LearnedThread>& threads, size_t run, int64_t span, size_t most) {
  std::vector<int64_t> pauses;
  for (const LearnedThread& t : threads)
    if (t.run == run)
      each_pause(t, [&](size_t, int64_t pause) {
        if (pause >= span / kShortestPart) pauses.push_back(pause);
      });
  if (pauses.size() <= most) return std::max<int64_t>(1, span / kShortestPart);
  std::nth_element(pauses.begin(), pauses.begin() + ptrdiff_t(most), pauses.end(), std::greater<>());
  return pauses[most] + 1;
}

std::vector<std::vector<double>> ranks_of(const std::vector<LearnedThread>& threads, size_t run,
                                          const std::vector<Symbol>& symbols, int64_t least) {
  constexpr size_t kFew = 8;  // times whose order tells little
  std::vector<std::vector<double>> ranks(threads.size());
  std::map<std::array<uint32_t, 3>, std::vector<std::pair<int64_t, double*>>> times;  // by what a model knows of them
  for (size_t i = 0; i < threads.size(); ++i) {
    const LearnedThread& t = threads[i];
    if (t.run != run) continue;
    ranks[i].resize(t.steps.size(), kNoRank);
    const auto symbol = [&](size_t at) -> const Symbol& { return symbols[t.steps[at].symbol - 1]; };
    each_pause(t, [&](size_t at, int64_t pause) {
      const uint32_t kind = step_kind(symbol(at));
      if (pause < least && kind != kWaitsKind)
        times[{t.number, step_kind(symbol(at - 1)), kind}].emplace_back(pause, &ranks[i][at]);
    });
  }
  for (auto& [key, samples] : times) {
    if (samples.size() < kFew) continue;
    std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t from = 0, to = 0; from < samples.size(); from = to) {
      while (to < samples.size() && samples[to].first == samples[from].first) ++to;
      for (size_t i = from; i < to; ++i) *samples[i].second = double(from + to) / 2 / double(samples.size());
    }
  }
  return ranks;
}

std::vector<Course> courses_of(const std::vector<LearnedThread>& threads, std::vector<size_t> members,
                               const std::vector<std::vector<double>>& ranks, int64_t first, int64_t least) {
  const auto microsecond = [&](int64_t time) { return uint64_t(std::max<int64_t>(0, time - first) / 1000); };
  std::stable_sort(members.begin(), members.end(), [&](size_t a, size_t b) { return threads[a].first() < threads[b].first(); });
  std::vector<Course> courses;
  for (size_t i : members) {
    Course& c = courses.emplace_back();
    c.root = threads[i].parent == kNoThread;
    c.start = microsecond(threads[i].first());
    for (const LearnedStep& step : threads[i].steps) c.steps.push_back(step.symbol);
    each_pause(threads[i], [&](size_t at, int64_t pause) {
      if (pause >= least) c.pauses.emplace_back(uint32_t(at), microsecond(threads[i].steps[at].start));
    });
    each_stretch(c, [&](size_t from, size_t to) {
      double sum = 0, n = 0;
      for (size_t at = from; at < to; ++at)
        if (ranks[i][at] != kNoRank) sum += ranks[i][at], ++n;
      c.pace.resize(to, n ? uint8_t(sum / n * kPaces) : kPaces / 2);
    });
  }
  return courses;
}

// Leaves out names that no symbol has, and that are the directory of none that has one.
static void keep_used_names(LoadModel& model) {
  std::vector<bool> used(model.hot.size());
  for (Symbol& s : model.symbols)
    for (const Reference* r : references(s)) used[r->bucket] = true;
  for (size_t i = used.size(); i-- > 0;)
    if (used[i] && model.hot[i].parent) used[model.hot[i].parent - 1] = true;
  std::vector<uint32_t> numbers;  // new ones by old ones, from 1
  std::vector<OftenUsedName> kept;
  std::map<uint32_t, uint32_t> first;  // of equal names, by old number
  for (size_t i = 0; i < used.size(); ++i) {
    numbers.push_back(uint32_t(kept.size() + 1));
    if (!used[i]) continue;
    OftenUsedName& name = kept.emplace_back(model.hot[i]);
    if (name.parent) name.parent = numbers[name.parent - 1];
    const uint32_t same = name.same ? name.same : uint32_t(i + 1);
    const auto [known, news] = first.try_emplace(same, numbers[i]);
    name.same = news ? 0 : known->second;
  }
  for (Symbol& s : model.symbols)
    for (Reference* r : references(s)) r->bucket = uint16_t(numbers[r->bucket] - 1);
  model.hot = std::move(kept);
}

void keep_used(LoadModel& model) {
  std::vector<SymbolId> numbers(model.symbols.size() + 1);  // new ones by old ones
  std::vector<Symbol> used;
  for (ProcessClass& c : model.classes)
    for (Course& course : c.courses)
      for (SymbolId& id : course.steps) {
        SymbolId& number = numbers[id];
        if (!number) {
          used.push_back(model.symbols[id - 1]);
          number = SymbolId(used.size());
        }
        id = number;
      }
  model.symbols = std::move(used);
  keep_used_names(model);
  std::erase_if(model.sizes, [&](const auto& row) {
    const uint32_t kind = row.first.first, size_class = row.first.second;
    if (kind == uint32_t(OpKind::lookup) || is_listing(OpKind(kind)) || size_class == kBeyondEnd) return false;
    return std::none_of(model.symbols.begin(), model.symbols.end(),
                        [&](const Symbol& s) { return uint32_t(s.kind) == kind && s.size == size_class && !s.bytes; });
  });
}

}  // namespace fsr
