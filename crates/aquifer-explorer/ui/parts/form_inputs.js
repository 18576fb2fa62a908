// The inputs of a generated form. Text that is not a valid value is marked and kept; the value before it stays.
import { h } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";

const common = ({ id, field }) => ({ id, "aria-required": field.required ? "true" : null, "aria-describedby": field.schema.description ? `${id}-hint` : null });

export function constInput({ id, option, value, field, change }) {
  if (value === undefined && field.required) queueMicrotask(() => change(option.const));
  return h("output", { id, class: "mono" }, json(option.const, 0));
}

export function enumInput(input) {
  const { option, value, field, change } = input;
  const select = h("select", { ...common(input), on: { change: () => change(select.value === "" ? undefined : option.enum[Number(select.value)]) } },
    (!field.required || !option.enum.includes(value)) && h("option", { value: "" }, unset(field)),
    option.enum.map((item, i) => h("option", { value: String(i), selected: item === value }, String(item))));
  return select;
}

export function booleanInput(input) {
  const { value, field, change } = input;
  const select = h("select", { ...common(input), on: { change: () => change({ true: true, false: false }[select.value]) } },
    (!field.required || typeof value !== "boolean") && h("option", { value: "" }, unset(field)),
    ["true", "false"].map((item) => h("option", { value: item, selected: String(value) === item }, item)));
  return select;
}

function unset(field) {
  if (field.required) return "Choose…";
  return field.schema.default === undefined ? "not sent" : `not sent (default ${json(field.schema.default, 0)})`;
}

export function numberInput(input) {
  const { option, value, change } = input;
  const read = () => {
    const typed = box.value.trim();
    const parsed = Number(typed);
    const valid = typed === "" || (Number.isFinite(parsed) && (option.type !== "integer" || Number.isInteger(parsed)));
    box.setAttribute("aria-invalid", String(!valid));
    if (valid) change(exact(typed, parsed));
  };
  const box = h("input", { ...common(input), inputmode: option.type === "integer" ? "numeric" : "decimal", autocomplete: "off", value: value ?? "", on: { input: read } });
  return box;
}

/** Integers that a double cannot hold are sent as text, which the protocol accepts. */
function exact(typed, parsed) {
  if (typed === "") return undefined;
  return Number.isInteger(parsed) && !Number.isSafeInteger(parsed) ? typed : parsed;
}

export function textInput(input) {
  const { option, value, field, change } = input;
  const read = () => change(box.value === "" && !field.required ? undefined : box.value);
  const attributes = { ...common(input), autocomplete: "off", value: value ?? "", on: { input: read } };
  const long = String(value ?? "").includes("\n") || (option.maxLength ?? 0) > 500 || option.contentMediaType;
  const box = long ? h("textarea", { ...attributes, rows: 4 }) : h("input", { ...attributes, type: option.format === "date" ? "date" : "text" });
  return box;
}

export function timeInput(input) {
  const { value, change } = input;
  const read = () => change(box.value === "" ? undefined : `${box.value.length === 16 ? `${box.value}:00` : box.value}Z`);
  const utc = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?)(\.\d+)?Z$/.exec(value ?? "");
  if (value && !utc) return textInput({ ...input, option: { ...input.option, format: undefined } });
  const box = h("input", { ...common(input), type: "datetime-local", step: "1", value: utc ? utc[1] : "", on: { input: read } });
  return h("div", { class: "toolbar" }, box, h("span", { class: "muted" }, "UTC"));
}

export function rawInput(input) {
  const { value, change } = input;
  const shown = value === undefined ? "" : json(value, value !== null && typeof value === "object" ? 2 : 0);
  const read = () => {
    const parsed = box.value.trim() === "" ? { value: undefined } : parseJson(box.value);
    box.setAttribute("aria-invalid", String(Boolean(parsed.error)));
    if (!parsed.error) change(parsed.value);
  };
  const box = h("textarea", { ...common(input), rows: Math.min(8, shown.split("\n").length + 1), spellcheck: "false", placeholder: "JSON", value: shown, on: { input: read } });
  return box;
}
