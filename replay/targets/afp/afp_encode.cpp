// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <algorithm>

#include "targets/afp/afp.hpp"
#include "targets/unicode.hpp"

namespace fsr::afp {

namespace {

constexpr uint8_t kUtf8Path = 3;
constexpr uint32_t kUtf8Hint = 0x08000103;

struct Named {
  const char *name, *number;
};
constexpr Named kVersionNames[] = {{"AFPX03", "3.0"}, {"AFP3.1", "3.1"}, {"AFP3.2", "3.2"}, {"AFP3.3", "3.3"}, {"AFP3.4", "3.4"}};

std::string swapped(std::string_view name) {
  std::string s(name);
  for (char& c : s) c = c == ':' ? '/' : c == '/' ? ':' : c;
  return s;
}

}  // namespace

const char* version_name(Version v) { return kVersionNames[unsigned(v)].name; }
const char* version_number(Version v) { return kVersionNames[unsigned(v)].number; }

std::string to_wire_name(std::string_view name) {
  std::string wire = decomposed(swapped(name));
  return wire.size() <= kLongestName ? wire : swapped(name);
}
std::string from_wire_name(std::string_view name) { return composed(swapped(name)); }
bool keeps_form(std::string_view name) { return composed(decomposed(name)) == name; }

void Encoder::begin(Command command) {
  bytes_.assign(kDsiHead, 0);
  if (command != Command::none) u8(uint8_t(command));
}

void Encoder::end(Dsi dsi, uint16_t id, size_t payload) {
  const size_t command = bytes_.size() - kDsiHead;
  std::vector<uint8_t> head;
  head.reserve(kDsiHead);
  auto put = [&](uint64_t v, unsigned size) { wire::append_number<std::endian::big>(head, v, size); };
  put(0, 1);
  put(uint8_t(dsi), 1);
  put(id, 2);
  put(dsi == Dsi::write ? command : 0, 4);
  put(command + payload, 4);
  std::copy(head.begin(), head.end(), bytes_.begin());
}

Encoder& Encoder::path(std::string_view name) { return u8(kUtf8Path).u32(kUtf8Hint).string16(name); }

int afp_errno(int32_t result) {
  switch (result) {
    case 0:
      return 0;
    case -5000:  // access denied
    case -5002:  // bad UAM
    case kUserNotAuthenticated:
      return EACCES;
    case -5004:  // bitmap
    case -5005:  // can't move into itself
    case kParamError:
    case -5020:  // range not locked
    case -5028:  // can't rename
    case -5038:  // same object
      return EINVAL;
    case -5006:  // deny conflict
    case kFileBusy:
      return EBUSY;
    case -5007:
      return ENOTEMPTY;
    case -5008:
      return ENOSPC;
    case kItemNotFound:
      return ENODATA;
    case kLockError:
    case kRangeOverlap:
      return EAGAIN;
    case -5015:
      return ENOLCK;
    case kObjectExists:
      return EEXIST;
    case kObjectNotFound:
    case -5029:  // directory not found
    case -5034:  // no such id
      return ENOENT;
    case -5024:
      return EOPNOTSUPP;
    case kObjectTypeError:
      return EISDIR;
    case -5026:
      return EMFILE;
    case -5031:  // volume locked
      return EROFS;
    case -5032:  // object locked
      return EPERM;
    case -5036:
      return EXDEV;
    case -5047:
      return EDQUOT;
    default:
      return EIO;
  }
}

}  // namespace fsr::afp
