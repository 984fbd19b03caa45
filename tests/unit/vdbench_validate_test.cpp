// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "workloads/vdbench/validate/block_keys.hpp"
#include "workloads/vdbench/validate/journal.hpp"
#include "workloads/vdbench/validate/sector.hpp"

using namespace fsr::vdbench;

TEST_CASE("a sector says what it is, and whether it is whole") {
  std::string block(4096, 'x');
  write_sectors(block.data(), block.size(), {.offset = 8192, .time = 77, .key = 5, .owner = "sd1"});
  for (uint64_t s = 0; s < 8; ++s) {
    SectorMark mark;
    CHECK(look_at_sector(block.data() + s * kSector, {}, &mark) == SectorState::written);
    CHECK(mark.offset == 8192 + s * kSector);
    CHECK(mark.time == 77);
    CHECK(mark.key == 5);
    CHECK(mark.owner == "sd1");
  }
  const SectorMark expected{.offset = 8192, .time = 0, .key = 5, .owner = "sd1"};
  SectorMark mark;
  for (size_t at = 0; at < kSector; ++at) {
    std::string hurt = block;
    hurt[at] = char(hurt[at] ^ 4);
    CHECK(look_at_sector(hurt.data(), expected, &mark) == SectorState::damaged);
  }
  CHECK(look_at_sector(std::string(512, '\0').data(), expected, &mark) == SectorState::zeros);
  CHECK(look_at_sector(std::string(512, 'x').data(), expected, &mark) == SectorState::foreign);
}

TEST_CASE("keys count the writes of a block and begin anew; blocks are claimed whole or not at all") {
  CHECK(next_key(0) == 1);
  CHECK(next_key(125) == 126);
  CHECK(next_key(126) == 1);
  BlockKeys keys(65536, 4096);
  REQUIRE(keys.claim(8192, 4096));
  CHECK_FALSE(keys.claim(4096, 8192));
  REQUIRE(keys.claim(4096, 4096));  // it was given back
  keys.set(8192, 9);
  keys.release(8192, 4096);
  REQUIRE(keys.claim(8192, 8192));
  CHECK(keys.key(8192) == 9);
  CHECK(keys.key(12288) == BlockKeys::kUnknown);
}

TEST_CASE("a journal ends where a machine that went down left no whole entry, and is damaged where some follow") {
  std::string directory = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  REQUIRE(mkdtemp(directory.data()));
  {
    Journal journal(directory, "sd1", false, false);
    journal.begin(BlockKeys(8 * 4096, 4096));
    REQUIRE(journal.before({{1, 5}, {2, 6}}));
    REQUIRE(journal.after({{1, 5}}));
  }
  const std::string name = directory + "/sd1.jnl";
  std::ofstream(name, std::ios::app | std::ios::binary) << std::string(37, '\0');  // two entries of zeros, and a part of one
  const RecoveredKeys found = recover_keys(directory, "sd1");
  CHECK(found.keys[1] == 5);
  CHECK(found.pending == std::map<uint64_t, uint8_t>{{2, 6}});
  std::fstream(name, std::ios::in | std::ios::out | std::ios::binary).seekp(16 + 16 + 3) << 'x';  // the second of three entries
  CHECK_THROWS_WITH(recover_keys(directory, "sd1"), Catch::Matchers::EndsWith("the entry at octet 32 is damaged"));
  std::filesystem::remove_all(directory);
}
