// SPDX-License-Identifier: Apache-2.0
// System calls as data: what a call is named, which arguments it takes, and how each argument is chosen, printed and read back.
//
// A sequence is a list of Ops. The same list is executed on two directories, and the Results are compared byte by byte. So a
// Result holds only what has to agree. It has no inode numbers and no process ids, and says of a time only whether it is recent.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace differential {

// Numbers that depend on the seed alone.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

constexpr int kSlots = 8;  // open files of a process
constexpr int kWatches = 2;
constexpr int kMaps = 4;     // mappings of a process
constexpr int kActors = 12;  // numbers of actors: first those of Role, then child processes of these
constexpr int kMaxArguments = 7;
constexpr int64_t kWorkingDirectory = -100;  // AT_FDCWD in place of a slot

struct Op {
  uint8_t actor = 0;
  uint8_t call = 0;  // index of calls()
  std::array<int64_t, kMaxArguments> args{};
};

struct Result {
  int64_t value = 0;
  int32_t error = 0;
  uint32_t skipped = 0;  // its actor does not live
  std::array<int64_t, 16> fields{};
  uint64_t hash = 0;  // of all bytes that were read
  std::array<char, 64> text{};
  bool operator==(const Result& other) const { return memcmp(this, &other, sizeof other) == 0; }
  void add(const void* data, size_t size);  // to the hash
  void say(const std::string& s);           // readable, cut to fit; all of it goes to the hash
};

// Indices of fields of a Result.
constexpr size_t kAfterAllocation = 11, kSetId = 12, kAfterMapping = 13, kTimeOfAccess = 14;
constexpr size_t kOnDirectory = 15;  // 1: counted from its end, 2: from the position

// Arguments of set-acl, and a name for calls on extended attributes.
constexpr int64_t kDefaultAcl = 1, kEmptyAcl = 4, kDefaultAclName = 8;

struct Choice {
  int64_t value;
  const char* text;
};

// The values that an argument can take.
struct Kind {
  const char* name;
  std::vector<Choice> one_of;       // one is chosen; repeated ones are more likely
  std::vector<Choice> any_of = {};  // bits, each with the chance below
  unsigned percent = 0;
  enum class Use {
    plain,
    new_slot,
    slot,
    directory,
    new_map,
    map,
    new_actor
  } use = Use::plain;  // the generator prefers what is in use
  int64_t pick(Random& random) const;
  std::string show(int64_t value) const;
  bool read(const std::string& text, int64_t* value) const;

 private:
  bool add_bits(const std::string& text, int64_t* value) const;  // the names of bits of any_of
};

// Shared by several groups of calls; kFromSlot and kFromDirectory are for calls that take two.
extern const Kind kNewSlot, kSlot, kFromSlot, kDirectory, kFromDirectory, kNewMap, kMap, kNewActor;
extern const Kind kPath, kMode, kLength, kSomeLength, kOffset, kAtFlags;
const char* path_text(int64_t index);

class Process;

struct Call {
  const char* name;
  unsigned weight;
  std::vector<const Kind*> kinds;
  void (*run)(Process& process, const int64_t* args, Result& result);
  const char* area = "";  // may be left out by that name
};

const std::vector<Call>& calls();
int find_call(const std::string& name);  // -1: none

// Each adds the calls of one group.
void add_file_calls(std::vector<Call>& calls);
void add_data_calls(std::vector<Call>& calls);
void add_name_calls(std::vector<Call>& calls);
void add_attribute_calls(std::vector<Call>& calls);
void add_xattr_calls(std::vector<Call>& calls);
void add_mapping_calls(std::vector<Call>& calls);
void add_lock_calls(std::vector<Call>& calls);
void add_process_calls(std::vector<Call>& calls);
void add_socket_calls(std::vector<Call>& calls);
void add_ring_calls(std::vector<Call>& calls);

// One line of a script: "ACTOR CALL ARGUMENT..."
std::string show(const Op& op);
bool parse(const std::string& line, Op* op);
std::string show(const Result& result);

}  // namespace differential
