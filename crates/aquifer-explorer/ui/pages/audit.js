// The audit log, newest first, with filters in the address; and all entries of one request.
import { announce, debounce, h, heading, replace } from "/lib/dom.js";
import { get, post } from "/lib/api.js";
import { plural } from "/lib/format.js";
import { setQuery } from "/lib/router.js";
import { entryTable } from "/parts/audit_entry.js";
import { renderRequest } from "/parts/audit_request.js";
import { button, card, code, field, problem, select, textInput } from "/parts/elements.js";

const RESULTS = ["allowed", "approved", "confirmation_required", "confirmed", "denied", "done", "failed", "intended", "quarantined", "unknown", "changed"];
const EVENTS = [
  "OPERATION_INTENT", "OPERATION_OUTCOME", "OPERATION_ALLOWED", "OPERATION_DENIED", "CONFIRMATION_REQUIRED", "CONFIRMATION_GRANTED",
  "TOKEN_REJECTED", "APPROVAL_GRANTED", "APPROVAL_DECLINED", "QUOTA_WARNED", "QUOTA_PAUSED", "QUOTA_CONTINUED", "QUOTA_STOPPED",
  "REFUSALS_COUNTED", "DEFINITION_QUARANTINED", "DEFINITION_ACCEPTED", "DEFINITION_REJECTED",
  "TOOL_CLASSIFIED", "RULES_CHANGED", "CHANGES_RESUMED", "DESTINATION_FORGOTTEN", "CHAIN_STARTED", "CHAIN_CONTINUED", "FILES_DROPPED",
];
const PAGE_SIZE = 100;

// A part of the log without a matching entry gives an empty page. So many of them are skipped without asking.
const MAX_EMPTY_PAGES = 20;

export const title = ({ id }) => (id ? `Request ${id}` : "Audit");

export async function render(main, { id }, query) {
  if (id) return renderRequest(main, id);
  const list = createList();
  const filters = createFilters(query, list.load);
  const verification = h("div", { role: "status" });
  const verifyButton = button("Verify the log", () => verify(verifyButton, verification));
  replace(main,
    heading("Audit", "Every denial, every confirmation and every operation that changes something. Reads that are allowed are not recorded.", verifyButton),
    verification, filters.element, list.element);
  await list.load(filters.values());
  return list.stop;
}

/** The form. Every change goes to the address, and to `onChange` as the values of the request. */
function createFilters(query, onChange) {
  const time = (name) => Object.assign(textInput("datetime-local", toLocal(query.get(name))), { step: 1 });
  const text = (name) => textInput("search", query.get(name));
  const choice = (name, values) => select([["", "Any"], ...values], query.get(name) ?? "");
  const controls = {
    from: time("from"), to: time("to"), caller: text("caller"), source: text("source"), operation: text("operation"),
    outcome: choice("outcome", RESULTS), event: choice("event", EVENTS), approval: text("approval"),
  };
  const values = () => Object.fromEntries(Object.entries(controls).map(([name, { type, value }]) =>
    [name, type === "datetime-local" ? toUtc(value) : value.trim()]));
  const apply = () => {
    setQuery(values());
    onChange(values());
  };
  const clear = () => {
    for (const control of Object.values(controls)) control.value = "";
    apply();
  };
  const element = h("div", { class: "filters", role: "search", "aria-label": "Filter the entries", on: { input: debounce(apply, 250) } },
    Object.entries(controls).map(([name, control]) => field(name[0].toUpperCase() + name.slice(1), control)),
    button("Clear", clear, "quiet"));
  return { element, values };
}

/** The local time of the form → RFC 3339. */
function toUtc(local) {
  const time = new Date(local);
  return local && !Number.isNaN(time.getTime()) ? time.toISOString() : "";
}

function toLocal(utc) {
  const time = new Date(utc ?? "");
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

function createList() {
  const summary = h("p", { class: "muted" });
  const content = h("div", {});
  const moreButton = button("Load more", () => loadMore(), "", { hidden: true });
  const table = entryTable();
  let wanted = {};
  let next = null;
  let request = new AbortController();

  async function load(filters) {
    wanted = filters;
    next = null;
    table.clear();
    await loadMore(true);
  }

  async function loadMore(isFirst = false) {
    request.abort();
    request = new AbortController();
    moreButton.disabled = true;
    try {
      const found = await search(request.signal);
      const firstNew = table.append(found);
      show();
      if (!isFirst) firstNew?.focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      replace(content, problem(`The entries cannot be read: ${error.message}`));
    }
    moreButton.disabled = false;
  }

  /** The next entries. None if there are no more, or none were found in a large part of the log. */
  async function search(signal) {
    for (let page = 0; page < MAX_EMPTY_PAGES; page += 1) {
      const answer = await get(`/audit?${queryOf(wanted, next)}`, { signal });
      next = answer.next ?? null;
      if (answer.entries.length > 0 || next === null) return answer.entries;
    }
    return [];
  }

  function show() {
    const count = table.count();
    const none = next ? "No entry found yet. Older ones were not searched." : "No entry matches these filters.";
    const words = count === 0 ? none : `${plural(count, "entry", "entries")}${next ? ", and there are more" : ""}.`;
    replace(summary, words);
    announce(words);
    moreButton.hidden = next === null;
    replace(moreButton, count === 0 ? "Search further" : "Load more");
    replace(content, count === 0 ? h("p", { class: "empty" }, none) : table.element);
  }

  const element = h("div", {}, summary, content, h("p", {}, moreButton));
  return { element, load, stop: () => request.abort() };
}

function queryOf(filters, before) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  if (before !== null) query.set("before", before);
  return query;
}

/** Checks the hash chains on the server and says plainly whether anything was altered. */
async function verify(button, place) {
  button.disabled = true;
  replace(place, h("p", { class: "muted" }, "Reading every entry…"));
  try {
    const { intact, reports = [] } = await post("/audit/verify");
    if (reports.length === 0) return replace(place, card("warn", h("p", {}, "There is nothing to verify: the audit log is off, or nothing was written yet.")));
    const words = intact ? "The log is intact: no entry was altered, removed or reordered." : "The log is not intact.";
    replace(place, card(intact ? "ok" : "danger",
      h("p", {}, h("strong", {}, words)),
      reports.length > 0 && h("ul", { class: "plain-list" }, reports.map(reportLine))));
  } catch (error) {
    replace(place, card("danger", h("p", {}, `The log could not be verified: ${error.message}`)));
  } finally {
    button.disabled = false;
  }
}

function reportLine({ place, text, intact }) {
  return h("li", {}, h("strong", {}, intact ? "Intact" : "Broken"), " ", place && code(place), place && ": ", h("span", { class: "words" }, text));
}
