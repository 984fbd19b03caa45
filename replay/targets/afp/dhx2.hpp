// SPDX-License-Identifier: Apache-2.0
// The user authentication method DHX2 (Apple, AppleTalk Filing Protocol Reference, "DHX2"): a Diffie-Hellman exchange, whose
// secret's MD5 is the key of CAST5-CBC, protects the password and shows each side that the other holds the secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::afp {

class Dhx2 {
 public:
  static constexpr const char* kName = "DHX2";
  static constexpr size_t kLongestPassword = 256;

  explicit Dhx2(std::string_view password) : password_(password) {}
  // What to answer to the server's next message (behind the AFP head: id[2] and what the step holds). Empty: it makes no sense.
  std::string answer(std::string_view message);

 private:
  std::string exchange_keys(std::string_view message);
  std::string send_password(std::string_view message);

  std::string_view password_;
  std::string key_, nonce_;
};

}  // namespace fsr::afp
