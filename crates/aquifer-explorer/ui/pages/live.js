// Calls as they happen. The last 500 are kept in the page; the audit log has the rest.
import { announce, debounce, h, heading, replace, visible } from "/lib/dom.js";
import { on } from "/lib/events.js";
import { date, duration, plural } from "/lib/format.js";
import { setQuery } from "/lib/router.js";
import { requestAddress } from "/parts/audit_entry.js";
import { callerWords } from "/parts/caller.js";
import { openMessages } from "/parts/call_messages.js";
import { recordingPanel } from "/parts/recording.js";
import { badge, button, field, operationLink, select, table, textInput } from "/parts/elements.js";

const MAX_CALLS = 500;
const FLUSH_INTERVAL = 200;
const OUTCOMES = ["ok", "failed", "cancelled", "panicked"];
const COLUMNS = ["Time", "Operation", "Caller", "Outcome", "Took", "Audit", "Messages"];

export const title = () => "Live";

export async function render(main, params, query) {
  const view = createView(main, query);
  const stop = on("call", view.receive);
  return () => {
    stop();
    view.stop();
  };
}

function createView(main, query) {
  const search = textInput("search", query.get("q"));
  const outcome = select([["", "Any"], ...OUTCOMES], query.get("outcome") ?? "");
  const pauseButton = button("Pause", togglePause);
  const summary = h("p", { class: "muted" });
  const nothing = h("p", { class: "empty" }, "No calls yet. They appear here as agents make them.");
  const body = h("tbody", {});
  const list = table("Calls", COLUMNS, body);
  // Newest first. `waiting` are those that are not shown yet.
  let calls = [];
  let waiting = [];
  let missed = 0;
  let isPaused = false;
  let timer = null;
  const recording = recordingPanel(markRecorded);

  replace(main,
    heading("Live", "Calls as they happen, newest first.", pauseButton, button("Clear", clear, "quiet")),
    h("div", { class: "filters", role: "search", "aria-label": "Filter the calls", on: { input: debounce(filter, 150) } },
      field("Search calls", search), field("Outcome", outcome)),
    recording.element, summary, nothing, list);
  update();

  function receive(call) {
    waiting.unshift(call);
    if (waiting.length > MAX_CALLS) waiting.pop();
    missed += 1;
    timer ??= setTimeout(flush, FLUSH_INTERVAL);
    recording.update();
  }

  /** Calls whose messages are kept have a button. */
  function markRecorded() {
    for (const row of body.rows) row.querySelector(".messages").hidden = !recording.has(row.dataset.request);
  }

  function flush() {
    timer = null;
    if (!isPaused) {
      const fresh = waiting;
      [waiting, missed] = [[], 0];
      calls = [...fresh, ...calls].slice(0, MAX_CALLS);
      body.prepend(...fresh.filter(matches).map(callRow));
      while (body.childElementCount > MAX_CALLS) body.lastElementChild.remove();
      markRecorded();
    }
    update();
  }

  function matches(call) {
    const words = search.value.trim().toLowerCase();
    const text = `${call.operation} ${call.code ?? ""} ${call.request_id}`.toLowerCase();
    return text.includes(words) && (!outcome.value || call.outcome === outcome.value);
  }

  function filter() {
    setQuery({ q: search.value.trim(), outcome: outcome.value });
    replace(body, calls.filter(matches).map(callRow));
    markRecorded();
    update();
    announce(`${plural(body.childElementCount, "call")} shown.`);
  }

  function togglePause() {
    isPaused = !isPaused;
    if (!isPaused) flush();
    update();
    announce(isPaused ? "Paused." : "Running.");
  }

  function clear() {
    [calls, waiting, missed] = [[], [], 0];
    replace(body);
    update();
  }

  function update() {
    const shown = body.childElementCount;
    replace(pauseButton, isPaused ? `Resume${missed > 0 ? ` (${missed} new)` : ""}` : "Pause");
    replace(summary, calls.length > 0 && `${shown} of ${plural(calls.length, "call")} shown${calls.length === MAX_CALLS ? `, the last ${MAX_CALLS} are kept` : ""}.`);
    nothing.hidden = calls.length > 0;
    list.hidden = calls.length === 0;
  }

  return { receive, stop: () => {
    clearTimeout(timer);
    recording.stop();
  } };
}

function callRow({ time, request_id, operation, caller, client_name, outcome, code, took_us }) {
  return h("tr", { "data-request": request_id },
    h("td", { class: "nowrap" }, h("time", { datetime: time }, date(time))),
    h("td", {}, operationLink(operation)),
    h("td", { class: "small-print" }, callerWords(caller, client_name, "–")),
    h("td", {}, badge(outcome), code && [" ", h("span", { class: "mono small-print" }, code)]),
    h("td", { class: "right nowrap" }, duration(took_us)),
    h("td", {}, request_id && h("a", { href: requestAddress(request_id), "aria-label": visible(`Entries of request ${request_id}`) }, "Entries")),
    h("td", {}, button("Show", () => openMessages(request_id, operation), "small messages", { "aria-label": `Messages of request ${request_id}`, hidden: true })));
}
