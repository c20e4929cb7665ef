// The stream of frames: what all ports do, once a second, from the server.
import { useEffect, useState } from "preact/hooks";

export const columns = [
  "tx_bits_per_s", "rx_bits_per_s", "tx_packets_per_s", "pause_rx_share", "pause_tx_share",
  "pause_rx_frames_per_s", "pause_tx_frames_per_s", "marks_per_s", "cnp_sent_per_s", "cnp_handled_per_s",
  "drops_per_s", "out_of_sequence_per_s", "retransmissions_per_s", "link_errors_per_s", "queue_bytes",
] as const;
export type Column = (typeof columns)[number];

export interface Judgement {
  state: "good" | "strained" | "bad" | "unknown";
  code: string;
  where: string;
  value: number;
  count: number;
}

export interface Pauser {
  node: string;
  port: string;
  share: number;
  loop?: boolean;
  held?: Pauser[];
}

export interface Frame {
  at: number; // of the newest reading, ms
  sent: number; // by the server's clock, ms
  arrived: number; // by ours, ms
  window: number; // of rates, ms
  fabric: number; // simulated time, microseconds; NaN
  silent: number;
  resets: number;
  findings: number; // revision
  verdict: Judgement[];
  pauses: Pauser[];
  values: Record<Column, Float32Array>;
  pauseBy: { priority: number; share: Float32Array }[];
  late: Map<number, number>; // end to age in seconds, of those that are late
  heat: Uint8Array[]; // levels by end: pause, marks
}

type Packed = (number | null)[] | { fill: number | null; at: number[]; value: (number | null)[] };

function unpack(p: Packed | undefined, n: number): Float32Array {
  const out = new Float32Array(n);
  if (!p) return out.fill(NaN);
  if (Array.isArray(p)) {
    for (let i = 0; i < n; i++) out[i] = p[i] ?? NaN;
    return out;
  }
  out.fill(p.fill ?? NaN);
  for (let i = 0; i < p.at.length; i++) out[p.at[i]!] = p.value[i] ?? NaN;
  return out;
}

export function levels(base64: string): Uint8Array {
  const s = atob(base64);
  const out = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
  return out;
}

export function decode(text: string): Frame {
  const j = JSON.parse(text);
  const n: number = j.ends;
  const values = {} as Record<Column, Float32Array>;
  for (const c of columns) values[c] = unpack(j.columns[c], n);
  return {
    at: j.at_ms, sent: j.sent_ms, arrived: Date.now(), window: j.window_ms, fabric: j.fabric_time_us ?? NaN,
    silent: j.silent, resets: j.resets, findings: j.findings, verdict: j.verdict, pauses: j.pauses ?? [], values,
    pauseBy: Object.entries(j.pause_by as Record<string, Packed>).map(([p, v]) => ({ priority: Number(p), share: unpack(v, n) })),
    late: new Map(j.late ?? []),
    heat: [levels(j.heat[0]), levels(j.heat[1])],
  };
}

export type Link = "connecting" | "live" | "lost";

interface State {
  frame: Frame | null; // what is shown
  newest: Frame | null;
  link: Link;
  frozen: boolean;
}

export const live: State = { frame: null, newest: null, link: "connecting", frozen: false };

const listeners = new Set<() => void>();
const taps = new Set<(f: Frame) => void>();

function changed() {
  listeners.forEach((f) => f());
}

export function useLive(): State {
  const [, set] = useState(0);
  useEffect(() => {
    const f = () => set((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  return live;
}

// onFrame calls f with every frame, also while the view is frozen.
export function onFrame(f: (frame: Frame) => void): () => void {
  taps.add(f);
  return () => void taps.delete(f);
}

export function freeze(on: boolean) {
  live.frozen = on;
  if (!on) live.frame = live.newest;
  changed();
}

// A frame comes every second. Without one for so long the connection counts as
// lost, whatever the browser thinks of it.
const patience = 4000;

let source: EventSource | null = null;
let heard = Date.now();

function connect() {
  source?.close();
  heard = Date.now();
  source = new EventSource("/api/weir/live");
  source.addEventListener("frame", (e) => {
    const frame = decode((e as MessageEvent<string>).data);
    heard = Date.now();
    live.newest = frame;
    if (!live.frozen || !live.frame) live.frame = frame;
    live.link = "live";
    taps.forEach((f) => f(frame));
    changed();
  });
  source.onerror = () => {
    if (live.link === "live") {
      live.link = "lost";
      changed();
    }
  };
}

// start connects, and looks every second whether frames still come. The new
// second also moves the ages on the screen.
export function start() {
  connect();
  // A page that is left may be kept by the browser, and its stream with it: six of
  // them and nothing else gets through to the server.
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (e) => { if (e.persisted) connect(); });
  setInterval(() => {
    if (Date.now() - heard > patience) {
      if (live.link === "live") live.link = "lost";
      connect();
    }
    if (live.link !== "live") changed();
  }, 1000);
}
