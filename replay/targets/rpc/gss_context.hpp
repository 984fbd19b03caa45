// SPDX-License-Identifier: Apache-2.0
// A security context of RPCSEC_GSS (RFC 2203) with Kerberos 5 (RFC 4121), the client's side. Makes and checks tokens, checksums
// and encrypted data by libgssapi_krb5, and sends nothing itself. Used by one thread at a time; contexts of several threads are
// independent. The first token of a context may ask the KDC, and blocks meanwhile.
//
// Credentials come from the caller's cache (KRB5CCNAME). With a keytab, tickets are fetched, and renewed at half of their time,
// into memory of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "targets/rpc/security.hpp"
#include "targets/rpc/sequence_window.hpp"

namespace fsr::rpc {

// Why a context can't be made, in one line with a remedy.
struct GssError : std::runtime_error {
  GssError(const std::string& line, int e) : std::runtime_error(line), error(e) {}
  int error;                   // EKEYEXPIRED: there is no valid ticket; EKEYREJECTED: another reason
  bool kdc_is_silent = false;  // true: no KDC replied, so that a later attempt may succeed
};

// True: a request was not sent, or refused, for want of a context: the errno of a GssError.
constexpr bool lacks_context(int error) { return error == EKEYEXPIRED || error == EKEYREJECTED; }

bool kerberos_built_in();  // false: every context fails with a GssError that says so

class GssContext {
 public:
  explicit GssContext(const Security& security);
  ~GssContext();
  GssContext(const GssContext&) = delete;
  GssContext& operator=(const GssContext&) = delete;

  // Handles the server's token, which is empty the first time. Returns the next token for the server; empty: none is needed.
  // Throws GssError.
  std::string next_token(std::string_view from_server);
  // Gets the ticket for the first token, also if others have just waited for this KDC in vain. Other threads can make contexts
  // meanwhile, but none of the same user. Throws GssError.
  void fetch_ticket();
  bool established() const;
  uint32_t lifetime() const;  // seconds for which the context holds, counted from the last token

  // Appends the checksum of `bytes`. False: the context has expired.
  bool add_checksum(std::span<const uint8_t> bytes, std::vector<uint8_t>* to) const;
  bool checksum_holds(std::span<const uint8_t> bytes, std::string_view checksum) const;
  // Appends the bytes of all `pieces`, encrypted as one. False: the context has expired.
  bool add_encrypted(std::span<const std::span<const uint8_t>> pieces, std::vector<uint8_t>* to) const;
  // Decrypts in place. Returns the plain bytes, which are a part of `encrypted`; null data: they are not what the server sent.
  std::span<uint8_t> decrypt(std::span<uint8_t> encrypted) const;

  // Set by the owner:
  std::string handle;                // the server's name of this context
  SequenceWindow window;             // of the calls
  int64_t expires = 0, renewal = 0;  // ns; a new context is due from `renewal` on

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace fsr::rpc
