// SPDX-License-Identifier: Apache-2.0
#include "cli/vdbench_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "cli/vdbench_database.hpp"
#include "cli/vdbench_utilities.hpp"
#include "cluster/cluster.hpp"
#include "cluster/rank_options.hpp"
#include "util/environment.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/run/vdbench.hpp"

namespace fsr {

namespace {

struct Options {
  std::vector<std::string> files, words;
  vdbench::ProgramOptions program;
  std::string elapsed, interval, warmup;
  // Options of the original that have no effect (one process, no port) or are refused.
  unsigned processes = 1, port = 0;
  std::string debug;
  bool kstat = false;
  std::vector<std::string> clean, validate, journal, loop, demo;
  std::string results;  // path of the results database
  std::vector<std::string> maps;
  ClusterOptions cluster;
};

void take_word(vdbench::ProgramOptions& program, const std::string& word) {
  if (word.size() > 1 && word[0] == '+') {
    program.run_parameters += (program.run_parameters.empty() ? "" : ",") + word.substr(1);
    return;
  }
  const size_t equals = word.find('=');
  refuse_vdbench_utility(word);
  if (word.find(':') < equals)
    throw std::runtime_error("'" + word + "': expected NAME=VALUE; the parameter file itself names targets, by lun= and anchor=");
  if (equals == 0 || equals == std::string::npos)
    throw std::runtime_error("'" + word + "': expected -f FILE, NAME=VALUE, or a utility as the first word");
  if (!program.substitutions.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
    throw std::runtime_error("'" + word + "': NAME is set twice");
}

bool begins_section(const std::string& word) {
  const std::string keyword = word.substr(0, word.find('='));
  return keyword == "hd" || keyword == "sd" || keyword == "wd" || keyword == "rd" || keyword == "fsd" || keyword == "fwd";
}

// Sorts the words behind -f ("-f a b name=value") and behind "- TEXT..." into files, parameters and substitutions.
void take_words(Options& o) {
  for (const std::string& file : o.files) {
    if (file.find('=') == std::string::npos)
      o.program.files.push_back(file);
    else
      take_word(o.program, file);
  }
  for (size_t i = 0; i < o.words.size(); ++i) {
    const bool first = o.words[i] == "-";
    if (first && ++i == o.words.size()) throw std::runtime_error("-: expected parameters after -");
    if (first || (o.program.text && begins_section(o.words[i])))
      o.program.text = o.program.text.value_or("") + o.words[i] + "\n";
    else
      take_word(o.program, o.words[i]);
  }
}

std::optional<int64_t> seconds(const std::string& text, const char* option, int64_t least = 1) {
  if (text.empty()) return {};
  const int64_t ns = parse_duration(text);
  if (ns < least || ns % 1'000'000'000) throw std::runtime_error(std::string(option) + " " + text + ": expected whole seconds");
  return ns / 1'000'000'000;
}

// Returns the letters that follow an option directly, as "r" in "-jr". The parser has read them as the first value of the option.
// Its other values become words.
std::string take_letters(Options& o, std::vector<std::string>& values, const char* letters) {
  std::string how;
  if (!values.empty() && values[0].find_first_not_of(letters) == std::string::npos) {
    how = values[0];
    values.erase(values.begin());
  }
  o.words.insert(o.words.begin(), values.begin(), values.end());
  return how;
}

void take_format(Options& o, bool given) {
  if (!given) return;
  const std::string how = take_letters(o, o.clean, "oyn");
  if (how == "o")
    o.program.format_only = true;
  else if (how == "y")
    o.program.format = true;
  else if (how == "n")
    o.program.format = false;
  else if (how.empty())
    o.program.format_clean = true;
  else
    throw std::runtime_error("-c" + how + ": expected -c, -co, -cy or -cn");
}

// Reads "-v", "-vr", "-vwt" and so on. Times (t) are always included; q is accepted because older versions have it.
void take_validation(Options& o, bool given) {
  if (!given) return;
  vdbench::Validation& v = o.program.validation;
  v.on = true;
  for (const char letter : take_letters(o, o.validate, "r2wtq")) {
    v.reads_after |= letter == 'r' || letter == '2';
    v.reads_before &= letter != 'w';
  }
}

// Reads "-j", "-jr", "-jro", "-jri", "-jrs", "-jn", "-jm". Letters of -v are accepted, too.
void take_journal(Options& o, bool given) {
  if (!given) return;
  vdbench::Validation& v = o.program.validation;
  v.on = v.journal = true;
  for (const char letter : take_letters(o, o.journal, "roinms2t")) {
    v.recovers |= letter == 'r' || letter == 'o';
    v.only_recovers |= letter == 'o';
    v.ignores_pending |= letter == 'i';
    v.flushes &= letter != 'n';
    v.maps_only |= letter == 'm';
    v.reads_all &= letter != 's';
    v.reads_after |= letter == '2';
  }
}

// Reads "-t" and "-tf": returns parameters of a small run on SDs or FSDs in memory.
std::string take_demo(Options& o, bool given) {
  if (!given) return "";
  const std::string how = take_letters(o, o.demo, "f");
  if (how.size() > 1) throw std::runtime_error("-t" + how + ": expected -t or -tf");
  return how.empty() ? "sd=sd1,lun=memory:demo,size=10m\n"
                       "wd=wd1,sd=sd1,xfersize=(1k,50,4k,50),rdpct=50\n"
                       "rd=rd1,wd=wd1,iorate=100,elapsed=5,interval=1\n"
                     : "fsd=fsd1,anchor=memory:,depth=1,width=1,files=100,size=128k\n"
                       "fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=sequential,fileselect=random,threads=2\n"
                       "rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=5,interval=1\n";
}

// Reads "-l", "-l5" and "-l2h".
void take_repeats(Options& o, bool given) {
  if (!given) return;
  const std::string how = take_letters(o, o.loop, "0123456789smh");
  o.program.repeats =
      how.empty() ? vdbench::Repeats{0, 0} : vdbench::repeats({how, {std::make_shared<std::string>("-l " + how), 1, 1}});
}

void declare(Command& command, Options& o) {
  command.add("-f", o.files, "read these parameter files as one text").count_within(1, 1000).stands_for("FILE");
  command
      .add("-o", o.program.output,
           "write reports to this directory (default output); DIR+: DIR001 and so on; DIR.tod: with the time")
      .stands_for("DIR");
  command.add("-e", o.elapsed, "set elapsed= of all runs").stands_for("SECONDS");
  command.add("-i", o.interval, "set interval= of all runs").stands_for("SECONDS");
  command.add("-w", o.warmup, "set warmup= of all runs").stands_for("SECONDS");
  // Declares an option "-x" that may have letters, "-xHOW". Several letters may be given together.
  auto add_how = [&](const char* option, auto& how, const char* help) {
    command.add(option, how, help).count_within(0, 1000).stands_for("HOW");
  };
  add_how("-c", o.clean, "remove old files first; -co, -cy, -cn: format=only, yes or no");
  add_how("-v", o.validate, "validate data: write checkable content and check it; -vr: after each write, -vw: not before writes");
  add_how("-j", o.journal,
          "do as -v, with a journal; -jr: after recovery from the journal, -jro: recover only, -jn: do not flush the journal");
  add_how("-l", o.loop, "repeat all runs until stopped; -l5: five times; -l30s, -l10m, -l2h: for this time");
  add_how("-t", o.demo, "run a small test in memory; -tf: on files");
  command.add("-r", o.program.first_run, "start with this RD").stands_for("RD");
  command.flag("-s", o.program.simulate, "print what would be run");
  command.flag("-q,--quiet", o.program.quiet, "print no lines on the terminal");
  command.flag("--json", o.program.json, "print results as JSON instead of lines on the terminal");
  command.add("--results", o.results, "add all measurements to this SQLite file").stands_for("FILE");
  command.flag("--force", o.program.force, "overwrite devices that hold a file system or partitions");
  command.add("-m", o.processes, "do nothing: there is one process").stands_for("N");
  command.add("-p", o.port, "do nothing: no process connects to this port").stands_for("N");
  command.add("-d", o.debug, "refuse internal flags of the original").stands_for("N");
  command.flag("-k", o.kstat, "refuse statistics of Solaris");
  command.add("--layout", o.program.layout, "print the columns of this version of the original")
      .one_of({"5.00", "5.04.06", "5.04.07"});
  command.add("--map", o.maps, "hosts of the files: the machine whose ranks work for this hd=")
      .repeatable()
      .stands_for("HD=MACHINE");
  command.flag("--allow-mount", o.program.allow_mount, "run the commands of mount= on their hosts");
  add_rank_options(command, o.cluster);
  command.add("WORD", o.words, "value of $NAME in the files; +KEYWORD=VALUE: for all RDs; words after \"-\": more parameters")
      .stands_for("NAME=VALUE")
      .count_within(0, 1000);
}

int run(Options& o, Command& command, const std::atomic<int>& stop) {
  if (o.kstat) throw std::runtime_error("-k: refused, because statistics of Solaris are not supported; leave -k out");
  if (!o.debug.empty())
    throw std::runtime_error("-d: refused, because internal flags of the original are not supported; leave -d out");
  take_format(o, command.option("-c").given());
  take_validation(o, command.option("-v").given());
  take_journal(o, command.option("-j").given());
  take_repeats(o, command.option("-l").given());
  const std::string demo = take_demo(o, command.option("-t").given());
  take_words(o);
  if (!demo.empty()) o.program.text = o.program.text.value_or("") + demo;
  o.program.elapsed = seconds(o.elapsed, "-e");
  o.program.interval = seconds(o.interval, "-i");
  o.program.warmup = seconds(o.warmup, "-w", 0);
  for (const std::string& map : o.maps) {
    const size_t equals = map.find('=');
    if (equals == 0 || equals == std::string::npos ||
        !o.program.host_map.emplace(map.substr(0, equals), map.substr(equals + 1)).second)
      throw std::runtime_error("--map " + map + ": expected HD=MACHINE, once for each HD");
  }
  const std::string name = o.program.program.substr(0, o.program.program.find(' '));
  std::vector<std::string> words = own_command();
  if (!words.empty()) words[0] = name;
  o.program.command = command_text(words);
  o.cluster.stop = &stop;
  return on_ranks(o.cluster, command_text(o.program.files) + "\n" + o.program.text.value_or(""), [&](Cluster& cluster) {
    std::unique_ptr<vdbench::RunPage> database;
    cluster.on_all([&] {
      if (o.results.empty() || o.program.simulate || !cluster.root()) return;
      database = vdbench_database(o.results, own_origin(name), command_text(o.program.files));
      o.program.results = database.get();
    });
    return vdbench::run_vdbench(o.program, cluster, stop);
  });
}

}  // namespace

std::function<int(const std::vector<std::string>&)> add_vdbench(Command& command, const std::atomic<int>& stop) {
  auto o = std::make_shared<Options>();
  o->program.program = "fsbench vdbench";
  declare(command, *o);
  const auto utilities = add_vdbench_utilities(command);
  return [=, &stop](const auto&) mutable {
    if (const std::optional<int> status = utilities()) return *status;
    return run(*o, command, stop);
  };
}

bool is_vdbench_file(const std::string& name) { return name.ends_with(".vdb") && !name.starts_with('-'); }

int vdbench_command(int argc, char** argv, const std::atomic<int>& stop) {
  Options o;
  o.program.program = "fsreplay";
  o.program.files = {argv[1]};
  Program program("fsreplay FILE.vdb",
                  "Runs a parameter file of vdbench, which names its own targets, as fsbench vdbench -f FILE.vdb.");
  program.common_options();
  declare(program, o);
  try {
    if (auto status = program.parse(argc - 1, argv + 1)) return *status;
    return run(o, program, stop);
  } catch (const UsageError& e) {
    fmt::print(stderr, "fsreplay: {} (fsreplay FILE.vdb --help lists what goes with a parameter file)\n", e.what());
  } catch (const std::exception& e) {
    fmt::print(stderr, "fsreplay: {}\n", e.what());
  }
  return 2;
}

}  // namespace fsr
