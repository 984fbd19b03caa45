// SPDX-License-Identifier: Apache-2.0
#include "strace_processes.hpp"

namespace fsr::strace {

static bool makes_thread(std::string_view pending) {
  return pending.starts_with("clone") || pending.starts_with("fork(") || pending.starts_with("vfork(");
}

Thread* Processes::find(int32_t tid) {
  auto it = threads_.find(tid);
  return it == threads_.end() ? nullptr : &it->second;
}

Thread& Processes::thread(int32_t tid) {
  if (Thread* known = find(tid)) return *known;
  Thread* parent = nullptr;
  if (!clones_.empty()) {
    parent = find(clones_.begin()->second);
    parent->made = tid;
    clones_.erase(clones_.begin());
  }
  if (!parent && !threads_.empty())
    sink_.note(ImportNotes::changed, "processes whose fork the log does not show: their inherited descriptors are not known");
  return add(tid, parent, parent ? std::string_view(parent->pending) : std::string_view());
}

Thread& Processes::add(int32_t tid, const Thread* parent, std::string_view arguments) {
  auto has = [&](std::string_view flag) { return parent && arguments.find(flag) != std::string_view::npos; };
  Thread t;
  t.tid = tid;
  const int32_t number = tid ? tid : 1;  // 0 would mean the kernel
  const int32_t pid = has("CLONE_THREAD") ? parent->who->pid : number;
  t.who = sink_.thread(number, pid, parent ? (pid == number ? parent->who->pid : parent->who->ppid) : 0,
                       parent ? parent->who->command : std::string_view());
  if (has("CLONE_FILES"))
    t.files = parent->files;
  else
    t.files = parent ? std::make_shared<Descriptors>(*parent->files) : std::make_shared<Descriptors>();
  if (has("CLONE_FS")) {
    t.directory = parent->directory;
  } else {
    t.directory = parent ? std::make_shared<Directory>(*parent->directory) : std::make_shared<Directory>();
    if (!parent) t.directory->cwd = tree_.directory();
    tree_.hold(t.directory->cwd);
  }
  return threads_[tid] = std::move(t);
}

void Processes::cloned(Thread& parent, int32_t child, std::string_view arguments) {
  if (parent.made && parent.made != child)
    sink_.note(ImportNotes::changed, "processes whose parent is not certain, because several forked at once");
  parent.made = 0;
  if (!find(child)) add(child, &parent, arguments);
}

void Processes::renamed(Thread& t, std::string_view command) {
  const ThreadInfo old = *t.who;
  t.who = sink_.thread(old.tid, old.pid, old.ppid, command.substr(0, 15));
}

void Processes::set_cwd(Thread& t, NodeId node) {
  if (t.directory->cwd == node) return;
  tree_.hold(node);
  tree_.drop(t.directory->cwd);
  t.directory->cwd = node;
}

void Processes::erase(int32_t tid) {
  auto it = threads_.find(tid);
  if (it == threads_.end()) return;
  resume(it->second);
  if (it->second.directory.use_count() == 1) tree_.drop(it->second.directory->cwd);
  threads_.erase(it);
}

void Processes::suspend(Thread& t, std::string_view call, int64_t start) {
  t.pending = call;
  t.pending_since = start;
  pending_.insert({start, t.tid});
  if (makes_thread(call) && !t.made) clones_.insert({start, t.tid});
}

std::string Processes::resume(Thread& t) {
  pending_.erase({t.pending_since, t.tid});
  clones_.erase({t.pending_since, t.tid});
  return std::exchange(t.pending, {});
}

}  // namespace fsr::strace
