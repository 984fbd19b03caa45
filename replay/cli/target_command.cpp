// SPDX-License-Identifier: Apache-2.0
#include "cli/target_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "cli/target_actions.hpp"
#include "targets/file/file_target.hpp"
#include "targets/operations_table.hpp"
#include "util/command.hpp"

namespace fsr {

namespace {

struct ActionArguments {
  std::string url, path, second;
  bool privileged = false;
};

void put(TargetActions& target, const ActionArguments& a) {
  int fd = a.second.empty() ? STDIN_FILENO : open(a.second.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), a.second);
  target.put(a.path, fd);
  if (fd != STDIN_FILENO) close(fd);
}

struct Action {
  const char* name;
  const char* what;
  const char* second;  // placeholder of the second path
  size_t least;        // number of arguments required after the URL
  void (*run)(TargetActions& target, const ActionArguments& a);
};

constexpr Action kActions[] = {
    {"stat", "prints the target's kind and free space, or the attributes of PATH", nullptr, 0,
     [](TargetActions& t, const ActionArguments& a) { t.stat(a.path); }},
    {"ls", "lists a directory", nullptr, 0, [](TargetActions& t, const ActionArguments& a) { t.list(a.path); }},
    {"cat", "prints the content of a file", nullptr, 1, [](TargetActions& t, const ActionArguments& a) { t.print(a.path); }},
    {"put", "creates or replaces a file", "FILE", 1, put},
    {"mkdir", "creates a directory", nullptr, 1, [](TargetActions& t, const ActionArguments& a) { t.make_directory(a.path); }},
    {"rm", "removes a file or an empty directory", nullptr, 1,
     [](TargetActions& t, const ActionArguments& a) { t.remove(a.path); }},
    {"mv", "renames a file or a directory", "NEWPATH", 2,
     [](TargetActions& t, const ActionArguments& a) { t.move(a.path, a.second); }},
};

std::string footer() {
  std::string text = "Targets:\n";
  for (const TargetPlugin* plugin : target_plugins())
    if (plugin->help) text += fmt::format("  {}\n", plugin->help);
  return text +
         "PATH is relative to the target's root (default: the root). FILE: default standard input.\nExit status: 0 done; 1 the "
         "target returned an error; 2 could not start.";
}

// Opens the target and runs the action on it. Returns the exit status: 0, or 1 if the action fails. Throws if the target can't be
// opened.
int perform(const Action& action, const ActionArguments& arguments) {
  MonotonicClock clock;
  require_directory(arguments.url);
  std::unique_ptr<Target> target = open_target(arguments.url, {.clock = &clock, .privileged = arguments.privileged});
  TargetActions actions(*target, clock);
  try {
    action.run(actions, arguments);
    return 0;
  } catch (const std::exception& e) {
    fflush(stdout);
    if (!ferror(stdout)) fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 1;
  }
}

}  // namespace

int target_command(int argc, char** argv) {
  Program program("fsreplay target", "Drives one target by hand, to try a server before a run.");
  program.require_subcommand();
  program.footer(footer());
  const Action* chosen = nullptr;
  ActionArguments arguments;
  bool table = false;
  for (const Action& action : kActions) {
    Command sub = program.subcommand(action.name, action.what);
    sub.add("URL", arguments.url, "the target: a URL or a directory").required();
    sub.add("PATH", arguments.path, "path below the root").required(action.least >= 1);
    if (action.second) sub.add(action.second, arguments.second, "").required(action.least >= 2);
    sub.flag("--privileged", arguments.privileged, "allow devices, set-id bits, trusted xattrs, ioctls");
    sub.when_chosen([&chosen, &action] { chosen = &action; });
  }
  program.subcommand("operations", "prints what each kind of target can do (docs/operations.md)").when_chosen([&table] {
    table = true;
  });
  try {
    if (auto status = program.parse(argc, argv)) return *status;
  } catch (const UsageError& e) {
    fmt::print(stderr, "fsreplay target: {} (see fsreplay target --help)\n", e.what());
    return 2;
  }
  if (table) {
    fputs(operations_table().c_str(), stdout);
    return 0;
  }
  try {
    return perform(*chosen, arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
}

}  // namespace fsr
