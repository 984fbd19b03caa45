// SPDX-License-Identifier: Apache-2.0
#include "capture_mount.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <csignal>

#include "backing.hpp"
#include "capture_error.hpp"
#include "connection.hpp"

namespace fsr::shim {

namespace {

std::unique_ptr<Watcher> start_watcher(const CaptureSetup& setup) {
  if (!setup.over_mount()) return nullptr;
  auto watcher = std::make_unique<Watcher>(setup.way, setup.directory(), setup.output.log_fd());
  // Stopped by ^Z, it would hang every application below the directory, the shell perhaps among them.
  for (int number : {SIGTSTP, SIGTTIN, SIGTTOU}) signal(number, SIG_IGN);
  return watcher;
}

}  // namespace

CaptureMount::CaptureMount(CaptureSetup& setup)
    : setup_(setup),
      watcher_(start_watcher(setup)),
      fuse_(open_fuse_device()),
      page_drops_(setup.mappings.lower() ? std::make_unique<PageDrops>(fuse_.get()) : nullptr),
      proc_(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC)),
      guard_(setup.way) {
  if (!proc_) throw failed("/proc/self/fd", errno);
  if (setup.mappings.lower()) want_backing_files(stack_depth(setup.captured.below.type));
  if (setup.over_mount())
    mount_over_directory();
  else
    start_command();
  setup.control.set_field("connection", std::to_string(connection()));
  if (page_drops_) page_drops_->connection(connection());
}

void CaptureMount::mount_over_directory() {
  const UniqueFd alone = lock_starts();
  refuse_captured(setup_.way, setup_.directory());
  const OwnMount made = mount_over(setup_.captured.root.get(), fuse_.get(), setup_.directory(), setup_.options.kernel_checks);
  guard_.made(made);
  watcher_->arm(made);
  setup_.fields["device"] = std::to_string(made.dev);
  mount_ = mount_of_source(setup_.directory());
}

void CaptureMount::start_command() {
  command_ = std::make_unique<CapturedCommand>(setup_.options.command, setup_.original, [this] {
    // The command has a namespace of its own even without root, where this process is in a private one already. So the mount
    // ends with the last process in it.
    enter_private_namespace(false);
    UniqueFd here(open_directory(setup_.directory()));
    same_directory_or_fail(here.get(), setup_.captured.root.get(), setup_.directory());
    mount_over(here.get(), fuse_.get(), setup_.directory(), setup_.options.kernel_checks);
  });
  mount_ = mount_of_source(setup_.directory(), process());
  if (!mount_) throw CaptureError(setup_.directory() + ": the command's process ended before the command could start");
}

unsigned CaptureMount::connection() const { return mount_ ? minor(mount_->dev) : 0; }

bool CaptureMount::restrict(unsigned long flags) const {
  auto act = [&] { return restrict_mount(setup_.directory(), flags); };
  return command_ ? act_where_mounted(own_mount(*mount_), act) : act();
}

std::string CaptureMount::detach() {
  if (!command_) return guard_.release();
  const OwnMount own = own_mount(*mount_);
  act_where_mounted(own, [&] { return take_away(own).empty(); });
  return {};
}

}  // namespace fsr::shim
