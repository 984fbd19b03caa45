// SPDX-License-Identifier: Apache-2.0
// make_trace FILE [--ops N] [--rate N/S] [--files N] [--threads N] [--unit DURATION] [--look-first] [--checkpoint SIZE]
//            [--begin TIME] [--execs N] [--drop N]
//
// Makes a synthetic trace for benchmarks and tests of timing and scale. Operations start at exact, equal distances, on threads in
// turn. Each thread works through small sequences over a fixed set of files: look up and stat, open-read-close, open-write-close,
// make and remove a temporary file. With --look-first each file is looked up once before that, so that all files are known from
// then on. --begin makes the second piece of a series, whose first operation starts at TIME. With --execs each thread runs
// another program after every N of its operations. With --drop the closing statement says that N operations between 1 s and 1.5
// s, and one more, were not recorded. The same options always give the same trace. Creates FILE and never replaces an existing
// one.
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "op.hpp"
#include "trace/writer.hpp"
#include "util/units.hpp"

namespace {

using namespace fsr;

constexpr uint64_t kDirectories = 100;
constexpr uint64_t kFileSize = 64 << 10;
constexpr uint32_t kBlock = 4096;

// One thread of the synthetic application. Returns its operations one by one, without times.
class Application {
 public:
  Application(ThreadId id, uint64_t files, ObjectId* next_object, HandleId* next_handle)
      : files_(files), next_object_(next_object), next_handle_(next_handle), random_(id) {
    who_.id = id;
    who_.tid = who_.pid = int32_t(1000 + id);
    who_.ppid = 1;
    who_.start_ticks = 5000 + id;
    who_.command = "make_trace";
    name_.resize(32);
  }

  // Both return an operation that is valid until the next call.
  Op look(uint64_t file) {
    file_ = file;
    return build({Kind::lookup});
  }
  Op next(uint64_t execs) {
    if (execs && count_++ % execs == 0) {
      program_ = "program" + std::to_string(count_ / execs);
      who_.command = program_;
    }
    if (steps_.empty()) choose();
    Step step = steps_.front();
    steps_.pop_front();
    return build(step);
  }

 private:
  enum class Kind : uint8_t { lookup, getattr, open, read, write, release, create, unlink };
  struct Step {
    Kind kind;
    uint64_t offset = 0;
  };

  void choose() {
    file_ = random_() % files_;
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        steps_ = {{Kind::lookup}, {Kind::getattr}};
        break;
      case 3:
      case 4:
      case 5:
        steps_ = {{Kind::lookup}, {Kind::open}};
        for (uint64_t n = random_() % 6 + 1, i = 0; i < n; ++i) steps_.push_back({Kind::read, i * kBlock});
        steps_.push_back({Kind::release});
        break;
      case 6:
        steps_ = {{Kind::lookup}, {Kind::open}};
        for (uint64_t n = random_() % 3 + 1, i = 0; i < n; ++i) steps_.push_back({Kind::write, i * kBlock});
        steps_.push_back({Kind::release});
        break;
      default:
        steps_ = {{Kind::create}, {Kind::write, 0}, {Kind::release}, {Kind::unlink}};
    }
  }

  Op build(Step step) {
    const bool temporary = object_ != 0;
    Op op{.thread = who_.id, .who = &who_};
    attr_ = {.valid = kAttrMode | kAttrSize | kAttrNlink, .mode = S_IFREG | 0644, .size = kFileSize, .nlink = 1};
    // Directories are objects 2 .. kDirectories + 1, then come the files, and then the temporary files.
    const ObjectId parent = kRootObject + 1 + file_ % kDirectories;
    const ObjectId file = temporary ? object_ : kRootObject + 1 + kDirectories + file_;
    switch (step.kind) {
      case Kind::lookup:
        op.kind = OpKind::lookup;
        op.parent = parent;
        op.name = name("f%07llu", file_);
        op.object = file;
        op.attr = &attr_;
        break;
      case Kind::getattr:
        op.kind = OpKind::getattr;
        op.object = file;
        op.attr = &attr_;
        break;
      case Kind::open:
        op.kind = OpKind::open;
        op.object = file;
        op.open_flags = O_RDWR;
        op.handle = handle_ = ++*next_handle_;
        break;
      case Kind::read:
      case Kind::write:
        op.kind = step.kind == Kind::read ? OpKind::read : OpKind::write;
        op.object = file;
        op.handle = handle_;
        op.offset = step.offset;
        op.length = op.result = kBlock;
        break;
      case Kind::release:
        op.kind = OpKind::release;
        op.object = file;
        op.handle = handle_;
        break;
      case Kind::create:
        op.kind = OpKind::create;
        op.op_flags = kOpCreated;
        op.parent = parent;
        op.name = name("t%07llu", temporary_name_ = *next_object_);
        op.open_flags = O_RDWR | O_CREAT;
        op.mode = S_IFREG | 0644;
        op.object = object_ = (*next_object_)++;
        op.handle = handle_ = ++*next_handle_;
        attr_.size = 0;
        op.attr = &attr_;
        break;
      case Kind::unlink:
        op.kind = OpKind::unlink;
        op.parent = parent;
        op.name = name("t%07llu", temporary_name_);
        op.object = object_;
        object_ = 0;
        break;
    }
    return op;
  }

  std::string_view name(const char* format, unsigned long long number) {
    return {name_.data(), size_t(snprintf(name_.data(), name_.size(), format, number))};
  }

  uint64_t files_;
  ObjectId* next_object_;
  HandleId* next_handle_;
  std::minstd_rand random_;
  ThreadInfo who_;
  std::deque<Step> steps_;
  uint64_t file_ = 0, temporary_name_ = 0;
  ObjectId object_ = 0;
  HandleId handle_ = 0;
  Attr attr_;
  std::string name_, program_;
  uint64_t count_ = 0;
};

struct Options {
  std::string file;
  uint64_t ops = 600'000, files = 1000, threads = 16, execs = 0, drop = 0;
  double rate = 10'000;
  int64_t unit = 100, begin = 0;
  bool look_first = false;
  uint64_t checkpoint = WriterOptions().checkpoint_bytes;
};

uint64_t parse_count(const char* text) {
  char* end = nullptr;
  errno = 0;
  const uint64_t n = strtoull(text, &end, 10);
  if (errno || end == text || *end || n == 0)
    throw std::invalid_argument(std::string("expected a number above 0, not '") + text + "'");
  return n;
}

Options parse(int argc, char** argv) {
  static const option kOptions[] = {{"ops", required_argument, nullptr, 'n'},
                                    {"rate", required_argument, nullptr, 'r'},
                                    {"files", required_argument, nullptr, 'f'},
                                    {"threads", required_argument, nullptr, 't'},
                                    {"unit", required_argument, nullptr, 'u'},
                                    {"look-first", no_argument, nullptr, 'l'},
                                    {"checkpoint", required_argument, nullptr, 'c'},
                                    {"begin", required_argument, nullptr, 'b'},
                                    {"execs", required_argument, nullptr, 'e'},
                                    {"drop", required_argument, nullptr, 'd'},
                                    {nullptr, 0, nullptr, 0}};
  Options options;
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) switch (c) {
      case 'n':
        options.ops = parse_count(optarg);
        break;
      case 'r':
        options.rate = parse_rate(optarg);
        break;
      case 'f':
        options.files = parse_count(optarg);
        break;
      case 't':
        options.threads = parse_count(optarg);
        break;
      case 'u':
        options.unit = parse_duration(optarg);
        break;
      case 'l':
        options.look_first = true;
        break;
      case 'c':
        options.checkpoint = parse_size(optarg);
        break;
      case 'b':
        options.begin = parse_duration(optarg);
        break;
      case 'e':
        options.execs = parse_count(optarg);
        break;
      case 'd':
        options.drop = parse_count(optarg);
        break;
      default:
        throw std::invalid_argument("see the head of make_trace.cpp for its options");
    }
  if (optind + 1 != argc) throw std::invalid_argument("expected the name of one file");
  options.file = argv[optind];
  return options;
}

void make_trace(const Options& options) {
  const int fd = open(options.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error(options.file + ": " + strerror(errno));
  TraceHeader header;
  header.id = "00000000-0000-4000-8000-000000000000";
  header.clock_unit = uint32_t(options.unit);
  header.program = "make_trace " FSR_VERSION;
  header.directory = "/synthetic";
  if (options.begin) header.piece = 2;
  TraceWriter writer(fd, header, {.checkpoint_bytes = options.checkpoint});

  ObjectId next_object = kRootObject + 1 + kDirectories + options.files;
  HandleId next_handle = 0;
  std::deque<Application> threads;
  for (uint64_t i = 1; i <= options.threads; ++i) threads.emplace_back(ThreadId(i), options.files, &next_object, &next_handle);

  const double distance = 1e9 / options.rate;
  uint64_t written = 0;
  auto add = [&](Op op) {
    op.start = options.begin + int64_t(double(written) * distance);
    op.duration = int64_t(distance / 2);
    writer.add(op);
    ++written;
  };
  // Names of the directories, so that the trace needs no other information.
  const ThreadInfo first{.id = 1, .tid = 1001, .pid = 1001, .ppid = 1, .start_ticks = 5001, .command = "make_trace"};
  const Attr directory{.valid = kAttrMode | kAttrNlink, .mode = S_IFDIR | 0755, .nlink = 2};
  for (uint64_t i = 0; i < kDirectories && written < options.ops; ++i) {
    const std::string name = "d" + std::to_string(i);
    add({.kind = OpKind::lookup,
         .thread = 1,
         .object = kRootObject + 1 + i,
         .parent = kRootObject,
         .name = name,
         .attr = &directory,
         .who = &first});
  }
  for (uint64_t i = 0; options.look_first && i < options.files && written < options.ops; ++i)
    add(threads[written % threads.size()].look(i));
  while (written < options.ops) add(threads[written % threads.size()].next(options.execs));
  TraceClosing closing{.clean = true, .reason = "made", .end = options.begin + int64_t(double(written) * distance)};
  if (options.drop) {
    closing.dropped = options.drop + 1;
    closing.dropped_spans = {{1'000'000'000, 1'500'000'000, options.drop}};
  }
  writer.finish(std::move(closing));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    make_trace(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "make_trace: %s\n", error.what());
    return 2;
  }
}
