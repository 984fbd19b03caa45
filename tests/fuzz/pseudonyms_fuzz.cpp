// SPDX-License-Identifier: Apache-2.0
// Foreign names: each has a pseudonym that may be a name too and leads back to it, and what is no pseudonym is refused.
#include <cstdlib>
#include <stdexcept>

#include "anonymize/pseudonyms.hpp"
#include "op.hpp"

using namespace fsr;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kKey(32, 'k');
  const std::string text(reinterpret_cast<const char*>(data), size);
  Pseudonyms to(kKey, false), back(kKey, true);
  if (valid_component(text)) {
    const std::string name = to.name(text);
    if (!valid_component(name)) abort();
    if (!to.hashed() && back.name(name) != text) abort();
    const uint64_t hashed = to.hashed();
    const std::string attribute = to.xattr(text);
    if (to.hashed() == hashed && back.xattr(attribute) != text) abort();
  }
  if (back.value(to.value(text)) != text) abort();
  for (auto turn : {&Pseudonyms::path, &Pseudonyms::words, &Pseudonyms::xattr}) {
    try {
      (back.*turn)(text);
    } catch (const std::runtime_error&) {
    }
  }
  return 0;
}
