// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "workloads/vdbench/language/section_tables.hpp"

namespace fsr::vdbench {

namespace {

constexpr const char* kUnnamed = "expected a name of letters, digits, '_', '.' or '-'";

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.push_back(one.name);
  return names;
}

// "sd%04d", "sd*" or "sd" and a number.
std::string numbered(const std::string& mask, uint64_t n) {
  if (const size_t star = mask.find('*'); star != std::string::npos)
    return mask.substr(0, star) + std::to_string(n) + mask.substr(star + 1);
  const size_t percent = mask.find('%');
  const size_t end = percent == std::string::npos ? percent : mask.find_first_not_of("0123456789", percent + 1);
  if (end != std::string::npos && mask[end] == 'd' && end - percent <= 3) {
    const std::string digits = mask.substr(percent + 1, end - percent - 1);
    const std::string number = std::to_string(n);
    const size_t width = digits.empty() ? 0 : size_t(std::stoul(digits));
    const std::string padding(width > number.size() ? width - number.size() : 0, digits.starts_with('0') ? '0' : ' ');
    return mask.substr(0, percent) + padding + number + mask.substr(end + 1);
  }
  return mask + std::to_string(n);
}

class Reader {
 public:
  Definitions read(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) section(statement);
    finish(statements.empty() ? Place() : statements.back().parameters[0].place);
    return std::move(all_);
  }

 private:
  // Sections in the order that a file must keep.
  enum Level { kGeneral, kHosts, kStorages, kWorkloads, kRuns };

  void enter(Level level, const Parameter& p) {
    constexpr const char* kNames[] = {"general parameters", "hosts", "SDs or FSDs", "WDs or FWDs", "RDs"};
    if (level < level_)
      throw ParameterError(p.place,
                           fmt::format("'{}' comes too late: expected {} before {}", p.keyword, kNames[level], kNames[level_]));
    level_ = level;
  }

  void section(const Statement& s) {
    const Parameter& first = s.parameters[0];
    const std::string& k = first.keyword;
    if (same_word(k, "hd")) {
      enter(kHosts, first);
      host(s);
    } else if (same_word(k, "sd")) {
      enter(kStorages, first);
      kind(false, first);
      storage(s);
    } else if (same_word(k, "fsd")) {
      enter(kStorages, first);
      kind(true, first);
      system(s);
    } else if (same_word(k, "wd")) {
      enter(kWorkloads, first);
      kind(false, first);
      workload(s);
    } else if (same_word(k, "fwd")) {
      enter(kWorkloads, first);
      kind(true, first);
      file_workload(s);
    } else if (same_word(k, "rd")) {
      enter(kRuns, first);
      run(s);
    } else if (same_word(k, "rg")) {
      throw ParameterError(first.place, "rg= is refused: Swat's traces are closed");
    } else {
      if (level_ != kGeneral)
        throw ParameterError(
            first.place,
            fmt::format("'{}' begins no section, expected hd=, sd=, fsd=, wd=, fwd= or rd=; general parameters come first", k));
      for (const Parameter& p : s.parameters)
        apply(general_keywords(), all_.general, p, "the general section, or hd=, sd=, fsd=, wd=, fwd= or rd=");
    }
  }

  void kind(bool files, const Parameter& p) {
    if (kind_ && *kind_ != files) throw ParameterError(p.place, "expected either SDs and WDs or FSDs and FWDs in one file");
    kind_ = files;
  }

  template <class List>
  std::string name(const Parameter& p, const List& others, const char* what) {
    const std::string& name = single(p).text;
    const bool fine = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '%' || c == '*';
    });
    if (!fine) throw ParameterError(p.values[0].place, kUnnamed);
    for (const auto& other : others)
      if (same_word(other.name, name))
        throw ParameterError(p.values[0].place, fmt::format("{} '{}' is defined twice, expected another name", what, name));
    return name;
  }

  // count=(first,how many): numbers for names; none was asked for: nothing.
  static std::vector<uint64_t> counts(const Statement& s) {
    std::vector<uint64_t> all;
    for (const Parameter& p : s.parameters) {
      if (!same_word(p.keyword, "count")) continue;
      if (p.values.size() != 2) throw ParameterError(p.place, "expected count=(FIRST,HOW MANY)");
      const uint64_t first = whole(p.values[0], 0, 1'000'000), many = whole(p.values[1], 1, 10'000);
      for (uint64_t i = 0; i < many; ++i) all.push_back(first + i);
    }
    return all;
  }

  static bool is_default(const Parameter& p) { return same_word(single(p).text, "default"); }

  void host(const Statement& s) {
    Host host{single(s.parameters[0]).text};
    for (size_t i = 1; i < s.parameters.size(); ++i) apply(host_keywords(), host, s.parameters[i], "hd=");
  }

  template <class T>
  void define_all(const Statement& s, T definition, std::vector<T>& list, T& defaults, std::span<const Keyword<T>> table,
                  const char* section, std::string T::*where) {
    const Parameter& first = s.parameters[0];
    const bool is_the_default = is_default(first);
    definition.name = is_the_default ? "default" : name(first, list, section);
    definition.place = first.place;
    for (size_t i = 1; i < s.parameters.size(); ++i)
      if (!same_word(s.parameters[i].keyword, "count")) apply(table, definition, s.parameters[i], section);
    if (is_the_default) {
      if (!(definition.*where).empty()) throw ParameterError(first.place, "expected no place among the defaults");
      defaults = definition;
      return;
    }
    const std::vector<uint64_t> numbers = counts(s);
    for (uint64_t n : numbers) {
      T clone = definition;
      clone.name = numbered(definition.name, n);
      if (!(definition.*where).empty()) clone.*where = numbered(definition.*where, n);
      list.push_back(clone);
    }
    if (numbers.empty()) list.push_back(definition);
  }

  void storage(const Statement& s) {
    define_all(s, storage_default_, all_.storages, storage_default_, storage_keywords(), "sd=", &Storage::lun);
  }
  void system(const Statement& s) {
    define_all(s, system_default_, all_.systems, system_default_, file_system_keywords(), "fsd=", &FileSystem::anchor);
  }

  void workload(const Statement& s) {
    const Parameter& first = s.parameters[0];
    Workload w = workload_default_;
    w.name = is_default(first) ? "default" : name(first, all_.workloads, "wd=");
    w.place = first.place;
    for (size_t i = 1; i < s.parameters.size(); ++i) {
      const Parameter& p = s.parameters[i];
      if (same_word(p.keyword, "sd"))
        w.storages = resolve(p, names_of(all_.storages), "SD");
      else
        apply(workload_keywords(), w, p, "wd=");
    }
    if (is_default(first)) return void(workload_default_ = w);
    if (w.storages.empty())
      for (size_t i = 0; i < all_.storages.size(); ++i) w.storages.push_back(i);
    all_.workloads.push_back(w);
  }

  void file_workload(const Statement& s) {
    const Parameter& first = s.parameters[0];
    const bool is_format = same_word(single(first).text, "format");
    FileWorkload w = is_format ? format_ : file_workload_default_;
    w.name = is_default(first) ? "default" : is_format ? "format" : name(first, all_.file_workloads, "fwd=");
    w.place = first.place;
    for (size_t i = 1; i < s.parameters.size(); ++i) {
      const Parameter& p = s.parameters[i];
      if (same_word(p.keyword, "fsd")) {
        w.systems = resolve(p, names_of(all_.systems), "FSD");
      } else if (same_word(p.keyword, "target")) {
        w.target = resolve(p, names_of(all_.systems), "FSD").at(0);
      } else {
        apply(file_workload_keywords(), w, p, "fwd=");
      }
    }
    if (is_default(first)) return void(file_workload_default_ = w);
    if (is_format) return void(format_ = w);
    if (w.systems.empty())
      for (size_t i = 0; i < all_.systems.size(); ++i) w.systems.push_back(i);
    const bool copies = w.operation == Operation::copy;
    if (copies && !w.target) throw ParameterError(first.place, "expected target=FSD with copy");
    if (copies && std::find(w.systems.begin(), w.systems.end(), *w.target) != w.systems.end())
      throw ParameterError(first.place, "expected another FSD as target= than fsd=");
    all_.file_workloads.push_back(w);
  }

  void run(const Statement& s) {
    const Parameter& first = s.parameters[0];
    Run run = run_default_;
    run.name = is_default(first) ? "default" : name(first, all_.runs, "rd=");
    run.place = first.place;
    for (size_t i = 1; i < s.parameters.size(); ++i) {
      const Parameter& p = s.parameters[i];
      if (same_word(p.keyword, "wd")) {
        kind(false, p);
        run.workloads = resolve(p, names_of(all_.workloads), "WD");
      } else if (same_word(p.keyword, "fwd")) {
        kind(true, p);
        run.file_workloads = resolve(p, names_of(all_.file_workloads), "FWD");
      } else if (same_word(p.keyword, "sd")) {
        kind(false, p);
        run.storages = resolve(p, names_of(all_.storages), "SD");
      } else if (same_word(p.keyword, "fsd")) {
        kind(true, p);
        run.systems = resolve(p, names_of(all_.systems), "FSD");
      } else if (run.variable && same_word(p.keyword, "iorate")) {
        steps(run, p);
      } else {
        apply(run_keywords(), run, p, "rd=");
      }
    }
    if (is_default(first)) {
      if (run.format.any() || run.format.complete) throw ParameterError(first.place, "expected no format= among the defaults");
      run_default_ = run;
      return;
    }
    check(run);
    all_.runs.push_back(run);
  }

  // iorate=(rate,seconds,rate,seconds,...)
  static void steps(Run& run, const Parameter& p) {
    double total = 0;
    for (size_t i = 0; i < p.values.size(); i += 2) {
      if (i + 1 == p.values.size()) throw ParameterError(p.values[i].place, "expected seconds after each rate");
      run.rate_steps.push_back({number(p.values[i]).value, number(p.values[i + 1], Unit::time).value});
      total += run.rate_steps.back().second;
      if (run.rate_steps.back().first < 0 || run.rate_steps.back().second < 1)
        throw ParameterError(p.values[i].place, "expected rates of 0 and more, each for a second or more");
    }
    if (total > 3600) throw ParameterError(p.place, "expected 3600 seconds at most in all");
    run.rates = {{Rate::fixed, run.rate_steps[0].first}};
  }

  void check(const Run& run) const {
    if (run.elapsed % run.interval || run.warmup % run.interval)
      throw ParameterError(
          run.place, fmt::format("rd={}: expected elapsed= and warmup= to be multiples of interval={}", run.name, run.interval));
    if (run.elapsed < 2 * run.interval)
      throw ParameterError(run.place,
                           fmt::format("rd={}: expected elapsed= to be twice interval={} or more", run.name, run.interval));
    if (run.rates.empty() && !run.format.only && !run.format.clean)
      throw ParameterError(run.place, fmt::format("rd={}: expected {}=", run.name, kind_.value_or(false) ? "fwdrate" : "iorate"));
    if (kind_.value_or(false) && run.file_workloads.empty() && !run.format.only && !run.format.clean)
      throw ParameterError(run.place, fmt::format("rd={}: expected fwd=", run.name));
    if (!kind_.value_or(false) && run.format.any())
      throw ParameterError(run.place, fmt::format("rd={}: expected format= for FSDs only", run.name));
    if (!kind_.value_or(false) && !run.operations.empty())
      throw ParameterError(run.place, fmt::format("rd={}: expected operations= for FSDs only", run.name));
  }

  void finish(const Place& last) {
    if (!kind_) throw ParameterError(last, "nothing to be done, expected sd= or fsd=");
    if (all_.runs.empty()) throw ParameterError(last, "nothing to be run, expected rd=");
    for (const Storage& s : all_.storages)
      if (s.lun.empty()) throw ParameterError(s.place, fmt::format("sd={}: expected lun=", s.name));
    const ContentSettings& content = all_.general.content;
    if (!content.pattern_file.empty() && (content.compression > 1 || content.dedup > 0))
      throw ParameterError(last, "expected either pattern= or compratio= and dedupratio=");
    if (content.flips == ContentSettings::Flips::hot && content.hot_sets.empty())
      throw ParameterError(last, "dedupflipflop=hot: expected deduphotsets=");
    if (content.sets_percent && content.sets * content.dedup > 100)
      throw ParameterError(last, fmt::format("dedupsets={:g}% are more than dedupratio={:g} leaves, expected at most {:g}%",
                                             content.sets, content.dedup, 100 / content.dedup));
    for (const FileSystem& f : all_.systems)
      if (f.anchor.empty()) throw ParameterError(f.place, fmt::format("fsd={}: expected anchor=", f.name));
    for (const FileSystem& a : all_.systems)
      for (const FileSystem& b : all_.systems)
        if (b.anchor.starts_with(a.anchor + "/") && b.anchor.size() > a.anchor.size() + 1)
          throw ParameterError(
              b.place, fmt::format("fsd={}: its anchor is inside of that of fsd={}, expected one beside it", b.name, a.name));
    for (const FileSystem& a : all_.systems)
      for (const FileSystem& b : all_.systems)
        if (a.anchor == b.anchor &&
            (a.depth != b.depth || a.width != b.width || a.files != b.files || a.sizes != b.sizes ||
             a.all_directories != b.all_directories || a.total != b.total || a.working_set != b.working_set ||
             a.directory_mask != b.directory_mask || a.file_mask != b.file_mask))
          throw ParameterError(b.place,
                               fmt::format("fsd={} and fsd={} share an anchor, expected the same structure", a.name, b.name));
    all_.format_workload = format_;
  }

  static FileWorkload format_default() {
    FileWorkload w;
    w.threads = 8;
    w.transfers.shares = {{128 << 10, 100}};
    return w;
  }

  Definitions all_;
  Level level_ = kGeneral;
  std::optional<bool> kind_;  // files
  Storage storage_default_;
  Workload workload_default_;
  FileSystem system_default_;
  FileWorkload file_workload_default_, format_ = format_default();
  Run run_default_;
};

}  // namespace

Definitions define(const std::vector<Statement>& statements) { return Reader().read(statements); }

}  // namespace fsr::vdbench
