import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { utilisation } from "./color";
import { kinds, peer, type Fabric } from "./fabric";
import { duration, percent } from "./format";
import { t } from "./i18n";
import { useLive, type Frame } from "./live";
import { metrics, utilisationOf, type Metric } from "./metrics";
import { draw, top, want } from "./sparks";
import { change, go, portHref, usePlace } from "./url";

const rowHeight = 44; // two lines, one an end
const portWidth = 210;

function valueOf(f: Fabric, frame: Frame, m: Metric, end: number): number {
  return m.id === "utilisation" ? utilisationOf(f, frame, end) : frame.values[m.column][end]!;
}

// A cable ranks by its worse end.
function rank(f: Fabric, frame: Frame, m: Metric, cable: number): number {
  const a = valueOf(f, frame, m, 2 * cable), b = valueOf(f, frame, m, 2 * cable + 1);
  return Math.max(Number.isNaN(a) ? -1 : a, Number.isNaN(b) ? -1 : b);
}

function troubled(frame: Frame, end: number): boolean {
  const v = frame.values;
  return v.pause_rx_share[end]! > 0.01 || v.drops_per_s[end]! > 0 || v.out_of_sequence_per_s[end]! > 0 || v.retransmissions_per_s[end]! > 0 || v.link_errors_per_s[end]! > 0 || v.marks_per_s[end]! > 0;
}

function select(f: Fabric, frame: Frame | null, q: URLSearchParams): number[] {
  const kind = kinds(f).find((k) => k.id === q.get("cables"));
  let list = kind ? kind.cables : Array.from({ length: f.ends.length / 2 }, (_, i) => i);
  const words = (q.get("q") ?? "").toLowerCase().split(/\s+/).filter((w) => w !== "");
  if (words.length > 0) {
    list = list.filter((c) => {
      const text = (f.names[2 * c] + " " + f.names[2 * c + 1]).toLowerCase();
      return words.every((w) => matches(text, w));
    });
  }
  if (frame && q.get("trouble") === "1") list = list.filter((c) => troubled(frame, 2 * c) || troubled(frame, 2 * c + 1));
  const sort = q.get("sort") ?? "";
  const down = !sort.startsWith("+");
  const id = sort.replace(/^[+-]/, "");
  if (id === "port") return down ? [...list].reverse() : list;
  const m = metrics.find((m) => m.id === id);
  if (!frame || !m) return list;
  const keys = new Map(list.map((c) => [c, rank(f, frame, m, c)]));
  return [...list].sort((a, b) => (down ? keys.get(b)! - keys.get(a)! : keys.get(a)! - keys.get(b)!) || a - b);
}

// "host-1" must not find host-10: a word that ends in a digit ends the number.
function matches(text: string, w: string): boolean {
  if (!/\d$/.test(w)) return text.includes(w);
  for (let i = text.indexOf(w); i >= 0; i = text.indexOf(w, i + 1)) {
    if (!/\d/.test(text[i + w.length] ?? "")) return true;
  }
  return false;
}

function Cell({ f, frame, m, end }: { f: Fabric; frame: Frame; m: Metric; end: number }) {
  const v = frame.values[m.column][end]!;
  if (m.id === "utilisation") {
    const u = utilisationOf(f, frame, end);
    return (
      <div class="cell">
        <span class="bar"><i style={{ width: Math.min(100, (u || 0) * 100) + "%", background: utilisation(u) }} /></span>
        <span>{m.text(v)}</span> <small>{percent(u)}</small>
      </div>
    );
  }
  const loud = v > 0 ? (m.tone === "--drop" || (m.tone === "--pause" && v > 0.01) ? " loud" : " some") : "";
  let title = "";
  if (m.id === "pauseRx" || m.id === "pauseTx") {
    const e = m.id === "pauseRx" ? end : peer(end);
    title = frame.pauseBy.map((p) => t("prio", p.priority) + ": " + percent(p.share[e]!)).join(", ");
  }
  return <div class={"cell" + loud} title={title}>{Number.isNaN(v) ? <span class="none">–</span> : m.text(v)}</div>;
}

function Row({ f, frame, cable, y, selected }: { f: Fabric; frame: Frame; cable: number; y: number; selected: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const line = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const c = canvas.current!, g = c.getContext("2d")!;
    const w = c.clientWidth, k = devicePixelRatio || 1;
    if (c.width !== Math.round(w * k)) {
      c.width = Math.round(w * k);
      c.height = Math.round(rowHeight * k);
    }
    g.setTransform(k, 0, 0, k, 0, 0);
    g.clearRect(0, 0, w, rowHeight);
    const cells = line.current!.children;
    const half = rowHeight / 2;
    metrics.forEach((m, i) => {
      if (m.spark < 0) return;
      const el = cells[i + 1] as HTMLElement;
      const most = m.id === "utilisation" ? Math.max(f.ends[2 * cable]!.rate, f.ends[2 * cable + 1]!.rate)
        : m.tone === "--pause" ? 1 : Math.max(top(2 * cable, m.spark), top(2 * cable + 1, m.spark));
      const x = el.offsetLeft + (m.id === "utilisation" ? 6 : 4), room = el.offsetWidth - 10;
      const width = m.id === "utilisation" ? Math.min(44, room * 0.28) : Math.min(52, room * 0.5);
      for (const side of [0, 1]) draw(g, 2 * cable + side, m.spark, m.tone, x, side * half + 4, width, half - 7, most);
    });
  });
  return (
    <div class={"row" + (selected ? " selected" : "")} role="row" style={{ top: y + "px", height: rowHeight + "px" }} data-cable={cable}>
      <canvas ref={canvas} />
      {[2 * cable, 2 * cable + 1].map((end, i) => (
        <div class={"line" + (frame.late.has(end) ? " stale" : "")} ref={i === 0 ? line : undefined} key={end} data-end={end}>
          <div class="cell name">
            {f.names[end] ? <a href={portHref(f.names[end]!)} title={t("age", duration((frame.late.get(end) ?? 0) * 1000))}>{f.names[end]}</a> : "–"}
            {frame.late.has(end) && <small> {t("stale")} {duration(frame.late.get(end)! * 1000)}</small>}
          </div>
          {metrics.map((m) => <Cell key={m.id} f={f} frame={frame} m={m} end={end} />)}
        </div>
      ))}
    </div>
  );
}

export function Ports({ fabric: f }: { fabric: Fabric }) {
  const { frame } = useLive();
  const { query } = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(600);
  const [at, setAt] = useState(-1);
  // Ranks are taken anew with every frame; rows keep their place in between.
  const list = useMemo(() => select(f, frame, query), [f, frame, query.toString()]);
  const from = Math.max(0, Math.floor(scroll / rowHeight) - 3);
  const to = Math.min(list.length, Math.ceil((scroll + height) / rowHeight) + 3);
  const shown = list.slice(from, to);
  useEffect(() => {
    const el = box.current!;
    const size = () => setHeight(el.clientHeight);
    const o = new ResizeObserver(size);
    o.observe(el);
    size();
    return () => o.disconnect();
  }, []);
  const ends = shown.flatMap((c) => [2 * c, 2 * c + 1]);
  useEffect(() => void want(ends), [ends.join()]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if ((e.target as Element).matches("input,select")) return;
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[e.key];
      if (step) {
        e.preventDefault();
        setAt((n) => {
          const next = Math.min(Math.max(n + step, 0), list.length - 1);
          const el = box.current!;
          if (next * rowHeight < el.scrollTop) el.scrollTop = next * rowHeight;
          if ((next + 1) * rowHeight > el.scrollTop + el.clientHeight) el.scrollTop = (next + 1) * rowHeight - el.clientHeight;
          return next;
        });
      } else if (e.key === "Enter" && at >= 0 && list[at] !== undefined) {
        go(portHref(f.names[2 * list[at]!]!));
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
  const sort = query.get("sort") ?? "";
  const head = (id: string, label: string, hint: string) => {
    const mine = sort.replace(/^[+-]/, "") === id;
    const next = mine && !sort.startsWith("+") ? "+" + id : mine ? "" : "-" + id;
    return (
      <button key={id} class={"cell" + (id === "port" ? " name" : "")} title={hint + ". " + t("sortHint")} aria-sort={mine ? (sort.startsWith("+") ? "ascending" : "descending") : "none"} onClick={() => change({ sort: next })} data-sort={id}>
        {label}{mine ? (sort.startsWith("+") ? " ▲" : " ▼") : ""}
      </button>
    );
  };
  return (
    <main class="ports">
      <div class="tools">
        <input type="search" id="search" placeholder={t("search")} aria-label={t("search")} value={query.get("q") ?? ""} onInput={(e) => change({ q: e.currentTarget.value })} />
        <select value={query.get("cables") ?? ""} aria-label={t("allCables")} onChange={(e) => change({ cables: e.currentTarget.value })}>
          <option value="">{t("allCables")}</option>
          {kinds(f).map((k) => <option key={k.id} value={k.id}>{k.id} ({k.cables.length})</option>)}
        </select>
        <label><input type="checkbox" checked={query.get("trouble") === "1"} onChange={(e) => change({ trouble: e.currentTarget.checked ? "1" : "" })} /> {t("onlyActive")}</label>
        <span class="count" data-test="count">{t("rows", list.length, f.ends.length / 2)}</span>
      </div>
      <div class="table" role="table" style={{ "--port": portWidth + "px" } as never}>
        <div class="head" role="row">
          {head("port", t("port"), t("port"))}
          {metrics.map((m) => head(m.id, t(m.id as "drops"), t(("h_" + m.id) as "h_drops") + (m.nic ? " (" + t("nicColumns") + ")" : "")))}
        </div>
        <div class="rows" ref={box} tabIndex={0} onScroll={(e) => setScroll(e.currentTarget.scrollTop)}>
          <div class="all" style={{ height: list.length * rowHeight + "px" }}>
            {frame && shown.map((c, i) => <Row key={c} f={f} frame={frame} cable={c} y={(from + i) * rowHeight} selected={from + i === at} />)}
          </div>
        </div>
      </div>
    </main>
  );
}

