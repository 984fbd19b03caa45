// SPDX-License-Identifier: Apache-2.0
#include "workloads/postmark/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

namespace fsr::postmark {

namespace {

constexpr int64_t kMostWeight = 1'000'000;       // the sum of all weights has 32 bits
constexpr int64_t kLargestSize = 2'000'000'000;  // bytes of a file; the original accepts more, but computes with 32 bits

}  // namespace

struct Commands::Entry {
  const char* name;  // matched as the beginning of a line
  const char* what;
  void (*act)(Commands&, const std::string& argument);
};

const Commands::Entry Commands::kEntries[] = {
    {"set size", "Sets low and high bounds of files", [](Commands& c, const std::string& a) { c.set_size(a); }},
    {"set number", "Sets number of simultaneous files",
     [](Commands& c, const std::string& a) { c.set_number(a, 1, INT_MAX / 2, c.settings_.files, "invalid number of files"); }},
    {"set seed", "Sets seed for random number generator",
     [](Commands& c, const std::string& a) {
       c.set_number(a, 1, UINT32_MAX, c.settings_.seed, "invalid seed for random numbers");
     }},
    {"set transactions", "Sets number of transactions",
     [](Commands& c, const std::string& a) {
       c.set_number(a, 1, INT64_MAX, c.settings_.transactions, "no transactions specified");
     }},
    {"set location", "Sets location of working files", [](Commands& c, const std::string& a) { c.set_location(a); }},
    {"set subdirectories", "Sets number of subdirectories",
     [](Commands& c, const std::string& a) {
       c.set_number(a, 0, INT_MAX, c.settings_.subdirectories, "invalid number of subdirectories");
     }},
    {"set read", "Sets read block size",
     [](Commands& c, const std::string& a) { c.set_number(a, 1, INT_MAX, c.settings_.read_block, "invalid read block size"); }},
    {"set write", "Sets write block size",
     [](Commands& c, const std::string& a) { c.set_number(a, 1, INT_MAX, c.settings_.write_block, "invalid write block size"); }},
    {"set buffering", "Sets usage of buffered I/O",
     [](Commands& c, const std::string& a) {
       if (a != "true" && a != "false") return c.error("no buffering mode (true/false) specified");
       c.settings_.buffered = a == "true";
     }},
    {"set bias read", "Sets the chance of choosing read over append",
     [](Commands& c, const std::string& a) { c.set_bias(a, c.settings_.bias_read); }},
    {"set bias create", "Sets the chance of choosing create over delete",
     [](Commands& c, const std::string& a) { c.set_bias(a, c.settings_.bias_create); }},
    {"set report", "Choose verbose or terse report format",
     [](Commands& c, const std::string& a) {
       if (a != "verbose" && a != "terse") return c.error("either 'verbose' or 'terse' required");
       c.settings_.verbose = a == "verbose";
     }},
    {"run", "Runs one iteration of benchmark", [](Commands& c, const std::string& a) { c.run(a); }},
    {"load", "Read configuration file",
     [](Commands& c, const std::string& a) {
       if (!c.load(a)) c.error("cannot read configuration file '" + a + "'");
     }},
    {"show", "Displays current configuration", [](Commands& c, const std::string& a) { c.show(a); }},
    {"help", "Prints out available commands", [](Commands& c, const std::string& a) { c.help(a); }},
    {"quit", "Exit program", [](Commands& c, const std::string&) { c.quit_ = true; }},
};

void Commands::error(const std::string& why) {
  any_error_ = true;
  fflush(stdout);
  fmt::print(stderr, "Error: {}\n", why);
}

std::ofstream Commands::open(const std::string& file) {
  std::ofstream out;
  if (file.empty()) return out;
  out.open(file, std::ios::app);
  if (!out.is_open()) unwritable(file);
  return out;
}

void Commands::unwritable(const std::string& file) {
  error("cannot write '" + file + "': " + strerror(errno) + "; the output goes to standard output");
}

void Commands::print(const std::string& text, std::ofstream out, const std::string& file) {
  if (out.is_open() && (out << text).flush()) return;
  if (out.is_open()) unwritable(file);
  fputs(text.c_str(), stdout);
}

void Commands::set_number(const std::string& argument, int64_t least, int64_t most, int64_t& to, const char* why) {
  const int64_t value = strtoll(argument.c_str(), nullptr, 10);
  if (argument.empty() || value < least || value > most) return error(why);
  to = value;
}

void Commands::set_bias(const std::string& argument, int64_t& to) {
  set_number(argument, -1, 10, to, "no bias specified (0-10 for greater chance,-1 to disable)");
}

void Commands::set_size(const std::string& argument) {
  std::istringstream words(argument);
  int64_t low = 0, high = 0;
  if (!(words >> low) || low <= 0 || low > kLargestSize) return error("no file size low or high bounds specified");
  words >> high;
  if (high > kLargestSize) return error("no file size low or high bounds specified");
  settings_.size_low = low;
  settings_.size_high = std::max(low, high);
}

// Sets the locations: "DIR [WEIGHT]" replaces all, "+DIR [WEIGHT]" adds one, "-DIR" removes one.
void Commands::set_location(const std::string& argument) {
  std::istringstream words(argument);
  Location location;
  if (!(words >> location.name)) return error("no directory name specified");
  const char sign = location.name[0];
  if (sign == '+' || sign == '-') location.name.erase(0, 1);
  if (location.name.empty()) return error("no directory name specified");
  if (int64_t weight; words >> weight && weight > 0) {
    if (weight > kMostWeight) return error(fmt::format("invalid weight: expected at most {}", kMostWeight));
    location.weight = weight;
  }
  if (sign == '-') {
    if (std::erase_if(settings_.locations, [&](const Location& l) { return l.name == location.name; }) == 0)
      error("cannot find location '" + location.name + "'");
    return;
  }
  if (sign != '+') settings_.locations.clear();
  settings_.locations.push_back(location);
}

// Opens the file before the run, so that the user learns of an error at once and not after an hour.
void Commands::run(const std::string& file) try {
  std::ofstream out = open(file);
  print(run_(settings_), std::move(out), file);
} catch (const std::exception& e) {
  error(e.what());
}

void Commands::show(const std::string& file) {
  std::ofstream out = open(file);
  const std::string locations = settings_.text_locations();
  if (out.is_open()) {
    print(settings_.text_above() + settings_.text_below(), std::move(out), file);
    fputs(locations.c_str(), stdout);
  } else {
    fputs((settings_.text_above() + locations + settings_.text_below()).c_str(), stdout);
  }
}

void Commands::help(const std::string& command) {
  auto begins = [&](const Entry& entry) { return std::string_view(entry.name).starts_with(command); };
  const bool any = std::any_of(std::begin(kEntries), std::end(kEntries), begins);
  for (const Entry& entry : kEntries)
    if (!any || begins(entry)) fmt::print("{} - {}\n", entry.name, entry.what);
}

void Commands::perform(const std::string& line) {
  if (line.empty()) return;
  if (line == "?") return help("");
  if (line == "exit") {
    quit_ = true;
    return;
  }
  if (line[0] == '!') {
    const char* shell = getenv("SHELL");
    fflush(stdout);
    if (system(line.size() > 1 ? line.c_str() + 1 : shell ? shell : "/bin/sh") == -1) error(strerror(errno));
    return;
  }
  for (const Entry& entry : kEntries) {
    const size_t length = strlen(entry.name);
    if (!line.starts_with(entry.name) || (line.size() > length && line[length] != ' ')) continue;
    return entry.act(*this, line.size() > length ? line.substr(length + 1) : "");
  }
  any_error_ = true;
  puts("Eh?");
}

bool Commands::load(const std::string& file) {
  std::ifstream in(file);
  if (!in) return false;
  for (std::string line; !quit_ && std::getline(in, line);) perform(line);
  return !in.bad();
}

void Commands::prompt() {
  while (!quit_) {
    fputs("pm>", stdout);
    fflush(stdout);
    std::string line;
    if (!std::getline(std::cin, line)) return;
    perform(line);
  }
}

}  // namespace fsr::postmark
