// SPDX-License-Identifier: Apache-2.0
// The client's side of the user authentication method DHX2 (Apple, AppleTalk Filing Protocol Reference, "DHX2"). A Diffie-Hellman
// exchange makes a secret, whose MD5 is a key for CAST5-CBC. The key encrypts the password, and proves to each side that the
// other has the secret.
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
  // Returns the reply to the server's next message, which has id[2] and then the data of its step. Empty: the message is invalid.
  std::string answer(std::string_view message);

 private:
  std::string exchange_keys(std::string_view message);
  std::string send_password(std::string_view message);

  std::string_view password_;
  std::string key_, nonce_;
};

}  // namespace fsr::afp
