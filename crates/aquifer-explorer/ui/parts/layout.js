// Layered layout of a graph: nodes stand in columns to the right of what they refer to, in an order with few crossings.

const COLUMN_GAP = 72;
const ROW_GAP = 20;
const ORDER_SWEEPS = 6;

/**
 * Places nodes. `nodes`: `{id, width, height}`; `edges`: `{from, to}` by id, where `from` refers to `to`.
 * Returns `{places: Map(id → {x, y, width, height}), width, height}`.
 */
export function layoutGraph(nodes, edges) {
  const graph = new Map(nodes.map((node) => [node.id, { ...node, x: 0, y: 0, layer: 0, targets: new Set(), neighbours: new Set() }]));
  for (const { from, to } of edges) {
    if (from === to || !graph.has(from) || !graph.has(to)) continue;
    graph.get(from).targets.add(to);
    graph.get(from).neighbours.add(to);
    graph.get(to).neighbours.add(from);
  }
  const entries = [...graph.values()];
  const alone = entries.filter(({ neighbours }) => neighbours.size === 0);
  assignLayers(entries.filter(({ neighbours }) => neighbours.size > 0), graph);
  for (const entry of alone) entry.layer = nodes.length;
  placeColumns(splitTallLayers(orderLayers(entries, graph)), graph);
  const top = Math.min(...entries.map(({ y }) => y));
  for (const entry of entries) entry.y -= top;
  const farthest = (end) => Math.max(0, ...entries.map(end));
  return { places: graph, width: farthest(({ x, width }) => x + width), height: farthest(({ y, height }) => y + height) };
}

/** Gives every node a layer after the layers of its targets. Cycles are cut where the fewest references are lost. */
function assignLayers(entries, graph) {
  const open = new Map(entries.map(({ id, targets }) => [id, targets.size]));
  while (open.size > 0) {
    const id = [...open].reduce((least, next) => (next[1] < least[1] ? next : least))[0];
    open.delete(id);
    const entry = graph.get(id);
    for (const target of entry.targets) if (!open.has(target)) entry.layer = Math.max(entry.layer, graph.get(target).layer + 1);
    for (const other of entry.neighbours) if (open.has(other) && graph.get(other).targets.has(id)) open.set(other, open.get(other) - 1);
  }
}

/** Sorts every layer by the mean position of its neighbours, several times. */
function orderLayers(entries, graph) {
  const layers = [];
  for (const entry of entries) (layers[entry.layer] ??= []).push(entry);
  const filled = layers.filter(Boolean);
  // Rows are between 0 and 1, so that long and short layers compare.
  const number = (layer) => layer.forEach((entry, index) => (entry.row = (index + 0.5) / layer.length));
  filled.forEach(number);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 === 0 ? filled : [...filled].reverse()) {
      for (const entry of layer) entry.mean = meanOf(entry, graph, ({ row }) => row);
      layer.sort((a, b) => a.mean - b.mean);
      number(layer);
    }
  }
  return filled;
}

/** The mean of a value of the neighbours; without neighbours, the entry's own. */
function meanOf(entry, graph, valueOf) {
  const values = [...entry.neighbours].map((id) => valueOf(graph.get(id)));
  return values.length === 0 ? valueOf(entry) : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Splits layers that are much taller than the diagram should be into several columns. */
function splitTallLayers(layers) {
  const sumOf = (entries, value) => entries.reduce((sum, entry) => sum + value(entry), 0);
  const maxHeight = Math.max(640, Math.sqrt(sumOf(layers.flat(), ({ width, height }) => (width + COLUMN_GAP) * (height + ROW_GAP))));
  return layers.flatMap((layer) => {
    const size = Math.ceil(layer.length / Math.ceil(sumOf(layer, ({ height }) => height + ROW_GAP) / maxHeight));
    return Array.from({ length: Math.ceil(layer.length / size) }, (_, index) => layer.slice(index * size, (index + 1) * size));
  });
}

function placeColumns(columns, graph) {
  let x = 0;
  for (const column of columns) {
    let y = 0;
    for (const entry of column) {
      [entry.x, entry.y] = [x, y];
      y += entry.height + ROW_GAP;
    }
    x += Math.max(...column.map(({ width }) => width)) + COLUMN_GAP;
  }
  for (const column of [...columns, ...[...columns].reverse()]) {
    spread(column, (entry) => meanOf(entry, graph, ({ y, height }) => y + height / 2) - entry.height / 2);
  }
}

/** Moves entries as near to their wanted tops as their order and the gaps between them allow (least squares). */
function spread(column, wantedTop) {
  /** @type {any[]} */
  const blocks = [];
  const topOf = (block) => block.sum / block.entries.length;
  for (const entry of column) {
    let block = { entries: [entry], height: entry.height + ROW_GAP, sum: wantedTop(entry) };
    while (blocks.length > 0 && topOf(blocks.at(-1)) + blocks.at(-1).height > topOf(block)) block = join(blocks.pop(), block);
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

const join = (first, second) => ({
  entries: [...first.entries, ...second.entries],
  height: first.height + second.height,
  sum: first.sum + second.sum - first.height * second.entries.length,
});
