// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/flat_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace fsr::vdbench {

namespace {

using FlatColumns = std::vector<FlatColumn>;

constexpr const char* kUnknown = "n/a";
// Rates that mean "max" and a curve, as 5.04 writes them.
constexpr double kMaxRate = 9'999'988, kCurveRate = 9'999'977;
constexpr unsigned kAllOperations = kOperations;  // index of all requested operations

std::string decimal(double value) { return fmt::format("{:.4f}", value); }

double asked_rate(const PlannedRun& run) {
  return run.formats || run.rate.kind == Rate::max ? kMaxRate : run.rate.kind == Rate::curve ? kCurveRate : run.rate.value;
}

// Returns the value that all works have. "n/a": they differ.
template <class Value>
std::string alike(const PlannedRun& run, Value value) {
  const auto first = value(run.raw_works.front());
  for (const RawWork& work : run.raw_works)
    if (value(work) != first) return kUnknown;
  if constexpr (std::is_integral_v<decltype(value(run.raw_works.front()))>) return first ? std::to_string(first) : kUnknown;
  return decimal(double(first));
}

// Returns the number of threads of one SD, if all have the same number.
unsigned threads_of_storage(const PlannedRun& run, const RawWork& work) {
  unsigned threads = 0;
  for (const RawWork& other : run.raw_works)
    if (other.storage == work.storage) threads += other.threads;
  return threads;
}

double storage_gibibytes(const PlannedRun& run) {
  double bytes = 0;
  for (size_t i = 0; i < run.storages.size(); ++i)
    if (std::any_of(run.raw_works.begin(), run.raw_works.end(), [i](const RawWork& work) { return work.storage == i; }))
      bytes += double(run.storages[i].size);
  return bytes / (1 << 30);
}

// Returns the number of threads that all FWDs have.
std::string threads_of_workloads(const PlannedRun& run) {
  std::vector<std::pair<std::string, unsigned>> all;
  for (const FileWork& work : run.file_works) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == work.workload.name; });
    if (at == all.end())
      all.emplace_back(work.workload.name, work.workload.threads);
    else
      at->second += work.workload.threads;
  }
  const bool same = std::all_of(all.begin(), all.end(), [&](const auto& one) { return one.second == all.front().second; });
  return all.empty() || !same ? kUnknown : std::to_string(all.front().second);
}

const KindCounters& cell(const RunLine& line, unsigned which) {
  return which == kAllOperations ? line.all.requested : line.all.operations[which];
}
unsigned index(Operation operation) { return unsigned(operation); }

// Makes a column of one figure of one operation, or of all that are requested.
using Figure = double (*)(const KindCounters&);
FlatColumn figure(std::string name, std::string words, unsigned which, Figure of) {
  return {std::move(name), std::move(words),
          [which, of](const RunRecord&, const RunLine& line) { return decimal(of(cell(line, which))); }};
}
FlatColumn rate_column(std::string name, std::string words, unsigned which) {
  return {std::move(name), std::move(words),
          [which](const RunRecord&, const RunLine& line) { return decimal(rate(cell(line, which), line.seconds)); }};
}

// Adds a rate and a response time; in 5.04.07's layout with the deviation and the maximum of each.
void add_rate(FlatColumns& all, const std::string& name, const std::string& words, unsigned which, Layout layout) {
  all.push_back(rate_column(name, words, which));
  if (layout != Layout::v50407) return;
  all.push_back({name + "_std", words + " stddev, of intervals",
                 [which](const RunRecord&, const RunLine& line) { return decimal(line.rates[which].deviation()); }});
  all.push_back({name + "_max", words + " max, of intervals",
                 [which](const RunRecord&, const RunLine& line) { return decimal(line.rates[which].most); }});
}
void add_response(FlatColumns& all, const std::string& name, const std::string& words, unsigned which, Layout layout) {
  all.push_back(figure(name, words, which, mean_ms));
  if (layout != Layout::v50407) return;
  all.push_back(figure(name + "_std", words + " stddev", which, deviation_ms));
  all.push_back(figure(name + "_max", words + " max", which, max_ms));
}
void add_operation(FlatColumns& all, Operation operation, Layout layout) {
  std::string name = kOperationNames[index(operation)];
  name[0] = char(std::toupper(name[0]));
  const std::string plural = name.ends_with('y') ? "Copies" : name + (name.ends_with('s') ? "es" : "s");
  add_rate(all, name + "_rate", plural + " per second", index(operation), layout);
  add_response(all, name + "_resp", name + " response time", index(operation), layout);
}

double megabytes_of(const RunLine& line, Operation operation) { return mebibytes(line.all.of(operation), line.seconds); }

FlatColumn megabytes(std::string name, std::string words, Operation operation) {
  return {std::move(name), std::move(words),
          [operation](const RunRecord&, const RunLine& line) { return decimal(megabytes_of(line, operation)); }};
}
FlatColumn all_megabytes() {
  return {"MB/sec", "Megabytes per second (MB=1024*1024)", [](const RunRecord&, const RunLine& line) {
            return decimal(megabytes_of(line, Operation::read) + megabytes_of(line, Operation::write));
          }};
}
FlatColumn transfer_size(std::string name) {
  return {std::move(name), "Average data transfersize", [](const RunRecord&, const RunLine& line) {
            const KindCounters &reads = line.all.of(Operation::read), &writes = line.all.of(Operation::write);
            const uint64_t count = reads.count + writes.count;
            return std::to_string(count ? (reads.bytes + writes.bytes) / count : 0);
          }};
}

void add_names(FlatColumns& all) {
  all.push_back({"Run", "Name of run from RD=", [](const RunRecord& r, const RunLine&) { return r.run->name; }});
  all.push_back({"Interval", "Reporting interval number", [](const RunRecord&, const RunLine& line) { return line.label; }});
}
FlatColumn requested_rate(std::string name, std::string words) {
  return {std::move(name), std::move(words), [](const RunRecord& r, const RunLine&) { return decimal(asked_rate(*r.run)); }};
}
void add_ratios(FlatColumns& all, std::string compression, std::string dedup) {
  all.push_back({std::move(compression), "Requested compression ratio",
                 [](const RunRecord& r, const RunLine&) { return decimal(r.run->content.compression); }});
  all.push_back({std::move(dedup), "Requested dedup ratio", [](const RunRecord& r, const RunLine&) {
                   return r.run->content.dedup > 0 ? decimal(r.run->content.dedup) : std::string(kUnknown);
                 }});
}

// The parameters that all WDs have in common.
FlatColumns parameters() {
  return {
      {"xfersize", "data transfer size requested",
       [](const RunRecord& r, const RunLine&) {
         return alike(*r.run, [](const RawWork& w) { return w.workload.transfers.only(); });
       }},
      {"threads", "number of threads requested, of each SD",
       [](const RunRecord& r, const RunLine&) {
         return alike(*r.run, [&](const RawWork& w) { return threads_of_storage(*r.run, w); });
       }},
      {"rdpct", "read% requested",
       [](const RunRecord& r, const RunLine&) {
         return alike(*r.run, [](const RawWork& w) { return w.workload.read_percent; });
       }},
      {"rhpct", "readhit% requested",
       [](const RunRecord& r, const RunLine&) { return alike(*r.run, [](const RawWork& w) { return w.workload.read_hits; }); }},
      {"whpct", "writehit% requested",
       [](const RunRecord& r, const RunLine&) { return alike(*r.run, [](const RawWork& w) { return w.workload.write_hits; }); }},
      {"seekpct", "seek% requested",
       [](const RunRecord& r, const RunLine&) {
         for (const RawWork& work : r.run->raw_works)
           if (work.workload.seek != Seek::random) return std::string(kUnknown);
         return alike(*r.run, [](const RawWork& w) { return w.workload.seek_percent; });
       }},
      {"lunsize", "Total amount of Gigabytes of all luns (GB= 1024*1024*1024)",
       [](const RunRecord& r, const RunLine&) { return decimal(storage_gibibytes(*r.run)); }},
      {"version", "Vdbench version identifier", [](const RunRecord&, const RunLine&) { return std::string(kUnknown); }},
  };
}

FlatColumns flat_raw_columns(Layout layout) {
  const unsigned reads = index(Operation::read), writes = index(Operation::write);
  const bool latest = layout == Layout::v50407;
  FlatColumns all;
  add_names(all);
  all.push_back(requested_rate("reqrate", "Requested i/o rate"));
  all.push_back(rate_column("rate", "Observed i/o rate", kAllOperations));
  all.push_back(all_megabytes());
  all.push_back(transfer_size("bytes/io"));
  all.push_back({"read%", "Observed read percentage", [reads](const RunRecord&, const RunLine& line) {
                   const uint64_t count = cell(line, kAllOperations).count;
                   return decimal(count ? 100.0 * double(cell(line, reads).count) / double(count) : 0);
                 }});
  all.push_back(figure("resp", "Observed response time, ms", kAllOperations, mean_ms));
  all.push_back(figure("read_resp", "Observed read response time", reads, mean_ms));
  all.push_back(figure("write_resp", "Observed write response time", writes, mean_ms));
  all.push_back(figure("resp_max", "Observed maximum response time", kAllOperations, max_ms));
  if (latest) all.push_back(figure("read_max", "Observed maximum read response time", reads, max_ms));
  if (latest) all.push_back(figure("write_max", "Observed maximum write response time", writes, max_ms));
  all.push_back(figure("resp_std", "Standard deviation", kAllOperations, deviation_ms));
  if (latest) all.push_back(figure("read_std", "Standard deviation of reads", reads, deviation_ms));
  if (latest) all.push_back(figure("write_std", "Standard deviation of writes", writes, deviation_ms));
  for (FlatColumn& column : parameters()) all.push_back(std::move(column));
  add_ratios(all, "compratio", "dedupratio");
  all.push_back({"queue_depth", "Average i/o queue depth", [](const RunRecord&, const RunLine& line) {
                   return decimal(line.seconds > 0 ? cell(line, kAllOperations).service.sum() / 1e9 / line.seconds : 0);
                 }});
  return all;
}

FlatColumns flat_file_columns(Layout layout) {
  const bool latest = layout == Layout::v50407;
  auto name = [latest](const char* older, const char* newer) { return std::string(latest ? newer : older); };
  FlatColumns all;
  add_names(all);
  if (latest) {
    all.push_back(transfer_size("Xfersize"));
    all.push_back({"Threads", "number of threads requested, of each FWD",
                   [](const RunRecord& r, const RunLine&) { return threads_of_workloads(*r.run); }});
  }
  all.push_back(requested_rate(name("reqrate", "Reqrate"), "Requested FWD rate"));
  add_rate(all, name("rate", "Rate"), "Requested operations per second", kAllOperations, layout);
  add_response(all, name("resp", "Resp"), "Requested operations response time, ms", kAllOperations, layout);
  all.push_back(all_megabytes());
  auto add_megabytes = [&all] {
    all.push_back(megabytes("MB_read", "Megabytes read per second", Operation::read));
    all.push_back(megabytes("MB_write", "Megabytes written per second", Operation::write));
  };
  if (latest) add_megabytes();
  add_operation(all, Operation::read, layout);
  add_operation(all, Operation::write, layout);
  if (!latest) {
    add_megabytes();
    all.push_back(transfer_size("Xfersize"));
  }
  using enum Operation;
  for (const Operation operation : {mkdir, rmdir, create, Operation::open, Operation::close, Operation::remove, getattr, setattr,
                                    Operation::access, copy, move}) {
    if (latest && (operation == copy || operation == move)) continue;
    add_operation(all, operation, layout);
  }
  add_ratios(all, name("compratio", "Compratio"), name("dedupratio", "Dedupratio"));
  return all;
}

FlatColumn processors(std::string name, std::string words, double (*of)(const CpuUse&)) {
  return {std::move(name), std::move(words), [of](const RunRecord&, const RunLine& line) { return decimal(of(line.cpu)); }};
}

}  // namespace

std::vector<FlatColumn> flat_columns(bool of_files, Layout layout) {
  FlatColumns all = of_files ? flat_file_columns(layout) : flat_raw_columns(layout);
  all.push_back(processors("cpu_used", "cpu% user+sys", [](const CpuUse& cpu) { return cpu.busy(); }));
  all.push_back(processors("cpu_user", "cpu% user", [](const CpuUse& cpu) { return cpu.user; }));
  all.push_back(processors("cpu_kernel", "cpu% sys", [](const CpuUse& cpu) { return cpu.system; }));
  all.push_back(processors("cpu_wait", "cpu% wait", [](const CpuUse& cpu) { return cpu.wait; }));
  all.push_back(processors("cpu_idle", "cpu% idle", [](const CpuUse& cpu) { return cpu.idle; }));
  return all;
}

}  // namespace fsr::vdbench
