// SPDX-License-Identifier: Apache-2.0
// The directory that a run's reports go to, and a page in it. Pages are HTML as vdbench's are: a title and text.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace fsr::vdbench {

class Page {
 public:
  // `directory` empty: the page is not kept. Throws std::runtime_error "FILE: why".
  Page(const std::string& directory, const std::string& name);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  void put(const std::string& text);  // which is there for readers at once

 private:
  FILE* file_ = nullptr;
};

// Makes it where it is missing, and removes pages of an earlier run. "DIR+": the first of DIR001 to DIR998 that is free;
// "DIR.tod": with the time. Returns its name. Throws std::runtime_error.
std::string make_output_directory(const std::string& asked);
std::string page_name(const std::string& name);  // what a page about it is called, without ".html"
std::string html_text(const std::string& text);  // < > & escaped

}  // namespace fsr::vdbench
