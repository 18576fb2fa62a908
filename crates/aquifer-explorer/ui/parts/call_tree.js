// The parameters of a call as a tree that is always complete: nothing is folded or shortened.
import { h } from "/lib/dom.js";
import { json, plural } from "/lib/format.js";

// Larger calls are shown as JSON text, which browsers draw much faster than elements.
const MAX_NODES = 10000;
const MAX_INLINE_CHARS = 100;
const CHUNK_LINES = 500;

/** Shows `call`: `params`, and the places of `defaults` and `hidden` secrets in it as JSON pointers. */
export function callTree(call) {
  const params = call?.params ?? {};
  const marks = { defaults: toPointers(call?.defaults), hidden: toPointers(call?.hidden) };
  if (Object.keys(params).length === 0) return h("p", { class: "muted" }, "The call has no parameters.");
  if (countNodes(params) > MAX_NODES) return wholeText(params, marks);
  return h("div", { class: "call-tree" }, branch(Object.entries(params), "", marks));
}

/** "3 parameters, 1 default value, 1 secret hidden" */
export function callSummary(call) {
  const [defaults, hidden] = [toPointers(call?.defaults).size, toPointers(call?.hidden).size];
  const parts = [plural(Object.keys(call?.params ?? {}).length, "parameter")];
  if (defaults > 0) parts.push(plural(defaults, "default value"));
  if (hidden > 0) parts.push(`${plural(hidden, "secret")} hidden`);
  return parts.join(", ");
}

/** Places are pointers ("/input/id"); names alone ("id") and objects keyed by name are accepted, too. */
function toPointers(places) {
  const list = Array.isArray(places) ? places : Object.keys(places ?? {});
  return new Set(list.map((place) => (String(place).startsWith("/") ? String(place) : pointer("", place))));
}

const pointer = (parent, name) => `${parent}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

function countNodes(value) {
  let count = 0;
  const open = [value];
  while (open.length > 0 && count <= MAX_NODES) {
    const next = open.pop();
    count += 1;
    if (next === null || typeof next !== "object") continue;
    for (const child of Object.values(next)) {
      open.push(child);
      if (open.length > MAX_NODES) return open.length;
    }
  }
  return count;
}

function branch(entries, parent, marks) {
  return h("ul", {}, entries.map(([name, value]) => leafOrBranch(name, value, pointer(parent, name), marks)));
}

function leafOrBranch(name, value, place, marks) {
  const key = h("span", { class: "call-key" }, String(name));
  const badges = marksOf(place, marks);
  if (marks.hidden.has(place)) return h("li", {}, key, h("span", { class: "call-secret" }, String(value)), badges);
  if (isContainer(value) && !isShortList(value, place, marks)) {
    return h("li", {}, key, h("span", { class: "muted" }, sizeOf(value)), badges, branch(Object.entries(value), place, marks));
  }
  return h("li", {}, key, scalar(value), badges);
}

function marksOf(place, marks) {
  return [
    marks.hidden.has(place) && h("span", { class: "badge warn" }, "secret, hidden"),
    marks.defaults.has(place) && h("span", { class: "badge" }, "default"),
  ];
}

const isContainer = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;

/** Short lists of plain values fit on one line. */
function isShortList(value, place, marks) {
  if (!Array.isArray(value) || value.some((item) => item !== null && typeof item === "object")) return false;
  const isMarked = value.some((_, index) => marks.hidden.has(pointer(place, index)) || marks.defaults.has(pointer(place, index)));
  return !isMarked && JSON.stringify(value).length <= MAX_INLINE_CHARS;
}

const sizeOf = (value) =>
  Array.isArray(value) ? plural(value.length, "item") : plural(Object.keys(value).length, "field");

function scalar(value) {
  if (typeof value === "string" && /[\n\r]/.test(value)) return textBlock(value);
  const kind = value === null ? "null" : typeof value;
  return h("code", { class: `call-value ${kind}` }, json(value, 0));
}

/** A text of several lines, in a frame so that no line of it can be taken for another parameter. */
function textBlock(value) {
  const lines = value.split("\n").length;
  return [h("span", { class: "muted" }, `text of ${plural(lines, "line")}`), h("pre", { class: "call-text" }, value)];
}

function wholeText(params, marks) {
  const places = (label, found) => found.size > 0 && h("p", {}, `${label}: `, h("code", {}, [...found].join(", ")));
  return h("div", {},
    h("p", { class: "muted" }, "This call is large, so it is shown as JSON."),
    places("Hidden secrets", marks.hidden),
    places("Default values", marks.defaults),
    chunks(json(params).split("\n")).map((lines) => h("pre", { class: "call-text chunk" }, lines.join("\n"))));
}

/** Parts of the text; browsers lay out only those near the screen. */
const chunks = (lines) =>
  Array.from({ length: Math.ceil(lines.length / CHUNK_LINES) }, (_, index) => lines.slice(index * CHUNK_LINES, (index + 1) * CHUNK_LINES));
