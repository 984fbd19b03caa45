// SPDX-License-Identifier: Apache-2.0
// Extended attributes and access control lists.
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

const char* const kNames[] = {"user.a",
                              "user.b",
                              "trusted.a",
                              "security.a",
                              "system.a",
                              "noprefix",
                              "user.",
                              "system.posix_acl_access",
                              "system.posix_acl_default",
                              "security.capability"};
const Kind kName{"name",
                 {{0, "user.a"},
                  {0, "user.a"},
                  {1, "user.b"},
                  {2, "trusted.a"},
                  {3, "security.a"},
                  {4, "system.a"},
                  {5, "noprefix"},
                  {6, "user."},
                  {7, "system.posix_acl_access"},
                  {kDefaultAclName, "system.posix_acl_default"},
                  {9, "security.capability"}}};
const Kind kSize{"size",
                 {{0, nullptr}, {1, nullptr}, {5, nullptr}, {100, nullptr}, {1000, nullptr}, {65536, nullptr}, {65537, nullptr}}};
const Kind kFlags{"flags", {{0, "0"}, {0, "0"}, {XATTR_CREATE, "XATTR_CREATE"}, {XATTR_REPLACE, "XATTR_REPLACE"}, {4, "4"}}};
const Kind kFollow{"follow", {{1, nullptr}, {0, nullptr}}};
const Kind kWhich{"which", {{0, "access"}, {0, "access"}, {kDefaultAcl, "default"}}};
const Kind kList{"acl",
                 {{0, "u::rw-,u:1001:rwx,g::r--,m::rwx,o::---"},
                  {1, "u::rwx,u:1000:---,g::r-x,m::r-x,o::r-x"},
                  {2, "u::rwx,g::---,g:2000:rwx,m::--x,o::---"},
                  {3, "u::rwx,g::r-x,o::r-x"},
                  {kEmptyAcl, "empty"},
                  {5, "invalid"}}};

struct Acl {
  posix_acl_xattr_header header;
  posix_acl_xattr_entry entries[6];
};

// The size of the list, which is in its wire form.
size_t make_acl(int64_t which, Acl* acl) {
  constexpr uint32_t kNobody = uint32_t(ACL_UNDEFINED_ID);
  static const std::vector<posix_acl_xattr_entry> lists[] = {
      {{ACL_USER_OBJ, 6, kNobody},
       {ACL_USER, 7, 1001},
       {ACL_GROUP_OBJ, 4, kNobody},
       {ACL_MASK, 7, kNobody},
       {ACL_OTHER, 0, kNobody}},
      {{ACL_USER_OBJ, 7, kNobody},
       {ACL_USER, 0, 1000},
       {ACL_GROUP_OBJ, 5, kNobody},
       {ACL_MASK, 5, kNobody},
       {ACL_OTHER, 5, kNobody}},
      {{ACL_USER_OBJ, 7, kNobody},
       {ACL_GROUP_OBJ, 0, kNobody},
       {ACL_GROUP, 7, 2000},
       {ACL_MASK, 1, kNobody},
       {ACL_OTHER, 0, kNobody}},
      {{ACL_USER_OBJ, 7, kNobody}, {ACL_GROUP_OBJ, 5, kNobody}, {ACL_OTHER, 5, kNobody}},
      {},
      {{ACL_USER_OBJ, 7, kNobody}, {ACL_USER, 7, 1000}, {ACL_OTHER, 5, kNobody}}};
  const auto& list = lists[which];
  acl->header.a_version = POSIX_ACL_XATTR_VERSION;
  std::copy(list.begin(), list.end(), acl->entries);
  return sizeof acl->header + list.size() * sizeof(posix_acl_xattr_entry);
}

char value[70000];

void set_acl(Process& p, const int64_t* a, Result& r) {
  Acl acl;
  size_t size = make_acl(a[2], &acl);
  answer(r, setxattr(path_text(a[0]), kNames[7 + a[1]], &acl, size, 0));
}

void setxattr_(Process& p, const int64_t* a, Result& r) {
  std::fill_n(value, a[2], char('a' + p.op % 26));
  answer(r, (a[4] ? setxattr : lsetxattr)(path_text(a[0]), kNames[a[1]], value, size_t(a[2]), int(a[3])));
}

void fsetxattr_(Process& p, const int64_t* a, Result& r) {
  std::fill_n(value, a[2], char('a' + p.op % 26));
  answer(r, fsetxattr(p.fd(a[0]), kNames[a[1]], value, size_t(a[2]), int(a[3])));
}

void got(Result& r, ssize_t n, size_t room) {
  if (answer(r, n) && room != 0) r.add(value, size_t(n));
}

void getxattr_(Process& p, const int64_t* a, Result& r) {
  got(r, (a[3] ? getxattr : lgetxattr)(path_text(a[0]), kNames[a[1]], value, size_t(a[2])), size_t(a[2]));
}

void fgetxattr_(Process& p, const int64_t* a, Result& r) {
  got(r, fgetxattr(p.fd(a[0]), kNames[a[1]], value, size_t(a[2])), size_t(a[2]));
}

// Their order is the file system's own business, and a capability's name appears only where it is set.
void listxattr_(Process& p, const int64_t* a, Result& r) {
  ssize_t n = (a[2] ? listxattr : llistxattr)(path_text(a[0]), value, size_t(a[1]));
  if (!answer(r, n) || a[1] == 0) return;
  std::vector<std::string> names;
  for (const char* name = value; name < value + n; name += strlen(name) + 1) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) r.say(name + " ");
}

void removexattr_(Process& p, const int64_t* a, Result& r) {
  answer(r, (a[2] ? removexattr : lremovexattr)(path_text(a[0]), kNames[a[1]]));
}

void fremovexattr_(Process& p, const int64_t* a, Result& r) { answer(r, fremovexattr(p.fd(a[0]), kNames[a[1]])); }

}  // namespace

void add_xattr_calls(std::vector<Call>& calls) {
  calls.push_back({"set-acl", 12, {&kPath, &kWhich, &kList}, set_acl});
  calls.push_back({"setxattr", 8, {&kPath, &kName, &kSize, &kFlags, &kFollow}, setxattr_});
  calls.push_back({"fsetxattr", 3, {&kSlot, &kName, &kSize, &kFlags}, fsetxattr_});
  calls.push_back({"getxattr", 8, {&kPath, &kName, &kSize, &kFollow}, getxattr_});
  calls.push_back({"fgetxattr", 3, {&kSlot, &kName, &kSize}, fgetxattr_});
  calls.push_back({"listxattr", 6, {&kPath, &kSize, &kFollow}, listxattr_});
  calls.push_back({"removexattr", 4, {&kPath, &kName, &kFollow}, removexattr_});
  calls.push_back({"fremovexattr", 2, {&kSlot, &kName}, fremovexattr_});
}

}  // namespace differential
