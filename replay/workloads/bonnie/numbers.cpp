// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/numbers.hpp"

#include <arpa/inet.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace fsr::bonnie {

Numbers::Numbers(uint32_t seed) : name_(std::to_string(seed)), seed_(seed) { reset(); }

Numbers::Numbers(const std::string& file) : name_(file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": " + strerror(errno));
  for (uint32_t word; in.read(reinterpret_cast<char*>(&word), sizeof word);) {
    const int32_t number = std::bit_cast<int32_t>(ntohl(word));
    of_file_.push_back(number == INT32_MIN ? 0 : std::abs(number));
  }
  if (of_file_.empty()) throw std::runtime_error(file + ": contains no random numbers; expected a file of 32-bit numbers");
}

void Numbers::reset() {
  next_ = 0;
  if (!of_file_.empty()) return;
  generator_ = {};
  initstate_r(seed_, state_, sizeof state_, &generator_);
}

int32_t Numbers::draw() {
  if (!of_file_.empty()) return of_file_[next_++ % of_file_.size()];
  int32_t number;
  random_r(&generator_, &number);
  return number;
}

}  // namespace fsr::bonnie
