// SPDX-License-Identifier: Apache-2.0
// Writes flatfile.html: a line for each interval and average, in columns separated by blanks, for parseflat and users' scripts.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <type_traits>
#include <vector>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

namespace {

constexpr const char *kUnknown = "n/a", *kMegabytes = "Megabytes per second (MB=1024*1024)";
// Rates that mean "max" and a curve, as 5.04 writes them.
constexpr double kMaxRate = 9'999'988, kCurveRate = 9'999'977;
constexpr unsigned kAll = kOperations;  // index of all requested operations
constexpr unsigned kRead = unsigned(Operation::read), kWrite = unsigned(Operation::write);

// The operation of a line that a column is about.
struct Place {
  const RunRecord& record;
  const RunLine& line;
  unsigned which;  // or kAll
  const KindCounters& cell() const { return which == kAll ? line.all.requested : line.all.operations[which]; }
};

struct Column {
  std::string name, words;
  std::string (*value)(const Place&);
  unsigned which = kAll;
  bool is_new = false;  // only in 5.04.07's layout
};

std::string decimal(double value) { return fmt::format("{:.4f}", value); }

template <double (*Of)(const KindCounters&)>
std::string figure(const Place& p) {
  return decimal(Of(p.cell()));
}
template <double (*Of)(const KindCounters&, double seconds)>
std::string per_second(const Place& p) {
  return decimal(Of(p.cell(), p.line.seconds));
}

std::string asked_rate(const Place& p) {
  const PlannedRun& run = *p.record.run;
  return decimal(run.formats || run.rate.kind == Rate::max ? kMaxRate
                 : run.rate.kind == Rate::curve            ? kCurveRate
                                                           : run.rate.value);
}

std::string megabytes(const Place& p) { return decimal(all_mebibytes(p.line.all, p.line.seconds)); }
std::string transfer_size(const Place& p) { return std::to_string(mean_size(p.line.all)); }

// Returns the value that all works have. "n/a": they differ.
template <class Value>
std::string alike(const Place& p, Value value) {
  const auto first = value(p.record.run->raw_works.front());
  for (const RawWork& work : p.record.run->raw_works)
    if (value(work) != first) return kUnknown;
  if constexpr (std::is_integral_v<decltype(value(p.record.run->raw_works.front()))>)
    return first ? std::to_string(first) : kUnknown;
  return decimal(double(first));
}
template <double Workload::*Part>
std::string alike_part(const Place& p) {
  return alike(p, [](const RawWork& work) { return work.workload.*Part; });
}

// Returns the number of threads of one SD, if all have the same number.
std::string threads_of_storages(const Place& p) {
  return alike(p, [&](const RawWork& work) {
    unsigned threads = 0;
    for (const RawWork& other : p.record.run->raw_works)
      if (other.storage == work.storage) threads += other.threads;
    return threads;
  });
}

// Returns the number of threads that all FWDs have.
std::string threads_of_workloads(const Place& p) {
  std::map<std::string, unsigned> all;
  for (const FileWork& work : p.record.run->file_works) all[work.workload.name] += work.workload.threads;
  const bool same = std::ranges::all_of(all, [&](const auto& one) { return one.second == all.begin()->second; });
  return all.empty() || !same ? kUnknown : std::to_string(all.begin()->second);
}

std::string seek_percent(const Place& p) {
  const bool random =
      std::ranges::all_of(p.record.run->raw_works, [](const RawWork& w) { return w.workload.seek == Seek::random; });
  return random ? alike_part<&Workload::seek_percent>(p) : kUnknown;
}

std::string storage_gibibytes(const Place& p) {
  const PlannedRun& run = *p.record.run;
  double bytes = 0;
  for (size_t i = 0; i < run.storages.size(); ++i)
    if (std::ranges::find(run.raw_works, i, &RawWork::storage) != run.raw_works.end()) bytes += double(run.storages[i].size);
  return decimal(bytes / (1 << 30));
}

const Column kNames[] = {
    {"Run", "Name of run from RD=", [](const Place& p) { return p.record.run->name; }},
    {"Interval", "Reporting interval number", [](const Place& p) { return p.line.label; }},
};

const Column kRaw[] = {
    {"reqrate", "Requested i/o rate", asked_rate},
    {"rate", "Observed i/o rate", per_second<rate>},
    {"MB/sec", kMegabytes, megabytes},
    {"bytes/io", "Average data transfersize", transfer_size},
    {"read%", "Observed read percentage", [](const Place& p) { return decimal(read_percent(p.line.all)); }},
    {"resp", "Observed response time, ms", figure<mean_ms>},
    {"read_resp", "Observed read response time", figure<mean_ms>, kRead},
    {"write_resp", "Observed write response time", figure<mean_ms>, kWrite},
    {"resp_max", "Observed maximum response time", figure<max_ms>},
    {"read_max", "Observed maximum read response time", figure<max_ms>, kRead, true},
    {"write_max", "Observed maximum write response time", figure<max_ms>, kWrite, true},
    {"resp_std", "Standard deviation", figure<deviation_ms>},
    {"read_std", "Standard deviation of reads", figure<deviation_ms>, kRead, true},
    {"write_std", "Standard deviation of writes", figure<deviation_ms>, kWrite, true},
    {"xfersize", "data transfer size requested",
     [](const Place& p) { return alike(p, [](const RawWork& w) { return w.workload.transfers.only(); }); }},
    {"threads", "number of threads requested, of each SD", threads_of_storages},
    {"rdpct", "read% requested", alike_part<&Workload::read_percent>},
    {"rhpct", "readhit% requested", alike_part<&Workload::read_hits>},
    {"whpct", "writehit% requested", alike_part<&Workload::write_hits>},
    {"seekpct", "seek% requested", seek_percent},
    {"lunsize", "Total amount of Gigabytes of all luns (GB= 1024*1024*1024)", storage_gibibytes},
    {"version", "Vdbench version identifier", [](const Place&) { return std::string(kUnknown); }},
};

const Column kRatios[] = {
    {"compratio", "Requested compression ratio", [](const Place& p) { return decimal(p.record.run->content.compression); }},
    {"dedupratio", "Requested dedup ratio",
     [](const Place& p) { return p.record.run->content.dedup > 0 ? decimal(p.record.run->content.dedup) : kUnknown; }},
};

const Column kQueueDepth = {"queue_depth", "Average i/o queue depth", per_second<queue_depth>};

const Column kProcessors[] = {
    {"cpu_used", "cpu% user+sys", [](const Place& p) { return decimal(p.line.cpu.busy()); }},
    {"cpu_user", "cpu% user", [](const Place& p) { return decimal(p.line.cpu.user); }},
    {"cpu_kernel", "cpu% sys", [](const Place& p) { return decimal(p.line.cpu.system); }},
    {"cpu_wait", "cpu% wait", [](const Place& p) { return decimal(p.line.cpu.wait); }},
    {"cpu_idle", "cpu% idle", [](const Place& p) { return decimal(p.line.cpu.idle); }},
};

std::vector<Column> columns_of_files(bool latest) {
  std::vector<Column> all;
  // Adds a rate and a response time; in 5.04.07's layout with the deviation and the maximum of each.
  auto add = [&](const std::string& name, const std::string& rates, const std::string& times, unsigned which) {
    all.push_back({name + "rate", rates, per_second<rate>, which});
    auto deviation = [](const Place& p) { return decimal(p.line.rates[p.which].deviation()); };
    auto most = [](const Place& p) { return decimal(p.line.rates[p.which].most); };
    if (latest) all.push_back({name + "rate_std", rates + " stddev, of intervals", deviation, which});
    if (latest) all.push_back({name + "rate_max", rates + " max, of intervals", most, which});
    all.push_back({name + "resp", times, figure<mean_ms>, which});
    if (latest) all.push_back({name + "resp_std", times + " stddev", figure<deviation_ms>, which});
    if (latest) all.push_back({name + "resp_max", times + " max", figure<max_ms>, which});
  };
  auto add_operation = [&](Operation operation) {
    std::string name = kOperationNames[unsigned(operation)];
    name[0] = char(std::toupper(name[0]));
    const std::string plural = name.ends_with('y') ? "Copies" : name + (name.ends_with('s') ? "es" : "s");
    add(name + "_", plural + " per second", name + " response time", unsigned(operation));
  };
  auto add_megabytes = [&] {
    all.push_back({"MB_read", "Megabytes read per second", per_second<mebibytes>, kRead});
    all.push_back({"MB_write", "Megabytes written per second", per_second<mebibytes>, kWrite});
  };
  const Column size = {"Xfersize", "Average data transfersize", transfer_size};
  if (latest) all = {size, {"Threads", "number of threads requested, of each FWD", threads_of_workloads}};
  all.push_back({"reqrate", "Requested FWD rate", asked_rate});
  add("", "Requested operations per second", "Requested operations response time, ms", kAll);
  all.push_back({"MB/sec", kMegabytes, megabytes});
  if (latest) add_megabytes();
  add_operation(Operation::read);
  add_operation(Operation::write);
  if (!latest) add_megabytes();
  if (!latest) all.push_back(size);
  using enum Operation;
  for (const Operation operation : {mkdir, rmdir, create, Operation::open, Operation::close, Operation::remove, getattr, setattr,
                                    Operation::access, copy, move})
    if (!latest || (operation != copy && operation != move)) add_operation(operation);
  return all;
}

std::vector<Column> columns_of(bool files, Layout layout) {
  const bool latest = layout == Layout::v50407;
  std::vector<Column> all(std::begin(kNames), std::end(kNames));
  auto append = [&](const auto& columns) { all.insert(all.end(), std::begin(columns), std::end(columns)); };
  files ? append(columns_of_files(latest)) : append(kRaw);
  append(kRatios);
  if (!files) all.push_back(kQueueDepth);
  std::erase_if(all, [&](const Column& column) { return column.is_new && !latest; });
  if (files && latest)
    for (Column& column : all) column.name[0] = char(std::toupper(column.name[0]));
  append(kProcessors);
  return all;
}

class FlatFile final : public RunPage {
 public:
  FlatFile(const std::string& directory, bool files, Layout layout)
      : layout_(layout), columns_(columns_of(files, layout)), page_(directory, "flatfile") {
    std::string text =
        "*\n* Columns that are separated by blanks: after these lines one with their names, then one for each interval and "
        "average.\n"
        "* 'fsbench vdbench parseflat' makes CSV of them.\n*\n";
    std::string names = fmt::format("{:>12} {:>23}", "tod", "timestamp");
    for (const Column& column : columns_) {
      text += fmt::format("* {:<16}: {}\n", column.name, column.words);
      names += cell(column, column.name);
    }
    page_.put(text + "* 'n/a'           : Data not available, or different among workloads.\n* \n" + names + " \n");
  }
  void interval(const RunRecord& record) override { put(record, record.latest); }
  void end(const RunRecord& record) override { put(record, record.average); }

 private:
  void put(const RunRecord& record, const RunLine& line) {
    const time_t second = line.wall / 1'000'000'000;
    std::string text = fmt::format("{} {:%m/%d/%Y-%H:%M:%S-%Z}", clock_text(line.wall), fmt::localtime(second));
    for (const Column& column : columns_) text += cell(column, column.value({record, line, column.which}));
    page_.put(html_text(text) + " \n");
  }
  // 5.04.07 has a single blank between columns, which some programs rely on. Earlier versions align them.
  std::string cell(const Column& column, const std::string& text) const {
    constexpr size_t kLeast = 10;
    return fmt::format(" {:>{}}", text, layout_ == Layout::v50407 ? 0 : std::max(kLeast, column.name.size()));
  }

  const Layout layout_;
  const std::vector<Column> columns_;
  Page page_;
};

}  // namespace

std::unique_ptr<RunPage> flatfile_page(const std::string& directory, bool of_files, Layout layout) {
  return std::make_unique<FlatFile>(directory, of_files, layout);
}

}  // namespace fsr::vdbench
