// Objects and lists in a generated form.
import { h, replace } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";
import { firstValue } from "/lib/schema.js";

/** The fields of an object: required ones and those with a value first, the others folded. */
export function objectField(schema, initial, change, context, skip, labelledBy) {
  let current = { ...initial };
  const required = new Set(schema.required ?? []);
  const set = (name, value) => {
    current = { ...current };
    if (value === undefined) delete current[name];
    else current[name] = value;
    change(current);
  };
  const names = Object.keys(schema.properties ?? {}).filter((name) => !skip.has(name));
  const isShown = (name) => required.has(name) || Object.hasOwn(current, name) || (names.length <= 4 && context.depth === 0);
  const draw = (name) => context.draw(name, schema.properties[name], current[name], required.has(name), (value) => set(name, value), context);
  const folded = names.filter((name) => !isShown(name));
  return h("div", { class: context.depth ? "form-group" : "form", role: labelledBy ? "group" : null, "aria-labelledby": labelledBy },
    names.filter(isShown).sort((a, b) => Number(required.has(b)) - Number(required.has(a))).map(draw),
    foldedFields(folded, draw),
    otherMembers(schema, current, skip, set));
}

function foldedFields(names, draw) {
  if (names.length === 0) return null;
  const box = h("div", {});
  const fill = () => box.childElementCount === 0 && replace(box, names.map(draw));
  return h("details", { class: "folded", on: { toggle: fill } }, h("summary", {}, `${names.length} optional: ${names.slice(0, 5).join(", ")}${names.length > 5 ? "…" : ""}`), box);
}

/** Members that the schema does not name: shown, so that nothing is sent unseen. */
function otherMembers(schema, current, skip, set) {
  const known = schema.properties ?? {};
  const others = Object.keys(current).filter((name) => !Object.hasOwn(known, name) && !skip.has(name));
  return others.map((name) => {
    const input = h("input", { class: "mono", value: json(current[name], 0), "aria-label": `${name}, as JSON`, on: { input: read } });
    function read() {
      const parsed = parseJson(input.value);
      input.setAttribute("aria-invalid", String(Boolean(parsed.error)));
      if (!parsed.error) set(name, parsed.value);
    }
    const box = h("div", { class: "field" }, h("div", { class: "form-label" }, h("span", { class: "mono" }, name), h("span", { class: "badge badge-warn" }, "not a parameter")),
      h("div", { class: "item-row" }, input, h("button", { type: "button", class: "button small", "aria-label": `Remove ${name}`, on: { click: remove } }, "Remove")));
    function remove() {
      set(name, undefined);
      box.remove();
    }
    return box;
  });
}

/** The elements of a list, with buttons to add, remove and move them. */
export function arrayField(schema, initial, change, context, name, labelledBy) {
  let current = [...initial];
  const box = h("div", { class: "form-group", role: "group", "aria-labelledby": labelledBy });
  const update = (next) => {
    current = next;
    change(current);
    draw();
  };
  const set = (i, value) => {
    current = current.with(i, value === undefined ? null : value);
    change(current);
  };

  function drawItem(value, i) {
    const field = context.draw(`${name}[${i}]`, schema.items, value, true, (next) => set(i, next), context);
    const button = (label, title, fn, disabled) => h("button", { type: "button", class: "button small", "aria-label": `${title} ${name}[${i}]`, disabled, on: { click: fn } }, label);
    return h("div", { class: "item-row" }, field,
      button("↑", "Move up", () => update(swap(current, i, i - 1)), i === 0),
      button("✕", "Remove", () => update(current.toSpliced(i, 1))));
  }

  function draw() {
    const add = () => {
      update([...current, firstValue(schema.items, context.root)]);
      box.querySelector(":scope > .item-row:last-of-type :is(input, select, textarea)")?.focus();
    };
    replace(box, current.slice(0, 100).map(drawItem),
      current.length > 100 && h("p", { class: "muted" }, `${current.length - 100} more; edit them as JSON.`),
      h("button", { type: "button", class: "button small", on: { click: add } }, `Add to ${name}`));
  }

  draw();
  return box;
}

function swap(list, one, other) {
  return list.with(one, list[other]).with(other, list[one]);
}
