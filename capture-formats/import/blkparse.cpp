// SPDX-License-Identifier: Apache-2.0
// blkparse's default output: `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`. A request is what was queued (Q), from then
// until a completion (C) covers its first sector.
#include <fmt/format.h>
#include <linux/falloc.h>

#include <algorithm>
#include <map>
#include <optional>

#include "import_lanes.hpp"
#include "import_text.hpp"

namespace fsr {

namespace {

constexpr uint64_t kSector = 512;
constexpr size_t kMostPending = 1 << 16;

struct BlockEvent {
  std::string device;  // "8,0"
  int64_t time;
  int32_t pid;
  char action;
  std::string_view rwbs, command;
  uint64_t sector = 0, sectors = 0;
};

bool parse(std::string_view line, BlockEvent* out) {
  std::vector<std::string_view> f;
  split_blanks(line, 11, &f);
  uint32_t number;
  if (f.size() < 7 || f[5].size() > 2) return false;
  const size_t comma = f[0].find(',');
  if (comma == std::string_view::npos || !parse_whole(f[0].substr(0, comma), &number) ||
      !parse_whole(f[0].substr(comma + 1), &number))
    return false;
  if (!parse_whole(f[1], &number) || !parse_whole(f[2], &number) || !parse_seconds(f[3], &out->time)) return false;
  if (!parse_whole(f[4], &out->pid)) return false;
  out->device = f[0];
  out->action = f[5].size() == 1 ? f[5][0] : '?';
  out->rwbs = f[6];
  out->sector = out->sectors = 0;
  if (f.size() >= 10 && f[8] == "+" && (!parse_whole(f[7], &out->sector) || !parse_whole(f[9], &out->sectors))) return false;
  if (out->sector > INT64_MAX / kSector / 2 || out->sectors > UINT32_MAX / kSector) return false;
  const size_t open = line.rfind('['), close = line.rfind(']');
  out->command = open != line.npos && close != line.npos && open < close ? line.substr(open + 1, close - open - 1) : "";
  return true;
}

class Requests {
 public:
  Requests(const ImportOptions& options, ImportSink& sink) : files_(options.directory, sink), lanes_(sink), sink_(sink) {}
  void event(const BlockEvent& e);
  void finish();

 private:
  struct Pending {
    Op op;
    int32_t pid;
    std::string command;
  };
  using Key = std::pair<std::string, uint64_t>;  // device, first sector
  using Map = std::multimap<Key, Pending>;
  void queued(const BlockEvent& e);
  Map::iterator done(Map::iterator it, std::optional<int64_t> end);

  ImportFiles files_;
  ImportLanes lanes_;
  ImportSink& sink_;
  Map pending_;
  std::multimap<int64_t, int> starts_;
};

void Requests::queued(const BlockEvent& e) {
  auto has = [&](char c) { return e.rwbs.find(c) != std::string_view::npos; };
  Op op{.start = e.time};
  if (e.sectors == 0 && has('F')) {
    op.kind = OpKind::fsync;
  } else if (e.sectors == 0) {
    return sink_.note(ImportNotes::ignored, "requests without sectors");
  } else if (has('D')) {
    op.kind = OpKind::fallocate;
    op.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  } else if (has('R') || has('W')) {
    op.kind = has('W') ? OpKind::write : OpKind::read;
  } else {
    return sink_.note(ImportNotes::lost, "requests that neither read, write, flush nor discard");
  }
  if (op.kind != OpKind::fsync) {
    op.offset = e.sector * kSector;
    op.length = e.sectors * kSector;
    if (op.kind != OpKind::fallocate) op.result = op.length;
  }
  starts_.emplace(op.start, 0);
  pending_.emplace(Key(e.device, e.sector), Pending{op, std::max(e.pid, 1), std::string(e.command)});
  if (pending_.size() <= kMostPending) return;
  sink_.note(ImportNotes::changed, "requests without a completion for a long time");
  done(pending_.begin(), std::nullopt);
}

Requests::Map::iterator Requests::done(Map::iterator it, std::optional<int64_t> end) {
  Op op = it->second.op;
  starts_.erase(starts_.find(op.start));
  if (end)
    op.duration = std::max<int64_t>(*end - op.start, 0);
  else
    op.op_flags |= kOpUnfinished;
  if (!end) op.result = 0;
  lanes_.assign(op, it->second.pid, it->second.command);
  std::string disk = it->first.first;
  std::replace(disk.begin(), disk.end(), ',', '.');
  ImportFiles::File file;
  if (files_.at("disk-" + disk, op, &file)) {
    files_.fill(file, &op);
    sink_.add(op);
  }
  return pending_.erase(it);
}

void Requests::event(const BlockEvent& e) {
  if (e.action == 'Q') {
    queued(e);
  } else if (e.action == 'C') {
    auto it = pending_.lower_bound(Key(e.device, e.sector));
    while (it != pending_.end() && it->first.first == e.device &&
           (it->first.second < e.sector + e.sectors || it->first.second == e.sector))
      it = done(it, e.time);
  } else {
    sink_.note(ImportNotes::ignored, "events between queue and completion");
  }
  sink_.passed(std::min(starts_.empty() ? INT64_MAX : starts_.begin()->first, e.time));
}

void Requests::finish() {
  if (!pending_.empty()) sink_.note(ImportNotes::changed, "requests without a completion, left as unfinished", pending_.size());
  while (!pending_.empty()) done(pending_.begin(), std::nullopt);
  files_.close_all();
}

bool is_blkparse(std::string_view head) {
  BlockEvent e;
  return parse(head.substr(0, head.find('\n')), &e);
}

void import_blkparse(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  Requests requests(options, sink);
  std::string_view text;
  BlockEvent e;
  bool sums = false;  // blkparse ends with sums for each processor
  while (next_text_line(input, sink, &text)) {
    sums |= text.starts_with("CPU") || text.starts_with("Total (");
    if (parse(text, &e))
      requests.event(e);
    else if (!sums)
      sink.note(ImportNotes::lost, kNotUnderstood);
  }
  requests.finish();
}

}  // namespace

const Importer kBlkparseImporter = {
    "blkparse",
    "blkparse text, default format",
    "the monotonic clock of the traced machine since the trace began, ns",
    "files (each device is one file, disk-MAJOR.MINOR), threads (overlapping requests get different ones), outcomes "
    "(complete success is assumed)",
    is_blkparse,
    import_blkparse,
};

}  // namespace fsr
