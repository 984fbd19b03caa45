// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/figures.hpp"
#include "measure/bound.hpp"
#include "report/facts.hpp"
#include "report/report.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

using nlohmann::json;

void put(json& object, const Facts& facts) {
  for (const auto& [name, value] : facts) {
    if (auto* text = std::get_if<std::string>(&value))
      object[name] = json_text(*text);
    else if (auto* whole = std::get_if<int64_t>(&value))
      object[name] = *whole;
    else if (auto* real = std::get_if<double>(&value))
      object[name] = *real;
    else
      object[name] = nullptr;
  }
}

json of(const Facts& facts) {
  json object = json::object();
  put(object, facts);
  return object;
}

template <class List, class ToFacts>
json list_of(const List& list, ToFacts to_facts) {
  json out = json::array();
  for (const auto& one : list) out.push_back(of(to_facts(one)));
  return out;
}

json kinds(const RunResult& r) {
  json out = json::object();
  for (unsigned i = 0; i < kOpKinds; ++i) {
    const KindResult& k = r.kinds[i];
    if (!k.issued && !k.impossible && !k.refused) continue;
    json& kind = out[op_name(OpKind(i))] = of(kind_facts(k));
    for (const auto& times : figures::kTimesOfKind)
      if (const Histogram& h = k.*times.member; h.count() || &h == &k.service) kind[times.name] = of(distribution_facts(h));
  }
  return out;
}

// Prints parts of a document in pieces, so that its intervals never stand in memory together.
class Printer {
 public:
  explicit Printer(const std::function<void(std::string_view)>& sink) : sink_(sink) {}

  // Prints the document about a run, with those about `runs` in its member "runs". Null: without that member.
  void document(const Report& report, const std::vector<Report>* runs, size_t indent);
  void finish() {
    text_ += '\n';
    sink_(text_);
  }

 private:
  // Prints `value`. The lines after its first one begin with `indent` spaces more.
  void value(const json& value, size_t indent) {
    for (const char c : value.dump(2, ' ', false, json::error_handler_t::replace)) {
      text_ += c;
      if (c == '\n') text_.append(indent, ' ');
    }
    if (text_.size() < kPiece) return;
    sink_(text_);
    text_.clear();
  }
  // Begins a line of an object or array.
  void line(bool first, size_t indent) {
    text_ += first ? "\n" : ",\n";
    text_.append(indent, ' ');
  }
  void intervals(const TimeSeries& series, size_t indent);

  static constexpr size_t kPiece = 1 << 16;
  const std::function<void(std::string_view)>& sink_;
  std::string text_;
};

}  // namespace

static json document(const Report& report) {
  const RunResult& r = report.result;
  const ImageSummary& i = report.image;
  json counters = json::object();
  for (const auto& [name, value] : report.counters) counters[name] = value;
  json out = of(run_facts(report));
  out.update({
      {"image",
       {{"directories", i.directories},
        {"files", i.files},
        {"symlinks", i.symlinks},
        {"hard_links", i.hard_links},
        {"special", i.special},
        {"bytes", i.bytes},
        {"apparent_bytes", i.apparent},
        {"kept", report.prepared.kept},
        {"failed", report.prepared.failed},
        {"failures", list_of(report.prepared.failures, mismatch_facts)},
        {"elapsed_ns", report.prepared.elapsed}}},
      {"kinds", kinds(r)},
      {"intervals", nullptr},  // in its place among the members; the Printer writes the rows
      {"slowest", list_of(r.slowest.list(), slow_facts)},
      {"mismatches", list_of(r.mismatches, mismatch_facts)},
      {"differences", list_of(r.differences.list(), difference_facts)},
      {"made_of", list_of(made_of_facts(r.made_of), [](const Facts& row) { return row; })},
      {"counters", counters},
      {"not_clean", verdict(report).reasons},
      {"requirements_missed", verdict(report).missed},
  });
  for (const auto& times : figures::kTimesOfRun) {
    json& distribution = out[times.name] = of(distribution_facts(r.*times.member));
    if (times.lower_bounds) distribution["lower_bounds"] = lower_bounds(r.*times.member, r.*times.lower_bounds);
  }
  if (const Histogram recorded = recorded_times(r); recorded.count()) out["recorded"] = of(distribution_facts(recorded));
  for (const auto& section : report.sections) section->json(out);
  return out;
}

void Printer::intervals(const TimeSeries& series, size_t indent) {
  text_ += '[';
  bool first = true;
  auto row = [&](const SeriesInterval& interval, std::string_view kind, const Measured& measured) {
    line(std::exchange(first, false), indent + 2);
    value(of(interval_facts(interval, kind, measured)), indent + 2);
  };
  for (const SeriesInterval& interval : series.rows()) {
    row(interval, "", interval.all);
    for (const auto& [kind, measured] : interval.kinds) row(interval, op_name(kind), measured);
  }
  if (!first) line(true, indent);
  text_ += ']';
}

void Printer::document(const Report& report, const std::vector<Report>* runs, size_t indent) {
  json members = fsr::document(report);
  if (runs) members["runs"] = nullptr;
  text_ += '{';
  bool first = true;
  for (const auto& [name, member] : members.items()) {
    line(std::exchange(first, false), indent + 2);
    value(name, indent);
    text_ += ": ";
    if (name == "intervals") {
      intervals(report.series, indent + 2);
    } else if (name == "runs") {
      text_ += '[';
      for (const Report& run : *runs) {
        line(&run == runs->data(), indent + 4);
        document(run, nullptr, indent + 4);
      }
      line(true, indent + 2);
      text_ += ']';
    } else {
      value(member, indent + 2);
    }
  }
  line(true, indent);
  text_ += '}';
}

void report_json(const Report& report, const std::vector<Report>& runs, const std::function<void(std::string_view)>& sink) {
  Printer printer(sink);
  printer.document(report, runs.empty() ? nullptr : &runs, 0);
  printer.finish();
}

}  // namespace fsr
