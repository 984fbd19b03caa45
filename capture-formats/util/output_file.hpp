// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written under a temporary name beside its own, which it gets by commit().
//
// Without commit() nothing stays behind, nor when SIGINT, SIGTERM or SIGHUP ends the program in between, unless the program
// handles them itself. One at a time in a process, one thread. Members throw std::runtime_error "FILE: why".
#pragma once

#include <string>
#include <string_view>

namespace fsr {

enum class Readers { owner, by_umask };

class OutputFile {
 public:
  // Refuses a `path` that exists, unless `replace`; even then only a regular file is replaced.
  OutputFile(const std::string& path, bool replace, Readers readers);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& temporary() const { return temporary_; }  // exists, empty
  int take_fd();                          // its descriptor, open for reading and writing; the caller closes it
  void finish(std::string_view content);  // writes everything and commits
  void commit();                          // refuses again if the file has been created meanwhile

 private:
  const std::string path_;
  const bool replace_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace fsr
