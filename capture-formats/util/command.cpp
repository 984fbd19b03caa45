// SPDX-License-Identifier: Apache-2.0
#include "util/command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <sstream>
#include <type_traits>

#include "util/check.hpp"
#include "util/debug_log.hpp"
#include "util/help_text.hpp"
#include "util/nearest.hpp"

namespace fsr {

// CLI11's own check with another message: "expected WHAT, found 'VALUE'".
static CLI::Validator expecting(CLI::Validator check, const std::string& what) {
  return CLI::Validator(
      [check = std::move(check), what](std::string& value) {
        return check(value).empty() ? "" : "expected " + what + ", found '" + value + "'";
      },
      "");
}

// Returns what is wrong with `text` as a value of type T. Empty: nothing. CLI11 alone takes "-1" for the greatest number of an
// unsigned type, and a number that is too large for the greatest one.
template <class T>
static std::string wrong_number(const std::string& text) {
  using Limits = std::numeric_limits<T>;
  T value;
  errno = 0;
  const bool has_sign = std::is_unsigned_v<T> && text.find('-') != std::string::npos;
  if (!has_sign && CLI::detail::lexical_cast(text, value) && errno != ERANGE) return "";
  return "expected a whole number from " + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()) + ", found '" +
         text + "'";
}

template <class T>
static CLI::Validator number_check() {
  return CLI::Validator([](std::string& text) { return wrong_number<T>(text); }, "");
}

constexpr std::string_view kWords = "words\n";

// Values that an option takes are kept in the name of its check, a line each.
static std::string named(const std::vector<std::string>& words) {
  std::string name(kWords);
  for (const std::string& word : words) name += word + "\n";
  return name;
}

// Returns the values, each with the end of its line. Empty: they are not known.
static std::string words_of(const CLI::Option& option) {
  // There is no constant way to a check, nor a number of them.
  CLI::Option& same = const_cast<CLI::Option&>(option);
  try {
    for (int i = 0;; ++i)
      if (const std::string& name = same.get_validator(i)->get_name(); name.starts_with(kWords))
        return name.substr(kWords.size());
  } catch (const CLI::OptionNotFound&) {
    return "";
  }
}

Option Option::required(bool is) { return Option(option_->required(is)); }
Option Option::one_of(const std::vector<std::string>& words) {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return Option(option_->check(expecting(CLI::IsMember(words), all), named(words)));
}
Option Option::often(const std::vector<std::string>& words) {
  return Option(option_->check(CLI::Validator([](std::string&) { return std::string(); }, ""), named(words)));
}
Option Option::within(uint64_t least, uint64_t most) {
  const std::string what = "a number from " + std::to_string(least) + " to " + std::to_string(most);
  // transform() puts this check before the one of add(), because this one names a smaller range.
  return Option(option_->transform(expecting(CLI::Range(least, most), what)));
}
Option Option::count_within(int least, int most) { return Option(option_->expected(least, most)); }
Option Option::separated_by_commas() { return Option(option_->delimiter(',')).repeatable(); }
Option Option::repeatable() { return Option(option_->allow_extra_args(false)); }
Option Option::excludes(Option other) { return Option(option_->excludes(other.option_)); }
Option Option::stands_for(const char* placeholder) { return Option(option_->option_text(placeholder)); }
Option Option::show_default() { return Option(option_->capture_default_str()); }
bool Option::given() const { return option_->count() > 0; }

// An argument stands under a heading of its own.
Option Command::grouped(CLI::Option* option) const {
  FSR_CHECK(option->get_name(true).find_first_of("=: {") == std::string::npos, "CLI11 2.4 takes no such name");
  if (!option->get_positional()) option->group(group_);
  return Option(option);
}

Command Command::group(const std::string& heading) const {
  Command same = *this;
  same.group_ = heading;
  return same;
}

std::string Command::first_given(const std::vector<std::string>& except) const {
  for (const CLI::Option* option : app_->get_options())
    if (option->get_group() == group_ && option->count() > 0 &&
        std::find(except.begin(), except.end(), option->get_name()) == except.end())
      return option->get_name();
  return "";
}

template <class T>
Option Command::add(const std::string& names, T& to, const std::string& help) {
  CLI::Option* option = app_->add_option(names, to, help);
  if constexpr (std::is_integral_v<T>) option->check(number_check<T>());
  if constexpr (std::is_same_v<T, std::vector<uint32_t>>) option->check(number_check<uint32_t>());
  return grouped(option);
}
template Option Command::add(const std::string&, std::string&, const std::string&);
template Option Command::add(const std::string&, int&, const std::string&);
template Option Command::add(const std::string&, unsigned&, const std::string&);
template Option Command::add(const std::string&, uint64_t&, const std::string&);
template Option Command::add(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add(const std::string&, std::vector<uint32_t>&, const std::string&);

Option Command::flag(const std::string& names, bool& to, const std::string& help) {
  return grouped(app_->add_flag(names, to, help));
}

using Take = std::function<void(const std::string&)>;

static Take complaining(const std::string& name, Take take) {
  return [name, take = std::move(take)](const std::string& text) {
    try {
      take(text);
    } catch (const std::invalid_argument& e) {
      // Parsers name what they were given, and so does this.
      std::string what = e.what();
      if (const std::string twice = "'" + text + "': "; what.starts_with(twice)) what.erase(0, twice.size());
      throw CLI::ValidationError(name + " " + text, what);
    }
  };
}

Option Command::add_parsed(const std::string& name, Take take, const std::string& help) {
  return grouped(app_->add_option_function<std::string>(name, complaining(name, std::move(take)), help));
}

Option Command::add_each(const std::string& name, Take take, const std::string& help) {
  auto take_all = [take = complaining(name, std::move(take))](const std::vector<std::string>& given) {
    for (const std::string& text : given) take(text);
  };
  return grouped(app_->add_option_function<std::vector<std::string>>(name, take_all, help)).repeatable();
}

// A subcommand's version names its program, and nothing else.
static void add_version(CLI::App* app, const std::string& names) {
  const CLI::App* top = app;
  while (top->get_parent()) top = top->get_parent();
  const std::string name = top->get_name();
  app->set_version_flag(names, name.substr(0, name.find(' ')) + " " FSR_VERSION);
}

Option Command::option(const std::string& name) { return Option(app_->get_option(name)); }

Command Command::subcommand(const std::string& name, const std::string& what) {
  Command sub(app_->add_subcommand(name, what));
  sub.hints_ = hints_;
  add_version(sub.app_, "-V,--version");
  return sub;
}

void Command::explain_extras(const std::string& hint) { hints_->extras[app_] = hint; }

void Command::suggest(const std::string& word, const std::string& option) { hints_->options[{app_, word}] = option; }

void Command::when_chosen(std::function<void()> act) { app_->callback(std::move(act)); }

bool Command::chosen() const { return app_->parsed(); }

void Command::common_options() {
  add_parsed("--debug", set_log_levels, "print debug lines of wire, plan, shim or all").stands_for("LIST");
}

void Command::help_by_word_only() {
  app_->set_help_flag("--help", "Print this help message and exit");
  add_version(app_, "--version");
}

void Command::config_option(const std::string& name, const std::string& help) {
  app_->allow_config_extras(false);
  app_->set_config(name, "", help)->option_text("FILE");
}

void Command::footer(const std::string& text) { app_->footer(text); }

Program::Program(const std::string& name, const std::string& what) : Command(new CLI::App(what, name)), name_(name) {
  app_->formatter(std::make_shared<HelpFormatter>());
  hints_ = &all_hints_;
  add_version(app_, "-V,--version");
}

Program::~Program() { delete app_; }

void Program::require_subcommand() { app_->require_subcommand(1); }

// Returns the message for an option with too few or too many values.
static std::string wrong_count(const CLI::Option& option) {
  const int least = option.get_items_expected_min(), most = option.get_items_expected_max(), found = int(option.count());
  const std::string name = option.get_name();
  if (found >= least && most <= 1) return name + ": given " + std::to_string(found) + " times, expected once";
  if (found < least && least == 1) return name + ": expected a value";
  return name + ": expected at " + (found < least ? "least " + std::to_string(least) : "most " + std::to_string(most)) +
         ", found " + std::to_string(found);
}

// Returns what `error` says about `option`, in the words of this program. Empty: the error is about something else.
static std::string about_option(const CLI::Error& error, const CLI::Option& option) {
  const std::string kind = error.get_name(), what = error.what(), name = option.get_name();
  if (kind == "ArgumentMismatch" && what.starts_with(name + ": ")) return wrong_count(option);
  if (kind == "RequiredError" && what == name + " is required" && option.get_positional())
    return what + ": " + option.get_description();
  if (kind == "ConversionError" && what.find(": " + name + " = ") != std::string::npos)
    return name + ": expected no value, found '" + option.results().back() + "'";
  if (kind == "ExcludesError")
    for (const CLI::Option* other : option.get_excludes())
      if (what == name + " excludes " + other->get_name())
        return name + ": not possible with " + other->get_name() + "; leave one of the two out";
  return "";
}

static std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Returns CLI11's message in the words of this program, without a remedy where none is known.
static std::string own_words(const CLI::Error& error, const CLI::App* at) {
  const std::string kind = error.get_name(), what = error.what();
  for (const CLI::App* app = at; app; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (std::string words = about_option(error, *option); !words.empty()) return words;
  const std::string unreadable = " was not readable (missing?)", unknown = "INI was not able to parse ";
  if (kind == "FileError" && what.ends_with(unreadable))
    return what.substr(0, what.size() - unreadable.size()) + ": can't be read";
  if (kind == "ConfigError" && what.starts_with(unknown) && at->get_config_ptr()) {
    const std::string word = what.substr(unknown.size()), meant = nearest_word("--" + word, long_names(*at));
    const std::string expected = "expected OPTION = VALUE", where = ", in the file of " + at->get_config_ptr()->get_name();
    if (word.ends_with(".++"))  // CLI11's name of a section's beginning
      return "[" + word.substr(0, word.size() - 3) + "]: a section; " + expected + where;
    if (word.find_first_of(" \t") != word.npos) return word + ": no such option; " + expected + where;
    return word + ": no such option" + where + (meant.empty() ? "" : "; did you mean " + meant.substr(2) + "?");
  }
  return what.substr(0, what.find('\n'));
}

// The error message, with a suggestion of what may have been meant.
std::string Program::complaint(const CLI::Error& error) const {
  const CLI::App* at = app_;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  const std::vector<std::string> rest = app_->remaining(true);
  const std::vector<const CLI::App*> subcommands = std::as_const(*at).get_subcommands([](const CLI::App*) { return true; });
  const bool no_subcommand = !subcommands.empty() && at->get_require_subcommand_min() > 0 && at->get_subcommands().empty();
  auto option = std::find_if(rest.begin(), rest.end(), [](const std::string& word) { return word.starts_with("-"); });
  // If the first word is no subcommand, the options behind it can't be judged.
  if (option != rest.end() && (!no_subcommand || option == rest.begin())) {
    const std::string typed = option->substr(0, option->find('='));
    const auto known = all_hints_.options.find({at, typed});
    const std::string meant = known != all_hints_.options.end() ? known->second : nearest_word(typed, long_names(*at));
    return *option + ": no such option" + (meant.empty() ? "" : "; did you mean " + meant + "?");
  }
  if (no_subcommand) {
    std::vector<std::string> names;
    std::string all;
    for (const CLI::App* sub : subcommands) {
      names.push_back(sub->get_name());
      all += (all.empty() ? "" : ", ") + sub->get_name();
    }
    if (rest.empty()) return "a subcommand is missing: " + all;
    const std::string meant = nearest_word(rest[0], names);
    return rest[0] + ": no such subcommand; " + (meant.empty() ? "expected one of " + all : "did you mean " + meant + "?");
  }
  if (!rest.empty()) {
    auto hint = all_hints_.extras.find(at);
    return rest[0] + ": unexpected argument" + (hint == all_hints_.extras.end() ? "" : "; " + hint->second);
  }
  return own_words(error, at);
}

void Program::print_values(int argc, const char* const* argv) const {
  const CLI::App* at = app_;
  for (int i = 1; i + 2 < argc; ++i)
    for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; }))
      if (sub->get_name() == argv[i]) {
        at = sub;
        break;
      }
  if (const CLI::Option* option = at->get_option_no_throw(argv[argc - 1])) std::fputs(words_of(*option).c_str(), stdout);
}

// True: "PROGRAM help [SUBCOMMAND]", which is no word of the program's own.
static bool asks_for_help(const CLI::App& app, int argc, const char* const* argv) {
  return argc > 1 && argv[1] == std::string_view("help") && (app.get_require_subcommand_min() > 0 || access("help", F_OK) != 0);
}

std::optional<int> Program::parse(int argc, const char* const* argv) {
  if (argc > 2 && argv[argc - 2] == std::string_view("--values-of")) return print_values(argc, argv), 0;
  std::vector<const char*> words(argv, argv + argc);
  if (asks_for_help(*app_, argc, argv)) {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  try {
    set_log_levels_from_environment();
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("FSR_LOG: ") + e.what());
  }
  try {
    app_->parse(int(words.size()), words.data());
    return std::nullopt;
  } catch (const CLI::Success& e) {
    std::ostringstream help;
    const int status = app_->exit(e, help, help);
    std::fputs(tidy_help(help.str()).c_str(), stdout);
    return status;
  } catch (const CLI::ParseError& e) {
    throw UsageError(complaint(e));
  }
}

}  // namespace fsr
