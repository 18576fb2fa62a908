// One request in the audit log: what was intended, what happened, and the time between.
import { h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { date, duration, plural } from "/lib/format.js";
import { entryDetails } from "/parts/audit_entry.js";
import { badge, code } from "/parts/elements.js";

const MAX_ENTRIES = 500;

/** Draws the entries of the request `id` in the order in which they were written. */
export async function renderRequest(main, id) {
  const { entries, next } = await get(`/audit?${new URLSearchParams({ request: id, limit: String(MAX_ENTRIES) })}`);
  const ordered = [...entries].reverse();
  replace(main,
    heading(["Request ", code(id)], introduction(ordered)),
    h("p", {}, h("a", { href: "/audit" }, "All entries")),
    ordered.length === 0 ? nothing() : timeline(ordered),
    next !== null && next !== undefined && h("p", { class: "muted" }, `Only the newest ${MAX_ENTRIES} entries are shown.`));
}

const nothing = () => h("div", { class: "empty" },
  h("p", {}, "Nothing was recorded about this request."),
  h("p", {}, "The log has every denial, every confirmation and every operation that changes something. A read that is allowed, and a dry run, leave no entry."));

function introduction(entries) {
  if (entries.length === 0) return null;
  const took = micros(entries.at(-1).timestamp) - micros(entries[0].timestamp);
  const isOpen = entries.some(({ event }) => event === "OPERATION_INTENT") && !entries.some(({ event }) => event === "OPERATION_OUTCOME");
  const rest = isOpen ? " An intent without an outcome means that it is still running, or that how it ended is not known." : "";
  return `${plural(entries.length, "entry", "entries")}${entries.length > 1 ? ` within ${duration(took)}` : ""}.${rest}`;
}

function timeline(entries) {
  return h("ol", { class: "timeline" }, entries.map((entry, index) =>
    h("li", {}, index > 0 && h("p", { class: "timeline-gap muted" }, gap(entries[index - 1], entry)), step(entry))));
}

function gap(before, after) {
  const took = micros(after.timestamp) - micros(before.timestamp);
  return took >= 0 ? `${duration(took)} later` : `the clock went back by ${duration(-took)}`;
}

function step(entry) {
  // The link to this page is left out of its own fields.
  const { request_id, ...fields } = entry;
  return h("div", { class: "card" },
    h("h2", {}, h("span", { class: "mono" }, entry.event), " ", badge(entry.result)),
    h("p", {}, date(entry.timestamp), entry.operation && [" · ", code(entry.operation)],
      entry.adapter_name && ` of ${entry.adapter_name}`, entry.code && [" · ", code(entry.code)]),
    entry.reason && h("p", { class: "words" }, entry.reason),
    h("details", {}, h("summary", {}, "All fields"), entryDetails(fields)));
}

/** A time in microseconds; Date alone would round to milliseconds. */
function micros(time) {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? "";
  return Math.floor(new Date(time).getTime() / 1000) * 1e6 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
