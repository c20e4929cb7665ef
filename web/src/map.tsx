import { useEffect, useRef, useState } from "preact/hooks";
import { utilisation, variable } from "./color";
import { peer, type Fabric } from "./fabric";
import { bits, percent } from "./format";
import { t } from "./i18n";
import { useLive, type Frame } from "./live";
import { utilisationOf } from "./metrics";
import { go, href } from "./url";

// A Bundle is all cables between two nodes, drawn as one line of two halves.
interface Bundle {
  a: number; // nodes, a nearer to the hosts
  b: number;
  up: number[]; // ends at a
}

interface Layout {
  x: Float32Array;
  y: Float32Array;
  bundles: Bundle[];
  width: number;
  height: number;
  tiers: { tier: number; y: number; nodes: number[] }[];
}

const tierWords = ["host", "leaf", "spine", "core"];

function bundlesOf(f: Fabric): Bundle[] {
  const by = new Map<number, Bundle>();
  for (let e = 0; e < f.ends.length; e += 2) {
    const a = f.ends[e]!.node, b = f.ends[e + 1]!.node;
    if (a < 0 || b < 0) continue;
    const key = a * 65536 + b;
    const got = by.get(key);
    if (got) got.up.push(e);
    else by.set(key, { a, b, up: [e] });
  }
  return [...by.values()];
}

// order puts the nodes of a tier under those above that they are cabled to, so
// that lines cross little; the tiers above stand as the file lists them.
function lay(f: Fabric, bundles: Bundle[], width: number, height: number): Layout {
  const n = f.nodes.length;
  const x = new Float32Array(n), y = new Float32Array(n);
  const tiers = [...new Set(f.nodes.map((v) => v.tier))].sort((a, b) => b - a);
  const list = tiers.map((tier, i) => {
    const nodes = f.nodes.map((_, k) => k).filter((k) => f.nodes[k]!.tier === tier);
    const above = new Map<number, [number, number]>();
    for (const l of bundles) {
      if (f.nodes[l.a]!.tier !== tier || i === 0) continue;
      const s = above.get(l.a) ?? [0, 0];
      above.set(l.a, [s[0] + x[l.b]!, s[1] + 1]);
    }
    const mean = (k: number) => { const s = above.get(k); return s ? s[0] / s[1] : 0; };
    nodes.sort((p, q) => mean(p) - mean(q) || p - q);
    const level = tiers.length === 1 ? height / 2 : 30 + ((height - 62) * i) / (tiers.length - 1);
    nodes.forEach((k, j) => {
      x[k] = 46 + ((width - 66) * (j + 0.5)) / nodes.length;
      y[k] = level;
    });
    return { tier, y: level, nodes };
  });
  return { x, y, bundles, width, height, tiers: list };
}

// hatch is a pattern whose stripes grow with the share.
const hatches = new Map<string, CanvasPattern>();

function hatch(g: CanvasRenderingContext2D, share: number): CanvasPattern {
  const step = Math.min(4, Math.ceil(share * 4));
  const key = step + (document.documentElement.dataset.theme ?? "");
  let p = hatches.get(key);
  if (!p) {
    const c = document.createElement("canvas");
    c.width = c.height = 8;
    const h = c.getContext("2d")!;
    h.strokeStyle = variable("--pause");
    h.lineWidth = step + 1;
    for (const o of [-8, 0, 8]) {
      h.beginPath();
      h.moveTo(o - 2, 10);
      h.lineTo(o + 10, -2);
      h.stroke();
    }
    p = g.createPattern(c, "repeat")!;
    hatches.set(key, p);
  }
  return p;
}

interface Half {
  util: number; // mean of the cables that send
  most: number;
  pause: number; // the longest
  bits: number;
}

function half(f: Fabric, frame: Frame, ends: number[], far: boolean): Half {
  let sum = 0, n = 0, most = NaN, pause = 0, rate = 0;
  for (const up of ends) {
    const e = far ? peer(up) : up;
    const u = utilisationOf(f, frame, e);
    if (!Number.isNaN(u)) {
      sum += u;
      n++;
      if (!(most >= u)) most = u;
      rate += frame.values.tx_bits_per_s[e]!;
    }
    pause = Math.max(pause, frame.values.pause_rx_share[e] || 0);
  }
  return { util: n ? sum / n : NaN, most, pause, bits: rate };
}

function paint(g: CanvasRenderingContext2D, f: Fabric, l: Layout, frame: Frame | null, hot: number) {
  g.clearRect(0, 0, l.width, l.height);
  const many = l.bundles.length;
  const wide = many > 2000 ? 0.7 : many > 400 ? 1.5 : many > 120 ? 3 : 4;
  const quiet = variable("--unknown");
  const list = l.bundles.map((b, i) => ({ b, i, a: frame && half(f, frame, b.up, false), z: frame && half(f, frame, b.up, true) }));
  // What is paused or busy is painted last, so that it is seen.
  const weight = (h: Half | null) => (h ? h.pause * 10 + (h.most || 0) : 0);
  list.sort((p, q) => Math.max(weight(p.a), weight(p.z)) - Math.max(weight(q.a), weight(q.z)));
  for (const { b, i, a, z } of list) {
    const xa = l.x[b.a]!, ya = l.y[b.a]!, xb = l.x[b.b]!, yb = l.y[b.b]!;
    const xm = (xa + xb) / 2, ym = (ya + yb) / 2;
    for (const [h, x0, y0] of [[a, xa, ya], [z, xb, yb]] as const) {
      const w = i === hot ? wide + 3 : wide;
      g.lineWidth = w;
      g.strokeStyle = h ? utilisation(h.util) : quiet;
      g.beginPath();
      g.moveTo(x0, y0);
      g.lineTo(xm, ym);
      g.stroke();
      if (h && h.pause > 0.01) {
        g.lineWidth = Math.max(w + 2, 4);
        g.strokeStyle = hatch(g, h.pause);
        g.stroke();
      }
    }
    if (many < 200) {
      const dx = yb - ya, dy = xa - xb, d = Math.hypot(dx, dy) || 1;
      g.lineWidth = 1.5;
      g.strokeStyle = variable("--ground");
      g.beginPath();
      g.moveTo(xm - (dx / d) * 4, ym - (dy / d) * 4);
      g.lineTo(xm + (dx / d) * 4, ym + (dy / d) * 4);
      g.stroke();
    }
  }
}

function near(l: Layout, px: number, py: number): number {
  let best = -1, least = 7;
  l.bundles.forEach((b, i) => {
    const xa = l.x[b.a]!, ya = l.y[b.a]!, dx = l.x[b.b]! - xa, dy = l.y[b.b]! - ya;
    const k = Math.min(1, Math.max(0, ((px - xa) * dx + (py - ya) * dy) / (dx * dx + dy * dy || 1)));
    const d = Math.hypot(px - xa - k * dx, py - ya - k * dy);
    if (d < least) [best, least] = [i, d];
  });
  return best;
}

export function FabricMap({ fabric: f }: { fabric: Fabric }) {
  const { frame } = useLive();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ w: 800, h: 380 });
  const [hot, setHot] = useState(-1);
  const layout = useRef<{ key: string; l: Layout } | null>(null);
  const key = [f.name, f.nodes.length, size.w, size.h].join();
  if (layout.current?.key !== key) layout.current = { key, l: lay(f, bundlesOf(f), size.w, size.h) };
  const l = layout.current.l;
  useEffect(() => {
    const o = new ResizeObserver(() => setSize({ w: box.current!.clientWidth, h: box.current!.clientHeight }));
    o.observe(box.current!);
    return () => o.disconnect();
  }, []);
  useEffect(() => {
    const c = canvas.current!, k = devicePixelRatio || 1;
    c.width = Math.round(size.w * k);
    c.height = Math.round(size.h * k);
    const g = c.getContext("2d")!;
    g.setTransform(k, 0, 0, k, 0, 0);
    paint(g, f, l, frame, hot);
  });
  const paused = new Map<number, number>();
  if (frame) {
    frame.values.pause_rx_share.forEach((v, e) => {
      const by = f.ends[peer(e)]!.node;
      if (v > 0.01 && by >= 0) paused.set(by, Math.max(paused.get(by) ?? 0, v));
    });
  }
  const at = (e: MouseEvent) => {
    const r = canvas.current!.getBoundingClientRect();
    return near(l, e.clientX - r.left, e.clientY - r.top);
  };
  const b = l.bundles[hot];
  const tip = () => {
    if (!b || !frame) return null;
    const a = half(f, frame, b.up, false), z = half(f, frame, b.up, true);
    const line = (h: Half, from: number, to: number) => (
      <div>{f.nodes[from]!.name} → {f.nodes[to]!.name}: {bits(h.bits)}, {percent(h.util)}{h.pause > 0 && ", " + t("held") + " " + percent(h.pause)}</div>
    );
    return (
      <div class="tip" style={{ left: Math.min((l.x[b.a]! + l.x[b.b]!) / 2, size.w - 320) + "px", top: (l.y[b.a]! + l.y[b.b]!) / 2 + 10 + "px" }}>
        {b.up.length > 1 && <div>{t("cables", b.up.length)}</div>}
        {line(a, b.a, b.b)}{line(z, b.b, b.a)}
      </div>
    );
  };
  return (
    <section class="map">
      <h2>{t("map")} <small>{t("mapHint")}</small>
        <span class="legend">
          {[0, 0.25, 0.5, 0.75, 1].map((u) => <i key={u} style={{ background: utilisation(u) }} title={percent(u)} />)} {t("legendUtil")} <i class="hatched" /> {t("legendPause")}
        </span>
      </h2>
      <div class="stage" ref={box}>
        <canvas ref={canvas} data-test="map" role="img" aria-label={t("mapHint")} onMouseMove={(e) => setHot(at(e))} onMouseLeave={() => setHot(-1)}
          onClick={(e) => { const i = at(e); if (i >= 0) go(href("/ports", { q: f.nodes[l.bundles[i]!.a]!.name + " " + f.nodes[l.bundles[i]!.b]!.name })); }} />
        {l.tiers.map((row) => (
          <>
            <span class="tier" style={{ top: row.y - 9 + "px" }} key={row.tier}>{tierWords[Math.min(row.tier, 3)]}</span>
            {row.nodes.map((k) => {
              const room = (size.w - 66) / row.nodes.length;
              const name = f.nodes[k]!.name;
              const p = paused.get(k);
              return (
                <a key={k} class={"node" + (p ? " pauses" : "") + (room < 46 ? " small" : "") + (room < 9 ? " tiny" : "")} href={href("/ports", { q: name })} title={name + (p ? ": " + t("holds") + " " + percent(p) : "")}
                  style={{ left: l.x[k] + "px", top: l.y[k] + "px", maxWidth: Math.max(3, room - 1) + "px" }} data-node={name}>
                  {room >= 46 ? name : room >= 9 ? (/(\d+)$/.exec(name)?.[1] ?? "") : ""}
                </a>
              );
            })}
          </>
        ))}
        {tip()}
      </div>
    </section>
  );
}
