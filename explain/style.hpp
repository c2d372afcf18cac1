// How the page looks, by day and by night.
#pragma once

namespace explain {

constexpr char style[] = R"css(:root { color-scheme: light dark;
  --paper: #f6f7f9; --card: #fff; --ink: #1d2433; --faint: #667085; --line: #dfe3ea; --track: #edf0f4; --code: #f0f2f6;
  --warn: #b54708; --warn-paper: #fff4e5; --good: #1f6f54; --good-paper: #e6f4ee; --gpu: #3538cd; --gpu-paper: #eef0ff;
  --s0: #8a94a6; --s1: #2f7ed8; --s2: #8e5bc2; --s3: #1f9d76; --s4: #d98a1f; --s5: #c2476a;
  --t0: #b9770e; --t1: #2f7ed8; --t2: #8e5bc2; --t3: #1f9d76; --t4: #c2476a; --t5: #4c8c99; --t6: #8a94a6; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #12151b; --card: #1b2029; --ink: #e4e8ef; --faint: #98a2b3; --line: #303745; --track: #262d39; --code: #242b36;
  --warn: #fdb022; --warn-paper: #33260f; --good: #6fd3ae; --good-paper: #16302a; --gpu: #a5b0ff; --gpu-paper: #23284a;
  --s0: #77839a; --s1: #5b9fe8; --s2: #ab85da; --s3: #3fbf95; --s4: #e5a549; --s5: #dd7391;
  --t0: #dba343; --t1: #5b9fe8; --t2: #ab85da; --t3: #3fbf95; --t4: #dd7391; --t5: #6fb3c1; --t6: #77839a; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1080px; margin: 0 auto; padding: 24px 20px 60px; font-variant-numeric: tabular-nums; }
h1 { font-size: 24px; margin: 0 0 16px; } h2 { font-size: 18px; margin: 28px 0 2px; }
h4 { font-size: 12px; margin: 18px 0 6px; color: var(--faint); text-transform: uppercase; letter-spacing: .06em; }
small { color: var(--faint); font-size: 12.5px; margin-left: .5em; }
code, pre, dd, .target, .steps li { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
code { background: var(--code); border-radius: 4px; padding: 1px 4px; }
pre { background: var(--code); border-radius: 8px; padding: 12px 14px; margin: 8px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
section + section { border-top: 2px solid var(--line); margin-top: 40px; padding-top: 24px; }
.note { color: var(--faint); margin: 0 0 12px; font-size: 13.5px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin-bottom: 16px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 16px; min-width: 130px; }
.card .label { display: block; color: var(--faint); font-size: 12.5px; } .card b { font-size: 18px; font-weight: 600; }
.said { background: var(--good-paper); border-left: 3px solid var(--good); border-radius: 0 6px 6px 0; padding: 8px 12px; margin: 10px 0; }
.said.fell { background: var(--warn-paper); border-color: var(--warn); }
.stack { display: flex; height: 14px; border-radius: 7px; overflow: hidden; background: var(--track); gap: 1px; margin: 8px 0 4px; }
.stack .bar { height: 100%; min-width: 2px; }
.legend { margin: 0 0 8px; } .key { display: inline-block; margin-right: 16px; font-size: 13px; color: var(--faint); }
.key b { color: var(--ink); font-weight: 600; }
.dot { display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 6px; }
.bar { display: block; } .track { display: block; }
.s0 { background: var(--s0); } .s1 { background: var(--s1); } .s2 { background: var(--s2); } .s3 { background: var(--s3); }
.s4 { background: var(--s4); } .s5 { background: var(--s5); } .soft { opacity: .55; } .wait { background: var(--line); }
.t0 { background: var(--t0); } .t1 { background: var(--t1); } .t2 { background: var(--t2); } .t3 { background: var(--t3); }
.t4 { background: var(--t4); } .t5 { background: var(--t5); } .t6 { background: var(--t6); }
.estimate { background: repeating-linear-gradient(45deg, var(--faint) 0 2px, transparent 2px 5px); opacity: .7; }
.row { display: grid; grid-template-columns: minmax(200px, 38%) 1fr 210px; gap: 12px; align-items: center; padding: 3px 0; }
.row .name small { display: block; margin: 0; line-height: 1.3; } .row .track .bar { height: 10px; border-radius: 3px; min-width: 1px; margin: 2px 0; }
.row .track .estimate { height: 6px; } .row .value { white-space: nowrap; } .row .value b { font-weight: 600; }
.row.inner { padding: 0; font-size: 13px; } .row.inner .name { padding-left: 20px; color: var(--faint); } .row.inner .track .bar { height: 6px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 32px; } .pair .row { grid-template-columns: 44% 1fr auto; }
.tree, .tree ul { list-style: none; margin: 0; padding: 0; } .tree ul { margin-left: 14px; padding-left: 14px; border-left: 2px solid var(--line); }
.tree li { margin: 6px 0; }
.node, .leaf { background: var(--card); border: 1px solid var(--line); border-radius: 8px; } .gpuscan { border-left: 4px solid var(--s3); }
.node > summary, .leaf { display: grid; grid-template-columns: 1fr 300px; gap: 16px; align-items: center; padding: 7px 12px; }
summary { cursor: pointer; } .node > summary::-webkit-details-marker { display: none; } .node > summary { list-style: none; }
.node > summary:hover { background: var(--track); border-radius: 8px; }
.type { font-weight: 600; } .target { margin-left: 8px; } .role { color: var(--faint); font-size: 12.5px; margin-right: 8px; }
.role::after { content: ":"; }
.figures { display: block; color: var(--faint); font-size: 13px; } .figures > span { margin-right: 14px; } .figures small { margin-left: .35em; }
.badge { font-size: 12px; border-radius: 10px; padding: 1px 9px; margin-left: 8px; background: var(--track); color: var(--faint); white-space: nowrap; }
.badge.host { background: var(--good-paper); color: var(--good); } .badge.gpu { background: var(--gpu-paper); color: var(--gpu); }
.badge.fell { background: var(--warn-paper); color: var(--warn); }
.times { display: grid; grid-template-columns: 1fr 165px; gap: 10px; align-items: center; font-size: 13px; }
.times .track { position: relative; height: 10px; background: var(--track); border-radius: 5px; overflow: hidden; }
.times .bar { position: absolute; left: 0; top: 0; height: 100%; } .whole { background: var(--s1); opacity: .3; } .own { background: var(--s1); }
.gpuscan > summary .own, .gpuscan > summary .whole { background: var(--s3); }
.times .value { text-align: right; white-space: nowrap; } .times b { font-weight: 600; }
.body { padding: 2px 14px 12px; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 10px 0; } dt { color: var(--faint); font-size: 13px; }
dd { margin: 0; overflow-wrap: anywhere; } .steps { margin: 4px 0; padding-left: 22px; } .steps dl { margin: 2px 0 6px; }
.cpu { margin-top: 12px; } .cpu > summary, .query > summary { color: var(--faint); font-size: 13.5px; }
@media (max-width: 720px) { .node > summary, .leaf, .pair, .row, .pair .row { grid-template-columns: 1fr; gap: 2px; } dl { grid-template-columns: 1fr; } }
@media print { body { max-width: none; background: none; } }
)css";

} // namespace explain
