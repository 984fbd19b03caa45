// SPDX-License-Identifier: Apache-2.0
// Tests utilities of vdbench that read files: the errorlog of several ranks, and parts of files.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "workloads/vdbench/utilities/utilities.hpp"

namespace fsr::vdbench_utilities_test {

using namespace fsr::vdbench;

namespace {

// A file that is removed with this.
struct File {
  std::string name = std::filesystem::temp_directory_path() / "fsreplay-test.XXXXXX";
  explicit File(const std::string& content) {
    const int fd = mkstemp(name.data());
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(name, std::ios::binary) << content;
  }
  ~File() { std::filesystem::remove(name); }
};

}  // namespace

TEST_CASE("vdbench dvpost finds the wrong blocks of other ranks, and counts only lines that sum up as no error") {
  const std::string wrong =
      "Data Validation error: sd=sd1 lun=/x read: block lba=4096 (0x1000) size=4096: lost write, expected key 2, from sector 0 "
      "on: 8 sectors of zeros; last written at 11/28 09:11:22 by rd=a thread=1\n  lost write: the content\n";
  const std::string range = "sd=sd1 lun=/x: lba=0 to 4096 (0x0 to 0x1000), 4096 bytes: lost write\n";
  const File log("09:11:22.004 " + wrong + "09:11:23.004 rank 2 (h3): " + wrong +
                 "09:11:24.004 Ranges of wrong blocks: 1\n09:11:24.004 " + range +
                 "09:11:24.004 rank 2 (h3): Ranges of wrong blocks: 1\n09:11:24.004 rank 2 (h3): " + range +
                 "09:11:24.004 rank 2 (h3): 3 more wrong blocks are not summed up\n"
                 "09:11:25.004 rank 2 (h3): fsd=f file=a: expected 4096 bytes, found more: another program has written to this\n"
                 "09:11:26.004 fwd=f: /wrong blocks/4096 bytes: lost write: Input/output error\n");
  const std::string text = wrong_blocks_text(log.name, {});
  CHECK_THAT(text, contains_text(": 2 wrong blocks, 2 other errors\n"));
  CHECK_THAT(
      text, contains_text("\nrank 2 (h3): sd=sd1 lun=/x\n  lba=4096 (0x1000) size=4096 lost write at 09:11:23.004 (read); last"));
  CHECK_THAT(text, contains_text("\nsd=sd1 lun=/x\n  lba=4096 (0x1000) size=4096 lost write at 09:11:22.004 (read); last"));
  CHECK_THAT(wrong_blocks_text(log.name, 4100), contains_text("09:11:23.004 rank 2 (h3): Data Validation error"));
}

TEST_CASE("vdbench csim reads the given part of a file, and at least something") {
  constexpr size_t kPiece = 128 << 10;
  const File ten(std::string(10 * kPiece, 'x')), one(std::string(1000, 'x')), none("");
  const auto read = [](const File& file, double percent) {
    const std::string text = compression_text({file.name}, percent);
    return text.substr(file.name.size() + 2, text.find(" read") - file.name.size() - 2);
  };
  CHECK(read(ten, 100) == "1280k");
  CHECK(read(ten, 70) == "896k");
  CHECK(read(ten, 40) == "512k");
  CHECK(read(ten, 1) == "128k");
  CHECK(read(one, 1) == "1000");
  CHECK(read(none, 100) == "0");
}

}  // namespace fsr::vdbench_utilities_test
