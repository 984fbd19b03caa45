// SPDX-License-Identifier: Apache-2.0
// Arguments of the operations in a COMPOUND of NFSv4 (RFC 7530, 8881, 7862, 8276). Foreign bytes: no length is trusted, names and
// data are views into the request.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "nfs/nfs4.hpp"

namespace fsr::capture {

// Operations that a replay never sends, and that therefore have no nfs4::OpNum.
enum Nfs4Number : uint32_t {
  kDelegPurge = 7,
  kLookupParent = 16,
  kOpenConfirm = 20,
  kOpenDowngrade = 21,
  kPutPublicFh = 23,
  kRenew = 30,
  kSecInfo = 33,
  kSetClientid = 35,
  kSetClientidConfirm = 36,
  kReleaseLockOwner = 39,
  kBackchannel = 40,
  kBindConnection = 41,
  kFreeStateid = 45,
  kSecInfoNoName = 52,
  kTestStateid = 55,
};

enum class Claim : uint32_t {
  name,
  previous,
  delegate_name,
  delegate_previous,
  handle,
  delegate_handle,
  delegate_previous_handle
};

struct Nfs4Arguments {
  uint32_t number = 0;
  std::string_view handle, name, name2, data;
  Attr set;
  nfs4::Stateid stateid, stateid2;
  uint64_t offset = 0, offset2 = 0, length = 0;
  uint32_t bits = 0;               // ACCESS, share access, lock type, what SEEK looks for, how SETXATTR sets, type of CREATE
  bool creates = false;            // OPEN
  bool exclusive = false;          // OPEN: GUARDED or EXCLUSIVE
  bool reclaims = false;           // LOCK
  bool first_lock = false;         // LOCK: the first one of its owner; `stateid` is then that of the open
  Claim claim = Claim::name;       // OPEN
  std::string_view owner;          // LOCK, LOCKT: client id and name
  std::array<uint32_t, 3> mask{};  // GETATTR, READDIR
};

// Reads the next operation: its number and arguments. False: malformed, or one that is not read (pNFS, CLONE and other rare
// ones).
bool decode_arguments(nfs4::XdrDecoder& in, Nfs4Arguments* out);

// True for operations that keep sessions, leases and state, and name, read or change no file. No operation on files follows them
// in a COMPOUND.
bool keeps_state(uint32_t number);

}  // namespace fsr::capture
