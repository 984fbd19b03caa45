// SPDX-License-Identifier: Apache-2.0
// Includes Catch2: version 2 on Debian 12, version 3 on newer systems.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
