// SPDX-License-Identifier: Apache-2.0
// Texts of drawings and pages: numbers, markup and styles. No state.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// Return a number as an axis or a point of a chart has it.
using NumberText = std::function<std::string(double)>;
std::string plain_text(double n);  // six digits
std::string duration_text(double ns);
std::string log_time_text(double ns);  // for logarithmic axes: in seconds from 100 s on, as their marks are powers of ten
std::string size_text(double bytes);
std::string count_text(double n);  // "1,234"; with decimals if `n` is small
std::string percent_text(double share);

// Styles. Colours have names: c0 to c6 of series, as of ChartSeries, h0 to h5 of heat maps.
extern const std::string_view kPageStyle;
extern const std::string_view kDrawingStyle;  // of a drawing that is a file of its own, in the colours of a page in the light

// Any bytes as text of XML or HTML: control bytes and what is not UTF-8 as \xHH.
std::string xml_text(std::string_view bytes);
std::string xml_lines(std::string_view bytes);  // newlines stay
// Returns a text of at most `most` characters: a longer one without its middle, in whose place is a mark.
std::string shortened(const std::string& text, size_t most);
std::string xml_shortened(std::string_view bytes, size_t most);  // the same of what xml_text() shows
// Returns where each character of UTF-8 begins.
std::vector<size_t> character_starts(const std::string& text);

}  // namespace fsr
