import { useEffect, useState } from "preact/hooks";
import { loadFindings, type FindingsAnswer } from "./findings";
import type { Fabric } from "./fabric";
import { percent } from "./format";
import { lang, t, word } from "./i18n";
import { useLive, type Pauser } from "./live";
import { FabricMap } from "./map";
import { largest, metrics } from "./metrics";
import { href, portHref } from "./url";
import { VerdictLine } from "./verdict";

const tops = ["pauseRx", "marks", "cnpSent", "oos", "drops"];

function Tops({ fabric: f }: { fabric: Fabric }) {
  const { frame } = useLive();
  return (
    <section class="tops">
      {tops.map((id) => {
        const m = metrics.find((m) => m.id === id)!;
        const list = frame ? largest(frame, m.column, 5) : [];
        return (
          <div class="top" key={id} data-top={id}>
            <h3><a href={href("/ports", { sort: "-" + id })} title={t(("h_" + id) as "h_drops")}>{t("top", t(id as "drops"))}</a></h3>
            {list.length === 0 && <p class="quiet">{t("nothing")}</p>}
            <table><tbody>
              {list.map((e) => (
                <tr key={e}>
                  <td><a href={portHref(f.names[e]!)}>{f.names[e]}</a></td>
                  <td class="num">{m.text(frame!.values[m.column][e]!)}</td>
                </tr>
              ))}
            </tbody></table>
          </div>
        );
      })}
    </section>
  );
}

function Branch({ p, depth }: { p: Pauser; depth: number }) {
  return (
    <li>
      <span class="who" style={{ paddingLeft: depth * 18 + "px" }}>
        {depth > 0 && <i class="elbow" aria-hidden="true">└ </i>}
        <a href={p.port ? portHref(p.port) : href("/ports", { q: p.node })}>{p.port || p.node}</a>
        {depth === 0 ? <b class="tag">{t("root")}</b> : <span class="share"><i style={{ width: p.share * 100 + "%" }} /></span>}
        <span>{depth > 0 && percent(p.share)}{p.loop && <b class="tag bad">{t("loop")}</b>}</span>
      </span>
      {p.held && <ul>{p.held.map((h) => <Branch key={h.node + h.port} p={h} depth={depth + 1} />)}</ul>}
    </li>
  );
}

function Tree() {
  const { frame } = useLive();
  if (!frame || frame.pauses.length === 0) return null;
  return (
    <section class="tree" data-test="tree">
      <h2>{t("pauseTree")} <small>{t("pauseTreeHint")}</small></h2>
      <ul>{frame.pauses.slice(0, 6).map((p) => <Branch key={p.node} p={p} depth={0} />)}</ul>
    </section>
  );
}

function Latest() {
  const { frame } = useLive();
  const [a, set] = useState<FindingsAnswer | null>(null);
  const l = lang();
  useEffect(() => void loadFindings().then(set, () => {}), [frame?.findings, l]);
  const now = a?.findings.filter((f) => f.active) ?? [];
  return (
    <section class="latest" data-test="latest">
      <h2><a href={href("/findings")}>{t("findings")}</a></h2>
      {now.length === 0 && <p class="quiet">{t("noFindings")}</p>}
      {now.slice(0, 4).map((f) => (
        <a class="brief" key={f.cause + f.where} href={href("/findings", { f: f.cause + "@" + f.where })}>
          <b class={"tag " + f.severity}>{word(f.severity)}</b> {f.title} <small>{f.where}</small>
        </a>
      ))}
    </section>
  );
}

export function Overview({ fabric }: { fabric: Fabric }) {
  return (
    <main class="overview">
      <VerdictLine fabric={fabric} big />
      <div class="left"><FabricMap fabric={fabric} /><Tree /></div>
      <div class="right"><Latest /><Tops fabric={fabric} /></div>
    </main>
  );
}
