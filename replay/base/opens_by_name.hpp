// SPDX-License-Identifier: Apache-2.0
// Optional interface of a target that needs no lookup before an open: `file:` has it. There an OpKind::open without an object
// opens `name` in `parent`. The file stays without an identity, and is used by its handle.
#pragma once

namespace fsr {

class OpensByName {
 public:
  virtual bool opens_by_name() const = 0;  // false: not with these options

 protected:
  ~OpensByName() = default;
};

}  // namespace fsr
