// Windows, matches and pairs as they come, on a time line with the events that they name.
import { anything, clock, isTime } from "./format.js";
import { make, table, makeRow, fillRow } from "./dom.js";
import { Part } from "./part.js";

const SVG = "http://www.w3.org/2000/svg";
const LANES = 8, LANE = 14, SIDE = 34, SHOWN = 20, COLUMNS = 8;
const LAST = ["events", "match_id", "op"]; // what a match says of itself comes after what was asked for

function columnsOf(row) {
  const names = Object.keys(row), rank = (name) => LAST.indexOf(name) + 1;
  return names.sort((a, b) => rank(a) - rank(b)).slice(0, COLUMNS);
}

function shape(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

class ResultCard {
  constructor(name) {
    this.name = name;
    this.line = shape("svg", { class: "timeline", role: "img" });
    this.label = `Times of the recent results of ${name}`;
    this.place = make("div");
    this.element = make("article", "card", make("header", "", make("h3", "", name)), this.line, this.place);
    this.results = [];
    this.width = 0;
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.width) return;
      this.width = width;
      this.draw();
    }).observe(this.place);
  }

  * update(results) {
    this.results = results;
    this.draw();
    yield;
    const recent = results.slice(-SHOWN).reverse(), names = columnsOf(recent[0].row);
    if (!this.names || names.length !== this.names.length || names.some((name, at) => name !== this.names[at])) {
      this.names = names;
      const { box, body } = table(`Recent results of ${this.name}, newest first`, [["Emitted", ""], ...names.map((n) => [n, "long"])]);
      this.body = body;
      this.place.replaceChildren(box);
    }
    // rows are written over, not made anew: who reads them keeps focus and place
    while (this.body.children.length < recent.length) this.body.append(makeRow(["", ...names.map(() => "long")]));
    recent.forEach((one, number) => {
      const values = names.map((name) => Object.hasOwn(one.row, name) ? one.row[name] : null);
      const row = this.body.children[number];
      fillRow(row, [clock(one.at), ...values.map(anything)]);
      values.forEach((value, at) => { // all of it, on asking
        row.children[at + 1].classList.toggle("when", isTime(value));
        row.children[at + 1].title = value !== null && typeof value === "object" ? JSON.stringify(value, null, 1) : "";
      });
    });
  }

  draw() {
    const timed = this.results.filter((one) => one.times.length);
    this.line.toggleAttribute("hidden", !timed.length);
    if (!timed.length || !this.width) return;
    let from = Infinity, to = -Infinity;
    for (const one of timed) {
      from = Math.min(from, one.times[0]);
      to = Math.max(to, one.times[one.times.length - 1]);
    }
    const lanes = Math.min(LANES, timed.length), height = lanes * LANE + 26, span = to - from || 1;
    const at = (time) => SIDE + (time - from) / span * (this.width - 2 * SIDE);
    this.line.setAttribute("height", height);
    this.line.setAttribute("aria-label", `${this.label}, from ${clock(from, true)} to ${clock(to, true)}`);
    const parts = [];
    const ticks = this.width < 500 ? 3 : 6;
    for (let i = 0; i < ticks; i += 1) {
      const time = from + span * i / (ticks - 1);
      parts.push(shape("line", { class: "axis", x1: at(time), x2: at(time), y1: 0, y2: height - 18 }),
        shape("text", { x: at(time), y: height - 4, "text-anchor": "middle" }, clock(time)));
    }
    timed.forEach((one, number) => {
      const y = 8 + (number % lanes) * LANE, last = one.times.length - 1;
      parts.push(shape("line", { class: "span", x1: at(one.times[0]), x2: at(one.times[last]), y1: y, y2: y }));
      one.times.forEach((time, i) => parts.push(shape("circle", { class: i === last ? "last" : "event", cx: at(time), cy: y, r: 3.5 })));
    });
    this.line.replaceChildren(...parts);
  }
}

export class Results extends Part {
  constructor(section, host) {
    super();
    this.section = section;
    this.host = host;
    this.reset();
  }

  reset() {
    this.forget();
    this.cards = new Map();
    this.host.replaceChildren();
    this.section.hidden = true;
  }

  * work(model) {
    for (const name of this.taken()) {
      this.section.hidden = false;
      if (!this.cards.has(name)) {
        this.cards.set(name, new ResultCard(name));
        this.host.append(this.cards.get(name).element);
      }
      yield* this.cards.get(name).update(model.results.get(name));
      yield;
    }
  }
}
