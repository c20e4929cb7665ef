import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadFabric, type Fabric } from "./fabric";
import { Findings } from "./findings";
import { duration } from "./format";
import { Heat } from "./heat";
import { lang, t } from "./i18n";
import { JobPage } from "./job";
import { freeze, live, start, useLive } from "./live";
import { Overview } from "./overview";
import { Port } from "./port";
import { Ports } from "./ports";
import { change, current, follow, go, href, usePlace, type Page } from "./url";
import { VerdictLine } from "./verdict";

const pages: [Page, string, string][] = [["overview", "/", "o"], ["ports", "/ports", "p"], ["heat", "/heat", "h"], ["findings", "/findings", "f"], ["job", "/job", "j"]];

function theme(): "dark" | "light" {
  const q = current().query.get("theme");
  if (q === "dark" || q === "light") return q;
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

const otherTheme = () => change({ theme: theme() === "dark" ? "light" : "dark" });
const otherLang = () => change({ lang: lang() === "zh" ? "en" : "zh" });

function Status() {
  const s = useLive();
  const age = s.frame ? duration(Math.max(0, s.frame.sent - s.frame.at + (Date.now() - s.frame.arrived))) : "";
  const what = s.link === "live" && s.frozen ? "frozen" : s.link;
  return (
    <button class={"status " + what} data-test="status" data-link={s.link} onClick={() => freeze(!s.frozen)} title={t(s.frozen ? "resumeLive" : "pauseLive")} aria-live="polite">
      <i>{what === "live" ? "●" : what === "frozen" ? "❚❚" : "▲"}</i> {t(what)}{age && <small> {t("age", age)}</small>}
    </button>
  );
}

function Help({ close }: { close: () => void }) {
  const keys: [string, string][] = [...pages.map(([p, , k]) => ["g " + k, t("k_go") + " " + t(p as "ports")] as [string, string]), ["/", t("k_search")], ["j k ↓ ↑", t("k_move")], ["Enter", t("k_open")], ["Space", t("k_space")], ["t", t("k_theme")], ["l", t("k_lang")], ["?", t("k_help")], ["Esc", t("k_esc")]];
  return <div class="cover" onClick={close}><div class="help" role="dialog" aria-label={t("keys")}><h2>{t("keys")}</h2><dl>{keys.map(([k, w]) => <><dt><kbd>{k}</kbd></dt><dd>{w}</dd></>)}</dl></div></div>;
}

function useKeys(help: (on: boolean) => void) {
  useEffect(() => {
    let prefix = "";
    const key = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const field = (e.target as Element).matches("input,select,textarea");
      if (e.key === "Escape") {
        help(false);
        (document.activeElement as HTMLElement | null)?.blur();
        if (field && current().query.get("q")) change({ q: "" });
        return;
      }
      if (field) return;
      if (prefix === "g") {
        prefix = "";
        const to = pages.find((p) => p[2] === e.key || (e.key === "m" && p[0] === "overview"));
        if (to) go(href(to[1]));
        return;
      }
      switch (e.key) {
        case "g": prefix = "g"; setTimeout(() => (prefix = ""), 1500); return;
        case "/":
          e.preventDefault();
          if (current().page !== "ports") {
            go(href("/ports"));
            setTimeout(() => document.getElementById("search")?.focus());
          } else {
            document.getElementById("search")?.focus(); // at once: the next letter belongs to it
          }
          return;
        case " ":
          if ((e.target as Element).matches("button,a")) return;
          e.preventDefault();
          freeze(!live.frozen);
          return;
        case "t": otherTheme(); return;
        case "l": otherLang(); return;
        case "?": help(true); return;
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
}

function App() {
  const place = usePlace();
  const [fabric, set] = useState<Fabric | null>(null);
  const [error, fail] = useState("");
  const [help, showHelp] = useState(false);
  useKeys(showHelp);
  useEffect(() => {
    const load = () => loadFabric().then((f) => { set(f); fail(""); }, (e) => { fail(String(e.message)); setTimeout(load, 1000); });
    void load();
  }, []);
  document.documentElement.dataset.theme = theme();
  document.documentElement.lang = lang() === "zh" ? "zh-CN" : "en";
  document.documentElement.classList.toggle("wall", place.query.get("wall") === "1" || innerWidth >= 2400);
  document.title = "weir · " + (fabric?.name ?? "") + " · " + (place.page === "port" ? place.port : t(place.page));
  return (
    <div class="app" onClick={follow}>
      <header>
        <a class="brand" href={href("/")}><img src="/assets/icon.svg" alt="" width="22" height="22" /> weir <span>{fabric?.name}</span></a>
        <nav>{pages.map(([p, to]) => <a key={p} href={href(to)} class={place.page === p || (p === "ports" && place.page === "port") ? "on" : ""} aria-current={place.page === p ? "page" : undefined}>{t(p as "ports")}</a>)}</nav>
        <Status />
        <button onClick={otherLang} title={t("k_lang")} data-test="lang">{t("language")}</button>
        <button onClick={otherTheme} title={t("theme")} aria-label={t("theme")} data-test="theme">◐</button>
        <button onClick={() => showHelp(true)} title={t("help")} aria-label={t("help")}>?</button>
      </header>
      {!fabric && <p class="loading">{error ? t("failed", error) : t("loading")}</p>}
      {fabric && place.page !== "overview" && <VerdictLine fabric={fabric} big={false} />}
      {fabric && place.page === "overview" && <Overview fabric={fabric} />}
      {fabric && place.page === "ports" && <Ports fabric={fabric} />}
      {fabric && place.page === "heat" && <Heat fabric={fabric} />}
      {fabric && place.page === "port" && <Port fabric={fabric} />}
      {fabric && place.page === "findings" && <Findings fabric={fabric} />}
      {fabric && place.page === "job" && <JobPage />}
      {help && <Help close={() => showHelp(false)} />}
    </div>
  );
}

start();
render(<App />, document.getElementById("app")!);
