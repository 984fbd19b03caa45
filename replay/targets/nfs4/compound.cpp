// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/compound.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <string>

#include "util/check.hpp"

namespace fsr::nfs4 {

namespace {

constexpr uint32_t kNoCreate = 0, kCreate = 1;                        // opentype4
constexpr uint32_t kClaimName = 0, kClaimPrevious = 1, kClaimFh = 4;  // open_claim_type4
constexpr uint32_t kCallbackProgram = 0x40000000, kAuthNone = 0;      // for a backchannel that is not offered
constexpr size_t kSequenceAt = 4 + 4;  // bytes from the number of operations to the arguments of SEQUENCE

}  // namespace

void Compound::begin(std::vector<uint8_t>& bytes, const Identity& who, uint32_t minor_version) {
  bytes_ = &bytes;
  count_ = 0;
  nfs::begin_call(bytes, 0, {nfs::kNfsProgram, kNfs4, kCompoundProc}, who);
  opaque("").u32(minor_version);
  count_at_ = bytes.size();
  u32(0);
}

void Compound::put_u32(size_t at, uint32_t v) {
  for (unsigned i = 0; i < 4; ++i) (*bytes_)[at + i] = uint8_t(v >> (24 - 8 * i));
}

void Compound::place(const SessionId& session, uint32_t sequence, uint32_t slot, uint32_t highest_slot, bool cache_reply) {
  const size_t at = count_at_ + kSequenceAt;
  std::copy(session.begin(), session.end(), bytes_->begin() + ptrdiff_t(at));
  put_u32(at + 16, sequence);
  put_u32(at + 20, slot);
  put_u32(at + 24, highest_slot);
  put_u32(at + 28, cache_reply ? 1 : 0);
}

void Compound::end(uint32_t xid, size_t payload) {
  nfs::change_xid(*bytes_, xid);
  nfs::end_call(*bytes_, payload);
}

Compound& Compound::u32(uint32_t v) {
  XdrEncoder(*bytes_).u32(v);
  return *this;
}
Compound& Compound::u64(uint64_t v) {
  XdrEncoder(*bytes_).u64(v);
  return *this;
}
Compound& Compound::opaque(std::string_view v) {
  XdrEncoder(*bytes_).opaque(v);
  return *this;
}
Compound& Compound::fixed(std::string_view v) {
  bytes_->insert(bytes_->end(), v.begin(), v.end());
  return *this;
}
// Appends a state id. Its sequence number is 0, which means the latest, so that requests on one open file don't wait for each
// other.
Compound& Compound::stateid(const Stateid& s) {
  const bool special = s.other == kCurrent.other;
  return u32(special ? s.seqid : 0).fixed({s.other.data(), s.other.size()});
}
Compound& Compound::owner(const Owner& o) {
  char name[24];
  for (unsigned i = 0; i < 8; ++i) {
    name[i] = char(uint64_t(o.kind) >> (56 - 8 * i));
    name[8 + i] = char(o.id >> (56 - 8 * i));
    name[16 + i] = char(o.through >> (56 - 8 * i));
  }
  return u64(0).opaque({name, o.through ? sizeof name : 16u});  // client id 0: the one of the session
}

Compound& Compound::op(OpNum number) {
  FSR_CHECK(count_ < kMostOps, "a COMPOUND of more than " + std::to_string(kMostOps) + " operations");
  ops_[count_++] = number;
  put_u32(count_at_, uint32_t(count_));
  return u32(uint32_t(number));
}

Compound& Compound::sequence() {
  return op(OpNum::sequence).fixed(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)).u32(0).u32(0).u32(0).u32(0);
}

Compound& Compound::getattr(const AttrMask& mask) {
  op(OpNum::getattr);
  XdrEncoder out(*bytes_);
  encode_mask(out, mask);
  return *this;
}

Compound& Compound::setattr(const Stateid& s, const Attr& set) {
  op(OpNum::setattr).stateid(s);
  XdrEncoder out(*bytes_);
  encode_set(out, set);
  return *this;
}

Compound& Compound::verify_type(bool is, uint32_t mode) {
  op(is ? OpNum::verify : OpNum::nverify);
  XdrEncoder out(*bytes_);
  encode_type(out, mode);
  return *this;
}

Compound& Compound::open_name(uint32_t access, const Owner& o, std::string_view name, CreateHow how, uint64_t verifier,
                              const Attr& set) {
  op(OpNum::open).u32(0).u32(access | kWantNoDelegation).u32(0).owner(o).u32(kCreate).u32(uint32_t(how));
  if (how == CreateHow::exclusive) u64(verifier);
  XdrEncoder out(*bytes_);
  encode_set(out, set);
  return u32(kClaimName).opaque(name);
}

Compound& Compound::open_handle(uint32_t access, const Owner& o) {
  return op(OpNum::open).u32(0).u32(access | kWantNoDelegation).u32(0).owner(o).u32(kNoCreate).u32(kClaimFh);
}

Compound& Compound::open_again(uint32_t access, const Owner& o) {
  constexpr uint32_t kNoDelegation = 0;
  return op(OpNum::open).u32(0).u32(access).u32(0).owner(o).u32(kNoCreate).u32(kClaimPrevious).u32(kNoDelegation);
}

Compound& Compound::read(const Stateid& s, uint64_t offset, uint32_t count) {
  return op(OpNum::read).stateid(s).u64(offset).u32(count);
}

Compound& Compound::write(const Stateid& s, uint64_t offset, Stable stable, uint32_t count) {
  return op(OpNum::write).stateid(s).u64(offset).u32(uint32_t(stable)).u32(count);
}

Compound& Compound::create(std::string_view name, const Attr& set, std::string_view target) {
  op(OpNum::create).u32(file_type(set.mode));
  if (S_ISLNK(set.mode)) opaque(target);
  if (S_ISCHR(set.mode) || S_ISBLK(set.mode)) u32(major(set.rdev)).u32(minor(set.rdev));
  opaque(name);
  XdrEncoder out(*bytes_);
  encode_set(out, set);
  return *this;
}

Compound& Compound::readdir(uint64_t cookie, uint64_t verifier, uint32_t size, const AttrMask& mask) {
  op(OpNum::readdir).u64(cookie).u64(verifier).u32(size).u32(size);
  XdrEncoder out(*bytes_);
  encode_mask(out, mask);
  return *this;
}

Compound& Compound::lock_head(OpNum number, LockType type, bool reclaim, uint64_t offset, uint64_t length) {
  return op(number).u32(uint32_t(type)).u32(reclaim ? 1 : 0).u64(offset).u64(length);
}

Compound& Compound::first_lock(LockType type, bool reclaim, uint64_t offset, uint64_t length, const Stateid& open,
                               const Owner& o) {
  return lock_head(OpNum::lock, type, reclaim, offset, length).u32(1).u32(0).stateid(open).u32(0).owner(o);
}

Compound& Compound::lock(LockType type, bool reclaim, uint64_t offset, uint64_t length, const Stateid& s) {
  return lock_head(OpNum::lock, type, reclaim, offset, length).u32(0).stateid(s).u32(0);
}

Compound& Compound::lockt(LockType type, uint64_t offset, uint64_t length, const Owner& o) {
  return op(OpNum::lockt).u32(uint32_t(type)).u64(offset).u64(length).owner(o);
}

Compound& Compound::locku(uint64_t offset, uint64_t length, const Stateid& s) {
  return op(OpNum::locku).u32(uint32_t(LockType::write)).u32(0).stateid(s).u64(offset).u64(length);
}

Compound& Compound::allocate(const Stateid& s, uint64_t offset, uint64_t length) {
  return op(OpNum::allocate).stateid(s).u64(offset).u64(length);
}

Compound& Compound::deallocate(const Stateid& s, uint64_t offset, uint64_t length) {
  return op(OpNum::deallocate).stateid(s).u64(offset).u64(length);
}

Compound& Compound::seek(const Stateid& s, uint64_t offset, bool hole) {
  return op(OpNum::seek).stateid(s).u64(offset).u32(hole ? 1 : 0);
}

// Appends a COPY within the server, from the saved file handle to the current one. The copy is complete when the server replies.
Compound& Compound::copy(const Stateid& from, const Stateid& to, uint64_t offset, uint64_t offset2, uint64_t length) {
  return op(OpNum::copy).stateid(from).stateid(to).u64(offset).u64(offset2).u64(length).u32(0).u32(1).u32(0);
}

Compound& Compound::read_plus(const Stateid& s, uint64_t offset, uint32_t count) {
  return op(OpNum::read_plus).stateid(s).u64(offset).u32(count);
}

// Appends a CLONE from the saved file handle to the current one. `length` 0: up to the end of the source.
Compound& Compound::clone(const Stateid& from, const Stateid& to, uint64_t offset, uint64_t offset2, uint64_t length) {
  return op(OpNum::clone).stateid(from).stateid(to).u64(offset).u64(offset2).u64(length);
}

Compound& Compound::setxattr(uint32_t how, std::string_view name, std::string_view value) {
  return op(OpNum::setxattr).u32(how).opaque(name).opaque(value);
}

Compound& Compound::exchange_id(uint64_t verifier, std::string_view owner_id) {
  return op(OpNum::exchange_id).u64(verifier).opaque(owner_id).u32(kUseNonPnfs).u32(0).u32(0);
}

Compound& Compound::create_session(uint64_t clientid, uint32_t sequence, const ChannelAttr& fore) {
  auto channel = [&](const ChannelAttr& a) {
    u32(0).u32(a.max_request).u32(a.max_response).u32(a.max_cached).u32(a.max_operations).u32(a.max_slots).u32(0);
  };
  op(OpNum::create_session).u64(clientid).u32(sequence).u32(0);
  channel(fore);
  channel({4096, 4096, 0, 2, 1});
  return u32(kCallbackProgram).u32(1).u32(kAuthNone);
}

Compound& Compound::bind_conn_to_session(const SessionId& session) {
  constexpr uint32_t kFore = 1, kNoRdma = 0;  // channel_dir_from_client4
  return op(OpNum::bind_conn_to_session).fixed({session.data(), session.size()}).u32(kFore).u32(kNoRdma);
}

Compound& Compound::destroy_session(const SessionId& session) {
  return op(OpNum::destroy_session).fixed({session.data(), session.size()});
}

}  // namespace fsr::nfs4
