// SPDX-License-Identifier: Apache-2.0
#include "targets/unicode.hpp"

#include "catch.hpp"

namespace fsr::unicode_test {

TEST_CASE("the check distinguishes UTF-8 from other bytes") {
  CHECK(is_utf8("plain"));
  CHECK(is_utf8("\u00e4 \u20ac \U0001f600"));
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    CHECK(!is_utf8(bad));
    CHECK(decomposed(bad) == bad);
    CHECK(composed(bad) == bad);
  }
}

TEST_CASE("the converter decomposes names as a Mac does, and composes them again") {
  struct Pair {
    const char *composed, *decomposed;
  };
  for (const auto& [one, other] : {Pair{"plain", "plain"},
                                   {"caf\u00e9", "cafe\u0301"},
                                   {"\u1ec7", "e\u0323\u0302"},               // two marks, in canonical order
                                   {"\u00e9\u0323", "e\u0323\u0301"},         // a mark that comes before that of the letter
                                   {"\uac01", "\u1100\u1161\u11a8"},          // Hangul
                                   {"\u304c", "\u304b\u3099"},                // Kana
                                   {"\u2260\u212b", "\u2260\u212b"},          // U+2000 to U+2FFF stay
                                   {"\uf900\U0002f800", "\uf900\U0002f800"},  // ideographs of compatibility, too
                                   {"\U0001d15e", "\U0001d157\U0001d165"}}) {
    INFO(one);
    CHECK(decomposed(one) == other);
    CHECK(decomposed(other) == other);
  }
  CHECK(composed("cafe\u0301") == "caf\u00e9");
  CHECK(composed("e\u0323\u0302") == "\u1ec7");
  CHECK(composed("\u1100\u1161\u11a8") == "\uac01");
  CHECK(composed("\u2260\u212b") == "\u2260\u212b");
  CHECK(composed("\U0001d157\U0001d165") == "\U0001d157\U0001d165");  // never composed: UAX #15, composition exclusions
}

}  // namespace fsr::unicode_test
