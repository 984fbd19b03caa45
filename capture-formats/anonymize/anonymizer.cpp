// SPDX-License-Identifier: Apache-2.0
#include "anonymizer.hpp"

#include <algorithm>
#include <cstring>

#include "trace/model.hpp"

namespace fsr {

namespace {

// Mount options that stay, those of key=value, and the values of these that stay beside numbers.
constexpr std::string_view kPlainOptions[] = {
    "ac",         "acl",        "async",        "bg",       "cto",        "defaults",    "dev",        "discard",  "exec",
    "fg",         "hard",       "inode32",      "inode64",  "intr",       "lazytime",    "lock",       "noac",     "noacl",
    "noatime",    "nobarrier",  "nocto",        "nodev",    "nodiratime", "noexec",      "nointr",     "nolock",   "noquota",
    "norelatime", "noresvport", "nosharecache", "nosuid",   "quota",      "rdirplus",    "nordirplus", "relatime", "resvport",
    "ro",         "rw",         "sharecache",   "soft",     "softerr",    "strictatime", "suid",       "sync",     "tcp",
    "udp",        "user_xattr", "usrquota",     "grpquota", "prjquota",   "attr2",       "delalloc",   "seclabel"};
constexpr std::string_view kPlainValues[] = {
    "acdirmax",   "acdirmin", "acregmax", "acregmin",    "actimeo",   "cache",        "commit",  "data",       "errors",
    "local_lock", "logbsize", "logbufs",  "lookupcache", "max_read",  "minorversion", "mode",    "mountproto", "mountvers",
    "msize",      "namlen",   "nconnect", "nfsvers",     "nr_inodes", "proto",        "retrans", "rsize",      "sec",
    "size",       "timeo",    "trans",    "vers",        "version",   "wsize",        "access"};
constexpr std::string_view kPlainWords[] = {
    "9p2000",  "9p2000.L", "9p2000.u", "all",   "any",   "client", "continue",  "fd",         "flock",    "fscache",
    "journal", "krb5",     "krb5i",    "krb5p", "loose", "mmap",   "none",      "ntlm",       "ntlmssp",  "ntlmv2",
    "ordered", "panic",    "pos",      "posix", "rdma",  "rdma6",  "readahead", "remount-ro", "strict",   "sys",
    "tcp",     "tcp6",     "udp",      "udp6",  "unix",  "user",   "virtio",    "writeback",  "positive", "xen"};
constexpr std::string_view kCommonTypes[] = {
    "9p",       "afs",   "bcachefs", "btrfs",   "ceph",  "cifs",     "erofs",   "exfat",   "ext2",     "ext3",
    "ext4",     "f2fs",  "fuse",     "fuseblk", "gfs2",  "gpfs",     "hfs",     "hfsplus", "iso9660",  "jfs",
    "lustre",   "nfs",   "nfs4",     "ntfs",    "ntfs3", "ocfs2",    "overlay", "ramfs",   "reiserfs", "smb3",
    "squashfs", "tmpfs", "udf",      "vboxsf",  "vfat",  "virtiofs", "xfs",     "zfs"};
constexpr std::string_view kContents[] = {"none", "fingerprint", "full"};

template <size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// A number, with a unit or two: "1048576", "4.2", "0755", "50%", "64k".
bool plain_number(std::string_view text) {
  const size_t unit = std::min(text.find_first_not_of("0123456789."), text.size());
  return unit > 0 && text.size() - unit <= 2 && std::count(text.begin(), text.end(), '.') <= 1;
}

// An access control list (acl(5); linux/posix_acl_xattr.h): a version, then for each entry its tag, its permissions and an id.
bool is_acl(std::string_view name, std::string_view value) {
  if (name != "system.posix_acl_access" && name != "system.posix_acl_default") return false;
  if (value.size() % 8 != 4 || value.substr(0, 4) != std::string_view("\2\0\0\0", 4)) return false;
  for (size_t at = 4; at < value.size(); at += 8) {
    uint16_t tag, permissions;
    memcpy(&tag, value.data() + at, sizeof tag);
    memcpy(&permissions, value.data() + at + 2, sizeof permissions);
    if (tag == 0 || tag > 0x20 || (tag & (tag - 1)) || permissions > 7) return false;
  }
  return true;
}

}  // namespace

size_t plain_kernel(std::string_view release) { return std::min(release.find_first_not_of("0123456789."), release.size()); }

size_t plain_mount_type(std::string_view type) {
  // The mounter's own name of a file system in user space stands behind a dot.
  const size_t dot = type.find('.');
  if (dot != std::string_view::npos && among(kCommonTypes, type.substr(0, dot))) return dot + 1;
  return among(kCommonTypes, type) ? type.size() : 0;
}

bool plain_mount_option(std::string_view option) {
  const size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  if (equals == std::string_view::npos) return among(kPlainOptions, key);
  const std::string_view value = option.substr(equals + 1);
  return among(kPlainValues, key) && (among(kPlainWords, value) || plain_number(value));
}

std::string Anonymizer::mount_options(std::string_view options) {
  std::string out;
  for (size_t at = 0; at < options.size();) {
    const size_t end = std::min(options.find(',', at), options.size());
    const std::string_view option = options.substr(at, end - at);
    out += plain_mount_option(option) ? std::string(option) : pseudonyms_.words(option);
    if (end < options.size()) out += ',';
    at = end + 1;
  }
  return out;
}

std::string Anonymizer::behind(std::string_view text, size_t plain) {
  return std::string(text.substr(0, plain)) + pseudonyms_.name(text.substr(plain));
}

// An access control list stays one, of other users, and nothing else becomes one.
std::string Anonymizer::xattr_value(std::string_view name, std::string_view value) {
  std::string out(value);
  if (!is_acl(name, value)) {
    do out = pseudonyms_.value(out);
    while (is_acl(name, out));
    return out;
  }
  for (size_t at = 4; at + 8 <= out.size(); at += 8) {
    uint32_t id;
    memcpy(&id, out.data() + at + 4, sizeof id);
    id = pseudonyms_.user(id);
    memcpy(out.data() + at + 4, &id, sizeof id);
  }
  return out;
}

void Anonymizer::map(Attr& attr) {
  if (attr.valid & kAttrUid) attr.uid = pseudonyms_.user(attr.uid);
  if (attr.valid & kAttrGid) attr.gid = pseudonyms_.user(attr.gid);
}

const ThreadInfo* Anonymizer::map(const ThreadInfo& who, Arena& arena) {
  ThreadInfo* out = arena.make<ThreadInfo>();
  *out = who;
  out->tid = pseudonyms_.process(who.tid);
  out->pid = pseudonyms_.process(who.pid);
  out->ppid = pseudonyms_.process(who.ppid);
  out->command = arena.copy(pseudonyms_.words(who.command));
  return out;
}

Op Anonymizer::map(const Op& op, Arena& arena) {
  const uint16_t traits = kind_traits(op.kind);
  Op out = op;
  out.uid = pseudonyms_.user(op.uid);
  out.gid = pseudonyms_.user(op.gid);
  out.owner = pseudonyms_.owner(op.owner);
  if (op.who) out.who = map(*op.who, arena);
  out.name = arena.copy(traits & kHasXattr ? pseudonyms_.xattr(op.name) : pseudonyms_.name(op.name));
  out.name2 = arena.copy(pseudonyms_.name(op.name2));
  for (const Attr* Op::*member : {&Op::set, &Op::attr}) {
    if (!(op.*member)) continue;
    Attr* attr = arena.make<Attr>();
    *attr = *(op.*member);
    map(*attr);
    out.*member = attr;
  }
  if (!op.entries.empty()) {
    DirEntry* entries = arena.make<DirEntry>(op.entries.size());
    for (size_t i = 0; i < op.entries.size(); ++i) {
      entries[i] = op.entries[i];
      entries[i].name = arena.copy(pseudonyms_.name(op.entries[i].name));
    }
    out.entries = {entries, op.entries.size()};
  }
  if (op.kind == OpKind::symlink || op.kind == OpKind::readlink) {
    out.data = arena.copy(pseudonyms_.path(op.data));
  } else if (traits & kHasXattr) {
    out.data = arena.copy(xattr_value(op.name, op.data));
  } else if (op.kind == OpKind::read || op.kind == OpKind::write) {
    out.op_flags &= uint16_t(~kOpData);
    out.data = {};
    if (op.has(kOpData) && op.data.size() == op.result && !op.data.empty()) {
      ++fingerprinted_;
      fingerprinter_.take(out, op.data.data(), op.data.size());
      out.blocks = meter_.levels(out.blocks, out.data, op.object, op.offset, op.data.size());
      out.data = {};
    }
    BlockPrint* blocks = arena.make<BlockPrint>(out.blocks.size());
    for (size_t i = 0; i < out.blocks.size(); ++i) blocks[i] = {pseudonyms_.print(out.blocks[i].hash), out.blocks[i].level};
    out.blocks = {blocks, out.blocks.size()};
  } else {
    out.data = {};  // a list of attributes, or data of an ioctl: no replay needs these
  }
  return out;
}

LiveState Anonymizer::map(const LiveState& state) {
  return state.renamed({.name = [this](std::string_view name) { return pseudonyms_.name(name); },
                        .target = [this](std::string_view target) { return pseudonyms_.path(target); },
                        .attr = [this](Attr& attr) { map(attr); },
                        .owner = [this](uint64_t owner) { return pseudonyms_.owner(owner); }});
}

TraceHeader Anonymizer::map(const TraceHeader& header) {
  TraceHeader out = header;
  out.host = pseudonyms_.words(header.host);
  out.directory = pseudonyms_.words(header.directory);
  out.identity = {};
  out.monotonic = 0;
  out.kernel = behind(header.kernel, plain_kernel(header.kernel));
  out.mount_source = pseudonyms_.words(header.mount_source);
  out.mount_type = behind(header.mount_type, plain_mount_type(header.mount_type));
  out.mount_options = mount_options(header.mount_options);
  out.command = pseudonyms_.words(header.command);
  out.filter = pseudonyms_.words(header.filter);
  if (!among(kContents, header.content)) out.content = "none";
  if (!back_ && header.content == "full") out.content = "fingerprint";
  out.nfs = {};
  out.mounts_below.clear();
  out.not_seen.clear();
  out.edits.clear();
  return out;
}

}  // namespace fsr
