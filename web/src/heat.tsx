import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { heatTable, share } from "./color";
import { kinds, type Fabric } from "./fabric";
import { clock, percent } from "./format";
import { t } from "./i18n";
import { levels, live, onFrame } from "./live";
import { change, go, portHref, usePlace } from "./url";

const keep = 600; // columns, a second each

interface Grid {
  ends: number[];
  at: number[]; // ms, oldest first
  columns: Uint8Array[]; // levels by row
}

export function Heat({ fabric: f }: { fabric: Fabric }) {
  const { query } = usePlace();
  const kind = query.get("of") === "marks" ? "marks" : "pause";
  const all = useMemo(() => kinds(f), [f]);
  const cables = all.find((k) => k.id === query.get("cables"))?.id ?? all[0]?.id ?? "";
  const upper = query.get("side") === "upper";
  const byMost = query.get("order") === "most";
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const grid = useRef<Grid | null>(null);
  const order = useRef<number[]>([]);
  const [, redraw] = useState(0);
  const [size, setSize] = useState({ w: 900, h: 400 });
  const [tip, setTip] = useState<{ x: number; y: number; end: number; at: number; level: number } | null>(null);
  const [error, fail] = useState("");

  useEffect(() => {
    grid.current = null;
    let gone = false;
    const load = async () => {
      const r = await fetch("/api/weir/heat?column=" + kind + "&cables=" + cables);
      if (!r.ok) throw new Error(r.status + " " + r.statusText);
      const j = (await r.json()) as { ends: number[]; at_ms: number[]; levels: string };
      if (gone) return;
      const rows = j.ends.map((e, i) => [e, i] as const).filter(([e]) => (e % 2 === 1) === upper);
      const flat = levels(j.levels), n = j.ends.length;
      grid.current = { ends: rows.map(([e]) => e), at: j.at_ms, columns: j.at_ms.map((_, k) => Uint8Array.from(rows, ([, i]) => flat[k * n + i]!)) };
      fail("");
      redraw((k) => k + 1);
    };
    load().catch((e) => fail(String(e.message)));
    const off = onFrame((frame) => {
      const g = grid.current, row = frame.heat[kind === "pause" ? 0 : 1];
      if (!g || !row || row.length === 0 || live.frozen || g.at[g.at.length - 1] === frame.at) return;
      g.at.push(frame.at);
      g.columns.push(Uint8Array.from(g.ends, (e) => row[e] ?? 255));
      if (g.at.length > keep) {
        g.at.shift();
        g.columns.shift();
      }
      redraw((k) => k + 1);
    });
    return () => { gone = true; off(); };
  }, [kind, cables, upper]);

  useEffect(() => {
    const o = new ResizeObserver(() => setSize({ w: box.current!.clientWidth, h: box.current!.clientHeight }));
    o.observe(box.current!);
    return () => o.disconnect();
  }, []);

  const g = grid.current;
  const rows = g?.ends.length ?? 0;
  const rowHeight = rows ? Math.max(1, Math.min(16, size.h / rows)) : 1;
  // More rows than lines: a line shows the largest of its rows.
  const perLine = rows ? Math.max(1, Math.ceil(rows / Math.max(1, Math.floor(size.h / rowHeight)))) : 1;
  const lines = Math.ceil(rows / perLine);
  const columnWidth = Math.max(1, Math.floor(size.w / 300));
  const visible = Math.floor(size.w / columnWidth);

  useEffect(() => {
    const c = canvas.current!;
    if (!g) {
      c.getContext("2d")!.clearRect(0, 0, c.width, c.height);
      return;
    }
    order.current = g.ends.map((_, i) => i);
    if (byMost) {
      const most = g.ends.map((_, i) => g.columns.reduce((m, col) => (col[i]! <= 250 ? Math.max(m, col[i]!) : m), 0));
      order.current.sort((a, b) => most[b]! - most[a]! || a - b);
    }
    const image = new ImageData(visible, Math.max(lines, 1));
    const px = new Uint32Array(image.data.buffer);
    const table = heatTable(kind);
    px.fill(table[255]!);
    const first = Math.max(0, g.columns.length - visible);
    for (let k = first; k < g.columns.length; k++) {
      const col = g.columns[k]!, x = visible - (g.columns.length - k);
      for (let y = 0; y < lines; y++) {
        let level = 255;
        for (let i = y * perLine; i < Math.min(rows, (y + 1) * perLine); i++) {
          const v = col[order.current[i]!]!;
          if (v <= 250 && (level === 255 || v > level)) level = v;
        }
        px[y * visible + x] = table[level]!;
      }
    }
    c.width = visible;
    c.height = Math.max(lines, 1);
    c.getContext("2d")!.putImageData(image, 0, 0);
  });

  const find = (e: MouseEvent) => {
    if (!g) return null;
    const r = canvas.current!.getBoundingClientRect();
    const x = Math.floor((e.clientX - r.left) / columnWidth), y = Math.floor((e.clientY - r.top) / rowHeight);
    const k = g.columns.length - visible + x;
    const col = g.columns[k];
    let best = -1;
    for (let i = y * perLine; i < Math.min(rows, (y + 1) * perLine); i++) {
      const row = order.current[i]!;
      if (best < 0 || (col && col[row]! <= 250 && !(col[best]! <= 250 && col[best]! >= col[row]!))) best = row;
    }
    if (best < 0) return null;
    return { x: e.clientX - r.left, y: e.clientY - r.top, end: g.ends[best]!, at: g.at[k] ?? NaN, level: col?.[best] ?? 255 };
  };
  const labels = g && g.at.length > 0 ? [0, 0.25, 0.5, 0.75, 1].map((p) => {
    const k = g.columns.length - 1 - Math.round((1 - p) * (visible - 1));
    return { p, text: k >= 0 ? clock(g.at[k]!) : "" };
  }) : [];
  return (
    <main class="heat">
      <div class="tools">
        {(["pause", "marks"] as const).map((k) => <button key={k} class={kind === k ? "on" : ""} onClick={() => change({ of: k === "pause" ? "" : k })}>{t(k === "pause" ? "pause" : "marked")}</button>)}
        <select value={cables} aria-label={t("allCables")} onChange={(e) => change({ cables: e.currentTarget.value })}>{all.map((k) => <option key={k.id} value={k.id}>{k.id} ({k.cables.length})</option>)}</select>
        <select value={upper ? "upper" : ""} aria-label={t("port")} onChange={(e) => change({ side: e.currentTarget.value })}><option value="">{t("nearHosts")}</option><option value="upper">{t("nearCore")}</option></select>
        <select value={byMost ? "most" : ""} aria-label={t("byMost")} onChange={(e) => change({ order: e.currentTarget.value })}><option value="">{t("byFabric")}</option><option value="most">{t("byMost")}</option></select>
        <span class="legend">{[0, 0.01, 0.1, 0.3, 1].map((s) => <span key={s}><Swatch kind={kind} level={Math.round(250 * Math.sqrt(s))} /> {percent(s)} </span>)} {t(kind === "pause" ? "heatPause" : "heatMarks")}</span>
        <span class="count">{rows} {t("shown")}{perLine > 1 && " ÷ " + perLine}</span>
        {error && <span class="error">{t("failed", error)}</span>}
      </div>
      <p class="hint">{t("heatHint")}</p>
      <div class="stage" ref={box}>
        <canvas ref={canvas} data-test="heat" style={{ width: visible * columnWidth + "px", height: Math.max(lines, 1) * rowHeight + "px" }} role="img" aria-label={t("heatHint")}
          onMouseMove={(e) => setTip(find(e))} onMouseLeave={() => setTip(null)} onClick={(e) => { const h = find(e); if (h) go(portHref(f.names[h.end]!)); }} />
        {tip && <div class="tip" style={{ left: Math.min(tip.x + 12, size.w - 260) + "px", top: tip.y + 14 + "px" }}>{f.names[tip.end]}<br />{Number.isNaN(tip.at) ? "" : clock(tip.at)} {percent(share(tip.level))}</div>}
      </div>
      <div class="axis">{labels.map((l) => <span key={l.p} style={{ left: l.p * 100 + "%" }}>{l.text}</span>)}</div>
    </main>
  );
}

function Swatch({ kind, level }: { kind: "pause" | "marks"; level: number }) {
  const c = heatTable(kind)[level]!;
  return <i style={{ background: `rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})` }} />;
}
