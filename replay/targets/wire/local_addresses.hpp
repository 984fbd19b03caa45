// SPDX-License-Identifier: Apache-2.0
// The addresses of this host that a target's clients connect from, one after another. Constant once made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "targets/client_share.hpp"
#include "targets/wire/address.hpp"
#include "targets/wire/url.hpp"

namespace fsr::wire {

class LocalAddresses {
 public:
  LocalAddresses() = default;  // any
  // `range`: an address, or several as "10.0.0.0/16". Used are all if a local route leads to them, else those that an interface
  // has. Throws std::runtime_error, one line, if this host has none of them.
  explicit LocalAddresses(const std::string& range);
  // Returns those of the option source=.
  static LocalAddresses of(const Url& url);

  // Returns `server` with the local address of this process's client `number`. Throws std::runtime_error, one line, if the server
  // has no address of that family.
  std::vector<Address> from(std::vector<Address> server, uint64_t number) const;
  uint64_t size() const { return own_.empty() ? size_ : own_.size(); }  // 0: any

 private:
  LocalAddress nth(uint64_t n) const;  // of the range

  ClientShare share_;
  std::vector<LocalAddress> own_;  // of interfaces; empty: the whole range
  LocalAddress first_;
  uint64_t size_ = 0;
};

}  // namespace fsr::wire
