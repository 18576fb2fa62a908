// Edits named aggregates: functions, groups, order.
import { h, replace } from "/lib/dom.js";
import { typeFamily } from "/lib/filter.js";
import { fromAggregates, FUNCTIONS, toAggregates } from "/lib/sorting.js";
import { picker } from "/parts/picker.js";

const PERIODS = { "": "each value", year: "year", quarter: "quarter", month: "month", week: "week", day: "day", hour: "hour" };
const FUNCTION_LABELS = { count: "count", count_distinct: "count of distinct", sum: "sum of", avg: "average of", min: "smallest", max: "largest" };

export function aggregateBuilder(aggregate, fields, listId, change) {
  const list = toAggregates(aggregate);
  const box = h("div", {});
  const context = { fields, listId, changed: () => change(fromAggregates(list)), redraw };
  const add = () => {
    list.push({ name: freeName(list), functions: [{ name: "count", field: "" }], groups: [], rest: {} });
    context.changed();
    redraw();
  };
  function redraw() {
    replace(box, list.map((one, i) => drawAggregate(one, () => {
      list.splice(i, 1);
      context.changed();
      redraw();
    }, context)), h("button", { type: "button", class: "button small", on: { click: add } }, "Add aggregate"));
  }
  redraw();
  return box;
}

function freeName(list) {
  const names = new Set(list.map(({ name }) => name));
  return ["result", ...Array.from({ length: 99 }, (_, i) => `result_${i + 2}`)].find((name) => !names.has(name)) ?? "result";
}

function drawAggregate(one, remove, context) {
  const name = h("input", { value: one.name, "aria-label": "Name of the aggregate", autocomplete: "off", on: { change: () => {
    one.name = name.value.trim() || one.name;
    name.value = one.name;
    context.changed();
  } } });
  return h("div", { class: "filter-group", role: "group", "aria-label": `Aggregate ${one.name}` },
    h("div", { class: "filter-row" }, name, removeButton(`aggregate ${one.name}`, remove)),
    one.functions.map((each, i) => functionRow(each, remover(one.functions, i, context), context)),
    one.groups.map((group, i) => groupRow(group, remover(one.groups, i, context), context)),
    h("div", { class: "toolbar" },
      adder("Add function", one.functions, () => ({ name: FUNCTIONS.find((fn) => !one.functions.some((each) => each.name === fn)) ?? "sum", field: "" }), context),
      one.groups.length < 4 && adder("Group by", one.groups, () => ({ field: "" }), context),
      one.groups.length > 0 && picker("Order of the groups", { "": "by group", desc: "largest first", asc: "smallest first" }, one.rest.order ?? "", (order) => {
        if (order) one.rest.order = order;
        else delete one.rest.order;
        context.changed();
      })));
}

function remover(list, i, context) {
  return () => {
    list.splice(i, 1);
    context.changed();
    context.redraw();
  };
}

function adder(label, list, make, context) {
  return h("button", { type: "button", class: "button small", on: { click: () => {
    list.push(make());
    context.changed();
    context.redraw();
  } } }, label);
}

const removeButton = (what, remove) => h("button", { type: "button", class: "button small", "aria-label": `Remove ${what}`, on: { click: remove } }, "✕");

function functionRow(each, remove, context) {
  const field = h("input", { list: context.listId, value: each.field, placeholder: "field or calculation", "aria-label": "Field", autocomplete: "off", hidden: each.name === "count", on: { change: () => {
    each.field = field.value.trim();
    context.changed();
  } } });
  const choose = (name) => {
    each.name = name;
    field.hidden = name === "count";
    context.changed();
  };
  return h("div", { class: "filter-row" }, picker("Function", FUNCTION_LABELS, each.name, choose), field, removeButton(FUNCTION_LABELS[each.name], remove));
}

function groupRow(group, remove, context) {
  const isTime = () => group.by !== undefined || typeFamily(context.fields.get(group.field)?.type) === "time";
  const field = h("input", { list: context.listId, value: group.field, placeholder: "field", "aria-label": "Group by", autocomplete: "off", on: { change: () => {
    group.field = field.value.trim();
    context.changed();
    context.redraw();
  } } });
  const by = (period) => {
    if (period) group.by = period;
    else delete group.by;
    context.changed();
  };
  return h("div", { class: "filter-row" }, h("span", { class: "muted" }, "for each"), field, isTime() && picker("Period", PERIODS, group.by ?? "", by), removeButton(`group ${group.field}`, remove));
}
