// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/results.hpp"

#include <algorithm>
#include <cmath>

#include "trace/bytes.hpp"

namespace fsr::lantest {

namespace {

constexpr size_t kMostWithOutliers = 5;  // iterations; with more, outliers are left out

}  // namespace

Summary summarize(const std::vector<TestRun>& runs, Measure measure) {
  std::vector<uint64_t> values;
  for (const TestRun& run : runs) values.push_back(run.measures[measure]);
  if (values.size() > kMostWithOutliers) {
    const auto least = std::min_element(values.begin(), values.end());
    const auto most = std::max_element(values.begin(), values.end());
    *least = *most = 0;
  }
  std::erase(values, 0);
  if (values.empty()) return {};
  uint64_t sum = 0;
  for (const uint64_t value : values) sum += value;
  Summary summary{.mean = sum / values.size()};
  if (values.size() < 2) return summary;
  double squares = 0;
  for (const uint64_t value : values) squares += std::pow(double(value) - double(summary.mean), 2);
  summary.deviation = std::sqrt(squares / double(values.size() - 1));
  return summary;
}

namespace {

void join(TestRun& sum, const TestRun& one, bool common_cpu) {
  const int64_t end = std::max(sum.started + sum.elapsed, one.started + one.elapsed);
  sum.started = std::min(sum.started, one.started);
  sum.elapsed = end - sum.started;
  sum.cpu = common_cpu ? std::max(sum.cpu, one.cpu) : sum.cpu + one.cpu;
  sum.server_cpu += one.server_cpu;
  sum.ids_cpu = std::max(sum.ids_cpu, one.ids_cpu);
  sum.measures[kMilliseconds] = whole_milliseconds(sum.elapsed);
  for (const Measure m : {kServerReads, kServerWrites}) sum.measures[m] += one.measures[m];
  for (const Measure m : {kIdReads, kIdWrites}) sum.measures[m] = std::max(sum.measures[m], one.measures[m]);
}

}  // namespace

void Sessions::add(unsigned number, const Results& results, const Settings& settings) {
  numbers.push_back(number);
  each.push_back(results);
  if (each.size() == 1) {
    sum = results;
    return;
  }
  ++sum.sessions;
  for (unsigned test = 0; test < kTests; ++test) {
    for (size_t run = 0; run < sum.runs[test].size(); ++run)
      join(sum.runs[test][run], results.runs[test].at(run), settings.as_operations && of_one_process);
    for (const auto& [command, times] : results.commands[test]) sum.commands[test][command].merge(times);
  }
}

void Results::save(ByteWriter& out, int64_t ahead) const {
  for (const std::vector<TestRun>& of_test : runs) {
    out.varint(of_test.size());
    for (const TestRun& run : of_test) {
      for (const uint64_t measure : run.measures) out.varint(measure);
      out.svarint(run.started + ahead);
      for (const int64_t time : {run.elapsed, run.cpu, run.server_cpu, run.ids_cpu}) out.svarint(time);
    }
  }
  for (const auto& of_test : commands) {
    out.varint(of_test.size());
    for (const auto& [name, times] : of_test) {
      out.text(name);
      times.save(out);
    }
  }
  out.u8(counts_calls);
}

Results Results::load(ByteReader& in) {
  Results results;
  for (std::vector<TestRun>& of_test : results.runs)
    for (uint64_t left = in.varint(); in.ok() && left > 0; --left) {
      TestRun& run = of_test.emplace_back();
      for (uint64_t& measure : run.measures) measure = in.varint();
      run.started = in.svarint();
      for (int64_t* time : {&run.elapsed, &run.cpu, &run.server_cpu, &run.ids_cpu}) *time = in.svarint();
    }
  for (auto& of_test : results.commands)
    for (uint64_t left = in.varint(); in.ok() && left > 0; --left) {
      const std::string name(in.text());
      of_test[name] = Histogram::load(in);
    }
  results.counts_calls = in.u8() != 0;
  return results;
}

std::optional<uint64_t> megabytes_per_second(uint64_t bytes, uint64_t milliseconds) {
  if (milliseconds == 0) return {};
  return bytes / 1000 / milliseconds;
}

}  // namespace fsr::lantest
