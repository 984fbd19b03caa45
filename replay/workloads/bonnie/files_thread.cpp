// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/files_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "threads/sim_context.hpp"

namespace fsr::bonnie {

// Makes a further name of the first file.
Task FilesThread::link(SmallFiles& files, NamedFile& file) {
  if (run_.settings.largest == kSymlinks)
    co_return co_await files.symlink(names_.files[0].name(), file.directory, file.name(), &objects_[file.number]);
  objects_[file.number] = objects_[0];
  co_return co_await files.link(objects_[0], file.directory, file.name());
}

// True: all files are empty and used by their names, so that the target has no objects of them.
bool FilesThread::by_name() const {
  const Settings& s = run_.settings;
  return s.largest == 0 && !s.syncs;
}

int64_t FilesThread::next_size() {
  const Settings& s = run_.settings;
  if (s.largest > s.smallest) return s.smallest + run_.numbers.draw() % (s.largest - s.smallest + 1);
  return std::max<int64_t>(s.largest, 0);
}

Task FilesThread::create_all(SimContext& sim, SmallFiles& files, Phase phase) {
  const Settings& s = run_.settings;
  names_ = make_names(run_.numbers, s.file_count(), s.directories, phase == kCreateRandom);
  objects_.assign(by_name() ? 0 : names_.files.size(), kNoObject);
  files.enter(phase);
  if (int error = co_await files.make_directories()) co_return error;
  Meter meter(sim.now(), run_.percentiles);
  int64_t from = sim.now();
  Op op = files.creation();
  for (NamedFile& file : names_.files) {
    if (sim.ended()) co_return ECANCELED;
    fetch_ahead(file);
    file.made = 1;
    if (s.largest < 0 && file.number > 0) {
      if (int error = co_await link(files, file)) co_return error;
    } else {
      const int64_t size = next_size();
      files.aim_creation(op, file.directory, file.name(), size, size == 0 && s.largest >= 0 && !s.syncs);
      const Outcome* outcome = sim.perform_by_name(op);
      if (!outcome) outcome = &co_await sim.perform(op);
      if (outcome->error == 0 && op.object) objects_[file.number] = op.object;
      if (!files.is_complete(op, *outcome))
        if (int error = co_await files.complete(op, *outcome, file.directory, size)) co_return error;
    }
    from = meter.step(from, sim.now());
  }
  if (int error = co_await files.sync_everything()) co_return error;
  run_.end(phase, meter.stop(sim.now()));
  co_return 0;
}

// Loads the name of a file that is soon used, and the entry of one that is used later, into the processor's caches.
void FilesThread::fetch_ahead(const NamedFile& file) const {
  constexpr ptrdiff_t kAhead = 4;
  const ptrdiff_t left = names_.files.data() + names_.files.size() - &file;
  if (left > 4 * kAhead) __builtin_prefetch(&file + 4 * kAhead);
  if (left > kAhead) __builtin_prefetch((&file)[kAhead].text);
}

NamedFile* FilesThread::file_of(std::string_view name) {
  const int64_t number = number_in(name);
  if (number < 0 || number >= int64_t(names_.files.size())) return nullptr;
  NamedFile& file = names_.files[size_t(number)];
  return file.name() == name ? &file : nullptr;
}

Task FilesThread::each_in_directory(SimContext& sim, SmallFiles& files, unsigned directory, Act act, Meter& meter,
                                    int64_t* found) {
  if (int error = co_await files.begin_list(directory)) co_return error;
  std::vector<std::string> names;
  Op op{.kind = act == Act::look ? OpKind::lookup : OpKind::unlink};
  do {
    int64_t from = sim.now();  // the time for reading a part of the listing counts for its first name
    if (int error = co_await files.list(directory, &names)) co_return error;
    for (const std::string& name : names) {
      if (sim.ended()) co_return ECANCELED;
      if (name[0] == '.') continue;
      NamedFile* const made = by_name() ? nullptr : file_of(name);  // to find it takes as long as a tenth of a request
      files.aim(op, directory, name, made ? object_of(*made) : kNoObject);
      const Outcome* outcome = sim.perform_by_name(op);
      if (!outcome) outcome = &co_await sim.perform(op, kUncounted, {.want_attr = act == Act::look});
      if (!files.is_complete(op, *outcome))
        if (int error = co_await files.complete(op, *outcome, directory, 0)) co_return error;
      if (made && act == Act::remove) made->made = 0;
      ++*found;
      from = meter.step(from, sim.now());
    }
  } while (!names.empty());
  co_return co_await files.end_list(directory);
}

Task FilesThread::each_listed(SimContext& sim, SmallFiles& files, Phase phase, Act act) {
  files.enter(phase);
  Meter meter(sim.now(), run_.percentiles);
  int64_t found = 0;
  for (unsigned i = 0; i < files.directories(); ++i) {
    if (int error = co_await each_in_directory(sim, files, i, act, meter, &found)) co_return error;
    if (act == Act::remove)
      if (int error = co_await files.remove_directory(i)) co_return error;
  }
  if (found != int64_t(names_.files.size())) {
    run_.wrong(fmt::format("Expected {} files but only got {}", names_.files.size(), found));
    co_return EIO;
  }
  if (act == Act::remove) {
    if (int error = co_await files.remove_top()) co_return error;
    if (int error = co_await files.sync_everything()) co_return error;
  }
  run_.end(phase, meter.stop(sim.now()));
  co_return 0;
}

Task FilesThread::each_named(SimContext& sim, SmallFiles& files, Phase phase, Act act) {
  files.enter(phase);
  shuffle(run_.numbers, names_.files);
  Op op{.kind = act == Act::look ? OpKind::lookup : OpKind::unlink};
  Meter meter(sim.now(), run_.percentiles);
  int64_t from = sim.now();
  for (NamedFile& file : names_.files) {
    if (sim.ended()) co_return ECANCELED;
    fetch_ahead(file);
    files.aim(op, file.directory, file.name(), object_of(file));
    const Outcome* outcome = sim.perform_by_name(op);
    if (!outcome) outcome = &co_await sim.perform(op, kUncounted, {.want_attr = act == Act::look});
    if (!files.is_complete(op, *outcome))
      if (int error = co_await files.complete(op, *outcome, file.directory, 0)) co_return error;
    file.made = act != Act::remove;
    from = meter.step(from, sim.now());
  }
  if (act == Act::remove) {
    for (unsigned i = 0; i < files.directories(); ++i)
      if (int error = co_await files.remove_directory(i)) co_return error;
    if (int error = co_await files.remove_top()) co_return error;
    if (int error = co_await files.sync_everything()) co_return error;
  }
  run_.end(phase, meter.stop(sim.now()));
  co_return 0;
}

// Choose the Task first, and then await it, because gcc 12 miscompiles ?: with co_await.
Task FilesThread::each(SimContext& sim, SmallFiles& files, Phase phase, Act act, bool random) {
  return random ? each_named(sim, files, phase, act) : each_listed(sim, files, phase, act);
}

Task FilesThread::round(SimContext& sim, SmallFiles& files, bool random) {
  const Phase create = random ? kCreateRandom : kCreateSequential, look = random ? kStatRandom : kStatSequential;
  const Phase remove = random ? kDeleteRandom : kDeleteSequential;
  if (int error = co_await run_.begin(sim, create)) co_return error;
  if (int error = co_await create_all(sim, files, create)) co_return error;
  if (int error = co_await run_.begin(sim, look)) co_return error;
  if (int error = co_await each(sim, files, look, Act::look, random)) co_return error;
  if (int error = co_await run_.begin(sim, remove)) co_return error;
  co_return co_await each(sim, files, remove, Act::remove, random);
}

// Uses known names instead of listings, because listings may be what fails.
Task FilesThread::clean_up(SimContext& sim, SmallFiles& files) {
  Op op{.kind = OpKind::unlink};
  for (const NamedFile& file : names_.files) {
    if (!file.made || files.is_removed(file.directory)) continue;
    files.aim(op, file.directory, file.name(), object_of(file));
    const Outcome& outcome = co_await sim.perform(op);
    if (outcome.error == ENOENT || files.is_complete(op, outcome)) continue;
    if (int error = co_await files.complete(op, outcome, file.directory, 0)) co_return error;
  }
  for (unsigned i = 0; i < files.directories(); ++i)
    if (int error = co_await files.remove_directory(i)) co_return error;
  co_return co_await files.remove_top();
}

SimTask FilesThread::run(SimContext& sim) {
  sim.takes_own_times();
  SmallFiles files(run_, sim);
  int error = co_await round(sim, files, false);
  if (error == 0) error = co_await round(sim, files, true);
  if (error == 0 || !files.exist()) co_return;
  run_.cleans_up();
  if (int in_vain = co_await clean_up(sim, files))
    run_.left = fmt::format("can't remove all of {}: {}", run_.name, strerror(in_vain));
}

}  // namespace fsr::bonnie
