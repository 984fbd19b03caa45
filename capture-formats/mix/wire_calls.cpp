// SPDX-License-Identifier: Apache-2.0
#include "mix/wire_calls.hpp"

#include <sstream>
#include <string>

#include "mix/procedures.hpp"

namespace fsr {

namespace {

struct WireRow {
  Wire wire;
  const char* nfs2;  // empty: not sent
  const char* nfs3;
  const char* nfs4;  // the operations behind SEQUENCE
};

constexpr WireRow kWireRows[] = {
    {Wire::getattr, "getattr", "getattr", "putfh getattr"},
    {Wire::setattr, "setattr", "setattr", "putfh setattr getattr"},
    {Wire::lookup, "lookup", "lookup", "putfh lookup getfh getattr"},
    {Wire::access, "", "access", "putfh access getattr"},
    {Wire::readlink, "readlink", "readlink", "putfh readlink"},
    {Wire::read, "read", "read", "putfh read"},
    {Wire::write, "write", "write", "putfh write getattr"},
    {Wire::create, "create", "create", ""},
    {Wire::exclusive, "", "setattr", ""},
    {Wire::mkdir, "mkdir", "mkdir", "putfh create getfh getattr"},
    {Wire::symlink, "symlink", "symlink", "putfh create getfh getattr"},
    {Wire::mknod, "create", "mknod", "putfh create getfh getattr"},
    {Wire::remove, "remove", "remove", "putfh remove"},
    {Wire::rmdir, "rmdir", "rmdir", "putfh remove"},
    {Wire::rename, "rename", "rename", "putfh savefh putfh rename"},
    {Wire::link, "link", "link", "putfh savefh putfh link restorefh getattr"},
    {Wire::readdir, "readdir", "readdir", "putfh readdir"},
    {Wire::readdirplus, "readdir", "readdirplus", "putfh readdir"},
    {Wire::fsstat, "fsstat", "fsstat", "putfh getattr"},
    {Wire::commit, "", "commit", "putfh commit"},
    {Wire::open, "", "", "putfh open getfh access getattr"},
    {Wire::close, "", "", "putfh close"},
    {Wire::lock, "", "", "putfh lock"},
    {Wire::lockt, "", "", "putfh lockt"},
    {Wire::locku, "", "", "putfh locku"},
    {Wire::allocate, "", "", "putfh allocate getattr"},
    {Wire::deallocate, "", "", "putfh deallocate getattr"},
};
static_assert(std::size(kWireRows) == kWires);

const char* operations(const WireRow& row, unsigned version) {
  return version == 2 ? row.nfs2 : version == 3 ? row.nfs3 : row.nfs4;
}

}  // namespace

std::vector<uint64_t> WireCalls::calls(unsigned version) const {
  std::vector<uint64_t> calls(nfs_procedures(version).size());
  for (const WireRow& row : kWireRows) {
    const uint64_t n = (*this)[row.wire];
    std::istringstream names(operations(row, version));
    for (std::string name; names >> name;) calls[size_t(nfs_procedure_index(version, name))] += n;
  }
  if (version == 4) calls[size_t(nfs_procedure_index(4, "sequence"))] = compounds();
  return calls;
}

uint64_t WireCalls::compounds() const {
  uint64_t sum = 0;
  for (const WireRow& row : kWireRows)
    if (*operations(row, 4)) sum += (*this)[row.wire];
  return sum;
}

}  // namespace fsr
