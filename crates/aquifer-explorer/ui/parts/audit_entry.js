// Audit entries as rows of a table that expand to everything that was written.
import { h, uniqueId, visible } from "/lib/dom.js";
import { date, json } from "/lib/format.js";
import { callerWords } from "/parts/caller.js";
import { badge, button, facts, operationLink, table } from "/parts/elements.js";

const COLUMNS = ["Time", "Event", "Operation", "Outcome", "Caller", "Reason"];

/** A table that grows. `append(entries)` returns the button of the first new row. */
export function entryTable() {
  const body = h("tbody", {});
  const element = table("Audit entries", COLUMNS, body);
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

function entryRow(entry) {
  const id = uniqueId("entry");
  const opener = button([h("span", { class: "chevron", "aria-hidden": "true" }), h("time", { datetime: entry.timestamp }, date(entry.timestamp))],
    () => toggle(row, opener, id, entry), "quiet small", { "aria-expanded": "false", "aria-label": visible(`${date(entry.timestamp)}, ${entry.event}: all fields`) });
  const row = h("tr", {},
    h("td", { class: "nowrap" }, opener),
    h("td", { class: "nowrap" }, h("span", { class: "mono" }, entry.event)),
    h("td", {}, entry.operation && h("span", { class: "mono words" }, entry.operation), entry.adapter_name && h("div", { class: "muted small-print" }, entry.adapter_name)),
    h("td", {}, badge(entry.result), entry.code && h("div", { class: "mono small-print" }, entry.code)),
    h("td", { class: "small-print" }, entryCaller(entry)),
    h("td", {}, h("span", { class: "clamp" }, entry.reason)));
  return row;
}

/** The caller, otherwise what its client calls itself, otherwise the session. */
function entryCaller({ user_id, client_name, session_id }) {
  if (!user_id && client_name) return h("span", { class: "words" }, callerWords(null, client_name));
  return h("span", { class: "mono words" }, user_id ?? session_id);
}

function toggle(row, opener, id, entry) {
  const isOpen = opener.getAttribute("aria-expanded") === "true";
  opener.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) return row.nextElementSibling.remove();
  row.after(h("tr", { id, class: "entry-details" }, h("td", { colspan: COLUMNS.length }, entryDetails(entry))));
}

/** Every field of an entry, and a link to the other entries of its request. */
export function entryDetails(entry) {
  const fields = Object.entries(entry).map(([name, value]) => [name, fieldValue(name, value)]);
  return h("div", { class: "entry-fields" },
    entry.request_id && h("p", {}, h("a", { href: requestAddress(entry.request_id) }, "All entries of this request")),
    entry.approval_id && h("p", {}, h("a", { href: `/audit?${new URLSearchParams({ approval: entry.approval_id })}` }, "All entries of this approval"),
      " · ", h("a", { href: `/approvals/${encodeURIComponent(entry.approval_id)}` }, "The approval"), h("span", { class: "muted" }, ", while it is listed")),
    facts(fields));
}

/** The page with all entries of one request. */
export const requestAddress = (id) => `/audit/${encodeURIComponent(id)}`;

function fieldValue(name, value) {
  if (value !== null && typeof value === "object") return h("pre", { class: "code" }, json(value));
  if (name === "operation") return operationLink(value);
  return h("span", { class: "mono" }, value === null ? "null" : String(value));
}
