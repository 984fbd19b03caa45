// SPDX-License-Identifier: Apache-2.0
#include "page/result_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/bound.hpp"
#include "util/histogram_chart.hpp"
#include "util/units.hpp"

namespace fsr::page {

Cell ratio(int64_t is, int64_t was) { return was > 0 ? fmt::format("{:.2f}", double(is) / double(was)) : ""; }

std::string fact_text(const ResultRow& row, const char* column) {
  const std::string text = row.text(column);
  return text.empty() && row.has(column) && row.number(column) ? std::to_string(row.number(column)) : text;
}

static Cell marked(bool bound, int64_t ns) { return {(bound ? "> " : "") + format_duration(ns), std::to_string(ns)}; }

Responses::Responses(ResultsReader& file, int64_t run)
    : all_(file.histogram(run, "", "response")), open_(file.histogram(run, "", "open")) {}

Cell Responses::cell(double q, int64_t ns) const { return marked(is_bound(q), ns); }

bool Responses::is_bound(double q) const { return is_lower_bound(all_, open_, q); }

Cell Responses::mean(double ns) const { return marked(is_lower_bound_of_mean(all_, open_), int64_t(ns)); }

const ResultRow* distribution(const std::vector<ResultRow>& rows, std::string_view kind, std::string_view what) {
  auto it = std::find_if(rows.begin(), rows.end(),
                         [&](const ResultRow& r) { return r.text("kind") == kind && r.text("what") == what; });
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace fsr::page
