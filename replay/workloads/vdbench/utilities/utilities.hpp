// SPDX-License-Identifier: Apache-2.0
// Texts that the original's utilities print. No state. All but disks_text() throw std::runtime_error "FILE: why".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fsr::vdbench {

// Returns, for each sector of a device or file from `lba` on, what data validation wrote there, and a dump. `length`: bytes, a
// multiple of 512.
std::string block_text(const std::string& file, uint64_t lba, uint64_t length);

// Returns a parameter file with an SD for each disk of this machine, a WD and an RD that only read. Disks that are in use or hold
// something are in comments, with the reason. Only reads from the disks.
std::string disks_text();

// Compresses `percent` of all pieces of 128 KiB, and returns the ratio of each file and of all as lines.
std::string compression_text(const std::vector<std::string>& files, double percent);
// Compares all units of `unit` bytes by their hashes, and returns the ratio of all units to different ones as lines. The last
// unit of a file may be shorter. Takes about 32 bytes of memory for each different unit.
std::string dedup_text(const std::vector<std::string>& files, uint64_t unit);

// Reads the wrong blocks in an errorlog.html. Returns the number of blocks of each verdict, and a table of them in the order of
// their places. `lba`: instead, the whole reports on blocks that contain this byte. `input`: an errorlog, or its directory.
std::string wrong_blocks_text(std::string input, std::optional<uint64_t> lba);

// A flatfile.html of this program or the original, after the runs. Errors also have a line.
struct FlatRequest {
  std::string input;                                         // a file, or its directory
  std::vector<std::string> columns;                          // empty: all
  std::vector<std::pair<std::string, std::string>> filters;  // (column, value); lines must match all
  bool averages = false;                                     // leaves out intervals
};

// Returns lines of CSV, the first with the names. Leaves out runs that only format.
std::string flat_csv(const FlatRequest& request);

// Compares the averages of all runs in two output directories: rates and response times, and their differences in percent. Runs
// are paired by name, in their order.
std::string compare_flat(const std::string& older, const std::string& newer);

}  // namespace fsr::vdbench
