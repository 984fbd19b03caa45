// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fsr::lantest {

namespace {

constexpr const char* kManual = "https://netatalk.io/manual/en/afp_lantest.1";
constexpr size_t kNameWidth = 66, kHeadingWidth = 108;
constexpr Measure kCounts[] = {kServerReads, kServerWrites, kIdReads, kIdWrites};

bool moves_data(unsigned test) { return test == kWriteBig || test == kReadBig; }

uint64_t speed(const Settings& settings, const Results& results, unsigned test, uint64_t mean) {
  if (!moves_data(test)) return 0;
  return megabytes_per_second(results.sessions * (settings.big_size / kMiB) * 1'000'000, mean).value_or(0);
}

std::string rule(bool calls) {
  std::string text(kNameWidth, '-');
  text += calls ? " -------- ------" : " ------- ------";
  if (calls)
    for (size_t i = 0; i < std::size(kCounts); ++i) text += " ------ -------";
  return text + " ------\n";
}

struct Sums {
  uint64_t means[kMeasures] = {};
};

Sums sum_up(const Settings& settings, const Results& results) {
  Sums sums;
  for (unsigned test = 0; test < kTests; ++test)
    for (unsigned m = 0; settings.tests[test] && m < kMeasures; ++m)
      sums.means[m] += summarize(results.runs[test], Measure(m)).mean;
  return sums;
}

// Returns the number of operations of one iteration: AFP commands as the labels say, other operations as measured.
uint64_t operations_of(const Settings& settings, const Results& results) {
  if (!settings.as_operations) return results.sessions * chosen_operations(settings);
  uint64_t count = 0;
  for (const auto& commands : results.commands)
    for (const auto& [name, times] : commands) count += times.count();
  return count / settings.iterations;
}

std::string sum_title(const Settings& settings, const Results& results) {
  return fmt::format("Sum of all {} = {}", settings.as_operations ? "operations" : "AFP OPs", operations_of(settings, results));
}

}  // namespace

std::string run_line(const Settings& settings, unsigned iteration, unsigned test, const Measures& measures, bool calls) {
  std::string line =
      fmt::format("Run {} => {:<{}} {:6} ms", iteration, label(settings, test), kNameWidth, measures[kMilliseconds]);
  if (moves_data(test)) {
    line += fmt::format(" for {} MB", settings.big_size / kMiB);
    if (const auto rate = megabytes_per_second(settings.big_size, measures[kMilliseconds]))
      line += fmt::format(" (avg. {} MB/s)", *rate);
    else
      line += " (time too small to measure)";
  }
  line += "\n";
  if (calls)
    line += fmt::format("         IO Operations; afpd: {} READs, {} WRITEs | cnid_dbd: {} READs, {} WRITEs\n",
                        measures[kServerReads], measures[kServerWrites], measures[kIdReads], measures[kIdWrites]);
  return line;
}

std::string heading(const Settings& settings) {
  const std::string what = settings.iterations == 1
                               ? "single iteration"
                               : fmt::format("Averages and standard deviations (±) for all tests, across {} iterations{}",
                                             settings.iterations, settings.iterations == kUsualIterations ? " (default)" : "");
  return fmt::format("\nNetatalk Lantest Results ({})\n{}\n\n", what, std::string(kHeadingWidth, '='));
}

std::string table(const Settings& settings, const Results& results) {
  const bool calls = results.counts_calls;
  const unsigned time_width = calls ? 8 : 7;
  // Without the columns of calls, the original pads the sign to a number of bytes instead of columns.
  std::string text = fmt::format("{:<{}}", "Test", kNameWidth) +
                     (calls ? "  Time_ms  Time± AFPD_R AFPD_R± AFPD_W AFPD_W± CNID_R CNID_R± CNID_W CNID_W±   MB/s\n"
                            : " Time_ms Time±   MB/s\n");
  text += rule(calls);
  for (unsigned test = 0; test < kTests; ++test) {
    if (results.runs[test].empty()) continue;  // left out, or not possible on the target
    const Summary time = summarize(results.runs[test], kMilliseconds);
    text += fmt::format("{:<{}} {:{}} {:6.1f}", label(settings, test), kNameWidth, time.mean, time_width, time.deviation);
    for (const Measure m : kCounts) {
      if (!calls) break;
      const Summary counted = summarize(results.runs[test], m);
      text += fmt::format(" {:6} {:7.1f}", counted.mean, counted.deviation);
    }
    text += fmt::format(" {:6}\n", speed(settings, results, test, time.mean));
  }
  const Sums sums = sum_up(settings, results);
  text += rule(calls);
  text += fmt::format("{:<{}} {:{}} {:6}", sum_title(settings, results), kNameWidth, sums.means[kMilliseconds], time_width, "");
  for (const Measure m : kCounts)
    if (calls) text += fmt::format(" {:6} {:7}", sums.means[m], "");
  return text + fmt::format(" {:6}\n", "");
}

std::string aggregates(const Settings& settings, const Results& results) {
  const double operations = double(std::max<uint64_t>(operations_of(settings, results), 1));
  const Sums sums = sum_up(settings, results);
  auto each = [&](const char* what, Measure m, const char* unit) {
    return fmt::format("Average {} per {}: {:.3f}{}\n", what, settings.as_operations ? "operation" : "AFP OP",
                       double(sums.means[m]) / operations, unit);
  };
  std::string text = "\nAggregates Summary:\n" + std::string(kNameWidth, '-') + "\n" + each("Time", kMilliseconds, " ms");
  if (results.counts_calls) text += each("AFPD Reads", kServerReads, "") + each("AFPD Writes", kServerWrites, "");
  if (settings.as_operations) return text;
  return text + "See afp_lantest manpage for more information: " + kManual + "\n";
}

std::string tables(const Settings& settings, const Sessions& sessions) {
  std::string text;
  for (size_t i = 0; sessions.each.size() > 1 && i < sessions.each.size(); ++i)
    text += fmt::format("Session {}:\n\n{}\n", sessions.numbers[i], table(settings, sessions.each[i]));
  if (sessions.each.size() > 1) text += fmt::format("All {} sessions together:\n\n", sessions.each.size());
  return text + table(settings, sessions.sum) + aggregates(settings, sessions.sum);
}

namespace {

// `session`: text in front of each line.
std::string csv_rows(const Settings& settings, const Results& results, const std::string& session) {
  const bool calls = results.counts_calls;
  std::string text;
  for (unsigned test = 0; test < kTests; ++test) {
    if (results.runs[test].empty()) continue;  // left out, or not possible on the target
    const Summary time = summarize(results.runs[test], kMilliseconds);
    text += fmt::format("{}{},{},{:.1f}", session, label(settings, test), time.mean, time.deviation);
    for (const Measure m : kCounts) {
      if (!calls) break;
      const Summary counted = summarize(results.runs[test], m);
      text += fmt::format(",{},{:.1f}", counted.mean, counted.deviation);
    }
    text += fmt::format(",{}\n", speed(settings, results, test, time.mean));
  }
  const Sums sums = sum_up(settings, results);
  text += fmt::format("{}{},{}", session, sum_title(settings, results), sums.means[kMilliseconds]);
  for (const Measure m : kCounts)
    if (calls) text += fmt::format(",,{}", sums.means[m]);
  return text + ",,\n";
}

}  // namespace

std::string csv(const Settings& settings, const Sessions& sessions) {
  const bool several = sessions.each.size() > 1;
  std::string text = several ? "Session," : "";
  text += sessions.sum.counts_calls ? "Test,Time_ms,Time±,AFPD_R,AFPD_R±,AFPD_W,AFPD_W±,CNID_R,CNID_R±,CNID_W,CNID_W±,MB/s\n"
                                    : "Test,Time_ms,Time±,MB/s\n";
  for (size_t i = 0; several && i < sessions.each.size(); ++i)
    text += csv_rows(settings, sessions.each[i], fmt::format("{},", sessions.numbers[i]));
  return text + csv_rows(settings, sessions.sum, several ? "all," : "");
}

std::string latencies(const Settings& settings, const Results& results) {
  std::string times_of_cpu =
      fmt::format("\nMilliseconds of an iteration:\n{:<6}{:>12}{:>12}{}{:>14}\n", "test", "elapsed", "client CPU",
                  results.counts_calls ? "  server CPU" : "", settings.as_operations ? "operations/s" : "commands/s");
  for (unsigned test = 0; test < kTests; ++test) {
    const std::vector<TestRun>& runs = results.runs[test];
    if (runs.empty()) continue;
    TestRun sum;
    for (const TestRun& run : runs) {
      sum.elapsed += run.elapsed;
      sum.cpu += run.cpu;
      sum.server_cpu += run.server_cpu + run.ids_cpu;
    }
    uint64_t count = 0;
    for (const auto& [command, times] : results.commands[test]) count += times.count();
    auto ms = [&runs](int64_t all) { return double(all) / 1e6 / double(runs.size()); };
    times_of_cpu += fmt::format("{:<6}{:>12.1f}{:>12.1f}", test + 1, ms(sum.elapsed), ms(sum.cpu));
    if (results.counts_calls) times_of_cpu += fmt::format("{:>12.1f}", ms(sum.server_cpu));
    times_of_cpu += fmt::format("{:>14.1f}\n", sum.elapsed > 0 ? double(count) * 1e9 / double(sum.elapsed) : 0);
  }
  std::string text = fmt::format("\nLatency in microseconds:\n{:<6}{:<20}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>11}\n", "test",
                                 "command", "count", "mean", "p50", "p90", "p99", "p99.9", "max");
  for (unsigned test = 0; test < kTests; ++test) {
    if (!settings.tests[test]) continue;
    for (const auto& [command, times] : results.commands[test]) {
      auto us = [&times = times](double q) { return double(times.quantile(q)) / 1e3; };
      text += fmt::format("{:<6}{:<20}{:>9}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>11.1f}\n", test + 1, command,
                          times.count(), times.mean() / 1e3, us(0.5), us(0.9), us(0.99), us(0.999), double(times.max()) / 1e3);
    }
  }
  return times_of_cpu + text;
}

namespace {

nlohmann::json json_rows(const Settings& settings, const Results& results) {
  auto rows = nlohmann::json::array();
  for (unsigned test = 0; test < kTests; ++test) {
    const std::vector<TestRun>& runs = results.runs[test];
    if (runs.empty()) continue;
    auto seconds = nlohmann::json::array();
    double all = 0, cpu = 0, server_cpu = 0;
    for (const TestRun& run : runs) {
      seconds.push_back(double(run.elapsed) / 1e9);
      all += double(run.elapsed) / 1e9;
      cpu += double(run.cpu) / 1e9;
      server_cpu += double(run.server_cpu + run.ids_cpu) / 1e9;
    }
    nlohmann::json row = {{"name", title(test)}, {"test", test + 1},
                          {"unit", "runs/s"},    {"rate", all > 0 ? double(results.sessions * runs.size()) / all : 0},
                          {"seconds", seconds},  {"client_cpu_seconds", cpu}};
    const Summary time = summarize(runs, kMilliseconds);
    row["mean_ms"] = time.mean;
    row["deviation_ms"] = time.deviation;
    if (moves_data(test)) row["megabytes_per_s"] = speed(settings, results, test, time.mean);
    if (results.counts_calls) row["server_cpu_seconds"] = server_cpu;
    if (results.counts_calls)
      row["server_calls"] = {{"afpd_reads", summarize(runs, kServerReads).mean},
                             {"afpd_writes", summarize(runs, kServerWrites).mean},
                             {"cnid_dbd_reads", summarize(runs, kIdReads).mean},
                             {"cnid_dbd_writes", summarize(runs, kIdWrites).mean}};
    Histogram all_commands;
    for (const auto& [command, times] : results.commands[test]) all_commands.merge(times);
    row["response"] = {{"p50_ns", all_commands.quantile(0.5)},
                       {"p99_ns", all_commands.quantile(0.99)},
                       {"p999_ns", all_commands.quantile(0.999)}};
    for (const auto& [command, times] : results.commands[test]) {
      auto us = [&times = times](double q) { return double(times.quantile(q)) / 1e3; };
      row["commands"][command] = {{"count", times.count()},
                                  {"mean_us", times.mean() / 1e3},
                                  {"p50_us", us(0.5)},
                                  {"p90_us", us(0.9)},
                                  {"p99_us", us(0.99)},
                                  {"p99_9_us", us(0.999)},
                                  {"max_us", double(times.max()) / 1e3}};
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

nlohmann::json json(const Settings& settings, const Sessions& sessions) {
  nlohmann::json all = {{"program", "lantest"},
                        {"as", settings.as_operations ? "operations" : "AFP commands"},
                        {"iterations", settings.iterations},
                        {"percent", settings.percent},
                        {"rows", json_rows(settings, sessions.sum)}};
  for (size_t i = 0; sessions.each.size() > 1 && i < sessions.each.size(); ++i)
    all["sessions"].push_back({{"session", sessions.numbers[i]}, {"rows", json_rows(settings, sessions.each[i])}});
  return all;
}

}  // namespace fsr::lantest
