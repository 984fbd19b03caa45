// SPDX-License-Identifier: Apache-2.0
#include "util/units.hpp"

#include <stdexcept>

#include "catch.hpp"

namespace fsr::units_test {

TEST_CASE("the units of sizes are powers of 1024") {
  CHECK(parse_size("512") == 512);
  CHECK(parse_size("4k") == 4096);
  CHECK(parse_size("4KiB") == 4096);
  CHECK(parse_size("7B") == 7);
  CHECK(parse_size("1.5G") == 3ull << 29);
  CHECK(parse_size("2MB") == 2 << 20);
  CHECK(parse_size("18446744073709551615") == UINT64_MAX);
  for (const char* bad :
       {"", "k", "-1", "+1", "4x", "4kk", "4k ", " 4k", "inf", "nan", "1e3", "18446744073709551616", "16777216T", "99999999.5P"})
    CHECK_THROWS_AS(parse_size(bad), std::invalid_argument);
}

TEST_CASE("a parsed time is in nanoseconds, and a plain number means seconds") {
  CHECK(parse_duration("100ns") == 100);
  CHECK(parse_duration("1.5us") == 1500);
  CHECK(parse_duration("30") == 30'000'000'000);
  CHECK(parse_duration("30s") == 30'000'000'000);
  CHECK(parse_duration("5m") == 300'000'000'000);
  CHECK(parse_duration("1.5h") == 5'400'000'000'000);
  CHECK(parse_duration("0") == 0);
  for (const char* bad : {"", "s", "-1s", "1 s", "1y", "1e3s", "9999999999999h"})
    CHECK_THROWS_AS(parse_duration(bad), std::invalid_argument);
}

TEST_CASE("the parser refuses factors and rates that are not above zero") {
  CHECK(parse_factor("4x") == 4);
  CHECK(parse_factor("0.5") == 0.5);
  for (const char* bad : {"0x", "0", "x", "-1x", "4xx", "inf", "nanx", ""})
    CHECK_THROWS_AS(parse_factor(bad), std::invalid_argument);
  CHECK(parse_rate("2000/s") == 2000);
  CHECK(parse_rate("2k/s") == 2000);
  CHECK(parse_rate("1.5M") == 1.5e6);
  for (const char* bad : {"0", "/s", "2000/m", "2G", ""}) CHECK_THROWS_AS(parse_rate(bad), std::invalid_argument);
}

TEST_CASE("a message has the text and what was expected, on one line") {
  try {
    parse_factor("0\nx");
    FAIL("accepted");
  } catch (const std::invalid_argument& e) {
    CHECK(std::string(e.what()) == "'0\\x0ax': expected a factor above 0 such as 4x or 0.5x");
  }
}

TEST_CASE("the formatter prints numbers with units for people") {
  CHECK(format_size(0) == "0 B");
  CHECK(format_size(1023) == "1023 B");
  CHECK(format_size(1536 * 1024) == "1.5 MiB");
  CHECK(format_size(UINT64_MAX) == "16.0 EiB");
  CHECK(format_duration(999) == "999 ns");
  CHECK(format_duration(1'250'000) == "1.25 ms");
  CHECK(format_duration(999'999) == "1.00 ms");
  CHECK(format_duration(12'340) == "12.3 us");
  CHECK(format_duration(184'000'000'000) == "3 min 04 s");
  CHECK(format_duration(59'990'000'000) == "1 min 00 s");
  CHECK(format_duration(7'500'000'000'000) == "2 h 05 min");
  CHECK(format_duration(-1500) == "-1.50 us");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(12345678) == "12,345,678");
}

TEST_CASE("text output escapes control bytes, backslashes and bytes that are not UTF-8") {
  CHECK(escape_text("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") == "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(escape_text("a\nb\\c\x7f") == "a\\x0ab\\x5cc\\x7f");
  CHECK(escape_text("\xff\xc3") == "\\xff\\xc3");
  CHECK(escape_text("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(escape_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(escape_text("\xc2\x85") == "\\xc2\\x85");           // C1 control: next line
  CHECK(escape_text(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("JSON text is valid UTF-8, and different bytes stay different") {
  CHECK(json_text("caf\xc3\xa9\n") == "caf\xc3\xa9\n");
  CHECK(json_text("\xff") == "\xef\x9f\xbf");  // U+F7FF
  // A name with U+F7FF itself must differ from the byte 0xff.
  CHECK(json_text("\xef\x9f\xbf") != json_text("\xff"));
  CHECK(json_text("\xef\x9f\xbf") == json_text("\xef") + json_text("\x9f") + json_text("\xbf"));
}

}  // namespace fsr::units_test
