// SPDX-License-Identifier: Apache-2.0
// Tests models that keep what each process did. A run is what was learned, and a part of it is its begin. No file from a stranger
// does harm.
#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#include <cerrno>
#include <map>
#include <set>
#include <stdexcept>

#include "catch.hpp"
#include "model/learner.hpp"
#include "model/model_file.hpp"
#include "model/model_source.hpp"

namespace fsr::model_courses_test {

namespace {

constexpr unsigned kFiles = 20;
constexpr int64_t kPause = 50'000'000;  // ns of the only long pause of a run
constexpr ObjectId kFirst = 100, kDirectory = 50;

// A process makes files of different sizes in a directory, and renames the directory. Then it starts another one for each, which
// reads its file as the first one has left it.
class Load {
 public:
  Load(ModelLearner& learner, bool survey) : learner_(learner), survey_(survey) {}

  void run() {
    begin(1, 1, 0, "maker");
    add({.kind = OpKind::lookup, .error = ENOENT, .parent = kRootObject, .name = "new"});
    const Attr directory{.valid = kAttrMode, .mode = S_IFDIR | 0755};
    add({.kind = OpKind::mkdir,
         .mode = S_IFDIR | 0755,
         .object = kDirectory,
         .parent = kRootObject,
         .name = "new",
         .attr = &directory});
    for (unsigned i = 0; i < kFiles; ++i) write_file(i);
    add({.kind = OpKind::rename,
         .object = kDirectory,
         .parent = kRootObject,
         .parent2 = kRootObject,
         .name = "new",
         .name2 = "old"});
    now_ += kPause;
    for (unsigned i = 0; i < kFiles; ++i) {
      begin(1, 1, 0, "maker");
      look_up(i);
      begin(2 + i, int32_t(2 + i), 1, "reader");
      read_file(i);
    }
    learner_.end_trace();
  }

 private:
  static uint64_t size(unsigned i) { return 1000 + 997 * i; }
  void begin(ThreadId thread, int32_t pid, int32_t ppid, std::string_view command) {
    who_ = {.id = thread, .tid = pid, .pid = pid, .ppid = ppid, .command = command};
  }
  void add(Op op) {
    op.thread = who_.id;
    op.who = &who_;
    op.start = now_;
    op.duration = 10'000;
    now_ += 100'000;
    survey_ ? learner_.survey(op) : learner_.add(op);
  }
  const Attr* attr(unsigned i, uint64_t bytes) {
    attrs_[i] = {.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = bytes};
    return &attrs_[i];
  }
  void write_file(unsigned i) {
    const std::string name = "f" + std::to_string(i);
    add({.kind = OpKind::lookup, .error = ENOENT, .parent = kDirectory, .name = name});
    add({.kind = OpKind::create,
         .op_flags = kOpCreated,
         .mode = S_IFREG | 0644,
         .open_flags = O_WRONLY | O_CREAT,
         .object = kFirst + i,
         .parent = kDirectory,
         .handle = 1 + i,
         .name = name,
         .attr = attr(i, 0)});
    add({.kind = OpKind::write, .object = kFirst + i, .handle = 1 + i, .length = size(i), .result = size(i)});
    add({.kind = OpKind::release, .object = kFirst + i, .handle = 1 + i});
  }
  void look_up(unsigned i) {
    const std::string name = "f" + std::to_string(i);
    add({.kind = OpKind::lookup, .object = kFirst + i, .parent = kDirectory, .name = name, .attr = attr(i, size(i))});
  }
  void read_file(unsigned i) {
    add({.kind = OpKind::open, .open_flags = O_RDONLY, .object = kFirst + i, .handle = 100 + i});
    add({.kind = OpKind::read, .object = kFirst + i, .handle = 100 + i, .length = 65536, .result = size(i)});
    add({.kind = OpKind::release, .object = kFirst + i, .handle = 100 + i});
  }

  ModelLearner& learner_;
  const bool survey_;
  ThreadInfo who_;
  std::map<unsigned, Attr> attrs_;
  int64_t now_ = 0;
};

LoadModel learned() {
  ModelLearner learner(false, ModelForm::courses);
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 3; ++trace) Load(learner, survey).run();
  return learner.finish();
}

struct Made {
  ModelCounts counts;
  std::vector<OpKind> kinds;
  std::map<ObjectId, uint64_t> written, read;  // bytes
  std::vector<int64_t> starts;
};

Made run(const LoadModel& model, const ModelOptions& options) {
  Made made;
  ModelSource source(model, options);
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      made.kinds.push_back(op.kind);
      made.starts.push_back(op.start);
      if (op.kind == OpKind::write) made.written[op.object] += op.result;
      if (op.kind == OpKind::read) made.read[op.object] += op.result;
    }
  made.counts = source.counts();
  return made;
}

std::string refusal(const std::string& json) {
  std::string packed(ZSTD_compressBound(json.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), json.data(), json.size(), 1));
  try {
    parse_model(model_bytes({}).substr(0, 16) + packed, "x");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

std::string with(std::string text, const std::string& part, const std::string& other) {
  const size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), other);
}

}  // namespace

TEST_CASE("courses: a run does what the load did, file by file", "[model]") {
  const LoadModel model = learned();
  REQUIRE(form_of(model) == ModelForm::courses);
  CHECK(model.contexts.empty());
  for (uint64_t seed : {1, 2, 3}) {
    const Made made = run(model, {.seed = seed});
    CHECK(made.counts.left_out == 0);
    CHECK(made.counts.operations == model.operations);
    CHECK(made.written.size() == kFiles);
    // Each reader finds its own file, of its own size, although the directory has got another name.
    CHECK(made.read == made.written);
    std::set<uint64_t> sizes;
    for (const auto& [object, bytes] : made.read) sizes.insert(bytes);
    CHECK(sizes.size() == kFiles);
  }
}

TEST_CASE("courses: a long pause stays at its place", "[model]") {
  const Made made = run(learned(), {});
  size_t longest = 1;
  for (size_t i = 1; i < made.starts.size(); ++i)
    if (made.starts[i] - made.starts[i - 1] > made.starts[longest] - made.starts[longest - 1]) longest = i;
  CHECK(made.kinds[longest - 1] == OpKind::rename);
  CHECK(made.starts[longest] - made.starts[longest - 1] > kPause * 9 / 10);
}

TEST_CASE("courses: a process waits for what another one makes", "[model]") {
  LoadModel model;
  model.runs = 3;
  model.operations = 3;
  model.span = 10'000'000;
  model.symbols = {{.kind = OpKind::mkdir, .type = kDirectoryType, .parent = {Relation::name, 0}},
                   {.kind = OpKind::opendir, .type = kDirectoryType, .object = {Relation::hot, 0}},
                   {.kind = OpKind::releasedir, .type = kDirectoryType, .handle = 1}};
  const ProcessClass one{.command = "class", .processes = 1, .roots = 1, .operations = 1, .steps = 1, .start = {}, .length = {}};
  model.classes = {one, one};
  model.classes[0].courses = {{.root = true, .start = 0, .steps = {2, 3}, .pauses = {}, .pace = {}}};
  model.classes[1].courses = {{.root = true, .start = 5000, .steps = {1}, .pauses = {}, .pace = {}}};
  model.hot = {{.type = kDirectoryType}};
  const Made made = run(model, {});
  CHECK(made.counts.left_out == 0);
  CHECK(made.kinds == std::vector{OpKind::mkdir, OpKind::opendir, OpKind::releasedir});
}

TEST_CASE("courses: a part of a run is its begin", "[model]") {
  const LoadModel model = learned();
  const Made whole = run(model, {}), half = run(model, {.load = 0.5});
  CHECK(half.counts.left_out == 0);
  CHECK(half.counts.operations >= model.operations / 2);
  CHECK(half.counts.operations <= model.operations / 2 + 2);
  const size_t n = half.kinds.size() - half.counts.closed;
  CHECK(std::equal(half.kinds.begin(), half.kinds.begin() + ptrdiff_t(n), whole.kinds.begin()));
}

TEST_CASE("courses: each further run begins with a new directory", "[model]") {
  const LoadModel model = learned();
  const Made made = run(model, {.duration = 3 * model.span});
  CHECK(made.counts.left_out == 0);
  CHECK(made.counts.operations == 3 * model.operations);
  CHECK(made.written.size() == 3 * kFiles);
}

TEST_CASE("courses: only the last run is cut by the time", "[model]") {
  const LoadModel model = learned();
  const Made made = run(model, {.duration = 2 * model.span + model.span / 10});
  CHECK(made.counts.left_out == 0);
  CHECK(made.counts.operations >= 2 * model.operations + model.operations / 10);
  CHECK(made.counts.operations <= 2 * model.operations + model.operations / 10 + 2);
  CHECK(made.written.size() >= 2 * kFiles);
}

TEST_CASE("courses: a file has them as they were learned", "[model]") {
  const LoadModel model = learned();
  CHECK(model_json(parse_model(model_bytes(model), "m")) == model_json(model));
  const std::string json = model_json(model);
  for (const char* secret : {"f7", "new", "old", "reader"}) CHECK(json.find(secret) == std::string::npos);
}

TEST_CASE("courses: what occurred less than three times is not in the file", "[model]") {
  ModelLearner learner(false, ModelForm::courses);
  for (const bool survey : {true, false}) Load(learner, survey).run();
  CHECK(model_json(learner.finish()).find("\"rename\"") == std::string::npos);
}

TEST_CASE("courses: a size that a run has less than three times loses its last digits", "[model]") {
  ModelLearner learner(false, ModelForm::courses);
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 3; ++trace) Load(learner, survey).run();
  const std::string json = model_json(learner.finish());
  CHECK(json.find(std::to_string(1000 + 997 * 7)) == std::string::npos);  // 7,979 bytes, of one file
  CHECK(json.find("7936") != std::string::npos);
}

TEST_CASE("courses: equal names in directories that have no number are two names", "[model]") {
  ModelLearner learner(false, ModelForm::courses);
  const ThreadInfo who{.id = 1, .tid = 1, .pid = 1, .command = "reader"};
  const Attr directory{.valid = kAttrMode, .mode = S_IFDIR | 0755}, file{.valid = kAttrMode, .mode = S_IFREG | 0644};
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 2; ++trace) {
      int64_t now = 0;
      const auto look_up = [&](ObjectId parent, const char* name, ObjectId object, const Attr& attr) {
        Op op{.start = now += 1000, .duration = 10, .kind = OpKind::lookup, .thread = 1, .object = object, .parent = parent};
        op.who = &who;
        op.name = name;
        op.attr = &attr;
        survey ? learner.survey(op) : learner.add(op);
      };
      look_up(kRootObject, "a", 10, directory);
      look_up(kRootObject, "b", 11, directory);
      for (int i = 0; i < 5; ++i) {
        look_up(10, "x", 20, file);
        look_up(11, "x", 21, file);
      }
      learner.end_trace();
    }
  CHECK(learner.finish().hot.size() == 2);
}

TEST_CASE("courses: a damaged file is refused", "[model]") {
  LoadModel model = learned();
  ProcessClass& c = model.classes[0];
  c.courses = {{.root = true, .start = 5, .steps = {1, 2}, .pauses = {{1, 7}}, .pace = {}}};
  const std::string json = model_json(model), course = "[[1,5,[1,2],[1,2],[]]]";
  CHECK(refusal(json).empty());
  CHECK(refusal(with(with(json, course, "[[1,5,[1,2],[1,2]]]"), "\"version\":7", "\"version\":5")) ==
        "x: damaged model: a course has another number of parts");  // another course has paces
  const std::pair<const char*, const char*> kDamaged[] = {{"[[1,5,[1,99999],[1,2],[]]]", "a course has an unknown symbol"},
                                                          {"[[1,5,[1,0],[1,2],[]]]", "a course has an unknown symbol"},
                                                          {"[[1,5,[],[],[]]]", "a course has no step"},
                                                          {"[[1,5,[1,2],[2,2],[]]]", "a pause is out of range"},
                                                          {"[[1,5,[1,2],[1],[]]]", "a pause has no end"},
                                                          {"[[2,5,[1,2],[1,2],[]]]", "a course neither begins by itself nor not"},
                                                          {"[]", "a class has no course"},
                                                          {"[[1,5,[1,2],[1,2]]]", "a course has another number of parts"},
                                                          {"[[1,5,[1,2],[1,2],[3]]]", "a course has another number of paces"},
                                                          {"[[1,5,[1,2],[1,2],[3,3,3]]]", "a course has another number of paces"},
                                                          {"[[1,5,[1,2],[1,2],[3,8]]]", "a pace is out of range"},
                                                          {"[[1,99999999999999999,[1,2],[],[]]]", "a course begins too late"}};
  for (const auto& [text, why] : kDamaged) CHECK(refusal(with(json, course, text)) == std::string("x: damaged model: ") + why);
  model = learned();
  for (Symbol& s : model.symbols)
    if (s.object.relation == Relation::hot) s.object.bucket = kMostHotNames - 1;  // a name that is not there
  const LoadModel damaged = parse_model(model_bytes(model), "m");
  ModelSource source(damaged, {});
  for (OpBatch batch; source.next(batch);) {
  }
  CHECK(source.counts().left_out > 0);
  // Only names have such large numbers.
  model.symbols[0].object = {Relation::known, 64};
  CHECK(refusal(model_json(model)) == "x: damaged model: a symbol has a field that is out of range");
}

TEST_CASE("courses: files of version 4 are read", "[model]") {
  LoadModel model;
  model.runs = 3;
  model.operations = 9;
  model.span = 1'000'000;
  model.symbols = {{.kind = OpKind::lookup, .object = {Relation::hot, 0}}};
  model.classes = {{.command = "class 1", .processes = 1, .roots = 1, .operations = 9, .steps = 9, .start = {}, .length = {}}};
  model.classes[0].start.values = {0};
  model.classes[0].length.values = {9};
  model.contexts = {{0, {}, {{0, 1}, {1, 9}}, 1}};
  model.hot = {{.type = kRegularType, .existed = true, .size = 77}};
  const std::string json = model_json(model);
  CHECK(refusal(with(with(json, "\"version\":7", "\"version\":4"), "[[0,8,1,77,0]]", "[[0,8,1,77]]")).empty());
  CHECK(refusal(with(json, "[[0,8,1,77,0]]", "[[0,8,1,77,1]]")) == "x: damaged model: a name is equal to a later one");
  const std::string twice = with(json, "[[0,8,1,77,0]]", "[[0,8,1,77,0],[0,8,1,77,1]]");
  CHECK(refusal(twice) == "x: damaged model: a name comes twice");
  CHECK(parse_model(model_bytes(model), "m").clock_unit == 1);
  CHECK(refusal(with(json, "\"clock_unit\":1", "\"clock_unit\":0")) == "x: damaged model: the clock unit is out of range");
  CHECK(refusal(with(json, "\"clock_unit\":1,", "")).empty());
  const std::string chain = with(json, "[[0,8,1,77,0]]", "[[0,4,1,0,0],[0,8,1,77,0],[1,8,1,77,2],[1,8,1,77,3]]");
  CHECK(refusal(chain) == "x: damaged model: a name is equal to one that is equal to another");
}

TEST_CASE("courses: files of version 5 have no paces", "[model]") {
  LoadModel model = learned();
  for (ProcessClass& c : model.classes)
    for (Course& course : c.courses) course.pace.clear();
  std::string json = with(model_json(model), "\"version\":7", "\"version\":5");
  size_t rows = 0;
  for (size_t at; (at = json.find(",[]]", json.find("\"courses\""))) != std::string::npos && rows < 1 + kFiles; ++rows)
    json.replace(at, 4, "]");
  CHECK(rows > 0);
  CHECK(refusal(json) == "");
}

TEST_CASE("courses: a stretch that was slow is slow again", "[model]") {
  ModelLearner learner(false, ModelForm::courses, 0);  // no pause keeps its place
  const ThreadInfo who{.id = 1, .tid = 1, .pid = 1, .command = "reader"};
  constexpr unsigned kStretches = 60, kSteps = 48;
  const auto slow = [](unsigned stretch) { return stretch % 3 == 0; };
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 2; ++trace) {
      int64_t now = 0;
      for (unsigned i = 0; i < kStretches * kSteps; ++i) {
        Op op{.start = now += slow(i / kSteps) ? 9000 : 5000, .duration = 100, .kind = OpKind::getattr, .thread = 1};
        op.object = kRootObject;
        op.who = &who;
        survey ? learner.survey(op) : learner.add(op);
      }
      learner.end_trace();
    }
  const Made made = run(learner.finish(), {});
  REQUIRE(made.starts.size() + 1 == kStretches * kSteps);  // the first step is rare
  double sums[2] = {}, n[2] = {};
  for (unsigned i = 0; i + 1 < kStretches; ++i) {
    sums[slow(i)] += double(made.starts[(i + 1) * kSteps] - made.starts[i * kSteps]);
    ++n[slow(i)];
  }
  CHECK(sums[true] / n[true] > 1.3 * sums[false] / n[false]);
}

TEST_CASE("courses: a name exists when it did in the trace whose courses these are", "[model]") {
  ModelLearner learner(false, ModelForm::courses);
  const ThreadInfo who{.id = 1, .tid = 1, .pid = 1, .command = "maker"};
  const Attr file{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 0};
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 3; ++trace) {
      int64_t now = 0;
      const auto add = [&](Op op) {
        op.start = now += trace ? 1000 : 100'000;  // the first one is slow
        op.duration = 10;
        op.thread = 1;
        op.who = &who;
        op.parent = kRootObject;
        op.object = op.error ? kNoObject : 20;
        if (!op.error) op.attr = &file;
        survey ? learner.survey(op) : learner.add(op);
      };
      if (trace)
        for (int i = 0; i < 2; ++i) add({.kind = OpKind::lookup, .error = ENOENT, .name = "x"});
      if (trace) add({.kind = OpKind::mknod, .mode = S_IFREG | 0644, .name = "x"});
      add({.kind = OpKind::mknod, .mode = S_IFREG | 0644, .name = trace ? "y" : "z"});
      for (int i = 0; i < 5; ++i) {
        add({.kind = OpKind::lookup, .name = "x"});
        add({.kind = OpKind::lookup, .name = trace ? "y" : "z"});
      }
      learner.end_trace();
    }
  const LoadModel model = learner.finish();
  REQUIRE(!model.hot.empty());
  for (const OftenUsedName& name : model.hot) CHECK(!name.existed);
  CHECK(run(model, {}).counts.left_out == 0);
}

TEST_CASE("courses: open instances keep their order, and transfers their place", "[model]") {
  constexpr unsigned kOpen = 5;
  constexpr uint64_t kBytes = 12'345, kOffset = 100'001;
  ModelLearner learner(false, ModelForm::courses);
  const ThreadInfo who{.id = 1, .tid = 1, .pid = 1, .command = "reader"};
  const Attr file{.valid = kAttrMode | kAttrSize, .mode = S_IFREG | 0644, .size = 1'000'000};
  for (const bool survey : {true, false})
    for (int trace = 0; trace < 2; ++trace) {
      int64_t now = 0;
      const auto add = [&](unsigned i, Op op) {
        op.start = now += 1000;
        op.duration = 10;
        op.thread = 1;
        op.who = &who;
        op.object = 20 + i;
        survey ? learner.survey(op) : learner.add(op);
      };
      const std::string names = "abcde";
      for (unsigned i = 0; i < kOpen; ++i) {
        add(i, {.kind = OpKind::lookup, .parent = kRootObject, .name = std::string_view(names).substr(i, 1), .attr = &file});
        add(i, {.kind = OpKind::open, .open_flags = O_RDONLY, .handle = 1 + i});
      }
      for (unsigned i : {0, 3, 4, 2, 1})
        add(i, {.kind = OpKind::read, .handle = 1 + i, .offset = kOffset, .length = kBytes, .result = kBytes});
      for (unsigned i = 0; i < kOpen; ++i) add(i, {.kind = OpKind::release, .handle = 1 + i});
      learner.end_trace();
    }
  const LoadModel model = learner.finish();
  std::vector<ObjectId> opened, read;
  ModelSource source(model, {});
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      if (op.kind == OpKind::open) opened.push_back(op.object);
      if (op.kind != OpKind::read) continue;
      read.push_back(op.object);
      CHECK(op.offset == kOffset);
      CHECK(op.length == kBytes);
    }
  REQUIRE(opened.size() == kOpen);
  CHECK(read == std::vector{opened[0], opened[3], opened[4], opened[2], opened[1]});
}

TEST_CASE("courses: what can't be done at first leaves the order of open instances alone", "[model]") {
  LoadModel model;
  model.runs = 3;
  model.operations = 6;
  model.span = 10'000'000;
  const auto open = [](uint16_t name) {
    return Symbol{.kind = OpKind::open, .type = kRegularType, .object = {Relation::hot, name}};
  };
  // The first read finds something, although it should not.
  const auto read = [](Extent extent) {
    return Symbol{.kind = OpKind::read, .type = kRegularType, .handle = 2, .place = Place::begin, .extent = extent, .bytes = 64};
  };
  model.symbols = {open(0), open(1), read(Extent::empty), read(Extent::complete), {.kind = OpKind::release, .handle = 1}};
  model.classes = {{.command = "class", .processes = 1, .roots = 1, .operations = 6, .steps = 6, .start = {}, .length = {}}};
  model.classes[0].courses = {{.root = true, .start = 0, .steps = {1, 2, 3, 4, 5, 5}, .pauses = {}, .pace = {}}};
  model.hot = {{.type = kRegularType, .existed = true, .size = 100}, {.type = kRegularType, .existed = true, .size = 100}};
  std::vector<ObjectId> opened, found;
  ModelSource source(model, {});
  for (OpBatch batch; source.next(batch);)
    for (const Op& op : batch.ops) {
      if (op.kind == OpKind::open) opened.push_back(op.object);
      if (op.kind == OpKind::read) found.push_back(op.object);
    }
  CHECK(found == opened);
}

}  // namespace fsr::model_courses_test
