// SPDX-License-Identifier: Apache-2.0
// Files that benchmarks of targets read and write.
#pragma once

#include <fcntl.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "base/target.hpp"
#include "targets/blocking_session.hpp"

namespace fsr {

constexpr uint64_t kBenchFileBytes = 64 << 20;
enum File : uint64_t { kFrom = 1, kTo = 2 };  // the numbers are also their handles

inline ObjectId object(File file) { return kRootObject + file; }

// Two files in the root of a target that has names: existing ones, or new ones that are removed at the end.
class BenchFiles {
 public:
  BenchFiles(Target& target, Clock& clock, const char* from, const char* to) : session_(target, clock), made_(!from) {
    open(kFrom, from ? from : "bench-from", from ? O_RDONLY : O_RDWR);
    open(kTo, to ? to : "bench-to", O_WRONLY);
  }
  ~BenchFiles() {
    for (File file : {kFrom, kTo}) {
      session_.perform({.kind = OpKind::release, .object = object(file), .handle = file});
      if (made_) session_.perform({.kind = OpKind::unlink, .object = object(file), .parent = kRootObject, .name = names_[file]});
    }
  }
  BenchFiles(const BenchFiles&) = delete;
  BenchFiles& operator=(const BenchFiles&) = delete;

 private:
  void open(File file, const char* name, int flags) {
    names_[file] = name;
    Op op{.kind = OpKind::lookup, .object = object(file), .parent = kRootObject, .handle = file, .name = name};
    op.mode = 0644;
    op.open_flags = uint32_t(flags);
    if (made_) {
      op.kind = OpKind::create;
      need(op);
      constexpr uint64_t kPiece = 64 << 10;
      const std::string data(kPiece, 'x');
      for (uint64_t at = 0; at < kBenchFileBytes && file == kFrom; at += kPiece)
        need({.kind = OpKind::write, .object = object(file), .handle = file, .offset = at, .length = kPiece}, data);
    } else {
      need(op);
      op.kind = OpKind::open;
      need(op);
    }
  }
  void need(const Op& op, std::string_view payload = {}) {
    if (const int error = session_.perform(op, payload).error)
      throw std::runtime_error(std::string(op_name(op.kind)) + " of " + names_[op.object - kRootObject] + ": " + strerror(error));
  }

  BlockingSession session_;
  const bool made_;
  std::string names_[3];
};

}  // namespace fsr
