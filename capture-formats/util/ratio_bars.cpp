// SPDX-License-Identifier: Apache-2.0
#include "util/ratio_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "util/chart.hpp"

namespace fsr {

const std::string_view kRatioBarStyle = R"(
.rb{--good:#0a7358;--bad:#b3300c;font-size:.9rem;font-variant-numeric:tabular-nums}
@media (prefers-color-scheme:dark){.rb{--good:#4fcaa3;--bad:#ff8a66}}
.rb .grp{margin:1.2rem 0 0;color:var(--soft);font-weight:600}
.rb .r{display:grid;grid-template-columns:8.5rem minmax(8rem,1fr) 5.4rem 5.4rem 7.4rem 9.6rem;gap:0 .8rem;align-items:center;
border-bottom:1px solid var(--line);padding:.15rem 0}
.rb .h{color:var(--soft);font-size:.84rem;align-items:end}.rb .name{font-weight:550;overflow-wrap:anywhere}
.rb small{display:block;font-weight:400;color:var(--soft)}.rb .n{text-align:right;white-space:nowrap}.rb .l{display:none}
.rb .better{color:var(--good);font-weight:600}.rb .worse{color:var(--bad);font-weight:600}.rb .open{color:var(--soft)}
.rb .viz{position:relative;display:block;height:46px;overflow:hidden}.rb .viz svg{position:absolute;inset:0;width:100%;height:100%}
.rb .viz i{position:absolute;width:7px;height:7px;border-radius:50%;margin:-3.5px 0 0 -3.5px;background:var(--soft)}
.rb .viz b{position:absolute;top:6px;width:3px;height:22px;margin-left:-1.5px;background:var(--fg)}
.rb .scale{position:relative;height:2.7em}.rb .scale span{position:absolute;white-space:nowrap}
.rb .scale .tick{bottom:0;transform:translateX(-50%)}.rb .scale .tick.last{transform:translateX(-100%)}
.rb .box{fill:none;stroke:var(--soft);stroke-width:1.5}.rb .box.better{fill:var(--good);fill-opacity:.55;stroke:var(--good)}
.rb .box.worse{fill:var(--bad);fill-opacity:.55;stroke:var(--bad)}
@media (max-width:54rem){.rb .r{grid-template-columns:1fr 1fr 1.3fr;gap:.1rem .8rem;padding:.4rem 0}.rb .name{grid-column:1/3}
.rb .vd{grid-row:1;grid-column:3;text-align:right}.rb .viz,.rb .scale{grid-row:2;grid-column:1/-1}.rb .n{grid-row:3}
.rb .h .name,.rb .h .vd,.rb .h .n{display:none}.rb .l{display:inline!important}.rb .name small,.rb .u{display:inline;margin-left:.4em}}
@media print{.rb{--good:#0a7358;--bad:#b3300c}.rb .r{break-inside:avoid}}
)";

namespace {

// Scales that have few, round marks. A scale ends at its last mark and, on the left, at the inverse of it.
const std::vector<std::vector<double>> kScales = {{1.05, 1.1}, {1.1, 1.25}, {1.25, 1.5}, {1.5, 2},   {2, 4},    {2, 4, 8},
                                                  {4, 16},     {8, 64},     {16, 256},   {32, 1024}, {64, 4096}};
constexpr double kWidestInterval = 64;  // an interval beyond it says nothing, and would squeeze all others

class Scale {
 public:
  explicit Scale(const RatioBars& bars) {
    double most = 1;
    auto reach = [&](double ratio, double limit) {
      if (ratio > 0) most = std::max(most, std::min(limit, std::max(ratio, 1 / ratio)));
    };
    for (const RatioBarGroup& group : bars.groups)
      for (const RatioBar& bar : group.bars) {
        for (double round : bar.rounds) reach(round, kScales.back().back());
        reach(bar.low, kWidestInterval);
        reach(bar.high, kWidestInterval);
      }
    const auto fits = std::find_if(kScales.begin(), kScales.end(), [&](const auto& marks) { return marks.back() >= most; });
    marks_ = fits == kScales.end() ? kScales.back() : *fits;
  }

  // From 0 to 100, from left to right.
  double percent(double ratio) const { return std::clamp(50 + 50 * std::log(ratio) / std::log(marks_.back()), 0.0, 100.0); }
  std::vector<double> ticks() const {
    std::vector<double> all;
    for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) all.push_back(1 / *mark);
    all.push_back(1);
    all.insert(all.end(), marks_.begin(), marks_.end());
    return all;
  }
  static std::string text(double ratio) {
    if (ratio >= 1) return fmt::format("{:g}", ratio);
    const double inverse = std::round(1 / ratio);
    return std::abs(1 / ratio - inverse) < 1e-9 ? fmt::format("1∕{:g}", inverse) : fmt::format("{:.2g}", ratio);
  }

 private:
  std::vector<double> marks_;
};

std::string axis(const RatioBars& bars, const Scale& scale) {
  std::string html = fmt::format(
      "<span class=\"scale\" role=\"columnheader\" aria-label=\"ratio\"><span style=\"left:0\">← {} is faster</span>"
      "<span style=\"right:0\">{} is faster →</span>",
      xml_text(bars.first), xml_text(bars.second));
  const std::vector<double> ticks = scale.ticks();
  for (size_t i = 0; i < ticks.size(); ++i)
    fmt::format_to(std::back_inserter(html), "<span class=\"tick{}\" style=\"left:{:.1f}%{}\">{}</span>",
                   i + 1 == ticks.size() ? " last" : "", scale.percent(ticks[i]), i ? "" : ";transform:none",
                   Scale::text(ticks[i]));
  return html + "</span>";
}

std::string drawing(const RatioBar& bar, const Scale& scale, std::string_view sort) {
  std::string html = fmt::format(
      "<span class=\"viz\" role=\"cell\" aria-label=\"ratio {} {}\"><svg viewBox=\"0 0 100 46\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\">",
      xml_text(bar.ratio), xml_text(bar.interval));
  auto out = std::back_inserter(html);
  for (double tick : scale.ticks())
    fmt::format_to(out, "<path class=\"{}\" d=\"M{:.2f} 0V46\" vector-effect=\"non-scaling-stroke\"/>",
                   tick == 1 ? "axis" : "grid", scale.percent(tick));
  if (bar.high > 0) {
    const double from = scale.percent(bar.low), to = scale.percent(bar.high);
    fmt::format_to(out,
                   "<rect class=\"box {}\" x=\"{:.2f}\" y=\"10\" width=\"{:.2f}\" height=\"14\" "
                   "vector-effect=\"non-scaling-stroke\"/>",
                   sort, from, std::max(to - from, 0.1));
  }
  html += "</svg>";
  if (!bar.rounds.empty()) fmt::format_to(out, "<b style=\"left:{:.2f}%\"></b>", scale.percent(bar.middle));
  for (size_t i = 0; i < bar.rounds.size(); ++i)
    fmt::format_to(out, "<i style=\"left:{:.2f}%;top:{}px\"></i>", scale.percent(bar.rounds[i]), i % 2 ? 39 : 33);
  return html + "</span>";
}

std::string number(std::string_view label, const std::string& text, std::string_view below) {
  return fmt::format(
      "<span class=\"n\" role=\"cell\"><small class=\"l\" aria-hidden=\"true\">{} </small>{}<small class=\"u\">{}</small></span>",
      xml_text(label), xml_text(text), xml_text(below));
}

std::string row(const RatioBars& bars, const RatioBar& bar, const Scale& scale) {
  const std::string_view sort = !bar.decided ? "open" : bar.middle > 1 ? "better" : "worse";
  const std::string_view sign = !bar.decided ? "∼" : bar.middle > 1 ? "▲" : "▼";
  std::string html =
      fmt::format("<div class=\"r\" role=\"row\"><span class=\"name\" role=\"rowheader\">{}<small>{}</small></span>",
                  xml_text(bar.name), xml_text(bar.unit));
  html += drawing(bar, scale, sort);
  html += number(bars.first, bar.first, "") + number(bars.second, bar.second, "");
  html += number(bars.second + "∕" + bars.first, bar.ratio, bar.interval);
  return html + fmt::format("<span class=\"vd {}\" role=\"cell\">{} {}</span></div>\n", sort, sign, xml_text(bar.verdict));
}

}  // namespace

std::string ratio_bars_html(const RatioBars& bars) {
  const Scale scale(bars);
  std::string html = fmt::format("<div class=\"rb\" role=\"table\" aria-label=\"Ratios of {} to {}\">\n", xml_text(bars.second),
                                 xml_text(bars.first));
  for (const RatioBarGroup& group : bars.groups) {
    if (group.bars.empty()) continue;
    html += "<p class=\"grp\">" + xml_text(group.heading) + "</p>\n";
    html += fmt::format(
        "<div class=\"r h\" role=\"row\"><span class=\"name\" role=\"columnheader\">what</span>{2}<span class=\"n\" "
        "role=\"columnheader\">{0}</span><span class=\"n\" role=\"columnheader\">{1}</span><span class=\"n\" "
        "role=\"columnheader\">{1} ∕ {0}</span><span class=\"vd\" role=\"columnheader\">verdict</span></div>\n",
        xml_text(bars.first), xml_text(bars.second), axis(bars, scale));
    for (const RatioBar& bar : group.bars) html += row(bars, bar, scale);
  }
  return html + "</div>\n";
}

}  // namespace fsr
