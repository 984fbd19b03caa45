// SPDX-License-Identifier: Apache-2.0
// The kinds of input, each with its part of the command line. Adding one is its own files and one line in registry.cpp.
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

class InputKind {
 public:
  virtual ~InputKind() = default;
  virtual const char* noun() const = 0;    // "a trace"
  virtual const char* plural() const = 0;  // "traces"
  virtual const char* help() const = 0;    // a few words for --help
  // Declares its options in a group of their own. They are written to until the command line was parsed.
  virtual void declare(Command& group) = 0;
  // Whether that is such an input, from its name and its first bytes (none where there is no such file).
  virtual bool accepts(const std::string& name, std::string_view first_bytes) const = 0;
  // `fd` is a file that can be seeked, taken over: what `name` is, or a copy of what a pipe held. -1 where there is none.
  // `duration`: after which nothing more is issued, ns, 0: no limit. Throws std::runtime_error, one line.
  virtual std::unique_ptr<Input> open(const std::string& name, int fd, int64_t duration) const = 0;
};

class InputKinds {
 public:
  explicit InputKinds(Command& program);  // which must outlive it
  ~InputKinds();
  std::string help() const;  // of all
  // `name`: a file, "-" for standard input, or what a kind knows by name. Throws std::runtime_error, one line; also for an
  // option of another kind.
  std::unique_ptr<Input> open(const std::string& name, int64_t duration) const;

 private:
  struct RegisteredKind {
    std::unique_ptr<InputKind> kind;
    Command options;
  };
  std::vector<RegisteredKind> kinds_;
};

}  // namespace fsr
