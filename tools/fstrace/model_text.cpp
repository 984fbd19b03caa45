// SPDX-License-Identifier: Apache-2.0
#include "model_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

// Operations of one run by kind.
std::vector<std::pair<double, OpKind>> kinds(const LoadModel& model) {
  std::vector<std::pair<double, OpKind>> of(kOpKinds);
  for (size_t k = 0; k < kOpKinds; ++k) of[k].second = OpKind(k);
  each_symbol(model, [&](uint32_t, SymbolId symbol, double n) { of[size_t(model.symbols[symbol - 1].kind)].first += n; });
  std::erase_if(of, [](const auto& k) { return k.first == 0; });
  std::sort(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return of;
}

}  // namespace

std::string content_text(const LoadModel& m) {
  size_t courses = 0;
  for (const ProcessClass& c : m.classes) courses += c.courses.size();
  return fmt::format("{} symbols, {} {}", format_count(m.symbols.size()), format_count(courses ? courses : m.contexts.size()),
                     courses ? "courses" : "contexts");
}

std::string model_text(const LoadModel& m) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "model      {} operations in {}, learned from {} trace{} by {}\n", format_count(m.operations),
                 format_duration(m.span), m.runs, m.runs == 1 ? "" : "s", escape_text(m.program));
  fmt::format_to(out, "content    {}\n", content_text(m));
  if (m.dropped) fmt::format_to(out, "left out   {} operations, rare or impossible to make up\n", format_count(m.dropped));
  for (const ProcessClass& c : m.classes)
    fmt::format_to(out, "processes  {:g} of {}, {} operations each, {} at once\n", c.processes, escape_text(c.command),
                   format_count(uint64_t(c.operations / c.processes)), c.at_once);
  for (const auto& [n, kind] : kinds(m))
    fmt::format_to(out, "kind       {:<16} {:>12} {:>6.2f} %\n", op_name(kind), format_count(uint64_t(n)),
                   n * 100 / double(std::max<uint64_t>(1, m.operations)));
  for (const auto& [aspect, distance] : m.between_runs)
    fmt::format_to(out, "own        {:<12} {:.3f} between two runs\n", escape_text(aspect), distance);
  return text;
}

}  // namespace fsr::fstrace
