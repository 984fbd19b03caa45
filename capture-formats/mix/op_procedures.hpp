// SPDX-License-Identifier: Apache-2.0
// Operation <-> NFS procedure, one to one, without a model of a client's caches; docs/mixfile.md has the table. No state.
#pragma once

#include "op.hpp"

namespace fsr {

// Returns the index into nfs_procedures(version) of the procedure that carries operations of this kind. -1: there is none.
int nfs_procedure_of(unsigned version, OpKind kind);
// Does the same for an operation whose arguments decide: an unlock is LOCKU, a punched hole DEALLOCATE, statfs for limits FSINFO.
int nfs_procedure_of(unsigned version, const Op& op);

}  // namespace fsr
