// Each source's health, those that need a look first.
import { clock, count, cut, decimal } from "./format.js";
import { say, table, makeRow, fillRow } from "./dom.js";
import { Part } from "./part.js";

const HEADS = [["Source", "long"], ["Stream", "long"], ["Health", ""], ["Rows", "n"], ["Late", "n"], ["Rows/s", "n"], ["Last seen", "n"]];
const AT_ONCE = 40; // rows written in one step
const ORDER = { silent: 0, idle: 1, new: 2, live: 3 };

export class Sources extends Part {
  constructor(section, host, summary, which, named) {
    super();
    Object.assign(this, { section, host, summary, which, named });
    for (const control of [which, named]) control.addEventListener("input", () => this.filter());
    this.reset();
  }

  reset() {
    this.forget();
    this.rows = new Map();
    const { box, body } = table("Health of every source", HEADS);
    this.body = body;
    this.host.replaceChildren(box);
    this.section.hidden = true;
  }

  * work(model) {
    this.section.hidden = false;
    let moved = false, written = 0;
    for (const key of this.taken()) {
      const [stream, name, status, rows, late, rate, seen] = model.sources.get(key);
      if (!this.rows.has(key)) {
        this.rows.set(key, { row: makeRow(HEADS.map(([, kind]) => kind)), name, status: "" });
        moved = true;
      }
      const one = this.rows.get(key);
      const health = status === "silent" ? `silent since ${clock(seen)}` : status;
      fillRow(one.row, [cut(name), cut(stream), health, count(rows), count(late), decimal(rate), clock(seen)]);
      if (one.status !== status) {
        one.status = status;
        one.row.children[2].className = `status ${status}`;
        moved = true;
      }
      written += 1;
      if (written % AT_ONCE === 0) yield;
    }
    if (moved) this.sort(model);
  }

  sort(model) {
    const all = [...this.rows.values()];
    all.sort((a, b) => ORDER[a.status] - ORDER[b.status] || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    this.body.append(...all.map((one) => one.row));
    const tally = new Map();
    for (const one of all) tally.set(one.status, (tally.get(one.status) || 0) + 1);
    const parts = Object.keys(ORDER).reverse().filter((s) => tally.has(s)).map((s) => `${count(tally.get(s))} ${s}`);
    if (model.more_sources) parts.push(`${count(model.more_sources)} more not shown`);
    say(this.summary, parts.join(" · "));
    this.filter();
  }

  filter() {
    const text = this.named.value.toLowerCase(), all = this.which.value === "all";
    for (const one of this.rows.values()) {
      one.row.hidden = !(all || one.status !== "live") || !one.name.toLowerCase().includes(text);
    }
  }
}
