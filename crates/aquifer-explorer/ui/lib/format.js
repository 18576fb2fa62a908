// Numbers, times and JSON as people read them.
import { escapeHidden } from "/lib/dom.js";
import { stringifyInOrder } from "/lib/key_order.js";

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** 12345.6 → "12,345.6" */
export const number = (value) => (Number.isFinite(value) ? NUMBER.format(value) : "–");

/** plural(1, "operation") → "1 operation"; plural(3, "entry", "entries") → "3 entries" */
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** Tokens, with "≈" if they are estimated. */
export const tokens = (count, estimated = false) =>
  count === null || count === undefined ? "–" : `${estimated ? "≈ " : ""}${plural(count, "token")}`;

/** 1536 → "1.5 KiB" */
export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  if (count < 1024) return plural(count, "byte");
  const units = ["KiB", "MiB", "GiB"];
  let value = count / 1024;
  let unit = 0;
  while (value >= 1024 && unit < 2) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/** Microseconds → "340 µs", "12.4 ms", "3.2 s" */
export function duration(micros) {
  if (!Number.isFinite(micros)) return "–";
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1e6) return `${(micros / 1000).toFixed(micros < 1e4 ? 2 : 1)} ms`;
  if (micros < 6e7) return `${(micros / 1e6).toFixed(1)} s`;
  return span(micros / 1000);
}

/** Milliseconds → "3 min", in the largest unit that fits. */
export function span(millis) {
  const seconds = Math.max(0, Math.round(millis / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

/** A time (RFC 3339 text, Date or milliseconds) → "3 min ago", "in 2 h", "just now" */
export function age(time, now = Date.now()) {
  const millis = new Date(now).getTime() - new Date(time).getTime();
  if (!Number.isFinite(millis)) return "–";
  if (Math.abs(millis) < 2000) return "just now";
  return millis > 0 ? `${span(millis)} ago` : `in ${span(-millis)}`;
}

/** A time → "17 Nov 2026, 14:05:09", in the zone of the reader. */
export function date(time) {
  const parsed = new Date(time);
  return Number.isNaN(parsed.getTime()) ? String(time ?? "–") : DATE.format(parsed);
}

/** A time with its zone → "17 Nov 2026, 14:05:09 GMT+1" */
export function dateInZone(time) {
  const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(new Date(time));
  return `${date(time)} ${zone.find(({ type }) => type === "timeZoneName")?.value ?? ""}`.trim();
}

/** Pretty JSON; hidden characters are escaped, so the text is valid and shows them. */
export function json(value, indent = 2) {
  return escapeHidden(stringifyInOrder(value, indent) ?? "null");
}
