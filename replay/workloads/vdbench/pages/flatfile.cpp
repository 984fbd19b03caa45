// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/flatfile.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

namespace {

constexpr const char* kUnknown = "n/a";
// Rates that mean "max" and a curve, as 5.04 writes them.
constexpr double kMaxRate = 9'999'988, kCurveRate = 9'999'977;

struct Column {
  const char* name;
  const char* words;
  std::string (*value)(const RunRecord& record, const RunLine& line);
};

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

const Figures& of(const RunLine& line) { return line.all; }

template <Operation kOperation>
std::string rate_of(const RunRecord&, const RunLine& line) {
  return decimal(rate(of(line).of(kOperation), line.seconds));
}
template <Operation kOperation>
std::string mean_of(const RunRecord&, const RunLine& line) {
  return decimal(mean_ms(of(line).of(kOperation)));
}
template <Operation kOperation>
std::string megabytes_of(const RunRecord&, const RunLine& line) {
  return decimal(mebibytes(of(line).of(kOperation), line.seconds));
}
std::string per_transfer(const RunRecord&, const RunLine& line) {
  const KindCounters &reads = of(line).of(Operation::read), &writes = of(line).of(Operation::write);
  const uint64_t count = reads.count + writes.count;
  return std::to_string(count ? (reads.bytes + writes.bytes) / count : 0);
}
std::string read_percent(const RunRecord&, const RunLine& line) {
  const KindCounters& all = of(line).requested;
  return decimal(all.count ? 100.0 * double(of(line).of(Operation::read).count) / double(all.count) : 0);
}
std::string megabytes(const RunRecord&, const RunLine& line) {
  return decimal(mebibytes(of(line).of(Operation::read), line.seconds) + mebibytes(of(line).of(Operation::write), line.seconds));
}
std::string unknown(const RunRecord&, const RunLine&) { return kUnknown; }

constexpr Column kCompression = {"compratio", "Requested compression ratio",
                                 [](const RunRecord& r, const RunLine&) { return decimal(r.run->content.compression); }};
constexpr Column kDedup = {"dedupratio", "Requested dedup ratio", [](const RunRecord& r, const RunLine&) {
                             return r.run->content.dedup > 0 ? decimal(r.run->content.dedup) : std::string(kUnknown);
                           }};

constexpr Column kName{"Run", "Name of run from RD=", [](const RunRecord& r, const RunLine&) { return r.run->name; }};
constexpr Column kInterval{"Interval", "Reporting interval number",
                           [](const RunRecord&, const RunLine& line) { return line.label; }};

constexpr Column kRaw[] = {
    kName,
    kInterval,
    {"reqrate", "Requested i/o rate", [](const RunRecord& r, const RunLine&) { return decimal(asked_rate(*r.run)); }},
    {"rate", "Observed i/o rate",
     [](const RunRecord&, const RunLine& line) { return decimal(rate(of(line).requested, line.seconds)); }},
    {"MB/sec", "Megabytes per second (MB=1024*1024)", megabytes},
    {"bytes/io", "Average data transfersize", per_transfer},
    {"read%", "Observed read percentage", read_percent},
    {"resp", "Observed response time, ms",
     [](const RunRecord&, const RunLine& line) { return decimal(mean_ms(of(line).requested)); }},
    {"read_resp", "Observed read response time", mean_of<Operation::read>},
    {"write_resp", "Observed write response time", mean_of<Operation::write>},
    {"resp_max", "Observed maximum response time",
     [](const RunRecord&, const RunLine& line) { return decimal(max_ms(of(line).requested)); }},
    {"resp_std", "Standard deviation",
     [](const RunRecord&, const RunLine& line) { return decimal(deviation_ms(of(line).requested)); }},
    {"xfersize", "data transfer size requested",
     [](const RunRecord& r, const RunLine&) {
       return alike(*r.run, [](const RawWork& w) { return w.workload.transfers.only(); });
     }},
    {"threads", "number of threads requested, of each SD",
     [](const RunRecord& r, const RunLine&) {
       return alike(*r.run, [&](const RawWork& w) { return threads_of_storage(*r.run, w); });
     }},
    {"rdpct", "read% requested",
     [](const RunRecord& r, const RunLine&) { return alike(*r.run, [](const RawWork& w) { return w.workload.read_percent; }); }},
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
    {"version", "Vdbench version identifier", unknown},
    kCompression,
    kDedup,
    {"queue_depth", "Average i/o queue depth",
     [](const RunRecord&, const RunLine& line) {
       return decimal(line.seconds > 0 ? of(line).requested.service.sum() / 1e9 / line.seconds : 0);
     }},
};

constexpr Column kFiles[] = {
    kName,
    kInterval,
    {"reqrate", "Requested FWD rate", [](const RunRecord& r, const RunLine&) { return decimal(asked_rate(*r.run)); }},
    {"rate", "Requested operations per second",
     [](const RunRecord&, const RunLine& line) { return decimal(rate(of(line).requested, line.seconds)); }},
    {"resp", "Requested operations response time, ms",
     [](const RunRecord&, const RunLine& line) { return decimal(mean_ms(of(line).requested)); }},
    {"MB/sec", "Megabytes per second (MB=1024*1024)", megabytes},
    {"Read_rate", "Reads per second", rate_of<Operation::read>},
    {"Read_resp", "Read response time", mean_of<Operation::read>},
    {"Write_rate", "Writes per second", rate_of<Operation::write>},
    {"Write_resp", "Write response time", mean_of<Operation::write>},
    {"MB_read", "Megabytes read per second", megabytes_of<Operation::read>},
    {"MB_write", "Megabytes written per second", megabytes_of<Operation::write>},
    {"Xfersize", "Average transfer size", per_transfer},
    {"Mkdir_rate", "Mkdirs per second", rate_of<Operation::mkdir>},
    {"Mkdir_resp", "Mkdir response time", mean_of<Operation::mkdir>},
    {"Rmdir_rate", "Rmdirs per second", rate_of<Operation::rmdir>},
    {"Rmdir_resp", "Rmdir response time", mean_of<Operation::rmdir>},
    {"Create_rate", "Creates per second", rate_of<Operation::create>},
    {"Create_resp", "Create response time", mean_of<Operation::create>},
    {"Open_rate", "Opens per second", rate_of<Operation::open>},
    {"Open_resp", "Open response time", mean_of<Operation::open>},
    {"Close_rate", "Closes per second", rate_of<Operation::close>},
    {"Close_resp", "Close response time", mean_of<Operation::close>},
    {"Delete_rate", "Deletes per second", rate_of<Operation::remove>},
    {"Delete_resp", "Delete response time", mean_of<Operation::remove>},
    {"Getattr_rate", "Getattrs per second", rate_of<Operation::getattr>},
    {"Getattr_resp", "Getattr response time", mean_of<Operation::getattr>},
    {"Setattr_rate", "Setattrs per second", rate_of<Operation::setattr>},
    {"Setattr_resp", "Setattr response time", mean_of<Operation::setattr>},
    {"Access_rate", "Access per second", rate_of<Operation::access>},
    {"Access_resp", "Access response time", mean_of<Operation::access>},
    {"Copy_rate", "Copies per second", rate_of<Operation::copy>},
    {"Copy_resp", "Copy response time", mean_of<Operation::copy>},
    {"Move_rate", "Moves per second", rate_of<Operation::move>},
    {"Move_resp", "Move response time", mean_of<Operation::move>},
    kCompression,
    kDedup,
};

constexpr Column kProcessors[] = {
    {"cpu_used", "cpu% user+sys", [](const RunRecord&, const RunLine& line) { return decimal(line.cpu.busy()); }},
    {"cpu_user", "cpu% user", [](const RunRecord&, const RunLine& line) { return decimal(line.cpu.user); }},
    {"cpu_kernel", "cpu% sys", [](const RunRecord&, const RunLine& line) { return decimal(line.cpu.system); }},
    {"cpu_wait", "cpu% wait", [](const RunRecord&, const RunLine& line) { return decimal(line.cpu.wait); }},
    {"cpu_idle", "cpu% idle", [](const RunRecord&, const RunLine& line) { return decimal(line.cpu.idle); }},
};

std::vector<Column> columns(bool of_files) {
  std::vector<Column> all;
  if (of_files)
    all.assign(std::begin(kFiles), std::end(kFiles));
  else
    all.assign(std::begin(kRaw), std::end(kRaw));
  all.insert(all.end(), std::begin(kProcessors), std::end(kProcessors));
  return all;
}

std::string cell(const Column& column, const std::string& text) {
  constexpr size_t kLeast = 10;
  return fmt::format(" {:>{}}", text, std::max(kLeast, std::string_view(column.name).size()));
}

}  // namespace

FlatFile::FlatFile(const std::string& directory, bool of_files) : of_files_(of_files), page_(directory, "flatfile") {
  std::string text =
      "*\n* Columns that are separated by blanks: after these lines one with their names, then one for each interval and "
      "average.\n"
      "* 'fsbench vdbench parseflat' makes CSV of them.\n*\n";
  std::string names = fmt::format("{:>12} {:>23}", "tod", "timestamp");
  for (const Column& column : columns(of_files)) {
    text += fmt::format("* {:<16}: {}\n", column.name, column.words);
    names += cell(column, column.name);
  }
  page_.put(text + "* 'n/a'           : Data not available, or different among workloads.\n* \n" + names + " \n");
}

void FlatFile::put(const RunRecord& record, const RunLine& line) {
  const time_t second = line.wall / 1'000'000'000;
  std::string text = fmt::format("{} {:%m/%d/%Y-%H:%M:%S-%Z}", clock_text(line.wall), fmt::localtime(second));
  for (const Column& column : columns(of_files_)) text += cell(column, column.value(record, line));
  page_.put(html_text(text) + " \n");
}

void FlatFile::interval(const RunRecord& record) { put(record, record.latest); }
void FlatFile::end(const RunRecord& record) { put(record, record.average); }

}  // namespace fsr::vdbench
