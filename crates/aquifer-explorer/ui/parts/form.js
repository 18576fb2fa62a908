// A form generated from a JSON Schema. Every field reports its new value upwards; `undefined` means "left out".
import { h, replace, uniqueId } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { choices, firstValue, kindOf, resolve, fits, typeName } from "/lib/schema.js";
import { arrayField, objectField } from "/parts/form_nested.js";
import { booleanInput, constInput, enumInput, numberInput, rawInput, textInput, timeInput } from "/parts/form_inputs.js";

const INPUTS = { const: constInput, enum: enumInput, number: numberInput, boolean: booleanInput, raw: rawInput, string: textInput, date: textInput, time: timeInput };

/**
 * The form of an object of parameters. `skip` are names that are edited elsewhere.
 * `change(value)` gets the whole object. Returns an element.
 *
 * @param {any} schema
 * @param {any} value
 * @param {(value: any) => void} change
 * @param {{skip?: string[]}} [options]
 */
export function schemaForm(schema, value, change, { skip = [] } = {}) {
  const root = schema;
  const resolved = resolve(schema, root);
  const context = { root, depth: 0, draw: drawField };
  return objectField(resolved, isObject(value) ? value : {}, change, context, new Set(skip));
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** One named field: label, input, description. */
function drawField(name, schema, value, required, change, context) {
  const resolved = resolve(schema, context.root);
  const { nullable, options } = choices(resolved, context.root);
  const field = { name, schema: resolved, options, nullable, required, context, change };
  const choice = pickChoice(options, value);
  const nested = options.length > 1 || ["array", "object"].includes(kindOf(options[choice] ?? {}));
  const box = h("div", { class: nested ? "form-nested" : "field" });
  drawBox(box, field, value, choice);
  return box;
}

function pickChoice(options, value) {
  const found = options.findIndex((option) => fits(resolve(option, {}), value));
  return Math.max(0, found);
}

function drawBox(box, field, value, choice) {
  const { options, context } = field;
  const id = uniqueId("field");
  const redraw = (next, nextChoice) => {
    field.change(next);
    drawBox(box, field, next, nextChoice);
  };
  const option = options[choice] ?? { type: "raw" };
  const empty = value === undefined || value === null;
  const nested = ["array", "object"].includes(kindOf(option));
  const body = nested && empty ? null : drawInput(id, field, option, value);
  replace(box,
    labelOf(id, field, nested),
    options.length > 1 && choicePicker(field, choice, redraw),
    body,
    nested && empty && h("button", { type: "button", class: "button small", on: { click: () => redraw(firstValue(option, context.root), choice) } }, value === null ? "Replace null" : `Add ${field.name}`),
    nested && !empty && !field.required && h("button", { type: "button", class: "button quiet small", on: { click: () => redraw(undefined, choice) } }, `Remove ${field.name}`),
    field.nullable && nullToggle(field, value, (next) => redraw(next, choice)),
    description(id, field.schema));
}

function labelOf(id, field, nested) {
  const type = typeName(field.schema, field.context.root);
  const parts = [h("span", { class: "mono" }, field.name), field.required && !field.name.endsWith("]") && h("span", { class: "required" }, "required"), h("span", { class: "muted type" }, type)];
  return nested ? h("div", { class: "form-label", id }, parts) : h("label", { class: "form-label", for: id }, parts);
}

function description(id, schema) {
  const facts = [];
  if (schema.default !== undefined) facts.push(`Default: ${json(schema.default, 0)}.`);
  if (schema.minimum !== undefined) facts.push(`At least ${schema.minimum}.`);
  if (schema.maximum !== undefined) facts.push(`At most ${schema.maximum}.`);
  if (schema.minLength !== undefined) facts.push(`At least ${schema.minLength} characters.`);
  if (schema.maxLength !== undefined) facts.push(`At most ${schema.maxLength} characters.`);
  if (schema.pattern !== undefined) facts.push(`Pattern: ${schema.pattern}`);
  const words = [schema.description, facts.join(" ")].filter(Boolean).join(" ");
  return words && h("small", { class: "hint", id: `${id}-hint` }, words);
}

function choicePicker(field, choice, redraw) {
  const { options, context } = field;
  const select = h("select", { "aria-label": `Kind of ${field.name}`, on: { change: () => redraw(firstValue(options[select.value], context.root), Number(select.value)) } },
    options.map((option, i) => h("option", { value: String(i), selected: i === choice }, typeName(option, context.root))));
  return select;
}

function nullToggle(field, value, set) {
  const box = h("input", { type: "checkbox", checked: value === null, on: { change: () => set(box.checked ? null : undefined) } });
  return h("label", { class: "check muted" }, box, `Send null for ${field.name}`);
}

function drawInput(id, field, option, value) {
  const kind = kindOf(option);
  const context = { ...field.context, depth: field.context.depth + 1 };
  if (context.depth > 12) return rawInput({ id, field, option, value, change: field.change });
  if (kind === "object") return objectField(option, isObject(value) ? value : {}, field.change, context, new Set(), id);
  if (kind === "array") return arrayField(option, Array.isArray(value) ? value : [], field.change, context, field.name, id);
  return INPUTS[kind]({ id, field, option, value, change: field.change });
}
