// Numbers and times as a person reads them.
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const NOTHING = "–";
const ISO = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d*?)0*)?Z$/;

export function count(value) {
  return value === null || value === undefined ? NOTHING : whole.format(Math.round(value));
}

export function decimal(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  if (Math.abs(value) >= 1000) return whole.format(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

// For the narrow place beside a chart.
export function compact(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  return Math.abs(value) >= 1000 ? short.format(value) : decimal(value);
}

export function isTime(value) {
  return typeof value === "string" && ISO.test(value);
}

// A name or text of the data: one that is absurdly long must not fill the page.
export function cut(text) {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

// A value of the data: times as people write them, structures as JSON.
export function anything(value) {
  if (value === null || value === undefined) return NOTHING;
  if (typeof value === "object") {
    const events = eventsOf(value);
    if (events) return events;
    const whole = JSON.stringify(value);
    return whole.length > 60 ? `${whole.slice(0, 60)}…` : whole;
  }
  // as the data has it, but without the digits that only a binary fraction has
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(7)));
  const text = String(value);
  const time = ISO.exec(text);
  return time ? `${time[1]} ${time[2]}${time[3] ? `.${time[3]}` : ""}` : cut(text);
}

// The events of a match: what each is called, and when it happened.
function eventsOf(value) {
  if (Array.isArray(value)) return null;
  const parts = Object.entries(value).map(([name, event]) => {
    const times = (Array.isArray(event) ? event : [event]).map((one) => one && ISO.exec(one.time));
    return times.length && times.every(Boolean) ? `${name} ${times.map((time) => time[2]).join(", ")}` : null;
  });
  return parts.length && parts.every(Boolean) ? parts.join(" · ") : null;
}

export function percent(value) {
  return value === null || value === undefined ? NOTHING : `${Number((100 * value).toPrecision(3))} %`;
}

export function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.0995) return `${Number((value * 1000).toPrecision(2))} ms`;
  if (size < 120) return `${Number(value.toPrecision(3))} s`;
  if (size < 7200) return `${Number((value / 60).toPrecision(3))} min`;
  return `${Number((value / 3600).toPrecision(3))} h`;
}

export function bytes(value) {
  if (value === null || value === undefined) return NOTHING;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (Math.abs(value) < 1000) return `${Number(value.toPrecision(3))} ${unit}`;
    value /= 1000;
  }
  return `${Number(value.toPrecision(3))} TB`;
}

export function clock(epoch, withDay = false) {
  if (!Number.isFinite(epoch) || Math.abs(epoch) > 8e12) return NOTHING;
  const text = new Date(epoch * 1000).toISOString();
  return withDay ? text.slice(0, 19).replace("T", " ") : text.slice(11, 19);
}

export function lasted(value) {
  const s = Math.max(0, Math.round(value));
  const two = (n) => String(n).padStart(2, "0");
  return `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
