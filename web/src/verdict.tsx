import { fabricTime, duration, percent, perSecond, short } from "./format";
import { t, word } from "./i18n";
import type { Judgement } from "./live";
import { useLive } from "./live";
import type { Fabric } from "./fabric";
import { href, portHref } from "./url";

const signs = { good: "✓", strained: "!", bad: "✕", unknown: "?" } as const;

function amount(j: Judgement): string {
  switch (j.code) {
    case "drops":
    case "errors":
      return perSecond(j.value);
    case "uneven_uplinks":
      return short(j.value);
  }
  return percent(j.value);
}

function Clause({ j, fabric }: { j: Judgement; fabric: Fabric }) {
  const [before = "", after = ""] = word("v_" + j.code, "\u0000", amount(j)).split("\u0000");
  const named = word("v_" + j.code, "\u0000").includes("\u0000");
  const to = fabric.names.includes(j.where) ? portHref(j.where) : href("/ports", { q: j.where });
  return (
    <span class={"clause " + j.state}>
      {before}
      {named && <a href={to}>{j.where}</a>}
      {after}
      {j.count > 1 && j.code !== "silent" && j.code !== "fine" && <small> {t("ofPorts", j.count)}</small>}
    </span>
  );
}

// VerdictLine answers the question of the first screen.
export function VerdictLine({ fabric, big }: { fabric: Fabric; big: boolean }) {
  const { frame: f } = useLive();
  const list = f?.verdict ?? [{ state: "unknown", code: "no_data", where: "", value: 0, count: 0 } as Judgement];
  const state = list[0]!.state;
  return (
    <div class={"verdict " + state + (big ? " big" : "")} role="status" data-test="verdict" data-code={list[0]!.code}>
      <b class="sign" aria-label={t(state)}>{signs[state]}</b>
      <div class="clauses">
        {list.slice(0, big ? 4 : 2).map((j) => <Clause key={j.code} j={j} fabric={fabric} />)}
      </div>
      {f && (
        <small class="basis">
          {t("window", duration(f.window))}, {t("age", duration(Math.max(0, f.sent - f.at + (Date.now() - f.arrived))))}
          {!Number.isNaN(f.fabric) && <><span class="dot"> · </span><br />{t("fabricClock", fabricTime(f.fabric), fabric.factor.toLocaleString("en"))}</>}
        </small>
      )}
    </div>
  );
}
