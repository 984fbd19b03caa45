// SPDX-License-Identifier: Apache-2.0
// fstrace compare: how alike two traces are, number by number.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "compare_result.hpp"
#include "subcommand.hpp"
#include "util/html_page.hpp"
#include "util/status_line.hpp"

namespace fsr::fstrace {

namespace {

struct CompareOptions {
  std::string first, second, html;
  std::vector<std::string> tolerances;
  bool json = false, force = false;
};

// "0.1" is for every aspect, "latency=0.3" for one, whichever comes last; "read:latency=0.3" for one of a kind.
void parse_tolerance(const std::string& text, Comparison& out) {
  const size_t equals = text.find('=');
  const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  double value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || !(value >= 0 && value <= 1))
    throw std::runtime_error("--tolerance " + text +
                             ": expected a distance from 0 to 1, ASPECT=DISTANCE or KIND:ASPECT=DISTANCE");
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    KindTolerance t{.value = value};
    const std::string aspect = name.substr(colon + 1);
    t.aspect = aspect == "gaps" ? Aspect::gaps : aspect == "outcomes" ? Aspect::outcomes : Aspect::latency;
    if (!op_from_name(name.substr(0, colon), &t.kind) || aspect != aspect_entry(t.aspect).name)
      throw std::runtime_error(
          "--tolerance " + text +
          ": expected KIND:ASPECT=DISTANCE with a kind of operation, and latency, gaps or outcomes as the aspect");
    return out.kind_tolerances.push_back(t);
  }
  bool known = false;
  std::string names;
  for (size_t i = 0; i < kAspects; ++i) {
    const char* aspect = aspect_entry(Aspect(i)).name;
    names += (i ? ", " : "") + std::string(aspect);
    if (!name.empty() && name != aspect) continue;
    out.tolerances[i] = value;
    known = true;
  }
  if (!known) throw std::runtime_error("--tolerance " + text + ": expected one of " + names);
}

// True: both traces have their original names, or both have pseudonyms of one key.
bool same_names(const TraceHeader& a, const TraceHeader& b) {
  auto key = [](const TraceHeader& h) {
    std::string last;
    for (const std::string& edit : h.edits)
      if (edit.starts_with("anonymize")) last = edit;
    return last;
  };
  return key(a) == key(b);
}

int compare(const CompareOptions& options) {
  Comparison allowed;
  for (const std::string& text : options.tolerances) parse_tolerance(text, allowed);
  auto first = open_trace(options.first), second = open_trace(options.second);
  std::optional<OutputFile> html;
  if (!options.html.empty()) html.emplace(options.html, options.force, Readers::by_umask);
  Profile a, b;
  a.begin(*first, options.first);
  b.begin(*second, options.second);
  Pairing pairing(same_names(a.header, b.header));
  StatusLine line(false);
  read_both(*first, a, *second, b, pairing, 0, &line);
  line.clear();
  Comparison result = compare_profiles(a, b, pairing);
  result.tolerances = allowed.tolerances;
  result.kind_tolerances = allowed.kind_tolerances;
  const std::string text = options.json ? compare_json(a, b, result) : compare_text(a, b, result);
  fwrite(text.data(), 1, text.size(), stdout);
  if (html) html->finish(compare_html(a, b, result));
  return result.alike() ? std::max(a.status, b.status) : 1;
}

}  // namespace

Run add_compare(Command& command) {
  auto options = std::make_shared<CompareOptions>();
  command.add("FIRST", options->first, "a trace, or its series' name; - is standard input").required();
  command.add("SECOND", options->second, "trace to compare with, such as that of a replay (fsreplay --record)").required();
  command
      .add("--tolerance", options->tolerances, "allow a distance: 0.1; latency=0.3 for one aspect; read:latency=0.3 for a kind")
      .separated_by_commas();
  command.flag("--json", options->json, "print JSON on standard output");
  command.add("--html", options->html, "also write a page with charts into this file");
  command.flag("--force", options->force, "replace an existing page");
  return [options] { return compare(*options); };
}

}  // namespace fsr::fstrace
