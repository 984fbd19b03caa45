// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/phases.hpp"

#include <sys/resource.h>

#include "workloads/bonnie/meter.hpp"

namespace fsr::bonnie {

const std::array<const char*, kPhases> kPhaseNames = {
    "writing a byte at a time",
    "writing intelligently",
    "rewriting",
    "reading a byte at a time",
    "reading intelligently",
    "random seeks",
    "creating files in sequential order",
    "stating files in sequential order",
    "deleting files in sequential order",
    "creating files in random order",
    "stating files in random order",
    "deleting files in random order",
};

const std::array<const char*, kPhases> kPhaseKeys = {"putc",       "put_block", "rewrite", "getc",       "get_block", "seeks",
                                                     "seq_create", "seq_stat",  "seq_del", "ran_create", "ran_stat",  "ran_del"};

double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace fsr::bonnie
