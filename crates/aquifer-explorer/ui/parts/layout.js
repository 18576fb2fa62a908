// Layered layout of a graph: nodes stand in columns to the right of what they refer to, in an order with few crossings.

const COLUMN_GAP = 72;
const ROW_GAP = 20;
const ORDER_SWEEPS = 6;

/**
 * Places nodes. `nodes`: `{id, width, height}`; `edges`: `{from, to}` by id, where `from` refers to `to`.
 * Returns `{places: Map(id → {x, y, width, height}), width, height}`.
 */
export function layoutGraph(nodes, edges) {
  const graph = buildGraph(nodes, edges);
  const linked = nodes.filter((node) => graph.get(node.id).neighbours.size > 0);
  const alone = nodes.filter((node) => graph.get(node.id).neighbours.size === 0);
  assignLayers(linked, graph);
  const columns = splitTallLayers(orderLayers(linked, graph), nodes);
  placeColumns(columns, graph);
  const below = bottomOf(linked, graph);
  placeGrid(alone, graph, below === 0 ? 0 : below + 2 * ROW_GAP, rightOf(linked, graph));
  return measure(nodes, graph);
}

function buildGraph(nodes, edges) {
  const entry = (node) => ({ ...node, x: 0, y: 0, layer: 0, targets: new Set(), neighbours: new Set() });
  const graph = new Map(nodes.map((node) => [node.id, entry(node)]));
  for (const { from, to } of edges) {
    if (from === to || !graph.has(from) || !graph.has(to)) continue;
    graph.get(from).targets.add(to);
    graph.get(from).neighbours.add(to);
    graph.get(to).neighbours.add(from);
  }
  return graph;
}

/** Gives every node a layer after the layers of its targets. Cycles are cut where the fewest references are lost. */
function assignLayers(nodes, graph) {
  const open = new Map(nodes.map((node) => [node.id, graph.get(node.id).targets.size]));
  const ready = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  while (open.size > 0) {
    const id = ready.pop() ?? leastOpen(open);
    if (!open.delete(id)) continue;
    const entry = graph.get(id);
    const done = [...entry.targets].filter((target) => !open.has(target));
    entry.layer = done.reduce((layer, target) => Math.max(layer, graph.get(target).layer + 1), 0);
    for (const other of entry.neighbours) {
      if (!open.has(other) || !graph.get(other).targets.has(id)) continue;
      open.set(other, open.get(other) - 1);
      if (open.get(other) === 0) ready.push(other);
    }
  }
}

function leastOpen(open) {
  let least = null;
  for (const [id, count] of open) {
    if (least === null || count < open.get(least)) least = id;
  }
  return least;
}

/** Sorts every layer by the mean position of its neighbours, several times. */
function orderLayers(nodes, graph) {
  const layers = [];
  for (const node of nodes) (layers[graph.get(node.id).layer] ??= []).push(graph.get(node.id));
  const filled = layers.filter(Boolean);
  filled.forEach(numberRows);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 === 0 ? filled : [...filled].reverse()) {
      for (const entry of layer) entry.mean = meanOf(entry, graph, (other) => other.row);
      layer.sort((a, b) => a.mean - b.mean);
      numberRows(layer);
    }
  }
  return filled;
}

function numberRows(layer) {
  // Between 0 and 1, so that long and short layers compare.
  layer.forEach((entry, index) => (entry.row = (index + 0.5) / layer.length));
}

function meanOf(entry, graph, valueOf) {
  const values = [...entry.neighbours].map((id) => valueOf(graph.get(id)));
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Splits a layer that is much taller than the diagram should be into several columns. */
function splitTallLayers(layers, nodes) {
  const area = nodes.reduce((sum, { width, height }) => sum + (width + COLUMN_GAP) * (height + ROW_GAP), 0);
  const maxHeight = Math.max(640, Math.sqrt(area));
  return layers.flatMap((layer) => {
    const height = layer.reduce((sum, entry) => sum + entry.height + ROW_GAP, 0);
    const count = Math.ceil(height / maxHeight);
    const size = Math.ceil(layer.length / count);
    return Array.from({ length: count }, (_, index) => layer.slice(index * size, (index + 1) * size));
  }).filter((column) => column.length > 0);
}

function placeColumns(columns, graph) {
  let x = 0;
  for (const column of columns) {
    let y = 0;
    for (const entry of column) {
      [entry.x, entry.y] = [x, y];
      y += entry.height + ROW_GAP;
    }
    x += Math.max(...column.map((entry) => entry.width)) + COLUMN_GAP;
  }
  for (const column of [...columns, ...[...columns].reverse()]) {
    spread(column, (entry) => meanOf(entry, graph, (other) => other.y + other.height / 2) - entry.height / 2);
  }
}

/** Moves entries as near to their wanted tops as their order and the gaps between them allow (least squares). */
function spread(column, wantedTop) {
  const blocks = [];
  for (const entry of column) {
    let block = { entries: [entry], height: entry.height + ROW_GAP, sum: wantedTop(entry) };
    while (blocks.length > 0 && topOf(blocks.at(-1)) + blocks.at(-1).height > topOf(block)) {
      block = joinBlocks(blocks.pop(), block);
    }
    blocks.push(block);
  }
  for (const block of blocks) {
    let y = topOf(block);
    for (const entry of block.entries) {
      entry.y = y;
      y += entry.height + ROW_GAP;
    }
  }
}

const topOf = (block) => block.sum / block.entries.length;

const joinBlocks = (first, second) => ({
  entries: [...first.entries, ...second.entries],
  height: first.height + second.height,
  sum: first.sum + second.sum - first.height * second.entries.length,
});

/** Places nodes without references in rows below everything else. */
function placeGrid(nodes, graph, top, width) {
  const area = nodes.reduce((sum, node) => sum + (node.width + ROW_GAP) * (node.height + ROW_GAP), 0);
  const maxWidth = Math.max(width, 1.6 * Math.sqrt(area));
  let [x, y, rowHeight] = [0, top, 0];
  for (const node of nodes) {
    if (x > 0 && x + node.width > maxWidth) [x, y, rowHeight] = [0, y + rowHeight + ROW_GAP, 0];
    Object.assign(graph.get(node.id), { x, y });
    x += node.width + ROW_GAP;
    rowHeight = Math.max(rowHeight, node.height);
  }
}

const entriesOf = (nodes, graph) => nodes.map((node) => graph.get(node.id));

const bottomOf = (nodes, graph) =>
  entriesOf(nodes, graph).reduce((bottom, entry) => Math.max(bottom, entry.y + entry.height), 0);

const rightOf = (nodes, graph) =>
  entriesOf(nodes, graph).reduce((right, entry) => Math.max(right, entry.x + entry.width), 0);

function measure(nodes, graph) {
  const entries = entriesOf(nodes, graph);
  const top = entries.reduce((least, entry) => Math.min(least, entry.y), 0);
  const places = new Map(
    entries.map(({ id, x, y, width, height }) => [id, { x, y: y - top, width, height }]),
  );
  return { places, width: rightOf(nodes, graph), height: bottomOf(nodes, graph) - top };
}
