// A labelled choice.
import { h } from "/lib/dom.js";

/** `options` maps values to their labels. */
export function picker(label, options, value, change) {
  const select = h("select", { "aria-label": label, on: { change: () => change(select.value) } },
    Object.entries(options).map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return select;
}
