// SPDX-License-Identifier: Apache-2.0
// nfsdump's text: NFS versions 2 and 3 as a passive tracer saw them, a line for each call and each reply.
#include <algorithm>

#include "import/import.hpp"
#include "nfsdump_requests.hpp"

namespace fsr::capture {

namespace {

class Nfsdump {
 public:
  explicit Nfsdump(ImportSink& sink) : sink_(sink), pending_(sink), files_(sink), requests_(sink, files_) {}
  void line(std::string_view text);
  void finish() {
    pending_.finish();
    files_.finish();
  }

 private:
  void call(const NfsdumpLine& line);
  void reply(const NfsdumpLine& line);

  ImportSink& sink_;
  PendingCalls pending_;
  NfsFiles files_;
  NfsdumpRequests requests_;
  NfsdumpFields fields_;
};

void Nfsdump::line(std::string_view text) {
  // The debugging words of a call of another version stand on a line of their own.
  if (text.starts_with("con") || text.starts_with("status=") || text.starts_with("euid "))
    return sink_.note(ImportNotes::ignored, "lines without a call or reply", 1);
  NfsdumpLine line;
  if (!parse_nfsdump_line(text, &line)) return sink_.note(ImportNotes::lost, kNotUnderstood, 1);
  if (line.version == 0 && line.call) return sink_.note(ImportNotes::lost, "calls of other versions of NFS", 1);
  if (line.version == 0) return;
  if (line.call)
    call(line);
  else
    reply(line);
  pending_.passed(line.time);
}

void Nfsdump::call(const NfsdumpLine& line) {
  PendingCall c{.start = line.time, .version = line.version};
  c.arguments = line.request;
  fields_.parse(line.rest);
  fields_.number("euid", &c.uid);
  fields_.number("egid", &c.gid);
  pending_.add(line.flow, line.xid, std::move(c));
}

void Nfsdump::reply(const NfsdumpLine& line) {
  PendingCall call;
  if (!pending_.take(line.flow.reverse(), line.xid, &call))
    return sink_.note(ImportNotes::lost, "replies whose call was not seen", 1);
  if (!call.arguments.starts_with(line.procedure) || call.version != line.version)
    return sink_.note(ImportNotes::lost, "replies whose procedure differs from the call", 1);
  if (line.procedure == "mnt") {
    std::string_view answer = line.rest;
    next_nfsdump_word(&answer);  // the status
    fields_.parse(answer);
    if (const NfsdumpFields::Field* f = fields_.find("fh")) files_.root(f->value);
  }
  requests_.add(call, line.time, line.rest);
}

bool is_nfsdump(std::string_view head) {
  for (unsigned lines = 0; lines < 20 && !head.empty(); ++lines) {
    const size_t end = std::min(head.find('\n'), head.size());
    NfsdumpLine line;
    if (parse_nfsdump_line(head.substr(0, end), &line)) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

void import_nfsdump(ImportInput& input, const ImportOptions&, ImportSink& sink) {
  Nfsdump dump(sink);
  std::string_view text;
  while (next_text_line(input, sink, &text)) dump.line(text);
  dump.finish();
}

}  // namespace

}  // namespace fsr::capture

namespace fsr {

const Importer kNfsdumpImporter = {
    "nfsdump",
    "NFS versions 2 and 3, text of nfsdump (Harvard)",
    "the wall clock of the tracing machine, microseconds; the clock may have run backwards",
    "processes and threads (calls in flight at the same time get different ones), opens and closes, operations that the clients' "
    "caches answered, names of files that no call showed, whether an unchecked CREATE made the file, types of nodes made with "
    "MKNOD, "
    "names in listings that the tracer did not record, content",
    capture::is_nfsdump,
    capture::import_nfsdump,
};

}  // namespace fsr
