// SPDX-License-Identifier: Apache-2.0
// Sends messages by MPI. No call waits within MPI, except at the start and the end, because MPI's waiting takes a whole processor
// from the workers. So messages are only started, and tested for completion between sleeps.
#include <mpi.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <vector>

#include "base/processors.hpp"
#include "cluster/mpi/module.hpp"

namespace fsr {

namespace {

using Clock_ = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kMessage = 1, kLeave = 2;  // tags of messages
// ns between tests. It grows while nothing arrives, so that a wait ends late by an eighth of its length. The longest one is for a
// host that has a processor for each of its ranks.
constexpr long kShortestSleep = 20'000, kLongestSleep = 500'000;
constexpr unsigned long kMostForProcessor = 40;      // ranks, of which longest_sleep() takes account
constexpr auto kGrace = std::chrono::seconds(10);    // for which a rank that is ending waits for the leave messages of others
constexpr auto kFarewell = std::chrono::seconds(1);  // for which a rank that is ending waits until its last messages are sent
constexpr auto kBetweenDrops = std::chrono::milliseconds(10);  // offers to all ranks should not test all messages each time
constexpr const char* kBroken = "broken";                      // text of a kLeave message: a rank is lost
constexpr size_t kCost = 64;                                   // bytes that a message in flight counts for beside its text
constexpr size_t kMostIncoming = 64;  // messages that are received side by side; large ones take several tests

// Returns the longest sleep of a rank. It grows with the ranks for each processor of this host. Otherwise the tests of many
// waiting ranks would take the time of the ranks that are asked. The launcher may bind each rank to some processors; the ranks of
// a host share those of the launcher.
long longest_sleep() {
  unsigned long ranks = 0;
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* value = getenv(variable)) ranks = std::max(ranks, strtoul(value, nullptr, 10));
  const unsigned long processors = usable_processors(getppid());
  return kLongestSleep * long(std::clamp((ranks + processors - 1) / processors, 1ul, kMostForProcessor));
}

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    prctl(PR_SET_TIMERSLACK, 1);  // the default ends each sleep 50 us late
    rank_ = unsigned(rank);
    size_ = unsigned(size);
    waiting_.resize(size_);
  }
  ~MpiTransport() override;

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return size_; }
  void send(unsigned to, std::string_view text) override {
    drop_sent();
    post(to, kMessage, text);
  }
  bool offer(unsigned to, std::string_view text) override;
  bool idle(unsigned to) const override { return waiting_[to] == 0; }
  std::optional<Message> receive(int64_t timeout) override;
  void give_up(unsigned rank) override {
    broken_ = true;
    left_.resize(size_);
    left_[rank] = true;
  }

 private:
  struct Outgoing {
    unsigned to;
    std::string text;
    MPI_Request request;
  };
  struct Incoming {
    Message message;
    int tag;
    MPI_Request request;
  };

  void post(unsigned to, int tag, std::string_view text);
  void sleep_after(nanoseconds waited, nanoseconds most) const;
  void drop_sent();
  bool begin_next();
  std::optional<Incoming> take_complete();
  void take_leave();
  bool all_left() const { return std::count(left_.begin(), left_.end(), true) == long(size_) - 1; }

  unsigned rank_ = 0, size_ = 1;
  const long longest_sleep_ = longest_sleep();
  std::list<Outgoing> outgoing_;
  std::vector<size_t> waiting_;   // bytes in outgoing_, by receiver
  std::list<Incoming> incoming_;  // in the order of arrival
  std::vector<bool> left_;        // ranks that have sent kLeave or were given up
  bool broken_ = false;
  Clock_::time_point dropped_;  // last call of drop_sent()
};

// Sleeps between two tests of a wait. `waited`: its length until now.
void MpiTransport::sleep_after(nanoseconds waited, nanoseconds most) const {
  const long pause = std::clamp<long>(waited.count() / 8, kShortestSleep, longest_sleep_);
  const timespec time = {.tv_sec = 0, .tv_nsec = std::min<long>(pause, most.count())};
  nanosleep(&time, nullptr);
}

void MpiTransport::drop_sent() {
  dropped_ = Clock_::now();
  outgoing_.remove_if([this](Outgoing& message) {
    int done = 0;
    if (MPI_Test(&message.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) return false;
    waiting_[message.to] -= message.text.size() + kCost;
    return true;
  });
}

void MpiTransport::post(unsigned to, int tag, std::string_view text) {
  Outgoing& message = outgoing_.emplace_back(Outgoing{to, std::string(text), MPI_REQUEST_NULL});
  if (MPI_Isend(message.text.data(), int(text.size()), MPI_BYTE, int(to), tag, MPI_COMM_WORLD, &message.request) == MPI_SUCCESS)
    waiting_[to] += text.size() + kCost;
  else
    outgoing_.pop_back();  // the rank is lost; it is noticed because nothing arrives from it
}

bool MpiTransport::offer(unsigned to, std::string_view text) {
  if (Clock_::now() - dropped_ >= kBetweenDrops) drop_sent();
  if (!has_room(waiting_[to], text.size() + kCost)) {
    if (waiting_[to] == 0) return false;
    drop_sent();  // messages before it may have been sent meanwhile
    if (!has_room(waiting_[to], text.size() + kCost)) return false;
  }
  post(to, kMessage, text);
  return true;
}

// Starts to receive the next message. False: none has arrived.
bool MpiTransport::begin_next() {
  int there = 0, length = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || !there) return false;
  MPI_Get_count(&status, MPI_BYTE, &length);
  Incoming& next = incoming_.emplace_back();
  next.message = {.from = unsigned(status.MPI_SOURCE), .gone = false, .text = std::string(size_t(length), 0)};
  next.tag = status.MPI_TAG;
  if (MPI_Irecv(next.message.text.data(), length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &next.request) ==
      MPI_SUCCESS)
    return true;
  incoming_.pop_back();
  return false;
}

// Returns the first message that has arrived completely. None: there is none. Messages of one rank stay in order.
std::optional<MpiTransport::Incoming> MpiTransport::take_complete() {
  std::vector<unsigned> incomplete;  // ranks whose later messages must wait
  for (auto next = incoming_.begin(); next != incoming_.end(); ++next) {
    const unsigned from = next->message.from;
    if (std::find(incomplete.begin(), incomplete.end(), from) != incomplete.end()) continue;
    int done = 0;
    if (MPI_Test(&next->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done) {
      Incoming complete = std::move(*next);
      incoming_.erase(next);
      return complete;
    }
    incomplete.push_back(from);
  }
  return std::nullopt;
}

std::optional<Transport::Message> MpiTransport::receive(int64_t timeout) {
  const Clock_::time_point begun = Clock_::now(), end = begun + nanoseconds(timeout);
  for (;;) {
    while (incoming_.size() < kMostIncoming && begin_next()) {
    }
    if (std::optional<Incoming> next = take_complete()) {
      if (next->tag == kMessage) return std::move(next->message);
      left_.resize(size_);
      left_[next->message.from] = true;
      broken_ = broken_ || next->message.text == kBroken;
      next->message.gone = true;
      return std::move(next->message);
    }
    drop_sent();  // now, so that it is not done for each of many messages that arrive
    const Clock_::time_point now = Clock_::now();
    if (now >= end) return std::nullopt;
    sleep_after(now - begun, end - now);
  }
}

// MPI_Finalize waits for all ranks and uses a processor meanwhile. So the root first waits for a kLeave message of each rank,
// then sends one to each; only then do ranks call MPI_Finalize. If a rank is lost, each rank ends with MPI_Abort instead. With
// the launcher's recovery, this leaves the other ranks alone.
MpiTransport::~MpiTransport() {
  left_.resize(size_);
  const Clock_::time_point end = Clock_::now() + kGrace;
  if (rank_ != 0) post(0, kLeave, "");
  while (Clock_::now() < end && !(rank_ == 0 ? all_left() : left_[0])) receive(kLongestSleep);
  broken_ = broken_ || !(rank_ == 0 ? all_left() : left_[0]);
  for (unsigned other = 1; rank_ == 0 && other < size_; ++other) post(other, kLeave, broken_ ? kBroken : "");
  const Clock_::time_point begun = Clock_::now();
  for (nanoseconds waited(0); waited < kFarewell && !outgoing_.empty(); waited = Clock_::now() - begun) {
    sleep_after(waited, kFarewell - waited);
    drop_sent();
  }
  fflush(nullptr);
  if (broken_) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
}

}  // namespace

Transport* fsr_open_transport(const char* version, std::string* why) {
  if (strcmp(version, FSR_VERSION) != 0) {
    *why = std::string("the module for this MPI has version " FSR_VERSION ", not ") + version + "; install one version of both";
    return nullptr;
  }
  int provided;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED) {
    *why = "this MPI does not support programs with threads (MPI_THREAD_FUNNELED)";
    return nullptr;
  }
  return new MpiTransport();
}

}  // namespace fsr
