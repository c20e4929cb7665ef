// The numbers that tables show, with their words and units.
import { bits, percent, perSecond } from "./format";
import type { Column, Frame } from "./live";
import type { Fabric } from "./fabric";

export interface Metric {
  id: string; // also the key of its words; "h_" + id explains it
  column: Column;
  spark: number; // index of its curve, -1: none
  text: (v: number) => string;
  nic?: boolean; // only NICs count it
  tone: string; // colour variable of its curve
}

export const metrics: Metric[] = [
  { id: "utilisation", column: "tx_bits_per_s", spark: 0, text: bits, tone: "--util" },
  { id: "pauseRx", column: "pause_rx_share", spark: 1, text: percent, tone: "--pause" },
  { id: "pauseTx", column: "pause_tx_share", spark: -1, text: percent, tone: "--pause" },
  { id: "marks", column: "marks_per_s", spark: 2, text: perSecond, tone: "--mark" },
  { id: "cnpSent", column: "cnp_sent_per_s", spark: 3, text: perSecond, nic: true, tone: "--mark" },
  { id: "cnpHandled", column: "cnp_handled_per_s", spark: 4, text: perSecond, nic: true, tone: "--mark" },
  { id: "drops", column: "drops_per_s", spark: 5, text: perSecond, tone: "--drop" },
  { id: "oos", column: "out_of_sequence_per_s", spark: 6, text: perSecond, nic: true, tone: "--drop" },
  { id: "retrans", column: "retransmissions_per_s", spark: 7, text: perSecond, nic: true, tone: "--drop" },
  { id: "errors", column: "link_errors_per_s", spark: 8, text: perSecond, tone: "--drop" },
];

export function utilisationOf(f: Fabric, frame: Frame, end: number): number {
  const rate = f.ends[end]!.rate;
  return rate > 0 ? frame.values.tx_bits_per_s[end]! / rate : NaN;
}

// largest returns the ends with the largest values of a column above 0.
export function largest(frame: Frame, column: Column, n: number): number[] {
  const v = frame.values[column];
  const out: number[] = [];
  for (let e = 0; e < v.length; e++) {
    if (!(v[e]! > 0)) continue;
    if (out.length === n && v[e]! <= v[out[n - 1]!]!) continue;
    let i = out.length;
    while (i > 0 && v[out[i - 1]!]! < v[e]!) i--;
    out.splice(i, 0, e);
    if (out.length > n) out.pop();
  }
  return out;
}
