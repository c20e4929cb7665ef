import { useEffect, useRef, useState } from "preact/hooks";
import { variable } from "./color";
import { bits, bytes, clock, duration, percent } from "./format";
import { t } from "./i18n";
import { useLive } from "./live";
import { href } from "./url";

interface Job {
  name: string;
  what: string;
  hosts: string[];
  ranks: number;
  sizes: { bytes: number; expected_gbytes_per_s: number; ideal_gbytes_per_s: number; algorithm: string; limit: string }[];
  measured_gbytes_per_s: number | null;
  host_tx_bits_per_s: (number | null)[];
}

interface Answer {
  window_ms: number;
  jobs: Job[];
  past: number[][]; // of each job, GB/s, one a second, oldest first; a negative number stands for none
  runs: { at_ms: number; job: string; bytes: number; time_us: number; bus_gbytes_per_s: number; expected_gbytes_per_s: number }[];
}

const gb = (v: number | null) => (v == null ? "–" : v.toFixed(v < 10 ? 2 : 1) + " GB/s");
const size = (v: number) => (v % 1048576 === 0 ? v / 1048576 + " MiB" : bytes(v));

// The curve of the measured bandwidth of the last minutes, with the expected as
// a line.
function Curve({ list, expected }: { list: number[]; expected: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const c = canvas.current!, k = devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
    c.width = w * k;
    c.height = h * k;
    const g = c.getContext("2d")!;
    g.scale(k, k);
    const most = Math.max(expected, ...list, 1) * 1.1;
    const y = (v: number) => h - 2 - (v / most) * (h - 6);
    g.setLineDash([6, 4]);
    g.strokeStyle = variable("--good");
    g.beginPath();
    g.moveTo(0, y(expected));
    g.lineTo(w, y(expected));
    g.stroke();
    g.setLineDash([]);
    g.strokeStyle = variable("--c1");
    g.lineWidth = 1.5;
    g.beginPath();
    let open = false;
    list.forEach((v, i) => {
      const x = w - (list.length - 1 - i) * (w / 299);
      if (v >= 0) (open ? g.lineTo : g.moveTo).call(g, x, y(v));
      open = v >= 0;
    });
    g.stroke();
    g.fillStyle = variable("--muted");
    g.font = "11px sans-serif";
    g.fillText(t("expected") + " " + gb(expected), 4, y(expected) + 13);
    g.fillText("−5 min", 4, h - 4);
    g.textAlign = "right";
    g.fillText(t("now"), w - 4, h - 4);
  });
  return <canvas class="curve" ref={canvas} />;
}

export function JobPage() {
  const { frame } = useLive();
  const [a, set] = useState<Answer | null>(null);
  const [error, fail] = useState("");
  useEffect(() => {
    fetch("/api/weir/job").then(async (r) => {
      if (!r.ok) throw new Error(r.status + " " + r.statusText);
      set((await r.json()) as Answer);
      fail("");
    }).catch((e) => fail(String(e.message)));
  }, [frame?.sent]);
  return (
    <main class="job">
      {error && <p class="error">{t("failed", error)}</p>}
      {a && a.jobs.length === 0 && <p class="quiet">{t("jobNone")}</p>}
      {a?.jobs.map((job, i) => {
        const last = job.sizes[job.sizes.length - 1];
        const known = job.host_tx_bits_per_s.filter((v): v is number => v != null).sort((x, y) => x - y);
        const median = known[Math.floor(known.length / 2)] ?? 0;
        const most = Math.max(known[known.length - 1] ?? 0, 1);
        const busy = (job.measured_gbytes_per_s ?? 0) > 0.01;
        return (
          <section key={i} data-test="job">
            <h1>{job.name} <small>{job.what}, {t("hosts", job.hosts.length)}{job.ranks > 0 && `, ${job.ranks} ranks`}</small></h1>
            <div class="pairs">
              <div><small>{t("busbw")}, {t("expected")}</small><b data-test="expected">{last ? gb(last.expected_gbytes_per_s) : "–"}</b><span>{last && t("expectedHint", size(last.bytes) + ", " + last.algorithm + ", " + last.limit)}</span></div>
              <div><small>{t("busbw")}, {t("measured")}</small><b data-test="measured">{gb(job.measured_gbytes_per_s)}</b><span>{t("measuredHint", duration(a.window_ms))}</span></div>
              <div><small>{t("share")}</small><b>{last && job.measured_gbytes_per_s != null ? percent(job.measured_gbytes_per_s / last.expected_gbytes_per_s) : "–"}</b><span>{busy ? "" : t("idle")}</span></div>
            </div>
            {last && <Curve list={a.past[i] ?? []} expected={last.expected_gbytes_per_s} />}
            <h3>{t("perHost")} <small>{t("hostMedian", bits(median))}</small></h3>
            <div class="hosts">
              {job.hosts.map((h, k) => {
                const v = job.host_tx_bits_per_s[k];
                const slow = v != null && busy && v < median / 2;
                return <a key={h} href={href("/ports", { q: h })} class={"hostbar" + (slow ? " slow" : "")} title={h + ": " + (v == null ? "–" : bits(v))}><i style={{ height: v == null ? "0" : Math.max(2, (v / most) * 100) + "%" }} /><span>{/(\d+)$/.exec(h)?.[1] ?? h}</span></a>;
              })}
            </div>
          </section>
        );
      })}
      {a && a.runs.length > 0 && (
        <section>
          <h3>{t("runs")}</h3>
          <table class="runs"><thead><tr><th>{t("since")}</th><th>{t("size")}</th><th>{t("time")}</th><th>{t("measured")}</th><th>{t("expected")}</th><th>{t("share")}</th></tr></thead>
            <tbody>{[...a.runs].reverse().slice(0, 20).map((r, i) => <tr key={i}><td>{clock(r.at_ms)}</td><td class="num">{size(r.bytes)}</td><td class="num">{r.time_us.toFixed(1)} µs</td><td class="num">{gb(r.bus_gbytes_per_s)}</td><td class="num">{gb(r.expected_gbytes_per_s)}</td><td class="num">{r.expected_gbytes_per_s > 0 ? percent(r.bus_gbytes_per_s / r.expected_gbytes_per_s) : "–"}</td></tr>)}</tbody></table>
        </section>
      )}
    </main>
  );
}
