// SPDX-License-Identifier: Apache-2.0
#include "model/model_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "trace/frame.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr {

using nlohmann::json;

namespace {

// A skippable zstd frame (RFC 8878, 3.1.2) of eight bytes.
constexpr std::string_view kMark(
    "\x5d\x2a\x4d\x18\x08\x00\x00\x00"
    "fsmodel\n",
    16);
constexpr size_t kJsonMax = size_t(16) << 20;  // bytes, decompressed
constexpr int kMostNested = 8;
constexpr double kMostOperations = 1e12;
constexpr double kLeast = 1e-6;                                        // processes or steps of a class in a run, on average
constexpr double kMostProcesses = 1e6;                                 // of a run, all classes together
constexpr int64_t kLongestRun = int64_t(366) * 86400 * 1'000'000'000;  // ns of a run
constexpr uint64_t kMostMicroseconds = kLongestRun / 1000;
constexpr double kRounded = 1.01;  // most by which sums of averages are off
constexpr int kLevel = 19;

struct Invalid : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, const char* what) {
  if (!holds) throw Invalid(what);
}

json codes(const Quantiles& q) {
  json out = json::array();
  for (uint64_t v : q.values) out.push_back(time_code(v));
  return out;
}

Quantiles times(const json& in) {
  Quantiles q;
  for (const json& v : in) {
    require(v.is_number_unsigned() && v.get<uint64_t>() <= kMostTimeCode, "a time is no number or too large");
    q.values.push_back(time_of_code(v.get<uint32_t>()));
  }
  require(!q.empty() && q.values.size() <= 64 && std::is_sorted(q.values.begin(), q.values.end()), "times are not in order");
  return q;
}

Quantiles values(const json& in, uint64_t most) {
  Quantiles q;
  for (const json& v : in) {
    require(v.is_number_unsigned() && v.get<uint64_t>() <= most, "a size is no number or too large");
    q.values.push_back(v.get<uint64_t>());
  }
  require(!q.empty() && q.values.size() <= 64 && std::is_sorted(q.values.begin(), q.values.end()), "sizes are not in order");
  return q;
}

uint64_t number(const json& in, uint64_t most, const char* what) {
  require(in.is_number_unsigned() && in.get<uint64_t>() <= most, what);
  return in.get<uint64_t>();
}

double amount(const json& in, double most, const char* what) {
  require(in.is_number(), what);
  const double value = in.get<double>();
  require(value >= kLeast && value <= most, what);
  return value;
}

const json& array_of(const json& in, size_t n, const char* what) {
  require(in.is_array() && in.size() == n, what);
  return in;
}

json courses(const LoadModel& m) {
  json out = json::array();
  for (const ProcessClass& c : m.classes) {
    json& of_class = out.emplace_back(json::array());
    for (const Course& course : c.courses) {
      json pauses = json::array();
      std::pair<uint32_t, uint64_t> before(0, course.start);
      for (const auto& pause : course.pauses) {
        pauses.push_back(pause.first - before.first);
        pauses.push_back(pause.second - before.second);
        before = pause;
      }
      json paces = json::array();
      if (!course.pace.empty()) each_stretch(course, [&](size_t from, size_t) { paces.push_back(course.pace[from]); });
      of_class.push_back(json::array({int(course.root), course.start, course.steps, std::move(pauses), std::move(paces)}));
    }
  }
  return out;
}

json document(const LoadModel& m) {
  json d;
  d["format"] = "fsmodel";
  d["version"] = m.inherits ? kModelVersion : 6;
  d["program"] = m.program;
  d["runs"] = m.runs;
  d["operations"] = m.operations;
  d["span_ns"] = m.span;
  d["clock_unit"] = m.clock_unit;
  d["dropped"] = m.dropped;
  json& symbols = d["symbols"] = json::array();
  for (const Symbol& s : m.symbols) {
    const auto fields = s.fields();
    json row = json::array({op_name(s.kind)});
    for (size_t i = 1; i < fields.size() - (!s.offset + !(s.offset + s.bytes)); ++i) row.push_back(fields[i]);
    symbols.push_back(std::move(row));
  }
  json& classes = d["classes"] = json::array();
  for (const ProcessClass& c : m.classes)
    classes.push_back({{"command", json_text(c.command)},
                       {"processes", c.processes},
                       {"roots", c.roots},
                       {"operations", c.operations},
                       {"steps", c.steps},
                       {"at_once", c.at_once},
                       {"phases", c.phases},
                       {"start", c.start.values},
                       {"length", c.length.values}});
  json& contexts = d["contexts"] = json::array();
  for (const ModelContext& c : m.contexts) {
    json next = json::array();
    for (const auto& [symbol, n] : c.next) {
      next.push_back(symbol);
      next.push_back(n);
    }
    contexts.push_back(json::array({c.phase, c.history, std::move(next), c.last}));
  }
  if (form_of(m) == ModelForm::courses) d["courses"] = courses(m);
  json& gaps = d["gaps"] = json::array();
  for (const auto& [key, g] : m.gaps)
    gaps.push_back(json::array({std::get<0>(key), std::get<1>(key), std::get<2>(key), codes(g.times), g.count}));
  if (m.stalls.count) d["stalls"] = json::array({codes(m.stalls.times), m.stalls.count});
  json& durations = d["durations"] = json::array();
  for (const auto& [key, q] : m.durations) durations.push_back(json::array({key.first, key.second, codes(q)}));
  json& sizes = d["sizes"] = json::array();
  for (const auto& [key, q] : m.sizes) sizes.push_back(json::array({key.first, key.second, q.values}));
  d["root_entries"] = m.root_entries;
  d["files"] = m.files.values;
  json& hot = d["hot"] = json::array();
  for (const OftenUsedName& h : m.hot) hot.push_back(json::array({h.parent, h.type, unsigned(h.existed), h.size, h.same}));
  json& ranges = d["ranges"] = json::array();
  for (const auto& [offset, length] : m.ranges) ranges.push_back(json::array({offset, length}));
  if (!m.between_runs.empty()) d["between_runs"] = m.between_runs;
  return d;
}

void parse_symbols(const json& in, LoadModel& m) {
  for (const json& row : in) {
    require(row.is_array() && row.size() <= Symbol::kFields && row.size() + 2 >= Symbol::kFields,
            "a symbol has another number of fields");
    std::array<uint64_t, Symbol::kFields> fields{};
    OpKind kind = OpKind::null;
    require(row[0].is_string() && op_from_name(row[0].get<std::string>(), &kind), "a symbol has an unknown kind");
    fields[0] = uint32_t(kind);
    for (size_t i = 1; i < row.size(); ++i) fields[i] = number(row[i], kMostBytes, "a symbol has a field that is no number");
    Symbol s;
    require(Symbol::from_fields(fields, &s), "a symbol has a field that is out of range");
    m.symbols.push_back(s);
  }
}

void parse_classes(const json& in, LoadModel& m) {
  for (const json& row : in) {
    ProcessClass& c = m.classes.emplace_back();
    c.command = row.at("command").get<std::string>();
    require(c.command.size() <= kMostCommand, "a command is too long");
    c.processes = amount(row.at("processes"), kMostProcesses, "a number of processes is out of range");
    c.steps = amount(row.at("steps"), kMostOperations, "a number of steps is out of range");
    const json& operations = row.at("operations");
    require(operations.is_number() && operations.get<double>() >= 0 && operations.get<double>() <= c.steps,
            "a number of operations is out of range");
    c.operations = operations.get<double>();
    const json& roots = row.at("roots");
    require(roots.is_number() && roots.get<double>() >= 0 && roots.get<double>() <= c.processes,
            "a number of roots is out of range");
    c.roots = roots.get<double>();
    c.at_once = uint32_t(number(row.at("at_once"), UINT32_MAX, "a number of processes is out of range"));
    c.phases = uint32_t(number(row.at("phases"), kMostPhases, "a number of phases is out of range"));
    require(c.at_once > 0 && c.phases > 0, "a class has no process or phase");
    if (c.roots > 0) c.start = values(row.at("start"), 1'000'000);
    c.length = values(row.at("length"), uint64_t(kMostOperations));
  }
  double processes = 0, roots = 0, steps = 0, operations = 0;
  for (const ProcessClass& c : m.classes) {
    processes += c.processes;
    roots += c.roots;
    steps += c.steps;
    operations += c.operations;
  }
  require(roots > 0 && processes <= kMostProcesses, "the number of processes is out of range");
  // Others than operations are at most two for each process: it is started, and waited for.
  require(steps <= (operations + 2 * processes) * kRounded + 1, "a run has more steps than its operations and processes need");
  require(std::abs(operations - double(m.operations)) <= operations * (kRounded - 1) + 1,
          "the classes have another number of operations than the load");
}

void parse_contexts(const json& in, LoadModel& m) {
  std::set<uint32_t> begun;
  for (const json& row : in) {
    array_of(row, 4, "a context has another number of parts");
    ModelContext& c = m.contexts.emplace_back();
    c.phase = uint32_t(number(row[0], UINT32_MAX, "a context has no phase"));
    require(c.phase / kMostPhases < m.classes.size(), "a context is of an unknown class of processes");
    require(row[1].is_array() && row[1].size() <= kMostHistory && row[2].is_array() && row[2].size() % 2 == 0,
            "a context has a history that is too long");
    for (const json& s : row[1]) c.history.push_back(SymbolId(number(s, m.symbols.size(), "a context has an unknown symbol")));
    for (size_t i = 0; i < row[2].size(); i += 2) {
      const auto symbol = SymbolId(number(row[2][i], m.symbols.size(), "a context has an unknown symbol"));
      const auto n = uint32_t(number(row[2][i + 1], UINT32_MAX, "a context has a count that is out of range"));
      require(n > 0, "a context has a count that is out of range");
      require(c.next.empty() || c.next.back().first < symbol, "a context has symbols that are not in order");
      c.next.emplace_back(symbol, n);
    }
    c.last = SymbolId(number(row[3], m.symbols.size(), "a context has an unknown symbol"));
    require(std::any_of(c.next.begin(), c.next.end(), [&](const auto& next) { return next.first == c.last; }),
            "a context leads nowhere");
    if (c.history.empty()) begun.insert(c.phase);
  }
  for (uint32_t c = 0; c < m.classes.size() && form_of(m) == ModelForm::contexts; ++c)
    for (uint32_t phase = 0; phase < m.classes[c].phases; ++phase)
      require(begun.contains(c * kMostPhases + phase), "a phase has no context");
}

void parse_courses(const json& in, uint64_t version, LoadModel& m) {
  array_of(in, m.classes.size(), "another number of classes has courses");
  for (size_t c = 0; c < m.classes.size(); ++c) {
    for (const json& row : in[c]) {
      array_of(row, version < 6 ? 4 : 5, "a course has another number of parts");
      Course& course = m.classes[c].courses.emplace_back();
      course.root = number(row[0], 1, "a course neither begins by itself nor not") != 0;
      course.start = number(row[1], kMostMicroseconds, "a course begins too late");
      for (const json& s : row[2]) {
        course.steps.push_back(SymbolId(number(s, m.symbols.size(), "a course has an unknown symbol")));
        require(course.steps.back() != kEndOfProcess, "a course has an unknown symbol");
      }
      require(!course.steps.empty(), "a course has no step");
      require(row[3].is_array() && row[3].size() % 2 == 0, "a pause has no end");
      std::pair<uint64_t, uint64_t> at(0, course.start);
      for (size_t i = 0; i < row[3].size(); i += 2) {
        at.first += number(row[3][i], course.steps.size(), "a pause comes before no step");
        at.second += number(row[3][i + 1], kMostMicroseconds, "a pause is too long");
        require(at.first < course.steps.size() && at.second <= kMostMicroseconds, "a pause is out of range");
        course.pauses.emplace_back(uint32_t(at.first), at.second);
      }
      if (version < 6) continue;
      require(row[4].is_array(), "a course has another number of paces");
      if (row[4].empty()) continue;
      auto pace = row[4].begin();
      each_stretch(course, [&](size_t, size_t to) {
        require(pace != row[4].end(), "a course has another number of paces");
        course.pace.resize(to, uint8_t(number(*pace++, kPaces - 1, "a pace is out of range")));
      });
      require(pace == row[4].end(), "a course has another number of paces");
    }
    require(!m.classes[c].courses.empty(), "a class has no course");
  }
}

LoadModel parse_document(const json& d, uint64_t version) {
  LoadModel m;
  m.program = d.value("program", "");
  m.inherits = version >= 7;
  m.runs = uint32_t(number(d.at("runs"), UINT32_MAX, "the number of runs is out of range"));
  require(m.runs > 0, "the number of runs is out of range");
  m.operations = number(d.at("operations"), uint64_t(kMostOperations), "the number of operations is out of range");
  m.span = int64_t(number(d.at("span_ns"), uint64_t(kLongestRun), "the length of the load is out of range"));
  if (auto unit = d.find("clock_unit"); unit != d.end())
    m.clock_unit = uint32_t(number(*unit, kMaxClockUnit, "the clock unit is out of range"));
  require(m.clock_unit > 0, "the clock unit is out of range");
  m.dropped = number(d.at("dropped"), UINT64_MAX, "a count is no number");
  parse_symbols(d.at("symbols"), m);
  parse_classes(d.at("classes"), m);
  for (const Symbol& s : m.symbols)
    require(!s.is_process_step() || s.argument < m.classes.size(), "a symbol has an unknown class of processes");
  if (d.contains("courses")) parse_courses(d.at("courses"), version, m);
  parse_contexts(d.at("contexts"), m);
  for (const json& row : d.at("gaps")) {
    const bool counted = row.is_array() && row.size() != 4;  // older files have no counts
    array_of(row, counted ? 5 : 4, "a gap has another number of parts");
    const char* what = "a gap is of no kind";
    auto kind = [&](const json& value) {
      const auto k = uint32_t(number(value, kAnyKind, what));
      require(k < kOpKinds || k == kStartsKind || k == kWaitsKind || k == kAnyKind, what);
      return k;
    };
    m.gaps[{uint32_t(number(row[0], UINT32_MAX, what)), kind(row[1]), kind(row[2])}] = {
        times(row[3]), counted ? number(row[4], UINT32_MAX, "a count is no number") : 0};
  }
  if (d.contains("stalls")) {
    const json& row = d.at("stalls");
    array_of(row, 2, "stalls have another number of parts");
    m.stalls = {times(row[0]), number(row[1], UINT32_MAX, "a count is no number")};
  }
  for (const json& row : d.at("durations")) {
    array_of(row, 3, "a duration has another number of parts");
    const char* what = "a duration is of no kind";
    m.durations[{uint32_t(number(row[0], kOpKinds - 1, what)), uint32_t(number(row[1], 1, what))}] = times(row[2]);
  }
  for (const json& row : d.at("sizes")) {
    array_of(row, 3, "a size has another number of parts");
    const char* what = "a size is of no kind";
    const auto kind = uint32_t(number(row[0], kOpKinds - 1, what));
    m.sizes[{kind, uint32_t(number(row[1], 255, what))}] = values(row[2], is_listing(OpKind(kind)) ? kMostEntries : kMostBytes);
  }
  if (!d.at("files").empty()) m.files = values(d.at("files"), kMostBytes);
  std::set<std::pair<uint32_t, uint32_t>> names;  // by directory and first equal name
  for (const json& row : d.at("hot")) {
    array_of(row, version < 5 ? 4 : 5, "a name has another number of parts");
    OftenUsedName& h = m.hot.emplace_back();
    h.parent = uint32_t(number(row[0], m.hot.size() - 1, "a name comes before its directory"));
    h.type = uint8_t(number(row[1], 15, "a name has an unknown type"));
    h.existed = number(row[2], 1, "a name neither exists nor not") != 0;
    h.size = number(row[3], h.type == kDirectoryType ? kMostPrepared : kMostBytes,
                    h.type == kDirectoryType ? "a directory has too many entries" : "a size is too large");
    if (version >= 5) h.same = uint32_t(number(row[4], m.hot.size() - 1, "a name is equal to a later one"));
    require(!h.same || !m.hot[h.same - 1].same, "a name is equal to one that is equal to another");
    require(names.emplace(h.parent, h.same ? h.same : uint32_t(m.hot.size())).second, "a name comes twice");
    require(m.hot.size() <= kMostHotNames, "there are too many names");
    if (version == 1 && h.type == kDirectoryType) h.size = 0;
  }
  if (auto root = d.find("root_entries"); root != d.end())
    m.root_entries = number(*root, kMostPrepared, "a directory has too many entries");
  uint64_t entries = m.root_entries;
  for (const OftenUsedName& h : m.hot) entries += h.type == kDirectoryType ? h.size : 0;
  require(entries <= kMostPrepared, "directories have too many entries");
  for (const json& row : d.at("ranges")) {
    array_of(row, 2, "a range has another number of parts");
    m.ranges.emplace_back(number(row[0], INT64_MAX, "a range is out of range"),
                          number(row[1], INT64_MAX, "a range is out of range"));
  }
  if (auto own = d.find("between_runs"); own != d.end())
    for (const auto& [aspect, distance] : own->items()) {
      require(distance.is_number() && std::isfinite(distance.get<double>()), "a distance is no number");
      m.between_runs[aspect] = distance.get<double>();
    }
  return m;
}

std::string decompressed(std::string_view bytes) {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  std::string out;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  char part[65536];
  size_t left = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer to{part, sizeof part, 0};
    left = ZSTD_decompressStream(context.get(), &to, &in);
    require(!ZSTD_isError(left), "damaged (zstd)");
    out.append(part, to.pos);
    require(out.size() <= kJsonMax, "too large for a model");
  }
  require(left == 0, "cut: the end of the file is missing");
  return out;
}

json nested(const std::string& text) {
  return json::parse(text, [](int depth, json::parse_event_t, json&) {
    require(depth <= kMostNested, "nested too deeply");
    return true;
  });
}

}  // namespace

bool looks_like_model(std::string_view first_bytes) { return first_bytes.starts_with(kMark); }

LoadModel parse_model(std::string_view bytes, const std::string& name) {
  if (!looks_like_model(bytes)) throw std::runtime_error(name + ": no model (fstrace model makes one of traces)");
  try {
    const json d = nested(decompressed(bytes));
    require(d.is_object() && d.value("format", "") == "fsmodel", "no model in it");
    const uint64_t version = number(d.at("version"), UINT64_MAX, "the version is no number");
    if (version > kModelVersion)
      throw Invalid(fmt::format("version {} is newer than {}, which this program reads", version, kModelVersion));
    return parse_document(d, version);
  } catch (const json::exception&) {
    throw std::runtime_error(name + ": damaged model: not the expected JSON");
  } catch (const Invalid& e) {
    throw std::runtime_error(name + ": damaged model: " + e.what());
  }
}

void check_model(const LoadModel& model) {
  const std::string text = model_json(model);
  try {
    require(text.size() <= kJsonMax, "it is too large");
    parse_document(nested(text), kModelVersion);
  } catch (const Invalid& e) {
    throw UnfitLoad(std::string("no model can have this load: ") + e.what());
  }
}

LoadModel read_model(int fd, const std::string& name) {
  std::string bytes;
  char part[65536];
  for (ssize_t n; (n = pread(fd, part, sizeof part, off_t(bytes.size()))) != 0;) {
    if (n < 0) throw std::runtime_error(name + ": can't be read: " + strerror(errno));
    bytes.append(part, size_t(n));
    if (bytes.size() > kModelFileMax) throw std::runtime_error(name + ": too large for a model");
  }
  return parse_model(bytes, name);
}

LoadModel read_model(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw std::runtime_error(path + ": " + strerror(errno));
  return read_model(file.get(), path);
}

bool is_model_file(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char head[kMark.size()];
  const ssize_t n = file ? pread(file.get(), head, sizeof head, 0) : -1;
  return n > 0 && looks_like_model({head, size_t(n)});
}

std::string model_json(const LoadModel& model) { return document(model).dump(); }

std::string model_bytes(const LoadModel& model) {
  const std::string text = model_json(model);
  std::string out(kMark);
  const size_t begin = out.size();
  out.resize(begin + ZSTD_compressBound(text.size()));
  const size_t n = ZSTD_compress(out.data() + begin, out.size() - begin, text.data(), text.size(), kLevel);
  if (ZSTD_isError(n)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(n));
  out.resize(begin + n);
  return out;
}

}  // namespace fsr
