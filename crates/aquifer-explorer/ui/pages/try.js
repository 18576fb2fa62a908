// Free requests and batches in tabs, with history and collections.
import { debounce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { age, json } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";
import { setQuery } from "/lib/router.js";
import { describeRequest, forgetHistory, history } from "/lib/storage.js";
import { loadTabs, newTab, storeTab, storeTabs } from "/lib/request_tabs.js";
import { collectionsView, saveDialog } from "/parts/collections.js";
import { copyButton } from "/parts/copy.js";
import { jsonEditor } from "/parts/editor.js";
import { runner } from "/parts/runner.js";
import { tabs } from "/parts/tabs.js";

export const title = () => "Try";

const MAX_ADDRESS = 6000;
const START = { operation: "introspect", params: { query: "summary" } };
const BATCH = { operations: [{ operation: "", params: {} }, { operation: "", params: { id: { $from: "0.data.items.0.id" } } }] };

export async function render(main, params, query) {
  const state = { tabs: loadTabs(START), runners: new Map(), operations: [] };
  state.selected = state.tabs.selected;
  const given = parseJson(query.get("request") ?? "");
  if (!given.error && typeof given.value === "object" && given.value !== null) openOrSelect(state, given.value);
  const strip = h("div", { class: "request-tabs" });
  const body = h("div", {});
  const side = h("div", { class: "side" });
  const draw = () => {
    drawStrip(strip, state, draw);
    drawBody(body, state, draw, drawSide);
  };
  const openRequest = (request) => {
    open(state, request);
    draw();
    body.querySelector("textarea")?.focus();
  };
  const drawSide = () => replace(side, sideTabs(state, openRequest));
  replace(main, heading("Try", ["Send any request, or several in one batch. Requests stay in this browser. ", h("a", { href: "/operations" }, "All operations"), " have a form of their own."]), strip, h("div", { class: "try-layout" }, body, side));
  draw();
  drawSide();
  get("/operations").then(({ operations }) => {
    state.operations = operations;
    draw();
  }, () => null);
  return () => state.runners.forEach(({ run }) => run.stop());
}

/** A request that is already open is selected, so that a reload does not copy it. */
function openOrSelect(state, request) {
  const written = JSON.stringify(request);
  const same = state.tabs.list.find((tab) => JSON.stringify(parseJson(tab.text).value) === written);
  if (!same) open(state, request);
  else state.selected = same.id;
}

/** Writes the request of the selected tab into the address, if it fits. */
function share(tab) {
  const { value, error } = parseJson(tab.text);
  const written = error ? "" : JSON.stringify(value);
  setQuery({ request: written.length <= MAX_ADDRESS ? written : null });
}

function open(state, request) {
  const tab = newTab(json(request));
  state.tabs.list.push(tab);
  state.selected = tab.id;
  storeTab(tab);
  storeTabs(state.tabs.list, state.selected);
}

function drawStrip(strip, state, draw) {
  const choose = (id) => {
    state.selected = id;
    storeTabs(state.tabs.list, id);
    draw();
  };
  const close = (tab) => {
    state.runners.get(tab.id)?.run.stop();
    state.runners.delete(tab.id);
    storeTab({ ...tab, text: undefined });
    state.tabs.list = state.tabs.list.filter((one) => one !== tab);
    if (state.tabs.list.length === 0) open(state, START);
    if (state.selected === tab.id) state.selected = state.tabs.list.at(-1).id;
    choose(state.selected);
  };
  const item = (tab) => h("li", { class: tab.id === state.selected ? "current" : null },
    h("button", { type: "button", class: "tab-name", "aria-current": tab.id === state.selected ? "true" : null, on: { click: () => choose(tab.id) } }, tabTitle(tab)),
    h("button", { type: "button", class: "tab-close", "aria-label": `Close ${tabTitle(tab)}`, on: { click: () => close(tab) } }, "✕"));
  const add = () => {
    open(state, START);
    draw();
  };
  const addBatch = () => {
    open(state, BATCH);
    draw();
  };
  replace(strip, h("ul", { "aria-label": "Requests" }, state.tabs.list.map(item)),
    h("button", { type: "button", class: "button small", on: { click: add } }, "New request"), h("button", { type: "button", class: "button small", on: { click: addBatch } }, "New batch"));
}

function tabTitle(tab) {
  const parsed = parseJson(tab.text);
  return parsed.error ? "not valid JSON" : describeRequest(parsed.value).slice(0, 40);
}

function drawBody(body, state, draw, onRun) {
  const tab = state.tabs.list.find(({ id }) => id === state.selected) ?? state.tabs.list[0];
  if (!state.runners.has(tab.id)) state.runners.set(tab.id, createPane(tab, state, onRun, () => drawStrip(document.querySelector(".request-tabs"), state, draw)));
  const pane = state.runners.get(tab.id);
  pane.setOperations(state.operations);
  share(tab);
  replace(body, pane.element);
}

function createPane(tab, state, onRun, titleChanged) {
  const shareLater = debounce(() => element.isConnected && share(tab), 300);
  const editor = jsonEditor({ label: "Request as JSON", text: tab.text, rows: 16, onText: stored, onRun: () => run.run() });
  const request = () => {
    const parsed = editor.result();
    if (!parsed.error && typeof parsed.value === "object" && parsed.value !== null) return parsed.value;
    editor.area.focus();
    return null;
  };
  const run = runner({ request, apply: (fixed) => editor.set(fixed), onDone: onRun });
  const names = h("datalist", { id: `operations-${tab.id}` });
  const add = h("input", { list: names.id, placeholder: "operation", "aria-label": "Operation to add", autocomplete: "off", on: { keydown: (event) => event.key === "Enter" && addOperation() } });

  function stored(text) {
    tab.text = text;
    storeTab(tab);
    titleChanged();
    shareLater();
  }

  function addOperation() {
    const current = request();
    if (!current || !add.value.trim()) return;
    const list = Array.isArray(current.operations) ? current.operations : [{ operation: current.operation, params: current.params ?? {} }];
    const isBlank = (one) => !one?.operation;
    const call = { operation: add.value.trim(), params: {} };
    editor.set({ operations: list.some(isBlank) ? list.map((one, i) => (i === list.findIndex(isBlank) ? { ...one, operation: call.operation } : one)) : [...list, call] });
    add.value = "";
  }

  const target = async (current) => {
    const first = current.operation ?? current.operations?.[0]?.operation;
    const details = await get(`/operations/${encodeURIComponent(first)}`).catch(() => null);
    return { tool: details?.operation?.mcpTool ?? "mcp_aql_read", place: details?.place };
  };
  const keys = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run.run();
  };
  const element = h("div", { class: "stack", on: { keydown: keys } }, editor.element,
    h("div", { class: "toolbar" }, run.button, copyButton(request, target), h("button", { type: "button", class: "button", on: { click: () => request() && saveDialog(request(), onRun) } }, "Save…")),
    h("div", { class: "toolbar" }, add, names, h("button", { type: "button", class: "button small", on: { click: addOperation } }, "Add to the batch"), h("span", { class: "muted" }, "A value of an earlier answer: ", h("code", {}, '{"$from": "0.data.id"}'))),
    h("h2", { class: "visually-hidden" }, "Answer"), run.output);
  const setOperations = (operations) => names.childElementCount === 0 && replace(names, operations.slice(0, 2000).map(({ name }) => h("option", { value: name })));
  return { element, run, setOperations };
}

function sideTabs(state, openRequest) {
  const remembered = state.side ?? "history";
  return tabs("Requests", [
    { id: "history", label: "History", render: () => historyView(openRequest) },
    { id: "collections", label: "Collections", render: () => collectionsView(openRequest) },
  ], { selected: remembered, onSelect: (id) => { state.side = id; } }).element;
}

function historyView(openRequest) {
  const entries = history();
  if (entries.length === 0) return h("p", { class: "empty" }, "Requests that you run appear here.");
  const list = h("ul", { class: "request-list" }, entries.map(({ time, request, code }) => h("li", {},
    h("button", { type: "button", class: "request-item", on: { click: () => openRequest(request) } },
      h("span", { class: "mono" }, describeRequest(request)), h("span", { class: "muted mono clip" }, json(request.params ?? request.operations ?? {}, 0).slice(0, 120)),
      h("span", { class: "muted" }, age(time), code && h("span", { class: "error-text" }, ` ${code}`))))));
  const clear = h("button", { type: "button", class: "button quiet small", on: { click: () => {
    forgetHistory();
    replace(box, h("p", { class: "empty" }, "The history is empty."));
  } } }, "Clear the history");
  const box = h("div", {}, list, clear);
  return box;
}
