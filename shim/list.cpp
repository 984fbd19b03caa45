// SPDX-License-Identifier: Apache-2.0
// fsshim list
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "control.hpp"
#include "subcommands.hpp"
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
    all.push_back(one);
  }
  puts(all.dump(2).c_str());
}

}  // namespace

int run_list(bool json) {
  std::vector<FoundCapture> captures = find_captures();
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
      printf("%-8s %s requests have no answer: %s\n", "", count("stalled").c_str(), c.info["stalls"].c_str());
  }
  return 0;
}

}  // namespace fsr::shim
