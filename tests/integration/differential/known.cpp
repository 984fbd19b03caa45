// SPDX-License-Identifier: Apache-2.0
#include "known.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace differential {

namespace {

bool is(const Op& op, const char* name) { return strcmp(calls()[op.call].name, name) == 0; }

bool refusal(int error) { return error == EACCES || error == EPERM; }

}  // namespace

const std::vector<Known>& known_differences() {
  static const std::vector<Known> list = {
      {"which-error", "a call that fails for two reasons may name the other one",
       [](const Op&, const Result& bare, const Result& shim) {
         return bare.error != 0 && shim.error != 0 &&
                (refusal(bare.error) || refusal(shim.error) || bare.error == EFBIG || shim.error == EFBIG);
       },
       true},
      {"end-of-directory", "the end of a directory, for lseek(2) and for locks, is its size",
       [](const Op&, const Result&, const Result& shim) { return shim.fields[kOnDirectory] == 1; }, false},
      {"holes-read-through-mappings", "a hole of a tmpfs that was read through a mapping remains a hole",
       [](const Op& op, const Result&, const Result& shim) {
         return is(op, "lseek") && (op.args[2] == SEEK_DATA || op.args[2] == SEEK_HOLE) && shim.fields[kAfterMapping] == 1;
       },
       false},
      {"flags-need-reading", "the ioctls for inode flags need permission to read the file",
       [](const Op& op, const Result& bare, const Result& shim) {
         return (is(op, "FS_IOC_GETFLAGS") || is(op, "FS_IOC_SETFLAGS")) && bare.error == 0 && shim.error == EACCES;
       },
       false},
      {"reading-to-protected-memory", "reading into memory that is write-protected fails at the end of the file, too",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "read-to-map") && bare.value == 0 && shim.error == EFAULT;
       },
       true},
      {"writing-from-unreadable-memory", "writing from memory that was mapped for writing alone fails",
       [](const Op& op, const Result&, const Result& shim) { return is(op, "write-from-map") && shim.error == EFAULT; }, false},
      {"copy-to-direct", "copy_file_range(2) takes the page cache",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "copy_file_range") && bare.error == EINVAL && shim.error == 0;
       },
       false},
      {"limit-of-size", "RLIMIT_FSIZE does not bound fallocate(2) that keeps the size",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "fallocate") && bare.error == EFBIG && shim.error == 0;
       },
       false},
      {"mapping-of-append-only-file", "A shared mapping of an append-only file",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "mmap") && bare.error == EACCES && shim.error == 0;
       },
       false},
      {"lock-on-immutable-file", "a file that was made immutable or append-only while it is open can't be locked for writing",
       [](const Op& op, const Result& bare, const Result& shim) {
         return is(op, "set-lock") && bare.error == 0 && shim.error == EPERM;
       },
       false},
      {"time-of-access", "a read that returns nothing may leave the time of access",
       [](const Op&, const Result& bare, const Result& shim) {
         Result alike = shim;
         alike.fields[kTimeOfAccess] = bare.fields[kTimeOfAccess];
         return bare.fields[kTimeOfAccess] == 1 && alike == bare;
       },
       true},
      {"name-of-open", "names of open files in _/proc_ may be marked as deleted",
       [](const Op& op, const Result&, const Result& shim) { return is(op, "name-of-open") && shim.error == 0; }, true},
      {"holder-of-description-lock", "F_GETLK names a process for locks of open file descriptions, too, F_OFD_GETLK none",
       [](const Op& op, const Result& bare, const Result& shim) {
         Result alike = shim;
         alike.fields[4] = bare.fields[4];
         bool expected = bare.fields[4] == -1 || (op.args[1] == F_OFD_GETLK && shim.fields[4] == -1);
         return is(op, "get-lock") && expected && alike == bare;
       },
       true},
  };
  return list;
}

}  // namespace differential
