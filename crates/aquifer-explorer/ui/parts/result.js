// An answer: its state, what it cost, and its data as a table, charts, a tree or the text that was sent.
import { h, replace } from "/lib/dom.js";
import { findAggregates, findPage, findRows } from "/lib/answer.js";
import { bytes, duration, json, number, plural, tokens } from "/lib/format.js";
import { directText, messagesFold } from "/parts/call_messages.js";
import { copyText } from "/parts/copy.js";
import { aggregateCharts } from "/parts/chart.js";
import { graphView, recordGraph } from "/parts/record_graph.js";
import { objectTable, resultTable } from "/parts/result_table.js";
import { tabs } from "/parts/tabs.js";
import { jsonTree } from "/parts/tree.js";

const RAW_LIMIT = 200000;
const KEY = "aquifer.total";

/**
 * `run` is the answer of POST /api/run. Options: those of the table, `onNext(cursor)`, `onPrevious()`,
 * `failure(error, index)` → element, `treeAction`.
 */
export function resultView(run, options = {}) {
  const { response } = run;
  return h("div", { class: "result stack" }, metrics(run), stages(run.stages), run.request_id && messagesFold(run.request_id), responseView(response, options));
}

function responseView(response, options) {
  if (Array.isArray(response?.results)) return batchView(response, options);
  if (response?.success === false) return h("div", { class: "stack" }, warnings(response.warnings), options.failure?.(response.error ?? {}), rawFold(response));
  return h("div", { class: "stack" }, warnings(response?.warnings), dataView(response?.data, response, options));
}

function dataView(data, response, options) {
  const aggregates = findAggregates(data);
  const found = findRows(data);
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  const items = [];
  if (aggregates.length > 0) items.push({ id: "chart", label: "Chart", render: () => aggregateCharts(aggregates) });
  if (found) items.push({ id: "table", label: "Table", render: () => [found.rows.length > 0 ? resultTable(found, options) : h("p", { class: "empty" }, "No rows."), pager(data, options)] });
  else if (isObject && aggregates.length === 0) items.push({ id: "table", label: "Table", render: () => objectTable(data, options) });
  const graph = found ? recordGraph(found, options.link) : isObject ? recordGraph({ columns: Object.keys(data), rows: [Object.values(data)] }, options.link) : null;
  if (graph) items.push({ id: "graph", label: "Graph", render: () => graphView(graph) });
  items.push({ id: "tree", label: "Tree", render: () => jsonTree(data, { open: 2, action: options.treeAction }) });
  items.push({ id: "raw", label: "Raw", render: () => rawText(response) });
  return tabs("Views of the answer", items, { selected: items.some(({ id }) => id === options.view) ? options.view : items[0].id, onSelect: options.onView }).element;
}

function batchView(response, options) {
  const each = response.results.map((entry, i) => {
    const result = entry.result ?? entry;
    const failed = result.success === false;
    const treeAction = (path) => path.length > 0 && fromButton(i, path);
    const inner = responseView(result, { failure: (error) => options.failure?.(error, i), link: options.link, treeAction: failed ? null : treeAction });
    return h("details", { class: "card", open: response.results.length <= 5 || failed },
      h("summary", {}, h("span", { class: "mono" }, `${entry.index ?? i} ${entry.operation ?? ""} `), stateBadge(result)), inner);
  });
  return h("div", { class: "stack" }, response.halted_at && haltedView(response, options), each, rawFold(response));
}

function haltedView(response, options) {
  const halted = response.halted_at;
  const error = halted.result?.error ?? halted.error ?? {};
  return h("div", { class: "stack" }, h("p", {}, `The batch stopped at ${halted.operation ?? `operation ${halted.index ?? ""}`}: it has to be confirmed. ${plural(response.pending_operations?.length ?? 0, "operation")} did not run yet.`),
    options.failure?.(error, halted.index, response));
}

function fromButton(index, path) {
  if (path.some((name) => String(name).includes("."))) return null;
  const reference = json({ $from: [index, "data", ...path].join(".") }, 0);
  return h("button", { type: "button", class: "button quiet small from", "aria-label": `Copy ${reference}`, on: { click: () => copyText(reference) } }, "$from");
}

function stateBadge(result) {
  if (result.success !== false) return h("span", { class: "badge badge-ok" }, "ok");
  return h("span", { class: "badge badge-danger" }, result.error?.code ?? "failed");
}

/** The state of the whole answer. A batch succeeds even if some of its operations fail. */
function summaryBadge(response) {
  if (response?.success === false) return h("span", { class: "badge badge-danger" }, "failed");
  if (response?.halted_at) return h("span", { class: "badge badge-warn" }, "stopped");
  const failed = (response?.results ?? []).filter((entry) => (entry.result ?? entry).success === false).length;
  return failed > 0 ? h("span", { class: "badge badge-warn" }, `${failed} of ${response.results.length} failed`) : h("span", { class: "badge badge-ok" }, "success");
}

function metrics(run) {
  const total = addToTotal(run);
  return h("div", { class: "toolbar metrics" }, summaryBadge(run.response),
    h("span", {}, duration(run.took_us)), h("span", {}, bytes(run.bytes)), run.tokens !== null && h("span", {}, tokens(run.tokens, true)),
    Number.isFinite(run.direct_tokens) && h("span", { class: "muted", title: "An estimate: what the source returned, or for databases the same rows with all columns" }, `instead of ${directText(run.direct_tokens)}`),
    run.request_id && h("a", { href: `/audit/${encodeURIComponent(run.request_id)}` }, "Audit entry"),
    h("span", { class: "muted" }, `This session: ${plural(total.calls, "call")}, ${tokens(total.tokens, true)} instead of ${number(total.direct)}, ${bytes(total.bytes)}`));
}

/** Adds each answer once, however often it is drawn. */
const counted = new WeakSet();

function addToTotal(run) {
  const total = readTotal();
  if (counted.has(run)) return total;
  counted.add(run);
  const next = { calls: total.calls + 1, tokens: total.tokens + (run.tokens ?? 0), direct: total.direct + (run.direct_tokens ?? run.tokens ?? 0), bytes: total.bytes + (run.bytes ?? 0) };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Storage is disabled: there is no running total.
  }
  return next;
}

function readTotal() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return { calls: Number(stored.calls) || 0, tokens: Number(stored.tokens) || 0, direct: Number(stored.direct) || 0, bytes: Number(stored.bytes) || 0 };
  } catch {
    return { calls: 0, tokens: 0, direct: 0, bytes: 0 };
  }
}

function stages(list) {
  if (!Array.isArray(list) || list.length === 0) return null;
  return h("details", {}, h("summary", {}, "Where the time went"), h("dl", { class: "facts" }, list.map(({ name, took_us: took }) => [h("dt", {}, name), h("dd", {}, duration(took))])));
}

function warnings(list) {
  if (!Array.isArray(list) || list.length === 0) return null;
  return h("ul", { class: "card warn warnings" }, list.map((one) => h("li", {}, one.message ?? json(one, 0), one.code && h("span", { class: "mono muted" }, ` ${one.code}`))));
}

function pager(data, options) {
  const { next, total } = findPage(data);
  const previous = options.onPrevious;
  if (!next && !previous && total === null) return null;
  return h("div", { class: "toolbar pager" },
    (previous || next) && h("button", { type: "button", class: "button", disabled: !previous, on: { click: previous || (() => null) } }, "Previous page"),
    next && options.onNext && h("button", { type: "button", class: "button", on: { click: () => options.onNext(next) } }, "Next page"),
    Number.isFinite(total) && h("span", { class: "muted" }, `${number(total)} in all`));
}

function rawFold(response) {
  const body = h("div", {});
  const details = h("details", { on: { toggle: () => details.open && body.childElementCount === 0 && replace(body, rawText(response)) } }, h("summary", {}, "The answer as JSON"), body);
  return details;
}

function rawText(response) {
  const whole = json(response);
  const pre = h("pre", { class: "code", tabindex: "0", "aria-label": "The answer as JSON" }, whole.slice(0, RAW_LIMIT));
  const showAll = h("button", { type: "button", class: "button small", on: { click: () => {
    replace(pre, whole);
    showAll.remove();
  } } }, `Show all (${bytes(whole.length)})`);
  return h("div", { class: "stack" }, h("div", { class: "toolbar" },
    h("button", { type: "button", class: "button small", on: { click: () => copyText(whole) } }, "Copy"), whole.length > RAW_LIMIT && showAll), pre);
}
