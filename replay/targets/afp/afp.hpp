// SPDX-License-Identifier: Apache-2.0
// Encodes the commands of AFP 3.0 to 3.4 that this client uses, and decodes their replies (Apple, AppleTalk Filing Protocol
// Reference). Big endian. Names are UTF-8 in the Mac's decomposed form (targets/unicode.hpp), with '/' and ':' swapped.
//
// The decoder trusts no length, count or offset. Names and data are views into the message.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "op.hpp"
#include "targets/afp/dsi.hpp"
#include "targets/wire/bytes.hpp"

namespace fsr::afp {

enum class Command : uint8_t {
  none = 0,      // OpenSession, a command of DSI
  old_lock = 1,  // "old" commands have 32-bit offsets and lengths, and names of at most 31 bytes; used by Commands
  close_fork = 4,
  copy_file = 5,
  create_dir = 6,
  create_file = 7,
  remove = 8,
  old_enumerate = 9,
  flush = 10,
  flush_fork = 11,
  get_fork_parms = 14,
  get_server_parms = 16,
  get_volume_parms = 17,
  login = 18,
  login_cont = 19,
  logout = 20,
  move_and_rename = 23,
  open_volume = 24,
  open_fork = 26,
  old_read = 27,
  set_file_parms = 30,
  set_fork_parms = 31,
  old_write = 33,
  get_file_dir_parms = 34,
  set_file_dir_parms = 35,
  exchange_files = 42,
  get_session_token = 64,
  byte_range_lock = 59,
  read = 60,
  write = 61,
  disconnect_old_session = 65,
  enumerate = 66,   // 16-bit indices
  enumerate2 = 68,  // 32-bit indices
  get_ext_attr = 69,
  set_ext_attr = 70,
  remove_ext_attr = 71,
  list_ext_attr = 72,
  sync_dir = 78,
  sync_fork = 79,
};

// Results that the client must distinguish. afp_errno() knows all others.
enum Result : int32_t {
  kOk = 0,
  kAuthContinue = -5001,
  kBadUam = -5002,
  kBadVersion = -5003,
  kEofError = -5009,
  kFileBusy = -5010,
  kItemNotFound = -5012,
  kLockError = -5013,
  kMiscError = -5014,
  kObjectExists = -5017,
  kObjectNotFound = -5018,
  kParamError = -5019,
  kRangeOverlap = -5021,
  kUserNotAuthenticated = -5023,
  kObjectTypeError = -5025,
};

enum ParmBit : uint16_t {  // of files and directories
  kCreateDate = 0x0004,
  kModifyDate = 0x0008,
  kFinderInfo = 0x0020,
  kNodeId = 0x0100,
  kOffspringCount = 0x0200,  // of directories
  kDataLength = 0x0800,      // length of a file's data fork, 64 bits
  kName = 0x2000,            // UTF-8
  kUnixPrivileges = 0x8000,
};
constexpr uint16_t kFileStat = kCreateDate | kModifyDate | kNodeId | kDataLength | kUnixPrivileges;
constexpr uint16_t kDirStat = kCreateDate | kModifyDate | kNodeId | kUnixPrivileges;

enum VolumeBit : uint16_t { kVolumeId = 0x0020, kBytesFree = 0x0200, kBytesTotal = 0x0400, kBlockSize = 0x0800 };
enum AccessMode : uint16_t { kAccessRead = 1, kAccessWrite = 2 };
enum XattrFlag : uint16_t { kXattrNoFollow = 1, kXattrCreate = 2, kXattrReplace = 4 };
enum LockFlag : uint8_t { kUnlock = 1 };
enum UserAccess : uint32_t { kMaySearch = 1u << 24, kMayRead = 1u << 25, kMayWrite = 1u << 26 };  // of Parms::user_access

constexpr uint32_t kRootDir = 2;
constexpr uint32_t kLeastQuantum = 4096, kMostQuantum = 4 << 20;  // bytes of a message that the client accepts
constexpr size_t kLongestName = 255;
constexpr uint32_t kUnchangedId = UINT32_MAX;  // owner or group that is not changed

// The parameters of a file or a directory.
struct Parms {
  Attr attr;
  uint32_t id = 0;
  bool is_dir = false;
  uint32_t offspring = 0;    // entries of a directory
  uint32_t user_access = 0;  // UserAccess bits: the rights of the client's user
  std::string_view name;     // as on the wire
};

// The decoded reply to a request. Members that the reply does not have keep their default values.
struct Reply {
  int error = 0;         // errno of the result, or of the connection if there was no reply
  int32_t result = kOk;  // AFP result
  Parms parms;
  std::vector<Parms> entries;
  uint16_t fork = 0;
  uint16_t volume = 0;
  uint32_t quantum = 0;  // reply to OpenSession; 0: the server did not send it
  uint64_t offset = 0;   // reply to a write: end of the written range
  uint64_t free_bytes = 0, total_bytes = 0;
  std::string_view data;                  // content, attribute, list of names, token, or login data
  std::vector<std::string_view> volumes;  // reply to GetSrvrParms
  void clear();                           // keeps capacity
};

// Decodes the reply to a command, including the DSI head. False: the reply is malformed.
bool decode_reply(Command command, std::span<const uint8_t> message, Reply* reply);
int afp_errno(int32_t result);
const char* command_name(Command command);  // for example "FPOpenFork"
std::string result_name(int32_t result);    // for example "kFPObjectNotFound (-5018)"

// The reply to DSIGetStatus: versions and authentication methods of the server.
struct ServerInfo {
  std::vector<std::string> versions, uams;
};
bool decode_server_info(std::span<const uint8_t> message, ServerInfo* info);

enum class Version : uint8_t { v30, v31, v32, v33, v34 };
const char* version_name(Version v);    // as on the wire: "AFPX03", "AFP3.1"
const char* version_number(Version v);  // "3.0"

// Converts the name of one component; exchanges ":" and "/". The characters of the result are decomposed (Unicode NFD), unless it
// would then be longer than servers accept (Netatalk). In that case they keep their form, which servers accept as well.
std::string to_wire_name(std::string_view name);
std::string from_wire_name(std::string_view name);  // composes characters, as is usual outside of Macs
bool keeps_form(std::string_view name);             // true: a listing returns the name as it was sent

// Builds a request in a buffer that it does not own.
class Encoder {
 public:
  explicit Encoder(std::vector<uint8_t>& bytes) : bytes_(bytes) {}
  void begin(Command command);
  // Fills in the DSI head. `payload`: bytes that follow the request.
  void end(Dsi dsi, uint16_t id, size_t payload);
  Encoder& u8(uint8_t v) { return number(v, 1); }
  Encoder& u16(uint16_t v) { return number(v, 2); }
  Encoder& u32(uint32_t v) { return number(v, 4); }
  Encoder& u64(uint64_t v) { return number(v, 8); }
  Encoder& bytes(std::string_view s) {
    bytes_.insert(bytes_.end(), s.begin(), s.end());
    return *this;
  }
  Encoder& pascal(std::string_view s) {
    s = s.substr(0, UINT8_MAX);
    return u8(uint8_t(s.size())).bytes(s);
  }
  Encoder& string16(std::string_view s) {
    s = s.substr(0, UINT16_MAX);
    return u16(uint16_t(s.size())).bytes(s);
  }
  Encoder& path(std::string_view name);  // empty: the directory itself
  Encoder& even() { return bytes_.size() % 2 ? u8(0) : *this; }
  Encoder& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }

 private:
  Encoder& number(uint64_t v, unsigned size) {
    wire::append_number<std::endian::big>(bytes_, v, size);
    return *this;
  }
  std::vector<uint8_t>& bytes_;
};

// Dates of AFP are signed 32-bit numbers of seconds since 2000-01-01, which is this Unix time.
constexpr int64_t kDateEpoch = 946'684'800;
int64_t from_date(uint32_t date);          // ns since the Unix epoch
bool to_date(int64_t ns, uint32_t* date);  // false: beyond the range of a date, *date is the nearest one

}  // namespace fsr::afp
