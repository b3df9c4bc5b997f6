// The page: takes the model, whole from the file or in changes from the server, and shows it.
import { clock, lasted } from "./format.js";
import { make, say } from "./dom.js";
import { emptyModel, applyChange } from "./store.js";
import { Streams } from "./streams.js";
import { Queries } from "./queries.js";
import { Sources } from "./sources.js";
import { Results } from "./results.js";
import { startTheme } from "./theme.js";

const by = (id) => document.getElementById(id);
startTheme(by("theme"));
const streams = new Streams(by("overview"), by("streams"));
const queries = new Queries(by("queries"));
const sources = new Sources(by("sources-section"), by("sources"), by("sources-summary"), by("sources-which"), by("sources-named"));
const results = new Results(by("results-section"), by("results"));

const RETRY = 5000; // milliseconds, where the server said no
const waiting = [], later = new Map();
let model = emptyModel(), asked = false, connection = "";

function head() {
  say(by("pipeline"), model.pipeline || "Waiting for a run");
  document.title = `${model.pipeline || "Waiting"} · Slackwater`;
  const state = by("state");
  say(state, connection || model.state || "waiting");
  state.dataset.state = connection ? "lost" : model.state;
  say(by("clock"), model.began ? `${clock(model.began, true)} UTC · ${lasted(model.now - model.began)}` : "");
  const texts = model.alerts || [], shown = [...by("alerts").children].map((p) => p.textContent);
  if (texts.length !== shown.length || texts.some((text, at) => text !== shown[at])) {
    by("alerts").replaceChildren(...texts.map((text) => make("p", "", text)));
  }
}

// One thing per frame, so that none is long: first what has come, then, part by part, what is further down.
function frame() {
  const began = performance.now();
  if (waiting.length) {
    for (const change of waiting.splice(0)) take(change);
    head();
  } else {
    const [part, names] = later.entries().next().value;
    later.delete(part);
    part.update(model, names);
  }
  // the charts draw in microtasks that they have queued by now
  queueMicrotask(() => {
    performance.measure("slackwater-frame", { start: began, end: performance.now() });
    performance.clearMeasures("slackwater-frame"); // observers have it; a page that is open for days must not keep it
  });
  asked = waiting.length + later.size > 0;
  if (asked) requestAnimationFrame(frame);
}

function take(change) {
  let news;
  [model, news] = applyChange(model, change);
  if (news.whole) {
    later.clear();
    for (const part of [streams, queries, sources, results]) part.reset();
  }
  streams.update(model, news.streams);
  for (const [part, names] of [[queries, news.queries], [sources, news.sources], [results, news.results]]) {
    if (names.size) later.set(part, new Set([...(later.get(part) || []), ...names]));
  }
}

function add(change) {
  if (change.whole) waiting.length = 0;
  waiting.push(change);
  if (!asked) requestAnimationFrame(frame);
  asked = true;
}

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
