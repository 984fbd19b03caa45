// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

// Parameters that a loop sets, by section. Null: none of that section.
struct LoopTargets {
  std::string_view loop;
  const char *general, *storage, *workload, *system, *file_workload;
  bool of_files() const { return system || file_workload || general; }
  bool of_storages() const { return storage || workload || general; }
};

constexpr LoopTargets kTargets[] = {
    {"xfersize", nullptr, nullptr, "xfersize", nullptr, "xfersizes"},
    {"threads", nullptr, "threads", "threads", nullptr, "threads"},
    {"rdpct", nullptr, nullptr, "rdpct", nullptr, "rdpct"},
    {"rhpct", nullptr, nullptr, "rhpct", nullptr, nullptr},
    {"whpct", nullptr, nullptr, "whpct", nullptr, nullptr},
    {"seekpct", nullptr, nullptr, "seekpct", nullptr, nullptr},
    {"hitarea", nullptr, "hitarea", nullptr, nullptr, nullptr},
    {"compratio", "compratio", nullptr, nullptr, nullptr, nullptr},
    {"operations", nullptr, nullptr, nullptr, nullptr, "operation"},
    {"depth", nullptr, nullptr, nullptr, "depth", nullptr},
    {"width", nullptr, nullptr, nullptr, "width", nullptr},
    {"files", nullptr, nullptr, nullptr, "files", nullptr},
    {"size", nullptr, nullptr, nullptr, "sizes", nullptr},
    {"totalsize", nullptr, nullptr, nullptr, "totalsize", nullptr},
    {"wss", nullptr, nullptr, nullptr, "wss", nullptr},
};

// Sets `keyword`, if it is not null, in all definitions, to the value of `parameter`.
template <class T>
void apply_to(std::vector<T>& definitions, std::span<const Keyword<T>> table, const char* keyword, Parameter parameter) {
  if (!keyword) return;
  parameter.keyword = keyword;
  for (T& one : definitions) apply(table, one, parameter, "rd=");
}

// Returns the name of a loop in vdbench's "For loops:".
std::string_view shown_name(const Loop& loop) {
  if (loop.name == "size") return "sizes";
  if (loop.name == "operations") return "operation";
  return loop.name == "compratio" ? "comp" : loop.name;
}

}  // namespace

void each_round(const std::vector<Loop>& loops, const std::function<void(const std::vector<size_t>&)>& act) {
  std::vector<size_t> at(loops.size(), 0);
  for (;;) {
    act(at);
    size_t i = loops.size();
    while (i > 0 && ++at[i - 1] == loops[i - 1].numbers.size()) at[--i] = 0;
    if (i == 0) return;
  }
}

std::string round_text(const std::vector<Loop>& loops, const std::vector<size_t>& at) {
  std::string text;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Number& n = loops[i].numbers[at[i]];
    text += fmt::format("{}{}={}{}", i ? " " : "", shown_name(loops[i]), loops[i].as_typed ? n.text : size_text(n.value),
                        n.percent ? "%" : "");
  }
  return text.empty() ? "None" : text;
}

bool shapes_files(const Loop& loop) {
  const std::string_view name = loop.name;
  return name == "depth" || name == "width" || name == "files" || name == "size" || name == "totalsize";
}

void set_value(PlannedRun& run, const Loop& loop, size_t at) {
  if (loop.of_rates()) return void(run.rate = run.run->rates[at]);
  const LoopTargets& targets = *std::ranges::find(kTargets, loop.name, &LoopTargets::loop);
  const bool files = !run.systems.empty();
  if (files ? !targets.of_files() : !targets.of_storages())
    throw ParameterError(loop.position, "{}= is for {}, expected a loop of {}", loop.name, files ? "SDs" : "FSDs",
                         files ? "FSDs" : "SDs");
  const Number& n = loop.numbers[at];
  const std::string text = n.text + (n.percent && !n.text.ends_with('%') ? "%" : "");
  const Parameter value{
      .keyword = std::string(loop.name), .position = loop.position, .values = {{.text = text, .position = loop.position}}};
  if (targets.general) run.content = own_content(run.content, {value});
  apply_to(run.storages, storage_keywords(), targets.storage, value);
  apply_to(run.workloads, workload_keywords(), targets.workload, value);
  apply_to(run.systems, file_system_keywords(), targets.system, value);
  std::vector<FileWorkload> file_workloads;
  for (const FileWork& work : run.file_works) file_workloads.push_back(work.workload);
  apply_to(file_workloads, file_workload_keywords(), targets.file_workload, value);
  for (size_t i = 0; i < file_workloads.size(); ++i) run.file_works[i].workload = file_workloads[i];
}

}  // namespace fsr::vdbench
