// SPDX-License-Identifier: Apache-2.0
// Tests what a mix says of lookups, reads and writes: they are counted in a trace, stored, and kept by the calls of a run.
#include "mix/traits.hpp"

#include <cerrno>
#include <cmath>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "catch.hpp"
#include "mix/mix.hpp"
#include "mix/nfsstat_writer.hpp"
#include "workloads/synthesizer.hpp"

namespace fsr::mix_traits_test {

namespace {

Op transfer(OpKind kind, HandleId handle, uint64_t offset, uint64_t moved) {
  Op op;
  op.kind = kind;
  op.object = 100 + handle;
  op.handle = handle;
  op.offset = offset;
  op.length = 8192;
  op.result = moved;
  return op;
}

double sum(const std::vector<SizeWeight>& sizes) {
  double all = 0;
  for (const SizeWeight& size : sizes) all += size.weight;
  return all;
}

double share_of(const std::vector<SizeWeight>& sizes, uint64_t bytes) {
  for (const SizeWeight& size : sizes)
    if (size.bytes == bytes) return size.weight / sum(sizes);
  return 0;
}

std::string with(const std::string& lines) {
  std::vector<uint64_t> calls(22, 10);
  return linux_nfsstat_text(3, calls) + lines;
}

std::string error_of(const std::string& lines) {
  try {
    read_mix({with(lines), "x"});
  } catch (const MixError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the traits of a trace have its failed lookups and its sequential transfers") {
  TraitCounts counts;
  Op lookup;
  lookup.kind = OpKind::lookup;
  for (int error : {0, ENOENT, ENOENT, EACCES}) {
    lookup.error = error;
    counts.add(lookup);
  }
  counts.add(transfer(OpKind::write, 1, 0, 4096));
  counts.add(transfer(OpKind::read, 1, 4096, 100));  // reads and writes share the position of an open file
  counts.add(transfer(OpKind::read, 1, 4196, 0));
  counts.add(transfer(OpKind::read, 2, 4196, 8192));  // another open file
  counts.add(transfer(OpKind::write, 1, 4196, 4096));
  Op release = transfer(OpKind::release, 1, 0, 0);
  counts.add(release);
  counts.add(transfer(OpKind::write, 1, 8292, 4096));  // opened again
  Op unfinished = transfer(OpKind::read, 2, 12388, 0);
  unfinished.op_flags = kOpUnfinished;
  counts.add(unfinished);
  const MixTraits traits = counts.traits();
  CHECK(traits.failed_lookups == 0.5);
  CHECK(traits.reads.sequential == Approx(2.0 / 3));
  CHECK(traits.writes.sequential == Approx(1.0 / 3));
  CHECK(share_of(traits.reads.sequential_sizes, 0) == 0.5);
  CHECK(share_of(traits.reads.sequential_sizes, 100) == 0.5);
  CHECK(share_of(traits.reads.sizes, 8192) == 1);
  CHECK(sum(traits.writes.sizes) == 2);
}

TEST_CASE("the reader gets back written traits, and other readers ignore them") {
  MixTraits traits{.failed_lookups = 0.333, .reads = {.sequential = 0.5}, .writes = {}};
  for (uint64_t bytes = 1; bytes < 100; ++bytes) traits.reads.sizes.push_back({bytes, double(1000 * bytes)});
  traits.reads.sequential_sizes = {{0, 1}, {kMostMixTransfer, 1e12}};
  const std::string text = with(traits_text(traits));
  const Mix mix = read_mix({text, "written"});
  CHECK(*mix.traits.failed_lookups == Approx(0.333));
  CHECK(mix.traits.reads.sequential == Approx(0.5));
  REQUIRE(mix.traits.reads.sizes.size() == 99);
  CHECK(mix.traits.reads.sizes[98].bytes == 99);
  CHECK(mix.traits.reads.sizes[98].weight == 99000);
  REQUIRE(mix.traits.reads.sequential_sizes.size() == 2);
  CHECK(mix.traits.reads.sequential_sizes[1].bytes == kMostMixTransfer);
  CHECK(!mix.traits.writes.known());
  CHECK(mix.calls == 220);
  const Mix compat = read_mix({text, "written"}, {.compat = true});
  CHECK(!compat.traits.failed_lookups);
  CHECK(!compat.traits.reads.known());
}

TEST_CASE("damaged traits are refused with their line") {
  for (const char* bad :
       {"lookup", "lookup failed", "lookup failed 101 %", "lookup failed -1 %", "lookup failed nan %", "lookup failed 3",
        "getattr failed 3 %", "read", "read sequential x %", "write sizes", "write sizes random 1:1", "write sizes other",
        "write sizes other 1", "write sizes other 1:0", "write sizes other 1:-4", "write sizes other 1:inf",
        "write sizes other 1048577:1", "write sizes other 4096:1 x:2"}) {
    INFO(bad);
    CHECK(error_of(std::string("# fsreplay: ") + bad + "\n").find("bad mix format: ") != std::string::npos);
  }
  CHECK(error_of("# fsreplay: read sequential 5 %\n") == "x: bad mix format: 'read sequential' without 'read sizes'");
  CHECK(error_of("# a comment of somebody else\n").empty());
}

TEST_CASE("the calls of a mix keep its traits") {
  MonotonicClock clock;
  const std::vector<SizeWeight> one = {{4096, 1}}, ends = {{0, 3}, {8192, 1}}, many = {{1, 1}, {704, 5}, {4096, 9}, {131072, 2}},
                                only_ends = {{0, 1}};
  struct Case {
    double failed;
    TransferTraits reads, writes;
  };
  const Case cases[] = {
      {0, {0, one, one}, {1, many, many}},          {0.37, {0.46, many, ends}, {0.2, ends, {{1048576, 1}}}},
      {1, {0.97, one, many}, {0.04, many, many}},   {0.5, {0.5, only_ends, one}, {0.9, {{262144, 1}}, one}},
      {0.01, {0.3, ends, ends}, {0.999, many, {}}},
  };
  for (const unsigned streams : {1u, 8u})
    for (size_t n = 0; n < std::size(cases); ++n) {
      INFO("case " << n << ", " << streams << " streams");
      const auto& [failed, reads, writes] = cases[n];
      Mix mix = make_mix(3, {{"lookup", 20}, {"read", 40}, {"write", 40}}, "test");
      mix.traits = {.failed_lookups = failed, .reads = reads, .writes = writes};
      for (SizeWeight& size : mix.traits.writes.sequential_sizes) size.bytes = std::max<uint64_t>(1, size.bytes);
      for (SizeWeight& size : mix.traits.writes.sizes) size.bytes = std::max<uint64_t>(1, size.bytes);
      auto target = open_target("memory:", {.clock = &clock});
      const MixPlan plan = plan_mix(mix, *target);
      const auto sizes = size_model("sfs");
      WorkingSetOptions options;
      for (unsigned i = 0; i < streams; ++i) options.numbers.push_back(i);
      const WorkingSet set(options, plan, *sizes);
      Synthesizer source({.arrival = Arrival::deterministic, .calls = 5000, .duration = 5000, .seed = 7}, plan, set, *sizes);
      TraitCounts counts;
      OpBatch batch;
      uint64_t beyond = 0;
      while (source.next(batch))
        for (const Op& op : batch.ops) {
          counts.add(op);
          for (const StreamFiles& s : set.directories())
            for (const WorkingFile& f : s.files) beyond += f.object == op.object && op.result && op.offset + op.result > f.size;
        }
      CHECK(beyond == 0);
      CHECK(std::abs(counts.lookup_share() - failed) < 0.02);
      const MixTraits got = counts.traits();
      for (const auto& [asked, kept] : {std::pair(&mix.traits.reads, &got.reads), std::pair(&mix.traits.writes, &got.writes)}) {
        CHECK(std::abs(kept->sequential - asked->sequential) < 0.02);
        const double all = sum(kept->sizes) + sum(kept->sequential_sizes);
        for (const auto& [a, k] :
             {std::pair(&asked->sizes, &kept->sizes), std::pair(&asked->sequential_sizes, &kept->sequential_sizes)})
          for (const SizeWeight& size : *a) {
            INFO(size.bytes);
            if (sum(*k) > 0) CHECK(std::abs(share_of(*a, size.bytes) - share_of(*k, size.bytes)) * sum(*k) / all < 0.02);
          }
      }
    }
}

}  // namespace fsr::mix_traits_test
