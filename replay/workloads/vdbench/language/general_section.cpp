// SPDX-License-Identifier: Apache-2.0
// General parameters.
#include <fmt/format.h>

#include <algorithm>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

constexpr size_t kMostBuckets = 64;         // including the last one, which has no upper edge
constexpr uint64_t kMostRemoving = 10'000;  // errors with data_errors=remove, after which the run ends anyway

int64_t edge_of(const Value& value) {
  std::string text = value.text;
  double times = 1e3;
  if (text.ends_with('u'))
    text.pop_back();
  else if (text.ends_with('m'))
    times = 1e6, text.pop_back();
  else if (text.ends_with('s'))
    times = 1e9, text.pop_back();
  return int64_t(number({text, value.position}).value * times);
}

void set_histogram(General& g, const Parameter& p) {
  if (!same_word(p.values[0].text, "default"))
    throw ParameterError(p.values[0].position, "expected (default,EDGE,...) or (default,suppress)");
  g.histogram.clear();
  int64_t width = 0;  // width of the buckets up to the next edge; 0: a single bucket
  auto add = [&](int64_t edge) {
    g.histogram.push_back(edge);
    if (g.histogram.size() >= kMostBuckets) throw ParameterError(p.position, "expected at most 64 buckets");
  };
  for (size_t i = 1; i < p.values.size(); ++i) {
    const Value& value = p.values[i];
    if (same_word(value.text, "suppress")) {
      g.histogram_shown = false;
      continue;
    }
    const int64_t edge = edge_of(value);
    if (edge <= 0) throw ParameterError(value.position, "expected an edge above 0");
    const int64_t before = g.histogram.empty() ? 0 : g.histogram.back();
    // A number that is not greater than the previous edge is the width of buckets.
    if (edge <= before) {
      width = edge;
      if (i + 1 == p.values.size()) throw ParameterError(value.position, "expected an edge after the width of buckets");
      continue;
    }
    for (int64_t next = before + width; width && next < edge; next += width) add(next);
    width = 0;
    add(edge);
  }
  if (g.histogram.empty() && g.histogram_shown)
    throw ParameterError(p.position, "expected (default,EDGE,...) or (default,suppress)");
}

// Reads N, (N,SECONDS), "COMMAND" or remove_device, which may be shortened.
void set_data_errors(General& g, const Parameter& p) {
  const Value& first = p.values[0];
  g.removes = !first.quoted && begins_word("remove_device", first.text);
  g.removes_position = p.position;
  const size_t most = first.quoted ? 1 : 2;
  g.error_command = first.quoted ? first.text : "";
  g.error_wait = 0;
  if (p.values.size() > most)
    throw ParameterError(p.position, "expected N, (N,SECONDS), \"COMMAND\", remove or (remove,SECONDS)");
  if (p.values.size() == 2) g.error_wait = int64_t(whole(p.values[1], 1, 1'000'000));
  g.data_errors = first.quoted ? 1 : g.removes ? kMostRemoving : whole(first, 1, 1'000'000'000);
}

void set_misc(General& g, const Parameter& p) {
  for (const Value& value : p.values) {
    if (!begins_word(value.text, "fifo=")) throw ParameterError(value.position, "expected fifo=N");
    g.queue = whole(Value{value.text.substr(5), value.position}, 10, 1'000'000);
  }
}

// Throws for a word that only the original supports: "reportdedupsets is refused: ...".
void refuse(const Parameter& p, const char* word, const char* why) {
  for (const Value& value : p.values)
    if (value.text.size() >= 3 && (begins_word(word, value.text) || begins_word(value.text, word)))
      throw ParameterError(value.position, "{} is refused: {}", word, why);
}

// Takes a parameter that only the original supports, if its value turns it off.
void only(const Parameter& p, const char* off, const char* why) {
  if (!begins_word(off, single(p).text)) throw ParameterError(p.position, "{}= is refused: {}", p.keyword, why);
}

bool is_no(const Parameter& p) {
  return std::any_of(p.values.begin(), p.values.end(),
                     [](const Value& v) { return same_word(v.text, "n") || same_word(v.text, "no"); });
}

// A word of validate= or journal= that sets something to `value`; null: it sets nothing.
struct Setting {
  const char* word;
  bool Validation::*part = nullptr;
  bool value = true;
};

void set_words(Validation& v, const Parameter& p, std::span<const Setting> settings) {
  std::vector<const char*> words;
  for (const Setting& setting : settings) words.push_back(setting.word);
  for (const Value& value : p.values) {
    const Setting& setting = settings[one_of(value, words)];
    if (setting.part) v.*setting.part = setting.value;
    v.recovers |= v.only_recovers;
  }
}

void set_validation(General& g, const Parameter& p) {
  static const Setting kWords[] = {{"no"},
                                   {"yes"},
                                   {"read_after_write", &Validation::reads_after},
                                   {"no_preread", &Validation::reads_before, false},
                                   {"time"}};  // each sector contains its time anyway
  g.validation.on = !is_no(p);
  refuse(p, "reportdedupsets", "dsim reports the duplicates of a file or device");
  refuse(p, "ignore_zero_reads", "zeros in place of written data are a lost write");
  set_words(g.validation, p, kWords);
}

void set_journal(General& g, const Parameter& p) {
  static const Setting kWords[] = {{"yes"},
                                   {"recover", &Validation::recovers},
                                   {"only", &Validation::only_recovers},
                                   {"noflush", &Validation::flushes, false},
                                   {"maponly", &Validation::maps_only},
                                   {"skip_read_all", &Validation::reads_all, false},
                                   {"ignore_pending", &Validation::ignores_pending},
                                   {"no"}};
  g.validation.journal = !is_no(p);
  g.validation.on |= g.validation.journal;
  refuse(p, "max=", "the journal grows as it needs to");
  set_words(g.validation, p, kWords);
}

void set_dedup_unit(General& g, const Parameter& p) {
  g.content.unit = whole(p, 512, 1 << 30);
  if (g.content.unit % 512) throw ParameterError(p.values[0].position, "expected a multiple of 512");
}

void set_dedup_sets(General& g, const Parameter& p) {
  g.content_position = p.position;
  const Number sets = number(single(p));
  g.content.sets = sets.value;
  g.content.sets_percent = sets.percent;
  const bool fine = sets.value > 0 && (sets.percent ? sets.value < 100 : sets.value == double(uint64_t(sets.value)));
  if (!fine) throw ParameterError(p.values[0].position, "expected a number of sets, or a percentage of all units");
}

void set_hot_sets(General& g, const Parameter& p) {
  if (p.values.size() % 2) throw ParameterError(p.position, "expected pairs of a number of sets and one of units in each");
  g.content.hot_sets.clear();
  for (size_t i = 0; i < p.values.size(); i += 2)
    g.content.hot_sets.emplace_back(whole(p.values[i], 1, 1'000'000), whole(p.values[i + 1], 1, 1'000'000));
}

void set_flips(General& g, const Parameter& p) {
  constexpr ContentSettings::Flips kHow[] = {ContentSettings::Flips::none, ContentSettings::Flips::all,
                                             ContentSettings::Flips::hot};
  g.content_position = p.position;
  g.content.flips = kHow[one_of(single(p), {"no", "yes", "hotsets"})];
}

void set_seed(General& g, const Parameter& p) { g.content.seed = same_word(single(p).text, "tod") ? 0 : whole(p, 1, INT64_MAX); }

constexpr const char* kSolaris = "only Solaris or Windows has this";

void set_compression(General& g, const Parameter& p) {
  g.content.compression = within(p, 1, 25);
  g.content_position = p.position;
}

// Reads compression=, which is the percentage that remains.
void set_old_compression(General& g, const Parameter& p) {
  g.content.compression = 100 / within(p, 4, 100);
  g.content_position = p.position;
}

void set_report(General& g, const Parameter& p) {
  for (const Value& v : p.values) {
    const size_t which = one_of(v, {"host_detail", "slave_detail", "no_sd_detail", "no_fsd_detail"});
    g.host_pages |= which == 0;
    g.slave_pages |= which == 1;
    if (which >= 2) g.storage_pages = false;
  }
}

const Keyword<General> kGeneral[] = {
    {"compratio", set_compression},
    {"compression", set_old_compression},
    {"compressionseed", set_seed},
    {"dedupratio",
     [](General& g, const Parameter& p) {
       g.content.dedup = within(p, 1, 1000);
       g.content_position = p.position;
     }},
    {"dedupunit", set_dedup_unit},
    {"dedupsets", set_dedup_sets},
    {"deduphotsets", set_hot_sets},
    {"dedupflipflop", set_flips},
    {"dedupacross", nullptr, "duplicates are always within one SD or anchor"},
    {"dedupmaxkey", nullptr, "dedupflipflop= changes a duplicate between two contents only"},
    {"port", [](General&, const Parameter& p) { whole(p, 1, 65535); }},
    {"pattern",
     [](General& g, const Parameter& p) {
       g.content.pattern_file = single(p).text;
       g.pattern_position = g.content_position = p.values[0].position;
     }},
    {"data_errors dataerrors", set_data_errors},
    {"swat", nullptr, "Swat's format is not public"},
    {"validate", set_validation},
    {"journal", set_journal},
    {"startcmd start_cmd", [](General& g, const Parameter& p) { g.start = commands_of(p); }},
    {"endcmd end_cmd", [](General& g, const Parameter& p) { g.end = commands_of(p); }},
    {"heartbeat_error", nullptr, "no command follows a lost rank; --patience says how long a rank may be silent"},
    {"debug",
     [](General&, const Parameter& p) {
       only(p, "0", "internal flags of the original are not supported; --debug prints what this program does");
     }},
    {"unix2windows", nullptr, kSolaris},
    {"formatxfersize", [](General& g, const Parameter& p) { g.format_transfer = transfer_sizes(p).largest(); }},
    {"create_anchors", [](General& g, const Parameter& p) { g.create_anchors = yes_or_no(p); }},
    {"formatsds", [](General& g, const Parameter& p) { g.formats_storages = yes_or_no(p); }},
    {"report", set_report},
    {"report_run_totals",
     [](General&, const Parameter& p) { only(p, "no", "totals.html and --json have the totals of each run"); }},
    {"histogram", set_histogram},
    {"psrset", nullptr, kSolaris},
    {"auxreport", nullptr, kJava},
    {"monitor", [](General& g, const Parameter& p) { g.monitor = single(p).text; }},
    {"concatenatesds",
     [](General& g, const Parameter& p) {
       g.concatenates = yes_or_no(p);
       g.concatenates_position = p.position;
     }},
    {"messagescan", [](General&, const Parameter& p) { single(p); }},
    {"abort_failed_skew", [](General& g, const Parameter& p) { g.skew_limit = within(p, 1e-6, 100); }},
    {"misc", set_misc},
    {"pattern_buffer", nullptr, "the length of a pattern is that of its file"},
    {"showlba", [](General&, const Parameter& p) { only(p, "no", kShown); }},
    {"loop", [](General& g, const Parameter& p) { g.repeats = repeats(single(p)); }},
    {"fwd_thread_adjust", [](General& g, const Parameter& p) { g.adjusts_threads = yes_or_no(p); }},
    {"ios_per_jvm", [](General&, const Parameter& p) { whole(p, 1, 1'000'000'000); }},
    {"timeout", nullptr,
     "an SD or FSD that does not answer shows as intervals of 0 operations; a target's own ?timeout= ends the wait"},
};

}  // namespace

Repeats repeats(const Value& value) {
  std::string digits = value.text;
  const char unit = digits.empty() ? ' ' : digits.back();
  const int64_t seconds = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  if (seconds) digits.pop_back();
  const uint64_t n = whole(Value{digits, value.position}, 1, 1'000'000);
  return seconds ? Repeats{0, int64_t(n) * seconds} : Repeats{n, 0};
}

std::span<const Keyword<General>> general_keywords() { return kGeneral; }

ContentSettings own_content(const ContentSettings& of_run, const std::vector<Parameter>& parameters) {
  General general;
  general.content = of_run;
  for (const Parameter& p : parameters) apply(general_keywords(), general, p, "sd= or fsd=");
  return general.content;
}

}  // namespace fsr::vdbench
