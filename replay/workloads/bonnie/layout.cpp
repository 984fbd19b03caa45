// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace fsr::bonnie {

namespace {

constexpr double kTooShort = 0.5;  // s; shorter tests have no meaningful rate
constexpr const char* kVersion = "2.00a";
constexpr const char* kFormat = "1.98";
constexpr size_t kNameWidth = 19;

// Returns a size with a unit: 8192 and units " km" give "8k".
std::string sized(int64_t size, const char* units) {
  size_t unit = 0;
  while (size != 0 && size % 1024 == 0 && units[unit + 1]) {
    size /= 1024;
    ++unit;
  }
  std::string text = fmt::format("{}{}", size, units[unit]);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string unless(int64_t value, int64_t usual, const std::string& text) { return value == usual ? "" : text; }

// Returns a rate in five columns, as the table has them.
std::string short_rate(Phase phase, double rate) {
  if (phase == kSeeks) return fmt::format("{:5.{}f}", rate, rate >= 1000 ? 0 : 1);
  if (phase > kSeeks) return fmt::format("{:5}", int64_t(rate));
  if (rate < 10'000) return fmt::format("{:4}k", int64_t(rate));
  const double mebibytes = rate / 1024;
  if (mebibytes >= 1000) return fmt::format("{:4.1f}g", mebibytes / 1024);
  return mebibytes < 100 ? fmt::format("{:4.1f}m", mebibytes) : fmt::format("{:4}m", int64_t(mebibytes + 0.5));
}

std::string long_rate(Phase phase, double rate) {
  return phase == kSeeks && rate < 1000 ? fmt::format("{:.1f}", rate)
         : phase == kSeeks              ? fmt::format("{:.0f}", rate)
                                        : fmt::format("{}", int64_t(rate));
}

std::string latency(const Measured& measured) {
  const double s = measured.elapsed == 0 ? 0 : measured.latency;
  if (s == 0) return "";
  if (s > 99.999999) return fmt::format("{}s", int64_t(s));
  if (s > 0.099999) return fmt::format("{}ms", int64_t(s * 1e3));
  return fmt::format("{}us", int64_t(s * 1e6));
}

int cpu_percent(const Measured& measured) { return int(measured.cpu / measured.elapsed * 100); }

std::string table_columns(const ResultHeader& header, Phase first, Phase last, std::string (*shown)(Phase, double)) {
  std::string text;
  for (Phase phase = first; phase <= last; phase = Phase(phase + 1)) {
    const Measured& m = header.results[phase];
    if (m.elapsed == 0)
      text += fmt::format("{:10}", "");
    else if (m.elapsed < kTooShort)
      text += " +++++ +++";
    else
      text += fmt::format(" {} {:3}", shown(phase, rate(header, phase)), cpu_percent(m));
  }
  return text;
}

std::string csv_columns(const ResultHeader& header, Phase first, Phase last) {
  std::string text;
  for (Phase phase = first; phase <= last; phase = Phase(phase + 1)) {
    const Measured& m = header.results[phase];
    if (m.elapsed == 0)
      text += ",,";
    else if (m.elapsed < kTooShort)
      text += ",+++++,+++";
    else
      text += fmt::format(",{},{}", long_rate(phase, rate(header, phase)), cpu_percent(m));
  }
  return text;
}

std::string latencies(const ResultHeader& header, Phase first, Phase last) {
  std::string text = "Latency          ";
  for (Phase phase = first; phase <= last; phase = Phase(phase + 1))
    text += fmt::format(" {:>9}", latency(header.results[phase]));
  return text + "\n";
}

// Returns the name column: `machine` at the left and `what` at the right. If both do not fit, `what` covers the end of `machine`.
std::string name_column(const std::string& machine, const std::string& what) {
  std::string column = machine;
  column.resize(kNameWidth, ' ');
  if (what.size() + 1 > kNameWidth) return what;
  column.resize(kNameWidth - what.size() - 1);
  return column + " " + what;
}

const char* largest_name(int64_t largest) { return largest == kHardLinks ? "link" : "symlink"; }

// Returns the settings of the small files: "16:2048:512/4".
std::string files_name(const Settings& s) {
  std::string text = fmt::format("{}", s.files);
  if (s.largest < 0)
    text += fmt::format(":{}", largest_name(s.largest));
  else if (s.largest > 0)
    text += fmt::format(":{}:{}", s.largest, s.smallest);
  return s.directories > 1 ? text + fmt::format("/{}", s.directories) : text;
}

const char* files_heading(const Settings& s) {
  return s.smallest ? "files:max:min       " : s.largest ? "files:max           " : "              files ";
}

constexpr const char* kDataGroups = "------Sequential Output------ --Sequential Input- --Random-\n";
constexpr const char* kDataTests = "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n";
constexpr const char* kFileGroups = "------Sequential Create------ --------Random Create--------\n";
constexpr const char* kFileTests = "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n";
constexpr const char* kPerSecond = " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n";

}  // namespace

const char* const kCsvHeader =
    "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,putc,putc_cpu,put_block,put_block_cpu,rewrite,"
    "rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,"
    "seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,"
    "ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,seeks_latency,seq_create_latency,"
    "seq_stat_latency,seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

double rate(const ResultHeader& header, Phase phase) {
  const Settings& s = header.settings;
  const double elapsed = header.results[phase].elapsed;
  if (elapsed == 0) return 0;
  if (phase == kSeeks) return double(s.seeks) * header.copies / elapsed;
  if (phase > kSeeks) return double(s.file_count()) * header.copies / elapsed;
  const bool bytes = phase == kByteWrite || phase == kByteRead;
  return double(bytes ? std::min(s.bytes_size, s.size) : s.size) * 1024 * header.copies / elapsed;
}

const char* unit(Phase phase) { return phase < kSeeks ? "KiB/s" : phase == kSeeks ? "seeks/s" : "files/s"; }

std::string table(const ResultHeader& header) {
  const Settings& s = header.settings;
  std::string text;
  if (s.size > 0) {
    text += fmt::format("Version {:>5}       {}{:20}{}Name:Size etc       {}", kVersion, kDataGroups, "", kDataTests, kPerSecond);
    std::string what = fmt::format("{}:{}::{}:{}", sized(s.size, "MG"), unless(s.chunk, kUsualChunk, sized(s.chunk, " km")),
                                   unless(s.seeks, kUsualSeeks, std::to_string(s.seeks)),
                                   unless(s.seekers, kUsualSeekers, std::to_string(s.seekers)));
    what.erase(what.find_last_not_of(':') + 1);
    text += name_column(header.machine, what) + table_columns(header, kByteWrite, kSeeks, short_rate) + "\n";
    text += latencies(header, kByteWrite, kSeeks);
  }
  if (s.files > 0) {
    text += fmt::format("Version {:>5}       {}{:19.19} {}{}{}", kVersion, kFileGroups, header.machine, kFileTests,
                        files_heading(s), kPerSecond);
    text += fmt::format("{:>19}", files_name(s)) + table_columns(header, kCreateSequential, kDeleteRandom, short_rate) + "\n";
    text += latencies(header, kCreateSequential, kDeleteRandom);
  }
  return text;
}

std::string csv(const ResultHeader& header) {
  const Settings& s = header.settings;
  std::string text = fmt::format("{},{},{},{},{}", kFormat, kVersion, header.machine, header.copies, header.seed);
  if (s.size > 0)
    text += fmt::format(",{},{},{},{}", sized(s.size, "MG"), unless(s.chunk, kUsualChunk, sized(s.chunk, " km")), s.seeks,
                        s.seekers) +
            csv_columns(header, kByteWrite, kSeeks);
  else
    text += ",,,," + std::string(12, ',');
  if (s.files > 0) {
    text += fmt::format(",{}", s.files);
    if (s.largest < 0)
      text += fmt::format(",{},", largest_name(s.largest));
    else
      text += fmt::format(",{},{}", unless(s.largest, 0, std::to_string(s.largest)),
                          unless(s.smallest, 0, std::to_string(s.smallest)));
    // The fields are in this order, although the header has another one.
    text += fmt::format(",{},{}", unless(s.file_chunk, kUsualChunk, sized(s.file_chunk, " km")),
                        unless(s.directories, 1, std::to_string(s.directories)));
    text += csv_columns(header, kCreateSequential, kDeleteRandom);
  } else {
    text += std::string(17, ',');
  }
  for (const Measured& measured : header.results) text += "," + latency(measured);
  return text + "\n";
}

std::string table_103(const ResultHeader& header) {
  const Settings& s = header.settings;
  std::string text;
  if (s.size > 0) {
    text += fmt::format(
        "Version {:>5}       {}{:20}{}Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n", "1.03",
        kDataGroups, "", kDataTests);
    const std::string what = sized(s.size, "MG") + unless(s.chunk, kUsualChunk, ":" + sized(s.chunk, " km"));
    text += name_column(header.machine, what);
    text += table_columns(header, kByteWrite, kSeeks,
                          [](Phase phase, double rate) { return fmt::format("{:>5}", long_rate(phase, rate)); });
    text += "\n";
  }
  if (s.files > 0) {
    text += fmt::format("{:20}{}{:20}{}{}{}", "", kFileGroups, "", kFileTests, files_heading(s), kPerSecond);
    text += fmt::format("{:>19}", files_name(s)) + table_columns(header, kCreateSequential, kDeleteRandom, short_rate) + "\n";
  }
  return text;
}

std::string csv_103(const ResultHeader& header) {
  const Settings& s = header.settings;
  std::string text = header.machine + ",";
  if (s.size > 0) text += sized(s.size, "MG") + unless(s.chunk, kUsualChunk, ":" + sized(s.chunk, " km"));
  text += csv_columns(header, kByteWrite, kSeeks) + ",";
  if (s.files > 0) text += files_name(s);
  return text + csv_columns(header, kCreateSequential, kDeleteRandom) + "\n";
}

nlohmann::json json(const ResultHeader& header) {
  nlohmann::json rows = nlohmann::json::array();
  for (unsigned i = 0; i < kPhases; ++i) {
    const Measured& m = header.results[i];
    if (m.elapsed == 0) continue;
    rows.push_back({{"name", kPhaseKeys[i]},
                    {"unit", unit(Phase(i))},
                    {"rate", rate(header, Phase(i))},
                    {"seconds", m.elapsed},
                    {"cpu_seconds", m.cpu},
                    {"longest_ms", m.latency * 1e3}});
  }
  return {{"program", "bonnie"}, {"machine", header.machine}, {"seed", header.seed}, {"rows", rows}};
}

}  // namespace fsr::bonnie
