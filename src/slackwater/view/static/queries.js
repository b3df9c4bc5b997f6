// A card per streaming query: how long its micro-batches take, and how much state it holds.
import { bytes, compact, count, percent, seconds } from "./format.js";
import { Facts, make } from "./dom.js";
import { Chart } from "./chart.js";
import { Part } from "./part.js";

const FACTS = [["Micro-batches", "batches", count], ["Rows", "rows", count], ["Last took", "last", seconds],
  ["State entries", "state_rows", count], ["State size", "state_bytes", bytes]];
// Of a watched session: what Spark's own watermark does. Times are in milliseconds.
const MARKED = [["Dropped by the watermark", "dropped", count], ["Share dropped", "loss", percent],
  ["Watermark delay", "delay_ms", inSeconds], ["Delay that keeps all", "keeps_all_ms", inSeconds], ["Results behind, mean", "lag_ms", inSeconds]];

function inSeconds(value) {
  return seconds(value === null ? null : value / 1000);
}

class QueryCard {
  constructor(name) {
    this.name = name;
    this.facts = new Facts();
    this.took = new Chart("Micro-batch duration", [{ label: "duration", colour: "blue" }], seconds, name);
    this.rows = new Chart("Rows per micro-batch", [{ label: "rows", colour: "green" }], compact, name);
    this.state = new Chart("State size", [{ label: "memory", colour: "pink" }], bytes, name);
    this.charts = [this.took, this.rows, this.state];
    this.place = make("div", "charts", ...this.charts.map((chart) => chart.element));
    this.element = make("article", "card wide", make("header", "", make("h3", "", name), make("span", "kind", "streaming query")), this.facts.list, this.place);
    this.element.setAttribute("aria-label", `Query ${name}`);
  }

  * update({ totals, history }) {
    for (const [label, key, shown] of FACTS) this.facts.set(label, shown(totals[key]));
    const mark = totals.watermark;
    if (mark && (mark.delay_ms !== null || mark.dropped)) { // else the query has no watermark of Spark's
      for (const [label, key, shown] of MARKED) this.facts.set(label, shown(mark[key]), key === "dropped" && mark.dropped > 0);
      if (!this.dropped) {
        this.dropped = new Chart("Dropped per micro-batch", [{ label: "rows dropped", colour: "orange" }], compact, this.name);
        this.behind = new Chart("Watermark behind the clock", [{ label: "behind", colour: "blue" }], seconds, this.name);
        this.charts.push(this.dropped, this.behind);
        this.place.append(this.dropped.element, this.behind.element);
        yield;
      }
      this.dropped.set([history.t, history.dropped]);
      yield;
      this.behind.set([history.t, history.behind]);
      yield;
    }
    for (const [chart, column] of [[this.took, history.seconds], [this.rows, history.rows], [this.state, history.state_bytes]]) {
      chart.set([history.t, column]);
      yield;
    }
  }
}

export class Queries extends Part {
  constructor(host) {
    super();
    this.host = host;
    this.reset();
  }

  reset() {
    this.forget();
    for (const { charts } of (this.cards || new Map()).values()) {
      for (const chart of charts) chart.destroy();
    }
    this.cards = new Map();
    this.host.replaceChildren();
  }

  * work(model) {
    for (const name of this.taken()) {
      if (!this.cards.has(name)) {
        this.cards.set(name, new QueryCard(name));
        this.host.append(this.cards.get(name).element);
      }
      yield* this.cards.get(name).update(model.queries.get(name));
    }
  }
}
