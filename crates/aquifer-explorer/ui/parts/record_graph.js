// Rows and the rows that they refer to, as a graph and as a list that says the same.
import { h, svg, uniqueId, visible } from "/lib/dom.js";
import { plural } from "/lib/format.js";
import { layoutGraph } from "/parts/layout.js";
import { createViewport } from "/parts/viewport.js";

const MAX_NODES = 60;
const MAX_LABEL = 28;
const CHARACTER_WIDTH = 7.6;
const NODE_HEIGHT = 30;

/**
 * The graph of rows: `{nodes: [{id, label, target}], edges: [{from, to, column}], left}`; `left` rows are not in it.
 * `link` is made by `referenceLinks`. Null if no row refers to anything.
 */
export function recordGraph({ columns, rows }, link) {
  if (!link) return null;
  const nodes = new Map();
  const edges = [];
  let left = 0;
  for (const [index, row] of rows.entries()) {
    const targets = columns.flatMap((column, i) => toTarget(link, column, row[i]));
    const own = link.own(Object.fromEntries(columns.map((column, i) => [column, row[i]]))) ?? { id: `row ${index}`, label: `row ${index + 1}` };
    const fresh = [own, ...targets.map(({ target }) => target)].filter(({ id }) => !nodes.has(id));
    if (nodes.size + new Set(fresh.map(({ id }) => id)).size > MAX_NODES) {
      left = rows.length - index;
      break;
    }
    for (const node of fresh) nodes.set(node.id, node);
    for (const { column, target } of targets) edges.push({ from: own.id, to: target.id, column });
  }
  return edges.length > 0 ? { nodes: [...nodes.values()], edges, left } : null;
}

function toTarget(link, column, value) {
  if (value === null || value === undefined || typeof value === "object") return [];
  const target = link(column, value);
  return target ? [{ column, target }] : [];
}

/** The drawing, and below it the same as a list. */
export function graphView(graph) {
  const boxes = graph.nodes.map((node) => ({ ...node, shown: shorten(node.label), width: Math.ceil(shorten(node.label).length * CHARACTER_WIDTH) + 20, height: NODE_HEIGHT }));
  const { places, width, height } = layoutGraph(boxes, graph.edges);
  const arrow = uniqueId("arrow");
  const drawing = svg("svg", { class: "diagram", role: "group", "aria-label": `Graph of ${plural(boxes.length, "record")}` },
    svg("defs", {}, svg("marker", { id: arrow, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "diagram-arrow" }))),
    svg("g", { "aria-hidden": "true" }, graph.edges.map((edge) => drawEdge(edge, places, arrow))),
    boxes.map((box) => drawNode(box, places.get(box.id), graph.edges)));
  const viewport = createViewport(drawing, { width, height });
  for (const box of boxes) drawing.querySelector(`[data-node="${CSS.escape(box.id)}"]`)?.addEventListener("focusin", () => viewport.reveal(places.get(box.id)));
  return h("div", { class: "stack record-graph" },
    graph.left > 0 && h("p", { class: "muted" }, `${plural(graph.left, "row")} more ${graph.left === 1 ? "is" : "are"} not drawn: a graph has at most ${MAX_NODES} records.`),
    viewport.element, listView(graph));
}

function drawNode({ id, shown, label, href, open, title, width, height }, place, edges) {
  const targets = edges.filter(({ from }) => from === id).length;
  const name = `${label}${targets > 0 ? `, refers to ${plural(targets, "record")}` : ""}${title ? `. ${title}` : ""}`;
  const rect = svg("rect", { width, height, rx: 15 });
  const words = svg("g", { "aria-hidden": "true" }, svg("text", { x: 10, y: 20, class: href ? "diagram-name" : null }, shown));
  const link = href ? svg("a", { href, target: "_blank", rel: "noopener", "aria-label": name, on: { click: open, auxclick: open } }, rect) : rect;
  return svg("g", { class: "diagram-box", "data-node": id, transform: `translate(${place.x} ${place.y})` }, link, words);
}

function drawEdge({ from, to }, places, arrow) {
  const [source, target] = [places.get(from), places.get(to)];
  const isRight = target.x + target.width <= source.x;
  const [startX, endX] = isRight ? [source.x, target.x + target.width] : [source.x + source.width, target.x];
  const [startY, endY] = [source, target].map(({ y, height }) => y + height / 2);
  const bend = Math.max(20, Math.abs(startX - endX) * 0.5) * (isRight ? -1 : 1);
  return svg("path", { d: `M${startX} ${startY}C${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}`, class: "diagram-edge", "marker-end": `url(#${arrow})` });
}

function listView({ nodes, edges }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const name = ({ label, href, open }) => (href ? h("a", { href, target: "_blank", rel: "noopener", on: { click: open, auxclick: open } }, label) : label);
  const item = ({ from, to, column }) => h("li", {}, name(byId.get(from)), ` → `, name(byId.get(to)), h("span", { class: "muted" }, ` (${column})`));
  return h("details", {}, h("summary", {}, "The graph as a list"), h("ul", {}, edges.map(item)));
}

function shorten(label) {
  const shown = visible(label);
  return shown.length > MAX_LABEL ? `${shown.slice(0, MAX_LABEL - 1)}…` : shown;
}
