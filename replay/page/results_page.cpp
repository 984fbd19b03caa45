// SPDX-License-Identifier: Apache-2.0
#include "page/results_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "page/parts.hpp"
#include "util/html_page.hpp"

namespace fsr {

namespace {

constexpr int kRefresh = 5;  // s after which a browser loads the page of a run that goes on again

std::string several_title(const std::vector<ChosenRun>& runs) {
  const std::string input = runs.front().run.text("input");
  const bool alike = std::all_of(runs.begin(), runs.end(), [&](const ChosenRun& r) { return r.run.text("input") == input; });
  return fmt::format("{} runs{}", runs.size(), alike ? " of " + input : "");
}

}  // namespace

std::string results_page(const std::vector<ChosenRun>& runs) {
  const ResultRow& first = runs.front().run;
  HtmlPage html(runs.size() == 1 ? fmt::format("{} on {}", first.text("input"), first.text("target")) : several_title(runs));
  if (runs.back().running) html.refresh_every(kRefresh);
  if (runs.size() > 1)
    page::write_runs(html, runs);
  else
    page::write_run(html, runs.front());
  return html.finish();
}

}  // namespace fsr
