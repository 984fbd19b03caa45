// SPDX-License-Identifier: Apache-2.0
// SNIA IOTTA, MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime, one line for each block request.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "import_lanes.hpp"
#include "import_text.hpp"

namespace fsr {

namespace {

// Windows file time of 1970-01-01: 100 ns units since 1601.
constexpr int64_t kUnixEpoch = 116'444'736'000'000'000;

struct Request {
  int64_t start, duration;
  std::string disk;
  uint32_t number;
  bool write;
  uint64_t offset, size;
};

bool parse(std::string_view line, Request* out) {
  std::vector<std::string_view> f;
  split_at(line, ',', &f);
  if (f.size() != 7 || f[1].empty()) return false;
  int64_t time, response;
  if (!parse_whole(f[0], &time) || time < kUnixEpoch || time - kUnixEpoch > INT64_MAX / 400) return false;
  if (!parse_whole(f[6], &response) || response < 0 || response > INT64_MAX / 400) return false;
  if (!parse_whole(f[2], &out->number) || out->number > 9999 || (f[3] != "Read" && f[3] != "Write")) return false;
  if (!parse_whole(f[4], &out->offset) || !parse_whole(f[5], &out->size)) return false;
  if (out->offset > INT64_MAX - UINT32_MAX || out->size > UINT32_MAX) return false;
  out->start = (time - kUnixEpoch) * 100;
  out->duration = response * 100;
  out->write = f[3] == "Write";
  out->disk = fmt::format("{}.{}", f[1], f[2]);
  return out->disk.find('/') == std::string::npos;
}

bool is_msr(std::string_view head) {
  Request r;
  for (unsigned lines = 0; lines < 3 && !head.empty(); ++lines) {
    const size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (parse(line, &r)) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

void import_msr(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  ImportFiles files(options.directory, sink);
  ImportLanes lanes(sink);
  std::map<std::string, int32_t> disks;  // several hosts may have one of a number
  std::string_view text;
  Request r;
  while (next_text_line(input, sink, &text)) {
    if (text.starts_with("Timestamp,")) continue;
    ImportFiles::File file;
    if (!parse(text, &r)) {
      sink.note(ImportNotes::lost, kNotUnderstood);
      continue;
    }
    Op op{.start = r.start, .duration = r.duration, .kind = r.write ? OpKind::write : OpKind::read};
    lanes.assign(op, disks.try_emplace(r.disk, int32_t(disks.size() + 1)).first->second, r.disk);
    if (!files.at(r.disk, op, &file)) {
      sink.note(ImportNotes::lost, "disks whose names can't be file names");
      continue;
    }
    files.fill(file, &op);
    op.offset = r.offset;
    op.length = op.result = r.size;
    sink.add(op);
  }
  files.close_all();
}

}  // namespace

const Importer kMsrImporter = {
    "msr",
    "SNIA MSR Cambridge block trace, csv",
    "the traced host's wall clock in Windows file time, 100 ns",
    "files (each disk is one file, HOST.DISK), processes and threads (overlapping requests get different ones), outcomes "
    "(complete success is assumed), flushes",
    is_msr,
    import_msr,
};

}  // namespace fsr
