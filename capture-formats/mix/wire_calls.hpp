// SPDX-License-Identifier: Apache-2.0
// Counts of a client's requests, for all versions of NFS. A request is a procedure of version 2 or 3, or a COMPOUND of several
// operations of version 4. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fsr {

enum class Wire : uint8_t {
  getattr,
  setattr,
  lookup,
  access,
  readlink,
  read,
  write,
  create,     // of a regular file; version 4 sends an open instead
  exclusive,  // the SETATTR that version 3 needs after an exclusive create
  mkdir,
  symlink,
  mknod,
  remove,
  rmdir,
  rename,
  link,
  readdir,
  readdirplus,
  fsstat,
  commit,
  open,  // from here on version 4 only
  close,
  lock,
  lockt,
  locku,
  allocate,
  deallocate,
};
constexpr unsigned kWires = unsigned(Wire::deallocate) + 1;

class WireCalls {
 public:
  void add(Wire wire, uint64_t n = 1) { counts_[unsigned(wire)] += n; }
  WireCalls& operator+=(const WireCalls& other) {
    for (unsigned i = 0; i < kWires; ++i) counts_[i] += other.counts_[i];
    return *this;
  }
  void take_back(Wire wire) { --counts_[unsigned(wire)]; }
  uint64_t operator[](Wire wire) const { return counts_[unsigned(wire)]; }

  // Counts in the order of nfs_procedures(version). For version 4, counts the operations in Linux's COMPOUNDs of minor version 1
  // (fs/nfs/nfs4xdr.c).
  std::vector<uint64_t> calls(unsigned version) const;
  uint64_t compounds() const;  // of version 4

 private:
  std::array<uint64_t, kWires> counts_{};
};

}  // namespace fsr
