// SPDX-License-Identifier: Apache-2.0
// The statuses of RFC 8881 (15.1), RFC 7862 (11.1) and RFC 8276, and which errno each one is to an application.
#include <errno.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "nfs/nfs4.hpp"

namespace fsr::nfs4 {

namespace {

struct Known {
  uint32_t status;
  const char* name;  // behind NFS4ERR_
  int error;
};

constexpr Known kKnown[] = {
    {1, "PERM", EPERM},
    {2, "NOENT", ENOENT},
    {5, "IO", EIO},
    {6, "NXIO", ENXIO},
    {13, "ACCESS", EACCES},
    {17, "EXIST", EEXIST},
    {18, "XDEV", EXDEV},
    {20, "NOTDIR", ENOTDIR},
    {21, "ISDIR", EISDIR},
    {22, "INVAL", EINVAL},
    {27, "FBIG", EFBIG},
    {28, "NOSPC", ENOSPC},
    {30, "ROFS", EROFS},
    {31, "MLINK", EMLINK},
    {63, "NAMETOOLONG", ENAMETOOLONG},
    {66, "NOTEMPTY", ENOTEMPTY},
    {69, "DQUOT", EDQUOT},
    {70, "STALE", ESTALE},
    {10001, "BADHANDLE", ESTALE},
    {10003, "BAD_COOKIE", EINVAL},
    {kNotSupported, "NOTSUPP", EOPNOTSUPP},
    {10005, "TOOSMALL", EINVAL},
    {10006, "SERVERFAULT", EREMOTEIO},
    {10007, "BADTYPE", EINVAL},
    {kDelay, "DELAY", EAGAIN},
    {kSame, "SAME", EISDIR},  // NVERIFY: it is a directory, and must not be
    {kDenied, "DENIED", EAGAIN},
    {kExpired, "EXPIRED", kStateLost},
    {10012, "LOCKED", EAGAIN},
    {kGrace, "GRACE", EAGAIN},
    {10014, "FHEXPIRED", ESTALE},
    {10015, "SHARE_DENIED", EBUSY},
    {kWrongSecurity, "WRONGSEC", EPERM},
    {10017, "CLID_INUSE", EIO},
    {10018, "RESOURCE", EREMOTEIO},
    {10019, "MOVED", EREMOTE},
    {10020, "NOFILEHANDLE", ESTALE},
    {kMinorVersionMismatch, "MINOR_VERS_MISMATCH", EIO},
    {kStaleClientid, "STALE_CLIENTID", EIO},
    {kStaleStateid, "STALE_STATEID", kStateLost},
    {10024, "OLD_STATEID", kStateLost},
    {kBadStateid, "BAD_STATEID", kStateLost},
    {10026, "BAD_SEQID", EIO},
    {kNotSame, "NOT_SAME", ENOTDIR},  // VERIFY: it is no directory, and must be
    {10028, "LOCK_RANGE", EINVAL},
    {10029, "SYMLINK", ELOOP},
    {10030, "RESTOREFH", EIO},
    {10031, "LEASE_MOVED", EIO},
    {10032, "ATTRNOTSUPP", EOPNOTSUPP},
    {kNoGrace, "NO_GRACE", EIO},
    {kReclaimBad, "RECLAIM_BAD", EIO},
    {kReclaimConflict, "RECLAIM_CONFLICT", EIO},
    {10036, "BADXDR", EIO},
    {10037, "LOCKS_HELD", EBUSY},
    {10038, "OPENMODE", EBADF},
    {10039, "BADOWNER", EINVAL},
    {10040, "BADCHAR", EINVAL},
    {10041, "BADNAME", EINVAL},
    {10042, "BAD_RANGE", EINVAL},
    {10043, "LOCK_NOTSUPP", ENOLCK},
    {kIllegalOp, "OP_ILLEGAL", EOPNOTSUPP},
    {10045, "DEADLOCK", EDEADLK},
    {10046, "FILE_OPEN", EBUSY},
    {kAdminRevoked, "ADMIN_REVOKED", kStateLost},
    {10048, "CB_PATH_DOWN", EIO},
    {10049, "BADIOMODE", EIO},
    {10050, "BADLAYOUT", EIO},
    {10051, "BAD_SESSION_DIGEST", EIO},
    {kBadSession, "BADSESSION", EIO},
    {kBadSlot, "BADSLOT", EIO},
    {kCompleteAlready, "COMPLETE_ALREADY", EIO},
    {kConnectionNotBound, "CONN_NOT_BOUND_TO_SESSION", EIO},
    {10056, "DELEG_ALREADY_WANTED", EIO},
    {10057, "BACK_CHAN_BUSY", EBUSY},
    {10058, "LAYOUTTRYLATER", EAGAIN},
    {10059, "LAYOUTUNAVAILABLE", EIO},
    {10060, "NOMATCHING_LAYOUT", EIO},
    {10061, "RECALLCONFLICT", EIO},
    {10062, "UNKNOWN_LAYOUTTYPE", EIO},
    {kSequenceMisordered, "SEQ_MISORDERED", EIO},
    {10064, "SEQUENCE_POS", EIO},
    {10065, "REQ_TOO_BIG", EIO},
    {10066, "REP_TOO_BIG", EIO},
    {10067, "REP_TOO_BIG_TO_CACHE", EIO},
    {kRetryUncached, "RETRY_UNCACHED_REP", EIO},
    {10069, "UNSAFE_COMPOUND", EIO},
    {10070, "TOO_MANY_OPS", EIO},
    {10071, "OP_NOT_IN_SESSION", EIO},
    {10072, "HASH_ALG_UNSUPP", EIO},
    {10074, "CLIENTID_BUSY", EBUSY},
    {10075, "PNFS_IO_HOLE", EIO},
    {kFalseRetry, "SEQ_FALSE_RETRY", EIO},
    {kBadHighSlot, "BAD_HIGH_SLOT", EIO},
    {kDeadSession, "DEADSESSION", EIO},
    {10079, "ENCR_ALG_UNSUPP", EIO},
    {10080, "PNFS_NO_LAYOUT", EIO},
    {10081, "NOT_ONLY_OP", EIO},
    {10082, "WRONG_CRED", EPERM},
    {10083, "WRONG_TYPE", EINVAL},
    {10084, "DIRDELEG_UNAVAIL", EIO},
    {10085, "REJECT_DELEG", EIO},
    {10086, "RETURNCONFLICT", EIO},
    {10087, "DELEG_REVOKED", kStateLost},
    {10088, "PARTNER_NOTSUPP", EOPNOTSUPP},
    {10089, "PARTNER_NO_AUTH", EPERM},
    {10090, "UNION_NOTSUPP", EOPNOTSUPP},
    {10091, "OFFLOAD_DENIED", EPERM},
    {10092, "WRONG_LFS", EINVAL},
    {10093, "BADLABEL", EINVAL},
    {10094, "OFFLOAD_NO_REQS", EOPNOTSUPP},
    {kNoXattr, "NOXATTR", ENODATA},
    {10096, "XATTR2BIG", E2BIG},
};

const Known* find(uint32_t status) {
  const Known* known =
      std::lower_bound(std::begin(kKnown), std::end(kKnown), status, [](const Known& k, uint32_t s) { return k.status < s; });
  return known != std::end(kKnown) && known->status == status ? known : nullptr;
}

}  // namespace

int status_errno(uint32_t status) {
  if (status == kOk) return 0;
  const Known* known = find(status);
  return known ? known->error : EIO;
}

std::string status_name(uint32_t status) {
  const Known* known = find(status);
  return known ? std::string("NFS4ERR_") + known->name : "NFS4ERR " + std::to_string(status);
}

}  // namespace fsr::nfs4
