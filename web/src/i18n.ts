// All words of the pages, in both languages. Finding texts come from the server.
import { current } from "./url";

const en = {
  overview: "Overview", ports: "Ports", heat: "Heat map", findings: "Findings", job: "Job",
  live: "live", connecting: "connecting", lost: "connection lost, trying again", frozen: "paused",
  age: "{0} old", window: "rates over {0}", pauseLive: "Pause the view (Space)", resumeLive: "Go on (Space)",
  language: "中文", theme: "Dark or light", help: "Keys (?)", fabricClock: "fabric time {0}, slowed {1} times",
  loading: "Loading…", failed: "The server answers: {0}", none: "none",
  // verdict
  v_fine: "Lossless and fair. The busiest port sends at {1} of its line rate.",
  v_no_data: "No readings yet.",
  v_drops: "Packets are dropped: {1} at {0}.",
  v_storm: "Pause storm: {0} holds others back {1} of the time.",
  v_pause: "Pause spreads from {0}: up to {1} of the time.",
  v_errors: "Link errors: {1} at {0}.",
  v_uneven_uplinks: "Uplinks are loaded unevenly: {0} carries {1} times the mean of its switch.",
  v_marks: "Congestion: {0} marks {1} of its packets.",
  v_silent: "{1} of the ports send no readings.",
  ofPorts: "{0} ports",
  good: "good", strained: "strained", bad: "bad", unknown: "unknown",
  // columns
  port: "Port", peer: "Other end", utilisation: "Sends", pauseRx: "Held back", pauseTx: "Holds back", marks: "ECN marks",
  cnpSent: "CNP sent", cnpHandled: "CNP handled", drops: "Drops", oos: "Out of sequence", retrans: "Sent again", errors: "Link errors", queue: "Queue",
  h_utilisation: "Bits sent, and their share of the line rate",
  h_pauseRx: "Share of the time in which PFC pause from the other end stopped this port, of the priority that was stopped longest",
  h_pauseTx: "Share of the time in which this port's PFC pause stopped the other end",
  h_marks: "Switch: packets that its queues marked. NIC: marked packets that it received",
  h_cnpSent: "Congestion notifications that the NIC sent", h_cnpHandled: "Congestion notifications that slowed the NIC down",
  h_drops: "Packets dropped at this port", h_oos: "Packets behind a gap at the receiving NIC", h_retrans: "Packets that the NIC sent again; sequence errors and time-outs where it does not count packets",
  h_errors: "Errors, lost frames and ups and downs of the link",
  // overview
  map: "Fabric", mapHint: "A cable is two halves: each shows what its near end sends. Click to see the ports.",
  legendUtil: "share of line rate", legendPause: "held back by pause", top: "Top ports: {0}", pauseTree: "Who pauses whom", pauseTreeHint: "From the root down: each line is held back by the one above it.",
  loop: "a loop: deadlock", nothing: "nothing above 0", root: "root", noFindings: "No findings.", allFindings: "All findings", cables: "{0} cables",
  // ports
  search: "Port or node, / to search", allCables: "all cables", onlyActive: "only with trouble", rows: "{0} of {1} cables", nicColumns: "counted by NICs only", stale: "stale",
  sortHint: "Sort by this column",
  // heat
  pause: "Pause", marked: "Marks", heatHint: "One row a port, one column a second: time runs to the right. Click a row to open the port.", heatPause: "share of time held back", heatMarks: "share of packets marked", byFabric: "in the order of the fabric", byMost: "largest first", nearHosts: "at the lower end", nearCore: "at the upper end", shown: "rows",
  // port
  range: "Range", follow: "Follow", back: "Back", now: "now", thisEnd: "this end", otherEnd: "other end", throughput: "Throughput", pauseTime: "Pause, share of time", ecnMarks: "ECN marks", cnp: "CNP", lossChart: "Drops and errors", order: "Out of sequence and sent again", queueDepth: "Queue",
  sent: "sent", received: "received", held: "held back", holds: "holds the other end back", prio: "prio {0}", dropsHere: "drops", zoomHint: "Drag to zoom, double click to go back. Bands are the least and the most where points are thinned out.", resets: "Counter resets", gaps: "Gaps", noPort: "There is no port {0}.", compare: "Switch to the other end", resolution: "one point is {0}", counters: "Raw counters",
  events: "Events", ev_finding: "finding", ev_change: "change", ev_fault: "fault", ev_over: "over",
  // findings
  severity: "Severity", cause: "Cause", where: "Where", since: "Since", lastSeen: "last seen {0}", confidence: "confidence {0}", evidence: "Evidence", refuted: "Speaks against it", decide: "Deciding test", fix: "Fix", disruption: "disturbs: {0}", showChart: "Show the port's charts", missing: "What would decide more", over: "over", active: "now", all: "all",
  info: "info", warning: "warning", error: "error", critical: "critical", copy: "Copy", copied: "Copied", noFix: "none known",
  // job
  jobNone: "The cluster file names no job.", expected: "Expected", measured: "Measured", busbw: "Bus bandwidth", expectedHint: "closed form for this cluster: {0}", measuredHint: "payload sent by the hosts' NICs, mean of the job's hosts, over {0}", ofExpected: "{0} of the expected", perHost: "What each host of the job sends", runs: "Finished operations of the simulated job", size: "Size", time: "Time", algorithm: "Algorithm", share: "Share", idle: "The job is not sending.", hostMedian: "median {0}", hosts: "{0} hosts", busNow: "{0} now",
  // help
  keys: "Keys", k_go: "go to", k_search: "search", k_move: "move through rows", k_open: "open", k_space: "pause or go on", k_theme: "dark or light", k_lang: "language", k_help: "these keys", k_esc: "close, clear",
};

type Key = keyof typeof en;

const zh: Record<Key, string> = {
  overview: "总览", ports: "端口", heat: "热力图", findings: "诊断", job: "作业",
  live: "实时", connecting: "连接中", lost: "连接中断，正在重连", frozen: "已暂停",
  age: "{0} 前", window: "速率窗口 {0}", pauseLive: "暂停画面（空格）", resumeLive: "继续（空格）",
  language: "English", theme: "深色或浅色", help: "按键（?）", fabricClock: "网络时间 {0}，放慢 {1} 倍",
  loading: "加载中…", failed: "服务器返回：{0}", none: "无",
  v_fine: "无丢包且公平。最忙的端口发送速率为线速的 {1}。",
  v_no_data: "尚无读数。",
  v_drops: "正在丢包：{0} 处 {1}。",
  v_storm: "PFC 风暴：{0} 在 {1} 的时间内压住其他端口。",
  v_pause: "PFC 暂停从 {0} 扩散：最多占 {1} 的时间。",
  v_errors: "链路错误：{0} 处 {1}。",
  v_uneven_uplinks: "上行链路负载不均：{0} 为本交换机均值的 {1} 倍。",
  v_marks: "拥塞：{0} 标记了 {1} 的报文。",
  v_silent: "{1} 的端口没有读数。",
  ofPorts: "{0} 个端口",
  good: "正常", strained: "紧张", bad: "故障", unknown: "未知",
  port: "端口", peer: "对端", utilisation: "发送", pauseRx: "被暂停", pauseTx: "暂停对端", marks: "ECN 标记",
  cnpSent: "CNP 发送", cnpHandled: "CNP 处理", drops: "丢包", oos: "乱序", retrans: "重传", errors: "链路错误", queue: "队列",
  h_utilisation: "发送速率及其占线速的比例",
  h_pauseRx: "本端口被对端 PFC 暂停的时间占比，取暂停最久的优先级",
  h_pauseTx: "本端口用 PFC 暂停对端的时间占比",
  h_marks: "交换机：其队列标记的报文。网卡：收到的带标记报文",
  h_cnpSent: "网卡发出的拥塞通知", h_cnpHandled: "使网卡降速的拥塞通知",
  h_drops: "本端口丢弃的报文", h_oos: "接收网卡上位于缺口之后的报文", h_retrans: "网卡重新发送的报文；网卡不计报文时为序号错误与超时次数",
  h_errors: "链路的错误、丢失的帧与通断次数",
  map: "网络", mapHint: "一条线缆分两半：每半显示近端的发送。点击查看端口。",
  legendUtil: "线速占比", legendPause: "被暂停", top: "端口排行：{0}", pauseTree: "谁暂停了谁", pauseTreeHint: "自根向下：每一行都被上一行压住。",
  loop: "成环：死锁", nothing: "全部为 0", root: "根", noFindings: "没有诊断结论。", allFindings: "全部诊断", cables: "{0} 条线缆",
  search: "端口或节点，按 / 搜索", allCables: "全部线缆", onlyActive: "只看有问题的", rows: "{1} 条线缆中的 {0} 条", nicColumns: "仅网卡计数", stale: "过期",
  sortHint: "按此列排序",
  pause: "暂停", marked: "标记", heatHint: "每行一个端口，每列一秒，时间向右。点击某行打开端口。", heatPause: "被暂停的时间占比", heatMarks: "被标记的报文占比", byFabric: "按网络顺序", byMost: "最大者在前", nearHosts: "下端", nearCore: "上端", shown: "行",
  range: "范围", follow: "跟随", back: "返回", now: "现在", thisEnd: "本端", otherEnd: "对端", throughput: "吞吐", pauseTime: "暂停，时间占比", ecnMarks: "ECN 标记", cnp: "CNP", lossChart: "丢包与错误", order: "乱序与重传", queueDepth: "队列",
  sent: "发送", received: "接收", held: "被暂停", holds: "暂停对端", prio: "优先级 {0}", dropsHere: "丢包", zoomHint: "拖动放大，双击还原。点被抽稀处的色带为最小与最大值。", resets: "计数器清零", gaps: "缺口", noPort: "没有端口 {0}。", compare: "切换到对端", resolution: "每点 {0}", counters: "原始计数器",
  events: "事件", ev_finding: "诊断", ev_change: "变更", ev_fault: "故障", ev_over: "结束",
  severity: "严重程度", cause: "原因", where: "位置", since: "自", lastSeen: "最后出现 {0}", confidence: "置信度 {0}", evidence: "证据", refuted: "反证", decide: "判定测试", fix: "修复", disruption: "影响：{0}", showChart: "查看端口曲线", missing: "还需要什么才能判定", over: "已结束", active: "当前", all: "全部",
  info: "提示", warning: "警告", error: "错误", critical: "严重", copy: "复制", copied: "已复制", noFix: "未知",
  jobNone: "集群文件没有写作业。", expected: "期望", measured: "实测", busbw: "总线带宽", expectedHint: "本集群的闭式解：{0}", measuredHint: "作业各主机网卡发出的净荷，取主机均值，窗口 {0}", ofExpected: "期望值的 {0}", perHost: "作业各主机的发送", runs: "仿真作业中已完成的操作", size: "大小", time: "时间", algorithm: "算法", share: "占比", idle: "作业没有在发送。", hostMedian: "中位数 {0}", hosts: "{0} 台主机", busNow: "当前 {0}",
  keys: "按键", k_go: "前往", k_search: "搜索", k_move: "上下移动", k_open: "打开", k_space: "暂停或继续", k_theme: "深色或浅色", k_lang: "语言", k_help: "按键说明", k_esc: "关闭、清除",
};

export type Lang = "en" | "zh";

// lang is that of the address, else that of the browser.
export function lang(): Lang {
  const q = current().query.get("lang");
  if (q === "zh" || q === "en") return q;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function t(key: Key, ...args: (string | number)[]): string {
  return (lang() === "zh" ? zh : en)[key].replace(/\{(\d)\}/g, (_, i) => String(args[Number(i)] ?? ""));
}

// word is t for keys that the server chose; an unknown one is shown as it is.
export function word(key: string, ...args: (string | number)[]): string {
  return key in en ? t(key as Key, ...args) : key;
}
