// Numbers for people: three digits, a unit, never a bare figure.
import { lang } from "./i18n";

const prefixes = ["", "k", "M", "G", "T", "P"];

// short gives "1.23 k"; a number that nobody counts is "–".
export function short(v: number): string {
  if (Number.isNaN(v)) return "–";
  let a = Math.abs(v);
  if (a < 1e-3) return "0";
  let i = 0;
  while (a >= 999.5 && i < prefixes.length - 1) {
    a /= 1000;
    i++;
  }
  const digits = a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2;
  const text = a.toFixed(i === 0 && Number.isInteger(a) ? 0 : digits);
  return (v < 0 ? "-" : "") + text + (i > 0 ? " " + prefixes[i] : "");
}

function glue(text: string, unit: string): string {
  if (text === "–") return text;
  return /[a-zA-Z]$/.test(text) ? text + unit : text + " " + unit;
}

export const bits = (v: number) => glue(short(v), "b/s");
export const bytes = (v: number) => glue(short(v), "B");
export const perSecond = (v: number) => glue(short(v), "/s");

export function percent(share: number): string {
  if (Number.isNaN(share)) return "–";
  const p = share * 100;
  if (p === 0) return "0 %";
  if (Math.abs(p) < 0.05) return "<0.1 %";
  return p.toFixed(Math.abs(p) < 9.95 ? 1 : 0) + " %";
}

export function duration(ms: number): string {
  const s = ms / 1000;
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 100) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  if (s < 36 * 3600) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

export function fabricTime(us: number): string {
  if (us < 1000) return us.toFixed(0) + " µs";
  if (us < 1e6) return (us / 1e3).toFixed(us < 1e5 ? 2 : 1) + " ms";
  return (us / 1e6).toFixed(2) + " s";
}

export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString(lang() === "zh" ? "zh-CN" : "en-GB", { hour12: false });
}

export function moment(ms: number): string {
  return new Date(ms).toLocaleString(lang() === "zh" ? "zh-CN" : "en-GB", { hour12: false });
}
