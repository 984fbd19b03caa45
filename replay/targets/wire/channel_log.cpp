// SPDX-License-Identifier: Apache-2.0
// The debug lines of a channel: "12:00:00.000123 wire 7 > #3f2a READ 120 B", then "wire 7 < #3f2a READ 4216 B 0.212 ms ok". 7 is
// the socket, #3f2a the tag (xid) in hexadecimal.
#include <fmt/format.h>

#include <cstring>

#include "base/clock.hpp"
#include "targets/wire/channel.hpp"
#include "util/debug_log.hpp"

namespace fsr::wire {

void Channel::log_sent(Exchange& x) const {
  x.sent_ = clock_.now();
  log_line(LogArea::wire, fmt::format("{} > #{:x} {} {} B{}", socket_, x.tag(), protocol_.request_name(x.head), x.size(),
                                      x.sendings_ > 1 ? ", sent again" : ""));
}

void Channel::log_reply(const Exchange& x, std::span<const uint8_t> message) const {
  const std::string time = x.sent_ ? fmt::format("{:.3f} ms", double(clock_.now() - x.sent_) / 1e6) : "no time";
  log_line(LogArea::wire, fmt::format("{} < #{:x} {} {} B {} {}", socket_, x.tag(), protocol_.request_name(x.head),
                                      message.size(), time, protocol_.reply_status(x.head, message)));
}

void Channel::log_failed(const Exchange& x, int error) const {
  if (!logs(LogArea::wire, LogLevel::info)) return;
  log_line(LogArea::wire, fmt::format("{} ! #{:x} {} {}", socket_, x.tag(), protocol_.request_name(x.head), strerror(error)));
}

void Channel::log_connection(const char* what, int error) const {
  if (!logs(LogArea::wire, LogLevel::info)) return;
  log_line(LogArea::wire,
           fmt::format("{} {}{}{}, connection {}", socket_, what, error ? ": " : "", error ? strerror(error) : "", connections_));
}

}  // namespace fsr::wire
