// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
#if __has_include(<catch2/catch_all.hpp>)
int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
#endif
