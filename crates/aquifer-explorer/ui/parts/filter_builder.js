// Edits a filter: nested groups of conditions with the operators that fit the type of each field.
import { h, replace } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { OPERATOR_LABELS, operatorsFor, toFilter, toTree, typedValue, typeFamily } from "/lib/filter.js";
import { parseJson } from "/lib/json_text.js";

const GROUP_LABELS = { and: "All of these hold", or: "At least one of these holds", not: "These do not all hold" };

/** `fields` is a Map of names to `{type}`; `listId` names a datalist of them. */
export function filterBuilder(filter, fields, listId, change) {
  const tree = toTree(filter);
  const box = h("div", {});
  const context = { fields, listId, changed: () => change(toFilter(tree)), redraw };
  function redraw() {
    replace(box, drawGroup(tree, context, null));
  }
  redraw();
  return box;
}

function drawGroup(group, context, remove) {
  const add = (node) => {
    group.children.push(node);
    context.redraw();
  };
  const removeAt = (i) => () => {
    group.children.splice(i, 1);
    context.changed();
    context.redraw();
  };
  const children = group.children.map((node, i) => drawNode(node, context, removeAt(i)));
  return h("div", { class: "filter-group", role: "group", "aria-label": GROUP_LABELS[group.op] },
    (remove || group.children.length > 1) && h("div", { class: "toolbar" }, groupSelect(group, context, remove), remove && removeButton("this group", remove)),
    children,
    h("div", { class: "toolbar" },
      h("button", { type: "button", class: "button small", on: { click: () => add({ kind: "condition", field: "", op: "eq", value: undefined }) } }, "Add condition"),
      h("button", { type: "button", class: "button quiet small", on: { click: () => add({ kind: "group", op: "or", children: [] }) } }, "Add group")));
}

function groupSelect(group, context, remove) {
  const kinds = remove ? ["and", "or", "not"] : ["and"];
  if (kinds.length === 1) return h("span", { class: "muted" }, GROUP_LABELS.and);
  const select = h("select", { "aria-label": "How the conditions of this group combine", on: { change: () => {
    group.op = select.value;
    context.changed();
  } } }, kinds.map((kind) => h("option", { value: kind, selected: kind === group.op }, GROUP_LABELS[kind])));
  return select;
}

function removeButton(what, remove) {
  return h("button", { type: "button", class: "button small", "aria-label": `Remove ${what}`, on: { click: remove } }, "✕");
}

function drawNode(node, context, remove) {
  if (node.kind === "group") return drawGroup(node, context, remove);
  return node.kind === "raw" ? drawRaw(node, context, remove) : drawCondition(node, context, remove);
}

function drawRaw(node, context, remove) {
  const input = h("input", { class: "mono", value: json(node.value, 0), "aria-label": `${node.name}, as JSON`, on: { input: read } });
  function read() {
    const parsed = parseJson(input.value);
    input.setAttribute("aria-invalid", String(Boolean(parsed.error)));
    if (parsed.error) return;
    node.value = parsed.value;
    context.changed();
  }
  return h("div", { class: "filter-row" }, h("code", {}, node.name), input, removeButton(`the condition on ${node.name}`, remove));
}

function drawCondition(node, context, remove) {
  const row = h("div", { class: "filter-row" });
  const typeOf = () => context.fields.get(node.field)?.type;
  const field = h("input", { list: context.listId, value: node.field, placeholder: "field", "aria-label": "Field", autocomplete: "off", on: { input: chooseField, change: chooseField } });
  const operator = h("select", { "aria-label": "Operator", on: { change: chooseOperator } });
  const values = h("span", { class: "filter-values" });

  function chooseField() {
    // On change there is nothing left to do: the value, which may have just received the focus, must stay.
    if (field.value.trim() === node.field) return;
    const before = typeFamily(typeOf());
    node.field = field.value.trim();
    if (typeFamily(typeOf()) !== before) node.value = undefined;
    if (!operatorsFor(typeOf()).includes(node.op)) node.op = operatorsFor(typeOf())[0];
    fill();
    context.changed();
  }

  function chooseOperator() {
    node.value = convert(node.value, node.op, operator.value);
    node.op = operator.value;
    fill();
    context.changed();
  }

  function fill() {
    const names = new Set([...operatorsFor(typeOf()), node.op]);
    replace(operator, [...names].map((name) => h("option", { value: name, selected: name === node.op }, OPERATOR_LABELS[name])));
    replace(values, valueInputs(node, typeOf(), context.changed));
  }

  fill();
  replace(row, field, operator, values, removeButton(`the condition on ${node.field || "a field"}`, remove));
  return row;
}

/** Keeps what was typed when the operator changes between one value, a list and none. */
function convert(value, from, to) {
  const isList = (op) => op === "in" || op === "not_in" || op === "between";
  if (to === "is_null") return true;
  if (from === "is_null") return undefined;
  if (isList(to)) return Array.isArray(value) ? value : value === undefined ? undefined : [value];
  return Array.isArray(value) ? value[0] : value;
}

function valueInputs(node, type, changed) {
  const set = (value) => {
    node.value = value;
    changed();
  };
  if (node.op === "is_null") return choice("Missing or present", ["true", "false"], String(node.value), (typed) => set(typed === "true"), ["missing", "present"]);
  if (node.op === "between") return rangeInputs(node, type, set);
  if (node.op === "in" || node.op === "not_in") return listInput(node, type, set);
  return oneInput("Value", node.value, type, set);
}

function rangeInputs(node, type, set) {
  const range = Array.isArray(node.value) ? [...node.value] : [];
  const put = (i) => (value) => {
    range[i] = value;
    set(range[0] === undefined || range[1] === undefined ? undefined : [...range]);
  };
  return [oneInput("From", range[0], type, put(0)), "and", oneInput("To", range[1], type, put(1))];
}

function listInput(node, type, set) {
  const known = Array.isArray(node.value);
  if (typeFamily(type) === "choice") return checkList(String(type).split("|"), known ? node.value : [], set);
  if (node.value !== undefined && !known) return oneInput("Values", node.value, "json", set);
  const input = h("input", { "aria-label": "Values, separated by commas", placeholder: "a, b, c", value: known ? node.value.map((value) => (typeof value === "string" ? value : json(value, 0))).join(", ") : "", on: { input: read } });
  function read() {
    const parts = input.value.split(",").map((part) => part.trim()).filter(Boolean);
    set(parts.length > 0 ? parts.map((part) => typedValue(part, type)) : undefined);
  }
  return input;
}

function checkList(options, chosen, set) {
  const selected = new Set(chosen);
  return h("span", { class: "toolbar", role: "group", "aria-label": "Values" }, options.map((option) => {
    const box = h("input", { type: "checkbox", checked: selected.has(option), on: { change: () => {
      if (box.checked) selected.add(option);
      else selected.delete(option);
      set(selected.size > 0 ? [...selected] : undefined);
    } } });
    return h("label", { class: "check" }, box, option);
  }));
}

function oneInput(label, value, type, set) {
  const family = typeFamily(type);
  if (family === "choice" && (value === undefined || typeof value === "string")) return choice(label, String(type).split("|"), value, set);
  if (family === "boolean") return choice(label, ["true", "false"], value === undefined ? undefined : String(value), (typed) => set(typed === undefined ? undefined : typed === "true"));
  const shown = value === undefined ? "" : typeof value === "string" ? value : json(value, 0);
  const input = h("input", { "aria-label": label, value: shown, autocomplete: "off", placeholder: family === "time" ? "2026-01-31 or 2026-01-31T10:00:00Z" : "", inputmode: family === "number" ? "decimal" : null, on: { input: () => set(input.value === "" ? undefined : typedValue(input.value, type)) } });
  return input;
}

function choice(label, options, value, set, labels = options) {
  const select = h("select", { "aria-label": label, on: { change: () => set(select.value === "" ? undefined : select.value) } },
    !options.includes(value) && h("option", { value: "" }, value ?? "Choose…"),
    options.map((option, i) => h("option", { value: option, selected: option === value }, labels[i])));
  return select;
}
