// SPDX-License-Identifier: Apache-2.0
#include "model/symbol.hpp"

#include <xxhash.h>

#include "trace/open_flags.hpp"

namespace fsr {

namespace {

constexpr uint32_t kBuckets = 64, kRelations = 16;  // larger numbers of names come after all relations

uint32_t packed(Reference r) {
  return uint32_t(r.bucket / kBuckets * kRelations + unsigned(r.relation)) * kBuckets + r.bucket % kBuckets;
}

bool unpacked(uint64_t value, Reference* r) {
  const uint64_t relation = value / kBuckets % kRelations, bucket = value / kBuckets / kRelations * kBuckets + value % kBuckets;
  const bool name = relation == uint32_t(Relation::hot) || relation == uint32_t(Relation::name);
  if (relation > uint32_t(Relation::root) || bucket >= (name ? kMostHotNames : kBuckets)) return false;
  *r = {Relation(relation), uint16_t(bucket)};
  return true;
}

constexpr std::string_view kXattrs[] = {
    "user.fsreplay", "security.capability", "security.selinux",      "system.posix_acl_access", "system.posix_acl_default",
    "security.ima",  "security.evm",        "trusted.overlay.opaque"};

}  // namespace

std::array<uint64_t, Symbol::kFields> Symbol::fields() const {
  return {uint32_t(kind),
          error,
          type,
          packed(object),
          packed(parent),
          packed(second),
          handle,
          uint32_t(place),
          uint32_t(extent),
          size,
          opens_object(kind) ? trace_open_flags(argument) : argument,
          bytes,
          offset};
}

bool Symbol::from_fields(const std::array<uint64_t, kFields>& f, Symbol* s) {
  Symbol made;
  if (f[0] >= kOpKinds || f[1] > 4095 || f[2] > 15 || f[6] > 9 || f[7] > uint32_t(Place::again) ||
      f[8] > uint32_t(Extent::smaller) || f[9] > 255 || f[10] > UINT32_MAX)
    return false;
  if (!unpacked(f[3], &made.object) || !unpacked(f[4], &made.parent) || !unpacked(f[5], &made.second)) return false;
  made.kind = OpKind(f[0]);
  made.error = uint16_t(f[1]);
  made.type = uint8_t(f[2]);
  made.handle = uint8_t(f[6]);
  made.place = Place(f[7]);
  made.extent = Extent(f[8]);
  made.size = uint8_t(f[9]);
  made.argument = opens_object(made.kind) ? local_open_flags(uint32_t(f[10])) : uint32_t(f[10]);
  made.bytes = f[11];
  made.offset = f[12];
  if (made.is_process_step() && made.handle != uint8_t(ProcessStep::starts) && made.handle != uint8_t(ProcessStep::waits))
    return false;
  *s = made;
  return true;
}

size_t SymbolHash::operator()(const Symbol& symbol) const {
  const auto fields = symbol.fields();
  return XXH3_64bits(fields.data(), sizeof fields);
}

bool finds_file(OpKind kind) {
  return kind == OpKind::lookup || kind == OpKind::open || kind == OpKind::getattr || kind == OpKind::statx;
}

uint32_t xattr_number(std::string_view name) {
  for (uint32_t i = 1; i < std::size(kXattrs); ++i)
    if (kXattrs[i] == name) return i;
  return 0;
}

std::string_view xattr_of(uint32_t number) { return kXattrs[number < std::size(kXattrs) ? number : 0]; }

}  // namespace fsr
