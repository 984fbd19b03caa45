// SPDX-License-Identifier: Apache-2.0
// A connection with TLS 1.3 by GnuTLS; tls.hpp describes its set-up. Many records go through one system call, by buffers
// here. GnuTLS does not hand the keys to the kernel then. Its way to the kernel takes alerts for the end of the connection, and
// may send bytes twice.
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "nfs/nfs3.hpp"
#include "targets/rpc/null_call.hpp"
#include "targets/rpc/tls.hpp"
#include "targets/rpc/tls_credentials.hpp"
#include "targets/rpc/tls_problem.hpp"
#include "util/debug_log.hpp"

namespace fsr::rpc {

namespace {

constexpr size_t kRecord = 16 * 1024;         // plain bytes of a record, at most
constexpr size_t kReceive = 64 * 1024;        // bytes of one recv(2)
constexpr size_t kSendTogether = 256 * 1024;  // encrypted bytes that are collected before they are sent
constexpr unsigned kMostIdle = 64;            // records without data that are handled one after another

class TlsStream final : public wire::SecureStream {
 public:
  TlsStream(std::shared_ptr<Tls> tls, const nfs::Procedure& null, int socket)
      : tls_(std::move(tls)), null_(null), socket_(socket), xid_(std::random_device{}()) {
    call_ = null_call(xid_, null_, kAuthTlsFlavor);
  }
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  Progress set_up() override;
  void took_too_long() override { fail(TlsProblem(problem_)); }
  int error() const override { return problem_.error; }
  bool is_refused() const override { return problem_.is_refused; }
  const std::string& problem() const override { return problem_.line; }

  ssize_t send(std::span<const iovec> pieces) override;
  bool has_unsent() const override { return sent_ < out_.size(); }
  ssize_t receive(std::span<uint8_t> to) override;
  bool has_more() const override { return more_; }
  void rest() override;

 private:
  enum class Step { asks, waits_for_agreement, shakes_hands, calls, waits_for_answer, ready };

  void waits(const char* what) { problem_ = {what, ETIMEDOUT, false}; }
  Progress fail(const TlsProblem& problem);
  Progress fail_socket(int error);
  Progress fail_early() { return fail(tls_problem(session_, GNUTLS_E_PREMATURE_TERMINATION, tls_->settings)); }
  Progress receive_agreement();
  Progress begin_handshake();
  Progress shake_hands();
  Progress send_call();
  Progress receive_answer();

  bool flush();
  ssize_t broken(int error);
  ssize_t broken_by(int status);
  ssize_t pull(void* to, size_t size);
  ssize_t push(const giovec_t* pieces, int number);

  const std::shared_ptr<Tls> tls_;
  const nfs::Procedure null_;
  const int socket_;
  const uint32_t xid_;
  gnutls_session_t session_ = nullptr;
  Step step_ = Step::asks;
  TlsProblem problem_{"TLS: no answer", ETIMEDOUT, false};
  std::vector<uint8_t> call_, answer_;  // of the set-up
  size_t call_sent_ = 0;                // bytes of the request for TLS
  bool has_called_ = false;             // under TLS
  bool has_failed_ = false;

  std::vector<uint8_t> out_;  // encrypted, and sent as far as sent_
  size_t sent_ = 0;
  std::unique_ptr<uint8_t[]> in_;  // encrypted, from in_begin_ to in_end_; null: nothing
  size_t in_begin_ = 0, in_end_ = 0;
  bool is_dry_ = false;   // the socket had nothing at the last pull()
  bool is_gone_ = false;  // the server has ended the connection, perhaps within a record
  bool more_ = false;
  int broken_ = 0;          // errno; the stream is of no more use
  bool has_ended_ = false;  // the server has ended the stream
};

// --- set-up ---

// Counts the first problem of the stream, which may be the reason of others.
TlsStream::Progress TlsStream::fail(const TlsProblem& problem) {
  if (std::exchange(has_failed_, true)) return Progress::failed;
  problem_ = problem;
  ++tls_->counters.failed;
  tls_->counters.set_problem(problem.line);
  return Progress::failed;
}

TlsStream::Progress TlsStream::fail_socket(int error) {
  return fail({"TLS: the server closed the connection when asked for TLS; is this an NFS server, and does it offer TLS?",
               error ? error : ECONNRESET, false});
}

TlsStream::Progress TlsStream::set_up() {
  for (;;) {
    Progress progress = Progress::ready;
    switch (step_) {
      case Step::asks: {
        waits("TLS: no reply to the request for TLS; does the server offer it (RFC 9289)?");
        const ssize_t sent = ::send(socket_, call_.data() + call_sent_, call_.size() - call_sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) return Progress::wants_to_send;
        if (sent < 0 && errno != EINTR) return fail_socket(errno);
        if (sent > 0) call_sent_ += size_t(sent);
        if (call_sent_ == call_.size()) step_ = Step::waits_for_agreement;
        continue;
      }
      case Step::waits_for_agreement:
        progress = receive_agreement();
        break;
      case Step::shakes_hands:
        progress = shake_hands();
        break;
      case Step::calls:
        progress = send_call();
        break;
      case Step::waits_for_answer:
        progress = receive_answer();
        break;
      case Step::ready:
        return Progress::ready;
    }
    if (progress != Progress::ready) return progress;
  }
}

// Reads exactly the reply, because the rest belongs to TLS.
TlsStream::Progress TlsStream::receive_agreement() {
  NullAnswer found;
  while ((found = null_answer(answer_, xid_)) == NullAnswer::incomplete) {
    uint8_t bytes[kLongestNullAnswer];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return Progress::wants_to_receive;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail_socket(got < 0 ? errno : 0);
    answer_.insert(answer_.end(), bytes, bytes + got);
  }
  if (found == NullAnswer::starts_tls) return begin_handshake();
  if (found == NullAnswer::malformed)
    return fail({"TLS: the reply to the request for TLS is malformed; is this an NFS server?", EPROTO, false});
  if (found == NullAnswer::not_served)
    return fail({"TLS: the server has no version " + std::to_string(null_.version) + " of the RPC program " +
                     std::to_string(null_.program) + ", says its answer to the request for TLS; give another version=",
                 EPROTONOSUPPORT, false});
  const bool is_nfs = null_.program == nfs::kNfsProgram;
  return fail(
      {std::string("TLS: the server does not offer TLS (") +
           (found == NullAnswer::denied ? "it denied the request" : "no STARTTLS") + ", RFC 9289); enable it on the server, or " +
           (is_nfs ? "leave xprtsec= out" : "give version=4.1, which needs only NFS, or tls-mount=none for clear text here"),
       EPROTONOSUPPORT, false});
}

TlsStream::Progress TlsStream::begin_handshake() {
  const TlsSettings& s = tls_->settings;
  constexpr unsigned kFlags = GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS | GNUTLS_FORCE_CLIENT_CERT;
  static unsigned char protocol_name[] = "sunrpc";
  const gnutls_datum_t protocol = {protocol_name, sizeof protocol_name - 1};
  int status = gnutls_init(&session_, kFlags);
  if (status == 0) status = gnutls_priority_set(session_, tls_->credentials->priority());
  if (status == 0) status = gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, tls_->credentials->certificates());
  if (status == 0) status = gnutls_alpn_set_protocols(session_, &protocol, 1, 0);
  const bool is_address = s.name.find(':') != std::string::npos || s.name.find_first_not_of("0123456789.") == std::string::npos;
  if (status == 0 && !is_address) status = gnutls_server_name_set(session_, GNUTLS_NAME_DNS, s.name.data(), s.name.size());
  if (status < 0) return fail({"TLS: " + std::string(gnutls_strerror(status)), EPROTO, false});
  gnutls_session_set_ptr(session_, const_cast<TlsSettings*>(&s));
  if (s.verifies)
    gnutls_session_set_verify_function(session_, [](gnutls_session_t session) {
      const auto* settings = static_cast<const TlsSettings*>(gnutls_session_get_ptr(session));
      return certificate_faults(session, *settings) ? GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR : 0;
    });
  gnutls_handshake_set_timeout(session_, GNUTLS_INDEFINITE_TIMEOUT);  // the channel has its own
  gnutls_transport_set_ptr(session_, this);
  gnutls_transport_set_pull_function(session_, [](gnutls_transport_ptr_t stream, void* to, size_t size) {
    return static_cast<TlsStream*>(stream)->pull(to, size);
  });
  gnutls_transport_set_vec_push_function(session_, [](gnutls_transport_ptr_t stream, const giovec_t* pieces, int number) {
    return static_cast<TlsStream*>(stream)->push(pieces, number);
  });
  step_ = Step::shakes_hands;
  waits("TLS: the server does not go on with the handshake; see its log (on Linux, that of tlshd)");
  return Progress::ready;
}

TlsStream::Progress TlsStream::shake_hands() {
  for (;;) {
    const int status = gnutls_handshake(session_);
    const bool has_failed = status < 0 && gnutls_error_is_fatal(status);
    if (has_failed) gnutls_alert_send_appropriate(session_, status);  // so that the server's log has the reason
    flush();                                                          // if the connection is broken, what is received tells why
    if (has_failed) return fail(tls_problem(session_, status, tls_->settings));
    if (status == GNUTLS_E_SUCCESS) break;
    if (status == GNUTLS_E_AGAIN) return has_unsent() && !broken_ ? Progress::wants_to_send : Progress::wants_to_receive;
  }
  call_ = null_call(xid_, null_, kAuthNoneFlavor);
  answer_.clear();
  step_ = Step::calls;
  waits("TLS: no reply to the first call under TLS; see the server's log");
  return Progress::ready;
}

TlsStream::Progress TlsStream::send_call() {
  const iovec piece = {call_.data(), call_.size()};
  while (!has_called_ || has_unsent()) {
    const ssize_t taken = has_called_ ? send({}) : send({&piece, 1});
    if (taken < 0 && errno != EAGAIN) {
      broken_ = 0;  // an alert may have come that tells why
      break;
    }
    has_called_ |= taken > 0;
    if (taken < 0 || has_unsent()) return Progress::wants_to_send;
  }
  step_ = Step::waits_for_answer;
  return Progress::ready;
}

TlsStream::Progress TlsStream::receive_answer() {
  NullAnswer found;
  while ((found = null_answer(answer_, xid_)) == NullAnswer::incomplete) {
    uint8_t bytes[kLongestNullAnswer];
    const ssize_t got = receive(bytes);
    if (got < 0 && errno == EAGAIN) return Progress::wants_to_receive;
    if (got <= 0) return fail_early();
    answer_.insert(answer_.end(), bytes, bytes + got);
  }
  if (found == NullAnswer::malformed)
    return fail({"TLS: the first reply under TLS is malformed; is this an NFS server?", EPROTO, false});
  step_ = Step::ready;
  ++tls_->counters.connections;
  if (!tls_->settings.verifies) ++tls_->counters.unverified;
  if (logs(LogArea::wire, LogLevel::debug)) {
    char* description = gnutls_session_get_desc(session_);
    log_line(LogArea::wire, std::string("TLS ") + (description ? description : ""));
    gnutls_free(description);
  }
  std::vector<uint8_t>().swap(call_);
  std::vector<uint8_t>().swap(answer_);
  return Progress::ready;
}

// --- records ---

ssize_t TlsStream::push(const giovec_t* pieces, int number) {
  size_t size = 0;
  for (int i = 0; i < number; ++i) {
    const uint8_t* bytes = static_cast<const uint8_t*>(pieces[i].iov_base);
    out_.insert(out_.end(), bytes, bytes + pieces[i].iov_len);
    size += pieces[i].iov_len;
  }
  return ssize_t(size);
}

ssize_t TlsStream::pull(void* to, size_t size) {
  if (in_begin_ == in_end_) {
    if (!in_) in_ = std::make_unique_for_overwrite<uint8_t[]>(kReceive);
    const ssize_t got = recv(socket_, in_.get(), kReceive, MSG_DONTWAIT);
    if (got <= 0) {
      is_dry_ = got < 0 && errno == EAGAIN;
      is_gone_ = got == 0 || (errno != EAGAIN && errno != EINTR);
      if (got < 0) gnutls_transport_set_errno(session_, errno);
      return got;
    }
    in_begin_ = 0;
    in_end_ = size_t(got);
  }
  const size_t some = std::min(size, in_end_ - in_begin_);
  memcpy(to, in_.get() + in_begin_, some);
  in_begin_ += some;
  return ssize_t(some);
}

// Sends what is encrypted. False: the socket is full, or broken (errno).
bool TlsStream::flush() {
  while (has_unsent()) {
    const ssize_t sent = ::send(socket_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) broken_ = errno;
    if (sent < 0) return false;
    sent_ += size_t(sent);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

ssize_t TlsStream::broken(int error) {
  errno = broken_ = error;
  return -1;
}

// Ends the stream because of an error of GnuTLS. Returns -1 with errno.
ssize_t TlsStream::broken_by(int status) {
  const bool is_lost =
      is_gone_ || status == GNUTLS_E_PREMATURE_TERMINATION || status == GNUTLS_E_PULL_ERROR || status == GNUTLS_E_PUSH_ERROR;
  const bool is_alert = status == GNUTLS_E_FATAL_ALERT_RECEIVED;
  if (is_alert || step_ != Step::ready) fail(tls_problem(session_, status, tls_->settings));
  if (!is_lost && !is_alert) ++tls_->counters.damaged;
  return broken(is_lost || is_alert ? ECONNRESET : EBADMSG);
}

ssize_t TlsStream::send(std::span<const iovec> pieces) {
  if (broken_) return broken(broken_);
  if (!flush()) return -1;
  uint8_t joined[kRecord];
  size_t taken = 0, piece = 0, at = 0;  // the next byte is pieces[piece][at]
  while (piece < pieces.size() && out_.size() < kSendTogether) {
    const uint8_t* bytes = static_cast<const uint8_t*>(pieces[piece].iov_base) + at;
    size_t size = std::min(pieces[piece].iov_len - at, kRecord);
    if (size < kRecord && piece + 1 < pieces.size()) {  // small pieces share a record
      size = 0;
      for (size_t p = piece, from = at; p < pieces.size() && size < kRecord; ++p, from = 0) {
        const size_t some = std::min(pieces[p].iov_len - from, kRecord - size);
        memcpy(joined + size, static_cast<const uint8_t*>(pieces[p].iov_base) + from, some);
        size += some;
      }
      bytes = joined;
    }
    const ssize_t sent = gnutls_record_send(session_, bytes, size);
    if (sent == GNUTLS_E_INTERRUPTED) continue;
    if (sent < 0) return broken_by(int(sent));
    taken += size_t(sent);
    for (size_t left = size_t(sent); left > 0;) {
      const size_t some = std::min(left, pieces[piece].iov_len - at);
      left -= some;
      at += some;
      if (at == pieces[piece].iov_len) at = 0, ++piece;
    }
  }
  const bool all = flush();
  if (!all && broken_) return broken(broken_);
  if (taken > 0 || pieces.empty()) return ssize_t(taken);
  errno = EAGAIN;
  return -1;
}

ssize_t TlsStream::receive(std::span<uint8_t> to) {
  more_ = false;
  size_t got = 0;
  for (unsigned idle = 0; got < to.size() && !has_ended_ && !broken_;) {
    is_dry_ = false;
    const ssize_t some = gnutls_record_recv(session_, to.data() + got, to.size() - got);
    if (some > 0) {
      got += size_t(some);
    } else if (some == 0) {
      has_ended_ = true;
    } else if (!gnutls_error_is_fatal(int(some))) {  // a record without data, or nothing more
      const bool nothing = some == GNUTLS_E_AGAIN && is_dry_;
      if (nothing || ++idle > kMostIdle) {
        more_ = !nothing;
        break;
      }
    } else {
      broken_by(int(some));
    }
  }
  if (got > 0) {
    more_ |= got == to.size() || has_ended_ || broken_;
    return ssize_t(got);
  }
  if (has_ended_) return 0;
  if (broken_) return broken(broken_);
  errno = EAGAIN;
  return -1;
}

void TlsStream::rest() {
  if (in_begin_ == in_end_) in_.reset();
  if (!has_unsent()) std::vector<uint8_t>().swap(out_);
}

TlsStream::~TlsStream() {
  if (!session_) return;
  if (step_ == Step::ready && !broken_ && !has_unsent()) {
    gnutls_bye(session_, GNUTLS_SHUT_WR);
    flush();
  }
  gnutls_deinit(session_);
}

}  // namespace

std::unique_ptr<wire::SecureStream> begin_tls(std::shared_ptr<Tls> tls, const nfs::Procedure& null, int socket) {
  return std::make_unique<TlsStream>(std::move(tls), null, socket);
}

}  // namespace fsr::rpc
