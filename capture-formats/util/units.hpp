// SPDX-License-Identifier: Apache-2.0
// Numbers with units as users type them and read them. Parsers throw std::invalid_argument with one line that says what was
// expected; all of the text must be consumed. Suffixes are powers of 1024 for sizes (k, M, G, T, with optional iB or B).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fsr {

uint64_t parse_size(std::string_view text);      // bytes: "4k", "1.5G", "512"
int64_t parse_duration(std::string_view text);   // ns: "100ns", "30s", "5m", "1.5h", plain number = seconds
int64_t parse_time_span(std::string_view text);  // as parse_duration(), but above 0, for times where 0 would mean no limit
double parse_factor(std::string_view text);      // "4x", "0.5x", "4": > 0 and finite
double parse_rate(std::string_view text);        // per second: "2000/s", "2k/s", "2000"

std::string format_size(uint64_t bytes);  // "1.5 MiB"
std::string format_duration(int64_t ns);  // "1.25 ms", "3 min 04 s"
std::string format_count(uint64_t n);     // "12,345,678"
// Names are bytes: control bytes, backslash and what is not UTF-8 become \xHH.
std::string escape_text(std::string_view bytes);
// For JSON: valid UTF-8 stays; each other byte becomes U+F700 + byte (private use; characters of that range are taken as bytes
// too, so that it can be undone), documented in docs/trace-format.md.
std::string json_text(std::string_view bytes);

}  // namespace fsr
