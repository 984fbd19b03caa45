// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs_state.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

namespace fsr::nfs {

Identity NfsOptions::user_of(const Credentials& who) const {
  const bool by_number = impersonate && !(security && security->users);
  if (by_number) return {.uid = who.uid, .gid = who.gid, .groups = {}};
  Identity user = self;
  if (impersonate) user.principal = who.principal;
  return user;
}

Identity NfsOptions::writer_of(const DataSource* source, const Identity& who) const {
  Identity writer = who;
  if (source && security && security->users) writer.principal = source->principal;
  return writer;
}

namespace {

// Returns the number of the object's names, or `otherwise` if the reply does not have it. A directory has one name, because its
// link count includes its subdirectories.
uint32_t names_of(const Attr& attr, uint32_t otherwise) {
  if ((attr.valid & kAttrMode) && S_ISDIR(attr.mode)) return 1;
  return attr.valid & kAttrNlink ? uint32_t(attr.nlink) : otherwise;
}

}  // namespace

std::shared_ptr<const wire::StreamSecurity> NfsOptions::transport(uint32_t program, uint32_t version) const {
  const bool in_clear = !tls || (tls->settings.only_nfs && program != kNfsProgram);
  return in_clear ? nullptr : tls->to(program, version);
}

NfsState::NfsState(const NfsOptions& o) : options(o), locks(std::random_device()()) {
  std::random_device random;
  char prefix[32];
  snprintf(prefix, sizeof prefix, ".nfs%08x%08x.", random(), random());
  hidden_prefix_ = prefix;
  lock_caller = std::string("fsreplay") + prefix;
  objects.update(kRootObject, [&](Object& root) { root.handle = o.root; });
}

bool NfsState::handle_of(ObjectId object, FileHandle* handle) {
  if (objects.visit(object, [&](Object& o) { *handle = o.handle; }) && handle->size) return true;
  ++counters.unknown;
  return false;
}

void NfsState::map_id(ObjectId object, const FileHandle& handle, const Attr& attr) {
  if (object == kNoObject) return;
  objects.update(object, [&](Object& o) {
    o.handle = handle;
    o.removed = false;
    if (attr.valid & kAttrMode) o.type = attr.mode & S_IFMT;
    o.links = names_of(attr, o.links);
  });
}

void NfsState::learn_links(ObjectId object, const Attr& attr) {
  if (attr.valid)
    objects.visit(object, [&](Object& o) {
      o.links = names_of(attr, o.links);
      if (o.links > o.hidden.size()) o.removed = false;  // an unnamed file got a name by a link
    });
}

void NfsState::opened(HandleId id, ObjectId object, const FileHandle& handle, uint32_t flags, bool directory) {
  if (id == 0) return;
  opens.set(id, Open{object, handle, flags, directory ? std::make_shared<Listing>() : nullptr});
  objects.visit(object, [](Object& o) { ++o.opens; });
}

bool NfsState::released(HandleId id, std::vector<HiddenName>* hidden) {
  Open open;
  if (!opens.erase(id, &open)) return false;
  bool forget = false;
  objects.visit(open.object, [&](Object& o) {
    if (o.opens > 0 && --o.opens > 0) return;
    hidden->swap(o.hidden);
    forget = o.removed;
  });
  if (forget) objects.erase(open.object);
  return true;
}

bool NfsState::is_open(ObjectId object) {
  bool open = false;
  objects.visit(object, [&](Object& o) { open = o.opens > 0; });
  return open;
}

bool NfsState::knows_as_another(ObjectId object, const FileHandle& handle) {
  bool known = false;
  objects.for_each([&](uint64_t id, const Object& o) { known |= id != object && o.handle.view() == handle.view(); });
  return known;
}

void NfsState::unlinked(ObjectId object) {
  if (object == kRootObject) return;
  bool forget = false;
  objects.visit(object, [&](Object& o) {
    if (o.links > 1) {
      --o.links;
    } else {
      o.removed = true;
      forget = o.opens == 0;
    }
  });
  if (forget) objects.erase(object);
}

bool NfsState::hide_perhaps(ObjectId object, HiddenName name) {
  bool kept = false;
  objects.visit(object, [&](Object& o) {
    if (o.opens == 0) return;
    o.hidden.push_back(std::move(name));
    kept = true;
  });
  return kept;
}

bool NfsState::hide(ObjectId object, HiddenName name) {
  const bool kept = hide_perhaps(object, std::move(name));
  unlinked(object);
  return kept;
}

std::string NfsState::hidden_name() { return hidden_prefix_ + std::to_string(hidden_names_++); }

void NfsState::begin_append(ObjectId object) {
  objects.visit(object, [](Object& o) { ++o.appends; });
}

uint64_t NfsState::place_append(ObjectId object, uint64_t size, uint64_t length) {
  uint64_t offset = size;
  objects.visit(object, [&](Object& o) {
    offset = std::max(size, o.append_end);
    o.append_end = offset + length;
  });
  return offset;
}

void NfsState::end_append(ObjectId object) {
  objects.visit(object, [](Object& o) {
    if (o.appends > 0 && --o.appends == 0) o.append_end = 0;
  });
}

NfsState::Wrote NfsState::wrote(ObjectId object, uint64_t offset, uint64_t count, const DataSource& source, uint64_t verifier,
                                uint64_t stamp) {
  Wrote result;
  objects.visit(object, [&](Object& o) {
    if (!o.uncommitted) o.uncommitted = std::make_unique<Uncommitted>(unstable_budget);
    result.raced = o.uncommitted->raced(offset, offset + count, stamp);
    result.restarted = o.uncommitted->wrote(offset, offset + count, source, verifier);
  });
  counters.lost_files += result.restarted;
  return result;
}

bool NfsState::settled(ObjectId object, uint64_t offset, uint64_t end, uint64_t stamp) {
  bool raced = false;
  objects.visit(object, [&](Object& o) {
    if (!o.uncommitted) return;
    raced = o.uncommitted->raced(offset, end, stamp);
    o.uncommitted->cut(offset, end);
  });
  return raced;
}

void NfsState::lose(ObjectId object, uint64_t offset, uint64_t end) {
  objects.visit(object, [&](Object& o) {
    if (o.uncommitted) o.uncommitted->lose(offset, end);
  });
}

DataSource NfsState::source_of(const TargetRequest& request, uint64_t start, uint64_t offset, uint64_t count) {
  if (request.generated) return {true, nullptr, request.op->object, request.op->offset - start, request.who.principal};
  auto kept = RetainedData::keep(request.payload.substr(size_t(offset - start), size_t(count)), unstable_budget);
  return {kept != nullptr, kept, kNoObject, 0 - offset, request.who.principal};
}

bool NfsState::needs_commit(ObjectId object, uint64_t* upto) {
  bool needed = false;
  objects.visit(object, [&](Object& o) {
    if (!o.uncommitted) return;
    needed = !o.uncommitted->empty();
    *upto = o.uncommitted->writes();
  });
  return needed;
}

int NfsState::committed(ObjectId object, uint64_t upto, uint64_t verifier, bool* lost) {
  bool restarted = false, for_good = false;
  objects.visit(object, [&](Object& o) {
    if (!o.uncommitted) return;
    restarted = o.uncommitted->committed(upto, verifier);
    for_good = o.uncommitted->take_unknown_loss();
    *lost = o.uncommitted->has_lost();
  });
  counters.lost_files += restarted;
  counters.lost_for_good += for_good;
  return for_good ? EIO : 0;
}

bool NfsState::begin_rewriting(ObjectId object) {
  bool begins = false;
  objects.visit(object, [&](Object& o) {
    if (!o.uncommitted || o.uncommitted->rewriting) return;
    o.uncommitted->rewriting = begins = o.uncommitted->has_lost();
  });
  return begins;
}

void NfsState::end_rewriting(ObjectId object) {
  objects.visit(object, [](Object& o) {
    if (o.uncommitted) o.uncommitted->rewriting = false;
  });
}

std::optional<LostData> NfsState::take_lost(ObjectId object, uint64_t from, uint64_t upto, uint64_t most) {
  std::optional<LostData> piece;
  objects.visit(object, [&](Object& o) {
    if (o.uncommitted) piece = o.uncommitted->take_lost(from, upto, most);
  });
  return piece;
}

void NfsState::wrote_again(ObjectId object, const LostData& piece, uint64_t bytes, uint64_t verifier) {
  const uint64_t stamp = counters.bytes_again += bytes;
  objects.visit(object, [&](Object& o) {
    if (o.uncommitted) o.uncommitted->wrote_again(piece, bytes, verifier, stamp);
  });
}

void NfsState::leave(ObjectId object, const LostData& piece) {
  objects.visit(object, [&](Object& o) {
    if (o.uncommitted) o.uncommitted->leave(piece);
  });
}

}  // namespace fsr::nfs
