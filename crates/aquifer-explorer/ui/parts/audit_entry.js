// Audit entries as rows of a table that expand to everything that was written.
import { h, uniqueId, visible } from "/lib/dom.js";
import { date, json } from "/lib/format.js";
import { badge, facts } from "/parts/badges.js";

const COLUMNS = ["Time", "Event", "Operation", "Source", "Outcome", "Caller", "Reason"];

/** A table that grows. `append(entries)` returns the button of the first new row. */
export function entryTable() {
  const body = h("tbody", {});
  const element = h("div", { class: "scroll", role: "region", "aria-label": "Audit entries", tabindex: "0" },
    h("table", { class: "table audit-table" },
      h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))),
      body));
  let count = 0;

  function append(entries) {
    const rows = entries.map(entryRow);
    body.append(...rows);
    count += rows.length;
    return rows[0]?.querySelector("button") ?? null;
  }

  function clear() {
    body.replaceChildren();
    count = 0;
  }

  return { element, append, clear, count: () => count };
}

/** Who called: the principal if it is known, otherwise the fingerprint of the session. */
export const callerOf = (entry) => entry.user_id ?? entry.session_id ?? "";

function entryRow(entry) {
  const id = uniqueId("entry");
  const button = h("button", { type: "button", class: "button quiet small", "aria-expanded": "false", "aria-controls": id,
    "aria-label": visible(`${date(entry.timestamp)}, ${entry.event}: all fields`), on: { click: () => toggle(row, button, id, entry) } },
  h("span", { class: "chevron", "aria-hidden": "true" }), h("time", { datetime: entry.timestamp }, date(entry.timestamp)));
  const row = h("tr", {},
    h("td", { class: "nowrap" }, button),
    h("td", {}, h("span", { class: "mono" }, entry.event)),
    h("td", {}, entry.operation && h("span", { class: "mono" }, entry.operation)),
    h("td", {}, entry.adapter_name),
    h("td", {}, badge(entry.result), entry.code && h("div", { class: "mono small-print" }, entry.code)),
    h("td", {}, h("span", { class: "mono small-print" }, callerOf(entry))),
    h("td", {}, h("span", { class: "clamp" }, entry.reason)));
  return row;
}

function toggle(row, button, id, entry) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) return row.nextElementSibling.remove();
  row.after(h("tr", { id, class: "entry-details" }, h("td", { colspan: COLUMNS.length }, entryDetails(entry))));
}

/** Every field of an entry, and a link to the other entries of its request. */
export function entryDetails(entry) {
  const fields = Object.entries(entry).map(([name, value]) => [name, fieldValue(name, value)]);
  return h("div", { class: "entry-fields" },
    entry.request_id && h("p", {}, h("a", { href: requestAddress(entry.request_id) }, "All entries of this request")),
    facts(fields));
}

/** The page with all entries of one request. */
export const requestAddress = (id) => `/audit/${encodeURIComponent(id)}`;

function fieldValue(name, value) {
  if (value !== null && typeof value === "object") return h("pre", { class: "code" }, json(value));
  if (name === "operation") return h("a", { href: `/operations/${encodeURIComponent(value)}` }, h("code", {}, value));
  return h("span", { class: "mono" }, value === null ? "null" : String(value));
}
