// SPDX-License-Identifier: Apache-2.0
// Tests the messages between copies of a program, and the results that they have together.
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "workloads/bonnie/copies_result.hpp"
#include "workloads/bonnie/layout.hpp"
#include "workloads/postmark/copies_result.hpp"
#include "workloads/postmark/postmark_thread.hpp"
#include "workloads/postmark/settings.hpp"

namespace fsr::copies_test {

TEST_CASE("PostMark's settings reach another process unchanged") {
  postmark::Settings settings;
  settings.bias_create = -1;
  settings.seed = -7;
  settings.size_high = 1 << 30;
  settings.buffered = false;
  settings.locations = {{"nfs://server/export", 3}, {"", 1}};
  const postmark::Settings back = postmark::Settings::load(settings.save());
  CHECK(back.text_above() == settings.text_above());
  CHECK(back.text_locations() == settings.text_locations());
  CHECK(back.text_below() == settings.text_below());
  CHECK_THROWS_AS(postmark::Settings::load(settings.save().substr(0, 5)), std::runtime_error);
}

TEST_CASE("the result of PostMark's copies has the counts and errors of all, and the time of the slowest") {
  postmark::CopiesResult a, b;
  a.counts.created = 3;
  a.counts.bytes_read = 1.5f;
  a.counts.seconds = 9;
  a.elapsed = 9'100'000'000;
  a.tally.at(postmark::kReads).add({.due = 0, .from = 0, .to = 1000, .bytes = 5});
  a.add_errors({"one", "two"}, 7);
  b.counts.created = 4;
  b.elapsed = 100;
  b.transactions = 20;
  b.out_of_files = 1;
  b.stopped = true;
  b.tally.at(postmark::kReads).add({.due = 0, .from = 0, .to = 3000, .failed = true});
  postmark::CopiesResult all;
  all.add(postmark::CopiesResult::load(a.save()));
  all.add(postmark::CopiesResult::load(b.save()));
  CHECK(all.counts.created == 7);
  CHECK(all.counts.bytes_read == 1.5f);
  CHECK(all.counts.seconds == 9);
  CHECK(all.elapsed == 9'100'000'000);
  CHECK(all.transactions == 20);
  CHECK(all.out_of_files == 1);
  CHECK(all.stopped);
  CHECK(all.errors == std::vector<std::string>{"one", "two"});
  CHECK(all.error_count == 7);
  CHECK(all.tally[postmark::kReads].count == 1);
  CHECK(all.tally[postmark::kReads].failed == 1);
  CHECK_THROWS_AS(postmark::CopiesResult::load(a.save().substr(1)), std::runtime_error);
  b.add_errors(std::vector<std::string>(150, "more"), 150);
  all.add(b);
  CHECK(all.errors.size() == postmark::CopiesResult::kMostErrors);
  CHECK(all.error_count == 157);
}

TEST_CASE("the result of bonnie's copies has the work of all, and the time of the slowest") {
  bonnie::CopiesResult mine;
  mine.results[bonnie::kBlockWrite] = {2, 0.5, 0.1};
  mine.results[bonnie::kBlockWrite].steps.add(1000, 3);
  mine.failure = "why";
  mine.interrupted = true;
  const bonnie::CopiesResult back = bonnie::CopiesResult::load(mine.save());
  CHECK(back.results[bonnie::kBlockWrite].cpu == 0.5);
  CHECK(back.results[bonnie::kBlockWrite].steps.count() == 3);
  CHECK(back.failure == "why");
  CHECK(back.left.empty());
  CHECK(back.interrupted);
  CHECK_THROWS_AS(bonnie::CopiesResult::load(mine.save() + "x"), std::runtime_error);

  const bonnie::Measured both = bonnie::together({2, 0.5, 0.1}, {4, 0.25, 0.3});
  CHECK(both.elapsed == 4);
  CHECK(both.cpu == 0.75);
  CHECK(both.latency == 0.3);
  CHECK(bonnie::together(back.results[bonnie::kBlockWrite], mine.results[bonnie::kBlockWrite]).steps.count() == 6);
  CHECK(bonnie::together({2, 0.5, 0.1}, {}).elapsed == 0);  // one copy did not run to its end
  bonnie::Settings settings;
  settings.size = 8;
  bonnie::Results results = {};
  results[bonnie::kBlockWrite] = both;
  CHECK(bonnie::rate({settings, results, "", "", 3}, bonnie::kBlockWrite) == 3 * 8 * 1024 / 4);
}

}  // namespace fsr::copies_test
