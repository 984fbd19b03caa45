// SPDX-License-Identifier: Apache-2.0
// Optional interface of a target that makes a cache before it send requests for each operation: `file:DIR?past-cache=1`, for a
// directory on a mounted NFS. Thread-safe.
#pragma once

#include <string>

namespace fsr {

class PastCache {
 public:
  virtual bool past_cache() const = 0;  // false: the target has no such cache
  // Returns the URL of the same directory of the server, for a client of this program. Empty: it is not known.
  virtual std::string server_url() const = 0;

 protected:
  ~PastCache() = default;
};

}  // namespace fsr
