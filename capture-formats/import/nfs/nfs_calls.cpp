// SPDX-License-Identifier: Apache-2.0
#include "nfs_calls.hpp"

#include <utility>

#include "nfs4_compound.hpp"

namespace fsr::capture {

using nfs::XdrDecoder;
using Form = PendingCall::Form;

namespace {

constexpr uint32_t kCall = 0, kReply = 1, kRpcVersion = 2, kMountProgram = 100005, kMountProcedure = 1;
constexpr uint32_t kAuthSys = 1, kGss = 6, kAuthTls = 7;              // flavors
constexpr uint32_t kGssData = 0, kGssIntegrity = 2, kGssPrivacy = 3;  // RFC 2203: a procedure; services
constexpr size_t kLongestAuth = 400, kLongestBody = 4 << 20;
constexpr std::string_view kStartTls = "STARTTLS";

// Goes to the arguments or results within a body with a checksum, behind its sequence number. *whole: what `in` reads. False: the
// body is damaged.
bool open_body(XdrDecoder* in, std::string_view* whole) {
  *whole = in->opaque(kLongestBody);
  const bool ok = in->ok();
  *in = XdrDecoder(span_of(*whole));
  in->u32();
  return ok && in->ok();
}

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
  if (c.program != nfs::kNfsProgram && !mount && flavor != kAuthTls)
    return sink_.note(ImportNotes::ignored, "RPC calls of other programs", 1);
  if (flavor == kAuthSys) {
    XdrDecoder who(span_of(credential));
    who.u32();
    who.opaque(255);
    c.uid = who.u32();
    c.gid = who.u32();
  }
  if (flavor == kAuthTls) c.form = Form::asks_for_tls;
  if (flavor == kGss) {
    XdrDecoder context(span_of(credential));
    context.u32();  // version
    const uint32_t purpose = context.u32();
    context.u32();  // sequence number
    const uint32_t service = context.u32();
    if (!context.ok()) return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
    if (purpose != kGssData) {
      c.form = Form::counted;
      sink_.note(ImportNotes::ignored, "calls that make or end a security context of Kerberos", 1);
    } else if (service == kGssPrivacy) {
      c.form = Form::counted;
      sink_.note(ImportNotes::lost, "calls that Kerberos has encrypted (sec=krb5p)", 1);
    } else {
      sink_.note(ImportNotes::changed, "calls with Kerberos, whose user is not in the input (taken for root)", 1);
      if (service == kGssIntegrity) c.form = Form::with_checksum;
      if (service == kGssIntegrity && !open_body(&in, &bytes)) return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
    }
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
  if (call.form == Form::counted) return;
  if (call.form == Form::asks_for_tls) {
    XdrDecoder head(span_of(bytes));
    head.skip(4 * 4);  // xid, type, accepted, flavor
    if (head.opaque(kLongestAuth) == kStartTls) with_tls_.insert({flow, flow.reverse()});
    return sink_.note(ImportNotes::ignored, "NULL calls", 1);
  }
  const nfs::RpcStatus status = nfs::decode_reply_head(in);
  if (status != nfs::RpcStatus::success) return sink_.note(ImportNotes::lost, "calls that RPC refused", 1);
  if (call.form == Form::with_checksum && !open_body(&in, &bytes))
    return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
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
