// SPDX-License-Identifier: Apache-2.0
#include "cli/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/target.hpp"
#include "base/until_stopped.hpp"
#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "op_source.hpp"
#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

struct Survey {
  std::array<uint64_t, kOpKinds> impossible{}, approximate{};
  uint64_t not_allowed = 0;  // operations that --allow does not name, of the impossible
  uint64_t bytes_read = 0, bytes_written = 0;
  // Highest scale that is possible with the service times of the capture: the busiest stream sets the limit. 0: not known.
  double feasible_scale = 0;
};

Survey survey(Input& input, Target& target, const std::array<bool, kOpKinds>& allowed) {
  Survey s;
  RunOptions range;
  OpSource* source = input.survey(range);
  if (!source) return s;
  std::unordered_map<ThreadId, int64_t> busy;
  int64_t first = -1, last = 0;
  UntilStopped going_on(*source);
  OpBatch batch;
  while (going_on.next(batch))
    for (const Op& op : batch.ops) {
      if (op.start < range.from || op.start >= range.to) continue;
      if (first < 0) first = op.start;
      last = std::max(last, op.end());
      busy[op.thread] += op.duration;
      if (op.kind == OpKind::read) s.bytes_read += op.error ? 0 : op.result;
      if (op.kind == OpKind::write) s.bytes_written += op.error ? 0 : op.result;
      Fidelity f = target.fidelity(op);
      if (f == Fidelity::approximate) ++s.approximate[unsigned(op.kind)];
      if (f == Fidelity::impossible) {
        ++s.impossible[unsigned(op.kind)];
        s.not_allowed += !allowed[unsigned(op.kind)];
      }
    }
  int64_t busiest = 0;
  for (const auto& [thread, time] : busy) busiest = std::max(busiest, time);
  if (busiest > 0) s.feasible_scale = double(last - first) / double(busiest);
  return s;
}

}  // namespace

int dry_run(Input& input, Target& target, const Report& report, bool json) {
  const ImageSummary& image = report.image;
  const Survey s = survey(input, target, report.allowed);
  Space space = target.space();
  bool fits = !space.total || image.bytes <= space.free;
  const int status = !fits ? 1 : s.not_allowed ? kInexpressible : 0;
  if (json) {
    nlohmann::json impossible = nlohmann::json::object(), approximate = nlohmann::json::object();
    for (unsigned i = 0; i < kOpKinds; ++i) {
      if (s.impossible[i]) impossible[op_name(OpKind(i))] = s.impossible[i];
      if (s.approximate[i]) approximate[op_name(OpKind(i))] = s.approximate[i];
    }
    nlohmann::json out = {{"input", json_text(report.input)},
                          {"target", json_text(report.target)},
                          {"operations", report.whole},
                          {"streams", report.streams},
                          {"image_bytes", image.bytes},
                          {"image_files", image.files},
                          {"image_directories", image.directories},
                          {"free_bytes", space.free},
                          {"fits", fits},
                          {"bytes_read", s.bytes_read},
                          {"bytes_written", s.bytes_written},
                          {"impossible", impossible},
                          {"approximate", approximate},
                          {"feasible_scale", s.feasible_scale}};
    fmt::print("{}\n", out.dump(2));
    return status;
  }
  fmt::print("{} on {} would issue {}\n", report.input, report.target, input.outlook());
  fmt::print("image      {} directories, {} files, {} symlinks; {} to write", format_count(image.directories),
             format_count(image.files), format_count(image.symlinks), format_size(image.bytes));
  if (space.total) fmt::print(", {} free{}", format_size(space.free), fits ? "" : ": too little");
  fmt::print("\n");
  if (s.bytes_read + s.bytes_written)
    fmt::print("run        reads {} and writes {}\n", format_size(s.bytes_read), format_size(s.bytes_written));
  for (unsigned i = 0; i < kOpKinds; ++i) {
    if (s.impossible[i]) fmt::print("not expressible  {:<16} {}\n", op_name(OpKind(i)), format_count(s.impossible[i]));
    if (s.approximate[i]) fmt::print("approximate      {:<16} {}\n", op_name(OpKind(i)), format_count(s.approximate[i]));
  }
  if (s.feasible_scale > 0)
    fmt::print("scale      up to {:.1f}x with the service times of the capture (the busiest stream sets the limit)\n",
               s.feasible_scale);
  return status;
}

}  // namespace fsr
