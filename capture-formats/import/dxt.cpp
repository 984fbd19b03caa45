// SPDX-License-Identifier: Apache-2.0
// Darshan's extended tracing (DXT) as darshan-dxt-parser(1) prints it: for each file and rank a header, then a line for each
// transfer, writes before reads. So the whole log is read and sorted before its first operation is passed on.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "import_lanes.hpp"
#include "import_text.hpp"
#include "util/clock_ns.hpp"

namespace fsr {

namespace {

constexpr int32_t kMostRanks = 1 << 24;

// One line, such as "X_POSIX 0 write 0 0 1048576 0.0032 0.0041 [3] 139850". Its fields are module, rank, kind, number of the
// segment, offset, bytes, start and end. Times are seconds since the job began. OSTs and thread, which follow, are not needed.
struct Segment {
  int64_t start, duration;
  uint64_t offset, length;
  uint32_t file;  // index of its path
  int32_t rank;   // -1: a record that Darshan made of all ranks
  bool write, mpiio;
};

bool parse(std::string_view line, Segment* out) {
  std::vector<std::string_view> f;
  split_blanks(line, 9, &f);
  if (f.size() < 8 || (f[0] != "X_POSIX" && f[0] != "X_MPIIO") || (f[2] != "write" && f[2] != "read")) return false;
  out->mpiio = f[0] == "X_MPIIO";
  out->write = f[2] == "write";
  if (!parse_whole(f[1], &out->rank) || out->rank < -1 || out->rank > kMostRanks) return false;
  // Darshan before 3.4 knew no offsets of MPI-IO.
  if (out->mpiio && f[4] == "N/A")
    out->offset = UINT64_MAX;
  else if (!parse_whole(f[4], &out->offset) || out->offset > INT64_MAX - UINT32_MAX)
    return false;
  int64_t end;
  if (!parse_whole(f[5], &out->length) || out->length > UINT32_MAX || !parse_seconds(f[6], &out->start) ||
      !parse_seconds(f[7], &end))
    return false;
  if (out->start > INT64_MAX / 4 || end > INT64_MAX / 4) return false;
  out->duration = std::max<int64_t>(end - out->start, 0);
  return true;
}

struct DxtLog {
  int64_t began = 0;  // ns since the Unix epoch
  std::string command;
  std::vector<std::string> files;
  std::vector<bool> by_posix;  // of each file: it has segments of POSIX
  std::vector<Segment> segments;
};

std::string_view after(std::string_view line, std::string_view words) {
  return line.starts_with(words) ? line.substr(words.size()) : std::string_view();
}

class Reader {
 public:
  Reader(DxtLog& log, ImportSink& sink) : log_(log), sink_(sink) {}
  void line(std::string_view text) {
    Segment s;
    if (text.starts_with('#'))
      header(text);
    else if (!parse(text, &s) || log_.files.empty())
      sink_.note(ImportNotes::lost, kNotUnderstood);
    else
      add(s);
  }

 private:
  void header(std::string_view text) {
    int64_t seconds;
    if (const std::string_view value = after(text, "# start_time: "); !value.empty()) {
      // Within what fits in 63 bits of ns.
      if (parse_whole(value, &seconds) && seconds >= 0 && seconds < INT64_MAX / (4 * kSecond)) log_.began = seconds * kSecond;
    } else if (std::string_view exe = after(text, "# exe: "); !exe.empty()) {
      exe = exe.substr(0, exe.find(' '));
      log_.command = exe.substr(exe.rfind('/') + 1).substr(0, 15);
    } else if (text.starts_with("# DXT, file_id: ")) {
      constexpr std::string_view kName = ", file_name: ";
      const size_t name = text.find(kName);
      log_.files.emplace_back(name == std::string_view::npos ? std::string_view() : text.substr(name + kName.size()));
      log_.by_posix.push_back(false);
    } else if (text.ends_with(" module contains incomplete data!")) {
      sink_.note(ImportNotes::lost, "modules whose memory was full while Darshan traced (set MODMEM and MAX_RECORDS higher)");
    }
  }
  void add(Segment s) {
    s.file = uint32_t(log_.files.size() - 1);
    if (!s.mpiio) log_.by_posix.back() = true;
    log_.segments.push_back(s);
  }

  DxtLog& log_;
  ImportSink& sink_;
};

// Drops requests of MPI-IO whose transfers are in the log as well. A file has a record for each rank and module.
void drop_doubles(DxtLog& log, ImportSink& sink) {
  std::map<std::string_view, bool> by_posix;
  for (size_t i = 0; i < log.files.size(); ++i) by_posix[log.files[i]] |= log.by_posix[i];
  const size_t all = log.segments.size();
  std::erase_if(log.segments, [&](const Segment& s) { return s.mpiio && by_posix[log.files[s.file]]; });
  if (all != log.segments.size())
    sink.note(ImportNotes::ignored, "requests of MPI-IO, whose transfers are in the log", all - log.segments.size());
}

void import_dxt(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  DxtLog log;
  Reader reader(log, sink);
  std::string_view text;
  while (next_text_line(input, sink, &text)) reader.line(text);
  drop_doubles(log, sink);
  std::stable_sort(log.segments.begin(), log.segments.end(),
                   [](const Segment& a, const Segment& b) { return a.start < b.start; });

  ImportFiles files(options.directory, sink);
  ImportLanes lanes(sink);
  for (const Segment& s : log.segments) {
    const std::string& path = log.files[s.file];
    if (!path.starts_with('/')) {
      sink.note(ImportNotes::ignored, "transfers of standard streams, and of files without a path");
      continue;
    }
    if (s.offset == UINT64_MAX) {
      sink.note(ImportNotes::lost, "requests of MPI-IO without an offset (Darshan before 3.4)");
      continue;
    }
    Op op{.start = log.began + s.start, .duration = s.duration, .kind = s.write ? OpKind::write : OpKind::read};
    if (s.mpiio) {
      op.op_flags = kOpInferred;
      sink.note(ImportNotes::changed, "requests of MPI-IO that stand for the transfers they made");
    }
    lanes.assign(op, s.rank + 1, log.command);
    ImportFiles::File file;
    if (!files.at(path, op, &file)) {
      sink.note(ImportNotes::ignored, "transfers of files outside of the directory");
      continue;
    }
    files.fill(file, &op);
    op.offset = s.offset;
    op.length = op.result = s.length;
    if (!s.length && !s.write) {  // at the end of the file: what was asked for is not known, but it was something
      op.length = 1;
      op.op_flags |= kOpInferred;
    }
    sink.add(op);
    sink.passed(op.start);
  }
  files.close_all();
}

bool is_dxt(std::string_view head) {
  return head.starts_with("# darshan log version:") || head.starts_with("# DXT, ") ||
         head.find("\n# DXT, ") != std::string_view::npos;
}

}  // namespace

const Importer kDxtImporter = {
    "dxt",
    "Darshan's DXT, text of darshan-dxt-parser",
    "the job's start by the wall clock in seconds, and times since then as printed (0.1 ms)",
    "opens, closes and all calls but reads and writes, what was asked for beyond what was moved, failed calls, content",
    is_dxt,
    import_dxt,
};

}  // namespace fsr
