import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { variable } from "./color";
import { clock, fabricTime } from "./format";
import { lang } from "./i18n";

export interface Line {
  label: string;
  tone: string;
  dash?: number[];
  mean: Float64Array;
  low: Float64Array;
  top: Float64Array;
}

export interface Mark {
  at: number; // seconds
  text: string;
  kind: string;
}

export interface ChartProps {
  id: string;
  title: string;
  at: Float64Array; // seconds
  lines: Line[];
  text: (v: number) => string;
  full?: number; // the scale always reaches so far
  marks: Mark[];
  resets: number[]; // seconds
  gaps: [number, number][]; // seconds
  thinned: boolean;
  fabric?: (at: number) => number; // simulated time, microseconds
  zoom: (from: number, to: number) => void;
}

// overlay draws what happened beside the curves: gaps, resets, events.
function overlay(u: uPlot, p: ChartProps) {
  const g = u.ctx, k = devicePixelRatio || 1;
  g.save();
  const { left, top, width, height } = u.bbox;
  g.beginPath();
  g.rect(left, top, width, height);
  g.clip();
  g.fillStyle = variable("--gap");
  for (const [from, to] of p.gaps) {
    const a = u.valToPos(from, "x", true), b = u.valToPos(to, "x", true);
    g.fillRect(a, top, b - a, height);
  }
  const line = (at: number, color: string, dash: number[]) => {
    const x = u.valToPos(at, "x", true);
    g.strokeStyle = color;
    g.lineWidth = k;
    g.setLineDash(dash.map((d) => d * k));
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, top + height);
    g.stroke();
    return x;
  };
  for (const r of p.resets) line(r, variable("--muted"), [2, 3]);
  g.font = 11 * k + "px sans-serif";
  for (const m of p.marks) {
    const color = variable(m.kind === "finding" ? "--pause" : "--mark");
    const x = line(m.at, color, [6, 3]);
    g.fillStyle = color;
    g.fillText(m.text.length > 40 ? m.text.slice(0, 39) + "…" : m.text, x + 4 * k, top + 12 * k);
  }
  g.restore();
}

function dataOf(p: ChartProps): uPlot.AlignedData {
  const hole = (v: Float64Array) => Array.from(v, (x) => (Number.isNaN(x) ? null : x));
  const out: (number | null)[][] = [Array.from(p.at)];
  for (const l of p.lines) {
    out.push(hole(l.mean));
    if (p.thinned) out.push(hole(l.low), hole(l.top));
  }
  return out as unknown as uPlot.AlignedData;
}

function options(p: ChartProps, latest: { p: ChartProps }, width: number, height: number): uPlot.Options {
  const series: uPlot.Series[] = [{ value: (_, v) => (v == null ? "" : clock(v * 1000) + (latest.p.fabric ? " · " + fabricTime(latest.p.fabric(v)) : "")) }];
  const bands: uPlot.Band[] = [];
  for (const l of p.lines) {
    const text = (_: uPlot, v: number | null) => (v == null ? "–" : latest.p.text(v));
    series.push({ label: l.label, stroke: variable(l.tone), width: 1.5, ...(l.dash ? { dash: l.dash } : {}), value: text, spanGaps: false, points: { show: false } });
    if (p.thinned) {
      const i = series.length;
      const quiet: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false }, spanGaps: false, value: text };
      series.push({ ...quiet, label: l.label + " min" }, { ...quiet, label: l.label + " max" });
      bands.push({ series: [i + 1, i], fill: variable(l.tone) + "40" });
    }
  }
  const axis = { stroke: variable("--muted"), grid: { stroke: variable("--line"), width: 1 }, ticks: { stroke: variable("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
  return {
    width, height, series, bands,
    legend: { live: true },
    cursor: { sync: { key: "port" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max((max ?? 0) * 1.08, latest.p.full ?? 0, 1e-9)] } },
    axes: [
      { ...axis, size: 26, values: (_u, ticks) => ticks.map((v) => clock(v * 1000)), space: 80 },
      { ...axis, size: 72, values: (_u, ticks) => ticks.map((v) => latest.p.text(v)) },
    ],
    hooks: {
      drawClear: [],
      draw: [(u) => overlay(u, latest.p)],
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        latest.p.zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

export function Chart(p: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ p });
  latest.current.p = p;
  const shape = [lang(), document.documentElement.dataset.theme, p.thinned, ...p.lines.map((l) => l.label)].join("|");
  useEffect(() => {
    const el = box.current!;
    const size = () => ({ width: el.clientWidth, height: 150 });
    const u = new uPlot(options(latest.current.p, latest.current, size().width, 150), dataOf(latest.current.p), el);
    plot.current = u;
    const o = new ResizeObserver(() => u.setSize(size()));
    o.observe(el);
    return () => {
      o.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(dataOf(p));
  }, [p.at, p.lines]);
  return <figure class={"chart" + (p.thinned ? " thinned" : "")} data-chart={p.id} aria-label={p.title}><figcaption>{p.title}</figcaption><div ref={box} /></figure>;
}
