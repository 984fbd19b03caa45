// SPDX-License-Identifier: Apache-2.0
// Sections of a page that describe a model: its processes with their operations, who starts whom and who waits for whom, and how
// far runs of the load are from each other. Plain functions.
#pragma once

#include "model/model.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

void add_model_sections(HtmlPage& page, const LoadModel& model);

}  // namespace fsr::fstrace
