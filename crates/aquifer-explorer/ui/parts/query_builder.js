// Edits the parameters of the query language: filter, sort, fields, aggregate and the size of a page.
import { h, replace, uniqueId } from "/lib/dom.js";
import { fromCriteria, toCriteria } from "/lib/sorting.js";
import { aggregateBuilder } from "/parts/aggregate_builder.js";
import { filterBuilder } from "/parts/filter_builder.js";
import { picker } from "/parts/picker.js";

/** The parameters that this builder edits. */
export const QUERY_PARAMETERS = ["filter", "sort", "order", "fields", "preset", "aggregate", "first", "after", "include_items", "total"];

/** The names that the builder takes from `schema`; parameters of other types stay in the form. */
export function queryParameters(schema) {
  const properties = schema?.properties ?? {};
  return QUERY_PARAMETERS.filter((name) => Object.hasOwn(properties, name));
}

/**
 * `collection` is that of the operation, `computed` its computed fields. `change(params)` gets all parameters.
 */
export function queryBuilder(schema, collection, computed, params, change) {
  const names = new Set(queryParameters(schema));
  const fields = fieldMap(collection, computed);
  const listId = uniqueId("fields");
  let current = { ...params };
  const set = (values) => {
    current = { ...current, ...values };
    for (const [name, value] of Object.entries(values)) if (value === undefined) delete current[name];
    change(current);
  };
  const section = (name, label, draw) => names.has(name) && fold(label, current[name] !== undefined, draw);
  return h("div", { class: "query" },
    h("datalist", { id: listId }, [...fields.keys(), ...referencePaths(collection)].map((name) => h("option", { value: name }))),
    section("filter", "Filter", () => filterBuilder(current.filter, fields, listId, (filter) => set({ filter }))),
    section("sort", "Sort", () => sortBuilder(current, listId, (sort) => set({ sort, order: undefined }))),
    section("fields", "Fields", () => fieldsBuilder(current.fields, fields, (chosen) => set({ fields: chosen }))),
    section("aggregate", "Aggregate", () => aggregateBuilder(current.aggregate, fields, listId, (aggregate) => set({ aggregate }))),
    names.has("first") && pageSize(current, names, set));
}

function fieldMap(collection, computed) {
  const fields = new Map((collection.fields ?? []).map((field) => [field.name, { ...field, type: field.enum?.length > 0 ? field.enum.join("|") : field.type }]));
  for (const field of computed ?? []) fields.set(`_computed.${field.name}`, field);
  return fields;
}

const referencePaths = (collection) => (collection.references ?? []).map(({ name }) => `${name}.`);

function fold(label, open, draw) {
  const body = h("div", { class: "query-body" });
  const details = h("details", { class: "query-section", open, on: { toggle: () => details.open && body.childElementCount === 0 && replace(body, draw()) } }, h("summary", {}, label), body);
  if (open) replace(body, draw());
  return details;
}

function sortBuilder(current, listId, change) {
  const criteria = toCriteria(current.sort, current.order);
  const box = h("div", {});
  const changed = () => change(fromCriteria(criteria));
  const row = (one, i) => {
    const field = h("input", { list: listId, value: one.field, placeholder: "field", "aria-label": "Sort by", autocomplete: "off", on: { change: () => update({ field: field.value.trim() }) } });
    const update = (values) => {
      Object.assign(one, values);
      changed();
    };
    const remove = () => {
      criteria.splice(i, 1);
      changed();
      draw();
    };
    return h("div", { class: "filter-row" }, field,
      picker("Direction", { asc: "ascending", desc: "descending" }, one.order, (order) => update({ order })),
      picker("Missing values", { "": "missing last", first: "missing first" }, one.nulls === "first" ? "first" : "", (nulls) => update({ nulls: nulls || undefined })),
      h("button", { type: "button", class: "button small", "aria-label": `Remove sorting by ${one.field || "a field"}`, on: { click: remove } }, "✕"));
  };
  const add = () => {
    criteria.push({ field: "", order: "asc" });
    draw();
    box.querySelector(".filter-row:last-of-type input")?.focus();
  };
  function draw() {
    replace(box, criteria.map(row), criteria.length < 8 && h("button", { type: "button", class: "button small", on: { click: add } }, "Add field"));
  }
  draw();
  return box;
}

function fieldsBuilder(selection, fields, change) {
  const preset = typeof selection === "string" ? selection : "";
  const chosen = new Set(Array.isArray(selection) ? selection.filter((one) => typeof one === "string") : []);
  const embedded = Array.isArray(selection) ? selection.filter((one) => typeof one !== "string") : [];
  const paths = [...chosen].filter((name) => !fields.has(name));
  const report = () => change(chosen.size + embedded.length > 0 ? [...chosen, ...embedded] : undefined);
  const toggle = (name, box) => {
    if (box.checked) chosen.add(name);
    else chosen.delete(name);
    report();
  };
  const check = (name) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(name), on: { change: () => toggle(name, box) } });
    return h("label", { class: "check" }, box, h("span", { class: "mono" }, name));
  };
  const more = h("input", { value: paths.join(", "), placeholder: "customer.name, shipping.address.city", on: { change: addPaths } });
  function addPaths() {
    for (const name of [...chosen]) if (!fields.has(name)) chosen.delete(name);
    for (const name of more.value.split(",").map((part) => part.trim()).filter(Boolean)) chosen.add(name);
    report();
  }
  return h("div", {},
    h("label", { class: "field" }, h("span", {}, "Preset"), picker("Preset", { "": "none: the fields below, or the default", minimal: "minimal", standard: "standard", full: "full" }, preset, (value) => change(value || undefined))),
    h("div", { class: "checks", role: "group", "aria-label": "Fields" }, [...fields.keys()].map(check)),
    h("label", { class: "field" }, h("span", {}, "Paths to other values, separated by commas"), more),
    embedded.length > 0 && h("p", { class: "muted" }, `${embedded.length} embedded; edit them as JSON.`));
}

function pageSize(current, names, set) {
  const first = h("input", { inputmode: "numeric", value: current.first ?? "", placeholder: "default", on: { input: () => {
    const valid = /^\d*$/.test(first.value);
    first.setAttribute("aria-invalid", String(!valid));
    if (valid) set({ first: first.value === "" ? undefined : Number(first.value) });
  } } });
  const check = (name, label) => {
    const box = h("input", { type: "checkbox", checked: current[name] === true, on: { change: () => set({ [name]: box.checked || undefined }) } });
    return names.has(name) && h("label", { class: "check" }, box, label);
  };
  return h("div", { class: "toolbar query-page" },
    h("label", { class: "check" }, "Items per page", first), check("total", "Count all"), check("include_items", "Items beside aggregates"),
    current.after !== undefined && h("button", { type: "button", class: "button small", on: { click: () => set({ after: undefined }) } }, "Back to the first page"));
}
