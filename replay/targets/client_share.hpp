// SPDX-License-Identifier: Apache-2.0
// The clients of a target that this process has. The ranks of a run share clients as they share streams. A rank has each client
// whose number, divided by the number of ranks, leaves the rank's number.
#pragma once

#include <cstdint>
#include <string>

#include "targets/wire/url.hpp"

namespace fsr {

struct ClientShare {
  uint32_t clients = 1;  // of this process
  uint32_t rank = 0, ranks = 1;

  // Returns the share that the options clients= and client-share= name. Throws std::runtime_error, one line, if a rank would have
  // no client.
  static ClientShare of(const wire::Url& url);
  bool is_one_of_many() const { return clients > 1 || ranks > 1; }
  uint32_t number(uint32_t k) const { return k * ranks + rank; }  // of this process's client k, among those of all ranks
};

// Returns the URL of a target for one of several ranks. URLs without several clients stay the same.
std::string with_client_share(const std::string& url, uint32_t rank, uint32_t ranks);

}  // namespace fsr
