// SPDX-License-Identifier: Apache-2.0
// The header and the closing statement as JSON. Unknown members are ignored, missing ones keep their defaults; strings carry
// bytes in the encoding of json_text().
#pragma once

#include <string>
#include <string_view>

#include "header.hpp"

namespace fsr {

std::string encode_header(const TraceHeader& header);
bool decode_header(std::string_view body, TraceHeader* header);
std::string encode_closing(const TraceClosing& closing);
// `body`: that of the section, with the offset of the index and the end mark behind the JSON.
bool decode_closing(std::string_view body, TraceClosing* closing);

constexpr std::string_view kEndMark = "fsrTend\n";
constexpr size_t kTail = 8 + kEndMark.size();  // offset of the index and end mark, the last bytes of a whole trace

}  // namespace fsr
