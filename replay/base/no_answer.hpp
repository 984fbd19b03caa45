// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

#include <algorithm>
#include <iterator>

namespace fsr {

// True: a connection reports `error` (errno) in place of an answer. The server can't be reached, or does not agree on protocol,
// certificates or tickets.
inline bool is_no_answer(int error) {
  constexpr int kErrors[] = {ETIMEDOUT,   ECONNRESET, ECONNREFUSED, ECONNABORTED, ENOTCONN,        EPIPE,       ENETDOWN,
                             ENETUNREACH, EHOSTDOWN,  EHOSTUNREACH, EPROTO,       EPROTONOSUPPORT, EKEYEXPIRED, EKEYREJECTED};
  return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

}  // namespace fsr
