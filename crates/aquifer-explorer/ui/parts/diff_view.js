// Shows differences: two texts side by side (stacked on narrow screens), and unified diffs.
import { h } from "/lib/dom.js";
import { json, plural } from "/lib/format.js";
import { diffLines, splitLines } from "/parts/line_diff.js";

// Unchanged lines that stay visible around a change.
const CONTEXT = 3;

/**
 * The two values as pretty JSON with the lines that were removed and added.
 *
 * @param {unknown} before
 * @param {unknown} after
 * @param {string[]} titles
 */
export function jsonDiff(before, after, [oldTitle, newTitle]) {
  const hunks = diffLines(json(before).split("\n"), json(after).split("\n"));
  return h("div", { class: "diff" },
    h("div", { class: "diff-hunk diff-titles" }, h("strong", {}, oldTitle), h("strong", {}, newTitle)),
    hunks.map((hunk, index) => (hunk.same ? sameHunk(hunk.same, index === 0, index === hunks.length - 1) : changedHunk(hunk))));
}

/** A unified diff, its lines marked by sign and colour. */
export function unifiedDiff(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return h("div", { class: "diff diff-unified" }, lines.map(unifiedLine));
}

function unifiedLine(line) {
  if (/^(---|\+\+\+|@@|diff )/.test(line)) return h("div", { class: "diff-line diff-meta" }, line);
  if (line.startsWith("+")) return changedLine("ins", line.slice(1));
  if (line.startsWith("-")) return changedLine("del", line.slice(1));
  return plainLine(line.replace(/^ /, ""));
}

function changedHunk({ removed, added }) {
  // Lines that were replaced one by one also show which part of them differs.
  const pairs = removed.length === added.length ? removed.map((line, index) => splitLines(line, added[index])) : null;
  const side = (tag, lines, at) => h("div", {}, lines.map((line, index) => changedLine(tag, pairs ? pairs[index][at] : line)));
  return h("div", { class: "diff-hunk" }, side("del", removed, 0), side("ins", added, 1));
}

/** `content` is a line, or its parts: common start, what differs, common end. */
function changedLine(tag, content) {
  const [sign, word] = tag === "ins" ? ["+", "added: "] : ["−", "removed: "];
  const parts = Array.isArray(content) ? [content[0], content[1] && h("mark", {}, content[1]), content[2]] : content;
  return h(tag, { class: "diff-line" },
    h("span", { class: "diff-sign", "aria-hidden": "true" }, sign), h("span", { class: "visually-hidden" }, word), h("span", {}, parts));
}

const plainLine = (line) => h("div", { class: "diff-line" }, h("span", { class: "diff-sign" }), h("span", {}, line));

/** Unchanged lines. Many of them are folded; the second copy is for the eye alone. */
function sameHunk(lines, isFirst, isLast) {
  const head = isFirst ? 0 : CONTEXT;
  const tail = isLast ? 0 : CONTEXT;
  if (lines.length <= head + tail + 2) return sameLines(lines);
  const folded = lines.slice(head, lines.length - tail);
  const button = h("button", { type: "button", class: "button quiet small", on: { click: () => unfold() } }, `Show ${plural(folded.length, "unchanged line")}`);
  const row = h("div", { class: "diff-fold" }, button);
  const unfold = () => {
    const shown = sameLines(folded);
    shown.tabIndex = -1;
    row.replaceWith(shown);
    shown.focus({ preventScroll: true });
  };
  return [head > 0 && sameLines(lines.slice(0, head)), row, tail > 0 && sameLines(lines.slice(-tail))];
}

const sameLines = (lines) => h("div", { class: "diff-hunk diff-same" },
  h("div", {}, lines.map(plainLine)), h("div", { "aria-hidden": "true" }, lines.map(plainLine)));
