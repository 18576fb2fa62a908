// Small elements that many pages share.
import { h } from "/lib/dom.js";

const KINDS = {
  ok: "ok allowed approved confirmed done used",
  warn: "cancelled changed confirmation_required destructive pending quarantined unknown warning",
  danger: "dangerous denied error failed forbidden panicked",
};

/** A short state. Colour never stands alone: the word says it, too. */
export function badge(word) {
  if (!word) return null;
  const kind = Object.keys(KINDS).find((name) => KINDS[name].split(" ").includes(word));
  return h("span", { class: kind ? `badge badge-${kind}` : "badge" }, String(word).replaceAll("_", " "));
}

/** `kind`: primary, danger, quiet, small. */
export const button = (label, click, kind = "", props = {}) =>
  h("button", { type: "button", class: `button ${kind}`, on: { click }, ...props }, label);

export const code = (words) => h("code", {}, words);

/** A block in the colour of its kind: ok, warn, danger. */
export const card = (kind, ...children) => h("div", { class: `card ${kind}` }, children);

/** Says what went wrong. Screen readers read it at once. */
export const problem = (message) => h("p", { class: "error-text", role: "alert" }, message);

/** A description list of `[name, value]`; entries without a value are left out. */
export const facts = (entries) => h("dl", { class: "facts" },
  entries.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

/** A table that scrolls sideways by itself. `body` is a <tbody> or a list of rows, each a list of cells. */
export function table(label, columns, body) {
  const rows = Array.isArray(body) ? h("tbody", {}, body.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))) : body;
  return h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    h("table", { class: "table" }, h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))), rows));
}

/** An input or select with its label. */
export const field = (label, control, hint) =>
  h("label", { class: "field" }, h("span", {}, label), control, hint && h("small", {}, hint));

export const textInput = (type, value) => h("input", { type, value: value ?? "", autocomplete: "off", spellcheck: "false" });

/** A <select> of values or `[value, label]`. A selected value that is not among them is added. */
export function select(options, selected) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  if (selected && !pairs.some(([value]) => value === selected)) pairs.unshift([selected, selected]);
  const element = h("select", {}, pairs.map(([value, label]) => h("option", { value }, label)));
  element.value = selected ?? pairs[0][0];
  return element;
}

/** A link to the page of an operation. */
export const operationLink = (name) => h("a", { class: "mono", href: `/operations/${encodeURIComponent(name)}` }, name);

/** Ends several subscriptions at once. */
export const all = (...stops) => () => stops.forEach((stop) => stop());
