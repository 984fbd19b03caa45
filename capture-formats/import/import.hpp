// SPDX-License-Identifier: Apache-2.0
// Traces of other tools, read into operations. An importer is one source file (group) of this folder and one line in the table of
// import.cpp.
//
// An importer reads its input once, from the front, and hands each operation to the sink, roughly in order of start; the sink
// sorts within a window. Memory grows with what is live (files, descriptors, requests in flight), not with the length. Input is
// never trusted: an importer throws nothing but ImportError, and an operation with a name that is no valid component is counted
// as lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "import_input.hpp"
#include "op.hpp"

namespace fsr {

struct ImportOptions {
  std::string directory = "/";  // absolute: operations on what lies below it are imported, it becomes the root
};

// Counts, by reason, of input that did not become operations exactly.
struct ImportNotes {
  enum Kind {
    lost,     // an operation that the trace lacks
    changed,  // an operation that the trace has in another form than the input
    ignored,  // no operation on a file: nothing is missing
  };
  struct Count {
    uint64_t count = 0;
    std::string first;  // place of the first, "strace.log:12"
  };
  std::map<std::string, Count, std::less<>> counts[3];
  uint64_t total(Kind kind) const;
};

// Receives the operations of an importer. Times are ns since the Unix epoch; if the input has no wall clock, since any moment.
class ImportSink {
 public:
  virtual ~ImportSink() = default;
  // Copies what `op` points to, except `op.who`, which must come from thread().
  virtual void add(const Op& op) = 0;
  // No operation that starts before `start` will be added any more.
  virtual void passed(int64_t start) = 0;
  // A thread of its own number; the result stays valid as long as the sink.
  virtual const ThreadInfo* thread(int32_t tid, int32_t pid, int32_t ppid, std::string_view command) = 0;
  // `why` is one line; the place is where the input stands.
  virtual void note(ImportNotes::Kind kind, std::string_view why, uint64_t count = 1) = 0;
};

struct Importer {
  const char* name;   // "strace"
  const char* what;   // "strace -f -ttt -T, with or without -y"
  const char* clock;  // clock and resolution of its times
  const char* cannot_know;
  bool (*sniff)(std::string_view head);  // the input's first bytes
  void (*run)(ImportInput& input, const ImportOptions& options, ImportSink& sink);
};

// The next line of a text that is not empty; lines with NUL bytes are counted as lost. False: none.
bool next_text_line(ImportInput& input, ImportSink& sink, std::string_view* out);
constexpr std::string_view kNotUnderstood = "lines that are truncated or not understood";

std::span<const Importer* const> importers();
const Importer* find_importer(std::string_view name);  // null: no such

extern const Importer kBlkparseImporter;
extern const Importer kDftracerImporter;
extern const Importer kDxtImporter;
extern const Importer kFioIologImporter;
extern const Importer kLoggedfsImporter;
extern const Importer kMsrImporter;
extern const Importer kNfsdumpImporter;
extern const Importer kPcapImporter;
extern const Importer kStraceImporter;

}  // namespace fsr
