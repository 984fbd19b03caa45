// SPDX-License-Identifier: Apache-2.0
// HTML pages of one file: no script, no network, readable on paper, in the dark and with a screen reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/chart.hpp"
#include "util/heat_map.hpp"
#include "util/output_file.hpp"

namespace fsr {

class HtmlPage {
 public:
  explicit HtmlPage(std::string_view title);

  void paragraph(std::string_view text);
  void note(std::string_view text);  // a paragraph in small letters that says how to read a picture
  // Adds a box that says how it went, first by a sign and in words, so that no colour is needed.
  // `link`: the id of a section that tells more, and its name; null: none.
  enum class Mark : unsigned char { good, bad, open };
  using Link = std::pair<const char*, const char*>;
  void verdict(Mark mark, std::string_view words, const std::vector<std::string>& sentences, Link link = {});
  // Adds markup whose texts are escaped already.
  void markup(std::string_view html);
  // Adds a heading, an entry in the list of contents, and a note below the heading if it is not empty. They are left out if
  // nothing follows them before the next section.
  void section(std::string_view id, std::string_view heading, std::string_view text = {});
  // A cell of a table. `text` is escaped. `value`: the exact number behind a text such as "1.2 ms", for programs; may be empty.
  // `below`: a second line in small letters; may be empty. `looks`: classes of the page's style, such as "x1" to "x3" for a
  // background that says better, "y1" to "y3" worse; may be empty. `picture`: markup in place of a text. `bar`: length of a bar
  // below the name of a row, 0 to 1; below 0: none.
  struct Cell {
    Cell(std::string shown, std::string exact = {}, std::string small = {}, std::string css = {})
        : text(std::move(shown)), value(std::move(exact)), below(std::move(small)), looks(std::move(css)) {}
    Cell(const char* shown) : text(shown) {}
    static Cell drawn(std::string markup) {
      Cell cell("");
      cell.picture = std::move(markup);
      return cell;
    }
    static Cell barred(std::string name, double share) {
      Cell cell(std::move(name));
      cell.bar = share;
      return cell;
    }
    std::string text, value, below, looks, picture;
    double bar = -1;
  };
  // The first cell of a row is its name. `text_columns`: the other cells are text; false: numbers.
  struct Table {
    std::string caption;
    std::vector<std::string> headings;
    std::vector<std::vector<Cell>> rows;
    bool text_columns = false;
    std::vector<size_t> words;  // columns of text among numbers
    std::string folded;         // label of a line that the reader opens to see the table; empty: the table is visible
    std::string id;             // may be empty
    // Column of drawings, and markup for its scale that its heading has. 0: none.
    size_t pictures = 0;
    std::string scale;
    size_t most = 0;  // rows that are visible; more of them are folded, as a table with "-more" after its id. 0: all
  };
  void table(const Table& table);  // adds nothing if it has no rows
  // Adds what `draw` returns for `drawing` in two widths, and below it the table of its values, which may be empty. A browser
  // shows the width that fits its window, as a drawing shrunk to a phone's width could not be read.
  template <class Drawing>
  void figure(const Drawing& drawing, std::string (*draw)(const Drawing&), const Table& values) {
    figure(draw(drawing), draw(for_phone(drawing)), values);
  }
  void figure(const std::string& wide, const std::string& narrow, const Table& values);
  // Adds a list of names and values. A value that is empty is left out.
  using Values = std::vector<std::pair<std::string, Cell>>;
  // `sentences`: the values are words of this program, no commands or names, so that numbers in them stay with their units.
  void facts(std::string_view id, const Values& facts, bool sentences = false);
  void chart(const Chart& chart) { charts({chart}, "The values of “" + chart.title + "” as a table"); }
  // Adds charts of one axis, and below them one table of their values that a reader unfolds by its `label`. Steps that repeat the
  // values before are no rows of their own.
  void charts(const std::vector<Chart>& charts, const std::string& label);
  // Adds small drawings beside each other, each with a name and a text below it, which may be empty.
  struct Small {
    std::string name, drawing, below = {};  // drawing: markup
  };
  void small_multiples(const std::vector<Small>& drawings);
  // Adds drawings on one scale, whose stretches are as long.
  void heat_maps(std::vector<HeatMap> maps);
  // Makes browsers load the page again after so many seconds.
  void refresh_every(int seconds) { refresh_ = seconds; }
  // Adds a row of tiles, each with a label and a value.
  void tiles(const Values& tiles);
  std::string finish();

 private:
  template <class Drawing>
  static Drawing for_phone(Drawing drawing) {
    drawing.width = 360;
    if constexpr (requires { drawing.height; }) drawing.height = 280;
    return drawing;
  }
  void whole_table(const Table& table);
  void list(std::string_view attributes, const Values& values, bool sentences);
  void end_section();

  std::string title_, contents_, body_;
  // Where the section and its entry in the contents begin, and where its heading and note end. 0: there is none.
  size_t section_ = 0, entry_ = 0, heading_ = 0;
  int refresh_ = 0;  // s; 0: never
};

// Return cells with a number as text, and the exact number behind it.
HtmlPage::Cell count_cell(uint64_t n);
HtmlPage::Cell size_cell(uint64_t bytes);
HtmlPage::Cell duration_cell(int64_t ns);
HtmlPage::Cell rate_cell(double per_second);
HtmlPage::Cell share_cell(uint64_t part, uint64_t whole);  // per cent, without the number

}  // namespace fsr
