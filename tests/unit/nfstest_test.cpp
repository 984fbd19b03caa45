// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "workloads/nfstest/layout.hpp"
#include "workloads/nfstest/rank_work.hpp"
#include "workloads/nfstest/stage_report.hpp"
#include "workloads/stdio.hpp"

namespace fsr::nfstest_test {

using namespace fsr::nfstest;

namespace {

// Returns the text as a terminal shows it.
std::string without_tabs(const std::string& text) {
  std::string out;
  size_t column = 0;
  for (char c : text) {
    if (c == '\t') {
      const size_t spaces = 8 - column % 8;
      out.append(spaces, ' ');
      column += spaces;
    } else {
      out += c;
      column = c == '\n' ? 0 : column + 1;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("nfstest prints the lines of the original for the numbers in its description") {
  const Settings s = parse({"n3", "uK", "m256", "M1024", "b256", "K2", "f/home/tmp", "d1", "c1", "v1", "R2"}, 4);
  const Layout layout(s, 4, true);
  CHECK(without_tabs(layout.header({"aqua1-1.the.net", "aqua1-2.the.net", "aqua1-3.the.net", "aqua2-1.the.net"})) ==
        "FILETEST/NFS/MPI of 2003/07/04 is running with following parameters:\n"
        "        Unit is 1Kb = 1024 bytes\n"
        "        File size: 256Kb to 1024Kb, buffer size: 256Kb\n"
        "        Number of processes: 4, number of files: 3, total: 12\n"
        "        Checking correctness of read buffer.\n"
        "        Using direct I/O calls (read/write).\n"
        "        Number of iterations for whole test: 2\n"
        "        Testing file system: /home/tmp\n"
        "        Nodes: aqua1-1.the.net aqua1-2.the.net aqua1-3.the.net aqua2-1.the.net\n\n");
  CHECK(layout.starting(0, 256) == "Starting test iteration = 0 for FS = 256Kb.\n");
  struct Sample {
    bool writes;
    uint64_t size;
    double rate;  // a rate that is printed like this
    const char* line;
  };
  for (const Sample& sample : {
           Sample{true, 256, 23985.38, "--- TFS=3072Kb  WTT= 0.1s AWT= 0.0s     LWR=5996.3Kb/s TWR=23985.4Kb/s\n"},
           Sample{false, 256, 36475.0, "--- TFS=3072Kb  RTT= 0.1s ART= 0.0s     LRR=9118.8Kb/s TRR=36475.0Kb/s\n"},
           Sample{true, 512, 24997.78, "--- TFS=6144Kb  WTT= 0.2s AWT= 0.0s     LWR=6249.4Kb/s TWR=24997.8Kb/s\n"},
           Sample{false, 512, 40719.78, "--- TFS=6144Kb  RTT= 0.2s ART= 0.0s     LRR=10179.9Kb/s TRR=40719.8Kb/s\n"},
           Sample{true, 1024, 25144.62, "--- TFS=12288Kb WTT= 0.5s AWT= 0.0s     LWR=6286.2Kb/s TWR=25144.6Kb/s\n"},
           Sample{false, 1024, 42959.5, "--- TFS=12288Kb RTT= 0.3s ART= 0.0s     LRR=10739.9Kb/s TRR=42959.5Kb/s\n"},
       })
    CHECK(without_tabs(layout.stage(sample.writes, sample.size, double(layout.total(sample.size)) / sample.rate)) == sample.line);
  CHECK(layout.complete(3.04) == "Testing complete in   3.0 seconds\n");
  CHECK(layout.best(true, 1024, 25144.62) == "--- Best writing rate achieved: TWR=25144.6 Kb/s (at TFS=12288Kb)\n");
  CHECK(layout.best(false, 1024, 43103.2) == "--- Best reading rate achieved: TRR=43103.2 Kb/s (at TFS=12288Kb)\n");
  CHECK(Layout(s, 4, false).stage(true, 256, 0.128) ==
        "--- TFS=3072Kb\tWTT=0.128000s AWT=0.042667s\tLWR=6000.0Kb/s TWR=24000.0Kb/s\n");
}

TEST_CASE("nfstest reads and refuses words as the original does") {
  using Sizes = std::vector<uint64_t>;
  const Settings plain = parse({}, 3);
  CHECK((plain.unit == 'K' && plain.files == 3 && plain.repeat == 1 && plain.folder == "." && !plain.direct &&
         plain.sizes() == Sizes{1}));
  CHECK(parse({"m256", "M1024", "K2"}, 1).sizes() == Sizes{256, 512, 1024});
  CHECK(parse({"M100", "K10", "m3"}, 1).sizes() == Sizes{3, 30, 100});
  CHECK(parse({"m4", "M10"}, 1).sizes() == Sizes{4, 8, 10});
  CHECK(parse({"m1", "M7", "s3"}, 1).sizes() == Sizes{1, 4, 7});
  CHECK(parse({"ub", "m1", "M9223372036854775807", "K9000000000000000000", "n1"}, 1).sizes().size() == 3);
  CHECK(parse({"fnfs://host/export", "oout"}, 1).folder == "nfs://host/export");
  for (const char* wrong : {"", "n", "x5", "n0", "n-1", "n3x", "uG", "uKK", "d2", "c", "m99999999999999999999", "K1", "m2 M1",
                            "uM M9223372036854775807", "M9000000 s1", "n9223372036854775807 M2"}) {
    std::vector<std::string> words;
    std::string rest = wrong;
    for (size_t at; (at = rest.find(' ')) != std::string::npos; rest = rest.substr(at + 1)) words.push_back(rest.substr(0, at));
    words.push_back(rest);
    INFO(wrong);
    CHECK_THROWS_AS(parse(words, 2), std::invalid_argument);
  }
}

TEST_CASE("nfstest's ranks read each file once, if possible a file of another rank") {
  for (unsigned ranks = 1; ranks <= 9; ++ranks)
    for (unsigned shift = 1; shift <= std::max(ranks - 1, 1u); ++shift)
      for (uint64_t file = 0; file < 12; ++file) {
        std::set<unsigned> writers;
        for (unsigned rank = 0; rank < ranks; ++rank) writers.insert(writer_for(rank, file, ranks, shift));
        CHECK(writers.size() == ranks);
      }
  for (unsigned rank = 0; rank < 4; ++rank)
    for (uint64_t file = 0; file < 3; ++file) CHECK(writer_for(rank, file, 4, 1) != rank);
  CHECK(reader_shift({"a"}) == 1);
  CHECK(reader_shift({"a", "a", "a"}) == 1);
  CHECK(reader_shift({"a", "b", "a", "b"}) == 1);
  CHECK(reader_shift({"a", "a", "b", "b", "c", "c"}) == 2);
}

TEST_CASE("the root gets the report of a stage unchanged, and notices damage") {
  StageReport report;
  report.took = 123'456'789;
  report.bytes = uint64_t(5) << 40;
  report.wrong = 3;
  report.shown = {"one", "two"};
  report.error = "why";
  report.interrupted = report.counted = true;
  report.wire_reads = 77;
  report.counts.at(kReads).add({.due = 0, .from = 10, .to = 1000, .bytes = 4096});
  const std::string saved = report.save();
  const StageReport back = StageReport::load(saved);
  CHECK(back.save() == saved);
  CHECK((back.took == report.took && back.shown == report.shown && back.counts[kReads].service.max() == 990));
  for (size_t length = 0; length < saved.size(); ++length)
    CHECK_THROWS_AS(StageReport::load(std::string_view(saved).substr(0, length)), std::runtime_error);
}

TEST_CASE("the model of stdio issues the transfers of the C library") {
  Stdio out;
  Stdio::Writes writes = out.write(10'000);
  CHECK((writes.looks && writes.held == 0 && writes.direct == 8192 && out.held() == 1808));
  writes = out.write(2288);
  CHECK((!writes.looks && writes.held == 0 && writes.direct == 0 && out.held() == 4096));
  writes = out.write(1);
  CHECK((writes.held == 4096 && writes.direct == 0 && out.held() == 1));

  Stdio in;
  int64_t wanted = 100;
  Stdio::Read next = in.read(wanted);
  CHECK((next.looks && next.length == 4096));
  in.came(4096, wanted);
  CHECK(in.read(wanted).length == 0);
  wanted = 8000;  // only 3996 bytes are available
  next = in.read(wanted);
  CHECK((!next.looks && next.length == 4096 && wanted == 4004));
}

}  // namespace fsr::nfstest_test
