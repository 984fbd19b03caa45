// SPDX-License-Identifier: Apache-2.0
// afp_commands TEST...: the commands of afp_lantest's tests 1, 4, 5, 6, 7 and 12, one at a time, over the client of afp://, in a
// directory of their own that is removed in the end. 5 comes before 6 and 7. Prints "TEST MILLISECONDS" for each.
// Run under tests/servers/netatalk.
#include <errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/afp/session.hpp"

using namespace fsr;
using namespace fsr::afp;

namespace {

// Commands that the client itself has no use for, and one whose reply has nothing to be read.
constexpr Command kOldLock{1}, kOldEnumerate{9}, kGetForkParms{14}, kOldRead{27}, kOldWrite{33}, kNoBody = Command::flush;

class Commands {
 public:
  Commands(Call& call, Clock& clock) : call_(call), clock_(clock) {}

  Task run(int argc, char** argv) {
    const std::string name = "commands-" + std::to_string(getpid());
    Rpc& make = at(Command::create_dir, call_.client().root());
    make.out().path(name);
    const Reply& made = co_await call_.client().send(make);
    if (made.error) co_return made.error;
    dir_ = made.parms.id;
    int error = 0;
    for (int i = 1; i < argc && !error; ++i) {
      error = co_await test(atoi(argv[i]));
      printf("%s %.3f\n", argv[i], double(spent_) / 1e6);
    }
    Rpc& remove = at(Command::remove, dir_);
    remove.out().path({});
    const int left = co_await send(remove);
    co_return error ? error : left;
  }

 private:
  Rpc& at(Command command, uint32_t did) { return call_.ask_at(command, did); }
  Rpc& of_fork(Command command) {
    Rpc& rpc = call_.ask(command);
    rpc.out().u8(0).u16(fork_);
    return rpc;
  }
  Task send(Rpc& rpc, std::string_view payload = {}) {
    const Reply& reply = co_await call_.client().send(rpc, payload);
    if (rpc.command == Command::open_fork) fork_ = reply.fork;
    co_return reply.error;
  }
  Task parms(const std::string& name, uint16_t file, uint16_t dir) {
    Rpc& rpc = at(Command::get_file_dir_parms, dir_);
    rpc.out().u16(file).u16(dir).path(name);
    co_return co_await send(rpc);
  }
  Task named(Command command, const std::string& name) {
    Rpc& rpc = at(command, dir_);
    rpc.out().path(name);
    co_return co_await send(rpc);
  }
  Task open(const std::string& name, uint16_t bitmap, uint16_t access) {
    Rpc& rpc = at(Command::open_fork, dir_);
    rpc.out().u16(bitmap).u16(access).path(name);
    co_return co_await send(rpc);
  }
  Task fork_parms(uint16_t bitmap) {
    Rpc& rpc = of_fork(kGetForkParms);
    rpc.out().u16(bitmap);
    co_return co_await send(rpc);
  }
  Task read(uint32_t bytes) {
    Rpc& rpc = of_fork(kOldRead);
    rpc.out().u32(0).u32(bytes).u16(0);
    rpc.command = Command::read;
    co_return co_await send(rpc);
  }
  Task close() {
    Rpc& rpc = of_fork(Command::close_fork);
    co_return co_await send(rpc);
  }
  Task lock(uint8_t flag, uint32_t offset, uint32_t bytes) {
    Rpc& rpc = call_.ask(kOldLock);
    rpc.out().u8(flag).u16(fork_).u32(offset).u32(bytes);
    rpc.command = kNoBody;
    co_return co_await send(rpc);
  }
  Task enumerate(uint16_t start) {
    Rpc& rpc = at(kOldEnumerate, dir_);
    rpc.out().u16(0x077d).u16(0x117f).u16(40).u16(start).u16(8192).u8(2).u8(0);
    rpc.command = kNoBody;
    co_return co_await send(rpc);
  }
  // A file of so many zeros.
  Task make_file(const std::string& name, uint32_t bytes) {
    if (int error = co_await named(Command::create_file, name)) co_return error;
    if (int error = co_await open(name, 0, kAccessRead | kAccessWrite)) co_return error;
    const std::string zeros(bytes, '\0');
    Rpc& rpc = call_.ask(kOldWrite, true, Dsi::write);
    rpc.out().u8(0).u16(fork_).u32(0).u32(bytes);
    rpc.command = kNoBody;
    if (int error = co_await send(rpc, zeros)) co_return error;
    co_return co_await close();
  }

  void begin() { spent_ = -clock_.now(); }
  void end() { spent_ += clock_.now(); }

  Task test(int number) {
    switch (number) {
      case 1:
        co_return co_await read_small_files();
      case 4:
        co_return co_await lock_and_unlock();
      case 5:
        co_return co_await create_files();
      case 6:
        co_return co_await list_files();
      case 7:
        co_return co_await remove_files();
      case 12:
        co_return co_await ask_again();
      default:
        co_return EINVAL;
    }
  }

  Task read_small_files() {
    auto name = [](int i) { return "File.small" + std::to_string(i); };
    for (int i = 0; i < 1000; ++i)
      if (int error = co_await make_file(name(i), 20480)) co_return error;
    begin();
    for (int i = 0; i < 1000; ++i) {
      const std::string file = name(i);
      if (int error = co_await parms(file, 0x0042, 0x0042)) co_return error;
      if (int error = co_await parms(file, 0x072d, 0)) co_return error;
      if (int error = co_await parms(file, 0x073f, 0x133f)) co_return error;
      if (int error = co_await open(file, 0x0342, 0x0021)) co_return error;
      if (int error = co_await fork_parms(0x0200)) co_return error;
      if (int error = co_await fork_parms(0x0242)) co_return error;
      if (int error = co_await read(512)) co_return error;
      if (int error = co_await close()) co_return error;
    }
    end();
    for (int i = 0; i < 1000; ++i)
      if (int error = co_await named(Command::remove, name(i))) co_return error;
    co_return 0;
  }

  Task lock_and_unlock() {
    if (int error = co_await make_file("File.lock", 40000)) co_return error;
    if (int error = co_await open("File.lock", 0x0342, kAccessRead | kAccessWrite)) co_return error;
    begin();
    for (int round = 0; round < 250; ++round)
      for (uint32_t offset = 0; offset < 400; offset += 10) {
        if (int error = co_await lock(0, offset, 10)) co_return error;
        if (int error = co_await lock(kUnlock, offset, 10)) co_return error;
      }
    end();
    if (int error = co_await close()) co_return error;
    co_return co_await named(Command::remove, "File.lock");
  }

  static std::string empty_file(int i) { return "File.0k" + std::to_string(i); }

  Task create_files() {
    begin();
    for (int i = 1; i <= 2000; ++i) {
      if (int error = co_await named(Command::create_file, empty_file(i))) co_return error;
      if (int error = co_await parms(empty_file(i), 0x0726, 0)) co_return error;
    }
    end();
    co_return 0;
  }

  Task list_files() {
    begin();
    if (int error = co_await enumerate(1)) co_return error;
    for (uint16_t start = 41; start <= 1881; start += 80) {
      if (int error = co_await enumerate(start + 40)) co_return error;
      if (int error = co_await enumerate(start)) co_return error;
    }
    end();
    co_return 0;
  }

  Task remove_files() {
    begin();
    for (int i = 1; i <= 2000; ++i)
      if (int error = co_await named(Command::remove, empty_file(i))) co_return error;
    end();
    co_return 0;
  }

  Task ask_again() {
    auto name = [](int i) { return "valid_file_" + std::to_string(i); };
    for (int i = 0; i < 100; ++i)
      if (int error = co_await named(Command::create_file, name(i))) co_return error;
    begin();
    for (int round = 0; round < 100; ++round)
      for (int i = 0; i < 100; ++i)
        for (uint16_t bitmap : {0x0102, 0x0204, 0x0028})
          if (int error = co_await parms(name(i), bitmap, 0)) co_return error;
    end();
    for (int i = 0; i < 100; ++i)
      if (int error = co_await named(Command::remove, name(i))) co_return error;
    co_return 0;
  }

  Call& call_;
  Clock& clock_;
  uint32_t dir_ = 0;
  uint16_t fork_ = 0;
  int64_t spent_ = 0;
};

// A session whose only operation is all of the above.
class CommandSession final : public SharedSession {
 public:
  CommandSession(Shared& shared, int argc, char** argv) : SharedSession(shared), shared_(shared), argc_(argc), argv_(argv) {}
  ~CommandSession() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<Call>(shared_); }
  void begin(SharedCall& call) override { run(static_cast<Call&>(call)); }
  Detached run(Call& call) {
    Commands commands(call, shared_.clock());
    finish(call, co_await commands.run(argc_, argv_));
  }

  Shared& shared_;
  const int argc_;
  char** const argv_;
};

struct Done final : Completion {
  bool done = false;
  void completed(Request&) override { done = true; }
};

std::string environment(const char* name) {
  const char* value = getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run me under tests/servers/netatalk");
  return value;
}

}  // namespace

int main(int argc, char** argv) try {
  MonotonicClock clock;
  Settings s;
  s.server = wire::resolve(environment("AFP_HOST"), uint16_t(atoi(environment("AFP_PORT").c_str())));
  s.clock = &clock;
  s.user = environment("AFP_USER");
  s.password = environment("AFP_PASSWORD");
  s.volume = "share";
  s.uam = Uam::clear_text;
  s.timeout = 60'000'000'000;
  Shared shared(s);
  CommandSession session(shared, argc, argv);
  const Op op{.kind = OpKind::null};
  Request request{.op = &op};
  Done done;
  if (session.submit(request) == Submit::completed) done.done = true;
  while (!done.done) session.poll(clock.now() + 1'000'000'000, -1, done);
  if (request.outcome.error) throw std::runtime_error(strerror(request.outcome.error));
  return 0;
} catch (const std::exception& e) {
  return fprintf(stderr, "afp_commands: %s\n", e.what()), 2;
}
