// SPDX-License-Identifier: Apache-2.0
// Catch2 of either generation: Debian 12 has version 2, newer systems version 3.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
