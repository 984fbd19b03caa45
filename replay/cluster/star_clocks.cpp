// SPDX-License-Identifier: Apache-2.0
// Compares the clocks of the ranks.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cluster/star_cluster.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

constexpr unsigned kQuestions = 64;        // questions to each rank about its time, at most
constexpr int64_t kGoodError = 50'000;     // ns; an answer with this error ends the questions, as ranks start within milliseconds
constexpr int64_t kFairError = 1'000'000;  // ns; enough after kFewQuestions, because the network may not be faster
constexpr unsigned kFewQuestions = 16;
constexpr unsigned kAskedAtOnce = 16;  // ranks; enough to hide the time in which a rank wakes up
constexpr int64_t kAwake = 200'000;    // ns of polling before sleeping; several round trips between hosts

std::string number(int64_t value) {
  ByteWriter out;
  out.svarint(value);
  return std::string(out.view());
}

}  // namespace

// The questions that are on their way, by the root.
class StarCluster::ClockQuestions {
 public:
  explicit ClockQuestions(StarCluster& cluster) : cluster_(cluster), asked_(cluster.size()) {}

  // Asks further ranks. False: all have their offsets.
  bool ask_more() {
    for (; waiting_.size() < kAskedAtOnce && next_ < cluster_.size(); ++next_) {
      waiting_.push_back(next_);
      ask(next_);
    }
    return !waiting_.empty();
  }
  bool waits_for(unsigned rank) const { return std::ranges::find(waiting_, rank) != waiting_.end(); }
  const std::vector<unsigned>& waiting() const { return waiting_; }
  int64_t last_asked() const { return last_asked_; }
  int64_t asked_at(unsigned rank) const { return asked_[rank].at; }

  // `theirs`: the rank's time. `at`: when it arrived.
  void answered(unsigned rank, int64_t theirs, int64_t at) {
    Asked& of = asked_[rank];
    const int64_t error = (at - of.at + 1) / 2;
    if (error < of.best.error) of.best = {theirs - (of.at + error), error};
    const int64_t enough = ++of.questions < kFewQuestions ? kGoodError : kFairError;
    if (of.questions < kQuestions && of.best.error > enough) return ask(rank);
    cluster_.send(rank, kData, number(of.best.offset) + number(of.best.error));
    std::erase(waiting_, rank);
  }

 private:
  struct Asked {
    int64_t at = 0;
    unsigned questions = 0;
    ClockOffset best{0, INT64_MAX};
  };
  void ask(unsigned rank) {
    last_asked_ = asked_[rank].at = now();
    cluster_.send(rank, kData, "");
  }

  StarCluster& cluster_;
  std::vector<Asked> asked_;  // by rank
  std::vector<unsigned> waiting_;
  unsigned next_ = 1;
  int64_t last_asked_ = 0;
};

// Asks the other ranks for their times, and sends each the offset of its clock.
void StarCluster::ask_for_clocks() {
  ClockQuestions questions(*this);
  while (questions.ask_more()) {
    std::optional<Transport::Message> message = receive(now() - questions.last_asked() < kAwake ? 0 : heartbeat_interval());
    const int64_t at = now();
    if (!message) {
      sched_yield();  // to the ranks that are asked, if there are fewer processors
    } else {
      const unsigned from = message->from;
      take_in(std::move(*message));
      if (!inbox_[from].empty() && questions.waits_for(from)) {
        const std::string answer = std::move(inbox_[from].front());
        inbox_[from].pop_front();
        questions.answered(from, ByteReader(answer).svarint(), at);
      }
    }
    if (at - beaten_ >= heartbeat_interval()) send_heartbeat();
    for (const unsigned rank : questions.waiting()) check(rank, questions.asked_at(rank));
  }
}

ClockOffset StarCluster::compare_clocks() {
  if (root()) {
    try {
      ask_for_clocks();
    } catch (const LostRank& e) {
      report_lost(e);
      throw;
    }
    return {};
  }
  std::string from_root = next_of(0);
  while (from_root.empty()) {
    send(0, kData, number(now()));
    from_root = next_of(0, kAwake);
  }
  ByteReader in(from_root);
  ClockOffset own;
  own.offset = in.svarint();
  own.error = in.svarint();
  return own;
}

}  // namespace fsr
