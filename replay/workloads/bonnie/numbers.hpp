// SPDX-License-Identifier: Apache-2.0
// Random numbers as bonnie++ draws them: rand(3) of the C library with a seed, or numbers from a file, repeated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace fsr::bonnie {

class Numbers {
 public:
  explicit Numbers(uint32_t seed);
  // Takes the numbers from a file of 32-bit numbers in network byte order. Throws std::runtime_error.
  explicit Numbers(const std::string& file);
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  void reset();                                      // starts again
  int32_t draw();                                    // never negative
  const std::string& name() const { return name_; }  // the seed, or the name of the file

 private:
  const std::string name_;
  const uint32_t seed_ = 0;
  std::vector<int32_t> of_file_;
  size_t next_ = 0;
  // glibc's rand() is random(), which has this amount of state by default. This state is separate from that of the process.
  char state_[128] = {};
  random_data generator_ = {};
};

}  // namespace fsr::bonnie
