// All operations: search as agents do, filter, select, and change rules for many at once.
import { announce, debounce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { plural } from "/lib/format.js";
import { navigate, setQuery } from "/lib/router.js";
import { CATEGORIES, DANGERS, DECISIONS, glossary } from "/parts/glossary.js";
import { dangerBadge, decisionBadge, decisionName } from "/parts/levels.js";
import { virtualGrid } from "/parts/virtual_grid.js";

export const title = () => "Operations";

const FILTERS = ["source", "category", "danger", "decision"];
const narrow = matchMedia("(max-width: 48rem)");

const COLUMNS = [
  { label: "Selected", class: "grid-check" }, { label: "Operation", class: "grid-name" }, { label: "Source", class: "grid-source" },
  { label: "Category", class: "grid-category" }, { label: "Danger", class: "grid-danger" }, { label: "Decision", class: "grid-decision" }, { label: "Summary", class: "grid-summary" },
];

export async function render(main, params, query) {
  const state = { all: [], found: [], shown: [], selected: new Set(), search: query.get("search") ?? "", filters: {}, ranked: false };
  for (const name of FILTERS) state.filters[name] = query.get(name) ?? "";
  let abort = null;

  const search = h("input", { type: "search", value: state.search, placeholder: "What should be done? complaints of customers", "aria-label": "Search operations in plain words", on: { input: debounce(() => load(), 150), keydown: (event) => event.key === "ArrowDown" && grid.focus() } });
  const selects = h("div", { class: "toolbar" });
  const summary = h("p", { class: "muted", role: "status" });
  const bulk = h("div", { class: "toolbar bulk" });
  const grid = virtualGrid({
    label: "Operations", columns: COLUMNS, cells: (row) => cells(row, state), rowHeight: () => (narrow.matches ? 64 : 36),
    onOpen: ({ name }) => navigate(address(name)), isSelected: ({ name }) => state.selected.has(name),
    onToggle: toggle, onSelectAll: () => select(state.shown),
  });

  async function load(keep = false) {
    abort?.abort();
    abort = new AbortController();
    state.search = search.value.trim();
    setQuery({ search: state.search });
    try {
      const path = state.search ? `/operations?search=${encodeURIComponent(state.search)}` : "/operations";
      const { operations, ranked } = await get(path, { signal: abort.signal });
      state.found = operations;
      state.ranked = ranked;
      if (!state.search) state.all = operations;
      filter(keep);
    } catch (error) {
      if (error.name !== "AbortError") summary.textContent = error.message;
    }
  }

  function filter(keep = false) {
    state.shown = state.found.filter((row) => FILTERS.every((name) => !state.filters[name] || row[name] === state.filters[name]));
    replace(selects, FILTERS.map((name) => filterSelect(name, state, () => filter())));
    grid.setRows(state.shown, keep);
    const selected = state.shown.length === state.found.length ? plural(state.shown.length, "operation") : `${state.shown.length} of ${plural(state.found.length, "operation")}`;
    summary.textContent = `${selected}${state.search && state.ranked ? ", best match first, as agents get them" : ""}`;
    drawBulk();
  }

  function toggle(rows, last) {
    const add = !state.selected.has(last.name);
    for (const { name } of rows) {
      if (add) state.selected.add(name);
      else state.selected.delete(name);
    }
    drawBulk();
  }

  function select(rows) {
    for (const { name } of rows) state.selected.add(name);
    grid.refresh();
    drawBulk();
    announce(`${plural(state.selected.size, "operation")} selected.`);
  }

  function drawBulk() {
    const count = state.selected.size;
    const button = (effect, label) => h("button", { type: "button", class: "button small", on: { click: () => changeRules(effect) } }, label);
    const clear = () => {
      state.selected.clear();
      grid.refresh();
      drawBulk();
    };
    replace(bulk,
      h("button", { type: "button", class: "button quiet small", on: { click: () => select(state.shown) } }, `Select all ${state.shown.length}`),
      count > 0 && [h("span", {}, `${count} selected`), button("allow", "Allow…"), button("confirm", "Ask first…"), button("deny", "Deny…"), h("button", { type: "button", class: "button quiet small", on: { click: clear } }, "Clear selection")]);
  }

  async function changeRules(effect) {
    const { openRulesDialog } = await import("/parts/rules.js");
    if (await openRulesDialog([...state.selected], effect)) await load(true);
  }

  const resized = () => grid.refresh();
  narrow.addEventListener("change", resized);
  replace(main, heading("Operations", "What agents can do here. Click a row or press Space to select it, Enter to open it."),
    h("div", { class: "operations" }, h("div", { class: "search-row" }, search), selects, h("div", { class: "toolbar between" }, summary, bulk), grid.element,
      glossary(...DANGERS, ...CATEGORIES, ...DECISIONS, "quarantine")));
  if (state.search) get("/operations").then(({ operations }) => {
    state.all = operations;
    replace(selects, FILTERS.map((name) => filterSelect(name, state, () => filter())));
  }, () => null);
  await load();
  const end = on("catalog", () => load(true));
  return () => {
    end();
    abort?.abort();
    narrow.removeEventListener("change", resized);
  };
}

const address = (name) => `/operations/${encodeURIComponent(name)}`;

function filterSelect(name, state, filter) {
  const values = [...new Set([...state.all, ...state.found].map((row) => row[name]).filter(Boolean))];
  values.sort((a, b) => (name === "danger" ? DANGERS.indexOf(a) - DANGERS.indexOf(b) : a.localeCompare(b)));
  if (state.filters[name] && !values.includes(state.filters[name])) values.push(state.filters[name]);
  const label = `${name[0].toUpperCase()}${name.slice(1)}`;
  const element = h("select", { "aria-label": label, id: `filter-${name}`, on: { change: () => {
    state.filters[name] = element.value;
    setQuery({ [name]: element.value });
    filter();
    document.getElementById(`filter-${name}`)?.focus();
  } } }, h("option", { value: "" }, `${label}: any`),
  values.map((value) => h("option", { value, selected: value === state.filters[name] }, name === "decision" ? decisionName(value) : value)));
  return element;
}

function cells(row, state) {
  return [
    h("span", { class: state.selected.has(row.name) ? "tick on" : "tick", "aria-hidden": "true" }, state.selected.has(row.name) ? "✓" : ""),
    [h("a", { class: "mono", href: address(row.name), tabindex: "-1" }, row.name), row.quarantined && h("span", { class: "badge badge-warn" }, "quarantined"), row.review && h("span", { class: "badge" }, "to review")],
    row.source, row.category, dangerBadge(row.danger), decisionBadge(row.decision), row.summary,
  ];
}
