// SPDX-License-Identifier: Apache-2.0
// Tests vdbench's parameter files: their meaning, and the messages about wrong ones.
#include <fcntl.h>

#include <map>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "vdbench_checked.hpp"

namespace fsr::vdbench_language_test {

using namespace fsr::vdbench;

namespace {

// Returns the content of files that others include.
std::string open_none(const std::string& name) {
  if (name == "dir/inc") return "sd=sd9,lun=/dev/null,size=9m\n";
  if (name == "nested") return "include=dir/inc\n";
  throw std::runtime_error(name + ": No such file or directory");
}

Definitions read(const std::string& text, std::map<std::string, std::string> names = {}) {
  StatementReader reader(std::move(names), open_none);
  return checked_define(reader.read({{"f", text}}));
}

std::string simulated(const std::string& text, std::map<std::string, std::string> names = {}) {
  const Definitions all = read(text, std::move(names));
  return simulate(checked_plan(all));
}

std::string complaint(const std::string& text) {
  try {
    const Definitions all = read(text);
    checked_plan(all);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no complaint";
}

const std::string kSd = "sd=sd1,lun=/x,size=16m\n", kWd = "wd=wd1,sd=sd1\n", kRd = "rd=rd1,wd=wd1,iorate=10\n";
const std::string kFsd = "fsd=fsd1,anchor=/d,files=2\n", kFwd = "fwd=fwd1,fsd=fsd1\n", kFileRd = "rd=rd1,fwd=fwd1,fwdrate=10\n";

}  // namespace

TEST_CASE("vdbench's parser handles comments, continued lines, blanks and eof") {
  const Definitions all = read(
      "* a comment\n# another\n/ a third\n\n"
      "sd=sd1,lun=/x,   what follows a blank is a comment\n"
      "size=16m,\n"
      "* in between\n"
      "threads=4 and this\n"
      "wd=wd1,sd=(sd1, sd1),xfersize=(4k,\n50,8k,50)\n" +
      kRd + "eof\nnonsense\n");
  REQUIRE(all.storages.size() == 1);
  REQUIRE(all.storages[0].size == 16 << 20);
  REQUIRE(all.storages[0].threads == 4);
  REQUIRE(all.workloads[0].transfers.shares == SizeShares{{4096, 50}, {8192, 50}});
}

TEST_CASE("vdbench's parser handles abbreviations, case, defaults, counts, wildcards and ranges") {
  const Definitions all = read(
      "SD=default,size=1g,THR=3\n"
      "sd=sd,lun=/x%02d,count=(1,12)\n"
      "wd=wd1,sd=sd*\nwd=wd2,sd=(sd3-sd5,sd12)\nwd=wd3,sd=sd1\n"
      "rd=rd1,wd=wd*,io=max,el=60,in=2,xf=(1k-4k,d)\n");
  REQUIRE(all.storages.size() == 12);
  REQUIRE(all.storages[11].name == "sd12");
  REQUIRE(all.storages[0].lun == "/x01");
  REQUIRE(all.storages[11].threads == 3);
  REQUIRE(all.workloads[0].storages.size() == 12);
  REQUIRE(all.workloads[1].storages == std::vector<size_t>{2, 3, 4, 11});
  REQUIRE(all.runs[0].workloads.size() == 3);
  REQUIRE(all.runs[0].elapsed == 60);
  REQUIRE(all.runs[0].loops.at(0).numbers.size() == 3);
}

TEST_CASE("vdbench's loops of seekpct and operations replace those of the defaults, and flags may be hexadecimal") {
  const Definitions all = read(
      "sd=sd1,lun=/x,size=16m,openflags=0x1000\nwd=wd1,sd=sd1\nrd=default,forseekpct=(0,50),io=max\n"
      "rd=rd1,wd=wd1,forseekpct=(eof,100,seqnz)\nrd=rd2,wd=wd1\n");
  REQUIRE(all.storages[0].flags.flags == O_DSYNC);
  const std::vector<PlannedRun> runs = checked_plan(all);
  REQUIRE(runs.size() == 5);
  REQUIRE(runs[0].workloads[0].seek == Seek::once);
  REQUIRE(runs[1].workloads[0].seek_percent == 100);
  REQUIRE(runs[2].workloads[0].seek == Seek::sequential_elsewhere);
  REQUIRE(runs[4].workloads[0].seek_percent == 50);
}

TEST_CASE("vdbench's parser reads numbers, times and percentages") {
  const Definitions all = read(
      "fsd=fsd1,anchor=/d,size=1m,totalsize=50%,wss=1g\n"
      "fwd=fwd1,fsd=fsd1,stopafter=10%,fileio=(seq,delete),fileselect=(poisson,4)\n"
      "rd=rd1,fwd=fwd1,fwdrate=(100-300,100),el=2m,warmup=1h,forthreads=(64-16,d),format=(yes,once)\n");
  REQUIRE(all.systems[0].sizes[0].first == 1 << 20);
  REQUIRE(all.systems[0].total_percent);
  REQUIRE(all.systems[0].working_set == 1u << 30);
  REQUIRE(all.file_workloads[0].stop_after == 10);
  REQUIRE(all.file_workloads[0].deletes_first);
  REQUIRE(all.file_workloads[0].midpoint == 4);
  REQUIRE(all.runs[0].elapsed == 120);
  REQUIRE(all.runs[0].warmup == 3600);
  REQUIRE(all.runs[0].rates.size() == 3);
  // One format, then three rates in each of three rounds.
  REQUIRE(checked_plan(all).size() == 10);
}

TEST_CASE("vdbench's parser substitutes variables and includes files") {
  const Definitions all =
      read("include=dir/inc\nsd=sd1,lun=$lun,size=!n\nwd=wd1,sd=sd*,host=$host\n" + kRd, {{"lun", "/a,threads=2"}, {"n", "4m"}});
  REQUIRE(all.storages.size() == 2);
  REQUIRE(all.storages[1].lun == "/a");
  REQUIRE(all.storages[1].threads == 2);
  REQUIRE_THROWS_WITH(read(kSd + kWd + kRd, {{"x", "1"}}), "x=1: no parameter file has $x");
}

// Expected: as 5.04.06 prints them.
TEST_CASE("vdbench turns several rates into a loop: on FSDs at the position of the rates, on SDs the innermost") {
  REQUIRE(simulated("fsd=fsd1,anchor=/d\nfwd=fwd1,fsd=fsd1\n"
                    "rd=rd1,fwd=fwd1,elapsed=5,format=yes,fwdrate=(10,20),foroperations=(read,write)\n") ==
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=5; fwdrate=10; For loops: fwdrate=10 operation=read\n"
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=5; fwdrate=10; For loops: fwdrate=10 operation=write\n"
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=5; fwdrate=20; For loops: fwdrate=20 operation=read\n"
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=5; fwdrate=20; For loops: fwdrate=20 operation=write\n"
          "8 runs, 20 seconds of load, without formatting\n");
  REQUIRE(
      simulated(kSd + kWd +
                "rd=default,iorate=(100,max)\nrd=rd1,wd=wd1,elapsed=5,forthreads=(1,2)\nrd=rd2,wd=wd1,elapsed=5,iorate=7\n") ==
      "Simulating RD=rd1; I/O rate: 100; elapsed=5; For loops: threads=1 iorate=100\n"
      "Simulating RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: threads=1 iorate=max\n"
      "Simulating RD=rd1; I/O rate: 100; elapsed=5; For loops: threads=2 iorate=100\n"
      "Simulating RD=rd1; I/O rate: Uncontrolled MAX; elapsed=5; For loops: threads=2 iorate=max\n"
      "Simulating RD=rd2; I/O rate: 7; elapsed=5; For loops: None\n"
      "5 runs, 25 seconds of load, without formatting\n");
}

TEST_CASE("vdbench's simulation lists every run of every loop") {
  REQUIRE(simulated("sd=sd1,lun=/"
                    "x,size=16m\nwd=wd1,sd=sd1,rdpct=100\nrd=run1,wd=wd1,io=curve,el=10,in=1,forx=(1k-2k,d),forthreads=(1-2,d),"
                    "curve=(20,60)\n") ==
          "Simulating RD=run1; I/O rate: Uncontrolled curve; elapsed=10; For loops: xfersize=1k threads=1\n"
          "Simulating RD=run1_(20%); I/O rate: 2000; elapsed=10; For loops: xfersize=1k threads=1\n"
          "Simulating RD=run1_(60%); I/O rate: 6000; elapsed=10; For loops: xfersize=1k threads=1\n"
          "Simulating RD=run1; I/O rate: Uncontrolled curve; elapsed=10; For loops: xfersize=1k threads=2\n"
          "Simulating RD=run1_(20%); I/O rate: 2000; elapsed=10; For loops: xfersize=1k threads=2\n"
          "Simulating RD=run1_(60%); I/O rate: 6000; elapsed=10; For loops: xfersize=1k threads=2\n"
          "Simulating RD=run1; I/O rate: Uncontrolled curve; elapsed=10; For loops: xfersize=2k threads=1\n"
          "Simulating RD=run1_(20%); I/O rate: 2000; elapsed=10; For loops: xfersize=2k threads=1\n"
          "Simulating RD=run1_(60%); I/O rate: 6000; elapsed=10; For loops: xfersize=2k threads=1\n"
          "Simulating RD=run1; I/O rate: Uncontrolled curve; elapsed=10; For loops: xfersize=2k threads=2\n"
          "Simulating RD=run1_(20%); I/O rate: 2000; elapsed=10; For loops: xfersize=2k threads=2\n"
          "Simulating RD=run1_(60%); I/O rate: 6000; elapsed=10; For loops: xfersize=2k threads=2\n"
          "4 runs, 120 seconds of load, without formatting\n");
  REQUIRE(simulated(kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,foroperations=(read,getattr)\n") ==
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=30; fwdrate=max. For loops: operation=read\n"
          "Simulating RD=format_for_rd1\n"
          "Simulating RD=rd1; elapsed=30; fwdrate=max. For loops: operation=getattr\n"
          "4 runs, 60 seconds of load, without formatting\n");
}

TEST_CASE("vdbench divides threads and rates among FSDs and operations") {
  const Definitions all = read(
      "fsd=fsd,anchor=/d,count=(1,2)\nfwd=default,threads=9\nfwd=a,fsd=fsd*,skew=60\nfwd=b,fsd=fsd1\n"
      "rd=rd1,fwd=*,fwdrate=100,operations=(read,create)\n");
  const PlannedRun run = checked_plan(all).at(0);
  REQUIRE(run.file_works.size() == 6);
  REQUIRE(run.file_works[0].workload.threads == 2);
  REQUIRE(run.file_works[0].share == 15);
  REQUIRE(run.file_works[5].workload.threads == 4);
  REQUIRE(run.file_works[5].share == 20);
}

TEST_CASE("vdbench refuses bad files with line and column") {
  const std::pair<std::string, const char*> kBad[] = {
      {"", "no storage is defined, expected sd= or fsd="},
      {"sd", "f:1:3: expected '=' after sd"},
      {"=x\n", "f:1:1: expected KEYWORD=VALUE"},
      {"sd=\n", "f:1:4: expected a value"},
      {"sd=(a\n", "f:1:6: expected ')' or ',' in the list of sd"},
      {"sd=a)\n", "f:1:5: expected a value without parentheses"},
      {"sd=(a)b\n", "f:1:7: expected ',' or the end of the line"},
      {"sd=\"a\n", "f:1:5: missing closing quote"},
      {"sd=a\"b\"\n", "f:1:5: expected a value that is quoted as a whole"},
      {"sd=sd1,lun=/x,size=(1,\n", "f:1:22: expected ')' or ',' in the list of size"},
      {"sd=sd1,lun=/x,colour=red\n", "f:1:15: 'colour' is not known here, expected a parameter of sd="},
      {"sd=sd1,l=/x\n", "f:1:8: 'l' is not known here"},
      {"sd=sd1,si=1m,size=x\n", "f:1:19: 'x': expected a number"},
      {"sd=sd1,lun=/x,size=1q\n", "f:1:20: '1q': expected a number"},
      {"sd=sd1,lun=/x,size=1.5\n", "f:1:20: '1.5' is out of range, expected a whole number"},
      {"sd=sd1,lun=/x,threads=0\n", "f:1:23: '0' is out of range"},
      {"sd=sd1,lun=/x,threads=(1,2)\n", "f:1:26: expected one value of threads"},
      {"sd=sd1,lun=/x,hitarea=100\n", "f:1:23: expected a multiple of 512"},
      {"sd=sd1,lun=/x,offset=513\n", "f:1:22: expected a multiple of 512"},
      {"sd=sd1,lun=/x,range=10\n", "f:1:15: expected range=(from,to)"},
      {"sd=sd1,lun=/x,range=(20,10)\n", "f:1:25: expected an end above the beginning"},
      {"data_errors=(1,2,3)\n" + kSd, "f:1:1: expected N, (N,SECONDS), \"COMMAND\", remove or (remove,SECONDS)"},
      {"dedupratio=2\ndedupflipflop=hot\n" + kSd + kWd + kRd, "f:2:1: dedupflipflop=hot: expected deduphotsets="},
      {"dedupratio=2\ndeduphotsets=(1,2,3)\n" + kSd, "f:2:1: expected pairs of a number of sets"},
      {"sd=sd1,lun=/x,openflags=0x42\n", "f:1:25: expected 0x"},
      {"sd=sd1,lun=/x,openflags=o_fast\n", "f:1:25: 'o_fast' is not known here, expected o_direct,"},
      {"sd=sd1,lun=/x,replay=(1)\n", "f:1:15: replay= is refused: the format of Swat's traces is not public"},
      {"sd=sd1,lun=/x,kstat=a\n", "f:1:15: kstat= is refused: only Solaris has this"},
      {"sd=sd1,lun=/x\nsd=sd1,lun=/y\n", "f:2:4: sd= 'sd1' is defined twice"},
      {kSd + "wd=wd1,sd=sd1,stride=(0,9999999999999999999999)\n", "f:2:25: expected 0 to 1152921504606846976 bytes"},
      {"sd=a b\nsd=/x\n", "f:2:4: expected a name of letters"},
      {"sd=sd1,size=1m\nwd=w\nrd=r,wd=w,io=1\n", "f:1:1: sd=sd1: expected lun="},
      {"sd=sd,lun=/x,count=5\n", "f:1:14: expected count=(FIRST,HOW MANY)"},
      {"sd=default,lun=/x\n", "f:1:1: expected no lun= or anchor= among the defaults"},
      {kSd + "wd=wd1,sd=sd2\n", "f:2:11: no SD is named 'sd2'"},
      {kSd + "wd=wd1,sd=sd1,xfersizes=4k\n", "f:2:15: 'xfersizes' is not known here, expected a parameter of wd="},
      {kSd + "wd=wd1,sd=sd1,xfersize=1000\n", "f:2:24: '1000': expected a multiple of 512"},
      {kSd + "wd=wd1,sd=sd1,xfersize=(4k,50,8k,40)\n", "f:2:15: the percentages add up to 90, expected 100"},
      {kSd + "wd=wd1,sd=sd1,xfersize=(4k,8k,3k)\n", "f:2:25: expected (smallest,largest,alignment)"},
      {kSd + "wd=wd1,sd=sd1,rdpct=101\n", "f:2:21: '101' is out of range"},
      {kSd + "wd=wd1,sd=sd1,seekpct=sideways\n", "f:2:23: 'sideways': expected a number"},
      {kSd + "wd=wd1,sd=sd1,streams=1\n", "f:2:23: '1' is out of range"},
      {kSd + "wd=wd1,sd=sd1,r=5\n", "f:2:15: 'r' is not known here"},
      {kSd + "wd=wd1,sd=sd1,s=5\n", "f:2:15: 's' is not known here"},
      {kSd + "wd=wd1,sd=sd1,st=5\n", "f:2:15: expected stride=(shortest,longest)"},
      {kSd + "wd=wd1,sd=sd1,stride=(2m,1m)\n", "f:2:26: expected a longest stride that is not below"},
      {kSd + "wd=wd1,sd=sd1,threads=4\n", "f:2:15: threads= of a WD is only for concatenatesds=yes"},
      {kSd + "wd=wd1,sd=sd1,iorate=10,skew=50\n", "f:2:1: wd=wd1: expected iorate= or skew="},
      {kSd + "wd=wd1,sd=sd1,host=h2\n", "f:2:20: no host is named 'h2'"},
      {"sd=sd1,lun=/x,host=h1,lun=/y,host=h2\n" + kWd + kRd, "f:1:20: no host is named 'h1'"},
      {"sd=sd1,lun=/x,lun=/y\n" + kWd + kRd, "f:1:15: lun= is given twice, expected one"},
      {"sd=sd1,lun=/x,streams=2\n" + kWd + kRd, "f:1:15: streams= is refused: a parameter of a WD in 5.04"},
      {kSd + kWd + "rd=rd1,wd=wd2,iorate=1\n", "f:3:11: no WD is named 'wd2'"},
      {kSd + kWd + "rd=rd1,wd=wd1\n", "f:3:1: rd=rd1: expected iorate="},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=fast\n", "f:3:22: 'fast': expected a number"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=0\n", "f:3:22: expected rates above 0"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=(1-10)\n", "f:3:23: expected a range and its step"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=(1-10,0)\n", "f:3:28: expected a step above 0"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=(1-100k,1)\n", "f:3:15: iorate: expected at most 10000 values"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,elapsed=10,interval=3\n",
       "f:3:1: rd=rd1: expected elapsed= and warmup= to be multiples"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,elapsed=10,interval=10\n", "f:3:1: rd=rd1: expected elapsed= to be twice"},
      {kSd + kWd + "rd=rd1,wd=wd1,format=only\n", "f:3:1: rd=rd1: expected iorate="},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,forfiles=(1,2)\n", "f:3:24: files= is for FSDs"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,forxfersize=(1000)\n", "f:3:24: '1000': expected a multiple of 512"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,distribution=normal\n", "f:3:37: 'normal' is not known here, expected exponential,"},
      {kSd + kWd + kRd + "wd=wd2,sd=sd1\n", "f:4:1: 'wd' comes too late: expected WDs or FWDs before RDs"},
      {kSd + kWd + "compratio=2\n", "f:3:1: 'compratio' is not known here, expected a parameter of wd="},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=(0,max)\n", "f:3:23: expected rates above 0"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=10,dist=variable\n", "f:3:22: expected seconds after each rate"},
      {kSd + kWd + "rd=rd1,wd=wd1,iorate=1,maxdata=10%\n", "f:3:32: expected bytes, or below 100"},
      {kSd + kWd + "rd=rd1,wd=wd1,sd=setsofx,iorate=1\n", "f:3:18: 'x': expected a number"},
      {kSd + kFsd, "f:2:1: expected either SDs and WDs or FSDs and FWDs"},
      {kSd + kWd, "f:2:1: no run is defined, expected rd="},
      {"swat=x\n", "f:1:1: swat= is refused: Swat's format is not public"},
      {"histogram=(1,2)\n", "f:1:12: expected (default,EDGE,...)"},
      {"histogram=default\n", "f:1:1: expected (default,EDGE,...)"},
      {"histogram=(default,100,20)\n", "f:1:24: expected an edge after the width"},
      {"histogram=(default,100,1,1s)\n", "f:1:1: expected at most 64 buckets"},
      {"journal=(max=1g)\n", "f:1:10: max= is refused: the journal grows as it needs to"},
      {"validate=(yes,ignore_zero_reads)\n", "f:1:15: ignore_zero_reads is refused"},
      {"validate=reportdedupsets\n", "f:1:10: reportdedupsets is refused"},
      {"compression=1\n", "f:1:13: '1' is out of range"},
      {"data_errors=remove\n" + kFsd + kFwd + kFileRd, "f:1:1: data_errors=remove: expected SDs"},
      {"pattern=/x,compratio=2\n" + kSd + kWd + kRd, "f:1:9: expected either pattern= or compratio="},
      {"misc=(fifo=1)\n", "f:1:7: '1' is out of range"},
      {"hd=h1,clients=0\n", "f:1:15: '0' is out of range"},
      {"rg=r1,devices=(1)\n", "f:1:1: rg= is refused"},
      {"include=none\n", "f:1:8: can't include none: No such file"},
      {"include=nested\n", "nested:1:8: an include inside"},
      {"sd=sd1,lun=$where\n", "f:1:12: unknown variable $where, expected where=VALUE"},
      {"fsd=fsd1\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", "f:1:1: fsd=fsd1: expected anchor="},
      {"fsd=fsd1,anchor=/d,sizes=(4k,50,8k)\n", "f:1:33: expected a percentage after each size"},
      {"fsd=fsd1,anchor=/d,sizes=(4k,50,8k,10)\n", "f:1:20: the percentages add up to 60, expected 100"},
      {"fsd=fsd1,anchor=/d,mask=x%d\n", "f:1:25: expected a name that begins with vdb"},
      {"fsd=fsd1,anchor=/d,depth=65\n", "f:1:26: '65' is out of range"},
      {"fsd=a,anchor=/d\nfsd=b,anchor=/d/e\nfwd=w\nrd=r,fwd=w,fwdrate=1\n",
       "f:2:1: fsd=b: the anchor is inside the anchor of fsd=a"},
      {"fsd=a,anchor=/d/\nfsd=b,anchor=/d/e/\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", "f:2:1: fsd=b: the anchor is inside"},
      {"fsd=a,anchor=/d\nfsd=b,anchor=/d/,files=3\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", "f:2:1: fsd=a and fsd=b share an anchor"},
      {"fsd=a,anchor=/d\nfsd=b,anchor=/d,files=3\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", "f:2:1: fsd=a and fsd=b share an anchor"},
      {kFsd + "fwd=fwd1,operation=rename\n", "f:2:20: 'rename' is not known here, expected read, write"},
      {kFsd + "fwd=fwd1,operation=move\n", "f:2:20: move is refused"},
      {kFsd + "fwd=fwd1,operation=copy\n", "f:2:1: expected target=FSD with copy"},
      {kFsd + "fsd=fsd2,anchor=y\nfwd=fwd1,fsd=fsd1,target=fsd2\nrd=r,fwd=fwd1,fwdrate=1\n",
       "f:3:1: fwd=fwd1: expected operation=copy with target="},
      {kFsd + "fwd=fwd1,fileio=(seq,shared)\n", "f:2:10: expected random with shared"},
      {kFsd + "fwd=fwd1,fileio=(random,delete)\n", "f:2:10: expected sequential with delete"},
      {kFsd + "fwd=fwd1,fileio=(seq,delete),rdpct=50\n", "f:2:1: expected no rdpct= with fileio=(sequential,delete)"},
      {kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=1,maxdata=5\n", "f:3:1: rd=rd1: expected maxdata= in bytes"},
      {kFsd + "fwd=fwd1,fileselect=lucky\n", "f:2:21: 'lucky' is not known here"},
      {kFsd + "fwd=fwd1,stopafter=0\n", "f:2:20: expected a whole number of blocks"},
      {kFsd + kFwd + "rd=rd1,fwdrate=1\n", "f:3:1: rd=rd1: expected fwd= or fsd="},
      {kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=1,format=perhaps\n", "f:3:34: 'perhaps' is not known here"},
      {kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=1,format=limited\n", "f:3:27: limited: expected (only,limited)"},
      {kFsd + "fwd=a,skew=60\nfwd=b,skew=50\nrd=rd1,fwd=*,fwdrate=1\n", "f:4:1: rd=rd1: the skews add up to 110"},
      {kFsd + kFwd + "rd=rd1,fwd=fwd1,fwdrate=1,forrhpct=(1,2)\n", "f:3:27: rhpct= is for SDs"},
  };
  for (const auto& [text, expected] : kBad) {
    INFO(text);
    const std::string said = complaint(text);
    INFO(said);
    CHECK(said.substr(0, std::string(expected).size()) == expected);
  }
}

TEST_CASE("vdbench's parser reads rates and priorities of WDs, and the number of repetitions") {
  const std::string two = "sd=sd1,lun=/x,size=16m\nwd=default,sd=sd1\n";
  const Definitions all = read("loop=2h\n" + two +
                               "wd=wd1,iorate=100,priority=1\nwd=wd2,skew=25,priority=2\nwd=wd3,priority=2\n"
                               "rd=rd1,wd=wd*,iorate=(500,max)\nrd=rd2,wd=wd1,iorate=max\n");
  REQUIRE(all.general.repeats.times == 0);
  REQUIRE(all.general.repeats.seconds == 7200);
  const std::vector<PlannedRun> runs = checked_plan(all);
  REQUIRE(runs.size() == 3);
  REQUIRE(runs[0].raw_works[0].rate == 100);
  REQUIRE(runs[0].raw_works[0].share == Approx(20));
  REQUIRE(runs[0].raw_works[1].share == Approx(20));
  REQUIRE(runs[0].raw_works[2].share == Approx(60));
  REQUIRE(runs[1].raw_works[2].share == Approx(75));
  REQUIRE(runs[2].raw_works[0].share == Approx(100));
  REQUIRE(complaint(two + "wd=wd1,iorate=100\nwd=wd2\nrd=rd1,wd=wd*,iorate=100\n") ==
          "f:5:1: rd=rd1: iorate=100 leaves nothing beside the 100 of WDs with rates of their own");
  REQUIRE(complaint(two + "wd=wd1,iorate=10,priority=1\nwd=wd2\nrd=rd1,wd=wd*,iorate=100\n") ==
          "f:4:1: wd=wd2: expected priority=, as others of rd=rd1 have one");
  REQUIRE(complaint(two + "wd=wd1,priority=1\nwd=wd2,priority=2\nrd=rd1,wd=wd*,iorate=100\n") ==
          "f:3:1: wd=wd1: expected iorate=, as others of rd=rd1 have a lower priority");
  REQUIRE(complaint(two + "wd=wd1,iorate=10,priority=1\nwd=wd2,priority=3\nrd=rd1,wd=wd*,iorate=100\n") ==
          "f:5:1: rd=rd1: no WD has priority=2, expected 1 to 3 without gaps");
  REQUIRE(complaint("loop=0\n" + kSd).find("f:1:6: ") == 0);
}

TEST_CASE("vdbench's parser reads concatenated SDs") {
  const std::string three = "concatenatesds=yes\nsd=default,size=1m\nsd=sd1,lun=/x\nsd=sd2,lun=/y\nsd=sd3,lun=/z,threads=2\n";
  const Definitions all = read(three +
                               "wd=wd1,sd=(sd1,sd3)\nwd=wd2,sd=*,threads=3\nrd=rd1,wd=*,iorate=10\nrd=rd2,wd=wd1,iorate=10,"
                               "forthreads=7\n");
  const std::vector<PlannedRun> runs = checked_plan(all);
  REQUIRE(runs[0].raw_works.size() == 2);
  const Storage& first = runs[0].storages[runs[0].raw_works[0].storage];
  REQUIRE(first.name == "wd1_sds");
  REQUIRE(first.parts == std::vector<size_t>{0, 2});
  REQUIRE(runs[0].raw_works[0].threads == 10);
  REQUIRE(runs[0].raw_works[1].threads == 3);
  REQUIRE(runs[1].raw_works[0].threads == 7);
  REQUIRE(complaint(three + "wd=wd1,rhpct=50\nrd=rd1,wd=wd1,iorate=10\n") ==
          "f:6:1: wd=wd1: expected no rhpct= and whpct= with concatenatesds=");
}

}  // namespace fsr::vdbench_language_test
