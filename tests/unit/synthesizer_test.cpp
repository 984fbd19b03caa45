// SPDX-License-Identifier: Apache-2.0
// Tests synthesized loads: the calls that a mix results in, on a target in memory and without a clock.
#include "workloads/synthesizer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/clock.hpp"
#include "catch.hpp"
#include "engine/prepare.hpp"
#include "engine/verify.hpp"
#include "inputs/mix/mix_options.hpp"
#include "mix/op_procedures.hpp"
#include "mix/procedures.hpp"
#include "targets/blocking_session.hpp"
#include "util/object_set.hpp"
#include "workloads/mix_result.hpp"
#include "workloads/steering.hpp"
#include "workloads/wire_rows.hpp"

namespace fsr::synthesizer_test {

namespace {

struct Load {
  MonotonicClock real;
  std::unique_ptr<Target> target;
  MixPlan plan;
  std::shared_ptr<const SizeModel> sizes;
  std::unique_ptr<WorkingSet> set;

  explicit Load(const Mix& mix, unsigned streams = 8, const char* model = "nhfsstone", const char* where = "memory:")
      : target(open_target(where, {.clock = &real})), plan(plan_mix(mix, *target)), sizes(size_model(model)) {
    WorkingSetOptions options;
    for (unsigned n = 0; n < streams; ++n) options.numbers.push_back(n);
    set = std::make_unique<WorkingSet>(options, plan, *sizes);
  }
  Synthesizer source(uint64_t calls, uint64_t seed = 1) const {
    return Synthesizer({.arrival = Arrival::deterministic, .calls = calls, .duration = int64_t(calls) * 1000, .seed = seed}, plan,
                       *set, *sizes);
  }
  // Makes the image, one operation at a time.
  void prepare() {
    Image image = set->image();
    ObjectSet known;
    target = open_target("memory:", {.clock = &real});
    PrepareResult r = fsr::prepare(image, *target, real, {.ours = is_working_name, .workers = 1}, known);
    REQUIRE(r.failed == 0);
  }
};

Mix mix_of(unsigned version, const std::vector<std::pair<std::string, double>>& weights) {
  return make_mix(version, weights, "test");
}

std::string text_of(const Op& op) {
  std::string text;
  auto add = [&](uint64_t n) { text += std::to_string(n) + " "; };
  for (uint64_t n :
       {op.seq, uint64_t(op.start), uint64_t(op.kind), uint64_t(op.thread), op.object, op.parent, op.parent2, op.handle,
        op.offset, op.length, op.result, op.owner, uint64_t(op.mode), uint64_t(op.flags), uint64_t(op.op_flags)})
    add(n);
  return text + std::string(op.name) + "|" + std::string(op.name2) + "|" + std::string(op.data) + "\n";
}

std::string all_of(Synthesizer source) {
  std::string text;
  OpBatch batch;
  while (source.next(batch))
    for (const Op& op : batch.ops) text += text_of(op);
  return text;
}

}  // namespace

TEST_CASE("equal seeds give equal calls, and different seeds different calls") {
  const Mix& mix = *built_in_mix("sfs97-v3");
  const std::string once = all_of(Load(mix, 4).source(5000));
  CHECK(std::count(once.begin(), once.end(), '\n') == 5000);
  CHECK(once == all_of(Load(mix, 4).source(5000)));
  CHECK(once != all_of(Load(mix, 4).source(5000, 2)));
}

TEST_CASE("200,000 calls of each published mix have its shares, and every one succeeds") {
  for (const char* name : {"nhfsstone", "laddis", "sfs97-v2", "sfs97-v3", "sfs2008-v3"}) {
    INFO(name);
    const Mix& mix = *built_in_mix(name);
    Load load(mix, 32, mix.nfs_version == 2 ? "nhfsstone" : "sfs");
    load.prepare();
    BlockingSession session(*load.target, load.real);
    for (const StreamFiles& s : load.set->directories()) CHECK(s.files.size() == kOpenFiles);
    Synthesizer source = load.source(200'000);
    std::array<uint64_t, kOpKinds> kinds{};
    uint64_t wrong = 0, infos = 0;
    OpBatch batch;
    std::string payload(1 << 20, 'x');
    while (source.next(batch))
      for (const Op& op : batch.ops) {
        ++kinds[unsigned(op.kind)];
        infos += op.kind == OpKind::statfs && op.flags == kStatfsInfo;
        const Outcome& o = session.perform(op, op.kind == OpKind::write ? std::string_view(payload).substr(0, op.length) : "");
        const bool sized = result_compared(op.kind) || op.kind == OpKind::readdir || op.kind == OpKind::readdirplus;
        wrong += o.error != 0 || (sized && o.result != op.result);
      }
    CHECK(wrong == 0);
    CHECK(source.calls() == 200'000);
    double most = 0;
    for (const MixProcedure& p : mix.procedures) {
      uint64_t got = 0;
      for (unsigned kind = 0; kind < kOpKinds; ++kind) {
        const int procedure = nfs_procedure_of(3, OpKind(kind));
        if (procedure >= 0 && p.name == nfs_procedures(3)[size_t(procedure)]) got += kinds[kind];
      }
      // Our operations have one statfs, NFS has three calls for it.
      if (p.name == "fsstat") got -= infos;
      if (p.name == "fsinfo") got += infos;
      most = std::max(most, std::abs(double(got) / 200'000 - p.weight) * 100);
    }
    CHECK(most < 0.2);
  }
}

TEST_CASE("a mix with more creations than removals is reduced to shares that can last") {
  Load load(mix_of(3, {{"getattr", 90}, {"mkdir", 4}, {"rmdir", 2}, {"symlink", 3}, {"remove", 1}}));
  CHECK(load.plan.share(Action::mkdir) == Approx(load.plan.share(Action::rmdir)));
  CHECK(load.plan.share(Action::symlink) == Approx(load.plan.share(Action::remove)));
  CHECK(load.plan.notes.size() == 2);
  CHECK(load.plan.notes[0].find("mkdir") == 0);
  double sum = 0;
  for (const PlannedProcedure& p : load.plan.procedures) sum += p.planned;
  CHECK(sum == Approx(1));
}

TEST_CASE("the share of a procedure that no client can send goes to the other procedures, and is reported") {
  Load load(mix_of(2, {{"getattr", 80}, {"root", 20}}));
  CHECK(load.plan.share(Action::getattr) == Approx(1));
  REQUIRE(load.plan.notes.size() == 1);
  CHECK(load.plan.notes[0].find("root: 20.00 % requested, 0.00 % issued") == 0);
  CHECK_THROWS_AS(Load(mix_of(2, {{"root", 1}})), std::runtime_error);
  CHECK_THROWS_AS(Load(mix_of(3, {{"rmdir", 1}})), std::runtime_error);
}

TEST_CASE("every procedure of every version works for many calls on a target that has the procedure") {
  for (unsigned version : {2u, 3u, 4u}) {
    INFO(version);
    std::vector<std::pair<std::string, double>> all;
    for (const MixProcedure& p : mix_of(version, {{"read", 1}}).procedures) all.emplace_back(p.name, 1);
    Load load(mix_of(version, all), 3);
    load.prepare();
    BlockingSession session(*load.target, load.real);
    Synthesizer source = load.source(30'000);
    std::map<std::string, uint64_t> errors;
    std::string payload(1 << 20, 'x');
    OpBatch batch;
    while (source.next(batch))
      for (const Op& op : batch.ops) {
        const Outcome& o = session.perform(op, op.kind == OpKind::write ? std::string_view(payload).substr(0, op.length) : "");
        if (o.error) ++errors[std::string(op_name(op.kind)) + " " + std::to_string(o.error)];
      }
    INFO((errors.empty() ? "" : errors.begin()->first));
    CHECK(errors.empty());
    // The calls are dealt as planned, even if some had to wait for their counterparts.
    for (size_t i = 0; i < load.plan.procedures.size(); ++i) {
      uint64_t n = 0;
      for (uint64_t of_kind : source.dealt()[i]) n += of_kind;
      INFO(load.plan.procedures[i].name);
      CHECK(std::abs(double(n) / 30'000 - load.plan.procedures[i].planned) < 0.002);
    }
  }
}

TEST_CASE("the arrivals have the requested number of calls in the time, for each distribution of gaps") {
  for (Arrival kind : {Arrival::exponential, Arrival::uniform, Arrival::deterministic}) {
    Arrivals arrivals(kind, 10'000, 1'000'000'000, 7);
    int64_t before = 0, first_half = 0;
    double squares = 0;
    for (int i = 0; i < 10'000; ++i) {
      const int64_t at = arrivals.next();
      CHECK(at >= before);
      squares += std::pow(double(at - before), 2);
      first_half += at < 500'000'000;
      before = at;
    }
    CHECK(before <= 1'000'000'000);
    CHECK(std::abs(first_half - 5000) < 250);
    // The mean square of the gaps shows their distribution: 2, 4/3 and 1 times the square of the mean.
    const double spread = squares / 10'000 / 1e10;
    CHECK(spread == Approx(kind == Arrival::exponential ? 2 : kind == Arrival::uniform ? 4.0 / 3 : 1).epsilon(0.08));
  }
}

TEST_CASE("the sizes have the shares of the published tables") {
  Random random(3);
  auto sfs = size_model("sfs"), nhfsstone = size_model("nhfsstone");
  int small = 0, large = 0, one_block = 0;
  for (int i = 0; i < 100'000; ++i) {
    small += sfs->file(random) == 1024;
    one_block += sfs->read(random).length == 8192;
    large += nhfsstone->write(random).length == 32 * 8192;
    CHECK(sfs->write(random).length <= sfs->longest());
  }
  CHECK(small == Approx(33'000).epsilon(0.02));
  CHECK(one_block == Approx(85'000).epsilon(0.02));
  CHECK(large == Approx(3000).epsilon(0.1));
  CHECK_THROWS(size_model("/nowhere.zst"));
}

TEST_CASE("the parser reads loads in the notation of users") {
  CHECK(parse_loads("max").empty());
  CHECK(parse_loads("2k/s") == std::vector<double>{2000});
  CHECK(parse_loads("100-500,200") == std::vector<double>{100, 300, 500});
  CHECK(parse_loads("0.1-0.3,0.1").size() == 3);
  for (const char* bad : {"0", "-5", "", "fast", "100-200", "100,200", "500-100,10", "1-2,0", "1-1000000,1"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_loads(bad), std::invalid_argument);
  }
}

TEST_CASE("the result of a mix has shares, the largest deviation, and the verdict of the original") {
  Load load(mix_of(3, {{"getattr", 50}, {"lookup", 50}}));
  Synthesizer source = load.source(1000);
  OpBatch batch;
  while (source.next(batch)) {
  }
  RunResult run;
  run.kinds[unsigned(OpKind::getattr)].issued = run.kinds[unsigned(OpKind::lookup)].issued = 500;
  MixResult r = mix_result(load.plan, source.dealt(), run, {}, {});
  CHECK(!r.wire_known);
  CHECK(r.valid());
  CHECK(r.issued.total == Approx(0).margin(1e-9));
  r = mix_result(load.plan, source.dealt(), run, {{"getattr", 100}}, {{"getattr", 560}, {"lookup", 535}, {"access", 5}});
  REQUIRE(r.wire_known);
  CHECK(r.wire_calls == 1000);
  CHECK(r.wire.total == Approx(4 + 3.5 + 0.5));
  CHECK(r.wire.where == "getattr");
  CHECK(r.valid());
  r = mix_result(load.plan, source.dealt(), run, {}, {{"getattr", 400}, {"lookup", 600}});
  CHECK(r.wire.total == Approx(20));
  CHECK(!r.valid());
  // If the mix has no READDIRPLUS, it counts as a READDIR.
  r = mix_result(load.plan, source.dealt(), run, {}, {{"getattr", 500}, {"lookup", 490}, {"readdir", 5}, {"readdirplus", 5}});
  CHECK(r.wire.total == Approx(2));
  CHECK(r.rows.back().name == "readdir");
}

TEST_CASE("the result of a mix on NFSv4 has the operations on the wire, without the client's internal ones") {
  Load load(
      mix_of(3, {{"getattr", 40}, {"fsstat", 10}, {"create", 10}, {"mkdir", 15}, {"symlink", 5}, {"rmdir", 15}, {"remove", 5}}));
  Synthesizer source = load.source(1000);
  OpBatch batch;
  while (source.next(batch)) {
  }
  RunResult run;
  for (const Dealt& of : source.dealt())
    for (unsigned kind = 0; kind < kOpKinds; ++kind) run.kinds[kind].issued += of[kind];
  MixResult r = mix_result(load.plan, source.dealt(), run, {},
                           {{"getattr", 500}, {"open", 100}, {"close", 100}, {"sequence", 7}, {"create", 200}, {"remove", 200}});
  CHECK(r.wire_comparable);
  CHECK(r.wire_calls == 1000);
  CHECK(r.wire_internal == 107);
  CHECK(r.wire.total == Approx(0).margin(1e-9));
  CHECK(r.issued.total < 2);
  // A mix of version 4 can't be compared with calls of version 3.
  Load four(mix_of(4, {{"getattr", 50}, {"open", 25}, {"close", 25}}));
  const std::vector<Dealt> nothing(four.plan.procedures.size());
  CHECK(!mix_result(four.plan, nothing, {}, {}, {{"getattr", 1}}).wire_comparable);
}

TEST_CASE("the steering issues calls that produce the mix on the wire") {
  // A create looks the name up first, a readlink requests attributes, and a null sends nothing.
  Load load(
      mix_of(3, {{"getattr", 20}, {"lookup", 30}, {"create", 10}, {"remove", 10}, {"readlink", 10}, {"null", 1}, {"read", 19}}));
  const ProcedureCounts none{{"getattr", 0}, {"lookup", 0}};
  Steering steering(load.plan, none);
  auto number = [&](const char* name) {
    size_t i = 0;
    while (load.plan.procedures[i].name != name) ++i;
    return i;
  };
  steering.learn(number("create"), 10, {{"create", 10}, {"lookup", 10}});
  steering.learn(number("readlink"), 10, {{"readlink", 10}, {"getattr", 10}});
  steering.learn(number("null"), 10, none);
  const std::vector<double> shares = steering.shares({}, {}, 0);
  // 20 lookups and 10 getattr in addition to 10 each of create, remove, readlink, and 19 reads.
  CHECK(shares[number("lookup")] == Approx(20.0 / 79));
  CHECK(shares[number("getattr")] == Approx(10.0 / 79));
  CHECK(shares[number("read")] == Approx(19.0 / 79));
  CHECK(shares[number("null")] == 0);
  CHECK(steering.requests_per_call(shares) == Approx(99.0 / 79));
  CHECK(steering.impossible() == std::vector<std::string>{"null"});
  // After half of the calls, twice as many getattr were sent as planned. The other half makes up for these, and for the getattr
  // that are still to come.
  std::vector<double> made = shares;
  for (double& share : made) share *= 790;
  const std::vector<double> rest = steering.shares(
      made, {{"getattr", 250}, {"lookup", 300}, {"create", 100}, {"remove", 100}, {"readlink", 100}, {"read", 190}}, 790);
  CHECK(rest[number("getattr")] < 0.03);
  CHECK(rest[number("read")] > shares[number("read")]);

  // Another process solves the same with the costs that this one has learned.
  Steering other(load.plan, none);
  other.load_costs(steering.save_costs());
  CHECK(other.shares({}, {}, 0) == shares);
  CHECK(other.impossible() == steering.impossible());
  CHECK_THROWS_AS(other.load_costs("x"), std::runtime_error);
}

TEST_CASE("a READ_PLUS on the wire counts as a READ, unless the mix has it") {
  const ProcedureCounts sent = {{"getattr", 50}, {"sequence", 7}, {"read_plus", 50}};
  for (const bool asked : {false, true}) {
    const Load load(mix_of(asked ? 4 : 3, {{"getattr", 50}, {asked ? "read_plus" : "read", 50}}));
    CHECK(WireRows(load.plan, sent).of_request("read_plus") == (asked ? "read_plus" : "read"));
  }
}

TEST_CASE("a mix of version 4 past a client's caches opens no file that is open") {
  Load load(mix_of(4, {{"open", 40}, {"close", 40}, {"getattr", 20}}), 2);
  load.plan.past_cache = true;
  load.set = std::make_unique<WorkingSet>(WorkingSetOptions{.numbers = {0, 1}}, load.plan, *load.sizes);
  load.prepare();
  std::set<ObjectId> open;
  for (const StreamFiles& s : load.set->directories()) {
    for (const WorkingFile& f : s.files)
      if (f.handle) open.insert(f.object);
    for (size_t i = 0; i < s.opened.size(); ++i) CHECK(open.insert(s.files[s.first_to_open + i].object).second);
  }
  BlockingSession session(*load.target, load.real);
  Synthesizer source = load.source(5000);
  uint64_t opened = 0, wrong = 0;
  OpBatch batch;
  while (source.next(batch))
    for (const Op& op : batch.ops) {
      wrong += session.perform(op).error != 0;
      if (op.kind == OpKind::open) wrong += !open.insert(op.object).second, ++opened;
      if (op.kind == OpKind::release) wrong += open.erase(op.object) != 1;
    }
  CHECK(opened == 2000);
  CHECK(wrong == 0);
}

TEST_CASE("a test directory may have another name, and each file has a path") {
  Load load(mix_of(3, {{"getattr", 1}, {"symlink", 1}, {"remove", 1}}), 1);
  load.set = std::make_unique<WorkingSet>(WorkingSetOptions{.numbers = {3}, .names = {"elsewhere"}}, load.plan, *load.sizes);
  const StreamFiles& s = load.set->directories().front();
  CHECK(s.number == 3);
  CHECK(load.set->path_of(s.directory) == "elsewhere");
  CHECK(load.set->path_of(s.files[7].object) == "elsewhere/007abcdefghijklmn");
  CHECK(load.set->path_of(s.spare_symlinks[0].object) == "elsewhere/sym/001");
  CHECK(load.set->path_of(kNoObject).empty());
}

TEST_CASE("the least squares have no negative unknowns") {
  const std::vector<double> two = non_negative_least_squares({{1, 0}, {1, 1}}, std::vector<double>{3, 1});
  REQUIRE(two.size() == 2);
  CHECK(two[0] == Approx(2));
  CHECK(two[1] == Approx(1));
  const std::vector<double> x = non_negative_least_squares({{1, 0}, {1, 1}, {0, 0}}, std::vector<double>{1, 3});
  CHECK(x[0] == 0);  // -2 without the bound
  CHECK(x[1] == Approx(2));
  CHECK(x[2] == 0);
  CHECK(non_negative_least_squares({}, std::vector<double>{1}).empty());
}

TEST_CASE("a load may remove only names that loads give") {
  for (const char* ours : {"001abcdefghijklmn", "1234abcdefghijklmn", "007", "rename2"}) CHECK(is_working_name(ours));
  for (const char* others : {"", "12", "a01", "001abcdefghijklm", "testdir0", "data.txt", "abcdefghijklmn"})
    CHECK(!is_working_name(others));
}

}  // namespace fsr::synthesizer_test
