// SPDX-License-Identifier: Apache-2.0
// Includes Catch2: version 2 on Debian 12, version 3 on newer systems.
#pragma once
#include <string>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains_text(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
inline auto starts_with_text(const std::string& text) { return Catch::Matchers::StartsWith(text); }
#else
#include <catch2/catch.hpp>
inline auto contains_text(const std::string& text) { return Catch::Contains(text); }
inline auto starts_with_text(const std::string& text) { return Catch::StartsWith(text); }
#endif
