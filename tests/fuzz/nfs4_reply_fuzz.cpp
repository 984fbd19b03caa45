// SPDX-License-Identifier: Apache-2.0
// Everything that an NFSv4 server can make us read: the input is a number of operations, their numbers, and the reply to a
// COMPOUND of these.
#include "nfs/nfs4.hpp"
#include "reply_fuzz.hpp"
#include "targets/nfs4/compound.hpp"

using namespace fsr;
using namespace fsr::nfs4;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t count = data[0];
  if (count == 0 || count > Compound::kMostOps || 1 + count > size) return 0;
  std::vector<OpNum> ops;
  for (size_t i = 0; i < count; ++i) ops.push_back(OpNum(data[1 + i]));
  const std::span<const uint8_t> message(data + 1 + count, size - 1 - count);
  static Reply reply;
  if (!decode_reply(message, ops, &reply)) return 0;
  require(reply.done <= ops.size());
  require(reply.rpc != nfs::RpcStatus::success || (reply.status == kOk) == (reply.done == ops.size()));
  require((reply.error == 0) == (reply.rpc == nfs::RpcStatus::success && reply.status == kOk));
  check_inside(reply.data, message);
  for (const nfs::Entry& e : reply.entries) check_inside(e.name, message);
  require(reply.entries.size() <= message.size() / 4);
  require(reply.handle.size <= nfs::kLongestHandle);
  return 0;
}
