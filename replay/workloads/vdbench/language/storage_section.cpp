// SPDX-License-Identifier: Apache-2.0
// SDs and WDs: raw devices and large files, and the operations on them.
#include <fmt/format.h>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kMostStorage = uint64_t(1) << 60;

uint64_t sectors(const Parameter& p, uint64_t least = 512) {
  const uint64_t bytes = whole(p, least, kMostStorage);
  if (bytes % 512) throw ParameterError(p.values[0].position, "expected a multiple of 512");
  return bytes;
}

// Reads a number of bytes, or a percentage.
double amount(const Value& value) {
  const double n = number(value).value;
  if (!(n >= 0 && n <= double(kMostStorage)))
    throw ParameterError(value.position, "expected 0 to {} bytes, not '{}'", kMostStorage, value.text);
  return n;
}

Share share(const Parameter& p) {
  if (p.values.size() != 2) throw ParameterError(p.position, "expected {}=(from,to)", p.keyword);
  const Share share{amount(p.values[0]), amount(p.values[1])};
  if (share.to <= share.from) throw ParameterError(p.values[1].position, "expected an end above the beginning");
  return share;
}

void set_stride(Workload& w, const Parameter& p) {
  if (p.values.size() != 2) throw ParameterError(p.position, "expected stride=(shortest,longest)");
  w.stride = {{amount(p.values[0]), amount(p.values[1])}};
  if (w.stride->second < w.stride->first)
    throw ParameterError(p.values[1].position, "expected a longest stride that is not below the shortest");
}

void set_seek(Workload& w, const Parameter& p) {
  const Value& value = p.values[0];
  if (begins_word("poisson", value.text)) {
    w.seek = Seek::poisson;
    if (p.values.size() > 1) w.midpoint = number(p.values[1]).value;
    if (p.values.size() > 2 || w.midpoint <= 0) throw ParameterError(value.position, "expected poisson or (poisson,MIDPOINT)");
    return;
  }
  single(p);
  w.seek_percent = 0;
  if (same_word(value.text, "eof") || value.text == "-1") {
    w.seek = Seek::once;
  } else if (same_word(value.text, "seqnz")) {
    w.seek = Seek::sequential_elsewhere;
  } else if (begins_word("sequential", value.text)) {
    w.seek = Seek::sequential;
  } else {
    w.seek_percent = begins_word("random", value.text) ? 100 : within(p, 0, 100);
    w.seek = w.seek_percent == 0 ? Seek::sequential : Seek::random;
  }
}

void set_lun(Storage& s, const Parameter& p) {
  if (!s.lun.empty()) throw ParameterError(p.position, "lun= is given twice, expected one lun=, or a host= for each");
  s.lun = single(p).text;
}

void set_reads(Workload& w, const Parameter& p) { w.read_percent = within(p, 0, 100); }
void set_writes(Workload& w, const Parameter& p) { w.read_percent = 100 - within(p, 0, 100); }

const Keyword<Storage> kStorage[] = {
    {"lun", set_lun},
    {"size", [](Storage& s, const Parameter& p) { s.size = whole(p, 512, kMostStorage); }},
    {"threads", [](Storage& s, const Parameter& p) { s.threads = unsigned(whole(p, 1, 100'000)); }},
    {"hitarea", [](Storage& s, const Parameter& p) { s.hit_area = sectors(p, 0); }},
    {"offset", [](Storage& s, const Parameter& p) { s.offset = sectors(p); }},
    {"align", [](Storage& s, const Parameter& p) { s.align = sectors(p); }},
    {"kstat", nullptr, "only Solaris has this"},
    {"instance", nullptr, "only Solaris has this"},
    {"replay", nullptr, kReplay},
    {"journal", [](Storage& s, const Parameter& p) { s.journal = single(p).text; }},
    {"resetlun", nullptr, "only Solaris has this"},
    {"resetbus", nullptr, "only Solaris has this"},
    {"openflags", [](Storage& s, const Parameter& p) { s.flags = open_flags(p); }},
    {"range", [](Storage& s, const Parameter& p) { s.range = share(p); }},
    {"dedupratio dedupsets deduphotsets dedupflipflop", add_content<Storage>},
    {"dedupunit", nullptr, kForAll},
    {"streams", nullptr, "a parameter of a WD in 5.04"},
};

const Keyword<Workload> kWorkload[] = {
    {"skew", [](Workload& w, const Parameter& p) { w.skew = within(p, 0, 100); }},
    {"xfersize", [](Workload& w, const Parameter& p) { w.transfers = transfer_sizes(p); }},
    {"readpct rdpct", set_reads},
    {"writepct wrpct", set_writes},
    {"range", [](Workload& w, const Parameter& p) { w.range = share(p); }},
    {"hotband", [](Workload& w, const Parameter& p) { w.hot_band = share(p); }},
    {"seekpct", set_seek},
    {"stride", set_stride},
    {"priority", [](Workload& w, const Parameter& p) { w.priority = unsigned(whole(p, 1, 1000)); }},
    {"iorate", [](Workload& w, const Parameter& p) { w.rate = within(p, 1e-6, 1e9); }},
    {"rhpct", [](Workload& w, const Parameter& p) { w.read_hits = within(p, 0, 100); }},
    {"whpct", [](Workload& w, const Parameter& p) { w.write_hits = within(p, 0, 100); }},
    {"openflags", [](Workload& w, const Parameter& p) { w.flags = open_flags(p); }},
    {"user", nullptr, kJava},
    {"threads", [](Workload& w, const Parameter& p) { w.threads = unsigned(whole(p, 1, 100'000)); }},
    {"streams", [](Workload& w, const Parameter& p) { w.streams = unsigned(whole(p, 2, 100'000)); }},
};

}  // namespace

std::span<const Keyword<Storage>> storage_keywords() { return kStorage; }
std::span<const Keyword<Workload>> workload_keywords() { return kWorkload; }

}  // namespace fsr::vdbench
