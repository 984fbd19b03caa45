// SPDX-License-Identifier: Apache-2.0
#include "stat_output.hpp"

#include <algorithm>
#include <cstdio>

#include "json_out.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

// Every number of a group, in the order in which they are printed: visit(name, uint64_t).
template <class Visit>
void each_number(const Measure& m, Visit visit) {
  visit("operations", m.operations);
  visit("failed", m.failed);
  visit("unfinished", m.unfinished);
  visit("reads", m.reads);
  visit("writes", m.writes);
  visit("read_bytes", m.read_bytes);
  visit("written_bytes", m.written_bytes);
  visit("successive", m.successive);
  visit("sequential", m.sequential);
  visit("busy_ns", uint64_t(m.latency.sum()));
  visit("latency_mean_ns", uint64_t(m.latency.mean()));
  visit("latency_p50_ns", uint64_t(m.latency.quantile(0.5)));
  visit("latency_p90_ns", uint64_t(m.latency.quantile(0.9)));
  visit("latency_p99_ns", uint64_t(m.latency.quantile(0.99)));
  visit("latency_p999_ns", uint64_t(m.latency.quantile(0.999)));
  visit("latency_max_ns", uint64_t(m.latency.max()));
  visit("size_mean", uint64_t(m.size.mean()));
  visit("size_p50", uint64_t(m.size.quantile_low(0.5)));
  visit("size_p90", uint64_t(m.size.quantile_low(0.9)));
  visit("size_max", uint64_t(m.size.max()));
}

std::string share(uint64_t part, uint64_t whole) {
  return whole ? fmt::format("{:.1f} %", 100.0 * double(part) / double(whole)) : "-";
}

class Text final : public StatOutput {
 public:
  explicit Text(const StatShape& shape) : shape_(shape) {}

  void table(const StatStretch& at, const std::vector<StatRow>& rows, size_t left_out) override {
    Lines lines{header()};
    for (const StatRow& row : rows) lines.push_back(line(names(row.labels), *row.measure, at.to - at.from));
    std::string more = left_out ? fmt::format("{} more groups\n", format_count(left_out)) : "";
    if (!shape_.interval) {  // printed together with the sum
      whole_ = std::move(lines);
      more_ = std::move(more);
      return;
    }
    fmt::format_to(std::back_inserter(out_), "from {} to {}\n", format_duration(at.from), format_duration(at.to));
    align(lines);
    out_.append(more);
    out_.push_back('\n');
    print(out_);
  }

  void end(int64_t from, int64_t to, const Measure& total) override {
    if (shape_.interval)
      fmt::format_to(std::back_inserter(out_), "whole time, from {} to {}\n", format_duration(from), format_duration(to));
    if (whole_.empty()) whole_ = {header()};
    if (whole_.size() != 2) whole_.push_back(line("all", total, to - from));
    align(whole_);
    out_.append(more_);
    const uint64_t data = total.reads + total.writes;
    fmt::format_to(std::back_inserter(out_), "\n{} operations in {}; {} in flight on average\n", format_count(total.operations),
                   format_duration(to - from), to > from ? fmt::format("{:.2f}", total.latency.sum() / double(to - from)) : "-");
    if (data)
      fmt::format_to(std::back_inserter(out_),
                     "{} of reads and writes are reads, {} of their bytes are read; sizes mean {}, p50 {}, p90 {}, largest {}\n"
                     "{} of reads and writes are sequential\n",
                     share(total.reads, data), share(total.read_bytes, total.read_bytes + total.written_bytes),
                     format_size(uint64_t(total.size.mean())), format_size(uint64_t(total.size.quantile_low(0.5))),
                     format_size(uint64_t(total.size.quantile_low(0.9))), format_size(uint64_t(total.size.max())),
                     share(total.sequential, total.transfers));
    print(out_);
  }

 private:
  using Lines = std::vector<std::vector<std::string>>;

  static std::string names(const std::vector<Label>& labels) {
    std::string out;
    for (const Label& l : labels) {
      if (std::string_view(l.name) == "client" && l.text == "0") continue;  // nothing was merged
      out += (out.empty() ? "" : " ") + (l.text.empty() ? std::string("?") : escape_text(l.text));
    }
    return out.empty() ? "0" : out;
  }

  std::vector<std::string> header() const {
    std::string by;
    for (Dimension d : shape_.by) by += (by.empty() ? "" : " ") + std::string(dimension_name(d));
    return {by, "operations", "per s", "failed", "read", "written", "p50", "p90", "p99", "max", "size p50", "sequential"};
  }

  static std::vector<std::string> line(std::string name, const Measure& m, int64_t ns) {
    auto time = [&](double q) { return m.latency.count() ? format_duration(m.latency.quantile(q)) : "-"; };
    return {std::move(name),
            format_count(m.operations),
            ns > 0 ? format_count(uint64_t(double(m.operations) * 1e9 / double(ns) + 0.5)) : "-",
            format_count(m.failed),
            m.reads ? format_size(m.read_bytes) : "-",
            m.writes ? format_size(m.written_bytes) : "-",
            time(0.5),
            time(0.9),
            time(0.99),
            time(1),
            m.size.count() ? format_size(uint64_t(m.size.quantile_low(0.5))) : "-",
            share(m.sequential, m.transfers)};
  }

  void align(const Lines& lines) {
    std::vector<size_t> widths(lines[0].size());
    for (const auto& cells : lines)
      for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    for (const auto& cells : lines)
      for (size_t i = 0; i < cells.size(); ++i) {
        if (i == 0)
          fmt::format_to(std::back_inserter(out_), "{:<{}}", cells[i], widths[i]);
        else
          fmt::format_to(std::back_inserter(out_), "  {:>{}}{}", cells[i], widths[i], i + 1 == cells.size() ? "\n" : "");
      }
  }

  const StatShape shape_;
  fmt::memory_buffer out_;
  Lines whole_;
  std::string more_;
};

class Json final : public StatOutput {
 public:
  explicit Json(const StatShape& shape) : shape_(shape), json_(out_) {
    json_.open('{');
    json_.member_text("file", shape.file);
    json_.key("by");
    json_.open('[');
    for (Dimension d : shape.by) json_.text(dimension_name(d));
    json_.close(']');
    if (shape.interval) json_.member("interval", shape.interval);
    json_.key("groups");
    json_.open('[');
  }

  void table(const StatStretch& at, const std::vector<StatRow>& rows, size_t left_out) override {
    for (const StatRow& row : rows) {
      json_.open('{');
      if (shape_.interval) json_.member("start", at.interval);
      if (shape_.interval) json_.member("span", at.to - at.from);
      for (const Label& l : row.labels)
        if (l.number)
          json_.member(l.name, l.text);
        else
          json_.member_text(l.name, l.text);
      numbers(*row.measure);
      json_.close('}');
    }
    left_out_ += left_out;
    print(out_);
  }

  void end(int64_t from, int64_t to, const Measure& total) override {
    json_.close(']');
    json_.member("groups_left_out", left_out_);
    json_.member("from", from);
    json_.member("to", to);
    json_.key("total");
    json_.open('{');
    numbers(total);
    json_.close('}');
    json_.close('}');
    out_.push_back('\n');
    print(out_);
  }

 private:
  void numbers(const Measure& m) {
    each_number(m, [&](const char* name, uint64_t v) { json_.member(name, v); });
  }

  const StatShape shape_;
  fmt::memory_buffer out_;
  JsonOut json_;
  uint64_t left_out_ = 0;
};

// RFC 4180, with \n as the end of line; bytes that are not UTF-8 as in JSON.
class StatCsv final : public StatOutput {
 public:
  explicit StatCsv(const StatShape& shape) : shape_(shape) {
    if (shape.interval) out_.append(std::string_view("start_ns,span_ns,"));
    for (Dimension d : shape.by)
      for (const char* name : label_names(d)) fmt::format_to(std::back_inserter(out_), "{},", name);
    bool first = true;
    each_number(Measure{}, [&](const char* name, uint64_t) {
      fmt::format_to(std::back_inserter(out_), "{}{}", first ? "" : ",", name);
      first = false;
    });
    out_.push_back('\n');
  }

  void table(const StatStretch& at, const std::vector<StatRow>& rows, size_t) override {
    for (const StatRow& row : rows) {
      if (shape_.interval) fmt::format_to(std::back_inserter(out_), "{},{},", at.interval, at.to - at.from);
      for (const Label& l : row.labels) {
        field(l.text);
        out_.push_back(',');
      }
      bool first = true;
      each_number(*row.measure, [&](const char*, uint64_t v) {
        fmt::format_to(std::back_inserter(out_), "{}{}", first ? "" : ",", v);
        first = false;
      });
      out_.push_back('\n');
    }
    print(out_);
  }
  void end(int64_t, int64_t, const Measure&) override { print(out_); }

 private:
  void field(const std::string& text) {
    const std::string utf8 = json_text(text);
    if (utf8.find_first_of(",\"\r\n") == std::string::npos) {
      out_.append(utf8);
      return;
    }
    out_.push_back('"');
    for (char c : utf8) {
      if (c == '"') out_.push_back('"');
      out_.push_back(c);
    }
    out_.push_back('"');
  }

  const StatShape shape_;
  fmt::memory_buffer out_;
};

}  // namespace

void StatOutput::print(fmt::memory_buffer& out) {
  fwrite(out.data(), 1, out.size(), stdout);
  out.clear();
}

std::unique_ptr<StatOutput> stat_text(const StatShape& shape) { return std::make_unique<Text>(shape); }
std::unique_ptr<StatOutput> stat_json(const StatShape& shape) { return std::make_unique<Json>(shape); }
std::unique_ptr<StatOutput> stat_csv(const StatShape& shape) { return std::make_unique<StatCsv>(shape); }

}  // namespace fsr::fstrace
