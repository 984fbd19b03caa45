// SPDX-License-Identifier: Apache-2.0
// Tests forms of vdbench's parameters that files of 5.04 use besides the plain ones.
#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "vdbench_checked.hpp"
#include "workloads/vdbench/files/structure.hpp"
#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/raw/area.hpp"

namespace fsr::vdbench_parameters_test {

using namespace fsr::vdbench;

namespace {

Definitions read(const std::string& text) {
  StatementReader reader({}, [](const std::string& name) -> std::string { throw std::runtime_error(name); });
  return checked_define(reader.read({{"f", text}}));
}

const std::string kSd = "sd=sd1,lun=/x,size=16m\n", kWd = "wd=wd1,sd=sd1\n";
const std::string kFsd = "fsd=fsd1,anchor=/d,files=2\n", kFwd = "fwd=fwd1,fsd=fsd1\n", kFileRd = "rd=rd1,fwd=fwd1,fwdrate=10\n";

}  // namespace

TEST_CASE("vdbench takes an ambiguous abbreviation for the keyword of version 5.04") {
  const Definitions all = read(
      "comp=2\nform=64k\n" + kSd +
      "wd=default,ho=(10,20),se=0,st=(1m,1m)\nwd=wd1,sd=sd1\nrd=rd1,forx=8k,io=10,st=5,sta=\"a\",en=(\"b\",cons,master),el=60\n");
  REQUIRE(all.general.content.compression == 2);
  REQUIRE(all.general.format_transfer == 64 << 10);
  REQUIRE(all.workloads[0].hot_band.to == 20);
  REQUIRE(all.workloads[0].seek == Seek::sequential);
  REQUIRE(all.workloads[0].stride->second == 1 << 20);
  REQUIRE(all.runs[0].loops.at(0).name == std::string("xfersize"));
  REQUIRE(all.runs[0].stop_curve == 5);
  REQUIRE(all.runs[0].start == std::vector<std::string>{"a"});
  REQUIRE(all.runs[0].end == std::vector<std::string>{"b"});
  REQUIRE(read(kFsd + "fwd=fwd1,fsd=fsd1,op=getattr,readpct=30\n" + kFileRd).file_workloads[0].operation == Operation::getattr);
}

TEST_CASE("vdbench's parser reads parameters in lines of their own") {
  const Definitions all = read("data_errors=5\nsd=sd1\nlun=/x\nsize=1.1g\nwd=wd1\nsd=sd1\nrdpct=0\nrd=rd1\nwd=wd1\niorate=10\n");
  REQUIRE(all.storages[0].size == 1181116006);
  REQUIRE(all.workloads[0].storages == std::vector<size_t>{0});
  REQUIRE(all.workloads[0].read_percent == 0);
  REQUIRE(all.runs[0].rates[0].value == 10);
}

TEST_CASE("vdbench's parser takes a comma at the end of all files, and goes on in the next file") {
  const std::string complete = kSd + kWd + "rd=rd1,wd=wd1,iorate=10,elapsed=20";
  for (const char* end : {",", ",\n", ",\n\n* more\n", ", elapsed=10\n"}) REQUIRE(read(complete + end).runs.at(0).elapsed == 20);
  StatementReader reader({}, [](const std::string& name) -> std::string { throw std::runtime_error(name); });
  const Definitions all = checked_define(reader.read({{"f", complete + ",\n"}, {"g", "warmup=4\n"}}));
  REQUIRE(all.runs.at(0).warmup == 4);
}

TEST_CASE("vdbench's RD without a WD has the defaults of WDs") {
  const Definitions all = read(kSd + "wd=default,xfersize=8k,rdpct=0\nrd=rd1,sd=sd1,iorate=max\n");
  const PlannedRun run = checked_plan(all).at(0);
  REQUIRE(run.raw_works.at(0).workload.transfers.only() == 8192);
  REQUIRE(run.raw_works.at(0).workload.read_percent == 0);
}

TEST_CASE("vdbench's parser reads distribution=variable before or behind its rates") {
  for (const char* parameters :
       {"iorate=(100,10,50%,50%),distribution=(deterministic,variable)", "dist=variable,io=(100,10,50%,50%)"}) {
    const Run run = read(kSd + kWd + "rd=rd1,wd=wd1,elapsed=20," + parameters + "\n").runs[0];
    REQUIRE(run.rates.size() == 1);
    REQUIRE(timed_steps(run) == std::vector<std::pair<double, double>>{{100, 10}, {50, 10}});
  }
  REQUIRE(read(kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=(5,1,10,2),distribution=variable\n").runs[0].rate_steps.size() == 2);
  const Run run = read(kSd + kWd + "rd=default,iorate=(1,50%),dist=variable\nrd=rd1,wd=wd1,elapsed=8\n").runs[0];
  REQUIRE(timed_steps(run) == std::vector<std::pair<double, double>>{{1, 4}});
}

TEST_CASE("vdbench's parser reads all forms of values") {
  const Definitions all = read(
      "create_anchors=y\nvalidate=(yes,no)\njournal=no\nhistogram=(default,100,20,200,1m)\ncompression=50\n"
      "startcmd=(\"a\",log)\nhd=h1,system=localhost\nhd=localhost\n"
      "fsd=fsd1,anchor=/d/,total_size=1m\nfwd=fwd1,fsd=fsd1,xfersize=1000,host=(h1,localhost)\n"
      "rd=rd1,fwd=fwd1,fwdrate=10,format=(yes,no),depth=2,sizes=(1.5k,2k),wss=1m,compression=(40,50)\n");
  REQUIRE(all.general.create_anchors);
  REQUIRE(!all.general.validation.on);
  REQUIRE(!all.general.validation.journal);
  REQUIRE(all.general.histogram == std::vector<int64_t>{100'000, 120'000, 140'000, 160'000, 180'000, 200'000, 1'000'000});
  REQUIRE(all.general.content.compression == 2);
  REQUIRE(all.general.start == std::vector<std::string>{"a"});
  REQUIRE(all.systems[0].anchor == "/d");
  REQUIRE(all.file_workloads[0].transfers.only() == 1000);
  REQUIRE(!all.runs[0].format.any());
  const std::vector<PlannedRun> runs = checked_plan(all);
  REQUIRE(runs.size() == 4);
  REQUIRE(runs[0].systems[0].depth == 2);
  REQUIRE(runs[0].systems[0].sizes[0].first == 1536);
  REQUIRE(runs[0].systems[0].working_set == 1 << 20);
  REQUIRE(runs[0].content.compression == 2.5);
  const Definitions raw =
      read(kSd + "wd=wd1,sd=sd1,xfersize=(4k,33.3,8k,33.3,16k,33.3)\nrd=rd1,wd=wd1,iorate=1,forseekpct=(0-100,50),maxdata=2\n");
  REQUIRE(checked_plan(raw).at(1).workloads[0].seek_percent == 50);
  REQUIRE(raw.runs[0].max_data == 2);
}

TEST_CASE("vdbench's range over the end continues at the beginning") {
  constexpr uint64_t kSize = 1 << 20, kQuarter = kSize / 4;
  for (const char* seek : {"0", "100"}) {
    const PlannedRun run =
        checked_plan(read(kSd + "wd=wd1,sd=sd1,range=(75,125),seekpct=" + seek + "\nrd=rd1,wd=wd1,iorate=1\n")).at(0);
    const RawWork& work = run.raw_works.at(0);
    const Areas areas(work, run.storages[0], kSize, true);
    Cursors cursors(1);
    Chooser chooser(work, run.storages[0], areas, cursors, 0, 1);
    std::set<uint64_t> seen;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t offset = chooser.next()->offset;
      REQUIRE(offset % 4096 == 0);
      REQUIRE(((offset >= kSize - kQuarter && offset < kSize) || (offset != 0 && offset < kQuarter)));
      seen.insert(offset);
    }
    REQUIRE(seen.size() == 127);  // all blocks except block 0
  }
}

TEST_CASE("vdbench rounds the ends of a range down to the largest transfer, and a WD's range replaces its SD's") {
  auto offsets = [](const std::string& sd, const std::string& wd, uint64_t size, bool device) {
    const PlannedRun run =
        checked_plan(read("sd=sd1,lun=/x,size=16m" + sd + "\nwd=wd1,sd=sd1,rdpct=0" + wd + "\nrd=rd1,wd=wd1,iorate=1\n")).at(0);
    const RawWork& work = run.raw_works.at(0);
    const Areas areas(work, run.storages[0], size, device);
    Cursors cursors(1);
    Chooser chooser(work, run.storages[0], areas, cursors, 0, 1);
    std::set<uint64_t> seen;
    for (int i = 0; i < 5000; ++i) {
      const Chooser::Next next = chooser.next().value();
      REQUIRE(next.offset + next.length <= size);
      seen.insert(next.offset);
    }
    return seen;
  };
  constexpr uint64_t kSize = 10'000'384;
  auto all_are = [](const std::set<uint64_t>& seen, uint64_t unit, uint64_t more = 0) {
    return std::ranges::all_of(seen, [&](uint64_t offset) { return offset % unit == more; });
  };
  for (const bool device : {false, true})
    for (const char* seek : {"", ",seekpct=0", ",seekpct=50", ",seekpct=poisson", ",rhpct=50,whpct=50"}) {
      const std::set<uint64_t> part = offsets(",range=(7,33)", seek, kSize, device);
      CHECK(all_are(part, 4096));
      CHECK(*part.begin() == kSize * 7 / 100 / 4096 * 4096);
      CHECK(all_are(offsets("", std::string(",hotband=(13,57)") + seek, kSize, device), 4096));
      CHECK(all_are(offsets(",range=(77,133)", std::string(",xfersize=12k") + seek, kSize, device), 12288));
      CHECK(all_are(offsets(",range=(3,99),offset=512", seek, kSize, device), 4096, 512));
    }
  CHECK(all_are(offsets("", ",range=(11,88),xfersize=(4k,50,64k,50)", kSize, false), 4096));
  const std::set<uint64_t> replaced = offsets(",range=(50,100)", ",range=(10,20)", 16 << 20, false);
  CHECK(*replaced.begin() == (16u << 20) / 10 / 4096 * 4096);
  CHECK(*replaced.rbegin() < (16u << 20) / 5);
}

TEST_CASE("vdbench's format writes an SD from end to end") {
  PlannedRun run = checked_plan(read(kSd + "wd=wd1,sd=sd1,rdpct=0,seekpct=eof,xfersize=1000k\nrd=rd1,wd=wd1,iorate=1\n")).at(0);
  RawWork& work = run.raw_works.at(0);
  auto written = [&] {
    const Areas areas(work, run.storages[0], 5 << 20, false);
    Cursors cursors(1);
    Chooser chooser(work, run.storages[0], areas, cursors, 0, 1);
    uint64_t end = 0;
    for (auto next = chooser.next(); next; next = chooser.next()) {
      CHECK(next->offset == end);
      end += next->length;
    }
    return end;
  };
  CHECK(written() == 5 * 1000 * 1024);
  work.is_format = true;
  CHECK(written() == 5 << 20);
}

TEST_CASE("vdbench repeats storages and workloads for each host") {
  const std::string rest = "fwd=fwd_$host,fsd=fsd_!host\nrd=rd1,fwd=fwd*,fwdrate=#hosts\n";
  const Definitions two =
      read("hd=a,system=localhost\nhd=b,system=localhost\nfsd=fsd_$host,\nanchor=/d/#host,files=#hosts\n" + rest);
  REQUIRE(two.systems.size() == 2);
  CHECK(two.systems[0].anchor == "/d/0");
  CHECK(two.systems[1].name == "fsd_b");
  CHECK(two.systems[1].files == 2);
  REQUIRE(two.file_workloads.size() == 2);
  CHECK(two.file_workloads[1].systems == std::vector<size_t>{1});
  CHECK(two.runs[0].file_workloads.size() == 2);
  CHECK(two.runs[0].rates[0].value == 2);
  const Definitions one = read("fsd=fsd_$host\nanchor=/d/$host_#host\n" + rest);
  REQUIRE(one.systems.size() == 1);
  CHECK(one.systems[0].anchor == "/d/localhost_0");
}

TEST_CASE("clients of a vdbench host are hosts of its machine, the first in its place and the others behind all hosts") {
  const Definitions all = read(
      "hd=a,clients=2\nhd=b,system=s,clients=2\nhd=c\nsd=sd_$host,lun=/d/#host,size=1m,host=$host\n"
      "wd=w,sd=*\nrd=r,wd=w,iorate=1\n");
  std::vector<std::string> names;
  for (const Host& host : all.hosts) names.push_back(host.name + " " + host.system);
  CHECK(names == std::vector<std::string>{"a_cl0 a", "b_cl0 s", "c ", "a_cl1 a", "b_cl1 s"});
  REQUIRE(all.storages.size() == 5);
  CHECK(all.storages[3].name == "sd_a_cl1");
  CHECK(all.storages[3].hosts == HostNumbers{3});
  const Definitions local = read("hd=default,clients=2\n" + kSd + kWd + "rd=rd1,wd=wd1,iorate=1\n");
  REQUIRE(local.hosts.size() == 2);
  CHECK(local.hosts[1].name == "localhost_cl1");
}

TEST_CASE("vdbench's ranges of numbers go up, and its titles have the warmup, as in 5.04") {
  const std::string text =
      simulate(checked_plan(read("\xEF\xBB\xBF" + kSd + kWd + "rd=rd1,wd=wd1,iorate=10,warmup=15,forrdpct=(100-0,10)\n")));
  CHECK(text.starts_with("Simulating RD=rd1; I/O rate: 10; elapsed=30 warmup=15; For loops: rdpct=100\n1 runs, 45 seconds"));
}

TEST_CASE("vdbench notes threads that can't be divided among FSDs and operations") {
  const std::string fsds = "fsd=fsd,anchor=/d,count=(1,3)\nfwd=fwd1,fsd=fsd*,threads=";
  const std::string rd = "rd=rd1,fwd=fwd1,fwdrate=10,operations=(read,write)\n";
  CHECK(checked_plan(read(fsds + "12\n" + rd)).at(0).notes.empty());
  CHECK(checked_plan(read(fsds + "20\n" + rd)).at(0).notes ==
        std::vector<std::string>{"rd=rd1,fwd=fwd1: Mismatch between threads requested (20) and used (18)"});
}

TEST_CASE("vdbench reports every mistake, and none that only follows from another") {
  std::string said;
  try {
    read("port=x\nsd=sd1,lun=/x,colour=red,size=1q\nwd=wd1,sd=sd1,rdpct=200\nrd=rd1,wd=wd1,elapsed=x,iorate=1\n");
  } catch (const std::runtime_error& e) {
    said = e.what();
  }
  CHECK(std::ranges::count(said, '\n') == 4);
  for (const char* part : {"f:1:6: ", "\nf:2:15: 'colour' is not known here", "\nf:2:31: '1q'", "\nf:3:21: '200' is out of range",
                           "\nf:4:23: 'x'"}) {
    INFO(said);
    CHECK(said.find(part) != std::string::npos);
  }
}

TEST_CASE("vdbench's parser accepts a comma before the next definition") {
  const Definitions all = read(
      "compratio=2,\nsd=sd1,lun=/x,size=16m,\nsd=sd2,lun=/y,size=16m,\nwd=wd1,sd=sd1,\nwd=wd2,\nsd=sd2,rdpct=0,\n"
      "rd=rd1,wd=wd1,iorate=1,\nrd=rd2,wd=wd2,iorate=2\n");
  CHECK(all.storages.size() == 2);
  REQUIRE(all.workloads.size() == 2);
  CHECK(all.workloads[1].storages == std::vector<size_t>{1});
  CHECK(all.runs.size() == 2);
}

TEST_CASE("vdbench makes one level of directories for depth=0, too") {
  const Definitions all = read("fsd=fsd1,anchor=/d,depth=0,width=3,files=2\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=1\n");
  const Structure structure(all.systems[0]);
  CHECK(structure.directories() == 3);
  CHECK(structure.files() == 6);
}

TEST_CASE("vdbench passes over format= of a run on SDs") {
  const std::vector<PlannedRun> runs = checked_plan(read(kSd + kWd + "rd=rd1,wd=wd1,iorate=1,format=(restart,only)\n"));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].notes == std::vector<std::string>{"rd=rd1: format= has no effect on SDs"});
}

TEST_CASE("vdbench refuses an area that has no room for a transfer") {
  auto areas = [](const std::string& sd, const std::string& wd, bool device) {
    const PlannedRun run =
        checked_plan(read("sd=sd1,lun=/x,size=1m" + sd + "\nwd=wd1,sd=sd1" + wd + "\nrd=rd1,wd=wd1,iorate=1\n")).at(0);
    Areas(run.raw_works.at(0), run.storages[0], 1 << 20, device);
  };
  const std::string hits = ",hitarea=4k", all_hits = ",rhpct=50";
  REQUIRE_NOTHROW(areas(hits, all_hits, false));
  REQUIRE_THROWS(areas(hits, all_hits, true));  // only block 0
  REQUIRE_NOTHROW(areas(",hitarea=8k", all_hits, true));
  REQUIRE_NOTHROW(areas(",hitarea=0", "", false));
  REQUIRE_THROWS_WITH(areas(",hitarea=0", all_hits, false), "sd=sd1, wd=wd1: hitarea=0 is too small for xfersize=4k");
  REQUIRE_THROWS(areas(",align=2m", "", true));
  REQUIRE_NOTHROW(areas(",align=512k", "", true));
  REQUIRE_THROWS(areas("", ",seekpct=0,xfersize=64k,streams=64", false));
  REQUIRE_NOTHROW(areas("", ",seekpct=0,xfersize=64k,streams=8", false));
}

}  // namespace fsr::vdbench_parameters_test
