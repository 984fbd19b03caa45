// SPDX-License-Identifier: Apache-2.0
// Sections of a page that describe a model: classes of processes with their operations, who starts whom and waits for whom. They
// also say how much runs of the load differ. Plain functions.
#pragma once

#include "model/model.hpp"
#include "util/html_page.hpp"

namespace fsr::fstrace {

void add_model_sections(HtmlPage& page, const LoadModel& model);

}  // namespace fsr::fstrace
