// SPDX-License-Identifier: Apache-2.0
#include "nfs4_compound.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "nfs/access.hpp"

namespace fsr::capture {

using nfs4::OpNum;
using nfs4::XdrDecoder;

namespace {

constexpr size_t kLongestTag = 1024;
constexpr uint32_t kMostOperations = 256;
constexpr std::string_view kDamaged = "damaged NFS calls or replies";

// True for a status after which the client sends the request again by itself.
bool to_be_repeated(uint32_t status) { return status == nfs4::kDelay || status == nfs4::kGrace; }

}  // namespace

void Nfs4Compound::run(XdrDecoder& results) {
  XdrDecoder asked({reinterpret_cast<const uint8_t*>(call_.arguments.data()), call_.arguments.size()});
  asked.opaque(kLongestTag);
  asked.u32();  // minor version
  const uint32_t count = asked.u32();
  results.u32();  // status of the last
  results.opaque(kLongestTag);
  const uint32_t answered = results.u32();
  if (!asked.ok() || !results.ok() || answered > count || count > kMostOperations)
    return sink_.note(ImportNotes::lost, kDamaged, 1);
  for (uint32_t i = 0; i < count; ++i) {
    if (!decode_arguments(asked, &asked_)) {
      sink_.note(ImportNotes::lost, "COMPOUNDs with damaged operations, or operations of pNFS or other extensions", 1);
      break;
    }
    if (keeps_state(asked_.number)) {
      sink_.note(ImportNotes::ignored, "COMPOUNDs that keep sessions, leases and state", 1);
      break;
    }
    if (i < answered && !failed_) {
      const uint32_t number = results.u32();
      failed_ = results.u32();
      reply_.clear();
      const bool known = asked_.number != kLookupParent && asked_.number != kPutPublicFh && asked_.number != kOpenConfirm &&
                         asked_.number != kOpenDowngrade;
      if (asked_.number == kOpenConfirm || asked_.number == kOpenDowngrade) results.skip(failed_ ? 0 : 16);
      if (!results.ok() || (number != asked_.number && number != nfs4::kIllegalOp) ||
          (!failed_ && known && !nfs4::decode_result(number, results, &reply_))) {
        sink_.note(ImportNotes::lost, kDamaged, 1);
        break;
      }
    } else if (!failed_) {
      break;
    }
    XdrDecoder ahead(asked);
    if (!step(i + 1 < count ? ahead.u32() : 0)) break;
  }
  finish();
}

bool Nfs4Compound::step(uint32_t next) {
  if (to_be_repeated(failed_)) {
    sink_.note(ImportNotes::ignored, "requests that the server asked to repeat later", 1);
    return false;
  }
  if (prepare(next)) return true;
  const OpNum number = OpNum(asked_.number);
  if (number == OpNum::sequence) {
    if (failed_) sink_.note(ImportNotes::ignored, "requests that the server refused because of the state of the session", 1);
    return !failed_;
  }
  const bool follows = number == OpNum::getfh || (number == OpNum::getattr && (done_ || pending_)) ||
                       (number == OpNum::access && (done_ || pending_));
  const bool truncates = number == OpNum::setattr && pending_ && opens_ && asked_.set.valid == kAttrSize && asked_.set.size == 0;
  if (follows || truncates) {
    if (truncates) op_.open_flags |= O_TRUNC;
    if (!failed_) more(number);
    return true;
  }
  if (number == OpNum::delegreturn) {
    if (!failed_) states_.forget(asked_.stateid);
    sink_.note(ImportNotes::ignored, "DELEGRETURNs", 1);
    return true;
  }
  finish();
  begin();
  if (!describe()) pending_ = false;
  return !failed_;
}

// Handles operations that select a file or verify its attributes. False: `next` is another operation.
bool Nfs4Compound::prepare(uint32_t next) {
  const bool checked = next == uint32_t(OpNum::verify) || next == uint32_t(OpNum::nverify);
  switch (asked_.number) {
    case kLookupParent:
      finish();
      current_ = kNoObject;  // which it is shows with GETFH
      return true;
    case kPutPublicFh:
    case uint32_t(OpNum::putrootfh):
      finish();
      current_ = kRootObject;
      root_ = true;
      return true;
    case kOpenConfirm:
    case kOpenDowngrade:
      sink_.note(ImportNotes::ignored, "OPEN_CONFIRMs and OPEN_DOWNGRADEs", 1);
      return true;
    case uint32_t(OpNum::putfh):
      finish();
      current_ = files_.object(asked_.handle);
      root_ = false;
      return true;
    case uint32_t(OpNum::savefh):
      place();
      saved_ = current_;
      return true;
    case uint32_t(OpNum::restorefh):
      place();
      current_ = saved_;
      return true;
    case uint32_t(OpNum::lookup):
      if (!checked) return false;
      finish();
      return true;
    case uint32_t(OpNum::verify):
    case uint32_t(OpNum::nverify):
      if ((asked_.set.mode & S_IFMT) == S_IFDIR)
        removes_ = asked_.number == uint32_t(OpNum::verify) ? OpKind::rmdir : OpKind::unlink;
      return true;
    default:
      return false;
  }
}

// Handles GETFH and GETATTR, whose results belong to the operation before them.
void Nfs4Compound::more(OpNum number) {
  switch (number) {
    case OpNum::getfh:
      if (finds_ != Finds::nothing) return resolve(reply_.handle.view());
      if (root_) files_.root(reply_.handle.view());
      current_ = files_.object(reply_.handle.view());
      return;
    case OpNum::getattr:
      if (!pending_ || !reply_.attr.valid || (finds_ == Finds::nothing && current_ != op_.object)) return;
      attr_ = reply_.attr;
      op_.attr = &attr_;
      return;
    case OpNum::access:
      return sink_.note(ImportNotes::ignored, "ACCESS as a part of another request", 1);
    default:
      return;
  }
}

// Gives the file that was found or created this handle; empty: the reply has no handle.
void Nfs4Compound::resolve(std::string_view handle) {
  const Finds finds = std::exchange(finds_, Finds::nothing);
  if (finds == Finds::nothing) return;
  const bool known = files_.named(parent_, name_) != kNoObject;
  current_ = finds == Finds::made ? files_.made(handle) : files_.found(handle, parent_, name_);
  op_.object = current_;
  root_ = false;
  if (op_.kind != OpKind::open || known) return;
  // An open by name shows that the name is there.
  Op lookup{.start = op_.start, .kind = OpKind::lookup, .op_flags = kOpInferred, .object = current_, .parent = parent_};
  lookup.name = name_;
  files_.add(call_.client, lookup);
}

void Nfs4Compound::place() {
  if (pending_) resolve({});
}

void Nfs4Compound::begin() {
  op_ = {.start = done_ ? end_ : call_.start};
  if (!done_) op_.duration = std::max<int64_t>(end_ - call_.start, 0);
  op_.uid = call_.uid;
  op_.gid = call_.gid;
  op_.error = nfs4::status_errno(failed_);
  op_.object = current_;
  pending_ = true;
  finds_ = Finds::nothing;
  opens_ = listing_ends_ = false;
}

HandleId Nfs4Compound::handle(const nfs4::Stateid& state) const {
  return states_.handle(state == nfs4::kCurrent ? state_ : state);
}

void Nfs4Compound::finish_open() {
  op_.handle = files_.new_handle();
  states_.opened(state_, op_.object, op_.handle);
}

void Nfs4Compound::finish() {
  if (!pending_) return;
  if (!op_.error) resolve({});
  pending_ = false;
  if (opens_ && !op_.error) finish_open();
  if (!op_.object && !op_.parent) return sink_.note(ImportNotes::lost, "operations on a file that no handle identifies", 1);
  ++done_;
  files_.add(call_.client, op_, listing_ends_);
}

}  // namespace fsr::capture
