// SPDX-License-Identifier: Apache-2.0
#include "keyed_permutation.hpp"

#include <gcrypt.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace fsr {

constexpr unsigned kRounds = 10;
constexpr size_t kDigest = 32;

struct KeyedPermutation::Impl {
  gcry_md_hd_t mac = nullptr;
  ~Impl() {
    if (mac) gcry_md_close(mac);
  }
};

KeyedPermutation::KeyedPermutation(std::string_view key) : impl_(std::make_unique<Impl>()) {
  if (!gcry_check_version("1.8.0"))
    throw std::runtime_error(std::string("libgcrypt 1.8 or newer is required, found ") + gcry_check_version(nullptr));
  if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  gcry_error_t e = gcry_md_open(&impl_->mac, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC);
  if (!e) e = gcry_md_setkey(impl_->mac, key.data(), key.size());
  if (e) throw std::runtime_error(std::string("libgcrypt: ") + gcry_strerror(e));
}

KeyedPermutation::~KeyedPermutation() = default;

void KeyedPermutation::derive(std::span<uint8_t> out, std::string_view tweak, std::string_view from) {
  gcry_md_hd_t mac = impl_->mac;
  for (uint32_t block = 0; block * kDigest < out.size(); ++block) {
    const uint32_t head[] = {block, uint32_t(tweak.size())};
    gcry_md_reset(mac);
    gcry_md_write(mac, head, sizeof head);
    gcry_md_write(mac, tweak.data(), tweak.size());
    gcry_md_write(mac, from.data(), from.size());
    const size_t at = block * kDigest;
    memcpy(out.data() + at, gcry_md_read(mac, GCRY_MD_SHA256), std::min(kDigest, out.size() - at));
  }
}

// Adds to one half of the digits a value that depends on the other half and the key, or subtracts the value.
void KeyedPermutation::add_round(unsigned round, std::span<uint8_t> digits, unsigned radix, std::string_view tweak, int sign) {
  const size_t half = digits.size() / 2;
  std::span<uint8_t> first = digits.first(half), second = digits.subspan(half);
  if (round % 2) std::swap(first, second);
  std::string label(tweak);
  for (uint32_t v : {uint32_t(round), uint32_t(radix), uint32_t(digits.size())})
    label.append(reinterpret_cast<const char*>(&v), sizeof v);
  std::vector<uint32_t> words(first.size());
  derive({reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint32_t)}, label,
         {reinterpret_cast<const char*>(second.data()), second.size()});
  for (size_t i = 0; i < first.size(); ++i) {
    const unsigned pad = words[i] % radix;
    first[i] = uint8_t((first[i] + (sign > 0 ? pad : radix - pad)) % radix);
  }
}

void KeyedPermutation::encrypt(std::span<uint8_t> digits, unsigned radix, std::string_view tweak) {
  for (unsigned round = 0; round < kRounds; ++round) add_round(round, digits, radix, tweak, 1);
}

void KeyedPermutation::decrypt(std::span<uint8_t> digits, unsigned radix, std::string_view tweak) {
  for (unsigned round = kRounds; round-- > 0;) add_round(round, digits, radix, tweak, -1);
}

// Digits of two bits: any even count of bits.
static void split(uint64_t value, std::span<uint8_t> digits) {
  for (uint8_t& d : digits) {
    d = uint8_t(value & 3);
    value >>= 2;
  }
}

static uint64_t join(std::span<const uint8_t> digits) {
  uint64_t value = 0;
  for (size_t i = digits.size(); i-- > 0;) value = value << 2 | digits[i];
  return value;
}

uint64_t KeyedPermutation::encrypt_number(uint64_t value, unsigned bits, std::string_view tweak) {
  uint8_t digits[32];
  const std::span<uint8_t> used(digits, bits / 2);
  split(value, used);
  encrypt(used, 4, tweak);
  return join(used);
}

uint64_t KeyedPermutation::decrypt_number(uint64_t value, unsigned bits, std::string_view tweak) {
  uint8_t digits[32];
  const std::span<uint8_t> used(digits, bits / 2);
  split(value, used);
  decrypt(used, 4, tweak);
  return join(used);
}

}  // namespace fsr
