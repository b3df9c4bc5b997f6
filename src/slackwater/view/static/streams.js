// A card per stream: its numbers, and charts of what it has numbers for.
import { compact, count, decimal, percent, seconds } from "./format.js";
import { Facts, make, table, makeRow, fillRow } from "./dom.js";
import { Chart } from "./chart.js";
import { Part } from "./part.js";

const HEADS = [["Stream", ""], ["Made by", ""], ["Rows in", "n"], ["Rows/s", "n"], ["Ready", "n"], ["Late", "n"], ["Late share", "n"],
  ["Bound", "n"], ["Quarantined", "n"], ["Latency p95", "n"], ["Watermark lag", "n"]];
const NAMES = { source: "source", select: "windows", event: "pattern", pairs: "pairs", sql: "SQL" };

function rates(times, column) {
  return times.slice(1).map((time, at) => (column[at + 1] - column[at]) / (time - times[at]));
}

function isOver(totals) {
  return totals.bound !== null && totals.late_share !== null && totals.late_share > totals.bound;
}

// Of a run that goes on the latest rate, of one that is over the mean: its last moment had no rows.
function rate(history, running) {
  const n = history.t.length, from = running ? n - 2 : 0;
  return n < 2 ? null : (history.in[n - 1] - history.in[from]) / (history.t[n - 1] - history.t[from]);
}

// Spark may take a minute to start, which would fill the charts with nothing: from the first point with rows,
// or for rates from the one before it.
function sinceRows(history, before) {
  const from = history.in.findIndex((rows) => rows > 0) - before;
  if (from <= 0) return history;
  return Object.fromEntries(Object.entries(history).map(([name, column]) => [name, Array.isArray(column) ? column.slice(from) : column]));
}

const CHARTS = [
  { title: "Throughput", rates: true, shown: (v) => v === null || v === undefined ? "–" : `${compact(v)}/s`, has: () => true,
    kinds: [{ label: "in", colour: "blue" }, { label: "ready", colour: "green", dashed: true }, { label: "late", colour: "orange" }],
    data: (h) => [h.t.slice(1), rates(h.t, h.in), rates(h.t, h.ready), rates(h.t, h.late)] },
  { title: "Delay and buffer", shown: seconds, has: (h) => h.p50.some((v) => v !== null) || h.buffer.some((v) => v !== null),
    kinds: [{ label: "latency p50", colour: "blue" }, { label: "p95", colour: "green" }, { label: "p99", colour: "pink" },
      { label: "buffer (mean wait)", colour: "yellow", dashed: true }, { label: "late rows came", colour: "orange", dots: true }],
    data: (h) => [h.t, h.p50, h.p95, h.p99, h.buffer,
      h.late.map((late, at) => late > (at ? h.late[at - 1] : 0) ? 0 : null)] },
  { title: "Late share", shown: percent, has: (h, totals) => totals.bound !== null || totals.late > 0,
    kinds: [{ label: "late, since the start", colour: "orange" }, { label: "bound", colour: "blue", dashed: true }],
    data: (h, totals) => [h.t, h.late.map((late, at) => late + h.ready[at] ? late / (late + h.ready[at]) : null), h.t.map(() => totals.bound)] },
  { title: "Watermark lag", shown: seconds, has: (h) => h.lag.some((v) => v !== null),
    kinds: [{ label: "arrival clock − watermark", colour: "blue" }], data: (h) => [h.t, h.lag] },
];

class StreamCard {
  constructor(name, node) {
    this.name = name;
    this.facts = new Facts();
    this.charts = make("div", "charts");
    this.made = new Map();
    const title = make("h3", "", name);
    this.element = make("article", "card", make("header", "", title, make("span", "kind", kindOf(node))), this.facts.list, this.charts);
    this.element.setAttribute("aria-label", `Stream ${name}`);
  }

  * update({ totals, history }, running) {
    this.facts.set("Rows in", count(totals.in));
    this.facts.set("Rows/s", decimal(rate(history, running)));
    this.facts.set("Ready", count(totals.ready));
    if (totals.late || totals.bound !== null) {
      this.facts.set("Late", count(totals.late));
      this.facts.set("Late share", percent(totals.late_share), isOver(totals));
    }
    if (totals.bound !== null) this.facts.set("Bound", percent(totals.bound));
    if (totals.quarantined) this.facts.set("Quarantined", count(totals.quarantined));
    if (totals.unreadable) this.facts.set("Unreadable", count(totals.unreadable));
    if (totals.latency.p50 !== undefined) this.facts.set("Latency p50", seconds(totals.latency.p50));
    if (totals.latency.p99 !== undefined) this.facts.set("Latency p99", seconds(totals.latency.p99));
    if (totals.buffer !== null) this.facts.set("Buffer", seconds(totals.buffer));
    if (totals.lag !== null) this.facts.set("Watermark lag", seconds(totals.lag));
    const held = sinceRows(history, 0);
    for (const plan of CHARTS) {
      if (!this.made.has(plan.title)) {
        if (!plan.has(history, totals)) continue;
        yield;
        const chart = new Chart(plan.title, plan.kinds, plan.shown, this.name);
        this.made.set(plan.title, chart);
        this.charts.append(chart.element);
      }
      this.element.classList.toggle("wide", this.made.size > 1);
      this.made.get(plan.title).set(plan.data(plan.rates ? history : held, totals));
      yield;
    }
  }
}

function kindOf(node) {
  if (!node) return "";
  const kind = Object.hasOwn(NAMES, node.kind) ? NAMES[node.kind] : node.kind;
  return node.inputs.length ? `${kind} of ${node.inputs.join(", ")}` : kind;
}

export class Streams extends Part {
  constructor(section, overview, cards) {
    super();
    this.section = section;
    this.overview = overview;
    this.host = cards;
    this.reset();
  }

  reset() {
    this.forget();
    for (const card of (this.cards || new Map()).values()) {
      for (const chart of card.made.values()) chart.destroy();
    }
    this.cards = new Map();
    this.rows = new Map();
    const { box, body } = table("Numbers of every stream", HEADS);
    this.body = body;
    this.overview.replaceChildren(box);
    this.host.replaceChildren();
    this.section.hidden = true; // a watched session may have no stream of ours
  }

  * work(model) {
    for (const name of this.taken()) {
      this.section.hidden = false;
      const totals = model.streams.get(name).totals, history = sinceRows(model.streams.get(name).history, 1);
      const node = Object.hasOwn(model.nodes, name) ? model.nodes[name] : null;
      if (!this.cards.has(name)) {
        this.cards.set(name, new StreamCard(name, node));
        this.host.append(this.cards.get(name).element);
        this.rows.set(name, makeRow(HEADS.map(([, kind], at) => at < 2 ? "long" : kind)));
        this.body.append(this.rows.get(name));
      }
      const row = this.rows.get(name);
      fillRow(row, [name, kindOf(node), count(totals.in), decimal(rate(history, model.state === "running")), count(totals.ready), count(totals.late),
        percent(totals.late_share), percent(totals.bound), count(totals.quarantined), seconds(totals.latency.p95), seconds(totals.lag)]);
      row.children[6].classList.toggle("over", isOver(totals));
      yield* this.cards.get(name).update({ totals, history }, model.state === "running");
    }
  }
}
