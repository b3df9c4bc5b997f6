// Windows, matches and pairs as they come, on a time line with the events that they name.
import { anything, clock } from "./format.js";
import { make, table } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const LANES = 8, LANE = 14, SIDE = 34, SHOWN = 20, COLUMNS = 8;

function shape(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

class ResultCard {
  constructor(name) {
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

  update(results) {
    this.results = results;
    this.draw();
    const recent = results.slice(-SHOWN).reverse();
    const names = Object.keys(recent[0].row).slice(0, COLUMNS);
    const { box, body } = table("Recent results, newest first", [["Emitted", ""], ...names.map((n) => [n, "long"])]);
    for (const one of recent) {
      const row = make("tr", "", make("td", "", clock(one.at)));
      for (const name of names) {
        const value = Object.hasOwn(one.row, name) ? one.row[name] : null, cell = make("td", "long", anything(value));
        if (value !== null && typeof value === "object") cell.title = JSON.stringify(value, null, 1); // all of it, on asking
        row.append(cell);
      }
      body.append(row);
    }
    this.place.replaceChildren(box);
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

export class Results {
  constructor(section, host) {
    this.section = section;
    this.host = host;
    this.reset();
  }

  reset() {
    this.cards = new Map();
    this.host.replaceChildren();
    this.section.hidden = true;
  }

  update(model, changed) {
    for (const name of changed) {
      this.section.hidden = false;
      if (!this.cards.has(name)) {
        this.cards.set(name, new ResultCard(name));
        this.host.append(this.cards.get(name).element);
      }
      this.cards.get(name).update(model.results.get(name));
    }
  }
}
