// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/big_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "threads/sim_context.hpp"

namespace fsr::bonnie {

// Single bytes can't be transferred with O_DIRECT.
static uint32_t flags_for(Phase phase, const Settings& settings) {
  const bool bytes = phase == kByteWrite || phase == kByteRead;
  return uint32_t(O_RDWR | (settings.direct && !bytes ? O_DIRECT : 0));
}

Task BigFile::make(Phase phase) {
  Op gone{.kind = OpKind::unlink, .object = run_.file, .parent = kRootObject, .name = run_.name};
  co_await sim_.perform(gone);  // the file may not exist
  run_.file = kNoObject;
  const ObjectId object = sim_.new_object();
  handle_ = sim_.new_handle();
  const Op op{.kind = OpKind::create,
              .mode = 0600 & ~run_.umask,
              .open_flags = flags_for(phase, run_.settings) | O_CREAT | O_EXCL,
              .object = object,
              .parent = kRootObject,
              .handle = handle_,
              .name = run_.name};
  if (int error = (co_await sim_.perform(op)).error) co_return run_.fail(phase, "can't create " + run_.name, error);
  run_.file = object;
  co_return 0;
}

Task BigFile::open(Phase phase) {
  handle_ = sim_.new_handle();
  const Op op{.kind = OpKind::open, .open_flags = flags_for(phase, run_.settings), .object = run_.file, .handle = handle_};
  const int error = (co_await sim_.perform(op)).error;
  co_return error ? run_.fail(phase, "can't open " + run_.name, error) : 0;
}

int BigFile::fail(Phase phase, const Op& op, const Outcome& outcome) {
  const bool reads = op.kind == OpKind::read;
  const std::string what = fmt::format("can't {} at byte {} of {}", reads ? "read" : "write", op.offset, run_.name);
  return run_.fail(phase, what, outcome.error ? outcome.error : reads ? ENODATA : ENOSPC);
}

Task BigFile::read(Phase phase, char* to, uint64_t length, uint64_t offset) {
  for (uint64_t done = 0; done < length;) {
    const Op op = reading(offset + done, length - done);
    const Outcome& outcome = co_await sim_.perform(op, kUncounted, {.want_data = true});
    if (outcome.error != 0 || outcome.result == 0) co_return fail(phase, op, outcome);
    memcpy(to + done, outcome.data.data(), outcome.data.size());
    done += outcome.result;
  }
  co_return 0;
}

Task BigFile::sync(Phase phase) {
  const Op op{.kind = OpKind::fsync, .object = run_.file, .handle = handle_};
  const int error = (co_await sim_.perform(op)).error;
  co_return error ? run_.fail(phase, "can't sync " + run_.name, error) : 0;
}

Task BigFile::sync_and_close(Phase phase) {
  const int unsynced = co_await sync(phase);
  const Op op{.kind = OpKind::release, .object = run_.file, .handle = handle_};
  const int error = (co_await sim_.perform(op)).error;
  co_return unsynced ? unsynced : error ? run_.fail(phase, "can't close " + run_.name, error) : 0;
}

}  // namespace fsr::bonnie
