// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_recording.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trace/bytes.hpp"
#include "util/clock_ns.hpp"
#include "util/environment.hpp"

namespace fsr {

ReplayRecording::ReplayRecording(const std::string& path, Cluster& cluster)
    : cluster_(cluster), path_(path), recording_(cluster.size() > 1 ? rank_recording(path, cluster.rank()) : path) {
  if (cluster.size() > 1 && cluster.root()) merged_.emplace(path);
}

void ReplayRecording::start(TraceHeader header, Input& input) {
  header_ = std::move(header);
  recording_.start(header_, input.before());
}

void ReplayRecording::finish(bool whole, std::optional<int64_t> began, Input& input, Afterwards& afterwards) {
  afterwards.run([&] { recording_.finish(whole, whole ? "replay ended" : "replay stopped"); });
  if (cluster_.size() == 1) return;
  if (began)
    afterwards.run([&] { merge(*began, input); });
  else
    afterwards.fail(fmt::format("{}: not written, because a rank was lost; {} and so on hold the operations of each rank", path_,
                                rank_recording(path_, 0)));
}

void ReplayRecording::merge(int64_t began, Input& input) {
  const std::string own = rank_recording(path_, cluster_.rank());
  RankRecordings::Plan plan{.header = header_, .initial = input.before(), .ids_differ = input.ids_differ(), .began = {}};
  ByteWriter mine;
  mine.svarint(began);
  for (const std::string& text : cluster_.gather(mine.view())) plan.began.push_back(ByteReader(text).svarint());
  if (!plan.began.empty())
    for (const int64_t first = std::ranges::min(plan.began); int64_t & at : plan.began) at -= first;
  std::vector<int> files = collect_recordings(cluster_, own);
  if (merged_) merged_->write(std::move(files), std::move(plan));
  unlink(own.c_str());
}

TraceHeader header_of_replay(const Input& input, const std::string& name, const std::string& target) {
  const TraceHeader& of = input.header();
  TraceHeader header;
  header.id = random_trace_id();
  header.epoch = clock_ns(CLOCK_REALTIME);
  header.clock_unit = of.clock_unit;
  header.program = "fsreplay " FSR_VERSION;
  utsname machine;
  if (uname(&machine) == 0) header.host = machine.nodename, header.kernel = machine.release;
  header.directory = header.mount_source = target;
  header.visibility = "what the replayer issued";
  header.edits = of.edits;
  header.edits.push_back(fmt::format("fsreplay {} of {}", input.settings(), of.id.empty() ? name : "trace " + of.id));
  return header;
}

}  // namespace fsr
