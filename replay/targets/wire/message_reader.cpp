// SPDX-License-Identifier: Apache-2.0
#include "targets/wire/message_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "util/check.hpp"

namespace fsr::wire {

namespace {

constexpr size_t kFirstCapacity = 256 * 1024;
constexpr size_t kWorthReceiving =
    16 * 1024;  // bytes; with less room at the end of the buffer, its content is moved to the front

}  // namespace

MessageReader::MessageReader(const Protocol& protocol, size_t max_message) : protocol_(protocol), max_message_(max_message) {}

void MessageReader::reset() {
  message_begin_ = message_end_ = pos_ = end_ = 0;
  in_body_ = false;
}

void MessageReader::rest() {
  if (in_body_ || message_begin_ != message_end_ || pos_ != end_) return;
  reset();
  buffer_.reset();
  capacity_ = 0;
}

std::span<uint8_t> MessageReader::space() {
  size_t unread = end_ - pos_;
  size_t wanted = in_body_ ? size_t(piece_.body) - unread : kWorthReceiving;  // next() has checked it against the limit
  if (message_begin_ == message_end_ && unread == 0) message_begin_ = message_end_ = pos_ = end_ = 0;
  if (capacity_ - end_ < wanted) make_room(wanted);
  return {buffer_.get() + end_, capacity_ - end_};
}

void MessageReader::make_room(size_t bytes) {
  size_t message = message_end_ - message_begin_, unread = end_ - pos_;
  size_t needed = message + unread + bytes;
  uint8_t* from = buffer_.get();
  std::unique_ptr<uint8_t[]> larger;
  if (needed > capacity_) {
    capacity_ = needed + kFirstCapacity;
    larger = std::make_unique_for_overwrite<uint8_t[]>(capacity_);
  }
  uint8_t* to = larger ? larger.get() : from;
  if (message) memmove(to, from + message_begin_, message);
  if (unread) memmove(to + message, from + pos_, unread);
  if (larger) buffer_ = std::move(larger);
  message_begin_ = 0;
  message_end_ = pos_ = message;
  end_ = message + unread;
}

void MessageReader::received(size_t bytes) {
  FSR_CHECK(bytes <= capacity_ - end_, std::to_string(bytes) + " bytes in room for " + std::to_string(capacity_ - end_));
  end_ += bytes;
}

MessageReader::PartialMessage MessageReader::begun() const {
  if (!in_body_ || !piece_.last || message_end_ != pos_) return {};
  return {{buffer_.get() + message_begin_, end_ - message_begin_}, size_t(piece_.body) - (end_ - pos_)};
}

MessageReader::Next MessageReader::next(std::span<const uint8_t>* message) {
  for (;;) {
    if (!in_body_) {
      size_t head = protocol_.head_size();
      if (end_ - pos_ < head) return Next::incomplete;
      if (!protocol_.parse_head(buffer_.get() + pos_, &piece_)) return Next::malformed;
      size_t so_far = message_end_ - message_begin_;
      if (so_far == 0) message_begin_ = message_end_ = pos_;
      if (protocol_.keeps_head())
        message_end_ += head;
      else if (so_far == 0)
        message_begin_ = message_end_ = pos_ + head;
      if (piece_.body > max_message_ - std::min(so_far, max_message_)) return Next::malformed;
      pos_ += head;
      in_body_ = true;
    }
    if (end_ - pos_ < piece_.body) return Next::incomplete;
    size_t body = size_t(piece_.body);
    FSR_CHECK(message_begin_ <= message_end_ && message_end_ <= pos_ && body <= end_ - pos_, "the parts of a message overlap");
    if (message_end_ != pos_) memmove(buffer_.get() + message_end_, buffer_.get() + pos_, body);
    message_end_ += body;
    pos_ += body;
    in_body_ = false;
    if (!piece_.last) continue;
    *message = {buffer_.get() + message_begin_, message_end_ - message_begin_};
    message_begin_ = message_end_ = pos_;
    return Next::message;
  }
}

}  // namespace fsr::wire
