// The page's state is its address, so that a view can be pasted into a ticket.
import { useEffect, useState } from "preact/hooks";

export type Page = "overview" | "ports" | "heat" | "port" | "findings" | "job";

export interface Place {
  page: Page;
  port: string; // of the port page
  query: URLSearchParams;
}

// lasting parameters go along from page to page.
const lasting = ["lang", "theme", "wall"];

export function parse(path: string, search: string): Place {
  const query = new URLSearchParams(search);
  const [first = "", ...rest] = path.split("/").filter((s) => s !== "");
  if (first === "port") return { page: "port", port: rest.map(decodeURIComponent).join("/"), query };
  const pages: Record<string, Page> = { ports: "ports", heat: "heat", findings: "findings", job: "job" };
  return { page: pages[first] ?? "overview", port: "", query };
}

let here = parse(location.pathname, location.search);
const listeners = new Set<() => void>();

export function current(): Place {
  return here;
}

function moved() {
  here = parse(location.pathname, location.search);
  listeners.forEach((f) => f());
}

addEventListener("popstate", moved);

export function usePlace(): Place {
  const [, set] = useState(0);
  useEffect(() => {
    const f = () => set((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  return here;
}

// href is the address of a page with parameters; an empty one is left out.
export function href(path: string, params: Record<string, string> = {}): string {
  const q = new URLSearchParams();
  for (const k of lasting) {
    const v = here.query.get(k);
    if (v) q.set(k, v);
  }
  for (const [k, v] of Object.entries(params)) {
    if (v === "") q.delete(k);
    else q.set(k, v);
  }
  const s = q.toString();
  return path + (s ? "?" + s : "");
}

export function portHref(name: string, params: Record<string, string> = {}): string {
  return href("/port/" + name.split("/").map(encodeURIComponent).join("/"), params);
}

export function go(address: string) {
  history.pushState(null, "", address);
  moved();
  scrollTo(0, 0);
}

// change sets parameters of the page that is shown. Small changes replace the
// entry in the history, so that "back" leaves the page.
export function change(params: Record<string, string>, push = false) {
  const q = new URLSearchParams(here.query);
  for (const [k, v] of Object.entries(params)) {
    if (v === "") q.delete(k);
    else q.set(k, v);
  }
  const s = q.toString();
  const address = location.pathname + (s ? "?" + s : "");
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  moved();
}

// follow makes plain clicks on links of this site stay in the page.
export function follow(e: MouseEvent) {
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const to = new URL(a.getAttribute("href") ?? "", location.href);
  if (to.origin !== location.origin || a.hasAttribute("download") || to.pathname.startsWith("/api/")) return;
  e.preventDefault();
  go(to.pathname + to.search);
}
