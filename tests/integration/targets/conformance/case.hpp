// SPDX-License-Identifier: Apache-2.0
// What the cases of the conformance suite are written with. A case throws Failure.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "driver.hpp"

namespace fsr {

inline std::string error_text(int error) { return error ? strerrorname_np(error) : "success"; }

struct Case {
  Driver& d;
  ObjectId top;  // a fresh directory for this case

  Answer expect(const Op& op, std::initializer_list<int> errors, std::string_view payload = {}) {
    Answer a = d.perform(op, payload);
    if (std::find(errors.begin(), errors.end(), a.error) == errors.end())
      throw Failure(fmt::format("{} {}{} gave {}, not {}", op_name(op.kind), op.name, op.name2, error_text(a.error),
                                error_text(*errors.begin())));
    return a;
  }
  Answer ok(const Op& op, std::string_view payload = {}) { return expect(op, {0}, payload); }

  ObjectId mkdir(ObjectId parent, std::string_view name, uint32_t mode = 0755) {
    ObjectId id = Driver::new_object();
    ok({.kind = OpKind::mkdir, .mode = mode, .object = id, .parent = parent, .name = name});
    return id;
  }
  struct File {
    ObjectId object;
    HandleId handle;
  };
  File create(ObjectId parent, std::string_view name, uint32_t mode = 0644) {
    File f{Driver::new_object(), Driver::new_handle()};
    ok({.kind = OpKind::create,
        .mode = mode,
        .open_flags = O_RDWR | O_CREAT | O_EXCL,
        .object = f.object,
        .parent = parent,
        .handle = f.handle,
        .name = name});
    return f;
  }
  HandleId open(ObjectId object, uint32_t flags = O_RDWR, OpKind kind = OpKind::open) {
    HandleId h = Driver::new_handle();
    ok({.kind = kind, .open_flags = flags, .object = object, .handle = h});
    return h;
  }
  void close(File f) { ok({.kind = OpKind::release, .object = f.object, .handle = f.handle}); }
  void write(File f, uint64_t offset, std::string_view bytes) {
    Answer a =
        ok({.kind = OpKind::write, .object = f.object, .handle = f.handle, .offset = offset, .length = bytes.size()}, bytes);
    require(a.result == bytes.size(), fmt::format("write of {} at {} wrote {}", bytes.size(), offset, a.result));
  }
  std::string read(File f, uint64_t offset, uint64_t length) {
    Answer a = ok({.kind = OpKind::read, .object = f.object, .handle = f.handle, .offset = offset, .length = length});
    require(a.result == a.data.size(), fmt::format("read says {} and returns {} bytes", a.result, a.data.size()));
    return a.data;
  }
  Answer lookup(ObjectId parent, std::string_view name, ObjectId id, int error = 0) {
    return expect({.kind = OpKind::lookup, .object = id, .parent = parent, .name = name}, {error});
  }
  Attr getattr(ObjectId object, HandleId handle = 0) {
    return ok({.kind = OpKind::getattr, .object = object, .handle = handle}).attr;
  }
  Op rename_op(ObjectId from, std::string_view name, ObjectId to, std::string_view name2, ObjectId moved, ObjectId replaced = 0,
               uint32_t flags = 0) {
    return {.kind = OpKind::rename,
            .flags = flags,
            .object = moved,
            .parent = from,
            .parent2 = to,
            .object2 = replaced,
            .name = name,
            .name2 = name2};
  }
  Attr set_and_get(ObjectId object, const Attr& set) {
    ok({.kind = OpKind::setattr, .object = object, .set = &set});
    return getattr(object);
  }
};

// Bytes that differ from those of any other seed.
inline std::string pattern(size_t length, unsigned seed) {
  std::string s(length, '\0');
  uint32_t x = seed * 2654435761u + 1;
  for (char& c : s) c = char((x = x * 1664525u + 1013904223u) >> 24);
  return s;
}

struct NamedCase {
  const char* name;
  void (*run)(Case&);
};
std::vector<NamedCase> name_cases();
std::vector<NamedCase> data_cases();
// Every operation that docs/operations.md has a row for, as the target states it there.
void statements(Target& target, Case& c, bool privileged);

}  // namespace fsr
