// JSON as a tree that is built as it is opened.
import { entriesInOrder } from "/lib/key_order.js";
import { h, visible } from "/lib/dom.js";
import { plural } from "/lib/format.js";

const STEP = 200;
const MAX_TEXT = 2000;

/**
 * `action(path)` may return an element that is shown beside every value.
 *
 * @param {unknown} value
 * @param {{open?: number, action?: (path: any[]) => Node | null}} [options]
 */
export function jsonTree(value, { open = 1, action } = {}) {
  return h("div", { class: "tree mono" }, node(null, value, [], { open, action }));
}

function node(name, value, path, options) {
  const label = name === null ? null : h("span", { class: "tree-name" }, `${name}: `);
  if (typeof value !== "object" || value === null) return h("div", { class: "tree-leaf" }, label, scalar(value), options.action?.(path));
  const entries = () => (Array.isArray(value) ? value.map((item, i) => [i, item]) : entriesInOrder(value));
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (count === 0) return h("div", { class: "tree-leaf" }, label, Array.isArray(value) ? "[]" : "{}");
  return branch(label, summarize(value, count), entries, path, options);
}

function branch(label, summary, entries, path, options) {
  const body = h("div", { class: "tree-body" });
  const open = path.length < options.open;
  const fill = () => {
    if (details.open && body.childElementCount === 0) showMore(body, entries(), 0, path, options);
  };
  const details = h("details", { open, on: { toggle: fill } }, h("summary", {}, label, h("span", { class: "muted" }, summary)), body);
  if (open) showMore(body, entries(), 0, path, options);
  return details;
}

function showMore(body, entries, from, path, options) {
  body.append(...entries.slice(from, from + STEP).map(([name, value]) => node(name, value, [...path, name], options)));
  const rest = entries.length - from - STEP;
  if (rest <= 0) return;
  const more = h("button", { type: "button", class: "button small", on: { click: () => {
    more.remove();
    showMore(body, entries, from + STEP, path, options);
  } } }, `Show ${Math.min(STEP, rest)} of ${rest} more`);
  body.append(more);
}

function summarize(value, count) {
  if (Array.isArray(value)) return `[${plural(count, "item")}]`;
  const names = Object.keys(value).slice(0, 4).join(", ");
  return `{${names}${count > 4 ? `, … ${count - 4} more` : ""}}`;
}

/** A value without members, coloured by its type. Long text is cut until it is asked for. */
export function scalar(value) {
  if (typeof value !== "string") return h("span", { class: `json-${value === null ? "null" : typeof value}` }, String(value));
  if (value.length <= MAX_TEXT) return h("span", { class: "json-string" }, JSON.stringify(visible(value)));
  const box = h("span", { class: "json-string" }, JSON.stringify(visible(value.slice(0, MAX_TEXT))));
  const more = h("button", { type: "button", class: "button quiet small", on: { click: () => {
    box.textContent = JSON.stringify(visible(value));
    more.remove();
  } } }, `Show all ${value.length} characters`);
  return h("span", {}, box, more);
}
