// SPDX-License-Identifier: Apache-2.0
#include "cli/vdbench_utilities.hpp"

#include <charconv>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "util/output_file.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"
#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/utilities/utilities.hpp"
#include "workloads/vdbench/validate/journal.hpp"

namespace fsr {

namespace {

struct Utilities {
  vdbench::FlatRequest flat;
  std::vector<std::string> filters, files;
  std::string output, file, lba, size, unit = "128k", percent = "100";
};

int print_to(const std::string& name, const std::string& text) {
  if (name.empty()) {
    print_whole(text);
    return 0;
  }
  OutputFile file(name, true, Readers::by_umask);
  file.finish(text);
  return 0;
}

std::string parse_flat(Utilities& u) {
  if (u.filters.size() % 2) throw std::runtime_error("-f: expected pairs of a column and its value");
  for (size_t i = 0; i < u.filters.size(); i += 2) u.flat.filters.emplace_back(u.filters[i], u.filters[i + 1]);
  return vdbench::flat_csv(u.flat);
}

// Reads a byte offset: "4096", "4k", "0x1000".
uint64_t place(const std::string& text) {
  if (!text.starts_with("0x")) return parse_size(text);
  const char* const end = text.data() + text.size();
  uint64_t value = 0;
  const auto [behind, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc() || behind != end) throw std::runtime_error("'" + text + "': expected an offset in bytes");
  return value;
}

std::optional<uint64_t> chosen_place(const Utilities& u) { return u.lba.empty() ? std::nullopt : std::optional(place(u.lba)); }

double percent(const std::string& text) {
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [behind, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || behind != end || !(value > 0 && value <= 100))
    throw std::runtime_error("-p " + text + ": expected up to 100 percent");
  return value;
}

// Declares utilities, and remembers what each of them does.
class Declarations {
 public:
  using Act = std::string (*)(Utilities&);
  Declarations(Command& command, Utilities& u) : command_(command), u_(u) {}

  void add_all() {
    for (const char* name : {"parseflat", "parse"}) add_parse_flat(name);
    Command compare = add("compare", "compares rates and response times of two output directories",
                          [](Utilities& u) { return vdbench::compare_flat(u.files[0], u.files[1]); });
    compare.add("DIR", u_.files, "the older, the newer").required().count_within(2, 2);
    Command journal = add("printjournal", "prints the entries of a journal of data validation",
                          [](Utilities& u) { return vdbench::journal_text(u.file, chosen_place(u)); });
    journal.add("FILE", u_.file, "NAME.jnl, beside its NAME.map").required();
    add_place(journal, "print only entries of this byte");
    Command wrong = add("dvpost", "sums up the wrong blocks in an errorlog.html",
                        [](Utilities& u) { return vdbench::wrong_blocks_text(u.file, chosen_place(u)); });
    wrong.add("FILE", u_.file, "the errorlog, or its directory").required();
    add_place(wrong, "print the reports on the block with this byte");
    Command print = add("print", "prints a block, with the marks of data validation in it",
                        [](Utilities& u) { return vdbench::block_text(u.file, place(u.lba), parse_size(u.size)); });
    print.add("FILE", u_.file, "a device or file").required();
    print.add("LBA", u_.lba, "the offset of the block in bytes").required();
    print.add("SIZE", u_.size, "the number of bytes").required();
    add("sds", "makes a parameter file of this machine's disks, which only reads",
        [](Utilities&) { return vdbench::disks_text(); });
    Command csim = add("csim", "finds the compratio= of files or devices",
                       [](Utilities& u) { return vdbench::compression_text(u.files, percent(u.percent)); });
    add_files(csim);
    csim.add("-p", u_.percent, "read this part of the data (default 100)").stands_for("PERCENT");
    Command dsim = add("dsim", "finds the dedupratio= of files or devices",
                       [](Utilities& u) { return vdbench::dedup_text(u.files, parse_size(u.unit)); });
    add_files(dsim);
    dsim.add("-u", u_.unit, "compare units of this many bytes (default 128k)").stands_for("BYTES");
  }

  std::optional<int> run() const {
    for (const auto& [command, act] : acts_)
      if (command.chosen()) return print_to(u_.output, act(u_));
    return {};
  }

 private:
  Command add(const char* name, const char* what, Act act) {
    Command sub = command_.subcommand(name, what);
    sub.add("-o", u_.output, "write to this file (default: standard output)").stands_for("FILE");
    acts_.emplace_back(sub, act);
    return sub;
  }
  void add_parse_flat(const char* name) {
    Command sub = add(name, "makes CSV of a flatfile.html", parse_flat);
    sub.add("-i", u_.flat.input, "the flatfile, or the directory of the flatfile (default output)").stands_for("FILE");
    sub.add("-c", u_.flat.columns, "print these columns, in this order (default: all)").count_within(1, 100).stands_for("COLUMN");
    sub.add("-f", u_.filters, "print only lines with this value in this column").count_within(2, 100).stands_for("COLUMN VALUE");
    sub.flag("-a", u_.flat.averages, "print only averages");
  }
  void add_place(Command& sub, const char* what) { sub.add("-l", u_.lba, what).stands_for("LBA"); }
  void add_files(Command& sub) { sub.add("FILE", u_.files, "files or devices").required().count_within(1, 100'000); }

  Command& command_;
  Utilities& u_;
  std::vector<std::pair<Command, Act>> acts_;
};

}  // namespace

std::function<std::optional<int>()> add_vdbench_utilities(Command& command) {
  auto u = std::make_shared<Utilities>();
  u->flat.input = "output";
  auto all = std::make_shared<Declarations>(command, *u);
  all->add_all();
  return [u, all] { return all->run(); };
}

void refuse_vdbench_utility(const std::string& word) {
  constexpr std::pair<const char*, const char*> kRefused[] = {
      {"edit", "use any editor for the parameter file"},
      {"gui", "there is no window; fsbench vdbench --help lists what there is"},
      {"rsh", "no process waits for commands on a host; mpirun starts the ranks on several hosts"},
      {"swat", "Swat's format is not public"},
      {"showlba", "fsshim capture records every operation, and fsreplay report shows them"},
      {"jstack", "there is no Java; --debug prints the state"},
      {"jmap", "there is no Java"},
  };
  for (const auto& [name, why] : kRefused)
    if (vdbench::same_word(name, word)) throw std::runtime_error(word + ": refused: " + why);
}

}  // namespace fsr
