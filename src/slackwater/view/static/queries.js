// A card per streaming query: how long its micro-batches take, and how much state it holds.
import { bytes, compact, count, seconds } from "./format.js";
import { make, say } from "./dom.js";
import { Chart } from "./chart.js";
import { Part } from "./part.js";

const FACTS = [["Micro-batches", "batches", count], ["Rows", "rows", count], ["Last took", "last", seconds],
  ["State entries", "state_rows", count], ["State size", "state_bytes", bytes]];

class QueryCard {
  constructor(name) {
    this.values = FACTS.map(() => make("dd"));
    const list = make("dl", "facts");
    FACTS.forEach(([label], at) => list.append(make("div", "", make("dt", "", label), this.values[at])));
    this.took = new Chart("Micro-batch duration", [{ label: "duration", colour: "blue" }], seconds, name);
    this.rows = new Chart("Rows per micro-batch", [{ label: "rows", colour: "green" }], compact, name);
    this.state = new Chart("State size", [{ label: "memory", colour: "pink" }], bytes, name);
    this.element = make("article", "card wide", make("header", "", make("h3", "", name), make("span", "kind", "streaming query")), list,
      make("div", "charts", this.took.element, this.rows.element, this.state.element));
    this.element.setAttribute("aria-label", `Query ${name}`);
  }

  * update({ totals, history }) {
    FACTS.forEach(([, key, shown], at) => say(this.values[at], shown(totals[key])));
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
    for (const { took, rows, state } of (this.cards || new Map()).values()) {
      for (const chart of [took, rows, state]) chart.destroy();
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
