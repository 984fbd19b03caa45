// SPDX-License-Identifier: Apache-2.0
#include "records.hpp"

namespace fsr::capture {

namespace {

constexpr size_t kLongestMessage = 4 << 20;
constexpr size_t kMark = 4;
constexpr size_t kPlausibleHead = kMark + NfsCalls::kPlausible;  // bytes that tell a message
constexpr uint32_t kLastFragment = 0x80000000;

uint32_t mark_at(std::string_view bytes, size_t at) {
  return nfs::XdrDecoder({reinterpret_cast<const uint8_t*>(bytes.data()) + at, kMark}).u32();
}

}  // namespace

void Records::pass(size_t bytes) {
  if (!ever_)
    passed_ += bytes;
  else if (bytes)
    sink_.note(ImportNotes::lost, "bytes of NFS connections that were passed over to find the next message", bytes);
}

// Passes over bytes up to the next message. False: the buffer has none, and keeps only bytes that may be the beginning of one.
bool Records::find_step() {
  const std::string_view bytes = buffer_;
  size_t at = 0;
  for (; bytes.size() - at >= kPlausibleHead; ++at) {
    const size_t size = mark_at(bytes, at) & ~kLastFragment;
    if (size >= NfsCalls::kPlausible && size <= kLongestMessage && calls_.plausible(flow_, bytes.substr(at + kMark))) {
      in_step_ = ever_ = true;
      begin_ = time_;
      break;
    }
  }
  pass(at);
  if (in_step_) pass(std::exchange(passed_, 0));
  buffer_.erase(0, at);
  return in_step_;
}

// Takes the complete messages out of the buffer.
bool Records::take() {
  size_t at = 0;
  bool good = true;
  while (buffer_.size() - at >= kMark) {
    const uint32_t mark = mark_at(buffer_, at);
    const size_t size = mark & ~kLastFragment;
    if (size > kLongestMessage || message_.size() + size > kLongestMessage) {
      good = false;
      break;
    }
    if (buffer_.size() - at < kMark + size) break;
    message_ += std::string_view(buffer_).substr(at + kMark, size);
    at += kMark + size;
    if (!(mark & kLastFragment)) continue;
    calls_.message(flow_, begin_, time_, message_);
    message_.clear();
    begin_ = time_;
  }
  buffer_.erase(0, at);
  return good;
}

bool Records::is_nfs_port() const {
  constexpr std::string_view kPort = "\x08\x01";  // 2049
  return flow_.from.ends_with(kPort) || flow_.to.ends_with(kPort);
}

// Takes the bytes if they are TLS. False: they are not, or may be anything.
bool Records::take_tls(std::string_view fresh, bool gap) {
  if (!agreed_ && calls_.agreed_to_tls(flow_)) {
    agreed_ = true;
    in_step_ = false;
  }
  if (!agreed_ && (ever_ || !is_nfs_port())) return false;
  tls_.bytes(fresh, gap);
  return tls_.in_step() && has_tls();
}

void Records::bytes(int64_t time, std::string_view fresh, bool gap) {
  time_ = time;
  if (take_tls(fresh, gap)) return;
  if (gap) {
    if (in_step_ && !(buffer_.empty() && message_.empty()))
      sink_.note(ImportNotes::lost, "RPC messages with bytes that were lost", 1);
    if (!in_step_) pass(buffer_.size());
    in_step_ = false;
    buffer_.clear();
    message_.clear();
  }
  if (buffer_.empty() && message_.empty()) begin_ = time;
  buffer_ += fresh;
  while (in_step_ || find_step()) {
    const bool good = take();
    if (good && !agreed_ && take_tls(buffer_, false)) return buffer_.clear();
    if (good) return;
    sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
    in_step_ = false;
    message_.clear();
    begin_ = time;
    pass(1);
    buffer_.erase(0, 1);
  }
}

void Records::finish() {
  if (tls_.records() && has_tls()) {
    sink_.note(ImportNotes::lost, "TLS records of NFS connections, which have calls that can't be seen", tls_.records());
    passed_ = 0;
    if (!in_step_) buffer_.clear();
  }
  if (!in_step_)
    pass(buffer_.size());
  else if (!buffer_.empty() || !message_.empty())
    sink_.note(ImportNotes::lost, "RPC messages whose end was not captured", 1);
  if (passed_) sink_.note(ImportNotes::ignored, "bytes of TCP connections without NFS", passed_);
}

}  // namespace fsr::capture
