// SPDX-License-Identifier: Apache-2.0
#include "nfs_calls.hpp"

#include <utility>

#include "nfs4_compound.hpp"

namespace fsr::capture {

using nfs::XdrDecoder;

namespace {

constexpr uint32_t kCall = 0, kReply = 1, kRpcVersion = 2, kMountProgram = 100005, kMountProcedure = 1, kAuthSys = 1;
constexpr size_t kLongestAuth = 400;

}  // namespace

bool NfsCalls::plausible(const FlowKey& flow, std::string_view bytes) const {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = in.u32(), type = in.u32();
  if (type == kCall) {
    const uint32_t rpc = in.u32(), program = in.u32(), version = in.u32(), procedure = in.u32();
    return in.ok() && rpc == kRpcVersion && (program == nfs::kNfsProgram || program == kMountProgram) && version <= nfs4::kNfs4 &&
           procedure < nfs::kProcs;
  }
  const uint32_t accepted = in.u32();
  return in.ok() && type == kReply && accepted <= 1 && pending_.contains(flow.reverse(), xid);
}

void NfsCalls::message(const FlowKey& flow, int64_t begin, int64_t end, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  in.u32();
  const uint32_t type = in.u32();
  if (!in.ok() || type > kReply) return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
  if (type == kCall)
    call(flow, begin, bytes);
  else
    reply(flow, end, bytes);
  pending_.passed(begin);
}

void NfsCalls::call(const FlowKey& flow, int64_t time, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = in.u32();
  in.u32();
  PendingCall c{.start = time};
  const uint32_t rpc = in.u32();
  c.program = in.u32();
  c.version = in.u32();
  c.procedure = in.u32();
  const uint32_t flavor = in.u32();
  const std::string_view credential = in.opaque(kLongestAuth);
  in.u32();
  in.opaque(kLongestAuth);
  if (!in.ok() || rpc != kRpcVersion) return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
  const bool mount = c.program == kMountProgram && c.version == 3 && c.procedure == kMountProcedure;
  if (c.program == nfs::kNfsProgram && c.version != nfs::kNfs3 && c.version != nfs4::kNfs4)
    return sink_.note(ImportNotes::lost, "calls of NFS version 2", 1);
  if (c.program != nfs::kNfsProgram && !mount) return sink_.note(ImportNotes::ignored, "RPC calls of other programs", 1);
  if (flavor == kAuthSys) {
    XdrDecoder who(span_of(credential));
    who.u32();
    who.opaque(255);
    c.uid = who.u32();
    c.gid = who.u32();
  }
  c.arguments = bytes.substr(bytes.size() - in.left());
  pending_.add(flow, xid, std::move(c));
}

void NfsCalls::reply(const FlowKey& flow, int64_t time, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = XdrDecoder(span_of(bytes)).u32();
  PendingCall call;
  if (!pending_.take(flow.reverse(), xid, &call))
    return sink_.note(ImportNotes::ignored, "replies whose call was not captured, or belongs to another RPC program", 1);
  const nfs::RpcStatus status = nfs::decode_reply_head(in);
  if (status != nfs::RpcStatus::success) return sink_.note(ImportNotes::lost, "calls that RPC refused", 1);
  if (call.program == kMountProgram)
    mounted(in);
  else if (call.version == nfs4::kNfs4)
    compound(call, time, in);
  else
    nfs3_.add(call, time, in);
}

void NfsCalls::compound(const PendingCall& call, int64_t end, XdrDecoder& in) {
  if (call.procedure != nfs4::kCompoundProc) return sink_.note(ImportNotes::ignored, "NULL calls", 1);
  Nfs4Compound(sink_, files_, nfs4_, reply4_, call, end).run(in);
}

// The handle that MOUNT returned is that of the root.
void NfsCalls::mounted(XdrDecoder& in) {
  nfs::FileHandle handle;
  if (in.u32() != 0 || !nfs::decode_handle(in, &handle)) return;
  files_.root(handle.view());
  sink_.note(ImportNotes::ignored, "mounts", 1);
}

void NfsCalls::finish() {
  pending_.finish();
  nfs4_.each_open([&](ObjectId object, HandleId handle) { files_.end_open(object, handle); });
  files_.finish();
}

}  // namespace fsr::capture
