// SPDX-License-Identifier: Apache-2.0
// fsshim list
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "capture_error.hpp"
#include "control.hpp"
#include "latencies.hpp"
#include "subcommands.hpp"
#include "util/metrics_text.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr const char* kNumbers[] = {"operations",   "rate",       "bytes",   "byte_rate", "trace_bytes", "pieces", "waited",
                                    "ring_percent", "ring_bytes", "dropped", "filtered",  "elapsed",     "stalled"};

uint64_t number(const ControlFields& fields, const char* name) {
  auto at = fields.find(name);
  return at == fields.end() ? 0 : strtoull(at->second.c_str(), nullptr, 10);
}

// ns; -1: no load yet.
int64_t ring_time(ControlFields& fields) { return fields["ring_time"].empty() ? -1 : atoll(fields["ring_time"].c_str()); }

void print_json(std::vector<FoundCapture>& captures) {
  nlohmann::json all = nlohmann::json::array();
  for (FoundCapture& c : captures) {
    nlohmann::json one = {{"pid", int(c.pid)}, {"state", c.info["state"]}};
    for (const char* name : {"directory", "trace", "command", "failure"}) one[name] = json_text(c.info[name]);
    if (c.answered)
      for (const char* name : kNumbers) one[name] = number(c.info, name);
    if (number(c.info, "stalled") > 0) one["stalls"] = json_text(c.info["stalls"]);
    if (const int64_t time = ring_time(c.info); time >= 0) one["ring_time"] = time;
    for (const auto& [kind, l] : latencies_of(c.info))
      one["latency"][kind] = {{"count", l.count}, {"min_ns", l.min}, {"mean_ns", l.mean}, {"p50_ns", l.p50},
                              {"p90_ns", l.p90},  {"p99_ns", l.p99}, {"p999_ns", l.p999}, {"max_ns", l.max}};
    all.push_back(one);
  }
  puts(all.dump(2).c_str());
}

// Returns the captures as Prometheus text. Only captures that replied have figures.
std::string metrics_text(std::vector<FoundCapture>& captures) {
  using Type = MetricsText::Type;
  constexpr struct {
    const char *name, *field;
    Type type;
    double unit;  // of the metric, in units of the field
    const char* help;
  } kMetrics[] = {
      {"fsshim_operations", "operations", Type::counter, 1, "Operations recorded."},
      {"fsshim_bytes", "bytes", Type::counter, 1, "Bytes that applications read and wrote."},
      {"fsshim_trace_bytes", "trace_bytes", Type::counter, 1, "Bytes of the trace so far, removed pieces included."},
      {"fsshim_waited", "waited", Type::counter, 1, "Times that an application waited for free memory of the capture."},
      {"fsshim_dropped", "dropped", Type::counter, 1, "Operations that were not recorded for lack of memory."},
      {"fsshim_filtered", "filtered", Type::counter, 1, "Operations that filters left out."},
      {"fsshim_stalled", "stalled", Type::gauge, 1, "Requests that have waited longer than --stall for a reply."},
      {"fsshim_ring_ratio", "ring_percent", Type::gauge, 100,
       "Share in use of the memory for operations that are not written to the trace yet."},
      {"fsshim_elapsed_seconds", "elapsed", Type::gauge, 1e9, "Seconds since the start of the capture."},
  };
  MetricsText out;
  for (const auto& metric : kMetrics) {
    out.metric(metric.name, metric.type, metric.help);
    for (FoundCapture& c : captures)
      if (c.answered)
        out.sample({{"directory", c.info["directory"]}, {"pid", std::to_string(c.pid)}},
                   double(number(c.info, metric.field)) / metric.unit);
  }
  out.metric("fsshim_latency_seconds", Type::summary, "Times from a request to the reply, since the start of the capture.");
  for (FoundCapture& c : captures)
    for (const auto& [kind, l] : latencies_of(c.info)) {
      const std::string pid = std::to_string(c.pid), &directory = c.info["directory"];
      for (const auto& [name, ns] : {std::pair("0.5", l.p50), {"0.9", l.p90}, {"0.99", l.p99}, {"0.999", l.p999}})
        out.sample({{"directory", directory}, {"pid", pid}, {"kind", kind}, {"quantile", name}}, double(ns) / 1e9);
      out.sample({{"directory", directory}, {"pid", pid}, {"kind", kind}}, double(l.mean) / 1e9 * double(l.count), "_sum");
      out.sample({{"directory", directory}, {"pid", pid}, {"kind", kind}}, double(l.count), "_count");
    }
  out.metric("fsshim_recording", Type::gauge, "Whether the capture records.");
  for (FoundCapture& c : captures)
    out.sample({{"directory", c.info["directory"]}, {"pid", std::to_string(c.pid)}}, c.info["state"] == "recording");
  return out.finish();
}

}  // namespace

int run_list(bool json, const std::string& metrics) {
  std::vector<FoundCapture> captures = find_captures();
  if (!metrics.empty()) {
    if (const std::string why = replace_file(metrics, metrics_text(captures)); !why.empty()) throw CaptureError(why);
    return 0;
  }
  if (json) {
    print_json(captures);
    return 0;
  }
  if (captures.empty()) {
    puts("no captures");
    return 0;
  }
  printf("%-8s %-10s %14s %10s %11s %11s %15s  %s -> %s\n", "PID", "STATE", "OPERATIONS", "OP/S", "DATA", "TRACE", "RING",
         "DIRECTORY", "TRACE FILE");
  for (FoundCapture& c : captures) {
    auto count = [&](const char* name) { return c.answered ? format_count(number(c.info, name)) : "-"; };
    auto size = [&](const char* name) { return c.answered ? format_size(number(c.info, name)) : "-"; };
    const int64_t time = ring_time(c.info);
    const std::string ring = c.answered ? c.info["ring_percent"] + "%" + (time < 0 ? "" : " of " + format_duration(time)) : "-";
    printf("%-8d %-10s %14s %10s %11s %11s %15s  %s -> %s", int(c.pid), c.info["state"].c_str(), count("operations").c_str(),
           count("rate").c_str(), size("bytes").c_str(), size("trace_bytes").c_str(), ring.c_str(), c.info["directory"].c_str(),
           c.info["trace"].c_str());
    if (number(c.info, "pieces") > 1) printf(" (%s pieces)", c.info["pieces"].c_str());
    if (number(c.info, "dropped") > 0) printf(", %s dropped", count("dropped").c_str());
    putchar('\n');
    if (number(c.info, "stalled") > 0)
      printf("%-8s %s requests without a reply: %s\n", "", count("stalled").c_str(), c.info["stalls"].c_str());
  }
  return 0;
}

}  // namespace fsr::shim
