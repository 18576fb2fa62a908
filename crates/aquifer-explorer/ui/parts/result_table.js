// Rows of an answer as a table: sort, hide columns, follow references, expand nested values.
import { h, replace } from "/lib/dom.js";
import { plural } from "/lib/format.js";
import { jsonTree } from "/parts/tree.js";

const STEP = 200;

/**
 * `found` is what `findRows` returns. Options: `onSort(field, order)`, `isSortable(field)` and `sorted` where the server sorts,
 * `onFields(names)`, `link(column, value)` → address or null.
 */
export function resultTable(found, options = {}) {
  const state = { ...found, hidden: new Set(), limit: STEP, sort: options.sorted ?? null, rows: [...found.rows] };
  const box = h("div", { class: "stack" });
  const draw = () => replace(box, columnBar(state, options, draw), table(state, options, draw), moreButton(state, draw));
  draw();
  return box;
}

function columnBar(state, options, draw) {
  const shown = state.columns.filter((name) => !state.hidden.has(name));
  return h("div", { class: "toolbar" },
    h("span", { class: "muted" }, `${plural(state.rows.length, "row")}, ${plural(shown.length, "column")}`),
    [...state.hidden].map((name) => h("button", { type: "button", class: "button small", "aria-label": `Show column ${name}`, on: { click: () => {
      state.hidden.delete(name);
      draw();
    } } }, `+ ${name}`)),
    state.hidden.size > 0 && options.onFields && h("button", { type: "button", class: "button small primary", on: { click: () => options.onFields(shown) } }, "Ask for these fields only"));
}

function table(state, options, draw) {
  const columns = state.columns.map((name, i) => ({ name, i })).filter(({ name }) => !state.hidden.has(name));
  const rows = state.rows.slice(0, state.limit).map((row) => h("tr", {}, columns.map(({ name, i }) => h("td", {}, cell(name, row[i], options)))));
  return h("div", { class: "scroll result-scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    h("table", { class: "table result-table" }, h("thead", {}, h("tr", {}, columns.map(({ name, i }) => header(name, i, state, options, draw)))), h("tbody", {}, rows)));
}

function header(name, index, state, options, draw) {
  const order = state.sort?.field === name ? state.sort.order : null;
  const byServer = options.onSort && (options.isSortable?.(name) ?? true);
  const sort = () => {
    const next = { field: name, order: order === "asc" ? "desc" : "asc" };
    if (byServer) {
      options.onSort(next.field, next.order);
      return;
    }
    state.sort = next;
    sortRows(state, index);
    draw();
  };
  const hide = () => {
    state.hidden.add(name);
    draw();
  };
  return h("th", { scope: "col", "aria-sort": order === null ? null : order === "asc" ? "ascending" : "descending" },
    h("button", { type: "button", class: "head-button", title: byServer ? "Sort all rows by this" : "Sort these rows by this", on: { click: sort } }, name, order && h("span", { "aria-hidden": "true" }, order === "asc" ? " ↑" : " ↓")), " ",
    state.columns.length - state.hidden.size > 1 && h("button", { type: "button", class: "head-hide", "aria-label": `Hide column ${name}`, on: { click: hide } }, "✕"));
}

function sortRows(state, index) {
  const factor = state.sort.order === "asc" ? 1 : -1;
  state.rows.sort((a, b) => {
    const missing = Number(isMissing(a[index])) - Number(isMissing(b[index]));
    return missing !== 0 ? missing : factor * compare(a[index], b[index]);
  });
}

const isMissing = (value) => value === null || value === undefined;

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const one = typeof a === "string" ? a : JSON.stringify(a) ?? "";
  const other = typeof b === "string" ? b : JSON.stringify(b) ?? "";
  return one < other ? -1 : one > other ? 1 : 0;
}

function cell(column, value, options) {
  if (value === undefined) return null;
  if (value === null) return h("span", { class: "json-null" }, "null");
  if (typeof value === "object") return nested(value);
  const target = options.link?.(column, value);
  if (target) return h("a", { href: target.href, target: "_blank", rel: "noopener", title: target.title, on: { click: target.open, auxclick: target.open } }, String(value));
  if (typeof value === "string" && value.length > 120) return h("details", { class: "long" }, h("summary", {}, `${value.slice(0, 100)}…`), h("div", { class: "long-text" }, value));
  const short = String(value).length <= 32 ? "nowrap" : "";
  return h("span", { class: typeof value === "number" ? `json-number ${short}` : short }, String(value));
}

function nested(value) {
  const preview = JSON.stringify(value);
  const body = h("div", {});
  const details = h("details", { class: "nested", on: { toggle: () => details.open && body.childElementCount === 0 && body.append(jsonTree(value)) } },
    h("summary", { class: "mono" }, preview.length > 60 ? `${preview.slice(0, 60)}…` : preview), body);
  return details;
}

function moreButton(state, draw) {
  const rest = state.rows.length - state.limit;
  if (rest <= 0) return null;
  const more = () => {
    state.limit += STEP;
    draw();
  };
  return h("button", { type: "button", class: "button", on: { click: more } }, `Show ${Math.min(STEP, rest)} of ${rest} more rows`);
}

/** One object as a table of names and values. */
export function objectTable(value, options = {}) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values" }, h("table", { class: "table" }, h("tbody", {},
    Object.entries(value).slice(0, STEP).map(([name, item]) => h("tr", {}, h("th", { scope: "row", class: "mono" }, name), h("td", {}, cell(name, item, options)))))));
}
