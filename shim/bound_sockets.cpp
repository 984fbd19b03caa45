// SPDX-License-Identifier: Apache-2.0
#include "bound_sockets.hpp"

#include <fstream>
#include <set>
#include <sstream>

namespace fsr::shim {

std::vector<std::string> sockets_below(const std::string& directory) {
  constexpr unsigned long kListens = 1 << 16;  // __SO_ACCEPTCON
  constexpr unsigned kDatagram = 2;
  const std::string prefix = directory == "/" ? directory : directory + "/";
  std::set<std::string> found;  // an accepted connection has its listener's path
  std::ifstream table("/proc/self/net/unix");
  std::string line;
  std::getline(table, line);  // headings
  while (std::getline(table, line)) {
    std::istringstream in(line);
    std::string number, references, protocol, state, inode, path;
    unsigned long flags;
    unsigned type;
    in >> number >> references >> protocol >> std::hex >> flags >> type >> state >> inode >> std::ws;
    std::getline(in, path);
    if (((flags & kListens) || type == kDatagram) && path.starts_with(prefix)) found.insert(path);
  }
  return {found.begin(), found.end()};
}

}  // namespace fsr::shim
