// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <string>

#include "targets/nfs4/nfs4.hpp"

namespace fsr::nfs4 {

int status_errno(uint32_t status) {
  switch (status) {
    case kSame:  // NVERIFY: it is a directory, and must not be
      return EISDIR;
    case kNotSame:  // VERIFY: it is none, and must be
      return ENOTDIR;
    case kDenied:
    case 10046:  // deadlock
      return EAGAIN;
    case kExpired:
    case kStaleStateid:
    case kBadStateid:
    case 10024:  // old stateid
    case kAdminRevoked:
      return kStateLost;
    case 10012:  // locked
    case kGrace:
    case kDelay:
      return EAGAIN;
    case 10015:  // share denied
    case 10051:  // close to a server whose lease moved
      return EBUSY;
    case 10014:  // file handle expired
    case 10020:  // no file handle
      return ESTALE;
    case kWrongSecurity:
      return EPERM;
    case 10018:  // resource
      return EREMOTEIO;
    case 10029:  // a symlink, where none may be
      return ELOOP;
    case 10032:  // attribute not supported
    case kIllegalOp:
    case 10090:  // this copy not supported
      return EOPNOTSUPP;
    case 10037:  // locks held
      return EBUSY;
    case 10038:  // open mode
      return EBADF;
    case 10039:  // bad owner
    case 10040:  // bad character
    case 10041:  // bad name
    case 10042:  // bad range
    case 10028:  // lock range
    case 10083:  // wrong type
      return EINVAL;
    case 10043:  // lock not supported
      return ENOLCK;
    case 10045:  // open files in what is to be removed
      return EBUSY;
    case kNoXattr:
      return ENODATA;
    case 10096:  // extended attribute too big
      return E2BIG;
    default:
      return nfs::status_errno(status);
  }
}

std::string status_name(uint32_t status) {
  switch (status) {
    case 1:
      return "NFS4ERR_PERM";
    case 2:
      return "NFS4ERR_NOENT";
    case 13:
      return "NFS4ERR_ACCESS";
    case 20:
      return "NFS4ERR_NOTDIR";
    case kNotSupported:
      return "NFS4ERR_NOTSUPP";
    case kWrongSecurity:
      return "NFS4ERR_WRONGSEC";
    case kIllegalOp:
      return "NFS4ERR_OP_ILLEGAL";
    case kMinorVersionMismatch:
      return "NFS4ERR_MINOR_VERS_MISMATCH";
    default:
      return "NFS4ERR " + std::to_string(status);
  }
}

}  // namespace fsr::nfs4
