// SPDX-License-Identifier: Apache-2.0
#include "nfs4_arguments.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace fsr::capture {

using nfs4::OpNum;
using nfs4::XdrDecoder;

namespace {

constexpr size_t kLongestName = 4096, kLongestLink = 65536, kLongestOwner = 1024;

void decode_mask(XdrDecoder& in, Nfs4Arguments* a) {
  const uint32_t words = in.u32();
  if (words > 8) return in.fail();
  for (uint32_t i = 0; i < words; ++i) {
    const uint32_t word = in.u32();
    if (i < a->mask.size()) a->mask[i] = word;
  }
}

// A client id and a name; all bytes together identify an owner.
void decode_owner(XdrDecoder& in, Nfs4Arguments* a) {
  in.u64();
  a->owner = in.opaque(kLongestOwner);
}

void decode_open(XdrDecoder& in, Nfs4Arguments* a) {
  enum { unchecked, guarded, exclusive, exclusive_with_attributes };
  in.u32();  // sequence
  a->bits = in.u32() & 3;
  in.u32();  // deny
  decode_owner(in, a);
  a->creates = in.boolean();
  if (a->creates) {
    const uint32_t how = in.u32();
    if (how > exclusive_with_attributes) return in.fail();
    a->exclusive = how != unchecked;
    if (how >= exclusive) in.u64();
    if (how != exclusive) nfs4::decode_set(in, &a->set);
  }
  const uint32_t claim = in.u32();
  if (claim > uint32_t(Claim::delegate_previous_handle)) return in.fail();
  a->claim = Claim(claim);
  if (a->claim == Claim::previous) in.u32();
  if (a->claim == Claim::delegate_name || a->claim == Claim::delegate_handle) nfs4::decode_stateid(in);
  if (a->claim == Claim::name || a->claim == Claim::delegate_name || a->claim == Claim::delegate_previous)
    a->name = in.opaque(kLongestName);
}

void decode_create(XdrDecoder& in, Nfs4Arguments* a) {
  constexpr uint32_t kTypes[] = {0, S_IFREG, S_IFDIR, S_IFBLK, S_IFCHR, S_IFLNK, S_IFSOCK, S_IFIFO};
  uint64_t device = 0;
  const uint32_t type = in.u32();
  if (type < 2 || type >= std::size(kTypes)) return in.fail();
  a->bits = kTypes[type];
  if (a->bits == S_IFLNK) a->data = in.opaque(kLongestLink);
  if (a->bits == S_IFBLK || a->bits == S_IFCHR) {
    const uint32_t high = in.u32(), low = in.u32();
    device = makedev(high, low);
  }
  a->name = in.opaque(kLongestName);
  nfs4::decode_set(in, &a->set);
  a->set.rdev = device;
}

void decode_lock(XdrDecoder& in, Nfs4Arguments* a) {
  a->bits = in.u32();
  a->reclaims = in.boolean();
  a->offset = in.u64();
  a->length = in.u64();
  a->first_lock = in.boolean();
  if (a->first_lock) in.u32();
  a->stateid = nfs4::decode_stateid(in);
  in.u32();
  if (a->first_lock) decode_owner(in, a);
}

void decode_transfer(XdrDecoder& in, Nfs4Arguments* a) {
  a->stateid = nfs4::decode_stateid(in);
  a->offset = in.u64();
  if (a->number == uint32_t(OpNum::read)) {
    a->length = in.u32();
    return;
  }
  in.u32();  // how stable
  a->length = in.opaque(in.left()).size();
}

void decode_copy(XdrDecoder& in, Nfs4Arguments* a) {
  a->stateid = nfs4::decode_stateid(in);
  a->stateid2 = nfs4::decode_stateid(in);
  a->offset = in.u64();
  a->offset2 = in.u64();
  a->length = in.u64();
  in.skip(2 * 4);                       // consecutive, synchronous
  if (in.u32() != 0) return in.fail();  // from another server
}

void decode_known(XdrDecoder& in, Nfs4Arguments* a) {
  switch (OpNum(a->number)) {
    case OpNum::access:
      a->bits = in.u32();
      return;
    case OpNum::close:
      in.u32();
      a->stateid = nfs4::decode_stateid(in);
      return;
    case OpNum::commit:
      in.skip(8 + 4);
      return;
    case OpNum::create:
      return decode_create(in, a);
    case OpNum::delegreturn:
      a->stateid = nfs4::decode_stateid(in);
      return;
    case OpNum::getattr:
      return decode_mask(in, a);
    case OpNum::link:
    case OpNum::lookup:
    case OpNum::remove:
    case OpNum::getxattr:
    case OpNum::removexattr:
      a->name = in.opaque(kLongestName);
      return;
    case OpNum::lock:
      return decode_lock(in, a);
    case OpNum::lockt:
      a->bits = in.u32();
      a->offset = in.u64();
      a->length = in.u64();
      return decode_owner(in, a);
    case OpNum::locku:
      in.skip(4 + 4);  // type, sequence
      a->stateid = nfs4::decode_stateid(in);
      a->offset = in.u64();
      a->length = in.u64();
      return;
    case OpNum::verify:
    case OpNum::nverify:
      return nfs4::decode_set(in, &a->set);
    case OpNum::open:
      return decode_open(in, a);
    case OpNum::putfh:
      a->handle = in.opaque(nfs::kLongestHandle);
      return;
    case OpNum::read:
    case OpNum::write:
      return decode_transfer(in, a);
    case OpNum::readdir:
      a->offset = in.u64();
      in.skip(8 + 4);  // verifier, bytes of names
      a->length = in.u32();
      return decode_mask(in, a);
    case OpNum::rename:
      a->name = in.opaque(kLongestName);
      a->name2 = in.opaque(kLongestName);
      return;
    case OpNum::setattr:
      a->stateid = nfs4::decode_stateid(in);
      return nfs4::decode_set(in, &a->set);
    case OpNum::sequence:
      return in.skip(16 + 4 * 4);
    case OpNum::allocate:
    case OpNum::deallocate:
      a->stateid = nfs4::decode_stateid(in);
      a->offset = in.u64();
      a->length = in.u64();
      return;
    case OpNum::copy:
      return decode_copy(in, a);
    case OpNum::read_plus:
      a->stateid = nfs4::decode_stateid(in);
      a->offset = in.u64();
      a->length = in.u32();
      return;
    case OpNum::clone:
      a->stateid = nfs4::decode_stateid(in);
      a->stateid2 = nfs4::decode_stateid(in);
      a->offset = in.u64();
      a->offset2 = in.u64();
      a->length = in.u64();
      return;
    case OpNum::seek:
      a->stateid = nfs4::decode_stateid(in);
      a->offset = in.u64();
      a->bits = in.u32();
      return;
    case OpNum::setxattr:
      a->bits = in.u32();
      a->name = in.opaque(kLongestName);
      a->data = in.opaque(kLongestLink);
      return;
    case OpNum::listxattrs:
      a->offset = in.u64();
      a->length = in.u32();
      return;
    case OpNum::getfh:
    case OpNum::putrootfh:
    case OpNum::readlink:
    case OpNum::restorefh:
    case OpNum::savefh:
      return;
    default:
      return in.fail();
  }
}

}  // namespace

bool keeps_state(uint32_t number) {
  switch (number) {
    case kDelegPurge:
    case kRenew:
    case kSecInfo:
    case kSetClientid:
    case kSetClientidConfirm:
    case kReleaseLockOwner:
    case kBackchannel:
    case kBindConnection:
    case kFreeStateid:
    case kSecInfoNoName:
    case kTestStateid:
    case uint32_t(OpNum::exchange_id):
    case uint32_t(OpNum::create_session):
    case uint32_t(OpNum::destroy_session):
    case uint32_t(OpNum::destroy_clientid):
    case uint32_t(OpNum::reclaim_complete):
      return true;
    default:
      return false;
  }
}

bool decode_arguments(XdrDecoder& in, Nfs4Arguments* out) {
  *out = {};
  out->number = in.u32();
  if (keeps_state(out->number)) return in.ok();
  switch (out->number) {
    case kLookupParent:
    case kPutPublicFh:
      break;
    case kOpenConfirm:
      out->stateid = nfs4::decode_stateid(in);
      in.u32();
      break;
    case kOpenDowngrade:
      out->stateid = nfs4::decode_stateid(in);
      in.skip(3 * 4);
      break;
    default:
      decode_known(in, out);
  }
  return in.ok();
}

}  // namespace fsr::capture
