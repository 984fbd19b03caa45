// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "inputs/input_kind.hpp"
#include "inputs/live/live_input.hpp"
#include "inputs/mix/mix_input.hpp"
#include "inputs/model/model_input.hpp"
#include "inputs/trace/trace_input.hpp"
#include "trace/spool.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

// If no kind accepts an input, the first kind opens it. The name may be the common part of the names of a trace's pieces. And the
// trace reader explains best what is wrong with a file.
static constexpr std::unique_ptr<InputKind> (*kKinds[])(InputOptions&) = {
    trace_kind,
    mix_kind,
    model_kind,
    live_kind,
};

InputKinds::InputKinds(Command& program) : options_(std::make_unique<InputOptions>()) {
  for (auto make : kKinds) {
    std::unique_ptr<InputKind> kind = make(*options_);
    Command options = program.group(std::string("Options of ") + kind->plural());
    kind->declare(options);
    kinds_.push_back({std::move(kind), std::move(options)});
  }
}

InputKinds::~InputKinds() = default;

std::vector<std::string> InputKinds::names() const {
  std::vector<std::string> all;
  for (const RegisteredKind& declared : kinds_)
    for (std::string& name : declared.kind->names()) all.push_back(std::move(name));
  return all;
}

std::unique_ptr<Input> InputKinds::open(const std::string& name, int64_t duration) const {
  UniqueFd file(name == "-" ? dup(STDIN_FILENO) : ::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  auto its = std::find_if(kinds_.begin(), kinds_.end(), [](const RegisteredKind& d) { return d.kind->reads_stream(); });
  if (its != kinds_.end() && !file) throw std::runtime_error(name + ": " + strerror(errno));
  const bool streams = its != kinds_.end();
  if (!streams && file && fstat(file.get(), &st) == 0 && (name == "-" || S_ISFIFO(st.st_mode)))
    file = UniqueFd(spool_to_file(file.get()));
  std::array<char, 4096> head;
  const ssize_t n = file && !streams ? pread(file.get(), head.data(), head.size(), 0) : 0;
  const std::string_view first(head.data(), size_t(std::max<ssize_t>(n, 0)));
  if (!streams)
    its = std::find_if(kinds_.begin(), kinds_.end(), [&](const RegisteredKind& d) { return d.kind->accepts(name, first); });
  if (its == kinds_.end()) its = kinds_.begin();
  std::unique_ptr<Input> input = its->kind->open(name, file.release(), duration);
  for (const RegisteredKind& other : kinds_)
    if (const std::string option = other.options.first_given(its->kind->shares()); &other != &*its && !option.empty())
      throw std::runtime_error(name + ": is " + its->kind->noun() + ", but " + option + " is for " + other.kind->plural() +
                               "; leave " + option + " out");
  return input;
}

}  // namespace fsr
