// Tables and their references as a drawing. It repeats what the list of tables says, for people who prefer a picture.
import { h, svg, uniqueId, visible } from "/lib/dom.js";
import { plural } from "/lib/format.js";
import { navigate } from "/lib/router.js";
import { layoutGraph } from "/parts/layout.js";
import { createViewport } from "/parts/viewport.js";

const HEADER_HEIGHT = 30;
const ROW_HEIGHT = 19;
const CHARACTER_WIDTH = 7.3;
const MAX_NAME = 24;
const MAX_TYPE = 14;
const MAX_ROWS = 16;
// How far a reference to the same table, or to one above or below, stands out at the right.
const LOOP_WIDTH = 46;

/** How much of every table is drawn: "all" columns, "keys" and references, or "none". */
export function defaultDetail(count) {
  if (count <= 15) return "all";
  return count <= 40 ? "keys" : "none";
}

/**
 * Draws `tables`. `addressOf(table)` is the page of a table, `current` the name of one to mark.
 * Returns `{element, dim(isShown), stop()}`; `dim` fades the tables for which `isShown(name)` is false.
 *
 * @param {any[]} tables
 * @param {{detail: any, addressOf: (table: any) => string, current?: string}} options
 */
export function createDiagram(tables, { detail, addressOf, current }) {
  const boxes = tables.map((table) => measureBox(table, detail));
  const edges = tables.flatMap((table) => table.references.map((reference) => ({ from: table.name, to: reference.table, columns: reference.columns })));
  const { places, width, height } = layoutGraph(boxes, edges);
  const arrow = uniqueId("arrow");
  const lines = edges.filter(({ to }) => places.has(to)).map((edge) => drawEdge(edge, places, boxes, arrow));
  const drawn = new Map(boxes.map((box) => [box.id, drawBox(box, places.get(box.id), addressOf, current)]));
  const drawing = svg("svg", { class: "diagram", role: "group", "aria-label": `Diagram of ${plural(tables.length, "table")}` },
    arrowHead(arrow),
    svg("g", { "aria-hidden": "true" }, lines.map((line) => line.element)),
    [...drawn.values()]);
  linkHighlights(drawn, lines);
  const viewport = createViewport(drawing, { width: width + LOOP_WIDTH, height }, places.get(current));
  followFocus(drawn, places, viewport);

  function dim(isShown) {
    for (const [name, element] of drawn) element.classList.toggle("dim", !isShown(name));
    for (const { element, from, to } of lines) element.classList.toggle("dim", !isShown(from) || !isShown(to));
  }

  const legend = h("p", { class: "hint" }, detail !== "none" && "◆ key, → reference. ",
    "Drag to move; Ctrl and the wheel zoom. With the keyboard: arrow keys, + and −, 0 to fit.");
  return { element: h("div", {}, viewport.element, legend), dim, stop: viewport.stop };
}

const arrowHead = (id) => svg("defs", {},
  svg("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
    svg("path", { d: "M0 0 8 4 0 8z", class: "diagram-arrow" })));

function measureBox(table, detail) {
  const references = new Set(table.references.flatMap((reference) => reference.columns));
  const wanted = table.columns.filter((column) => detail === "all" || (detail === "keys" && (column.key || references.has(column.name))));
  const rows = wanted.slice(0, MAX_ROWS).map((column) => ({
    column: column.name,
    name: `${column.key ? "◆ " : references.has(column.name) ? "→ " : ""}${shorten(column.name, MAX_NAME)}`,
    type: shorten(column.type ?? "", MAX_TYPE),
  }));
  const left = detail === "none" ? 0 : table.columns.length - rows.length;
  const characters = Math.max(12, shorten(table.name, MAX_NAME + 6).length + 2, ...rows.map((row) => row.name.length + row.type.length + 2));
  const height = HEADER_HEIGHT + (rows.length + (left > 0 ? 1 : 0)) * ROW_HEIGHT + (detail === "none" ? 0 : 6);
  return { id: table.name, table, rows, left, width: Math.ceil(characters * CHARACTER_WIDTH) + 24, height };
}

const shorten = (name, max) => {
  const shown = visible(name);
  return shown.length > max ? `${shown.slice(0, max - 1)}…` : shown;
};

function drawBox({ table, rows, left, width, height }, place, addressOf, current) {
  const href = addressOf(table);
  const line = (y, words, kind, x = 12) => svg("text", { x, y, class: kind }, words);
  const rowY = (index) => HEADER_HEIGHT + 16 + index * ROW_HEIGHT;
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.defaultPrevented) return;
    event.preventDefault();
    navigate(href);
  };
  return svg("g", { class: table.name === current ? "diagram-box current" : "diagram-box", transform: `translate(${place.x} ${place.y})` },
    svg("a", { href, "aria-label": describe(table), on: { click: open } }, svg("rect", { width, height, rx: 6 })),
    svg("g", { "aria-hidden": "true" },
      rows.length > 0 && svg("line", { x1: 0, x2: width, y1: HEADER_HEIGHT, y2: HEADER_HEIGHT }),
      line(20, shorten(table.name, MAX_NAME + 6), "diagram-name"),
      rows.map((row, index) => [line(rowY(index), row.name, "diagram-column"), line(rowY(index), row.type, "diagram-type", width - 12)]),
      left > 0 && line(rowY(rows.length), `and ${left} more`, "diagram-more")));
}

function describe({ name, kind, columns, references }) {
  const targets = [...new Set(references.map((reference) => reference.table))];
  const end = targets.length > 0 ? `, refers to ${targets.join(", ")}` : "";
  return visible(`${kind === "view" ? "View" : "Table"} ${name}, ${plural(columns.length, "column")}${end}`);
}

/** A line from the column that refers to the table it refers to. */
function drawEdge({ from, to, columns }, places, boxes, arrow) {
  const [source, target] = [places.get(from), places.get(to)];
  const box = boxes.find(({ id }) => id === from);
  const row = box.rows.findIndex((shown) => columns.includes(shown.column));
  const startY = source.y + (row < 0 ? HEADER_HEIGHT / 2 : HEADER_HEIGHT + 11 + row * ROW_HEIGHT);
  const path = edgePath(source, target, startY, target.y + HEADER_HEIGHT / 2);
  return { from, to, element: svg("path", { d: path, class: "diagram-edge", "marker-end": `url(#${arrow})` }) };
}

function edgePath(source, target, startY, endY) {
  const isRight = target.x + target.width <= source.x;
  const isLeft = source.x + source.width <= target.x;
  const startX = isRight ? source.x : source.x + source.width;
  const endX = isLeft ? target.x : target.x + target.width;
  const bend = isRight || isLeft ? Math.min(90, Math.abs(startX - endX) * 0.6) : LOOP_WIDTH;
  const [first, second] = [isRight ? startX - bend : startX + bend, isLeft ? endX - bend : endX + bend];
  return `M${startX} ${startY}C${first} ${startY} ${second} ${endY} ${endX} ${endY}`;
}

/** The references of the table under the pointer, or with the focus, stand out. */
function linkHighlights(drawn, lines) {
  for (const [name, element] of drawn) {
    const own = lines.filter(({ from, to }) => from === name || to === name);
    const mark = (isActive) => own.forEach((line) => line.element.classList.toggle("active", isActive));
    for (const type of ["pointerenter", "focusin"]) element.addEventListener(type, () => mark(true));
    for (const type of ["pointerleave", "focusout"]) element.addEventListener(type, () => mark(false));
  }
}

function followFocus(drawn, places, viewport) {
  for (const [name, element] of drawn) element.addEventListener("focusin", () => viewport.reveal(places.get(name)));
}
