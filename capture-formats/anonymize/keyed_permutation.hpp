// SPDX-License-Identifier: Apache-2.0
// Encryption that keeps the format, under a secret key. A string of digits becomes another string of as many digits, and a number
// becomes another number of as many bits, one to one.
//
// FFX (Bellare, Rogaway, Spies: The FFX Mode of Operation for Format-Preserving Encryption, 2010) with its addition by character,
// alternating halves, ten rounds and HMAC-SHA-256 (libgcrypt) as the round function. Equal values stay equal, so a reader of many
// values sees which are the same. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace fsr {

class KeyedPermutation {
 public:
  // Any bytes. Throws std::runtime_error when the library fails.
  explicit KeyedPermutation(std::string_view key);
  ~KeyedPermutation();

  // `digits`: at least two, each below `radix` (2 to 256). `tweak`: selects the permutation; permutations of different tweaks are
  // unrelated.
  void encrypt(std::span<uint8_t> digits, unsigned radix, std::string_view tweak);
  void decrypt(std::span<uint8_t> digits, unsigned radix, std::string_view tweak);
  // Encrypts the low `bits` of a number, an even count from 2 to 64.
  uint64_t encrypt_number(uint64_t value, unsigned bits, std::string_view tweak);
  uint64_t decrypt_number(uint64_t value, unsigned bits, std::string_view tweak);
  // Fills `out` with bytes that only a holder of the key can compute.
  void derive(std::span<uint8_t> out, std::string_view tweak, std::string_view from);

 private:
  void add_round(unsigned round, std::span<uint8_t> digits, unsigned radix, std::string_view tweak, int sign);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
