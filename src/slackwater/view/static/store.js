// The model as this page has it: what the server sends is added to it.
export function emptyModel() {
  return { streams: new Map(), queries: new Map(), sources: new Map(), results: new Map(), alerts: [], nodes: {} };
}

// Gives the model after a change, and what of it is new.
export function applyChange(model, change) {
  const next = change.whole ? emptyModel() : model;
  const news = { whole: change.whole, streams: new Set(), queries: new Set(), results: new Set(), sources: new Set() };
  for (const name of ["pipeline", "state", "error", "began", "at", "now", "alerts", "more_sources", "unreadable", "refused"]) {
    next[name] = change[name];
  }
  if (change.nodes) next.nodes = change.nodes;
  for (const part of ["streams", "queries"]) {
    for (const [name, one] of Object.entries(change[part])) {
      const had = next[part].get(name);
      next[part].set(name, { totals: one.totals, history: joined(had && had.history, one.history) });
      news[part].add(name);
    }
  }
  for (const cells of change.sources) {
    const key = JSON.stringify([cells[0], cells[1]]);
    next.sources.set(key, cells);
    news.sources.add(key);
  }
  for (const result of change.results) {
    if (!next.results.has(result.stream)) next.results.set(result.stream, []);
    const kept = next.results.get(result.stream);
    if (kept.length && kept[kept.length - 1].n >= result.n) continue;
    kept.push(result);
    if (kept.length > 60) kept.shift();
    news.results.add(result.stream);
  }
  return [next, news];
}

function joined(had, block) {
  if (!block) return had;
  if (!had || block.start === 0) return block;
  const out = { generation: block.generation, start: 0 };
  for (const name of Object.keys(block)) {
    if (Array.isArray(block[name])) out[name] = had[name].slice(0, block.start).concat(block[name]);
  }
  return out;
}
