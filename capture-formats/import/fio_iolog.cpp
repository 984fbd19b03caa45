// SPDX-License-Identifier: Apache-2.0
// fio iolog, versions 2 and 3 (fio(1), "TRACE FILE FORMAT"): `[time] file action [offset length]`.
#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>

#include "import_lanes.hpp"
#include "import_text.hpp"

namespace fsr {

namespace {

constexpr std::string_view kVersion2 = "fio version 2 iolog", kVersion3 = "fio version 3 iolog";
constexpr int64_t kStep = 1000;  // ns between operations of version 2, which has no times

class Iolog {
 public:
  Iolog(bool timed, const ImportOptions& options, ImportSink& sink)
      : timed_(timed), files_(options.directory, sink), sink_(sink) {
    who_ = sink.thread(1, 1, 0, "fio");
  }
  bool line(std::string_view text);
  void finish() { files_.close_all(); }

 private:
  Op op_at(OpKind kind) const {
    Op op{.start = now_, .kind = kind, .thread = who_->id};
    op.who = who_;
    return op;
  }
  bool transfer(std::string_view path, std::string_view action, uint64_t offset, uint64_t length);

  const bool timed_;
  ImportFiles files_;
  ImportSink& sink_;
  const ThreadInfo* who_;
  int64_t now_ = 0;
};

bool Iolog::transfer(std::string_view path, std::string_view action, uint64_t offset, uint64_t length) {
  constexpr std::string_view kActions[] = {"read", "write", "sync", "datasync", "trim"};
  constexpr OpKind kKinds[] = {OpKind::read, OpKind::write, OpKind::fsync, OpKind::fsync, OpKind::fallocate};
  const auto known = std::find(std::begin(kActions), std::end(kActions), action);
  if (known == std::end(kActions)) return false;
  Op op = op_at(kKinds[known - std::begin(kActions)]);
  // A log of requests: that they succeeded, and in full, is taken for granted.
  op.op_flags = kOpInferred;
  ImportFiles::File file;
  if (!files_.at(path, op, &file)) {
    sink_.note(ImportNotes::ignored, "requests on files outside of the directory");
    return true;
  }
  files_.fill(file, &op);
  if (op.kind == OpKind::fsync) {
    op.flags = action == "datasync";
  } else {
    op.offset = offset;
    op.length = length;
    if (op.kind == OpKind::fallocate)
      op.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    else
      op.result = length;
  }
  sink_.add(op);
  return true;
}

bool Iolog::line(std::string_view text) {
  std::vector<std::string_view> f;
  split_blanks(text, 6, &f);
  if (timed_) {
    int64_t time;
    if (f.empty() || !parse_whole(f[0], &time) || time < 0 || time > INT64_MAX / 1000) return false;
    if (time * 1000 < now_)
      sink_.note(ImportNotes::changed, "times that run backwards");
    else
      now_ = time * 1000;
    f.erase(f.begin());
  } else {
    now_ += kStep;
  }
  uint64_t offset, length;
  if (f.size() == 2) {
    const Op like = op_at(OpKind::null);
    ImportFiles::File file;
    if (f[1] == "add") return true;
    if (f[1] == "open") {
      if (!files_.at(f[0], like, &file)) sink_.note(ImportNotes::ignored, "requests on files outside of the directory");
      return true;
    }
    if (f[1] == "close") files_.close(f[0], like, false);
    return f[1] == "close";
  }
  if (f.size() != 4 || !parse_whole(f[2], &offset) || !parse_whole(f[3], &length)) return false;
  if (offset > INT64_MAX || length > UINT32_MAX) return false;
  if (f[1] != "wait") return transfer(f[0], f[1], offset, length);
  if (timed_ || offset > uint64_t(INT64_MAX / 1000 - 1) || now_ > INT64_MAX - int64_t(offset) * 1000 - kStep) return false;
  now_ += int64_t(offset) * 1000;
  return true;
}

bool is_iolog(std::string_view head) { return head.starts_with(kVersion2) || head.starts_with(kVersion3); }

void import_iolog(ImportInput& input, const ImportOptions& options, ImportSink& sink) {
  std::string_view text;
  if (!input.line(&text) || (text != kVersion2 && text != kVersion3))
    throw ImportError(input.place() + ": expected 'fio version 2 iolog' or 'fio version 3 iolog'");
  Iolog log(text == kVersion3, options, sink);
  while (next_text_line(input, sink, &text))
    if (!log.line(text)) sink.note(ImportNotes::lost, kNotUnderstood);
  log.finish();
}

}  // namespace

const Importer kFioIologImporter = {
    "fio-iolog",
    "fio iolog, version 2 or 3",
    "version 3: microseconds since the start of the job, as fio 3.33 writes; version 2 has no times: operations start 1 us "
    "apart",
    "outcomes (complete success is assumed), durations, threads, how files were opened, whether they existed, metadata "
    "operations",
    is_iolog,
    import_iolog,
};

}  // namespace fsr
