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
let model = emptyModel(), waiting = [], connection = "";

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

function frame() {
  const began = performance.now(), changes = waiting;
  waiting = [];
  for (const change of changes) {
    let news;
    [model, news] = applyChange(model, change);
    if (news.whole) for (const part of [streams, queries, sources, results]) part.reset();
    streams.update(model, news.streams);
    queries.update(model, news.queries);
    sources.update(model, news.sources);
    results.update(model, news.results);
  }
  head();
  // the charts draw in microtasks that they have queued by now
  queueMicrotask(() => {
    performance.measure("slackwater-frame", { start: began, end: performance.now() });
    performance.clearMeasures("slackwater-frame"); // observers have it; a page that is open for days must not keep it
  });
}

function add(change) {
  if (change.whole) waiting = [];
  waiting.push(change);
  if (waiting.length === 1) requestAnimationFrame(frame);
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
