// SPDX-License-Identifier: Apache-2.0
// An operation without an end, as far as groups of operations need it. It outlives the batch that it came in.
#pragma once

#include <string>

#include "op.hpp"

namespace fsr::fstrace {

struct OpenOp {
  Op op;  // has no names and no data
  ThreadInfo who;
  std::string command;

  OpenOp() = default;
  OpenOp(const OpenOp&) = delete;  // `op` points into the object
  OpenOp& operator=(const OpenOp&) = delete;

  void keep(const Op& from) {
    op.seq = from.seq;
    op.start = from.start;
    op.kind = from.kind;
    op.op_flags = from.op_flags;
    op.thread = from.thread;
    op.object = from.object;
    op.uid = from.uid;
    if (!from.who) return;
    command = from.who->command;
    who = *from.who;
    who.command = command;
    op.who = &who;
  }
};

}  // namespace fsr::fstrace
