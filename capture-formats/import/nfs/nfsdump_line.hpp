// SPDX-License-Identifier: Apache-2.0
// Lines of nfsdump, Harvard's passive NFS tracer (Ellard and Seltzer, LISA 2003; its format.txt and the traces that SNIA keeps):
//   1006231504.285023 32.03fd 30.0801 T C3 1cf0d105 6 read fh cfbc6584 off 0 count 2000 con = 130 len = 146
//   1006231504.294708 30.0801 32.03fd T R3 1cf0d105 6 read OK ftype 1 mode 180 ... count 2000 eof 0 status=0 pl = 8 con = 70 len
//   = 78
// Time, source, destination (address.port), transport, direction and version, xid, procedure by number and by name, of replies
// the status, then fields by name; numbers are hexadecimal but for times, whose fraction counts microseconds also where it lacks
// leading zeros. The fields behind "con" and "status=" are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flow.hpp"

namespace fsr::capture {

struct NfsdumpLine {
  int64_t time = 0;  // ns since the Unix epoch
  FlowKey flow;
  bool call = false;
  unsigned version = 0;
  uint32_t xid = 0;
  std::string_view procedure;
  std::string_view request;  // from the procedure's name on
  std::string_view rest;     // text behind the procedure's name
};
// False: no line of nfsdump.
bool parse_nfsdump_line(std::string_view text, NfsdumpLine* out);

// Takes the next word off; a quoted one keeps its quotes.
std::string_view next_nfsdump_word(std::string_view* text);
constexpr std::string_view kCut = "calls or replies in packets that were not captured completely";

// The fields behind a procedure's name or a reply's status.
class NfsdumpFields {
 public:
  void parse(std::string_view text);
  bool cut() const { return cut_; }  // the packet was not captured completely
  struct Field {
    std::string_view name, value;
  };
  const std::vector<Field>& all() const { return fields_; }
  const Field* find(std::string_view name) const;  // the first of that name
  // False: there is none, or it is no number.
  bool number(std::string_view name, uint64_t* out) const;
  bool number(std::string_view name, uint32_t* out) const;
  bool text(std::string_view name, std::string* out) const;
  static bool unquote(std::string_view value, std::string* out);  // \22 for a quote

 private:
  std::vector<Field> fields_;
  bool cut_ = false;
};
// "1030395536.79027", or "SERVER".
bool parse_nfsdump_time(std::string_view text, int64_t* ns);

}  // namespace fsr::capture
