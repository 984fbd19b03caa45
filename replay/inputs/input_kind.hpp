// SPDX-License-Identifier: Apache-2.0
// The kinds of input, each with its command-line options. To add a kind, write its files and add a line to registry.cpp.
//
//   InputKinds kinds(program);   // declares the options of all
//   program.parse(...);
//   std::unique_ptr<Input> input = kinds.open("t.zst", duration);
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/input.hpp"
#include "util/command.hpp"

namespace fsr {

struct InputOptions;

class InputKind {
 public:
  virtual ~InputKind() = default;
  virtual const char* noun() const = 0;    // "a trace"
  virtual const char* plural() const = 0;  // "traces"
  // Declares the options of this kind in `group`. Parsing the command line writes to this object.
  virtual void declare(Command& group) = 0;
  // Returns options of other kinds that this kind has as well, "--scale".
  virtual std::vector<std::string> shares() const { return {}; }
  // Returns names of inputs that come with the program, "mix:sfs97-v3".
  virtual std::vector<std::string> names() const { return {}; }
  // True if `name` is an input of this kind, judged by the name and the first bytes of the file. No bytes: there is no such file.
  virtual bool accepts(const std::string& name, std::string_view first_bytes) const = 0;
  // True if the command line asks for this kind, which then reads from the pipe itself, and accepts() is not asked.
  virtual bool reads_stream() const { return false; }
  // Opens the input. `fd`: a seekable file (with reads_stream(): as it was opened), which is taken over. It is the file `name`,
  // or a copy of what was read from a pipe. -1: there is no file. `duration`: time after which no more operations are issued, ns;
  // 0: no limit. Throws std::runtime_error, one line.
  virtual std::unique_ptr<Input> open(const std::string& name, int fd, int64_t duration) const = 0;
};

class InputKinds {
 public:
  explicit InputKinds(Command& program);  // must outlive this object
  ~InputKinds();
  std::vector<std::string> names() const;  // names of inputs of all kinds that come with the program
  // Opens an input of the kind that accepts it. `name`: a file, "-" for standard input, or a name that a kind knows. Throws
  // std::runtime_error, one line; also if an option of another kind was given.
  std::unique_ptr<Input> open(const std::string& name, int64_t duration) const;

 private:
  struct RegisteredKind {
    std::unique_ptr<InputKind> kind;
    Command options;
  };
  std::unique_ptr<InputOptions> options_;
  std::vector<RegisteredKind> kinds_;
};

}  // namespace fsr
