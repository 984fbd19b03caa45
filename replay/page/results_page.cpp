// SPDX-License-Identifier: Apache-2.0
#include "page/results_page.hpp"

#include <fmt/format.h>

#include "page/run_part.hpp"
#include "page/several_runs.hpp"
#include "util/html_page.hpp"

namespace fsr {

namespace {

constexpr int kRefresh = 5;  // s after which a browser loads the page of a run that goes on again

}  // namespace

std::string results_page(const std::vector<ChosenRun>& runs) {
  const ResultRow& first = runs.front().run;
  HtmlPage html(runs.size() == 1 ? fmt::format("{} on {}", first.text("input"), first.text("target"))
                                 : fmt::format("{} runs of {}", runs.size(), first.text("input")));
  if (runs.back().running) html.refresh_every(kRefresh);
  if (runs.size() > 1)
    page::write_runs(html, runs);
  else
    page::write_run(html, runs.front());
  return html.finish();
}

}  // namespace fsr
