// A grid of many rows: only those in view are in the document. One stop for Tab; arrows move, Enter opens, Space selects.
import { h, replace, uniqueId } from "/lib/dom.js";

const OVERSCAN = 8;

/**
 * `columns` are `{label, class}`; `cells(row)` returns the content of each. `onOpen(row)`; `isSelected(row)`, `onToggle(row, index, range)`.
 * Returns `{element, setRows(rows, keep), refresh(), focus()}`.
 */
export function virtualGrid({ label, columns, cells, onOpen, isSelected, onToggle, onSelectAll, rowHeight }) {
  const prefix = uniqueId("row");
  const filler = h("div", { class: "grid-filler", role: "rowgroup" });
  const head = h("div", { role: "rowgroup" }, h("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": "1" }, columns.map((column) => h("span", { role: "columnheader", class: column.class }, column.label))));
  const element = h("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": label, "aria-multiselectable": "true", on: { scroll: () => requestAnimationFrame(draw), keydown, focus: draw } }, head, filler);
  let rows = [];
  let active = 0;
  let anchor = 0;
  new ResizeObserver(draw).observe(element);

  function draw() {
    const height = rowHeight();
    filler.style.height = `${rows.length * height}px`;
    const top = Math.max(0, Math.floor(element.scrollTop / height) - OVERSCAN);
    const count = Math.ceil((element.clientHeight || 600) / height) + 2 * OVERSCAN;
    const shown = [];
    for (let i = top; i < Math.min(rows.length, top + count); i += 1) shown.push(drawRow(rows[i], i, height));
    replace(filler, shown);
    if (rows.length > 0 && active >= top && active < top + count) element.setAttribute("aria-activedescendant", `${prefix}-${active}`);
    else element.removeAttribute("aria-activedescendant");
  }

  function drawRow(row, i, height) {
    const element = h("div", { class: i === active ? "grid-row active" : "grid-row", role: "row", id: `${prefix}-${i}`, "aria-rowindex": String(i + 2), "aria-selected": String(isSelected(row)), on: { click: (event) => clicked(event, i) } },
      cells(row).map((content, c) => h("span", { role: "gridcell", class: columns[c].class }, content)));
    element.style.transform = `translateY(${i * height}px)`;
    return element;
  }

  function clicked(event, i) {
    if (event.target.closest("a")) return;
    active = i;
    toggle(event.shiftKey);
  }

  function toggle(range) {
    const [from, to] = range ? [Math.min(anchor, active), Math.max(anchor, active)] : [active, active];
    anchor = active;
    onToggle(rows.slice(from, to + 1), rows[active]);
    draw();
  }

  function keydown(event) {
    if (event.target !== element || rows.length === 0) return;
    const page = Math.max(1, Math.floor(element.clientHeight / rowHeight()) - 2);
    const next = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1 }[event.key];
    if (next !== undefined) move(Math.min(rows.length - 1, Math.max(0, next)));
    else if (event.key === "Enter") onOpen(rows[active]);
    else if (event.key === " ") toggle(event.shiftKey);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) onSelectAll();
    else return;
    event.preventDefault();
  }

  function move(to) {
    active = to;
    const height = rowHeight();
    const headHeight = head.offsetHeight;
    const top = active * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height + headHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + height + headHeight - element.clientHeight;
    draw();
  }

  /** `keep` leaves the reader where they are, for rows that changed by themselves. */
  function setRows(next, keep = false) {
    rows = next;
    active = keep ? Math.min(active, Math.max(0, rows.length - 1)) : 0;
    anchor = active;
    if (!keep) element.scrollTop = 0;
    element.setAttribute("aria-rowcount", String(rows.length + 1));
    draw();
  }

  return { element, setRows, refresh: draw, focus: () => element.focus() };
}
