// SPDX-License-Identifier: Apache-2.0
// Options of the command line for mixes. Plain data; parse_loads() throws std::invalid_argument, one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/arrivals.hpp"

namespace fsr {

class Command;

struct MixOptions {
  std::vector<double> loads;  // calls per second over all streams, one for each round; empty: as fast as possible
  Arrival arrival = Arrival::exponential;
  unsigned streams = 8;
  unsigned directories = 0;  // shared by the streams; 0: each stream has its own
  uint64_t calls = 0;        // in a round; 0: no limit
  int64_t duration = 0;      // of a round, ns; 0: no limit
  uint64_t seed = 1;
  std::string sizes;               // nhfsstone, sfs or the name of a trace; empty: as the mix suggests
  uint64_t working_set = 0;        // minimum bytes of files over all streams
  unsigned nfs_version = 0;        // the mix to take from a file with several; 0: the one with the most calls
  bool compat = false;             // use whole percents of the calls, as the original nhfsstone does
  std::string since;               // file with an earlier snapshot of the same counters
  std::vector<unsigned> numbers;   // numbers of the streams' directories; empty: 0 to streams - 1
  std::vector<std::string> names;  // other names of these directories, in the order of `numbers`; empty: testdir<n>
  std::string svg;                 // file for the drawing of response over load; empty: none
};

// Adds fsreplay's options of mixes. `to` must live until the command line has been parsed.
void declare_mix_options(Command& group, MixOptions& to);

// Streams that may have directories of their own, with 62 files each.
constexpr unsigned kMostOwnDirectories = 10'000;

// Parses "max", "2000", "2k/s", or a ramp FROM-TO,STEP: "100-2000,100". Returns the loads in calls per second; empty for "max".
std::vector<double> parse_loads(std::string_view text);

}  // namespace fsr
