// SPDX-License-Identifier: Apache-2.0
// Prints NFSTEST/MPI's lines, as its description of 2003 shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nfstest/settings.hpp"

namespace fsr::nfstest {

class Layout {
 public:
  // `settings` must outlive this. `compat`: times have one decimal instead of six. AWT and ART are then the time divided by the
  // number of all ranks' files, as in the description's sample; its text divides by the number of one rank's files.
  Layout(const Settings& settings, unsigned ranks, bool compat) : settings_(settings), ranks_(ranks), compat_(compat) {}

  uint64_t total(uint64_t size) const { return size * settings_.files * ranks_; }             // TFS, units
  double rate(uint64_t size, double seconds) const { return double(total(size)) / seconds; }  // units/s

  std::string header(const std::vector<std::string>& hosts) const;
  std::string starting(uint64_t iteration, uint64_t size) const;
  // `seconds`: from the start of the first rank to the end of the last. Sizes are those of a file, in units.
  std::string stage(bool writes, uint64_t size, double seconds) const;
  std::string complete(double seconds) const;
  std::string best(bool writes, uint64_t size, double rate) const;

 private:
  std::string time(double seconds, int width) const;

  const Settings& settings_;
  const unsigned ranks_;
  const bool compat_;
};

}  // namespace fsr::nfstest
