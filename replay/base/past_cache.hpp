// SPDX-License-Identifier: Apache-2.0
// The side of a target that makes a cache before it ask the server for each operation: `file:DIR?past-cache=1` of a directory on
// a mounted NFS. Thread-safe.
#pragma once

#include <string>

namespace fsr {

class PastCache {
 public:
  virtual bool past_cache() const = 0;  // false: no cache that this target could get past
  // The URL by which a client of this program reaches the same directory of the server. Empty: that can't be told.
  virtual std::string server_url() const = 0;

 protected:
  ~PastCache() = default;
};

}  // namespace fsr
