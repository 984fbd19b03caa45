// SPDX-License-Identifier: Apache-2.0
#include "mix/procedures.hpp"

#include <string>

namespace fsr {

namespace {

constexpr const char* kNfs2[] = {"null",   "getattr", "setattr", "root", "lookup",  "readlink", "read",  "wrcache", "write",
                                 "create", "remove",  "rename",  "link", "symlink", "mkdir",    "rmdir", "readdir", "fsstat"};

constexpr const char* kNfs3[] = {"null",    "getattr",     "setattr", "lookup", "access",   "readlink", "read",   "write",
                                 "create",  "mkdir",       "symlink", "mknod",  "remove",   "rmdir",    "rename", "link",
                                 "readdir", "readdirplus", "fsstat",  "fsinfo", "pathconf", "commit"};

constexpr const char* kNfs4[] = {
    "access", "close", "commit", "create", "delegpurge", "delegreturn", "getattr", "getfh", "link", "lock", "lockt", "locku",
    "lookup", "lookupp", "nverify", "open", "openattr", "open_confirm", "open_downgrade", "putfh", "putpubfh", "putrootfh",
    "read", "readdir", "readlink", "remove", "rename", "renew", "restorefh", "savefh", "secinfo", "setattr", "setclientid",
    "setclientid_confirm", "verify", "write", "release_lockowner",
    // 4.1
    "backchannel_ctl", "bind_conn_to_session", "exchange_id", "create_session", "destroy_session", "free_stateid",
    "get_dir_delegation", "getdeviceinfo", "getdevicelist", "layoutcommit", "layoutget", "layoutreturn", "secinfo_no_name",
    "sequence", "set_ssv", "test_stateid", "want_delegation", "destroy_clientid", "reclaim_complete",
    // 4.2
    "allocate", "copy", "copy_notify", "deallocate", "io_advise", "layouterror", "layoutstats", "offload_cancel",
    "offload_status", "read_plus", "seek", "write_same", "clone",
    // extended attributes
    "getxattr", "setxattr", "listxattrs", "removexattr"};
static_assert(std::size(kNfs2) == 18 && std::size(kNfs3) == 22 && std::size(kNfs4) == 73);

struct Alias {
  const char* printed;  // lower case
  const char* name;
};

// Version 2 and 3.
constexpr Alias kAliases3[] = {
    {"rdirplus", "readdirplus"},  // FreeBSD
    {"readdir+", "readdirplus"},  // OSF/1
    {"statfs", "fsstat"},         // RFC 1094
    {"writecache", "wrcache"},
};

// Names that nfs-utils prints for a server.
constexpr Alias kLinuxAliases4[] = {
    {"lookup_root", "lookupp"},           {"open_conf", "open_confirm"},           {"open_dgrd", "open_downgrade"},
    {"setcltid", "setclientid"},          {"setcltidconf", "setclientid_confirm"}, {"rellockowner", "release_lockowner"},
    {"bc_ctl", "backchannel_ctl"},        {"bind_conn", "bind_conn_to_session"},   {"create_ses", "create_session"},
    {"destroy_ses", "destroy_session"},   {"getdirdeleg", "get_dir_delegation"},   {"getdevinfo", "getdeviceinfo"},
    {"getdevlist", "getdevicelist"},      {"secinfononam", "secinfo_no_name"},     {"want_deleg", "want_delegation"},
    {"destroy_clid", "destroy_clientid"}, {"reclaim_comp", "reclaim_complete"},    {"ioadvise", "io_advise"},
    {"offloadcancel", "offload_cancel"},  {"offloadstatus", "offload_status"},     {"readplus", "read_plus"},
};

constexpr Alias kAliases4[] = {
    {"rel_lockowner", "release_lockowner"},  // Solaris
    // FreeBSD: names in its text, which are cut at 9 or 13 characters, and in its JSON
    {"setclid", "setclientid"},
    {"setclidcf", "setclientid_confirm"},
    {"setclientidcf", "setclientid_confirm"},
    {"setclientidcfrm", "setclientid_confirm"},
    {"opendwngr", "open_downgrade"},
    {"opendwgr", "open_downgrade"},
    {"opendowngr", "open_downgrade"},
    {"opencfrm", "open_confirm"},
    {"opencfr", "open_confirm"},
    {"delepurge", "delegpurge"},
    {"deleret", "delegreturn"},
    {"delret", "delegreturn"},
    {"delreg", "delegreturn"},
    {"delegret", "delegreturn"},
    {"restore", "restorefh"},
    {"rellckown", "release_lockowner"},
    {"rellockown", "release_lockowner"},
    {"v4create", "create"},
    {"backchannelctrl", "backchannel_ctl"},
    {"backchannelct", "backchannel_ctl"},
    {"bindconntosess", "bind_conn_to_session"},
    {"bindconntoses", "bind_conn_to_session"},
    {"exchangeid", "exchange_id"},
    {"createsess", "create_session"},
    {"destroysess", "destroy_session"},
    {"freestateid", "free_stateid"},
    {"secinfnoname", "secinfo_no_name"},
    {"setssv", "set_ssv"},
    {"teststateid", "test_stateid"},
    {"wantdeleg", "want_delegation"},
    {"destroyclid", "destroy_clientid"},
    {"reclaimcompl", "reclaim_complete"},
    {"layoutcomit", "layoutcommit"},
};

// Linux, client: COMPOUNDs by what they are for (fs/nfs/nfs4xdr.c).
constexpr Alias kClientAliases4[] = {
    {"open_noat", "open"},
    {"setclntid", "setclientid"},
    {"confirm", "setclientid_confirm"},
    {"lookup_root", "putrootfh"},
    {"symlink", "create"},
    {"fsinfo", "getattr"},
    {"pathconf", "getattr"},
    {"statfs", "getattr"},
    {"fsstat", "getattr"},
    {"server_caps", "getattr"},
    {"getacl", "getattr"},
    {"setacl", "setattr"},
    {"fs_locations", "getattr"},
    {"rel_lkowner", "release_lockowner"},
    {"fsid_present", "getfh"},
    {"get_lease_time", "getattr"},
    {"secinfo_no", "secinfo_no_name"},
    {"bind_conn_to_ses", "bind_conn_to_session"},
    // FreeBSD
    {"mkdir", "create"},
    {"mknod", "create"},
    {"rmdir", "remove"},
    {"rdirplus", "readdir"},
    {"readds", "read"},
    {"readdatas", "read"},
    {"writedatas", "write"},
    {"commitdatas", "commit"},
    {"openlayout", "open"},
    {"createlayout", "open"},
};

// Version 2 or 3, and version 4 where it goes by another name.
constexpr Alias kInstead4[] = {
    {"create", "open"},         {"mkdir", "create"},   {"symlink", "create"}, {"mknod", "create"},     {"rmdir", "remove"},
    {"readdirplus", "readdir"}, {"fsstat", "getattr"}, {"fsinfo", "getattr"}, {"pathconf", "getattr"},
};

}  // namespace

std::span<const char* const> nfs_procedures(unsigned version) {
  if (version == 2) return kNfs2;
  if (version == 3) return kNfs3;
  if (version == 4) return kNfs4;
  return {};
}

int nfs_procedure_index(unsigned version, std::string_view name) {
  const auto names = nfs_procedures(version);
  for (size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return int(i);
  return -1;
}

int nfs_procedure_alias(unsigned version, bool client, std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  auto find = [&](std::span<const Alias> aliases) {
    for (const Alias& alias : aliases)
      if (lower == alias.printed) return nfs_procedure_index(version, alias.name);
    return -1;
  };
  int index = -1;
  if (version == 4 && client) index = find(kClientAliases4);
  if (index < 0) index = nfs_procedure_index(version, lower);
  if (index < 0 && version == 4) index = find(kLinuxAliases4);
  if (index < 0) index = find(version == 4 ? std::span<const Alias>(kAliases4) : std::span<const Alias>(kAliases3));
  return index;
}

std::string_view nfs4_instead_of(std::string_view procedure) {
  for (const Alias& alias : kInstead4)
    if (procedure == alias.printed) return alias.name;
  return procedure;
}

bool nfs4_has_procedure(std::string_view operation) {
  for (const char* procedure : kNfs3)
    if (nfs4_instead_of(procedure) == operation) return true;
  return false;
}

std::string_view nfs4_linux_name(size_t operation) {
  const std::string_view name = kNfs4[operation];
  for (const Alias& alias : kLinuxAliases4)
    if (name == alias.name) return alias.printed;
  return name;
}

}  // namespace fsr
