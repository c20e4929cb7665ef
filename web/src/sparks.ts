// The last minute of the ports on the screen. The server gives what was before
// the page was opened; frames add to it.
import { metrics } from "./metrics";
import { onFrame } from "./live";
import { variable } from "./color";

const keep = 60;
const curves = new Map<number, Float32Array[]>(); // by end, then by curve
let wanted = new Set<number>();

onFrame((f) => {
  for (const [end, list] of curves) {
    if (!wanted.has(end)) {
      curves.delete(end);
      continue;
    }
    for (const m of metrics) {
      if (m.spark < 0) continue;
      const c = list[m.spark]!;
      c.copyWithin(0, 1);
      c[keep - 1] = f.values[m.column][end] ?? NaN;
    }
  }
});

type Packed = (number | null)[] | { fill: number | null; at: number[]; value: (number | null)[] };

// want says which ends are on the screen, and fetches those that are new.
export async function want(ends: number[]) {
  wanted = new Set(ends);
  const fresh = ends.filter((e) => !curves.has(e)).slice(0, 200);
  if (fresh.length === 0) return;
  for (const e of fresh) curves.set(e, metrics.filter((m) => m.spark >= 0).map(() => new Float32Array(keep).fill(NaN)));
  try {
    const r = await fetch("/api/weir/sparks?ends=" + fresh.join(","));
    if (!r.ok) return;
    const j = (await r.json()) as { ends: Record<string, Packed[]> };
    for (const [end, list] of Object.entries(j.ends)) {
      const mine = curves.get(Number(end));
      list.forEach((p, i) => {
        const values = Array.isArray(p) ? p : null;
        const c = mine?.[i];
        if (!c) return;
        if (values) {
          const n = Math.min(values.length, keep);
          for (let k = 0; k < n; k++) c[keep - n + k] = values[values.length - n + k] ?? NaN;
        } else if (!Array.isArray(p)) {
          c.fill(p.fill ?? NaN);
          const length = keep;
          const shift = length - keep;
          p.at.forEach((a, k) => (c[a + shift] = p.value[k] ?? NaN));
        }
      });
    }
  } catch {
    // The connection is lost: the page says so, and frames fill the curves.
  }
}

// draw puts the curve of an end into a box of a canvas. All curves of a column
// begin at 0; top is the largest value that either end had.
export function draw(g: CanvasRenderingContext2D, end: number, spark: number, tone: string, x: number, y: number, w: number, h: number, top: number) {
  const c = curves.get(end)?.[spark];
  if (!c || !(top > 0)) return;
  g.strokeStyle = variable(tone);
  g.lineWidth = 1;
  g.beginPath();
  let open = false;
  for (let i = 0; i < keep; i++) {
    const v = c[i]!;
    if (Number.isNaN(v)) {
      open = false;
      continue;
    }
    const px = x + (i / (keep - 1)) * w;
    const py = y + h - 0.5 - Math.min(v / top, 1) * (h - 1);
    if (open) g.lineTo(px, py);
    else g.moveTo(px, py);
    open = true;
  }
  g.stroke();
}

export function top(end: number, spark: number): number {
  let m = 0;
  for (const v of curves.get(end)?.[spark] ?? []) if (v > m) m = v;
  return m;
}
