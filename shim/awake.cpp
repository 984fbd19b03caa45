// SPDX-License-Identifier: Apache-2.0
#include "awake.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture_error.hpp"

namespace fsr::shim {

namespace {

constexpr const char* kDevice = "/dev/cpu_dma_latency";
// us in which a processor must be awake; the second is PM_QOS_DEFAULT_VALUE of include/linux/pm_qos.h, which asks for nothing.
constexpr int32_t kAtOnce = 0, kWhenever = -1;
constexpr int64_t kShortest = 50'000'000;  // ns over which a rate is measured, at least

}  // namespace

LatencyRequest::LatencyRequest() : device_(open(kDevice, O_WRONLY | O_CLOEXEC)) {}

bool LatencyRequest::set(bool awake) {
  const int32_t latency = awake ? kAtOnce : kWhenever;
  return write(device_.get(), &latency, sizeof latency) == ssize_t(sizeof latency);
}

Awake::Awake() {
  if (!request_.possible())
    throw CaptureError(std::string("--awake: ") + kDevice + ": " + std::strerror(errno) +
                       (errno == EACCES || errno == EPERM ? "; run as root, or leave --awake out" : "; leave --awake out"));
}

void Awake::look(uint64_t requests, int64_t now) {
  if (looked_at_ < 0) {
    looked_at_ = now;
    requests_then_ = requests;
    return;
  }
  const int64_t span = now - looked_at_;
  if (span < kShortest) return;
  // A full disk takes back some of what was counted.
  const uint64_t came = std::max(requests, requests_then_) - requests_then_;
  if (double(came) * 1e9 > double(kManyRequests) * double(span)) busy_at_ = now;
  const bool busy = busy_at_ != 0 && now - busy_at_ < kQuiet;
  looked_at_ = now;
  requests_then_ = requests;
  if (busy == awake_ || !request_.set(busy)) return;
  awake_ = busy;
  if (awake_)
    since_ = now;
  else
    total_ += now - since_;
}

}  // namespace fsr::shim
