// Elements made by hand: whatever the data holds becomes text, never markup.
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Names and values; one is added when it is first set.
export class Facts {
  constructor() {
    this.list = make("dl", "facts");
    this.known = new Map();
  }

  set(label, text, over = false) {
    if (!this.known.has(label)) {
      const value = make("dd"), box = make("div", "", make("dt", "", label), value);
      this.known.set(label, { box, value });
      this.list.append(box);
    }
    const { box, value } = this.known.get(label);
    say(value, text);
    box.classList.toggle("over", over);
  }
}

// A table in a box that scrolls by itself, also with the keyboard.
export function table(label, heads) {
  const head = make("tr");
  for (const [name, kind] of heads) {
    const cell = make("th", kind, name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = make("tbody");
  const box = make("div", "scroll", make("table", "", make("thead", "", head), body));
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  return { box, body };
}

// A row whose cells are changed only where their text is another.
export function makeRow(kinds) {
  const row = make("tr");
  kinds.forEach((kind, at) => {
    const cell = make(at === 0 ? "th" : "td", kind);
    if (at === 0) cell.scope = "row";
    row.append(cell);
  });
  return row;
}

const written = new WeakMap(); // what a row says, so that the document need not be asked

export function fillRow(row, texts) {
  const had = written.get(row) || [];
  for (let at = 0; at < texts.length; at += 1) {
    if (had[at] !== texts[at]) row.children[at].textContent = texts[at];
  }
  written.set(row, texts);
}
