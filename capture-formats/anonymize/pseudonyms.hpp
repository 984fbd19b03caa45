// SPDX-License-Identifier: Apache-2.0
// Names, users, processes and content under other names, one to one, as a key says; and back.
//
// A pseudonym is a letter for the characters that the name consists of and how long it is, and those characters encrypted:
//
//   h H  hexadecimal digits       k K  lower-case letters and digits      m M  letters, digits and . _ -
//   x X  any bytes, as base 64    z    too long to be written so: hashed, there is no way back
//
// Capitals: names of 1 to 5 bytes, all as long as another. Longer ones become one byte longer, x a third. An extension that many
// files have (.c, .txt) stays. So equal names stay equal, and lengths, extensions and the shape of the tree stay. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "keyed_permutation.hpp"

namespace fsr {

class Pseudonyms {
 public:
  // `back`: from pseudonyms to names.
  Pseudonyms(std::string_view key, bool back);

  // Returns the pseudonym of a path component, at most `limit` bytes. "." and ".." stay.
  std::string name(std::string_view name, size_t limit = 255);
  std::string path(std::string_view path);    // component by component
  std::string words(std::string_view text);   // word by word: between spaces, slashes, colons, commas and the like
  std::string xattr(std::string_view name);   // of the same length if possible, so that lists have theirs; plain_xattr() stays
  std::string value(std::string_view bytes);  // as many bytes
  uint32_t user(uint32_t id);                 // 0, 65534 and "none" stay
  int32_t process(int32_t pid);               // 0 stays
  uint64_t owner(uint64_t owner);             // of locks: a process if it may be one; other numbers stay
  uint64_t print(uint64_t hash);              // of a block; 0 stays

  // Names that can't be turned back into the original; on the way back: texts that were no pseudonyms.
  uint64_t hashed() const { return hashed_; }
  // A mark by which the right key is recognised, and which says nothing else about the key.
  std::string key_mark();

 private:
  std::string stem(std::string_view name, size_t limit);
  std::string stem_back(std::string_view pseudonym);
  std::string hashed_name(std::string_view name, size_t size);
  void permute(std::span<uint8_t> digits, unsigned radix, std::string_view tweak);
  uint64_t permute_number(uint64_t value, unsigned bits, std::string_view tweak);

  KeyedPermutation keyed_;
  const bool back_;
  uint64_t hashed_ = 0;
  std::unordered_map<std::string, std::string> names_;  // recent ones
  std::unordered_map<uint64_t, uint64_t> prints_;
  std::unordered_map<uint32_t, uint32_t> users_;
  std::unordered_map<int32_t, int32_t> processes_;
};

// True for an extension that stays as it is.
bool common_extension(std::string_view extension);
// Returns the number of bytes of an attribute's name that stay: the namespace at its beginning, or all if the kernel itself
// interprets the attribute.
size_t plain_xattr(std::string_view name);

}  // namespace fsr
