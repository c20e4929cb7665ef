// The fabric as the server knows it: nodes, and cables with two ends each. The
// ends of cable l are 2l and 2l+1, the first being nearer to the hosts.
export interface FabricNode {
  name: string;
  tier: number;
}

export interface End {
  node: number;
  port: string;
  rate: number; // bits a second, 0: not known
  rail: number; // -1: none
  host: boolean;
}

export interface Fabric {
  name: string;
  source: "agents" | "sim" | "record";
  factor: number; // by which simulated time is slowed
  every: number; // distance of the readings, ms
  nodes: FabricNode[];
  ends: End[];
  names: string[]; // "host-7/nic-3", by end
}

export async function loadFabric(): Promise<Fabric> {
  const r = await fetch("/api/weir/fabric");
  if (!r.ok) throw new Error(r.status + " " + r.statusText);
  const j = await r.json();
  const nodes: FabricNode[] = j.nodes.map((n: [string, number]) => ({ name: n[0], tier: n[1] }));
  const ends: End[] = j.ends.map((e: [number, string, number, number, number]) => ({ node: e[0], port: e[1], rate: e[2], rail: e[3], host: e[4] === 1 }));
  const names = ends.map((e) => (e.node < 0 ? "" : nodes[e.node]!.name + "/" + e.port));
  return { name: j.name, source: j.source, factor: j.factor, every: j.every_ms, nodes, ends, names };
}

export const peer = (end: number) => end ^ 1;

const tierNames = ["host", "leaf", "spine", "core"];

// A Kind is all cables between two tiers.
export interface Kind {
  id: string; // "host-leaf"
  cables: number[];
}

export function kinds(f: Fabric): Kind[] {
  const by = new Map<string, number[]>();
  for (let c = 0; c < f.ends.length / 2; c++) {
    const tier = (e: number) => {
      const n = f.ends[e]!.node;
      return n < 0 ? "" : (tierNames[Math.min(f.nodes[n]!.tier, 3)] ?? "");
    };
    const id = [tier(2 * c), tier(2 * c + 1)].filter((s) => s !== "").join("-");
    const list = by.get(id);
    if (list) list.push(c);
    else by.set(id, [c]);
  }
  return [...by].map(([id, cables]) => ({ id, cables }));
}
