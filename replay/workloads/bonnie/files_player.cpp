// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/files_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "stage/seat.hpp"

namespace fsr::bonnie {

Task FilesPlayer::create(SmallFiles& files, NamedFile& file) {
  const Settings& s = course_.settings;
  file.made = true;
  if (s.largest < 0 && file.number > 0) {
    if (s.largest == kSymlinks) co_return co_await files.symlink(files_[0].name, file.directory, file.name, &file.object);
    file.object = files_[0].object;
    co_return co_await files.link(file.object, file.directory, file.name);
  }
  int64_t size = std::max<int64_t>(s.largest, 0);
  if (s.largest > s.smallest) size = s.smallest + course_.numbers.draw() % (s.largest - s.smallest + 1);
  const bool by_name = size == 0 && s.largest >= 0 && !s.syncs;
  co_return co_await files.create(file.directory, file.name, size, by_name ? nullptr : &file.object);
}

Task FilesPlayer::create_all(Seat& seat, SmallFiles& files, Phase phase) {
  files_ = make_names(course_.numbers, course_.settings.file_count(), course_.settings.directories, phase == kCreateRandom);
  files.enter(phase);
  if (int error = co_await files.make_directories()) co_return error;
  Meter meter(seat.now());
  int64_t from = seat.now();
  for (NamedFile& file : files_) {
    if (seat.ended()) co_return ECANCELED;
    if (int error = co_await create(files, file)) co_return error;
    from = meter.step(from, seat.now());
  }
  if (int error = co_await files.sync_everything()) co_return error;
  course_.end(phase, meter.stop(seat.now()));
  co_return 0;
}

NamedFile* FilesPlayer::file_of(const std::string& name) {
  const int64_t number = number_in(name);
  return number >= 0 && number < int64_t(files_.size()) && files_[size_t(number)].name == name ? &files_[size_t(number)]
                                                                                               : nullptr;
}

Task FilesPlayer::one(SmallFiles& files, unsigned directory, const std::string& name, NamedFile* made, Act act) {
  const ObjectId object = made ? made->object : kNoObject;
  if (act == Act::look) co_return co_await files.look_at(directory, name, object);
  if (int error = co_await files.remove(directory, name, object)) co_return error;
  if (made) made->made = false;
  co_return 0;
}

Task FilesPlayer::each_in_directory(Seat& seat, SmallFiles& files, unsigned directory, Act act, Meter& meter, int64_t* found) {
  if (int error = co_await files.begin_list(directory)) co_return error;
  std::vector<std::string> names;
  do {
    int64_t from = seat.now();  // the first name of a part bears the time of reading it
    if (int error = co_await files.list(directory, &names)) co_return error;
    for (const std::string& name : names) {
      if (seat.ended()) co_return ECANCELED;
      if (name[0] == '.') continue;
      if (int error = co_await one(files, directory, name, file_of(name), act)) co_return error;
      ++*found;
      from = meter.step(from, seat.now());
    }
  } while (!names.empty());
  co_return co_await files.end_list(directory);
}

Task FilesPlayer::each_listed(Seat& seat, SmallFiles& files, Phase phase, Act act) {
  files.enter(phase);
  Meter meter(seat.now());
  int64_t found = 0;
  for (unsigned i = 0; i < files.directories(); ++i) {
    if (int error = co_await each_in_directory(seat, files, i, act, meter, &found)) co_return error;
    if (act == Act::remove)
      if (int error = co_await files.remove_directory(i)) co_return error;
  }
  if (found != int64_t(files_.size())) {
    course_.wrong(fmt::format("Expected {} files but only got {}", files_.size(), found));
    co_return EIO;
  }
  if (act == Act::remove) {
    if (int error = co_await files.remove_top()) co_return error;
    if (int error = co_await files.sync_everything()) co_return error;
  }
  course_.end(phase, meter.stop(seat.now()));
  co_return 0;
}

Task FilesPlayer::each_named(Seat& seat, SmallFiles& files, Phase phase, Act act) {
  files.enter(phase);
  shuffle(course_.numbers, files_);
  Meter meter(seat.now());
  int64_t from = seat.now();
  for (NamedFile& file : files_) {
    if (seat.ended()) co_return ECANCELED;
    if (int error = co_await one(files, file.directory, file.name, &file, act)) co_return error;
    from = meter.step(from, seat.now());
  }
  if (act == Act::remove) {
    for (unsigned i = 0; i < files.directories(); ++i)
      if (int error = co_await files.remove_directory(i)) co_return error;
    if (int error = co_await files.remove_top()) co_return error;
    if (int error = co_await files.sync_everything()) co_return error;
  }
  course_.end(phase, meter.stop(seat.now()));
  co_return 0;
}

// The Task is chosen, and then awaited: gcc 12 gets an awaiting ?: wrong.
Task FilesPlayer::each(Seat& seat, SmallFiles& files, Phase phase, Act act, bool random) {
  return random ? each_named(seat, files, phase, act) : each_listed(seat, files, phase, act);
}

Task FilesPlayer::round(Seat& seat, SmallFiles& files, bool random) {
  const Phase create = random ? kCreateRandom : kCreateSequential, look = random ? kStatRandom : kStatSequential;
  const Phase remove = random ? kDeleteRandom : kDeleteSequential;
  if (int error = co_await course_.begin(seat, create)) co_return error;
  if (int error = co_await create_all(seat, files, create)) co_return error;
  if (int error = co_await course_.begin(seat, look)) co_return error;
  if (int error = co_await each(seat, files, look, Act::look, random)) co_return error;
  if (int error = co_await course_.begin(seat, remove)) co_return error;
  co_return co_await each(seat, files, remove, Act::remove, random);
}

// By names that are known, not by listings: these may be what is wrong.
Task FilesPlayer::clean_up(SmallFiles& files) {
  for (const NamedFile& file : files_)
    if (file.made)
      if (int error = co_await files.remove(file.directory, file.name, file.object); error && error != ENOENT) co_return error;
  for (unsigned i = 0; i < files.directories(); ++i)
    if (int error = co_await files.remove_directory(i)) co_return error;
  co_return co_await files.remove_top();
}

Actor FilesPlayer::play(Seat& seat) {
  SmallFiles files(course_, seat);
  int error = co_await round(seat, files, false);
  if (error == 0) error = co_await round(seat, files, true);
  if (error == 0 || !files.exist()) co_return;
  course_.cleans_up();
  if (int in_vain = co_await clean_up(files))
    course_.left = fmt::format("can't remove all of {}: {}", course_.name, strerror(in_vain));
}

}  // namespace fsr::bonnie
