// SPDX-License-Identifier: Apache-2.0
// Extended attributes. The server adds "user." to the names that it receives, and knows no other names.
#include <errno.h>
#include <sys/xattr.h>

#include <algorithm>

#include "targets/afp/ops.hpp"
#include "targets/posix_acl.hpp"
#include "targets/unicode.hpp"

namespace fsr::afp {

namespace {

constexpr std::string_view kPrefix = "user.";
constexpr std::string_view kMadeUp = "com.apple.";  // the server also lists data that it keeps elsewhere as attributes
constexpr uint32_t kLongestValue = 64 << 10;        // as Linux allows (XATTR_SIZE_MAX)

std::string wire_xattr(const Op& op) { return decomposed(op.name.substr(kPrefix.size())); }

// Fills in the outcome. `limit`: bytes of the caller's buffer; 0: only the size is wanted.
int answer(OpCall& call, uint64_t limit) {
  if (limit && call.buffer.size() > limit) return ERANGE;
  call.request->outcome.data = limit ? std::string_view(call.buffer) : std::string_view();
  call.request->outcome.result = call.buffer.size();
  return 0;
}

}  // namespace

Task do_getxattr(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  Rpc& rpc = call.ask_at(Command::get_ext_attr, entry.did);
  rpc.out().u16(kXattrNoFollow).u64(0).u64(UINT64_MAX).u32(kLongestValue).path(entry.name).even().string16(wire_xattr(op));
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.result == kMiscError ? ENODATA : reply.error;
  call.buffer = reply.data;
  co_return answer(call, op.length);
}

Task do_setxattr(OpCall& call) {
  const Op& op = call.op();
  if (mode_of_minimal_acl(op)) co_return co_await do_setattr(call);
  if (op.length > kLongestValue) co_return E2BIG;
  NameInDirectory entry;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  const uint16_t flags =
      uint16_t(kXattrNoFollow | (op.flags & XATTR_CREATE ? kXattrCreate : 0) | (op.flags & XATTR_REPLACE ? kXattrReplace : 0));
  Rpc& rpc = call.ask_at(Command::set_ext_attr, entry.did, !(op.flags & XATTR_CREATE));
  Encoder out = rpc.out();
  out.u16(flags).u64(0).path(entry.name).even().string16(wire_xattr(op)).u32(uint32_t(op.length));
  const std::string_view value = op.data.substr(0, size_t(op.length));
  out.bytes(value).zeros(size_t(op.length) - value.size());
  const Reply& reply = co_await call.client().send(rpc);
  // Before AFP 3.3, all causes have the same error.
  if (reply.result == kMiscError) co_return op.flags& XATTR_REPLACE ? ENODATA : ENOSPC;
  co_return reply.error;
}

// Lists all names in one request, never by one for the size first. Netatalk would answer a second request with the names of the
// first one's file, even if it asks about another file.
Task do_listxattr(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  Rpc& rpc = call.ask_at(Command::list_ext_attr, entry.did);
  rpc.out().u16(kXattrNoFollow).u16(0).u32(0).u32(kLongestValue).path(entry.name);
  const Reply& reply = co_await call.client().send(rpc);
  if (reply.error) co_return reply.error;
  call.buffer.clear();
  for (std::string_view rest = reply.data; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    if (!name.starts_with(kMadeUp)) {
      call.buffer += kPrefix;
      call.buffer += composed(name);
      call.buffer += '\0';
    }
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  co_return answer(call, op.length);
}

Task do_removexattr(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory entry;
  if (int error = co_await call.tree().find(call, op.object, &entry)) co_return error;
  Rpc& rpc = call.ask_at(Command::remove_ext_attr, entry.did, false);
  rpc.out().u16(kXattrNoFollow).path(entry.name).even().string16(wire_xattr(op));
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.result == kMiscError ? ENODATA : reply.error;
}

}  // namespace fsr::afp
