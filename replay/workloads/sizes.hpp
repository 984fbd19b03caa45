// SPDX-License-Identifier: Apache-2.0
// Sizes of files, and of reads and writes. Immutable once made; safe for several threads.
//
//   nhfsstone   its three classes of files: half have 1 to 3 KiB, written 1 KiB at a time, 47 % have 1 to 6 blocks of 8 KiB, 3 %
//               256 KiB (after the Sprite study); a file is read whole, in blocks
//   sfs         the tables of SPEC SFS 2.0 and 3.0 (User's Guide; files 1 KiB to 1 MiB, transfers of 8 KiB blocks and a fragment)
//   TRACE       the sizes of the files, reads and writes of a captured trace
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "util/random.hpp"

namespace fsr {

// Consecutive calls on one file. Each transfers `block` bytes; the last one may be shorter.
struct CallSizes {
  uint64_t length = 0;  // bytes, at least 1
  uint32_t block = 8192;
  bool whole = false;  // transfers the whole file, whatever `length` says
};

class SizeModel {
 public:
  virtual ~SizeModel() = default;
  virtual uint64_t file(Random& random) const = 0;
  virtual CallSizes read(Random& random) const = 0;
  virtual CallSizes write(Random& random) const = 0;
  virtual uint64_t longest() const = 0;  // maximum bytes of a transfer
};

// Returns the model `name`: "nhfsstone", "sfs" or the path of a trace. Throws std::runtime_error, one line.
std::shared_ptr<const SizeModel> size_model(const std::string& name);

}  // namespace fsr
