// SPDX-License-Identifier: Apache-2.0
// A request on a channel, and the call back with its reply or error. Protocols derive from it and fill in the request. Each
// exchange gets exactly one call back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fsr::wire {

class Exchange {
 public:
  // The request on the wire is `head`, then `payload`, then `padding` zero bytes. They must not move until the call back.
  std::vector<uint8_t> head;  // encoded by the protocol, including framing; its capacity is reused
  std::string_view payload;   // sent without a copy
  uint8_t padding = 0;        // bytes, at most 7
  // The request may be sent again on a new connection if the old one broke, because performing it twice has the same effect.
  bool idempotent = false;
  bool one_way = false;  // has no reply: replied() is called with an empty message after sending
  int64_t until = 0;     // deadline, ns; 0: the channel's timeout applies
  // Bytes of the reply that are needed. The channel may discard the rest of a long reply, and any bytes may be in its memory.
  size_t wanted = SIZE_MAX;

  // Called with the reply, which is valid during the call.
  virtual void replied(std::span<const uint8_t> message) = 0;
  // Called if no reply will come, with an errno. ETIMEDOUT: the deadline passed. ECONNRESET: the connection broke, and the server
  // may have performed the request. Others: the server can't be reached, and no byte was sent.
  virtual void failed(int error) = 0;

  // Called before the request is sent again on a new connection. May encode it anew.
  virtual void sent_again() {}

  uint32_t tag() const { return tag_; }
  // Number of connections on which at least a byte was sent.
  unsigned sendings() const { return unsigned(earlier_) + sendings_; }
  // Called for a request that is to be sent anew. `earlier`: sendings so far that the server may have performed.
  void begin_anew(unsigned earlier) {
    earlier_ = uint8_t(earlier);
    sendings_ = 0;
  }

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
  int64_t sent_ = 0;  // time of sending, for debug lines only
  uint32_t tag_ = 0;
  uint8_t sendings_ = 0;  // since the last Channel::send()
  uint8_t earlier_ = 0;   // sendings before the last Channel::send()
};

// A list of exchanges in the order of sending. Does not own them.
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
