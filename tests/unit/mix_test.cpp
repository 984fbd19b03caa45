// SPDX-License-Identifier: Apache-2.0
#include "mix/mix.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "mix/procedures.hpp"
#include "test_data.hpp"

namespace fsr::mix_test {

namespace {

const std::string kData = test_data("mix/");

Mix read(const std::string& file, unsigned version = 0, bool client = false) {
  return load_mix(kData + file, {.nfs_version = version, .client = client});
}

std::vector<uint64_t> counts(const Mix& mix) {
  std::vector<uint64_t> list;
  for (const MixProcedure& p : mix.procedures) list.push_back(p.count);
  return list;
}

uint64_t count(const Mix& mix, std::string_view name) {
  for (const MixProcedure& p : mix.procedures)
    if (p.name == name) return p.count;
  FAIL("no procedure " << name);
  return 0;
}

std::string error_of(const std::string& file, const MixReadOptions& options = {}, const std::string& since = {}) {
  try {
    load_mix(file, options, since);
  } catch (const MixError& e) {
    return std::string(e.what()).starts_with(kData) ? std::string(e.what()).substr(kData.size()) : e.what();
  }
  return "no error";
}

// The mixes that the files contain.
const std::vector<uint64_t> kMix2 = {2, 13000, 1000, 0, 34000, 8000, 22000, 0, 15000, 2000, 1000, 0, 0, 0, 0, 0, 3000, 998};
const std::vector<uint64_t> kMix3 = {40, 26000, 1000, 24000, 13000, 1000, 18000, 9000, 1000, 200, 10,
                                     0,  1000,  150,  200,   20,    500,  2600,  1000, 30,   10,  1240};
const std::vector<uint64_t> kClient3 = {1, 30000, 900, 25000, 12000, 800, 17000, 9500, 1100, 220, 12,
                                        0, 900,   140, 210,   18,    480, 2500,  1100, 20,   10,  1300};

}  // namespace

TEST_CASE("the reader finds the same mix of NFSv2 in every dialect") {
  for (const char* file :
       {"sunos-s.txt", "sunos-one-blank.txt", "sunos-narrow.txt", "sunos-client-and-server.txt", "linux-s-2.txt", "linux-s.txt",
        "linux-old-s.txt", "linux-list-s.txt", "nfsd.proc", "solaris-2.6-s.txt", "illumos-s.txt", "irix-s.txt"}) {
    INFO(file);
    const Mix mix = read(file, 2);
    CHECK(mix.nfs_version == 2);
    CHECK(counts(mix) == kMix2);
    CHECK(mix.calls == 100000);
    CHECK(mix.weight("readdir") == Approx(0.03));
    CHECK(mix.weight("null") == Approx(0.00002));
  }
  const Mix glued = read("sunos-glued.txt");
  CHECK(glued.calls == 10'000'000);
  for (size_t i = 0; i < kMix2.size(); ++i) CHECK(counts(glued)[i] == kMix2[i] * 100);
}

TEST_CASE("the reader finds the same mix of NFSv3 in every dialect") {
  for (const char* file : {"linux-s.txt", "linux-s-o-all-3.txt", "linux-old-s.txt", "linux-old-wide-s.txt", "linux-list-s.txt",
                           "nfsd.proc", "nfsd-6.proc", "solaris-2.6-s.txt", "illumos-s.txt", "irix-s.txt"}) {
    INFO(file);
    const Mix mix = read(file, 3);
    CHECK(counts(mix) == kMix3);
    CHECK(mix.weight("mkdir") == Approx(0.002));
  }
  std::vector<uint64_t> without_null = kMix3;
  without_null[0] = 0;
  for (const char* file :
       {"freebsd-9-s.txt", "freebsd-9-no-head.txt", "freebsd-9.txt", "freebsd-13-s.txt", "freebsd-13-s.json"}) {
    INFO(file);
    CHECK(counts(read(file)) == without_null);
  }
  CHECK(read("freebsd-9-no-head.txt").notes.at(0) ==
        "line 1: no 'Server Info:' or 'Client Info:' above, so the counters count as those of a server");
  for (const char* file : {"linux-c-3.txt", "linux-list-c-3.txt", "nfs.proc"}) {
    INFO(file);
    const Mix mix = read(file, 3);
    CHECK(counts(mix) == kClient3);
    CHECK(mix.dialect.find("client, NFSv3") != std::string::npos);
    CHECK(mix.notes.at(0) == "counters of a client, because the file has none of a server");
  }
}

TEST_CASE("the reader finds the same mix of NFSv4 operations in every dialect") {
  const Mix linux_mix = read("linux-s-4.txt");
  REQUIRE(linux_mix.nfs_version == 4);
  CHECK(linux_mix.calls == 169451);
  CHECK(count(linux_mix, "sequence") == 59000);
  CHECK(count(linux_mix, "reclaim_complete") == 2);
  for (const char* file : {"linux-s.txt", "linux-list-s.txt", "nfsd.proc", "nfsd-6.proc"}) {
    INFO(file);
    CHECK(counts(read(file, 4)) == counts(linux_mix));
  }
  // These systems don't print all of version 4.1 and 4.2.
  for (const char* file : {"illumos-s.txt", "freebsd-9-e-s.txt", "freebsd-13-E-s.txt", "freebsd-13-E-s.json"}) {
    INFO(file);
    const Mix mix = read(file, 4);
    const size_t printed = std::string(file).find("-E") == std::string::npos ? 37 : 56;
    for (size_t i = 0; i < mix.procedures.size(); ++i) {
      INFO(mix.procedures[i].name);
      CHECK(mix.procedures[i].count == (i < printed ? linux_mix.procedures[i].count : 0));
    }
  }
}

TEST_CASE("a client's COMPOUND counts as its main operation") {
  const Mix mix = read("nfs.proc", 4);
  CHECK(count(mix, "open") == 2500 + 20);                  // open, open_noat
  CHECK(count(mix, "create") == 30 + 2);                   // create, symlink
  CHECK(count(mix, "getattr") == 21000 + 8 + 3 + 5 + 12);  // getattr, fsinfo, pathconf, statfs, server_caps
  CHECK(count(mix, "exchange_id") == 2);
}

TEST_CASE("the reader takes the version with the most calls and the server's counters by default") {
  CHECK(read("nfsd.proc").nfs_version == 3);  // has as many calls of version 2
  const Mix both = read("sunos-client-and-server.txt");
  CHECK(counts(both) == kMix2);
  CHECK(both.dialect == "SunOS nfsstat, server, NFSv2");
  CHECK(both.notes.at(0) == "not used, but also in the file: client NFSv2 (1,600 calls)");
  CHECK(count(read("sunos-client-and-server.txt", 0, true), "write") == 1465);
  CHECK(count(read("freebsd-9.txt", 0, true), "write") == 7);
  CHECK(error_of(kData + "linux-s-2.txt", {.nfs_version = 3}) ==
        "linux-s-2.txt: no counters of NFSv3 of a server, only: Linux nfsstat, server, NFSv2");
}

TEST_CASE("the weights are exact shares, or whole percents with --compat") {
  const Mix exact = read("nfsd.proc", 3);
  double sum = 0;
  for (const MixProcedure& p : exact.procedures) sum += p.weight;
  CHECK(sum == Approx(1));
  CHECK(exact.weight("pathconf") == Approx(0.0001));

  const Mix compat = load_mix(kData + "nfsd.proc", {.nfs_version = 3, .compat = true});
  CHECK(compat.weight("pathconf") == 0);
  CHECK(compat.weight("readdirplus") == Approx(0.03));  // 2.6 %
  CHECK(compat.notes.back() == "shares rounded to whole percents, 100 % in total; 8 procedures below 0.5 % are never called");
}

TEST_CASE("the reader subtracts two snapshots in the layout of every system") {
  const Mix mix = load_mix(kData + "nfsd.proc", {}, kData + "earlier-s-3.txt");
  CHECK(mix.calls == 50000);
  for (size_t i = 0; i < kMix3.size(); ++i) CHECK(counts(mix)[i] == kMix3[i] - kMix3[i] / 2);
  CHECK(error_of(kData + "nfsd.proc", {}, kData + "nfsd.proc") == "nfsd.proc: no calls since " + kData + "nfsd.proc");
  CHECK(error_of(kData + "earlier-s-3.txt", {}, kData + "nfsd.proc") ==
        "earlier-s-3.txt: 'null' went down from 40 to 20 since " + kData +
            "nfsd.proc: the counters began anew, no difference can be taken");
  // A 32-bit counter that has wrapped around.
  const std::string then = "rc 0 0 0\nproc3 22 0 4294967290 5" + std::string(19, '_'), now = "rc 0 0 0\nproc3 22 0 10 6";
  auto fill = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    for (int i = 0; i < 19; ++i) text += " 0";
    return text + "\n";
  };
  const std::string before = fill(then), after = fill(now);
  const MixText since{before, "then"};
  const Mix wrapped = read_mix({after, "now"}, {}, &since);
  CHECK(count(wrapped, "getattr") == 16);
  CHECK(count(wrapped, "setattr") == 1);
}

TEST_CASE("the shares of a published mix add up to 100 percent") {
  for (const char* name : {"nhfsstone", "laddis", "sfs97-v2", "sfs97-v3", "sfs2008-v3"}) {
    INFO(name);
    const Mix* mix = built_in_mix(name);
    REQUIRE(mix);
    uint64_t percent = 0;
    for (const MixProcedure& p : mix->procedures) percent += p.count;
    CHECK(percent == 100);
    CHECK(mix->calls == 0);
    CHECK(built_in_mix_names().find(name) != std::string::npos);
  }
  CHECK(built_in_mix("sfs97-v3")->weight("readdirplus") == Approx(0.09));
  CHECK(load_mix("laddis").weight("lookup") == Approx(0.34));
  CHECK(built_in_mix("sfs") == nullptr);
}

TEST_CASE("the reader recognizes every sample by its content, and only complete ones") {
  unsigned files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kData)) {
    if (!entry.is_regular_file()) continue;
    INFO(entry.path());
    ++files;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    CHECK(sniff_mix(text.str()));
  }
  CHECK(files >= 25);
  CHECK_FALSE(sniff_mix(""));
  CHECK_FALSE(sniff_mix("hello\n"));
  CHECK_FALSE(sniff_mix("\x28\xb5\x2f\xfd"));
  CHECK(may_be_mix("hello\n"));
  CHECK_FALSE(may_be_mix(""));
  CHECK_FALSE(may_be_mix("\x28\xb5\x2f\xfd\x04"));
}

TEST_CASE("a malformed mixfile is refused with file and line, in the words of the original if it has some") {
  const std::vector<std::pair<const char*, const char*>> expected = {
      {"empty.txt", "empty.txt: not a mixfile: empty file"},
      {"freebsd-cut.txt", "freebsd-cut.txt:5: bad mix format: unexpected EOF: the counts are missing"},
      {"freebsd-json-cut.txt", "freebsd-json-cut.txt:1: bad mix format: not JSON, at byte 101"},
      {"freebsd-json-other.txt", "freebsd-json-other.txt:1: bad mix format: can't find \"serverstats\" or \"clientstats\""},
      {"freebsd-json-word.txt", "freebsd-json-word.txt:1: bad mix format: expected a count as the value of 'getattr'"},
      {"linux-cut.txt", "linux-cut.txt:12: bad mix format: unexpected EOF: the counts are missing"},
      {"linux-negative.txt",
       "linux-negative.txt:7: bad mix format: can't find 5 op values: expected one count for each name above"},
      {"linux-no-names.txt", "linux-no-names.txt:5: bad mix format: unexpected EOF after 'nfs:'"},
      {"list-no-total.txt", "list-no-total.txt:2: bad mix format: the line with 'total:' is missing above"},
      {"list-wrong-total.txt",
       "list-wrong-total.txt:24: bad mix format: the procedures above sum to 103211, not to their total of 103212"},
      {"no-calls.txt", "no-calls.txt: no calls were counted (/proc/net/rpc/nfsd, server, NFSv4)"},
      {"not-a-mixfile.txt",
       "not-a-mixfile.txt:1: not a mixfile: expected output of nfsstat, such as 'Server nfs v3:', or a copy of "
       "/proc/net/rpc/nfsd or nfs, found 'hello'"},
      {"no-head.txt",
       "no-head.txt:2: bad mix format: a line that says what is counted, such as 'Server nfs v3:', is missing above these names"},
      {"irix-v4.txt", "irix-v4.txt:1: bad mix format: expected 'V2:' or 'V3:' after 'NFS'"},
      {"overflow.txt", "overflow.txt:9: bad mix format: the counts do not fit into 64 bits"},
      {"raw-few.txt", "raw-few.txt:9: bad mix format: expected 22 counts or more, one for each procedure of NFSv3, found 3"},
      {"raw-no-procs.txt", "raw-no-procs.txt:3: bad mix format: expected the number of counts after 'proc3'"},
      {"raw-word.txt", "raw-word.txt:9: bad mix format: expected a count, found 'many'"},
      {"raw-wrong-number.txt",
       "raw-wrong-number.txt:9: bad mix format: expected 21 counts, as the number after 'proc3' says, found 22"},
      {"solaris-cut.txt", "solaris-cut.txt:22: bad mix format: unexpected EOF: 'read' is missing"},
      {"solaris-no-calls.txt", "solaris-no-calls.txt:4: bad mix format: can't find 'calls' value"},
      {"sunos-cut.txt", "sunos-cut.txt:10: bad mix format: unexpected EOF: 'wrcache' is missing"},
      {"sunos-names-only.txt", "sunos-names-only.txt:9: bad mix format: unexpected EOF: the counts are missing"},
      {"sunos-no-calls.txt", "sunos-no-calls.txt:8: bad mix format: can't find 'calls' value"},
      {"sunos-nothing-after-calls.txt", "sunos-nothing-after-calls.txt:8: bad mix format: unexpected EOF after 'calls'"},
      {"sunos-nothing-after-nfs.txt", "sunos-nothing-after-nfs.txt:6: bad mix format: unexpected EOF after 'nfs:'"},
      {"sunos-six-values.txt",
       "sunos-six-values.txt:10: bad mix format: can't find 7 op values (6 found): expected one count for each name above"},
      {"sunos-too-large.txt",
       "sunos-too-large.txt:10: bad mix format: can't find 7 op values: expected one count for each name above"},
  };
  std::set<std::string> tested;
  for (const auto& [file, message] : expected) {
    CHECK(error_of(kData + "malformed/" + file) == std::string("malformed/") + message);
    tested.insert(file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kData + "malformed"))
    CHECK(tested.count(entry.path().filename()) == 1);
  CHECK(error_of("no-such-mix").starts_with("no-such-mix: no such file, and no built-in mix (nhfsstone, "));
  CHECK(error_of(test_data("")).find("s a directory") != std::string::npos);
}

}  // namespace fsr::mix_test
