import { useEffect, useState } from "preact/hooks";
import { Chart, type Line, type Mark } from "./chart";
import { peer, type Fabric } from "./fabric";
import { bits, bytes, clock, duration, percent, perSecond } from "./format";
import { lang, t, word } from "./i18n";
import { useLive } from "./live";
import { metrics } from "./metrics";
import { change, portHref, usePlace } from "./url";

type Packed = (number | null)[] | { fill: number | null; at: number[]; value: (number | null)[] };

interface Answer {
  port: string;
  peer: string;
  rate_bits_per_s: number;
  width_ms: number;
  at_ms: number[];
  lines: { column: string; end: string; priority: string; mean: Packed; min: Packed; max: Packed }[];
  gaps_ms: [number, number][];
  resets_ms: number[];
  events: { at_ms: number; kind: string; where: string; en: string; zh: string }[];
}

function unpack(p: Packed, n: number): Float64Array {
  const out = new Float64Array(n);
  if (Array.isArray(p)) {
    for (let i = 0; i < n; i++) out[i] = p[i] ?? NaN;
    return out;
  }
  out.fill(p.fill ?? NaN);
  p.at.forEach((a, i) => (out[a] = p.value[i] ?? NaN));
  return out;
}

interface Panel {
  id: string;
  title: "throughput";
  columns: string[];
  text: (v: number) => string;
  own?: boolean; // of this end alone
}

const panels = [
  { id: "throughput", title: "throughput", columns: ["tx_bits_per_s", "rx_bits_per_s"], text: bits, own: true },
  { id: "pause", title: "pauseTime", columns: ["pause_rx_share"], text: percent },
  { id: "marks", title: "ecnMarks", columns: ["marks_per_s"], text: perSecond },
  { id: "cnp", title: "cnp", columns: ["cnp_sent_per_s", "cnp_handled_per_s"], text: perSecond },
  { id: "loss", title: "lossChart", columns: ["drops_per_s", "link_errors_per_s"], text: perSecond },
  { id: "order", title: "order", columns: ["out_of_sequence_per_s", "retransmissions_per_s"], text: perSecond },
  { id: "queue", title: "queueDepth", columns: ["queue_bytes"], text: bytes },
] as unknown as Panel[];

const words: Record<string, string> = {
  tx_bits_per_s: "sent", rx_bits_per_s: "received", pause_rx_share: "held", marks_per_s: "marks", cnp_sent_per_s: "cnpSent", cnp_handled_per_s: "cnpHandled",
  drops_per_s: "drops", link_errors_per_s: "errors", out_of_sequence_per_s: "oos", retransmissions_per_s: "retrans", queue_bytes: "queue",
};

const tones = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];

function linesOf(a: Answer, p: Panel): Line[] {
  const n = a.at_ms.length;
  let list = a.lines.filter((l) => p.columns.includes(l.column) && (!p.own || l.end === a.port));
  if (p.id === "pause") {
    // Priorities that nobody paused would only fill the legend.
    const loud = list.filter((l) => unpack(l.max, n).some((v) => v > 0));
    list = loud.length > 0 ? loud : list.filter((l, i) => list.findIndex((o) => o.end === l.end) === i);
  }
  return list.map((l, i) => ({
    label: [l.end === a.port || p.own ? "" : l.end, p.id === "pause" && l.end !== a.port ? "" : "", word(words[l.column] ?? l.column), l.priority && t("prio", l.priority)].filter((s) => s !== "").join(" "),
    tone: tones[i % tones.length]!,
    ...(l.end === a.port ? {} : { dash: [5, 3] }),
    mean: unpack(l.mean, n), low: unpack(l.min, n), top: unpack(l.max, n),
  }));
}

const ranges: [string, number][] = [["1 min", 60], ["5 min", 300], ["15 min", 900], ["1 h", 3600], ["6 h", 21600], ["24 h", 86400]];

export function Port({ fabric: f }: { fabric: Fabric }) {
  const { frame } = useLive();
  const { port, query } = usePlace();
  const end = f.names.indexOf(port);
  const [answer, set] = useState<Answer | null>(null);
  const [error, fail] = useState("");
  const seconds = Number(query.get("range")) || 300;
  const from = Number(query.get("from")) || 0, to = Number(query.get("to")) || 0;
  const fixed = from > 0 && to > from;
  // While the range moves, short ones are read anew every two seconds.
  const beat = fixed || !frame ? 0 : Math.floor(frame.sent / (seconds <= 900 ? 2000 : 15_000));
  useEffect(() => {
    if (end < 0) return;
    let gone = false;
    const q = fixed ? `&from_ms=${from}&to_ms=${to}` : frame ? `&from_ms=${frame.sent - seconds * 1000}&to_ms=${frame.sent}` : "";
    fetch(`/api/weir/port?port=${encodeURIComponent(port)}&points=600${q}`).then(async (r) => {
      if (!r.ok) throw new Error(r.status + " " + ((await r.json().catch(() => ({}))).error ?? r.statusText));
      const a = (await r.json()) as Answer;
      if (!gone) {
        set(a);
        fail("");
      }
    }).catch((e) => { if (!gone) fail(String(e.message)); });
    return () => { gone = true; };
  }, [port, seconds, from, to, beat]);
  if (end < 0) return <main class="port"><p class="error">{t("noPort", port)}</p></main>;
  const a = answer && answer.port === port ? answer : null;
  const other = f.names[peer(end)]!;
  const at = a ? Float64Array.from(a.at_ms, (v) => v / 1000) : new Float64Array();
  const marks: Mark[] = (a?.events ?? []).map((e) => ({ at: e.at_ms / 1000, kind: e.kind, text: lang() === "zh" ? e.zh : e.en }));
  const zoom = (x: number, y: number) => change({ from: String(Math.round(x * 1000)), to: String(Math.round(y * 1000)) }, true);
  const fabricAt = frame && f.source === "sim" && !Number.isNaN(frame.fabric) ? (x: number) => Math.max(0, frame.fabric - (frame.at / 1000 - x) * 1e6 / f.factor) : undefined;
  return (
    <main class="port" onDblClick={() => fixed && change({ from: "", to: "" }, true)}>
      <div class="title">
        <h1>{port}</h1> <span class="tie">⟷</span> {other ? <a href={portHref(other, Object.fromEntries(["range", "from", "to"].map((k) => [k, query.get(k) ?? ""])))} title={t("compare")}>{other}</a> : "–"}
        <small>{bits(f.ends[end]!.rate)}</small>
        <span class="tools">
          {ranges.map(([label, s]) => <button key={s} class={!fixed && s === seconds ? "on" : ""} onClick={() => change({ range: s === 300 ? "" : String(s), from: "", to: "" })}>{label}</button>)}
          {fixed && <button class="on" onClick={() => change({ from: "", to: "" }, true)}>{clock(from)} – {clock(to)} ✕ {t("follow")}</button>}
        </span>
      </div>
      <div class="facts">
        {metrics.map((m) => {
          const v = frame ? frame.values[m.column][end]! : NaN, w = frame ? frame.values[m.column][peer(end)]! : NaN;
          return <div key={m.id} title={t(("h_" + m.id) as "h_drops")}><small>{t(m.id as "drops")}</small><b>{m.text(v)}</b><span>{t("otherEnd")} {m.text(w)}</span></div>;
        })}
      </div>
      <p class="hint">{t("zoomHint")} {a && t("resolution", duration(a.width_ms))}{a && a.resets_ms.length > 0 && " · " + t("resets") + ": " + a.resets_ms.length}{a && a.gaps_ms.length > 0 && " · " + t("gaps") + ": " + a.gaps_ms.length}
        {" · "}<a href={"/api/v1/query?query=" + encodeURIComponent(f.ends[end]!.host ? `{instance=~"${f.nodes[f.ends[end]!.node]!.name}(:[0-9]+)?"}` : `{switch="${f.nodes[f.ends[end]!.node]!.name}",port="${f.ends[end]!.port}"}`)}>{t("counters")}</a></p>
      {error && <p class="error">{t("failed", error)}</p>}
      {!a && !error && <p class="quiet">{t("loading")}</p>}
      <div class="charts">
        {a && panels.map((p) => {
          const lines = linesOf(a, p);
          if (lines.length === 0) return null;
          return <Chart key={p.id} id={p.id} title={t(p.title)} at={at} lines={lines} text={p.text} {...(p.id === "pause" ? { full: 0.1 } : p.id === "throughput" ? { full: a.rate_bits_per_s } : { full: 10 })} marks={marks} resets={a.resets_ms.map((r) => r / 1000)} gaps={a.gaps_ms.map(([x, y]) => [x / 1000, y / 1000])} thinned={a.width_ms > f.every} {...(fabricAt ? { fabric: fabricAt } : {})} zoom={zoom} />;
        })}
      </div>
      {a && a.events.length > 0 && <section class="events"><h3>{t("events")}</h3>{a.events.map((e) => <p key={e.at_ms + e.en}><b class="tag">{word("ev_" + e.kind)}</b> {clock(e.at_ms)} {e.where} {lang() === "zh" ? e.zh : e.en}</p>)}</section>}
    </main>
  );
}
