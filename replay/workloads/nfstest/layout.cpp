// SPDX-License-Identifier: Apache-2.0
#include "workloads/nfstest/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fsr::nfstest {

std::string Layout::time(double seconds, int width) const {
  return compat_ ? fmt::format("{:{}.1f}", seconds, width) : fmt::format("{:.6f}", seconds);
}

std::string Layout::header(const std::vector<std::string>& hosts) const {
  const Settings& s = settings_;
  const char* unit = s.unit_name();
  std::string text = "FILETEST/NFS/MPI of 2003/07/04 is running with following parameters:\n";
  text += fmt::format("\tUnit is 1{} = {} bytes\n", unit, s.unit_bytes());
  text += fmt::format("\tFile size: {}{} to {}{}, buffer size: ", s.least, unit, s.most, unit);
  text += s.buffer ? fmt::format("{}{}\n", s.buffer, unit) : "file size\n";
  text += fmt::format("\tNumber of processes: {}, number of files: {}, total: {}\n", ranks_, s.files, s.files * ranks_);
  if (s.check) text += "\tChecking correctness of read buffer.\n";
  if (s.direct) text += "\tUsing direct I/O calls (read/write).\n";
  text += fmt::format("\tNumber of iterations for whole test: {}\n", s.repeat);
  text += fmt::format("\tTesting file system: {}\n", s.folder);
  return text + fmt::format("\tNodes: {}\n\n", fmt::join(hosts, " "));
}

std::string Layout::starting(uint64_t iteration, uint64_t size) const {
  return fmt::format("Starting test iteration = {} for FS = {}{}.\n", iteration, size, settings_.unit_name());
}

std::string Layout::stage(bool writes, uint64_t size, double seconds) const {
  const char* unit = settings_.unit_name();
  const char letter = writes ? 'W' : 'R';
  const double all = rate(size, seconds);
  const double each = seconds / double(settings_.files * (compat_ ? ranks_ : 1));
  return fmt::format("--- TFS={}{}\t{}TT={}s A{}T={}s\tL{}R={:.1f}{}/s T{}R={:.1f}{}/s\n", total(size), unit, letter,
                     time(seconds, 4), letter, time(each, 4), letter, all / ranks_, unit, letter, all, unit);
}

std::string Layout::complete(double seconds) const { return fmt::format("Testing complete in {} seconds\n", time(seconds, 5)); }

std::string Layout::best(bool writes, uint64_t size, double rate) const {
  const char* unit = settings_.unit_name();
  return fmt::format("--- Best {} rate achieved: T{}R={:.1f} {}/s (at TFS={}{})\n", writes ? "writing" : "reading",
                     writes ? 'W' : 'R', rate, unit, total(size), unit);
}

}  // namespace fsr::nfstest
