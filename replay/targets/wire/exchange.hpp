// SPDX-License-Identifier: Apache-2.0
// One request on a channel and what becomes of it. Protocols derive from it, fill in the request and get exactly one call back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fsr::wire {

class Exchange {
 public:
  // The request as it goes on the wire: `head`, then `payload`, then `padding` zero bytes. Must stay in place until the call
  // back.
  std::vector<uint8_t> head;  // encoded by the protocol, framing included; capacity is kept for the next use
  std::string_view payload;   // sent from where it is
  uint8_t padding = 0;        // at most 7
  // May be sent again on a new connection when the old one broke before the reply: doing it twice does the same as once.
  bool idempotent = false;
  bool one_way = false;  // has no reply: replied() is called, with nothing, once it is sent
  int64_t until = 0;     // fails then at the latest (ns), or soon afterwards; 0: when the channel's timeout says
  // Bytes that the reply is looked at, from its beginning: of a long one the rest may not be there, but anything in its place.
  size_t wanted = SIZE_MAX;

  // The reply, valid during the call.
  virtual void replied(std::span<const uint8_t> message) = 0;
  // No reply will come: errno. ETIMEDOUT: the deadline passed. ECONNRESET: the connection broke and the request may have been
  // performed or not. Others: the server can't be reached, nothing was sent.
  virtual void failed(int error) = 0;

  uint32_t tag() const { return tag_; }
  unsigned sendings() const { return sendings_; }  // connections on which at least a byte of it was sent

 protected:
  Exchange() = default;
  ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  friend class Channel;
  friend class ExchangeList;
  friend class TagTable;
  size_t size() const { return head.size() + payload.size() + padding; }

  Exchange* previous_ = nullptr;
  Exchange* next_ = nullptr;
  int64_t deadline_ = 0;
  uint32_t tag_ = 0;
  uint8_t sendings_ = 0;
};

// Exchanges in the order in which they were sent. Does not own them.
class ExchangeList {
 public:
  Exchange* front() const { return first_; }
  Exchange* back() const { return last_; }
  bool empty() const { return !first_; }
  static Exchange* after(const Exchange* x) { return x->next_; }

  void push_back(Exchange* x) {
    x->previous_ = last_;
    x->next_ = nullptr;
    (last_ ? last_->next_ : first_) = x;
    last_ = x;
  }
  void remove(Exchange* x) {
    (x->previous_ ? x->previous_->next_ : first_) = x->next_;
    (x->next_ ? x->next_->previous_ : last_) = x->previous_;
    x->previous_ = x->next_ = nullptr;
  }

 private:
  Exchange* first_ = nullptr;
  Exchange* last_ = nullptr;
};

}  // namespace fsr::wire
