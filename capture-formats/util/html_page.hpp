// SPDX-License-Identifier: Apache-2.0
// HTML pages of one file: no script, no network, readable on paper, in the dark and with a screen reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/chart.hpp"
#include "util/output_file.hpp"

namespace fsr {

class HtmlPage {
 public:
  explicit HtmlPage(std::string_view title);

  // CSS rules beside the page's own.
  void style(std::string_view rules);
  void paragraph(std::string_view text);
  // Markup as it is, whose texts are escaped already.
  void markup(std::string_view html);
  // A heading, and an entry in the list of contents.
  void section(std::string_view id, std::string_view heading);
  // The first of the cells names its row. Text is escaped; columns but the first are numbers, or text where `text_columns`.
  // `value`: the exact number behind a text such as "1.2 ms", for programs; may be empty.
  struct Cell {
    Cell(std::string shown, std::string exact = {}) : text(std::move(shown)), value(std::move(exact)) {}
    Cell(const char* shown) : text(shown) {}
    std::string text, value;
  };
  struct Table {
    std::string caption;
    std::vector<std::string> headings;
    std::vector<std::vector<Cell>> rows;
    bool text_columns = false;
    std::vector<size_t> words;  // columns of text among numbers
    std::string folded;         // if not empty: the table shows when the reader opens this line
    // A bar behind each row's name, 0 to 1; may be empty.
    std::vector<double> bars;
    std::string id;  // may be empty
  };
  void table(const Table& table);
  // The drawing, and below it, folded, its points as a table.
  void chart(const Chart& chart);
  // Adds a row of tiles, each with a label and a value.
  void tiles(const std::vector<std::pair<std::string, Cell>>& tiles);
  std::string finish();

 private:
  std::string title_, style_, contents_, body_;
  bool in_section_ = false;
};

}  // namespace fsr
