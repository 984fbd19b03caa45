// SPDX-License-Identifier: Apache-2.0
// Builds the arguments of a COMPOUND, operation by operation. Keeps the operations' numbers, with which the reply is compared.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nfs/nfs4.hpp"

namespace fsr::nfs4 {

enum class CreateHow : uint32_t { unchecked = 0, guarded = 1, exclusive = 3 };

// The owner of an open or lock, unique within this client.
struct Owner {
  uint64_t id = 0;
  enum Kind : uint64_t { open, temporary, record, flock } kind = open;  // temporary: of an OPEN and CLOSE in one
  // For a lock: the open file through which it is requested. It makes another owner for each open file, as in Linux' client,
  // because some servers (Ganesha) bind a lock owner to one open owner.
  uint64_t through = 0;
  Owner by(uint64_t open_file) const { return {id, kind, open_file}; }
};

class Compound {
 public:
  static constexpr size_t kMostOps = 16;

  // Begins the call in `bytes`, which is cleared.
  void begin(std::vector<uint8_t>& bytes, const Identity& who, uint32_t minor_version);
  std::span<const OpNum> ops() const { return {ops_.data(), count_}; }
  bool sequenced() const { return count_ > 0 && ops_[0] == OpNum::sequence; }
  // Fills in the members that are known only when the call is sent.
  void place(const SessionId& session, uint32_t sequence, uint32_t slot, uint32_t highest_slot, bool cache_reply);
  void end(uint32_t xid, size_t payload);

  Compound& sequence();
  Compound& putrootfh() { return op(OpNum::putrootfh); }
  Compound& putfh(const FileHandle& handle) { return op(OpNum::putfh).opaque(handle.view()); }
  Compound& savefh() { return op(OpNum::savefh); }
  Compound& secinfo(std::string_view name) { return op(OpNum::secinfo).opaque(name); }
  Compound& secinfo_no_name() { return op(OpNum::secinfo_no_name).u32(0); }  // of the current file handle
  Compound& restorefh() { return op(OpNum::restorefh); }
  Compound& getfh() { return op(OpNum::getfh); }
  Compound& lookup(std::string_view name) { return op(OpNum::lookup).opaque(name); }
  Compound& getattr(const AttrMask& mask = kFileAttributes);
  Compound& setattr(const Stateid& stateid, const Attr& set);
  Compound& access(uint32_t bits) { return op(OpNum::access).u32(bits); }
  Compound& readlink() { return op(OpNum::readlink); }
  Compound& verify_type(bool is, uint32_t mode);  // fails with kNotSame, or with kSame if `is` is false
  Compound& open_name(uint32_t access, const Owner& owner, std::string_view name, CreateHow how, uint64_t verifier,
                      const Attr& set);
  Compound& open_handle(uint32_t access, const Owner& owner);
  Compound& open_again(uint32_t access, const Owner& owner);  // a reclaim (CLAIM_PREVIOUS)
  Compound& close(const Stateid& stateid) { return op(OpNum::close).u32(0).stateid(stateid); }
  Compound& read(const Stateid& stateid, uint64_t offset, uint32_t count);
  Compound& write(const Stateid& stateid, uint64_t offset, Stable stable, uint32_t count);  // must be the last; data follows
  Compound& commit() { return op(OpNum::commit).u64(0).u32(0); }                            // commits the complete file
  Compound& create(std::string_view name, const Attr& set, std::string_view target);        // the mode has the type
  Compound& remove(std::string_view name) { return op(OpNum::remove).opaque(name); }
  Compound& rename(std::string_view from, std::string_view to) { return op(OpNum::rename).opaque(from).opaque(to); }
  Compound& link(std::string_view name) { return op(OpNum::link).opaque(name); }
  Compound& readdir(uint64_t cookie, uint64_t verifier, uint32_t size, const AttrMask& mask);
  // The first lock of an owner needs the state id of an open file, later locks that of the owner's locks.
  Compound& first_lock(LockType type, bool reclaim, uint64_t offset, uint64_t length, const Stateid& open, const Owner& owner);
  Compound& lock(LockType type, bool reclaim, uint64_t offset, uint64_t length, const Stateid& lock);
  Compound& lockt(LockType type, uint64_t offset, uint64_t length, const Owner& owner);
  Compound& locku(uint64_t offset, uint64_t length, const Stateid& lock);
  Compound& delegreturn(const Stateid& s) { return op(OpNum::delegreturn).stateid(s); }
  Compound& allocate(const Stateid& s, uint64_t offset, uint64_t length);
  Compound& deallocate(const Stateid& s, uint64_t offset, uint64_t length);
  Compound& seek(const Stateid& s, uint64_t offset, bool hole);
  Compound& copy(const Stateid& from, const Stateid& to, uint64_t offset, uint64_t offset2, uint64_t length);
  Compound& read_plus(const Stateid& stateid, uint64_t offset, uint32_t count);
  Compound& clone(const Stateid& from, const Stateid& to, uint64_t offset, uint64_t offset2, uint64_t length);
  Compound& getxattr(std::string_view name) { return op(OpNum::getxattr).opaque(name); }
  Compound& setxattr(uint32_t how, std::string_view name, std::string_view value);
  Compound& listxattrs(uint64_t cookie, uint32_t size) { return op(OpNum::listxattrs).u64(cookie).u32(size); }
  Compound& removexattr(std::string_view name) { return op(OpNum::removexattr).opaque(name); }
  Compound& exchange_id(uint64_t verifier, std::string_view owner);
  Compound& create_session(uint64_t clientid, uint32_t sequence, const ChannelAttr& fore);
  Compound& bind_conn_to_session(const SessionId& session);  // for the client's requests only
  Compound& destroy_session(const SessionId& session);
  Compound& destroy_clientid(uint64_t clientid) { return op(OpNum::destroy_clientid).u64(clientid); }
  Compound& reclaim_complete() { return op(OpNum::reclaim_complete).u32(0); }  // for all file systems

 private:
  Compound& op(OpNum number);
  Compound& u32(uint32_t v);
  Compound& u64(uint64_t v);
  Compound& opaque(std::string_view v);
  Compound& fixed(std::string_view v);
  Compound& stateid(const Stateid& s);
  Compound& owner(const Owner& o);
  Compound& lock_head(OpNum number, LockType type, bool reclaim, uint64_t offset, uint64_t length);
  void put_u32(size_t at, uint32_t v);

  std::vector<uint8_t>* bytes_ = nullptr;
  size_t count_at_ = 0;  // position of the number of operations
  size_t count_ = 0;
  std::array<OpNum, kMostOps> ops_;
};

}  // namespace fsr::nfs4
