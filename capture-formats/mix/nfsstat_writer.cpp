// SPDX-License-Identifier: Apache-2.0
#include "mix/nfsstat_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fsr {

const std::array<const char*, kNfs3Procedures> kNfs3ProcedureNames = {
    "null",  "getattr", "setattr", "lookup", "access", "readlink", "read",        "write",  "create", "mkdir",    "symlink",
    "mknod", "remove",  "rmdir",   "rename", "link",   "readdir",  "readdirplus", "fsstat", "fsinfo", "pathconf", "commit"};

namespace {

constexpr struct {
  OpKind kind;
  int procedure;
} kCarriedBy[] = {
    {OpKind::null, 0},    {OpKind::getattr, 1},  {OpKind::statx, 1},    {OpKind::setattr, 2},  {OpKind::lookup, 3},
    {OpKind::access, 4},  {OpKind::readlink, 5}, {OpKind::read, 6},     {OpKind::write, 7},    {OpKind::create, 8},
    {OpKind::tmpfile, 8}, {OpKind::mkdir, 9},    {OpKind::symlink, 10}, {OpKind::mknod, 11},   {OpKind::unlink, 12},
    {OpKind::rmdir, 13},  {OpKind::rename, 14},  {OpKind::link, 15},    {OpKind::readdir, 16}, {OpKind::readdirplus, 17},
    {OpKind::statfs, 18}, {OpKind::fsync, 21},
};

}  // namespace

int nfs3_procedure(OpKind kind) {
  for (const auto& row : kCarriedBy)
    if (row.kind == kind) return row.procedure;
  return -1;
}

std::string nfsstat_text(const std::array<uint64_t, kOpKinds>& counts) {
  std::array<uint64_t, kNfs3Procedures> calls{};
  uint64_t total = 0;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) {
    const int procedure = nfs3_procedure(OpKind(kind));
    if (procedure < 0) continue;
    calls[size_t(procedure)] += counts[kind];
    total += counts[kind];
  }

  constexpr size_t kPerRow = 5;
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "Server rpc stats:\ncalls      badcalls   badfmt     badauth    badclnt\n");
  fmt::format_to(out, "{:<8}   {:<8}   {:<8}   {:<8}   {:<8}\n\nServer nfs v3:\n", total, 0, 0, 0, 0);
  for (size_t row = 0; row < kNfs3Procedures; row += kPerRow) {
    const size_t end = std::min<size_t>(row + kPerRow, kNfs3Procedures);
    for (size_t i = row; i < end; ++i) fmt::format_to(out, "{:<17}", kNfs3ProcedureNames[i]);
    text += '\n';
    for (size_t i = row; i < end; ++i) {
      // nfsstat truncates its percentages.
      const unsigned percent = total == 0 ? 0 : unsigned(calls[i] * 100 / total);
      // nfsstat itself would print 12345678 calls of 100 % as one number; a blank keeps them apart.
      const bool glued = calls[i] >= 10'000'000 && percent == 100;
      fmt::format_to(out, "{:<8}{}{:>3}%     ", calls[i], glued ? " " : "", percent);
    }
    text += '\n';
  }
  text += '\n';
  return text;
}

}  // namespace fsr
