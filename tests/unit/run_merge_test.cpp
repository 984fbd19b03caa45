// SPDX-License-Identifier: Apache-2.0
#include "engine/run_merge.hpp"

#include <set>

#include "catch.hpp"
#include "engine/figures.hpp"
#include "trace/bytes.hpp"

namespace fsr::run_merge_test {

namespace {

// Returns a result that differs for each `n` and has all members set.
RunResult part(uint64_t n) {
  RunResult r;
  KindResult& reads = r.kinds[unsigned(OpKind::read)];
  reads.issued = 10 * n;
  reads.ok = reads.matched = 9 * n;
  reads.failed = reads.differed = n;
  reads.bytes = n << 40;
  reads.service.add(int64_t(1000 * n));
  r.service.add(int64_t(1000 * n), 9 * n);
  r.lateness.add(int64_t(n));
  r.due = {n, 2 * n};
  if (n % 2) r.due.push_back(n);
  r.elapsed = int64_t(n) * 1'000'000'000;
  r.think = double(n) / 3;
  r.workers = 2;
  r.operations = 10 * n;
  r.content.blocks = n;
  r.stopped = n == 3;
  for (uint64_t i = 0; i < n; ++i) r.slowest.add({.service = int64_t(1000 * n + i), .seq = i, .kind = OpKind::read, .name = "f"});
  r.left_out.add({n, OpKind::symlink, "left out"});
  r.left_out.count = n;
  r.mismatches_total = n;
  r.differences.add({OpKind::read, "ok", n % 2 ? "EIO" : "ENOENT", n, int64_t(10 * n), int64_t(20 * n), n, "name"});
  r.differences.add_others(1);
  r.mismatches.push_back(
      {.seq = n, .kind = OpKind::read, .name = "name", .object = n, .thread = 4, .expected = "ok", .got = "EIO"});
  if (n > 2) r.cause = {20 + n, OpKind::mkdir, "cause"};
  return r;
}

std::string saved(const RunResult& result) {
  ByteWriter out;
  save_result(out, result);
  return std::string(out.view());
}

}  // namespace

TEST_CASE("another process gets a result unchanged, and notices damage") {
  const std::string text = saved(part(5));
  ByteReader in(text);
  const RunResult back = load_result(in);
  CHECK((in.ok() && in.left() == 0));
  CHECK(saved(back) == text);
  for (size_t length = 0; length < text.size(); ++length) {
    ByteReader cut(std::string_view(text).substr(0, length));
    load_result(cut);
    if (cut.ok()) FAIL("cut at " << length);
  }
}

TEST_CASE("the results of several processes become one") {
  RunOptions options;
  options.mismatches = 3;
  RunResult all = part(1);
  all.mismatches[0].seq = 9;
  CHECK_FALSE(all.cause);
  for (uint64_t n = 8; n >= 2; --n) merge_result(all, part(n), options);
  const KindResult& reads = all.kinds[unsigned(OpKind::read)];
  CHECK((reads.issued == 360 && reads.ok == 324 && reads.differed == 36 && reads.bytes == uint64_t(36) << 40));
  CHECK((all.service.count() == 324 && all.service.max() == 8000 && reads.service.count() == 8 && all.lateness.min() == 1));
  CHECK(all.due == std::vector<uint64_t>{36, 72, 16});
  CHECK((all.elapsed == 8'000'000'000 && all.workers == 16 && all.operations == 360 && all.content.blocks == 36));
  CHECK((all.stopped && !all.stopped_on_error && all.mismatches_total == 36 && all.mismatches.size() == 3));
  CHECK((all.left_out.count == 36 && all.left_out.first.size() == KnockOnTracker::LeftOut::kNamed));
  CHECK((all.left_out.first[4].seq == 5 && all.left_out.first[4].name == "left out"));
  CHECK((all.mismatches[0].seq == 2 && all.mismatches[1].seq == 3 && all.mismatches[2].seq == 4));
  const std::vector<Difference> groups = all.differences.list();
  REQUIRE((groups.size() == 2 && groups[0].got == "ENOENT" && groups[0].count == 20 && groups[1].count == 16));
  CHECK((groups[0].first == 20 && groups[0].last == 160 && groups[0].first_seq == 2 && groups[1].first_seq == 1));
  CHECK(all.differences.others() == 8);
  CHECK((all.cause && all.cause->seq == 23 && all.cause->name == "cause"));
  CHECK((all.slowest.list().size() == Slowest::kKept && all.slowest.list()[0].service == 8007));
}

TEST_CASE("no two figures of a run have one name") {
  std::set<std::string> names;
  auto insert_name = [&](const char* name) {
    if (name && !names.insert(name).second) FAIL(name << " stands twice");
  };
  RunResult r;
  figures::each(
      figures::kOfRun, [&](const auto& row, const auto&) { insert_name(row.name); }, r);
  for (const auto& times : figures::kTimesOfRun) insert_name(times.name);
  CHECK(names.size() > 40);
  CHECK(names.contains("blocks_compared"));
}

}  // namespace fsr::run_merge_test
