// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/stat.h>

#include "targets/afp/afp.hpp"

namespace fsr::afp {

namespace {

using In = wire::ByteReader<std::endian::big>;

constexpr uint8_t kDirFlag = 0x80;  // flag of an entry: a directory
constexpr unsigned kNameBit = 13, kUnixBit = 15;

// Bytes of each parameter, in the order of the bitmap's bits. 0: unknown parameter.
constexpr uint8_t kFileSizes[16] = {2, 4, 4, 4, 4, 32, 2, 2, 4, 4, 4, 8, 2, 6, 8, 16};
constexpr uint8_t kDirSizes[16] = {2, 4, 4, 4, 4, 32, 2, 2, 4, 2, 4, 4, 4, 6, 0, 16};

// Reads a name, which follows the parameters at its offset: hint[4] length[2] bytes.
bool read_name(std::string_view all, size_t offset, std::string_view* name) {
  if (offset > all.size()) return false;
  In in(all.substr(offset));
  in.u32();
  *name = in.bytes(in.u16());
  return in.ok();
}

void read_unix_privileges(In& in, Parms* p) {
  p->attr.uid = in.u32();
  p->attr.gid = in.u32();
  p->attr.mode = in.u32();
  p->user_access = in.u32();
  if (!(p->attr.mode & S_IFMT)) p->attr.mode |= p->is_dir ? S_IFDIR : S_IFREG;
  p->attr.valid |= kAttrMode | kAttrUid | kAttrGid;
}

bool read_parms(std::string_view all, uint16_t bitmap, bool is_dir, Parms* p) {
  const uint8_t* sizes = is_dir ? kDirSizes : kFileSizes;
  In in(all);
  p->is_dir = is_dir;
  for (unsigned bit = 0; bit < 16; ++bit) {
    if (!(bitmap & (1u << bit))) continue;
    if (sizes[bit] == 0) return false;
    switch (1u << bit) {
      case kCreateDate:
        p->attr.btime = from_date(in.u32());
        p->attr.valid |= kAttrBtime;
        break;
      case kModifyDate:
        p->attr.mtime = from_date(in.u32());
        p->attr.valid |= kAttrMtime;
        break;
      case kNodeId:
        p->id = in.u32();
        break;
      case kOffspringCount:
        if (is_dir)
          p->offspring = in.u16();
        else
          in.u32();  // length of the resource fork
        break;
      case kDataLength:
        if (is_dir) return false;
        p->attr.size = in.u64();
        p->attr.valid |= kAttrSize;
        break;
      case 1u << kNameBit: {
        const size_t offset = in.u16();
        in.u32();
        if (!in.ok() || !read_name(all, offset, &p->name)) return false;
        break;
      }
      case 1u << kUnixBit:
        read_unix_privileges(in, p);
        break;
      default:
        in.bytes(sizes[bit]);
    }
  }
  return in.ok();
}

bool read_file_dir_parms(In& in, Reply* r) {
  const uint16_t file = in.u16(), dir = in.u16();
  const bool is_dir = in.u8() & kDirFlag;
  in.u8();
  return in.ok() && read_parms(in.bytes(in.left()), is_dir ? dir : file, is_dir, &r->parms);
}

bool read_entries(Command command, In& in, Reply* r) {
  const bool old = command == Command::old_enumerate;
  const unsigned head = old ? 2 : 4;
  const uint16_t file = in.u16(), dir = in.u16(), count = in.u16();
  for (unsigned i = 0; i < count; ++i) {
    const uint16_t size = old ? in.u8() : in.u16();  // includes the entry's head
    const bool is_dir = in.u8() & kDirFlag;
    if (!old) in.u8();
    Parms p;
    if (!in.ok() || size < head || !read_parms(in.bytes(size - head), is_dir ? dir : file, is_dir, &p)) return false;
    if (!old && p.name.empty()) return false;  // users of the old command don't ask for names
    r->entries.push_back(p);
  }
  return in.ok();
}

void read_volume(In& in, Reply* r) {
  const uint16_t bitmap = in.u16();
  constexpr uint8_t kSizes[12] = {2, 2, 4, 4, 4, 2, 4, 4, 2, 8, 8, 4};
  for (unsigned bit = 0; bit < 12; ++bit) {
    if (!(bitmap & (1u << bit))) continue;
    if ((1u << bit) == kVolumeId)
      r->volume = in.u16();
    else if ((1u << bit) == kBytesFree)
      r->free_bytes = in.u64();
    else if ((1u << bit) == kBytesTotal)
      r->total_bytes = in.u64();
    else
      in.bytes(kSizes[bit]);
  }
}

void read_server_parms(In& in, Reply* r) {
  in.u32();  // the server's time
  const unsigned count = in.u8();
  for (unsigned i = 0; i < count && in.ok(); ++i) {
    in.u8();  // flags
    r->volumes.push_back(in.bytes(in.u8()));
  }
}

void read_session_options(In& in, Reply* r) {
  constexpr uint8_t kServerQuantum = 0;
  while (in.left() > 0) {
    const uint8_t type = in.u8(), size = in.u8();
    In value(in.bytes(size));
    if (type == kServerQuantum && size == 4) r->quantum = value.u32();
  }
}

// Reads a count and as many Pascal strings at `offset`.
bool read_strings(std::string_view all, size_t offset, std::vector<std::string>* out) {
  if (offset > all.size()) return false;
  In in(all.substr(offset));
  const unsigned count = in.u8();
  for (unsigned i = 0; i < count && in.ok(); ++i) out->emplace_back(in.bytes(in.u8()));
  return in.ok();
}

bool read_body(Command command, In& in, Reply* r) {
  switch (command) {
    case Command::none:
      read_session_options(in, r);
      break;
    case Command::create_dir:
      r->parms.id = in.u32();
      break;
    case Command::open_fork:
      in.u16();
      r->fork = in.u16();
      break;
    case Command::get_file_dir_parms:
      return read_file_dir_parms(in, r);
    case Command::get_fork_parms: {
      const uint16_t bitmap = in.u16();
      return in.ok() && read_parms(in.bytes(in.left()), bitmap, false, &r->parms);
    }
    case Command::old_enumerate:
    case Command::enumerate:
    case Command::enumerate2:
      return read_entries(command, in, r);
    case Command::open_volume:
    case Command::get_volume_parms:
      read_volume(in, r);
      break;
    case Command::get_server_parms:
      read_server_parms(in, r);
      break;
    case Command::write:
      r->offset = in.u64();
      break;
    case Command::old_write:
      r->offset = in.u32();
      break;
    case Command::get_ext_attr:
    case Command::list_ext_attr:
      in.u16();
      r->data = in.bytes(in.u32());
      break;
    case Command::get_session_token:
      r->data = in.bytes(in.u32());
      break;
    case Command::login:
    case Command::login_cont:
    case Command::old_read:
    case Command::read:
      r->data = in.bytes(in.left());
      break;
    default:
      break;
  }
  return in.ok();
}

bool has_body(Command command, int32_t result) {
  if (command == Command::login || command == Command::login_cont) return result == kAuthContinue;
  const bool reads = command == Command::read || command == Command::old_read;
  return result == kOk || (reads && result == kEofError);
}

}  // namespace

void Reply::clear() {
  std::vector<Parms> kept = std::move(entries);
  std::vector<std::string_view> names = std::move(volumes);
  kept.clear();
  names.clear();
  *this = Reply();
  entries = std::move(kept);
  volumes = std::move(names);
}

bool decode_reply(Command command, std::span<const uint8_t> message, Reply* reply) {
  reply->clear();
  if (message.size() < kDsiHead) return false;
  const DsiHead head = parse_dsi_head(message.data());
  reply->result = int32_t(head.code);
  In in(message.subspan(kDsiHead));
  if (has_body(command, reply->result) && !read_body(command, in, reply)) return false;
  reply->error = has_body(command, reply->result) ? 0 : afp_errno(reply->result);
  return true;
}

bool decode_server_info(std::span<const uint8_t> message, ServerInfo* info) {
  if (message.size() < kDsiHead) return false;
  const std::string_view all(reinterpret_cast<const char*>(message.data()) + kDsiHead, message.size() - kDsiHead);
  In in(all);
  in.u16();  // the kind of machine
  const size_t versions = in.u16(), uams = in.u16();
  return in.ok() && read_strings(all, versions, &info->versions) && read_strings(all, uams, &info->uams);
}

int64_t from_date(uint32_t date) { return (kDateEpoch + int32_t(date)) * 1'000'000'000; }

bool to_date(int64_t ns, uint32_t* date) {
  const int64_t seconds = (ns >= 0 ? ns : ns - 999'999'999) / 1'000'000'000 - kDateEpoch;
  *date = seconds > INT32_MAX ? uint32_t(INT32_MAX) : seconds < INT32_MIN ? uint32_t(INT32_MIN) : uint32_t(seconds);
  return int64_t(int32_t(*date)) == seconds;
}

}  // namespace fsr::afp
