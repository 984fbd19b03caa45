// SPDX-License-Identifier: Apache-2.0
// Measures the work of the root for a growing number of ranks. Prints a line for each number.
//
// root_work merge SECONDS RANKS...: runs a mix on memory: at 20,000 calls a second for SECONDS, as one rank would. Then merges
// its intervals and its result with as many copies as there are other ranks.
//
// root_work hour SECONDS RANKS...: merges the same intervals for an hour. They arrive as from the first rank of each of eight
// hosts. Prints the memory of the root.
//
// root_work clocks FIRST NEXT RANKS...: compares the root's clock with those of ranks on a modelled network. A rank answers the
// first question after FIRST us, because it has to wake up. It answers further ones after NEXT us.
//
// root_work virtual PAUSE INTERVALS: to be started by mpirun. Each rank only sends an interval of a second every PAUSE ms, as a
// run would, and keeps nothing else. Prints how many ranks are in the merged intervals, and in the end what they lack, and
// memory.
//
// root_work messages BYTES RANKS...: forks ranks that only compare their clocks, meet, and send BYTES each to the root.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "cli/interval_exchange.hpp"
#include "cli/interval_merger.hpp"
#include "cli/rank_results.hpp"
#include "cluster/cluster.hpp"
#include "cluster/launcher_info.hpp"
#include "cluster/star_cluster.hpp"
#include "cycle/run_steps.hpp"
#include "engine/run_merge.hpp"
#include "inputs/mix/mix_input.hpp"
#include "report/report.hpp"
#include "trace/bytes.hpp"

using namespace fsr;

namespace {

struct Recorded {
  Report report;
  struct OfRun {
    Interval interval;
    SeriesInterval series;
    Tally counts;
  };
  std::vector<OfRun> intervals;  // without the last one, which is short
};

Recorded record(int64_t seconds) {
  const std::atomic<int> stop{0};
  Recorded recorded;
  MonotonicClock clock;
  const auto target = open_target("memory:", {.clock = &clock});
  MixOptions options;
  options.loads = {20'000};
  options.duration = seconds * 1'000'000'000;
  MixInput input(*built_in_mix("sfs97-v3"), options);
  RunSteps life(input, *target, clock, stop, recorded.report);
  input.next_round();
  life.read({}, {});
  if (!life.prepare({})) throw std::runtime_error("memory: could not be prepared");
  RunOptions run;
  run.progress = [&](const Progress& progress) { recorded.report.series.add(progress); };
  run.on_interval = [&](const Interval& interval) {
    const SeriesInterval& series = recorded.report.series.add(interval);
    if (!interval.last) recorded.intervals.push_back({interval, series, interval.counts});
  };
  life.run(run);
  return recorded;
}

// Processor time of this process, ns: other programs do not add to it.
int64_t cpu_time() {
  timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

double peak_memory() {  // MB
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_maxrss) / 1e3;
}

// Returns interval `number` of one rank, or of as many as stand for `ranks`, as it is sent.
std::string sent(const Recorded& recorded, unsigned number, const std::vector<unsigned>& ranks) {
  const Recorded::OfRun& of = recorded.intervals[number % recorded.intervals.size()];
  RankInterval all;
  for (const unsigned rank : ranks)
    all.merge(RankInterval(rank, {number + 1, of.interval.from, of.interval.to, of.counts, false}, of.series));
  return all.save();
}

void merge(int argc, char** argv) {
  const Recorded recorded = record(atoll(argv[2]));
  const unsigned count = unsigned(recorded.intervals.size());
  ByteWriter result;
  save_result(result, recorded.report.result);
  for (int i = 3; i < argc; ++i) {
    const unsigned ranks = unsigned(atoi(argv[i]));
    const std::vector<bool> awaited(ranks, true);
    IntervalMerger merger(ranks);
    RankInterval::MergedIntervals merged;
    uint64_t bytes = 0;
    int64_t took = 0;
    for (unsigned number = 0; number < count; ++number) {
      std::vector<std::string> texts;
      for (unsigned rank = 0; rank < ranks; ++rank) bytes += texts.emplace_back(sent(recorded, number, {rank})).size();
      const int64_t began = cpu_time();
      for (const std::string& text : texts) merger.add(RankInterval::load(text));
      merger.next(awaited, 200)->report_interval(merged, false, {});
      took += cpu_time() - began;
    }
    RunResult sum = recorded.report.result;
    const int64_t between = cpu_time();
    for (unsigned n = 1; n < ranks; ++n) {
      ByteReader in(result.view());
      merge_result(sum, load_result(in), recorded.report.options);
    }
    const double once = double(cpu_time() - between) / 1e6;
    printf("%5u ranks: each interval %.2f MB and %.2f ms, each result %.2f MB and %.2f ms\n", ranks, double(bytes) / count / 1e6,
           double(took) / 1e6 / count, double(result.size()) * (ranks - 1) / 1e6, once);
  }
}

void hour(int argc, char** argv) {
  constexpr unsigned kHosts = 8, kSeconds = 3600;
  const Recorded recorded = record(atoll(argv[2]));
  for (int i = 3; i < argc; ++i) {
    const unsigned ranks = unsigned(atoi(argv[i]));
    std::vector<std::vector<unsigned>> hosts(kHosts);
    for (unsigned rank = 0; rank < ranks; ++rank) hosts[rank % kHosts].push_back(rank);
    const std::vector<bool> awaited(ranks, true);
    IntervalMerger merger(ranks);
    RankInterval::MergedIntervals merged;
    uint64_t bytes = 0;
    int64_t took = 0;
    for (unsigned number = 0; number < kSeconds; ++number)
      for (const std::vector<unsigned>& host : hosts) {
        const std::string text = sent(recorded, number, host);
        bytes += text.size();
        const int64_t began = cpu_time();
        merger.add(RankInterval::load(text));
        if (const auto one = merger.next(awaited, 200)) one->report_interval(merged, false, {});
        took += cpu_time() - began;
      }
    printf("%5u ranks on %u hosts for %u s: each interval %.2f MB and %.2f ms, %zu intervals, the root's memory %.0f MB\n", ranks,
           kHosts, kSeconds, double(bytes) / kSeconds / 1e6, double(took) / 1e6 / kSeconds, merged.series.rows().size(),
           peak_memory());
  }
}

// The root's end of a network whose ranks answer questions after a fixed time, as if each had a processor of its own.
class ModelledNetwork final : public Transport {
 public:
  ModelledNetwork(unsigned ranks, int64_t first, int64_t next) : size_(ranks), first_(first), next_(next), asked_(ranks) {
    for (unsigned rank = 1; rank < ranks; ++rank) arriving_.push_back({0, rank, "dhost"});
  }
  unsigned rank() const override { return 0; }
  unsigned size() const override { return size_; }
  void send(unsigned to, std::string_view text) override {
    if (text != "d") return;
    ByteWriter time;
    time.svarint(clock_.now());
    arriving_.push_back({clock_.now() + (asked_[to]++ ? next_ : first_), to, "d" + std::string(time.view())});
  }
  bool offer(unsigned, std::string_view) override { return true; }
  bool idle(unsigned) const override { return true; }
  std::optional<Message> receive(int64_t timeout) override {
    for (const int64_t end = clock_.now() + timeout;;) {
      const int64_t now = clock_.now();
      for (auto one = arriving_.begin(); one != arriving_.end(); ++one) {
        if (one->at > now) continue;
        Message message{.from = one->from, .gone = false, .text = std::move(one->text)};
        arriving_.erase(one);
        return message;
      }
      if (now >= end) return std::nullopt;
    }
  }
  void give_up(unsigned) override {}
  uint64_t questions() const { return std::accumulate(asked_.begin(), asked_.end(), uint64_t(0)); }

 private:
  struct Arriving {
    int64_t at;
    unsigned from;
    std::string text;
  };
  MonotonicClock clock_;
  const unsigned size_;
  const int64_t first_, next_;  // ns
  std::vector<unsigned> asked_;
  std::deque<Arriving> arriving_;
};

void clocks(int argc, char** argv) {
  MonotonicClock clock;
  for (int i = 4; i < argc; ++i) {
    auto network = std::make_unique<ModelledNetwork>(unsigned(atoi(argv[i])), atoll(argv[2]) * 1000, atoll(argv[3]) * 1000);
    const ModelledNetwork& asked = *network;
    StarCluster root(std::move(network), 60'000'000'000);
    const int64_t began = clock.now();
    root.compare_clocks();
    printf("%5s ranks: clocks are compared in %.1f ms, with %.1f questions to each\n", argv[i], double(clock.now() - began) / 1e6,
           double(asked.questions()) / (root.size() - 1));
  }
}

int send_virtual(Cluster& cluster, const std::string& recorded, int64_t pause, unsigned intervals) {
  const Tally counts = Tally::load(cluster.broadcast(recorded));
  TimeSeries alone;
  const SeriesInterval series = alone.add({1, 0, 1'000'000'000, counts, false});
  uint64_t in_last = 0;
  IntervalExchange exchange(
      cluster, 1, 1'000'000'000, TimeSeries::Rows::all,
      [&](const Interval& interval, const SeriesInterval& merged) {
        if (std::exchange(in_last, *merged.ranks) == *merged.ranks && interval.number % 10 != 0) return;
        printf("interval %u: %llu ranks\n", interval.number, static_cast<unsigned long long>(in_last));
        fflush(stdout);
      },
      [](const std::string& what) { printf("%s\n", what.c_str()); });
  const ClockOffset own = cluster.compare_clocks();
  const int64_t start = common_start(cluster, own, 100'000'000);
  MonotonicClock clock;
  int64_t beaten = 0;
  for (unsigned i = 0; i < intervals; ++i) {
    for (int64_t now; (now = clock.now()) < start + (i + 1) * pause;) {
      // A run looks for messages five times in an interval of a second.
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(start + (i + 1) * pause - now, pause / 5)));
      exchange.move();
      if (now - beaten < cluster.heartbeat_interval()) continue;
      beaten = now;
      cluster.send_heartbeat();
    }
    exchange.add({i + 1, i * int64_t(1'000'000'000), (i + 1) * int64_t(1'000'000'000), counts, i + 1 == intervals}, series);
  }
  exchange.finish();
  ByteWriter memory;
  memory.varint(uint64_t(peak_memory() * 1000));
  const auto all = cluster.gather_left(memory.view());
  if (!cluster.root()) return 0;
  double most = 0;
  for (unsigned rank = 1; rank < cluster.size(); ++rank)
    if (all.by_rank[rank]) most = std::max(most, double(ByteReader(*all.by_rank[rank]).varint()) / 1e3);
  const IntervalGaps& gaps = exchange.gaps();
  printf("%sof %llu intervals %llu lack a rank, %llu parts came late; lost: %s\n", gaps.text(cluster.hosts()).c_str(),
         static_cast<unsigned long long>(gaps.intervals), static_cast<unsigned long long>(gaps.lacking),
         static_cast<unsigned long long>(gaps.late), all.lost.empty() ? "none" : all.lost.c_str());
  printf("memory: the root %.1f MB, another rank up to %.1f MB\n", peak_memory(), most);
  fflush(stdout);
  return 0;
}

void virtual_time(int argc, char** argv) {
  ClusterOptions options;
  options.timeout = 20'000'000'000;
  const int64_t pause = atoll(argv[2]) * 1'000'000;
  const std::string recorded = launch().rank == 0 ? record(2).intervals[0].counts.save() : "";
  on_ranks(options, "", [&](Cluster& cluster) { return send_virtual(cluster, recorded, pause, unsigned(atoi(argv[argc - 1]))); });
}

void messages(int argc, char** argv) {
  const std::string text(size_t(atoll(argv[2])), 'x');
  for (int i = 3; i < argc; ++i) {
    ClusterOptions options;
    options.ranks = unsigned(atoi(argv[i]));
    on_ranks(options, "", [&](Cluster& cluster) {
      MonotonicClock clock;
      cluster.barrier();
      int64_t times[4] = {clock.now()};
      cluster.compare_clocks();
      cluster.barrier();
      times[1] = clock.now();
      cluster.barrier();
      times[2] = clock.now();
      cluster.gather(text);
      times[3] = clock.now();
      if (!cluster.root()) _exit(0);
      auto ms = [&](int from) { return double(times[from + 1] - times[from]) / 1e6; };
      printf("%5s ranks: clocks are compared in %.1f ms, all meet in %.1f ms, send in %.1f ms\n", argv[i], ms(0), ms(1), ms(2));
      fflush(stdout);
      return 0;
    });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("expected merge, hour, clocks, messages or virtual, and its numbers");
  const std::map<std::string, void (*)(int, char**)> all = {
      {"merge", merge}, {"hour", hour}, {"clocks", clocks}, {"messages", messages}, {"virtual", virtual_time}};
  all.at(argv[1])(argc, argv);
  return 0;
} catch (const std::exception& e) {
  fprintf(stderr, "root_work: %s\n", e.what());
  return 2;
}
