// SPDX-License-Identifier: Apache-2.0
// The directory of a run's reports, and a page in it. Pages are HTML as vdbench's: a title and text.
#pragma once

#include <cstdio>
#include <string>

namespace fsr::vdbench {

class Page {
 public:
  // `directory` empty: the page is not written. Throws std::runtime_error "FILE: why".
  Page(const std::string& directory, const std::string& name);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  void put(const std::string& text);  // readers see the text at once

 private:
  std::string path_;
  FILE* file_ = nullptr;
};

// Throws std::runtime_error "FILE: why" for the first page of this process that lacks text. Any thread.
void check_pages();

// Makes the directory if it is missing, and removes pages of an earlier run, empty ones, and curves.html, no others. "DIR+": uses
// the first of DIR001 to DIR998 that does not exist. "DIR.tod": adds the time. Returns the name. Throws std::runtime_error.
std::string make_output_directory(const std::string& asked);
std::string page_name(const std::string& name);  // name of the page about `name`, without ".html"
std::string html_text(const std::string& text);  // with < > & escaped
std::string plain_text(std::string html);        // reverses html_text()

}  // namespace fsr::vdbench
