// SPDX-License-Identifier: Apache-2.0
#include "util/page_text.hpp"

namespace fsr {

const std::string_view kDrawingStyle =
    "<style>text{fill:#222}.grid{stroke:#ddd}.axis{stroke:#888}path.l{fill:none}.l{stroke-width:2;stroke-linecap:square}.hit{"
    "fill:transparent}"
    ".s0{stroke:#0b62b0;fill:#0b62b0}.s1{stroke:#b3410e;fill:#b3410e}.s2{stroke:#0a7358;fill:#0a7358}"
    ".s3{stroke:#8a4aa0;fill:#8a4aa0}.s4{stroke:#707a85;fill:#707a85}.thin{stroke-width:1}rect[class]{stroke:none}</style>\n";

const std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#535d68;--line:#d4d9df;--tile:#f4f6f8;--shade:#0005;
--c0:#0b62b0;--c1:#b3410e;--c2:#0a7358;--c3:#8a4aa0;--c4:#707a85;--c5:#e3aa2c;--o5:#8a6200;--c6:#93300a;--good:#0a7358;
--h0:#afd0ec;--h1:#7fb2df;--h2:#4f90cb;--h3:#2c6fb0;--h4:#154a87;--h5:#062a57}
@media screen and (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e8ec;--soft:#9aa5b1;--line:#343b44;--tile:#1d2228;--shade:#fff6;
--c0:#62aef7;--c1:#ff9468;--c2:#4fcaa3;--c3:#cf9be6;--c4:#8d98a5;--c5:#e9c46a;--o5:#e9c46a;--c6:#ff8a5c;--good:#4fcaa3;
--h0:#28507a;--h1:#376b9f;--h2:#4d8bc6;--h3:#77ade0;--h4:#afd2f3;--h5:#e6f3ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:64rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
p{margin:.4rem 0;overflow-wrap:anywhere}a{color:var(--c0)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;padding:0;margin:.75rem 0}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.6rem;margin:1rem 0}
dl div{background:var(--tile);border-radius:6px;padding:.5rem .75rem}dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
small{color:var(--soft);font-size:.85em;white-space:nowrap}dd small,td small,th small{display:block;font-weight:400}dd small{white-space:normal;font-size:.84rem}.note{color:var(--soft);font-size:.88rem}
p{max-width:46rem}.verdict p{max-width:none}
.verdict{border-left:5px solid var(--soft);background:var(--tile);padding:.6rem 1rem;margin:.9rem 0}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--c1)}.v{font-size:1.1rem;font-weight:600}
.env{grid-template-columns:11rem 1fr;gap:.1rem .8rem;font-size:.9rem;margin:.6rem 0}.env div{display:contents}.env dd{font-size:inherit}
.better{color:var(--good);font-weight:600}.worse{color:var(--c1);font-weight:600}td.open{color:var(--soft)}
.p{width:28%;min-width:10rem}td.p{padding:0}.g th.p{padding-left:0;padding-right:0}.g th,.g td{vertical-align:middle}.viz{position:relative;display:block;height:46px;overflow:hidden}
.viz svg{position:absolute;inset:0;width:100%;height:100%;margin:0}.viz path,.viz rect{vector-effect:non-scaling-stroke}
.viz i{position:absolute;width:7px;height:7px;border-radius:50%;margin:-3.5px 0 0 -3.5px;background:var(--soft)}
.viz b{position:absolute;top:6px;width:3px;height:22px;margin-left:-1.5px;background:var(--fg)}
.viz .s0,.viz .s4{stroke:none}th.p{text-align:left}.key{font-weight:400;white-space:nowrap}.mark{stroke:var(--fg);stroke-width:1.5}
.scale{position:relative;display:block;height:2.8em;line-height:1.35;font-weight:400}.scale span{position:absolute;top:0;white-space:nowrap}
.scale .tick{top:auto;bottom:0;transform:translateX(-50%)}.scale .first{transform:none}.scale .last{transform:translateX(-100%)}
rect.box{fill:none;stroke:var(--soft);stroke-width:1.5}rect.box.better{fill:var(--good);fill-opacity:.55;stroke:var(--good)}
rect.box.worse{fill:var(--c1);fill-opacity:.55;stroke:var(--c1)}
.small{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.4rem 1.2rem}.small figure{margin:.4rem 0}.small figure{min-width:0}figcaption{font-weight:600;font-size:.9rem;overflow-wrap:anywhere}.small .scale{height:1.4em;font-size:.8rem}
pre{background:var(--tile);padding:.6rem .8rem;overflow-x:auto;font-size:.85rem}
.x1{background:#0b62b01c}.x2{background:#0b62b03c}.x3{background:#0b62b066}.y1{background:#d9601a20}.y2{background:#d9601a44}.y3{background:#d9601a70}
.scroll{overflow-x:auto;margin:.75rem 0;background:linear-gradient(to right,var(--bg) 40%,transparent) left/2rem 100%,
linear-gradient(to left,var(--bg) 40%,transparent) right/2rem 100%,linear-gradient(to right,var(--shade),transparent) left/.8rem 100%,
linear-gradient(to left,var(--shade),transparent) right/.8rem 100%;background-repeat:no-repeat;
background-attachment:local,local,scroll,scroll}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.25rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:baseline;white-space:nowrap}
th:first-child,.t td,.t th{text-align:left;white-space:normal;overflow-wrap:anywhere}
td.w,th.w{text-align:left;white-space:normal;overflow-wrap:anywhere}data,.u,.t td.k,td.k{white-space:nowrap}
thead th:first-child,.t thead th{overflow-wrap:normal}
thead th{color:var(--soft);font-weight:600;white-space:normal;overflow-wrap:normal;vertical-align:bottom}tbody th{font-weight:500;min-width:9rem}
figure{margin:1rem 0}svg{width:100%;height:auto;font-family:inherit}td svg,th svg{display:block;height:5px;margin-top:2px}
text{fill:var(--fg)}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.l{stroke-width:2;stroke-linecap:square}.fill{stroke:none;fill-opacity:.25}.thin{stroke-width:1}.hit{fill:transparent}.hit>:hover{fill:var(--fg);fill-opacity:.08}
.s0{stroke:var(--c0);fill:var(--c0)}.s1{stroke:var(--c1);fill:var(--c1)}.s2{stroke:var(--c2);fill:var(--c2)}
.s3{stroke:var(--c3);fill:var(--c3)}.s4{stroke:var(--c4);fill:var(--c4)}.s5{fill:var(--c5)}.s6{fill:var(--c6)}.l.s5{stroke:var(--o5)}.l.s6{stroke:var(--c6)}path.l{fill:none}rect[class]:not(.box){stroke:none}path.c{stroke:none}rect.s5,path.c.s5{stroke:var(--o5)}
.h0{fill:var(--h0);stroke:var(--h0)}.h1{fill:var(--h1);stroke:var(--h1)}.h2{fill:var(--h2);stroke:var(--h2)}
.h3{fill:var(--h3);stroke:var(--h3)}.h4{fill:var(--h4);stroke:var(--h4)}.h5{fill:var(--h5);stroke:var(--h5)}
.phone{display:none}.b{fill:var(--c0)}
@media (max-width:60rem){.every2{display:none}table{font-size:.85rem}th,td{padding:.3rem .4rem}tbody th{min-width:7rem}}
@media (max-width:46rem){.wide{display:none}.phone{display:block;max-width:34rem}}
@media (max-width:34rem){body{padding:.75rem}.env{grid-template-columns:1fr}.env dd{margin-bottom:.4rem}.t tbody th{min-width:6rem}
table:not(.t) tbody th{position:sticky;left:0;background:var(--bg);min-width:7rem;max-width:9rem}
.stack thead{display:none}.g thead,.g thead tr,.g thead th.p{display:block;width:auto}.g thead th:not(.p){display:none}.stack,.stack caption,.stack tbody,.stack tr,.stack th,.stack td{display:block;border:0;padding:0}
.stack tbody th:first-child{max-width:none}
.stack tr{border-bottom:1px solid var(--line);padding:.45rem 0}.stack td:empty{display:none}
.stack td.p::before{content:none}.stack td.p{width:auto}.g td,.m td{text-align:left}.g td:not(.p):not(:empty),.m td:not(.w):not(:empty){display:inline-block;margin-right:1rem}
.g td small{display:inline;margin-left:.3rem}
.stack td::before{content:attr(data-l) " ";color:var(--soft);font-size:.84rem}}
dd summary{font-size:inherit}summary{cursor:pointer;color:var(--soft);font-size:.85rem}
@media print{.wide{display:block}.phone{display:none}:root{--fg:#000;--soft:#444;--line:#bbb}
body{max-width:none;padding:0;font-size:10pt}nav,details:not(dd *),.skip{display:none}.scroll{overflow:visible;background:none}
table{font-size:7.5pt}th,td{padding:1.5pt 3pt}tbody th{min-width:5rem}figure,tr,dl:not(.env),p{break-inside:avoid}
h2,h2+p,.note,caption,thead{break-after:avoid}section:has(>h2+details:last-child){display:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

}  // namespace fsr
