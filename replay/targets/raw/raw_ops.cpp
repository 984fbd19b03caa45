// SPDX-License-Identifier: Apache-2.0
#include "targets/raw/raw_ops.hpp"

namespace fsr::raw {

Fidelity fidelity(const Op& op, uint32_t block) {
  switch (op.kind) {
    case OpKind::null:
      return Fidelity::exact;
    case OpKind::read:
    case OpKind::write:
      if (op.error) return Fidelity::impossible;
      return transferred(op) > 0 && ((op.offset | transferred(op)) & (block - 1)) ? Fidelity::approximate : Fidelity::exact;
    case OpKind::fsync:
    case OpKind::syncfs:
      return op.error ? Fidelity::impossible : Fidelity::exact;
    default:
      return Fidelity::impossible;
  }
}

const char* requests(OpKind kind) {
  switch (kind) {
    case OpKind::read:
      return "IORING_OP_READ of whole blocks";
    case OpKind::write:
      return "IORING_OP_WRITE of whole blocks; IORING_OP_READ first of blocks that are written in part (auxiliary)";
    case OpKind::fsync:
    case OpKind::syncfs:
      return "IORING_OP_FSYNC of the device";
    default:
      return "";
  }
}

}  // namespace fsr::raw
