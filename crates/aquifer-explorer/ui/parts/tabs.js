// Tabs with arrow keys.
import { h, replace, uniqueId } from "/lib/dom.js";

/**
 * `items` are `{id, label, render()}`; `render` returns the nodes of the panel and runs whenever its tab is selected.
 * Returns `{element, select(id)}`.
 *
 * @param {string} label
 * @param {{id: string, label: string, render: () => any}[]} items
 * @param {{selected?: string, onSelect?: (id: string) => void}} [options]
 */
export function tabs(label, items, { selected = items[0]?.id, onSelect } = {}) {
  const prefix = uniqueId("tab");
  const panel = h("div", { class: "tab-panel", role: "tabpanel", id: `${prefix}-panel`, tabindex: "0" });
  const buttons = items.map((item) =>
    h("button", { type: "button", role: "tab", id: `${prefix}-${item.id}`, "aria-controls": panel.id, on: { click: () => select(item.id) } }, item.label));
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label, on: { keydown: move } }, buttons);

  function select(id, focus = false) {
    const index = Math.max(0, items.findIndex((item) => item.id === id));
    for (const [i, button] of buttons.entries()) {
      button.setAttribute("aria-selected", String(i === index));
      button.tabIndex = i === index ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", buttons[index].id);
    replace(panel, items[index].render());
    if (focus) buttons[index].focus();
    onSelect?.(items[index].id);
  }

  function move(event) {
    const index = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: items.length - 1 }[event.key];
    if (index < 0 || next === undefined) return;
    event.preventDefault();
    select(items[(next + items.length) % items.length].id, true);
  }

  select(selected);
  return { element: h("div", { class: "tabbed" }, list, panel), select };
}
