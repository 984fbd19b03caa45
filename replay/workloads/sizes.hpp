// SPDX-License-Identifier: Apache-2.0
// How large files are, and how much is read and written at a time. Immutable once made; safe for several threads.
//
//   nhfsstone   its three classes of files: half have 1 to 3 KiB, written 1 KiB at a time, 47 % have 1 to 6 blocks of 8 KiB, 3 %
//               256 KiB (after the Sprite study); a file is read whole, in blocks
//   sfs         the tables of SPEC SFS 2.0 and 3.0 (User's Guide; files 1 KiB to 1 MiB, transfers of 8 KiB blocks and a fragment)
//   TRACE       what the files of a captured trace had, and what its reads and writes moved
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/random.hpp"

namespace fsr {

// Consecutive calls on one file, each of `block` bytes but for a shorter last one.
struct CallSizes {
  uint64_t length = 0;  // bytes, at least 1
  uint32_t block = 8192;
  bool whole = false;  // the file from its beginning to its end, whatever `length` says
};

class SizeModel {
 public:
  virtual ~SizeModel() = default;
  virtual uint64_t file(Random& random) const = 0;
  virtual CallSizes read(Random& random) const = 0;
  virtual CallSizes write(Random& random) const = 0;
  virtual uint64_t longest() const = 0;  // bytes of a transfer, at most
};

// `name`: "nhfsstone", "sfs" or the path of a trace. Throws std::runtime_error, one line.
std::shared_ptr<const SizeModel> size_model(const std::string& name);

}  // namespace fsr
