// The page: takes the model, whole from the file or in changes from the server, and shows it.
import { clock, lasted } from "./format.js";
import { make, say } from "./dom.js";
import { emptyModel, applyChange } from "./store.js";
import { Streams } from "./streams.js";
import { Queries } from "./queries.js";
import { Sources } from "./sources.js";
import { Results } from "./results.js";
import { startTheme } from "./theme.js";
import { drawing } from "./chart.js";

const by = (id) => document.getElementById(id);
startTheme(by("theme"));
const streams = new Streams(by("streams-section"), by("overview"), by("streams"));
const queries = new Queries(by("queries"));
const sources = new Sources(by("sources-section"), by("sources"), by("sources-summary"), by("sources-which"), by("sources-named"));
const results = new Results(by("results-section"), by("results"));

const RETRY = 5000; // milliseconds, where the server said no
const BUDGET = 10; // milliseconds of a frame after which no other step is begun
const PARTS = { streams, drawing, sources, results, queries }; // those in front are up to date first
const waiting = [], known = new Set();
let model = emptyModel(), asked = false, connection = "", said = "";

function head() {
  say(by("pipeline"), model.pipeline || "Waiting for a run");
  document.title = `${model.pipeline || "Waiting"} · Slackwater`;
  const state = by("state");
  say(state, connection || model.state || "waiting");
  state.dataset.state = connection ? "lost" : model.state;
  say(by("clock"), model.began ? `${clock(model.began, true)} UTC · ${lasted(model.now - model.began)}` : "");
  const host = by("alerts"), alerts = model.alerts || [];
  while (host.children.length < alerts.length) host.append(make("p"));
  while (host.children.length > alerts.length) host.lastChild.remove();
  alerts.forEach(([, text], at) => say(host.children[at], text));
  announce(state.textContent, alerts);
}

// A screen reader hears of a warning once, not each time a number in it changes.
function announce(state, alerts) {
  const news = alerts.filter(([key]) => !known.has(key)).map(([, text]) => text);
  known.clear();
  for (const [key] of alerts) known.add(key);
  if (state !== said && said) news.unshift(`The run: ${state}.`);
  said = state;
  if (news.length) by("announce").textContent = news.join(" ");
}

// What has come is taken at once; what is shown of it follows in steps, as many as a frame has room for.
function frame() {
  const began = performance.now();
  if (waiting.length) {
    for (const change of waiting.splice(0)) take(change);
    head();
  }
  // steps of one part only: what two parts change would also be laid out and painted in one go
  const part = next();
  let steps = 0, more = Boolean(part);
  while (more && (steps === 0 || performance.now() - began < BUDGET)) {
    more = part.step(model);
    steps += 1;
  }
  performance.measure("slackwater-frame", { start: began, end: performance.now(), detail: { steps } });
  performance.clearMeasures("slackwater-frame"); // observers have it; a page that is open for days must not keep it
  asked = waiting.length > 0 || Boolean(next());
  if (asked) requestAnimationFrame(frame);
}

function next() {
  return Object.values(PARTS).find((part) => part.going || part.changed.size);
}

function take(change) {
  let news;
  [model, news] = applyChange(model, change);
  for (const [name, part] of Object.entries(PARTS)) {
    if (part === drawing) continue; // the charts ask for themselves
    if (news.whole) part.reset();
    part.add(news[name]);
  }
}

function add(change) {
  if (change.whole) waiting.length = 0;
  waiting.push(change);
  wake();
}

function wake() {
  if (!asked) requestAnimationFrame(frame);
  asked = true;
}
drawing.wake = wake;

const inside = by("model");
if (inside) {
  add(JSON.parse(inside.textContent));
} else {
  let events = null;
  const listen = () => {
    events = new EventSource("events");
    events.addEventListener("open", () => { connection = ""; });
    events.addEventListener("message", (event) => add(JSON.parse(event.data)));
    events.addEventListener("error", () => {
      connection = "connection lost, trying again";
      head();
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, RETRY);
    });
  };
  listen();
  // a page that nobody looks at draws nothing: it would only gather changes
  document.addEventListener("visibilitychange", () => {
    events.close();
    if (!document.hidden) listen();
  });
}
