// SPDX-License-Identifier: Apache-2.0
// Styles of pages and of drawings. Colours have names: c0 to c6 of series, as of ChartSeries, h0 to h5 of heat maps.
#pragma once

#include <string_view>

namespace fsr {

extern const std::string_view kPageStyle;
extern const std::string_view kDrawingStyle;  // of a drawing that is a file of its own, in the colours of a page in the light

}  // namespace fsr
