// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/loops.hpp"

#include <fmt/format.h>

#include <string_view>

#include "workloads/vdbench/language/section_tables.hpp"

namespace fsr::vdbench {

namespace {

uint64_t count(const Loop& loop, const Number& n, uint64_t least, uint64_t most) {
  const auto whole = whole_part(n, least, most);
  if (!whole)
    throw ParameterError(loop.position, fmt::format("{}={}: expected a whole number from {} to {}", loop.name, n.text,
                                                    size_text(double(least)), size_text(double(most))));
  return *whole;
}

double percentage(const Loop& loop, const Number& n) {
  if (n.value < 0 || n.value > 100)
    throw ParameterError(loop.position, fmt::format("{}={}: expected 0 to 100", loop.name, n.text));
  return n.value;
}

uint64_t sectors(const Loop& loop, const Number& n, uint64_t unit = 512) {
  const uint64_t bytes = count(loop, n, unit, 1u << 30);
  if (bytes % unit) throw ParameterError(loop.position, fmt::format("{}={}: expected a multiple of {}", loop.name, n.text, unit));
  return bytes;
}

TransferSizes one_size(uint64_t bytes) {
  TransferSizes sizes;
  sizes.shares = {{bytes, 100}};
  return sizes;
}

void bytes_or_percent(const Loop& loop, const Number& n, uint64_t& bytes, bool& percent) {
  if (n.value < 1 || n.value > 1e15)
    throw ParameterError(loop.position, fmt::format("{}={}: expected bytes or a percentage", loop.name, n.text));
  bytes = uint64_t(n.value);
  percent = n.percent;
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
    const bool typed = !loops[i].sizes.empty() || !loops[i].operations.empty() || loops[i].of_rates();
    text +=
        fmt::format("{}{}={}{}", i ? " " : "", shown_name(loops[i]), typed ? n.text : size_text(n.value), n.percent ? "%" : "");
  }
  return text.empty() ? "None" : text;
}

bool shapes_files(const Loop& loop) {
  const std::string_view name = loop.name;
  return name == "depth" || name == "width" || name == "files" || name == "size" || name == "totalsize";
}

void set_value(PlannedRun& run, const Loop& loop, size_t at) {
  const std::string_view name = loop.name;
  const Number& n = loop.numbers[at];
  const bool files = !run.systems.empty();
  auto only_raw = [&] {
    if (files) throw ParameterError(loop.position, fmt::format("{}= is for SDs, expected a loop of FSDs", loop.name));
  };
  auto only_files = [&] {
    if (!files) throw ParameterError(loop.position, fmt::format("{}= is for FSDs, expected a loop of SDs", loop.name));
  };
  if (loop.of_rates()) {
    run.rate = run.run->rates[at];
  } else if (name == "xfersize") {
    const TransferSizes sizes = one_size(sectors(loop, n, files ? 1 : 512));
    for (Workload& w : run.workloads) w.transfers = sizes;
    for (FileWork& w : run.file_works) w.workload.transfers = sizes;
  } else if (name == "threads") {
    const auto threads = unsigned(count(loop, n, 1, 100'000));
    for (Storage& s : run.storages) s.threads = threads;
    for (Workload& w : run.workloads) w.threads = threads;
    for (FileWork& w : run.file_works) w.workload.threads = threads;
  } else if (name == "rdpct") {
    for (Workload& w : run.workloads) w.read_percent = percentage(loop, n);
    for (FileWork& w : run.file_works) w.workload.read_percent = percentage(loop, n);
  } else if (name == "compratio") {
    if (n.value < 1 || n.value > 25) throw ParameterError(loop.position, fmt::format("compratio={}: expected 1 to 25", n.text));
    run.content.compression = n.value;
  } else if (name == "seekpct") {
    only_raw();
    for (Workload& w : run.workloads) apply(workload_keywords(), w, loop.sizes[at], "rd=");
  } else if (name == "rhpct" || name == "whpct") {
    only_raw();
    for (Workload& w : run.workloads) (name == "rhpct" ? w.read_hits : w.write_hits) = percentage(loop, n);
  } else if (name == "hitarea") {
    only_raw();
    for (Storage& s : run.storages) s.hit_area = sectors(loop, n);
  } else if (name == "operations") {
    only_files();
    for (FileWork& w : run.file_works) w.workload.operation = loop.operations[at];
  } else {
    only_files();
    for (FileSystem& f : run.systems) {
      if (name == "depth")
        f.depth = count(loop, n, 1, 64);
      else if (name == "width")
        f.width = count(loop, n, 1, 10'000'000);
      else if (name == "files")
        f.files = count(loop, n, 1, 10'000'000);
      else if (name == "size")
        f.sizes = {{count(loop, n, 0, 1'000'000'000'000'000), 100}};
      else if (name == "totalsize")
        bytes_or_percent(loop, n, f.total, f.total_percent);
      else
        bytes_or_percent(loop, n, f.working_set, f.working_set_percent);
    }
  }
}

}  // namespace fsr::vdbench
