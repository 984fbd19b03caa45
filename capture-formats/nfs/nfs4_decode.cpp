// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <cstring>

#include "nfs/nfs4.hpp"

namespace fsr::nfs4 {

namespace {

constexpr size_t kLongestName = 4096, kLongestLink = 65536, kLongestXattr = 65536, kLongestIdentity = 1024, kMostCallbacks = 1;
constexpr uint32_t kMostMaskWords = 8, kStateProtectNone = 0;

void copy_fixed(XdrDecoder& in, char* to, size_t size) {
  const std::string_view bytes = in.fixed(size);
  if (bytes.size() == size) memcpy(to, bytes.data(), size);
}

}  // namespace

Stateid decode_stateid(XdrDecoder& in) {
  Stateid s;
  s.seqid = in.u32();
  copy_fixed(in, s.other.data(), s.other.size());
  return s;
}

namespace {

void skip_mask(XdrDecoder& in) {
  const uint32_t words = in.u32();
  if (words > kMostMaskWords) return in.fail();
  in.skip(words * 4);
}

void skip_change(XdrDecoder& in) { in.skip(4 + 8 + 8); }  // atomic, before, after

void skip_access_entry(XdrDecoder& in) {
  in.skip(3 * 4);
  in.opaque(kLongestIdentity);
}

void decode_delegation(XdrDecoder& in, Reply* r) {
  enum { none, read, write, none_because };
  enum { contention = 1, resource = 2, by_size = 1, by_blocks = 2 };
  const uint32_t type = in.u32();
  if (type == none) return;
  if (type == none_because) {
    const uint32_t why = in.u32();
    if (why == contention || why == resource) in.boolean();
    return;
  }
  if (type != read && type != write) return in.fail();
  r->delegated = true;
  r->delegation = decode_stateid(in);
  in.boolean();  // recalled already
  if (type == write) {
    const uint32_t limit = in.u32();
    if (limit != by_size && limit != by_blocks) return in.fail();
    in.skip(8);
  }
  skip_access_entry(in);
}

void decode_open(XdrDecoder& in, Reply* r) {
  r->stateid = decode_stateid(in);
  r->changed_atomic = in.boolean();
  const uint64_t before = in.u64();
  r->changed = in.u64() != before;
  in.u32();  // flags: locks are POSIX's, or preserved when unlinked
  skip_mask(in);
  decode_delegation(in, r);
}

void decode_entries(XdrDecoder& in, Reply* r) {
  r->verifier = in.u64();
  while (in.boolean()) {
    nfs::Entry e;
    e.cookie = in.u64();
    e.name = in.opaque(kLongestName);
    Attr attr;
    ServerAttr server;
    decode_attributes(in, &attr, &server);
    e.fileid = server.fileid;
    e.type = attr.mode & 0170000;
    if (!in.ok()) return;
    r->entries.push_back(e);
  }
  r->eof = in.boolean();
}

void decode_committed(XdrDecoder& in, Reply* r) {
  const uint32_t committed = in.u32();
  if (committed > uint32_t(Stable::file)) in.fail();
  r->committed = Stable(committed);
  r->verifier = in.u64();
}

void decode_copy(XdrDecoder& in, Reply* r) {
  const uint32_t callbacks = in.u32();
  if (callbacks > kMostCallbacks) return in.fail();
  for (uint32_t i = 0; i < callbacks; ++i) decode_stateid(in);
  r->count = in.u64();
  decode_committed(in, r);
  in.boolean();  // consecutive
  r->synchronous = in.boolean() && callbacks == 0;
}

void decode_segments(XdrDecoder& in, Reply* r) {
  enum { data, hole };
  r->eof = in.boolean();
  const uint32_t segments = in.u32();
  for (uint32_t i = 0; i < segments && in.ok(); ++i) {
    const uint32_t content = in.u32();
    if (content != data && content != hole) return in.fail();
    Segment s;
    s.offset = in.u64();
    if (content == data) {
      s.data = in.opaque(UINT32_MAX);
      s.length = s.data.size();
    } else {
      s.length = in.u64();
    }
    if (in.ok()) r->segments.push_back(s);
  }
}

void decode_xattr_names(XdrDecoder& in, Reply* r) {
  r->offset = in.u64();
  const uint32_t names = in.u32();
  for (uint32_t i = 0; i < names && in.ok(); ++i) r->entries.push_back({.name = in.opaque(kLongestName)});
  r->eof = in.boolean();
}

void decode_exchange_id(XdrDecoder& in, Reply* r) {
  r->clientid = in.u64();
  r->sequenceid = in.u32();
  r->flags = in.u32();
  if (in.u32() != kStateProtectNone) return in.fail();
  in.u64();                     // the server's owner: minor,
  in.opaque(kLongestIdentity);  // and major id
  in.opaque(kLongestIdentity);  // its scope
  const uint32_t implementations = in.u32();
  if (implementations > 1) return in.fail();
  if (implementations == 1) {
    in.opaque(kLongestIdentity);
    in.opaque(kLongestIdentity);
    in.skip(8 + 4);
  }
}

ChannelAttr decode_channel(XdrDecoder& in) {
  ChannelAttr a;
  in.u32();  // header padding
  a.max_request = in.u32();
  a.max_response = in.u32();
  a.max_cached = in.u32();
  a.max_operations = in.u32();
  a.max_slots = in.u32();
  const uint32_t rdma = in.u32();
  if (rdma > 1) in.fail();
  in.skip(rdma * 4);
  return a;
}

void decode_create_session(XdrDecoder& in, Reply* r) {
  copy_fixed(in, r->session.data(), r->session.size());
  r->sequenceid = in.u32();
  r->flags = in.u32();
  r->fore = decode_channel(in);
  decode_channel(in);
}

void decode_sequence(XdrDecoder& in, Reply* r) {
  in.skip(16 + 4 * 4);  // session, sequence and slot as asked; the highest slot, and the one it would like
  r->sequence_flags = in.u32();
}

void decode_secinfo(XdrDecoder& in, Reply* r) {
  constexpr uint32_t kGss = 6;
  const uint32_t flavors = in.u32();
  for (uint32_t i = 0; i < flavors && in.ok(); ++i) {
    SecurityFlavor f;
    f.flavor = in.u32();
    if (f.flavor == kGss) {
      f.mechanism = in.opaque(kLongestIdentity);
      in.u32();  // quality of protection
      f.service = in.u32();
    }
    if (in.ok()) r->flavors.push_back(f);
  }
}

void decode_known(OpNum op, XdrDecoder& in, Reply* r) {
  switch (op) {
    case OpNum::access:
      in.u32();  // bits that the server supports
      r->access = in.u32();
      return;
    case OpNum::close:
    case OpNum::lock:
    case OpNum::locku:
      r->stateid = decode_stateid(in);
      return;
    case OpNum::commit:
      r->verifier = in.u64();
      return;
    case OpNum::create:
      skip_change(in);
      return skip_mask(in);
    case OpNum::getattr:
      r->attr = Attr();
      return decode_attributes(in, &r->attr, &r->server);
    case OpNum::getfh:
      nfs::decode_handle(in, &r->handle, nfs::kLongestHandle);
      return;
    case OpNum::link:
    case OpNum::remove:
    case OpNum::setxattr:
    case OpNum::removexattr:
      return skip_change(in);
    case OpNum::rename:
      skip_change(in);
      return skip_change(in);
    case OpNum::open:
      return decode_open(in, r);
    case OpNum::read:
      r->eof = in.boolean();
      r->data = in.opaque(in.left());
      return;
    case OpNum::readdir:
      return decode_entries(in, r);
    case OpNum::readlink:
      r->data = in.opaque(kLongestLink);
      return;
    case OpNum::setattr:
      return skip_mask(in);
    case OpNum::write:
      r->count = in.u32();
      return decode_committed(in, r);
    case OpNum::exchange_id:
      return decode_exchange_id(in, r);
    case OpNum::create_session:
      return decode_create_session(in, r);
    case OpNum::sequence:
      return decode_sequence(in, r);
    case OpNum::bind_conn_to_session:
      return in.skip(16 + 4 + 4);  // session, direction, RDMA: as asked
    case OpNum::copy:
      return decode_copy(in, r);
    case OpNum::read_plus:
      return decode_segments(in, r);
    case OpNum::seek:
      r->eof = in.boolean();
      r->offset = in.u64();
      return;
    case OpNum::getxattr:
      r->data = in.opaque(kLongestXattr);
      return;
    case OpNum::listxattrs:
      return decode_xattr_names(in, r);
    case OpNum::secinfo:
    case OpNum::secinfo_no_name:
      return decode_secinfo(in, r);
    case OpNum::delegreturn:
    case OpNum::lockt:
    case OpNum::lookup:
    case OpNum::nverify:
    case OpNum::putfh:
    case OpNum::putrootfh:
    case OpNum::restorefh:
    case OpNum::savefh:
    case OpNum::verify:
    case OpNum::destroy_session:
    case OpNum::destroy_clientid:
    case OpNum::reclaim_complete:
    case OpNum::allocate:
    case OpNum::deallocate:
    case OpNum::clone:
      return;
  }
  in.fail();
}

// The results, each with its operation's number and status. They end with the first that failed, of which no more is needed.
bool decode_compound(XdrDecoder& in, std::span<const OpNum> ops, Reply* r) {
  r->status = in.u32();
  in.opaque(kLongestIdentity);  // the tag
  const uint32_t results = in.u32();
  if (results > ops.size() || (r->status == kOk && results != ops.size())) return false;
  for (uint32_t i = 0; i < results; ++i) {
    const uint32_t number = in.u32(), status = in.u32();
    const bool last = i + 1 == results;
    if (!in.ok() || (number != uint32_t(ops[i]) && number != kIllegalOp)) return false;
    if (status != kOk) return last && status == r->status;
    decode_known(ops[i], in, r);
    ++r->done;
  }
  return in.ok() && (r->status == kOk || results == 0);
}

}  // namespace

void Reply::clear() {
  std::vector<nfs::Entry> kept = std::move(entries);
  std::vector<Segment> kept_segments = std::move(segments);
  kept.clear();
  kept_segments.clear();
  *this = Reply();
  entries = std::move(kept);
  segments = std::move(kept_segments);
}

bool decode_result(uint32_t op, XdrDecoder& in, Reply* reply) {
  if (op > uint32_t(OpNum::removexattr)) return false;
  decode_known(OpNum(op), in, reply);
  return in.ok();
}

bool decode_reply(std::span<const uint8_t> message, std::span<const OpNum> ops, Reply* reply) {
  reply->clear();
  XdrDecoder in(message);
  reply->rpc = nfs::decode_reply_head(in);
  reply->error = nfs::rpc_errno(reply->rpc);
  if (reply->rpc != nfs::RpcStatus::success) return reply->rpc != nfs::RpcStatus::malformed;
  if (!decode_compound(in, ops, reply)) return false;
  reply->error = status_errno(reply->status);
  return true;
}

}  // namespace fsr::nfs4
