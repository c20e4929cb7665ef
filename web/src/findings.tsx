import { useEffect, useState } from "preact/hooks";
import type { Fabric } from "./fabric";
import { clock, moment, percent } from "./format";
import { lang, t, word } from "./i18n";
import { useLive } from "./live";
import { change, portHref, usePlace } from "./url";

export interface Finding {
  cause: string;
  title: string;
  severity: string;
  confidence: number;
  where: string;
  summary: string;
  evidence: { source?: string; line?: number; text: string }[];
  evidence_against?: { text: string }[];
  refuted_by?: string;
  deciding_test?: string;
  fix: { command?: string; text: string; disruption?: string }[];
  since_ms: number;
  last_seen_ms: number;
  active: boolean;
}

export interface FindingsAnswer {
  findings: Finding[];
  missing_facts: { cause: string; fact: string; command: string }[] | null;
}

export async function loadFindings(): Promise<FindingsAnswer> {
  const r = await fetch("/api/weir/findings?lang=" + lang());
  if (!r.ok) throw new Error(r.status + " " + r.statusText);
  return r.json();
}

// portsOf finds the ports that a finding's place names: by name, or all of a node.
function portsOf(f: Fabric, where: string): string[] {
  const out = new Set<string>();
  for (const place of where.split(/[\s,~]+/)) {
    const [node = "", port = ""] = place.split("/"); // a queue's number may follow
    if (f.names.includes(node + "/" + port)) out.add(node + "/" + port);
    else f.names.filter((n) => n.startsWith(node + "/")).forEach((n) => out.add(n));
    if (out.size >= 8) break;
  }
  return [...out].slice(0, 8);
}

function Copy({ text }: { text: string }) {
  const [done, set] = useState(false);
  return <button class="copy" onClick={() => void navigator.clipboard?.writeText(text).then(() => set(true))}>{t(done ? "copied" : "copy")}</button>;
}

function Detail({ f, fabric }: { f: Finding; fabric: Fabric }) {
  const around = { from: String(f.since_ms - 60_000), to: String(f.last_seen_ms + 60_000) };
  return (
    <article class="detail" data-test="finding">
      <h2><b class={"tag " + f.severity}>{word(f.severity)}</b> {f.title}</h2>
      <p>{f.summary}</p>
      <dl>
        <dt>{t("where")}</dt><dd>{f.where || "–"}</dd>
        <dt>{t("since")}</dt><dd>{moment(f.since_ms)}, {t("lastSeen", clock(f.last_seen_ms))}, {t("confidence", percent(f.confidence))}</dd>
        <dt>{t("evidence")}</dt><dd><ul>{f.evidence.map((e, i) => <li key={i}><code>{e.text}</code></li>)}{f.evidence.length === 0 && <li>{t("none")}</li>}</ul></dd>
        {f.evidence_against && f.evidence_against.length > 0 && <><dt>{t("refuted")}</dt><dd><ul>{f.evidence_against.map((e, i) => <li key={i}>{e.text}</li>)}</ul></dd></>}
        {f.refuted_by && <><dt>{t("refuted")}</dt><dd>{f.refuted_by}</dd></>}
        {f.deciding_test && <><dt>{t("decide")}</dt><dd><code>{f.deciding_test}</code> <Copy text={f.deciding_test} /></dd></>}
        <dt>{t("fix")}</dt>
        <dd><ul>
          {f.fix.length === 0 && <li>{t("noFix")}</li>}
          {f.fix.map((x, i) => <li key={i}>{x.text} {x.disruption && x.disruption !== "none" && <small>({t("disruption", x.disruption)})</small>}{x.command && <div><code>{x.command}</code> <Copy text={x.command} /></div>}</li>)}
        </ul></dd>
        <dt>{t("showChart")}</dt>
        <dd>{portsOf(fabric, f.where).map((n) => <a class="chip" key={n} href={portHref(n, f.active ? {} : around)}>{n}</a>)}{portsOf(fabric, f.where).length === 0 && "–"}</dd>
      </dl>
    </article>
  );
}

export function Findings({ fabric }: { fabric: Fabric }) {
  const { frame } = useLive();
  const { query } = usePlace();
  const [a, set] = useState<FindingsAnswer | null>(null);
  const [error, fail] = useState("");
  const l = lang();
  useEffect(() => void loadFindings().then((r) => { set(r); fail(""); }, (e) => fail(String(e.message))), [frame?.findings, l, Math.floor((frame?.sent ?? 0) / 10_000)]);
  const only = query.get("show") ?? "all";
  const list = (a?.findings ?? []).filter((f) => only === "all" || (only === "over") !== f.active);
  const chosen = list.find((f) => f.cause + "@" + f.where === query.get("f")) ?? list[0];
  return (
    <main class="findings">
      <div class="tools">
        {(["all", "active", "over"] as const).map((k) => <button key={k} class={only === k ? "on" : ""} onClick={() => change({ show: k === "all" ? "" : k })}>{t(k)}</button>)}
        {error && <span class="error">{t("failed", error)}</span>}
      </div>
      <div class="split">
        <div class="list" role="listbox">
          {a && list.length === 0 && <p class="quiet">{t("noFindings")}</p>}
          {list.map((f) => (
            <button role="option" aria-selected={f === chosen} class={"item" + (f === chosen ? " on" : "") + (f.active ? "" : " past")} key={f.cause + f.where + f.since_ms} onClick={() => change({ f: f.cause + "@" + f.where }, true)} data-cause={f.cause}>
              <b class={"tag " + f.severity}>{word(f.severity)}</b> <span>{f.title}</span>
              <small>{f.where} · {t("since")} {clock(f.since_ms)}{f.active ? "" : " · " + t("over")}</small>
            </button>
          ))}
          {a?.missing_facts && a.missing_facts.some((m) => m.cause !== "unknown") && (
            <div class="missing"><h3>{t("missing")}</h3>{a.missing_facts.filter((m) => m.cause !== "unknown").slice(0, 6).map((m) => <p key={m.command}>{m.fact}<br /><code>{m.command}</code></p>)}</div>
          )}
        </div>
        {chosen && <Detail f={chosen} fabric={fabric} />}
      </div>
    </main>
  );
}
