// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "workloads/vdbench/language/hosts.hpp"
#include "workloads/vdbench/language/keyword.hpp"
#include "workloads/vdbench/language/statements.hpp"

namespace fsr::vdbench {

namespace {

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.push_back(one.name);
  return names;
}

// Removes slashes at the end: "/d/" becomes "/d", but "9p://host/" remains.
std::string without_slash(std::string anchor) {
  const size_t scheme = anchor.find("://");
  const size_t root = scheme == std::string::npos ? 0 : anchor.find('/', scheme + 3);
  while (root != std::string::npos && anchor.size() > root + 1 && anchor.ends_with('/')) anchor.pop_back();
  return anchor;
}

class Reader {
 public:
  explicit Reader(Mistakes& mistakes) : mistakes_(mistakes) {}
  Definitions read(const std::vector<Statement>& statements) {
    all_.flawed = mistakes_.count() > 0;  // a statement is missing
    for (const Statement& statement : join_lines(statements)) {
      missing_ |= statement.behind_lost;
      for (const Statement& one : hosts_.repeat(statement)) {
        const size_t known = mistakes_.count(), storages = all_.storages.size(), workloads = all_.workloads.size(),
                     systems = all_.systems.size(), works = all_.file_workloads.size(), runs = all_.runs.size(),
                     hosts = hosts_.all().size();
        attempt([&] { section(one); });
        if (mistakes_.count() == known) continue;
        const bool marked = mark_from(all_.storages, storages) + mark_from(all_.workloads, workloads) +
                            mark_from(all_.systems, systems) + mark_from(all_.file_workloads, works) + mark_from(all_.runs, runs);
        const bool is_the_default = same_word(one.parameters[0].values[0].text, "default");
        all_.flawed |= !marked && (section_ != Section::runs || is_the_default);
        missing_ |= !marked && section_ != Section::general && section_ != Section::runs && !is_the_default &&
                    hosts_.all().size() == hosts;
      }
    }
    finish(statements.empty() ? SourcePosition() : statements.back().parameters[0].position);
    return std::move(all_);
  }

 private:
  // Marks the definitions of a statement with a mistake. False: there is none.
  template <class List>
  static bool mark_from(List& list, size_t first) {
    for (size_t i = first; i < list.size(); ++i) list[i].flawed = true;
    return first < list.size();
  }
  // Notes a mistake, as Mistakes::attempt() does. Passes over unknown names that may be those of a missing statement.
  template <class Act>
  bool attempt(Act act) {
    bool known = true;
    const bool fine = mistakes_.attempt([&] {
      try {
        act();
      } catch (const UnknownName&) {
        if (!missing_) throw;
        known = false;
      }
    });
    return fine && known;
  }

  void enter(Section section, const Parameter& p) {
    constexpr const char* kNames[] = {"general parameters", "hosts", "SDs or FSDs", "WDs or FWDs", "RDs"};
    if (section < section_)
      throw ParameterError(p.position, "'{}' comes too late: expected {} before {}", p.keyword, kNames[unsigned(section)],
                           kNames[unsigned(section_)]);
    section_ = section;
  }

  void section(const Statement& s) {
    const Parameter& first = s.parameters[0];
    enter(section_of(first), first);
    const std::string& k = first.keyword;
    if (section_ > Section::hosts && !same_word(k, "rd") && !same_word(k, "rg")) kind(begins_word(k, "f"), first);
    if (same_word(k, "hd")) {
      hosts_.define(s, mistakes_);
    } else if (same_word(k, "sd")) {
      storage(s);
    } else if (same_word(k, "fsd")) {
      define_all(s, all_.systems, system_default_, file_system_keywords(), "fsd=", &FileSystem::anchor);
    } else if (same_word(k, "wd")) {
      workload(s);
    } else if (same_word(k, "fwd")) {
      file_workload(s);
    } else if (same_word(k, "rd")) {
      run(s);
    } else if (same_word(k, "rg")) {
      throw ParameterError(first.position, "rg= is refused: {}", kReplay);
    } else {
      for (const Parameter& p : s.parameters)
        attempt([&] { apply(general_keywords(), all_.general, p, "the general section, or hd=, sd=, fsd=, wd=, fwd= or rd="); });
    }
  }

  void kind(bool files, const Parameter& p) {
    if (kind_ && *kind_ != files) throw ParameterError(p.position, "expected either SDs and WDs or FSDs and FWDs in one file");
    kind_ = files;
  }

  template <class List>
  std::string name(const Parameter& p, const List& others, const char* what) {
    if (is_default(p)) return "default";
    const std::string& name = single(p).text;
    const bool fine = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '%' || c == '*';
    });
    if (!fine) throw ParameterError(p.values[0].position, "expected a name of letters, digits, '_', '.' or '-'");
    for (const auto& other : others)
      if (same_word(other.name, name))
        throw ParameterError(p.values[0].position, "{} '{}' is defined twice, expected another name", what, name);
    return name;
  }

  static bool is_default(const Parameter& p) { return same_word(single(p).text, "default"); }

  // Sets the parameters of a definition. `refer` takes those that name other definitions, and returns true for them. Returns
  // those with mistakes.
  template <class T, class Refer>
  std::vector<const Parameter*> fill(T& definition, const Statement& s, std::span<const Keyword<T>> table, const char* section,
                                     Refer refer) {
    std::vector<const Parameter*> wrong;
    definition.position = s.parameters[0].position;
    for (size_t i = 1; i < s.parameters.size(); ++i) {
      const Parameter& p = s.parameters[i];
      const bool fine = attempt([&] {
        if (refer(p)) return;
        if (names_hosts(p))
          definition.hosts = hosts_.numbers(p);
        else
          apply(table, definition, p, section);
      });
      if (!fine) wrong.push_back(&p);
    }
    return wrong;
  }

  template <class T>
  void define_all(const Statement& s, std::vector<T>& list, T& defaults, std::span<const Keyword<T>> table, const char* section,
                  std::string T::*where) {
    const Parameter& first = s.parameters[0];
    T definition = defaults;
    definition.name = name(first, list, section);
    fill(definition, s, table, section, [](const Parameter& p) { return same_word(p.keyword, "count"); });
    if (is_default(first)) {
      if (!(definition.*where).empty()) throw ParameterError(first.position, "expected no lun= or anchor= among the defaults");
      defaults = definition;
      return;
    }
    const std::vector<uint64_t> numbers = counted_numbers(s);
    for (uint64_t n : numbers) {
      T clone = definition;
      clone.name = numbered(definition.name, n);
      if (!(definition.*where).empty()) clone.*where = numbered(definition.*where, n);
      list.push_back(clone);
    }
    if (numbers.empty()) list.push_back(definition);
  }

  void storage(Statement s) {
    const auto luns = hosts_.take_luns(s);
    define_all(s, all_.storages, storage_default_, storage_keywords(), "sd=", &Storage::lun);
    if (luns.empty()) return;
    Storage& storage = all_.storages.back();
    storage.luns = luns;
    for (const auto& [hosts, lun] : luns) storage.hosts.insert(storage.hosts.end(), hosts.begin(), hosts.end());
  }

  // Sets `to` to the numbers of definitions that the parameter names, if its keyword is `keyword`. False: it is another one.
  template <class To, class List>
  static bool refers(const Parameter& p, const char* keyword, To& to, const List& list, const char* what) {
    if (!same_word(p.keyword, keyword)) return false;
    to = resolve(p, names_of(list), what);
    return true;
  }

  static std::vector<size_t> all_of(size_t count) {
    std::vector<size_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void workload(const Statement& s) {
    const Parameter& first = s.parameters[0];
    Workload w = workload_default_;
    w.name = name(first, all_.workloads, "wd=");
    fill(w, s, workload_keywords(), "wd=", [&](const Parameter& p) { return refers(p, "sd", w.storages, all_.storages, "SD"); });
    for (const Parameter& p : s.parameters)
      if (is_short_for(p, "threads") && !all_.general.concatenates)
        throw ParameterError(p.position, "threads= of a WD is only for concatenatesds=yes, expected threads= of the SDs");
    if (w.rate > 0 && w.skew > 0) throw ParameterError(first.position, "wd={}: expected iorate= or skew=", w.name);
    if (is_default(first)) return void(workload_default_ = w);
    if (w.storages.empty()) w.storages = all_of(all_.storages.size());
    all_.workloads.push_back(w);
  }

  void file_workload(const Statement& s) {
    const Parameter& first = s.parameters[0];
    const bool is_format = same_word(single(first).text, "format");
    FileWorkload w = is_format ? format_ : file_workload_default_;
    w.name = is_format ? "format" : name(first, all_.file_workloads, "fwd=");
    fill(w, s, file_workload_keywords(), "fwd=", [&](const Parameter& p) {
      std::vector<size_t> targets;
      const bool is_target = refers(p, "target", targets, all_.systems, "FSD");
      if (is_target) w.target = targets.at(0);
      return is_target || refers(p, "fsd", w.systems, all_.systems, "FSD");
    });
    if (is_default(first)) return void(file_workload_default_ = w);
    if (is_format) return void(format_ = w);
    if (w.systems.empty()) w.systems = all_of(all_.systems.size());
    if (w.deletes_first && w.read_percent)
      throw ParameterError(first.position, "expected no rdpct= with fileio=(sequential,delete)");
    const bool copies = w.operation == Operation::copy;
    if (copies && !w.target) throw ParameterError(first.position, "expected target=FSD with copy");
    if (copies && std::find(w.systems.begin(), w.systems.end(), *w.target) != w.systems.end())
      throw ParameterError(first.position, "expected another FSD as target= than fsd=");
    all_.file_workloads.push_back(w);
  }

  // Takes a parameter of an RD that names definitions, or its rate, whose meaning depends on others. False: it is another one.
  bool refers_or_rates(Run& run, const Parameter& p, std::optional<std::vector<StorageSet>>& sets, const Parameter*& rate) {
    if (same_word(p.keyword, "wd") || same_word(p.keyword, "sd")) kind(false, p);
    if (same_word(p.keyword, "fwd") || same_word(p.keyword, "fsd")) kind(true, p);
    if (same_word(p.keyword, "sd") && (sets = storage_sets(p, names_of(all_.storages)))) return true;
    if (refers(p, "wd", run.workloads, all_.workloads, "WD") ||
        refers(p, "fwd", run.file_workloads, all_.file_workloads, "FWD") || refers(p, "sd", run.storages, all_.storages, "SD") ||
        refers(p, "fsd", run.systems, all_.systems, "FSD"))
      return true;
    if (is_short_for(p, kFwdrate)) place_rates(run, p);
    if (!is_short_for(p, kFwdrate) && !is_short_for(p, kIorate)) return false;
    rate = &p;
    return true;
  }

  void run(const Statement& s) {
    const Parameter& first = s.parameters[0];
    Run run = run_default_;
    const Parameter* rate = nullptr;
    std::optional<std::vector<StorageSet>> sets;
    run.name = name(first, all_.runs, "rd=");
    const std::vector<const Parameter*> wrong =
        fill(run, s, run_keywords(), "rd=", [&](const Parameter& p) { return refers_or_rates(run, p, sets, rate); });
    const bool rated = attempt([&] { set_rate(run, rate); });
    if (is_default(first)) {
      if (run.format.any() || run.format.complete) throw ParameterError(first.position, "expected no format= among the defaults");
      run_default_ = run;
      return;
    }
    const bool timed = std::ranges::none_of(wrong, [](const Parameter* p) {
      return is_short_for(*p, "elapsed") || is_short_for(*p, "interval") || is_short_for(*p, "warmup");
    });
    if (timed) attempt([&] { check_times(run); });
    if (!run.mount.empty() && !missing_ &&
        std::ranges::none_of(hosts_.all(), [](const Host& host) { return !host.mounts.empty(); }))
      throw ParameterError(run.position, "rd={}: mount= has options for mount= of an hd=, expected one", run.name);
    if (!run.mount.empty()) hosts_.check_remount();
    if (wrong.empty() && rated) attempt([&] { check_run(run, kind_.value_or(false)); });
    for (const StorageSet& set : sets.value_or(std::vector{StorageSet()})) {
      all_.runs.push_back(run);
      all_.runs.back().name += set.suffix;
      if (sets) all_.runs.back().storages = set.storages;
    }
  }

  void finish(const SourcePosition& last) {
    if (!kind_ && !all_.flawed) mistakes_.add(ParameterError(last, "no storage is defined, expected sd= or fsd=").what());
    for (FileSystem& system : all_.systems) system.anchor = without_slash(system.anchor);
    check_all(all_, last, mistakes_);
    all_.hosts = hosts_.all();
    all_.default_workload = workload_default_;
    all_.default_file_workload = file_workload_default_;
    all_.format_workload = format_;
  }

  static FileWorkload format_default() {
    FileWorkload w;
    w.threads = 8;
    w.transfers.shares = {{128 << 10, 100}};
    return w;
  }

  Definitions all_;
  Mistakes& mistakes_;
  bool missing_ = false;  // a statement is missing, so that the names that it defines are unknown
  Section section_ = Section::general;
  std::optional<bool> kind_;  // true: trees of files
  Hosts hosts_;
  Storage storage_default_;
  Workload workload_default_;
  FileSystem system_default_;
  FileWorkload file_workload_default_, format_ = format_default();
  Run run_default_;
};

}  // namespace

Definitions define(const std::vector<Statement>& statements, Mistakes& mistakes) { return Reader(mistakes).read(statements); }

}  // namespace fsr::vdbench
