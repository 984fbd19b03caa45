// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compare_result.hpp"
#include "json_out.hpp"
#include "report_sections.hpp"
#include "util/html_page.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct Row {
  const char* what;
  std::string a, b;
};

// The numbers of both, side by side.
std::vector<Row> totals(const Profile& a, const Profile& b) {
  std::vector<Row> rows;
  const WorkingSet x = a.working_set(), y = b.working_set();
  auto row = [&](const char* what, auto text) { rows.push_back({what, text(a, x), text(b, y)}); };
  using P = const Profile&;
  using W = const WorkingSet&;
  row("operations", [](P p, W) { return format_count(p.total.operations); });
  row("failed", [](P p, W) { return format_count(p.total.failed); });
  row("unfinished", [](P p, W) { return format_count(p.total.unfinished); });
  row("time", [](P p, W) { return format_duration(p.covered.span()); });
  row("operations a second", [](P p, W) { return count_text(p.rate()); });
  row("read", [](P p, W) { return format_size(p.total.read_bytes); });
  row("written", [](P p, W) { return format_size(p.total.written_bytes); });
  row("latency p50", [](P p, W) { return format_duration(p.total.latency.quantile(0.5)); });
  row("latency p99", [](P p, W) { return format_duration(p.total.latency.quantile(0.99)); });
  row("gap between starts p50", [](P p, W) { return format_duration(p.gaps.quantile(0.5)); });
  row("in flight, mean", [](P p, W) { return fmt::format("{:.2f}", p.in_flight()); });
  row("in flight, most", [](P p, W) { return format_count(p.concurrency.most()); });
  row("files touched", [](P, W w) { return format_count(w.files); });
  row("blocks touched, about", [](P, W w) { return format_size(w.bytes); });
  auto percent = [](uint64_t of, double share) { return of ? fmt::format("{:.1f} %", share * 100) : "-"; };
  row("lookups of missing names", [&](P p, W) { return percent(p.traits.lookups, p.traits.lookup_share()); });
  row("reads that are sequential", [&](P p, W) { return percent(p.traits.reads.count, p.traits.reads.share()); });
  row("writes that are sequential", [&](P p, W) { return percent(p.traits.writes.count, p.traits.writes.share()); });
  return rows;
}

std::vector<std::string> kind_row(const Profile& a, const Profile& b, const KindComparison& k) {
  const Measure &x = a.kinds[size_t(k.kind)], &y = b.kinds[size_t(k.kind)];
  auto time = [](const Measure& m, double q) { return m.latency.count() ? format_duration(m.latency.quantile(q)) : "-"; };
  return {op_name(k.kind),
          format_count(x.operations),
          format_count(y.operations),
          time(x, 0.5),
          time(y, 0.5),
          time(x, 0.99),
          time(y, 0.99),
          fmt::format("{:.3f}", k.latency),
          fmt::format("{:.3f}", k.gaps),
          fmt::format("{:.3f}", k.outcomes)};
}

const std::vector<std::string>& kind_headings() {
  static const std::vector<std::string> kHeadings = {"op",        "first",      "second",  "first p50", "second p50",
                                                     "first p99", "second p99", "latency", "gaps",      "outcomes"};
  return kHeadings;
}

std::string verdict_of(const Comparison& c, size_t i) {
  if (!c.tolerances[i]) return "";
  return fmt::format("{} {:.3f}", c.exceeded(i) ? "MORE THAN" : "within", *c.tolerances[i]);
}

// Name of a tolerance, as in its option: "read:latency".
std::string name_of(const KindTolerance& t) { return fmt::format("{}:{}", op_name(t.kind), aspect_entry(t.aspect).name); }

std::string verdict_of(const Comparison& c, const KindTolerance& t) {
  return fmt::format("{} {:.3f}", c.distance_of(t) > t.value ? "MORE THAN" : "within", t.value);
}

std::string pairs_text(const PairsComparison& p) {
  return fmt::format("{} in both, {} of these with another outcome, {} only in the first, {} only in the second",
                     format_count(p.pairs), format_count(p.differing), format_count(p.only_first), format_count(p.only_second));
}

std::string names_text(const NamesComparison& n) {
  return fmt::format("{} the same, {} only in the first, {} only in the second, {} of another type, size or target",
                     format_count(n.same), format_count(n.only_first), format_count(n.only_second), format_count(n.differing));
}

void put_kinds(JsonOut& json, const Profile& a, const Profile& b, const Comparison& c) {
  json.key("kinds");
  json.open('[');
  for (const KindComparison& k : c.kinds) {
    json.open('{');
    json.member_text("op", op_name(k.kind));
    for (const auto& [which, p] : {std::pair("first", &a), std::pair("second", &b)}) {
      const Measure& m = p->kinds[size_t(k.kind)];
      json.key(which);
      json.open('{');
      json.member("operations", m.operations);
      json.member("failed", m.failed);
      json.member("share", double(m.operations) / double(p->total.operations));
      json.member("latency_p50_ns", m.latency.quantile(0.5));
      json.member("latency_p99_ns", m.latency.quantile(0.99));
      json.close('}');
    }
    json.member("latency_distance", k.latency);
    json.member("gaps_distance", k.gaps);
    json.member("outcomes_distance", k.outcomes);
    json.close('}');
  }
  json.close(']');
}

void put_texts(JsonOut& json, const char* key, const std::vector<std::string>& texts) {
  json.key(key);
  json.open('[');
  for (const std::string& text : texts) json.text(text);
  json.close(']');
}

void put_profile(JsonOut& json, const char* which, const Profile& p) {
  const WorkingSet set = p.working_set();
  json.key(which);
  json.open('{');
  json.member_text("file", p.name);
  json.member("operations", p.total.operations);
  json.member("failed", p.total.failed);
  json.member("unfinished", p.total.unfinished);
  json.member("elapsed_ns", p.covered.span());
  json.member("operations_per_s", p.rate());
  json.member("read_bytes", p.total.read_bytes);
  json.member("written_bytes", p.total.written_bytes);
  json.member("latency_p50_ns", p.total.latency.quantile(0.5));
  json.member("latency_p99_ns", p.total.latency.quantile(0.99));
  json.member("gap_p50_ns", p.gaps.quantile(0.5));
  json.member("in_flight_mean", p.in_flight());
  json.member("in_flight_most", p.concurrency.most());
  json.member("files_touched", set.files);
  json.member("bytes_touched_about", set.bytes);
  json.member("failed_lookups_share", p.traits.lookup_share());
  json.member("sequential_reads_share", p.traits.reads.share());
  json.member("sequential_writes_share", p.traits.writes.share());
  json.close('}');
}

}  // namespace

std::string compare_text(const Profile& a, const Profile& b, const Comparison& c) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "first   {}\nsecond  {}\n\n{:<26} {:>16} {:>16}\n", escape_text(a.name), escape_text(b.name), "", "first",
                 "second");
  for (const Row& r : totals(a, b)) fmt::format_to(out, "{:<26} {:>16} {:>16}\n", r.what, r.a, r.b);
  fmt::format_to(out, "\n{:<12} {:>8}  distance from 0 (the same) to 1 (nothing in common); KS: of Kolmogorov and Smirnov\n", "",
                 "");
  for (size_t i = 0; i < kAspects; ++i)
    fmt::format_to(out, "{:<12} {:>8.3f}  {}{}\n", aspect_entry(Aspect(i)).name, c.distances[i], aspect_entry(Aspect(i)).what,
                   c.tolerances[i] ? "; " + verdict_of(c, i) : "");
  fmt::format_to(out, "\n{:<15}", kind_headings()[0]);
  for (size_t i = 1; i < kind_headings().size(); ++i) fmt::format_to(out, " {:>10}", kind_headings()[i]);
  text += '\n';
  for (const KindComparison& k : c.kinds) {
    const std::vector<std::string> cells = kind_row(a, b, k);
    fmt::format_to(out, "{:<15}", cells[0]);
    for (size_t i = 1; i < cells.size(); ++i) fmt::format_to(out, " {:>10}", cells[i]);
    text += '\n';
  }
  for (const KindTolerance& t : c.kind_tolerances)
    fmt::format_to(out, "{} {:.3f}; {}\n", name_of(t), c.distance_of(t), verdict_of(c, t));
  text += "\noperations: " + pairs_text(c.pairs) + "\n";
  for (const std::string& e : c.pairs.examples) text += "  " + escape_text(e) + "\n";
  text += "\nnames at the end: " + names_text(c.names) + "\n";
  for (const std::string& e : c.names.examples) text += "  " + escape_text(e) + "\n";
  return text;
}

std::string compare_json(const Profile& a, const Profile& b, const Comparison& c) {
  fmt::memory_buffer out;
  JsonOut json(out);
  json.open('{');
  put_profile(json, "first", a);
  put_profile(json, "second", b);
  json.key("distances");
  json.open('{');
  for (size_t i = 0; i < kAspects; ++i) json.member(aspect_entry(Aspect(i)).name, c.distances[i]);
  json.close('}');
  json.key("exceeded");
  json.open('[');
  for (size_t i = 0; i < kAspects; ++i)
    if (c.exceeded(i)) json.text(aspect_entry(Aspect(i)).name);
  for (const KindTolerance& t : c.kind_tolerances)
    if (c.distance_of(t) > t.value) json.text(name_of(t));
  json.close(']');
  put_kinds(json, a, b, c);
  json.key("pairs");
  json.open('{');
  json.member("both", c.pairs.pairs);
  json.member("differing", c.pairs.differing);
  json.member("only_first", c.pairs.only_first);
  json.member("only_second", c.pairs.only_second);
  put_texts(json, "examples", c.pairs.examples);
  json.close('}');
  json.key("names");
  json.open('{');
  json.member("same", c.names.same);
  json.member("only_first", c.names.only_first);
  json.member("only_second", c.names.only_second);
  json.member("differing", c.names.differing);
  put_texts(json, "examples", c.names.examples);
  json.close('}');
  json.close('}');
  return fmt::to_string(out) + "\n";
}

std::string compare_html(const Profile& a, const Profile& b, const Comparison& c) {
  HtmlPage page(fmt::format("{} and {}", a.name, b.name));
  page.section("distances", "How alike the traces are");
  HtmlPage::Table distances{.caption = "Distance from 0 (the same) to 1 (nothing in common); KS: of Kolmogorov and Smirnov",
                            .headings = {"aspect", "distance", "tolerance", "what is compared"},
                            .text_columns = true,
                            .id = "distance-table"};
  for (size_t i = 0; i < kAspects; ++i)
    distances.rows.push_back({HtmlPage::Cell::barred(aspect_entry(Aspect(i)).name, c.distances[i]),
                              fmt::format("{:.3f}", c.distances[i]), verdict_of(c, i), aspect_entry(Aspect(i)).what});
  for (const KindTolerance& t : c.kind_tolerances) {
    const double distance = c.distance_of(t);
    distances.rows.push_back(
        {HtmlPage::Cell::barred(name_of(t), distance), fmt::format("{:.3f}", distance), verdict_of(c, t), "only this kind"});
  }
  page.table(distances);
  page.section("numbers", "Side by side");
  HtmlPage::Table numbers{.caption = "Totals", .headings = {"", a.name, b.name}};
  for (const Row& r : totals(a, b)) numbers.rows.push_back({r.what, r.a, r.b});
  page.table(numbers);
  page.section("load", "Load and concurrency");
  auto operations = [](const TimeBin& t) { return double(t.operations); };
  page.chart(over_time("Operations over time", "operations/s", {{a.name, &a, operations}, {b.name, &b, operations}}, count_text));
  page.chart(
      share_up_to("Gaps between starts", "time from start to start", {{a.name, &a.gaps}, {b.name, &b.gaps}}, log_time_text));
  page.chart(time_at_depth({&a, &b}));
  page.section("latency", "Latency");
  page.chart(share_up_to("Latency of all operations", "latency", {{a.name, &a.total.latency}, {b.name, &b.total.latency}},
                         log_time_text));
  page.section("kinds", "By kind");
  HtmlPage::Table kinds{.caption = "Numbers, latencies and distances of each kind of operation", .headings = kind_headings()};
  for (const KindComparison& k : c.kinds) {
    const std::vector<std::string> cells = kind_row(a, b, k);
    kinds.rows.emplace_back(cells.begin(), cells.end());
  }
  page.table(kinds);
  page.section("outcomes", "Operations and their outcomes");
  page.paragraph(pairs_text(c.pairs));
  for (const std::string& e : c.pairs.examples) page.paragraph(e);
  page.section("names", "Names at the end");
  page.paragraph(names_text(c.names));
  for (const std::string& e : c.names.examples) page.paragraph(e);
  return page.finish();
}

}  // namespace fsr::fstrace
