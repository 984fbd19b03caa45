// SPDX-License-Identifier: Apache-2.0
// Executes the same random system calls in two directories and compares what comes of them; see usage().
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "generator.hpp"
#include "known.hpp"
#include "pair.hpp"
#include "shrink.hpp"

namespace {

using namespace differential;

constexpr const char* kUsage = R"(usage: differential [OPTIONS] BARE SHIM [BENEATH]
Issues random system calls by several processes and users in the directory BARE and in SHIM, a FUSE mount, and compares the answers
and what is there afterwards, also in BENEATH, another way to what SHIM shows. Each difference is printed as a script, shortened.

  --seed N          what to begin with (1)
  --calls N         end after so many calls (100000)
  --seconds N       end after that time
  --length N        calls of a sequence (300; at most 1000)
  --differences N   end after so many differences (1); those that look alike count once
  --without A,B     leave out areas of calls
  --only A,B        leave out all areas but these
  --outside USER    that user works in BENEATH, as programs do that run beside a capture
  --mounts          BARE and SHIM have mount points in them: sequences work in themselves and empty them
  --stops           captures of SHIM start and end meanwhile, so that it need not be a FUSE mount
  --kernel-checks   SHIM is captured with --permissions kernel
  --script FILE     the sequence of that file in place of random ones
  --areas           print the areas
  --known           print the known differences, and the words of fsshim(1) that state them
)";

struct Options {
  uint64_t seed = 1, calls = 100'000, seconds = UINT64_MAX, differences = 1;
  uint32_t length = 300;
  int outside = -1;
  bool mounts = false, stops = false, kernel_checks = false;
  Areas without;
  std::string script;
  std::vector<std::string> directories;
};

Areas split(const std::string& list) {
  Areas areas;
  size_t begin = 0, comma;
  do {
    comma = list.find(',', begin);
    std::string area = list.substr(begin, comma - begin);
    if (!all_areas().contains(area)) {
      std::cerr << "differential: no area is named '" << area << "'; --areas lists them\n";
      exit(2);
    }
    areas.insert(area);
    begin = comma + 1;
  } while (comma != std::string::npos);
  return areas;
}

void print_and_exit(const std::string& what) {
  if (what == "--areas") {
    for (const std::string& area : all_areas()) std::cout << area << "\n";
  } else {
    for (const Known& k : known_differences()) std::cout << k.name << ": " << k.stated << "\n";
  }
  exit(0);
}

Options parse_options(int argc, char** argv) {
  Options options;
  std::map<std::string, uint64_t*> numbers = {{"--seed", &options.seed},
                                              {"--calls", &options.calls},
                                              {"--seconds", &options.seconds},
                                              {"--differences", &options.differences}};
  std::map<std::string, bool*> flags = {
      {"--mounts", &options.mounts}, {"--stops", &options.stops}, {"--kernel-checks", &options.kernel_checks}};
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--areas" || word == "--known") print_and_exit(word);
    if (!word.starts_with("--")) {
      options.directories.push_back(word);
      continue;
    }
    if (flags.contains(word)) {
      *flags[word] = true;
      continue;
    }
    std::string value = i + 1 < argc ? argv[++i] : "";
    if (numbers.contains(word)) {
      *numbers[word] = strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--length") {
      options.length = uint32_t(strtoul(value.c_str(), nullptr, 10));
    } else if (word == "--without") {
      options.without = split(value);
    } else if (word == "--only") {
      options.without = all_areas();
      for (const std::string& area : split(value)) options.without.erase(area);
    } else if (word == "--outside") {
      options.outside = find_actor(value);
      if (options.outside < 0) options.outside = kRoles;
    } else if (word == "--script") {
      options.script = value;
    } else {
      std::cerr << kUsage;
      exit(2);
    }
  }
  bool fine = options.directories.size() >= 2 && options.directories.size() <= 3 && options.length >= 1 &&
              options.length <= kMaxOps && options.outside < kRoles;
  if (!fine) {
    std::cerr << kUsage;
    exit(2);
  }
  if (options.directories.size() == 2) options.directories.emplace_back();
  return options;
}

void read_script(const std::string& name, Sequence* sequence) {
  std::ifstream file(name);
  sequence->count = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#' || line[0] == ' ') continue;
    if (sequence->count == kMaxOps || !parse(line, &sequence->ops[sequence->count++])) {
      std::cerr << name << ":" << number << ": no call\n";
      exit(2);
    }
  }
  if (sequence->count == 0) {
    std::cerr << name << ": no calls\n";
    exit(2);
  }
}

void print(const Sequence& sequence, const Outcome& outcome) {
  for (uint32_t i = 0; i < sequence.count; ++i) {
    std::cout << show(sequence.ops[i]) << "\n";
    if (i == outcome.op && (outcome.what == Outcome::What::answer || outcome.what == Outcome::What::hang))
      std::cout << outcome.text;
  }
  if (outcome.what != Outcome::What::answer && outcome.what != Outcome::What::hang)
    std::cout << "# " << outcome.sign << "\n" << outcome.text;
  std::cout << std::flush;
}

int run_script(const Options& options, Pair& pair) {
  read_script(options.script, &pair.sequence());
  Outcome outcome = pair.run();
  print(pair.sequence(), outcome);
  return outcome.what == Outcome::What::same ? 0 : 1;
}

int run_random(const Options& options, Pair& pair) {
  using clock = std::chrono::steady_clock;
  auto seconds = [start = clock::now()] { return std::chrono::duration<double>(clock::now() - start).count(); };
  std::map<std::string, uint64_t> found;
  uint64_t done = 0, sequences = 0;
  while (done < options.calls && seconds() < double(options.seconds) && found.size() < options.differences) {
    uint64_t seed = options.seed + sequences++;
    generate(seed, options.length, options.without, &pair.sequence());
    Outcome outcome = pair.run();
    done += options.length;
    if (outcome.what == Outcome::What::same || ++found[outcome.sign] > 1) continue;
    std::cout << "# seed " << seed << " --length " << options.length << "\n";
    bool dead = outcome.what == Outcome::What::hang || outcome.what == Outcome::What::trouble;
    outcome = shrink(pair, std::move(outcome));
    print(pair.sequence(), outcome);
    if (dead) break;
  }
  for (const auto& [name, count] : pair.known) std::cout << "# known: " << name << ": " << count << "\n";
  for (const auto& [sign, count] : found) std::cout << "# found: " << sign << ": " << count << "\n";
  double time = seconds();
  printf("%llu calls in %llu sequences, %.0f calls/s on both sides, seeds %llu to %llu: %zu differences\n",
         static_cast<unsigned long long>(done), static_cast<unsigned long long>(sequences), double(done) / time,
         static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(options.seed + sequences - 1),
         found.size());
  return found.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse_options(argc, argv);
  Pair pair(options.directories[0], options.directories[1], options.directories[2], !options.stops);
  pair.sequence().outside = options.outside;
  pair.sequence().mounts = options.mounts;
  pair.kernel_checks = options.kernel_checks;
  return options.script.empty() ? run_random(options, pair) : run_script(options, pair);
}
