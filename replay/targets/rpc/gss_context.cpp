// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/gss_context.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "targets/rpc/kdc_silence.hpp"
#include "targets/rpc/kerberos_problem.hpp"

namespace fsr::rpc {

namespace {

// Credentials of a keytab are in caches of this process, each of which two threads must not fill at a time.
std::mutex credentials_mutex;
std::mutex tables_mutex;  // of what follows; locked last, and never during a request to the KDC
// Number of the cache of each user, by Security::user. A cache whose ticket has expired is used no more. As long as it is used,
// the library hides why it can't get another ticket, and asks the KDC less often.
std::map<uint32_t, unsigned> expired_caches;
KdcSilence silence;
std::set<uint32_t> asked_apart;           // users for whom a thread of its own waits for the KDC, of an earlier run perhaps
constexpr int64_t kSlow = 1'000'000'000;  // ns; a KDC that replies takes less

gss_buffer_desc buffer(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
gss_buffer_desc buffer(std::span<const uint8_t> bytes) { return {bytes.size(), const_cast<uint8_t*>(bytes.data())}; }

// Memory that the library allocates.
struct Buffer {
  gss_buffer_desc memory = GSS_C_EMPTY_BUFFER;
  ~Buffer() {
    OM_uint32 minor;
    gss_release_buffer(&minor, &memory);
  }
  std::string_view view() const { return {static_cast<const char*>(memory.value), memory.length}; }
};

std::string text_of(OM_uint32 status, int type) {
  OM_uint32 minor, more = 0;
  Buffer text;
  if (gss_display_status(&minor, status, type, gss_mech_krb5, &more, &text.memory) != GSS_S_COMPLETE) return {};
  return std::string(text.view());
}

int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Returns the number of the user's cache. `more`: 1: after the present one has expired.
unsigned cache_of(uint32_t user, unsigned more) {
  std::lock_guard lock(tables_mutex);
  return expired_caches[user] += more;
}

}  // namespace

struct GssContext::Library {
  explicit Library(const Security& s) : security(s) {}
  ~Library() { clear(); }
  void clear() {
    OM_uint32 minor;
    gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    gss_release_name(&minor, &server);
    gss_release_cred(&minor, &credentials);
  }

  // `apart`: credentials_mutex is not locked, no other thread uses the user's cache, and the KDC is asked even if it was silent.
  std::string first_token(bool apart);
  std::string next_token(std::string_view from_server);

  [[noreturn]] void fail(OM_uint32 major, OM_uint32 minor) {
    const std::string text = minor ? text_of(minor, GSS_C_MECH_CODE) : text_of(major, GSS_C_GSS_CODE);
    throw kerberos_problem(int32_t(minor), text, security);
  }
  // Gets credentials and the server's name.
  void begin() {
    OM_uint32 minor, major;
    const std::string service = "nfs@" + security.host;
    gss_buffer_desc text = buffer(std::string_view(service));
    if ((major = gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &server))) fail(major, minor);
    if (security.keytab.empty() && security.principal.empty()) return;  // the default credentials
    gss_name_t user = GSS_C_NO_NAME;
    text = buffer(std::string_view(security.principal));
    if (text.length && (major = gss_import_name(&minor, &text, GSS_KRB5_NT_PRINCIPAL_NAME, &user))) fail(major, minor);
    const std::string cache = fmt::format("MEMORY:fsreplay.{}.{}.{}", getpid(), security.user, cache_of(security.user, 0));
    gss_key_value_element_desc elements[] = {{"ccache", cache.c_str()}, {"client_keytab", security.keytab.c_str()}};
    const gss_key_value_set_desc from = {cached_only ? 1u : 2u, elements};
    gss_OID_set_desc kerberos = {1, gss_mech_krb5};
    major = gss_acquire_cred_from(&minor, user, GSS_C_INDEFINITE, &kerberos, GSS_C_INITIATE,
                                  security.keytab.empty() ? nullptr : &from, &credentials, nullptr, nullptr);
    OM_uint32 ignored;
    gss_release_name(&ignored, &user);
    if (major) fail(major, minor);
  }

  const Security security;
  gss_ctx_id_t context = GSS_C_NO_CONTEXT;
  gss_name_t server = GSS_C_NO_NAME;
  gss_cred_id_t credentials = GSS_C_NO_CREDENTIAL;
  bool begun = false, established = false;
  int64_t begun_at = 0;       // ns: time of the first attempt
  bool fetched_anew = false;  // an expired ticket was left
  bool cached_only = false;   // the KDC is not asked for a newer ticket, as the library does at half of a ticket's time
  OM_uint32 lifetime = 0;
};

bool kerberos_built_in() { return true; }

GssContext::GssContext(const Security& security) : library_(std::make_unique<Library>(security)) {}
GssContext::~GssContext() = default;

std::string GssContext::next_token(std::string_view from_server) {
  std::lock_guard lock(credentials_mutex);
  return from_server.empty() ? library_->first_token(false) : library_->next_token(from_server);
}

void GssContext::fetch_ticket() { library_->first_token(true); }

std::string GssContext::Library::first_token(bool apart) {
  const std::string realm = security.realm();
  begun_at = now_ns();
  std::unique_lock lock(tables_mutex);
  cached_only = !apart && silence.holds(realm, begun_at);
  if (asked_apart.contains(security.user) || (cached_only && !silence.has_ticket(security.user, begun_at)))
    throw kerberos_problem(int32_t(KRB5_KDC_UNREACH), "", security);
  if (apart) asked_apart.insert(security.user);
  lock.unlock();
  try {
    const std::string token = next_token({});
    const int64_t now = now_ns();
    lock.lock();
    if (apart) asked_apart.erase(security.user);
    if (silence.got_ticket(security.user, now + int64_t(lifetime) * 1'000'000'000))
      silence.ended(realm);
    else if (!apart && now - begun_at > kSlow)  // the library has asked for a newer ticket in vain, which it does not tell
      silence.noticed(realm, begun_at, now);
    return token;
  } catch (const GssError& e) {
    lock.lock();
    if (apart)
      asked_apart.erase(security.user);
    else if (e.kdc_is_silent)
      silence.noticed(realm, begun_at, now_ns());
    throw;
  }
}

std::string GssContext::Library::next_token(std::string_view from_server) {
  if (!begun) begin();
  begun = true;
  gss_buffer_desc in = buffer(from_server);
  Buffer out;
  OM_uint32 minor;
  const OM_uint32 major = gss_init_sec_context(&minor, credentials, &context, server, gss_mech_krb5,
                                               GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG, GSS_C_INDEFINITE,
                                               GSS_C_NO_CHANNEL_BINDINGS, &in, nullptr, &out.memory, nullptr, &lifetime);
  const bool has_expired = GSS_ERROR(major) && int32_t(minor) == int32_t(KRB5KRB_AP_ERR_TKT_EXPIRED);
  // A KDC that has just been waited for in vain is not asked again.
  if (has_expired && from_server.empty() && now_ns() - begun_at > kSlow) fail(major, OM_uint32(KRB5_KDC_UNREACH));
  if (has_expired && !security.keytab.empty() && from_server.empty() && !std::exchange(fetched_anew, true)) {
    clear();
    cache_of(security.user, 1);
    begun = cached_only = false;
    return next_token({});
  }
  if (GSS_ERROR(major)) fail(major, minor);
  established = major == GSS_S_COMPLETE;
  if (established && lifetime == 0) throw kerberos_problem(int32_t(KRB5KRB_AP_ERR_TKT_EXPIRED), "", security);
  return std::string(out.view());
}

bool GssContext::established() const { return library_->established; }
uint32_t GssContext::lifetime() const { return library_->lifetime; }

bool GssContext::add_checksum(std::span<const uint8_t> bytes, std::vector<uint8_t>* to) const {
  gss_buffer_desc in = buffer(bytes);
  Buffer out;
  OM_uint32 minor;
  if (gss_get_mic(&minor, library_->context, GSS_C_QOP_DEFAULT, &in, &out.memory) != GSS_S_COMPLETE) return false;
  to->insert(to->end(), out.view().begin(), out.view().end());
  return true;
}

bool GssContext::checksum_holds(std::span<const uint8_t> bytes, std::string_view checksum) const {
  gss_buffer_desc in = buffer(bytes), mic = buffer(checksum);
  OM_uint32 minor;
  // The supplementary bits of old and repeated tokens do not matter, because RPCSEC_GSS counts requests itself.
  return !GSS_ERROR(gss_verify_mic(&minor, library_->context, &in, &mic, nullptr));
}

bool GssContext::add_encrypted(std::span<const std::span<const uint8_t>> pieces, std::vector<uint8_t>* to) const {
  gss_iov_buffer_desc parts[4] = {};
  parts[0].type = GSS_IOV_BUFFER_TYPE_HEADER;
  parts[1].type = GSS_IOV_BUFFER_TYPE_DATA;
  for (const auto& piece : pieces) parts[1].buffer.length += piece.size();
  parts[2].type = GSS_IOV_BUFFER_TYPE_PADDING;
  parts[3].type = GSS_IOV_BUFFER_TYPE_TRAILER;
  OM_uint32 minor;
  int encrypted = 1;
  if (gss_wrap_iov_length(&minor, library_->context, 1, GSS_C_QOP_DEFAULT, &encrypted, parts, 4) != GSS_S_COMPLETE) return false;
  const size_t begin = to->size();
  size_t size = begin;
  for (const gss_iov_buffer_desc& part : parts) size += part.buffer.length;
  to->resize(size);
  uint8_t* at = to->data() + begin;
  for (gss_iov_buffer_desc& part : parts) {
    part.buffer.value = at;
    at += part.buffer.length;
  }
  at = static_cast<uint8_t*>(parts[1].buffer.value);
  for (const auto& piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
  return gss_wrap_iov(&minor, library_->context, 1, GSS_C_QOP_DEFAULT, &encrypted, parts, 4) == GSS_S_COMPLETE && encrypted;
}

std::span<uint8_t> GssContext::decrypt(std::span<uint8_t> encrypted) const {
  gss_iov_buffer_desc parts[2] = {};
  parts[0].type = GSS_IOV_BUFFER_TYPE_STREAM;
  parts[0].buffer = buffer(std::span<const uint8_t>(encrypted));
  parts[1].type = GSS_IOV_BUFFER_TYPE_DATA;
  OM_uint32 minor;
  int was_encrypted = 0;
  const OM_uint32 major = gss_unwrap_iov(&minor, library_->context, &was_encrypted, nullptr, parts, 2);
  if (GSS_ERROR(major) || !was_encrypted) return {};
  return {static_cast<uint8_t*>(parts[1].buffer.value), parts[1].buffer.length};
}

}  // namespace fsr::rpc
