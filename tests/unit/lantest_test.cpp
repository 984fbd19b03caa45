// SPDX-License-Identifier: Apache-2.0
// Tests fsbench lantest: the layout of afp_lantest 4.5.1, with lines as it prints them, and its arithmetic.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "workloads/lantest/dircache.hpp"
#include "workloads/lantest/layout.hpp"
#include "workloads/lantest/server_calls.hpp"

namespace fsr::lantest_test {

using namespace fsr::lantest;

namespace {

std::vector<TestRun> times(const std::vector<uint64_t>& milliseconds) {
  std::vector<TestRun> runs;
  for (const uint64_t ms : milliseconds) runs.push_back({.measures = {ms}});
  return runs;
}

void check_summary(const std::vector<uint64_t>& milliseconds, uint64_t mean, double deviation) {
  const Summary summary = summarize(times(milliseconds), kMilliseconds);
  CHECK(summary.mean == mean);
  CHECK(summary.deviation == Approx(deviation).margin(0.05));
}

Settings only(const std::string& letters) {
  Settings settings;
  settings.choose(letters);
  settings.complete();
  return settings;
}

Sessions one(const Settings& settings, const Results& results) {
  Sessions sessions;
  sessions.add(1, results, settings);
  return sessions;
}

const std::string kRule(66, '-');

struct Scratch {
  std::string directory = "/tmp/fsr-lantest-XXXXXX";
  Scratch() { REQUIRE(mkdtemp(directory.data())); }
  ~Scratch() { std::filesystem::remove_all(directory); }
  std::string path(const std::string& name) const { return directory + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
};

}  // namespace

TEST_CASE("lantest's means are whole numbers without the zeros") {
  check_summary({834, 542}, 688, 206.5);
  check_summary({284, 144}, 214, 99.0);
  check_summary({10, 11}, 10, 1.0);  // deviation from the mean, which was rounded down
  check_summary({0, 7, 0}, 7, 0);
  check_summary({0, 0}, 0, 0);
  check_summary({5}, 5, 0);
}

TEST_CASE("lantest leaves out the extremes of more than five iterations") {
  check_summary({234, 200, 145, 148, 153, 422}, 183, 40.9);
  check_summary({9, 1, 1, 1, 1}, 2, 3.64);        // five values: none is left out
  check_summary({6, 6, 6, 6, 6, 6}, 6, 0);        // all values are equal
  check_summary({1, 3, 3, 3, 3, 9, 9}, 4, 2.69);  // the first minimum and the first maximum are left out
}

TEST_CASE("letters choose lantest's tests, and the tests that those require") {
  CHECK(only("134").tests == 0b1111);
  CHECK(only("7").tests == 0b1010000);
  CHECK(only(":;<").tests == 0xe00);
  Settings existing;
  existing.big_file = "big";
  existing.choose("3");
  existing.complete();
  CHECK(existing.tests == 0b100);
  for (const char* wrong : {"", "0", "1=", "a"}) CHECK_THROWS_AS(only(wrong), std::invalid_argument);
}

TEST_CASE("lantest prints the line of a test as the original") {
  const Settings settings;
  CHECK(run_line(settings, 1, kReadSmall, {834, 9000, 7000, 0, 0}, true) ==
        "Run 1 => Open, stat and read 512 bytes from 1000 files [8,000 AFP ops]         834 ms\n"
        "         IO Operations; afpd: 9000 READs, 7000 WRITEs | cnid_dbd: 0 READs, 0 WRITEs\n");
  CHECK(run_line(settings, 2, kWriteBig, {144}, false) ==
        "Run 2 => Writing one large file [103 AFP ops]                                  144 ms for 100 MB (avg. 728 MB/s)\n");
  CHECK(run_line(settings, 1, kReadBig, {0}, false) ==
        "Run 1 => Reading one large file [102 AFP ops]                                    0 ms for 100 MB (time too small to "
        "measure)\n");
}

TEST_CASE("lantest prints its heading and table as the original") {
  Settings settings;
  settings.choose_cache_tests();
  Results results;
  results.runs[kCacheHits] = times({533, 183});
  results.runs[kMixed] = times({200, 191});
  results.runs[kDeep] = times({79, 130});
  results.runs[kValidate] = times({530, 728});
  CHECK(heading(settings) ==
        "\nNetatalk Lantest Results (Averages and standard deviations (±) for all tests, across 2 iterations (default))\n" +
            std::string(108, '=') + "\n\n");
  CHECK(tables(settings, one(settings, results)) ==
        "Test                                                               Time_ms Time±   MB/s\n" + kRule +
            " ------- ------ ------\n"
            "Directory cache hits (100 dirs + 1000 files) [11,000 AFP ops]          358  247.5      0\n"
            "Mixed cache operations (create/stat/enum/delete) [820 AFP ops]         195    6.4      0\n"
            "Deep path traversal (nested directory navigation) [3,500 AFP ops]      104   36.1      0\n"
            "Cache validation efficiency (metadata changes) [30,000 AFP ops]        629  140.0      0\n" +
            kRule +
            " ------- ------ ------\n"
            "Sum of all AFP OPs = 45320                                            1286              \n"
            "\nAggregates Summary:\n" +
            kRule +
            "\nAverage Time per AFP OP: 0.028 ms\n"
            "See afp_lantest manpage for more information: https://netatalk.io/manual/en/afp_lantest.1\n");
}

TEST_CASE("lantest prints the server's calls in its table and CSV") {
  Settings settings = only("2");
  settings.iterations = 6;
  Results results;
  results.counts_calls = true;
  results.runs[kWriteBig] = {{.measures = {57, 102, 300, 2, 1}}, {.measures = {53, 102, 301, 0, 0}}};
  CHECK(table(settings, results)
            .starts_with("Test                                                                Time_ms  Time± AFPD_R AFPD_R± "
                         "AFPD_W AFPD_W± CNID_R "
                         "CNID_R± CNID_W CNID_W±   MB/s\n" +
                         kRule +
                         " -------- ------ ------ ------- ------ ------- ------ ------- ------ ------- ------\n"
                         "Writing one large file [103 AFP ops]                                     55    2.8    102     0.0    "
                         "300     1.0      2     "
                         "0.0      1     0.0   1818\n"));
  CHECK(csv(settings, one(settings, results)) ==
        "Test,Time_ms,Time±,AFPD_R,AFPD_R±,AFPD_W,AFPD_W±,CNID_R,CNID_R±,CNID_W,CNID_W±,MB/s\n"
        "Writing one large file [103 AFP ops],55,2.8,102,0.0,300,1.0,2,0.0,1,0.0,1818\n"
        "Sum of all AFP OPs = 103,55,,102,,300,,2,,1,,\n");
  CHECK(heading(settings).find("across 6 iterations)\n") != std::string::npos);
}

TEST_CASE("lantest reads the statistics of Netatalk's directory cache from the log") {
  const Scratch files;
  const std::string log = files.path("afpd.log"), rest = ": (user: tester) hits: 1";
  const std::string conf = files.write("afp.conf", "[Global]\nlog level = default:info\n log file = " + log + " \n");
  CHECK(dircache_statistics(conf).empty());
  CHECK(dircache_statistics(files.path("none")).empty());
  std::string text;
  for (int i = 0; i < 12; ++i) text += "line " + std::to_string(i) + "\n";
  files.write("afpd.log", text);
  const std::string head = "\nDircache Statistics (" + log + "):\n" + kRule + "\n";
  CHECK(dircache_statistics(conf) == head +
                                         "No 'dircache statistics' logs found.\n\n(At least 'log level = default:info' is "
                                         "required)\nLast 10 lines of log file:\n---------------------------\n" +
                                         text.substr(text.find("line 2")));
  for (const char* kind : {"LRU", "AD", "LRU", "hints"}) text += std::string("dircache statistics (") + kind + ")" + rest + "\n";
  files.write("afpd.log", std::string(200'000, 'x') + "\n" + text);
  CHECK(dircache_statistics(conf) == head + "dircache statistics (LRU)" + rest + "\ndircache statistics (hints)" + rest +
                                         "\ndircache statistics (AD)" + rest + "\n\n");
}

TEST_CASE("lantest names the server's processes as the original") {
  const Scratch proc;
  auto add = [&proc](int pid, const std::string& program, const std::string& command, const std::string& uid,
                     bool counts = true) {
    const std::string name = std::to_string(pid);
    std::filesystem::create_directory(proc.path(name));
    proc.write(name + "/comm", program + "\n");
    proc.write(name + "/cmdline", command);
    proc.write(name + "/status", "Name:\t" + program + "\nUid:\t" + uid + "\t" + uid + "\t0\t0\n");
    if (counts) proc.write(name + "/io", "rchar: 1\nsyscr: 7\nsyscw: 8\n");
  };
  const std::string server =
      "Found privilege-dropped afpd process for user 'root': PID 70\nIO monitoring enabled (afpd: 70, cnid_dbd: ";
  const std::string other("cnid_dbd\0-u\0rooted\0", 19), dbd("cnid_dbd\0-l\0f\0-u\0root\0", 22);
  add(60, "cnid_dbd", other, "0");
  add(70, "afpd", "afpd", "0");
  add(71, "afpd", "afpd", "4711");
  {
    ServerCalls calls(proc.directory, "root");
    REQUIRE(calls.find());
    CHECK(calls.found() ==
          "No matching processes found\ncnid_dbd not found (optional), continuing...\n" + server + "not found)\n");
    CHECK(calls.warnings().empty());
  }
  const std::string database = "Found cnid_dbd process for user 'root': PID ";
  add(61, "cnid_dbd", dbd, "0");
  {
    ServerCalls calls(proc.directory, "root");
    REQUIRE(calls.find());
    CHECK(calls.found() == database + "61\n" + server + "61)\n");
    CHECK(calls.now() == ServerCalls::Counts{7, 8, 7, 8});
  }
  add(62, "cnid_dbd", dbd, "0", false);
  add(69, "afpd", "afpd", "0");
  {
    ServerCalls calls(proc.directory, "root");
    REQUIRE(calls.find());
    CHECK(calls.found() == database + "62\n" + server + "not found)\n");
    CHECK(calls.warnings() ==
          "Warning: Multiple cnid_dbd processes with -u root found (61, 62), using highest: 62\n"
          "Warning: Multiple afpd processes owned by root found (69, 70), using highest: 70\n"
          "Warning: Cannot read " +
              proc.directory + "/62/io for cnid_dbd (optional)\n");
  }
  add(80, "afpd", "afpd", "0", false);
  ServerCalls calls(proc.directory, "root");
  CHECK_FALSE(calls.find());
  CHECK(calls.problem() == "can't read " + proc.directory + "/80/io of afpd");
}

TEST_CASE("lantest counts each operation that it issues") {
  Settings settings = only("4");
  settings.as_operations = true;
  settings.iterations = 2;
  Results results;
  results.runs[kLock] = times({3, 5});
  for (int i = 0; i < 40; ++i) results.commands[kLock]["setlk"].add(200'000);
  CHECK(csv(settings, one(settings, results)) ==
        "Test,Time_ms,Time±,MB/s\nLocking/Unlocking 10000 times each [as operations],4,1.4,0\nSum of all operations = 20,4,,\n");
  CHECK(aggregates(settings, results).ends_with("Average Time per operation: 0.200 ms\n"));
}

TEST_CASE("lantest's labels show a reduced number of operations") {
  Settings settings = only("1");
  settings.percent = 5;
  CHECK(label(settings, kReadSmall) == "Open, stat and read 512 bytes from 1000 files [5 % of 8,000 AFP ops]");
  CHECK(chosen_operations(settings) == 400);
  CHECK(settings.share(10) == 1);
}

TEST_CASE("the sum of lantest's sessions lasts from the first start to the last end") {
  Settings settings = only("2");
  settings.iterations = 1;
  Results first, second;
  first.counts_calls = second.counts_calls = true;
  first.runs[kWriteBig] = {{{100, 10, 20, 7, 8}, 5'000'000, 100'000'000, 3, 40, 9}};
  second.runs[kWriteBig] = {{{120, 1, 2, 9, 6}, 15'000'000, 120'000'000, 4, 50, 8}};
  first.commands[kWriteBig]["FPWriteExt"].add(1);
  second.commands[kWriteBig]["FPWriteExt"].add(2);
  Sessions sessions;
  sessions.add(1, first, settings);
  sessions.add(3, second, settings);
  const TestRun& sum = sessions.sum.runs[kWriteBig][0];
  CHECK(sum.started == 5'000'000);
  CHECK(sum.elapsed == 130'000'000);
  CHECK(sum.measures == Measures{130, 11, 22, 9, 8});  // one cnid_dbd process serves all
  CHECK(sum.cpu == 7);
  CHECK(sum.server_cpu == 90);
  CHECK(sum.ids_cpu == 9);
  CHECK(sessions.sum.commands[kWriteBig]["FPWriteExt"].count() == 2);
  CHECK(csv(settings, sessions) ==
        "Session,Test,Time_ms,Time±,AFPD_R,AFPD_R±,AFPD_W,AFPD_W±,CNID_R,CNID_R±,CNID_W,CNID_W±,MB/s\n"
        "1,Writing one large file [103 AFP ops],100,0.0,10,0.0,20,0.0,7,0.0,8,0.0,1000\n"
        "1,Sum of all AFP OPs = 103,100,,10,,20,,7,,8,,\n"
        "3,Writing one large file [103 AFP ops],120,0.0,1,0.0,2,0.0,9,0.0,6,0.0,833\n"
        "3,Sum of all AFP OPs = 103,120,,1,,2,,9,,6,,\n"
        "all,Writing one large file [103 AFP ops],130,0.0,11,0.0,22,0.0,9,0.0,8,0.0,1538\n"
        "all,Sum of all AFP OPs = 206,130,,11,,22,,9,,8,,\n");
  const std::string text = tables(settings, sessions);
  CHECK(text.starts_with("Session 1:\n\nTest "));
  CHECK(text.find("\nSession 3:\n\nTest ") != std::string::npos);
  CHECK(text.find("\nAll 2 sessions together:\n\nTest ") != std::string::npos);
}

}  // namespace fsr::lantest_test
