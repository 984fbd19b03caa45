// SPDX-License-Identifier: Apache-2.0
// Optional interface of a target that makes copies of files in place of hard links, because its protocol has no links: AFP. The
// copies differ from each other when the file is changed. Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace fsr {

class LinkCopies {
 public:
  virtual std::vector<std::string> outdated_copies() const = 0;  // names whose copies lack a later change of the file

 protected:
  ~LinkCopies() = default;
};

}  // namespace fsr
