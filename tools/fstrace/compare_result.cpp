// SPDX-License-Identifier: Apache-2.0
#include "compare_result.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "trace/paths.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

const AspectEntry& aspect_entry(Aspect aspect) {
  static constexpr AspectEntry kEntries[kAspects] = {
      {"mix", "share of operations that are of another kind"},
      {"arrivals", "when operations started, since the first (KS)"},
      {"gaps", "times from start to start (KS)"},
      {"latency", "latencies of all operations (KS)"},
      {"depth", "operations in flight, over time (KS)"},
      {"working-set", "files and blocks touched: the larger relative difference"},
      {"lookups", "share of lookups of missing names"},
      {"sequential", "share of reads or of writes that are sequential, whichever differs more"},
      {"sizes", "bytes moved by sequential and other reads and writes (KS, weighted by share)"},
      {"outcomes", "share of operations that ended with another error, length or list of names"},
      {"names", "share of the names at the end that differ"},
  };
  return kEntries[size_t(aspect)];
}

bool Comparison::alike() const {
  for (size_t i = 0; i < kAspects; ++i)
    if (exceeded(i)) return false;
  return std::none_of(kind_tolerances.begin(), kind_tolerances.end(),
                      [&](const KindTolerance& t) { return distance_of(t) > t.value; });
}

double Comparison::distance_of(const KindTolerance& t) const {
  const auto k = std::find_if(kinds.begin(), kinds.end(), [&](const KindComparison& c) { return c.kind == t.kind; });
  if (k == kinds.end()) return 0;
  return t.aspect == Aspect::latency ? k->latency : t.aspect == Aspect::gaps ? k->gaps : k->outcomes;
}

namespace {

constexpr size_t kExamples = 5;  // of names, each way

double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::max(a, b); }

double mix_distance(const Profile& a, const Profile& b) {
  double sum = 0;
  for (size_t k = 0; k < kOpKinds; ++k)
    sum += std::abs(double(a.kinds[k].operations) / double(a.total.operations) -
                    double(b.kinds[k].operations) / double(b.total.operations));
  return sum / 2;
}

double outcome_distance(const std::map<int32_t, uint64_t>& a, const std::map<int32_t, uint64_t>& b) {
  double whole_a = 0, whole_b = 0, common = 0;
  for (const auto& [error, n] : a) whole_a += double(n);
  for (const auto& [error, n] : b) whole_b += double(n);
  if (whole_a == 0 || whole_b == 0) return 0;  // the aspect "mix" covers this case
  for (const auto& [error, n] : a)
    if (auto found = b.find(error); found != b.end()) common += std::min(double(n) / whole_a, double(found->second) / whole_b);
  return std::max(0.0, 1 - common);
}

// The share of this kind's differences in all `operations` of both traces.
double outcome_distance(const Pairing::Kind& kind, uint64_t operations) {
  uint64_t alone = 0;
  for (const auto& side : kind.alone)
    for (const auto& [error, n] : side) alone += n;
  const double differing = 2.0 * double(kind.differing) + outcome_distance(kind.alone[0], kind.alone[1]) * double(alone);
  return std::min(1.0, differing / double(operations));
}

double lookup_distance(const TraitCounts& a, const TraitCounts& b) {
  return a.lookups && b.lookups ? std::abs(a.lookup_share() - b.lookup_share()) : 0;
}

double sequential_distance(const TraitCounts& a, const TraitCounts& b) {
  auto of = [](const TraitCounts::Transfers& x, const TraitCounts::Transfers& y) {
    return x.count && y.count ? std::abs(x.share() - y.share()) : 0;
  };
  return std::max(of(a.reads, b.reads), of(a.writes, b.writes));
}

// A class that only one of them has counts as a difference of the mix or of the sequential share.
double size_distance(const TraitCounts& a, const TraitCounts& b) {
  auto all = [](const TraitCounts& counts) { return double(std::max<uint64_t>(1, counts.reads.count + counts.writes.count)); };
  double sum = 0;
  for (const auto& [x, y] : {std::pair(&a.reads, &b.reads), std::pair(&a.writes, &b.writes)})
    for (size_t sequential : {0, 1}) {
      const Histogram &of_a = x->sizes[sequential], &of_b = y->sizes[sequential];
      if (of_a.count() && of_b.count())
        sum += distance(of_a, of_b) * (double(of_a.count()) / all(a) + double(of_b.count()) / all(b)) / 2;
    }
  return sum;
}

struct Leaf {
  uint32_t type = 0;
  std::optional<uint64_t> size;  // size of a regular file
  uint64_t target = 0;           // hash of the target of a symlink
  bool found = false;            // true: the other tree has it, too
  bool operator==(const Leaf& other) const {
    return (!type || !other.type || type == other.type) && (!size || !other.size || *size == *other.size) &&
           (!target || !other.target || target == other.target);
  }
};

// visit(path, leaf) for each name.
template <class Visit>
void each_leaf(const LiveState& tree, Visit visit) {
  Paths paths;
  tree.each_name([&](ObjectId parent, std::string_view name, ObjectId object, uint32_t) { paths.learn(parent, name, object); });
  tree.each_name([&](ObjectId parent, std::string_view name, ObjectId id, uint32_t type) {
    Leaf leaf{.type = type};
    if (const LiveObject* object = id ? tree.object(id) : nullptr) {
      if (object->attr.valid & kAttrMode) leaf.type = object->attr.mode & S_IFMT;
      if (leaf.type == S_IFREG && object->attr.valid & kAttrSize) leaf.size = object->attr.size;
      if (!object->target.empty()) leaf.target = XXH3_64bits(object->target.data(), object->target.size());
    }
    visit(paths.path(parent, name), leaf);
  });
}

NamesComparison compare_names(const Profile& a, const Profile& b) {
  NamesComparison out;
  auto example = [&](uint64_t n, const std::string& what) {
    if (n <= kExamples) out.examples.push_back(what);
  };
  auto hash = [](const std::string& path) { return XXH3_64bits(path.data(), path.size()); };
  std::unordered_map<uint64_t, Leaf> of_b;
  each_leaf(b.tree, [&](const std::string& path, const Leaf& leaf) { of_b.emplace(hash(path), leaf); });
  each_leaf(a.tree, [&](const std::string& path, const Leaf& leaf) {
    auto found = of_b.find(hash(path));
    if (found == of_b.end()) return example(++out.only_first, "only in " + a.name + ": " + path);
    found->second.found = true;
    if (found->second == leaf) {
      ++out.same;
      return;
    }
    const auto& [x, y] = std::pair(leaf, found->second);
    example(++out.differing, x.size && y.size && *x.size != *y.size
                                 ? fmt::format("{}: {} and {} bytes", path, *x.size, *y.size)
                                 : path + ": of another " + (x.type != y.type ? "type" : "target"));
  });
  each_leaf(b.tree, [&](const std::string& path, const Leaf&) {
    if (!of_b[hash(path)].found) example(++out.only_second, "only in " + b.name + ": " + path);
  });
  return out;
}

}  // namespace

void read_both(TraceReader& first, Profile& a, TraceReader& second, Profile& b, Pairing& pairing, ThreadId others,
               StatusLine* line) {
  uint64_t read[2] = {0, 0};
  bool more[2] = {true, true};
  while (more[0] || more[1]) {
    const bool turn = !more[0] || (more[1] && read[1] < read[0]);
    const OpBatch* batch = turn ? b.next(second) : a.next(first);
    if (!(more[turn] = batch != nullptr)) continue;
    read[turn] += batch->ops.size();
    for (Op op : batch->ops) {
      if (turn) op.thread |= others;
      pairing.add(op, turn ? Pairing::second : Pairing::first);
    }
    if (line) line->bar("reading", first.position_bytes() + second.position_bytes(), first.file_bytes() + second.file_bytes());
  }
  pairing.finish();
  a.end(first);
  b.end(second);
}

Comparison compare_profiles(const Profile& a, const Profile& b, const Pairing& pairing) {
  Comparison c;
  double outcomes = 0, weight = 0;
  for (size_t k = 0; k < kOpKinds; ++k) {
    const uint64_t n = a.kinds[k].operations + b.kinds[k].operations;
    if (n == 0) continue;
    KindComparison kind{.kind = OpKind(k)};
    kind.latency = distance(a.kinds[k].latency, b.kinds[k].latency);
    kind.gaps = distance(a.kind_gaps[k], b.kind_gaps[k]);
    kind.outcomes = outcome_distance(pairing.kind(OpKind(k)), n);
    outcomes += kind.outcomes * double(n);
    weight += double(n);
    c.kinds.push_back(kind);
  }
  auto operations = [&](const KindComparison& k) {
    return a.kinds[size_t(k.kind)].operations + b.kinds[size_t(k.kind)].operations;
  };
  std::stable_sort(c.kinds.begin(), c.kinds.end(), [&](auto& x, auto& y) { return operations(x) > operations(y); });
  const WorkingSet x = a.working_set(), y = b.working_set();
  c.pairs = {pairing.pairs(), pairing.differing(), pairing.alone(Pairing::first), pairing.alone(Pairing::second),
             pairing.examples()};
  c.names = compare_names(a, b);
  const NamesComparison& n = c.names;
  const uint64_t different = n.only_first + n.only_second + n.differing, names = n.same + different;
  auto set = [&](Aspect aspect, double value) { c.distances[size_t(aspect)] = value; };
  set(Aspect::mix, mix_distance(a, b));
  set(Aspect::arrivals, distance(a.timeline, b.timeline));
  set(Aspect::gaps, distance(a.gaps, b.gaps));
  set(Aspect::latency, distance(a.total.latency, b.total.latency));
  set(Aspect::depth, distance(a.concurrency.time_at(), b.concurrency.time_at()));
  set(Aspect::working_set, std::max(relative(double(x.files), double(y.files)), relative(double(x.bytes), double(y.bytes))));
  set(Aspect::lookups, lookup_distance(a.traits, b.traits));
  set(Aspect::sequential, sequential_distance(a.traits, b.traits));
  set(Aspect::sizes, size_distance(a.traits, b.traits));
  set(Aspect::outcomes, outcomes / weight);
  set(Aspect::names, names ? double(different) / double(names) : 0);
  return c;
}

}  // namespace fsr::fstrace
