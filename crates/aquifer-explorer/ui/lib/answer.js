// Finds the rows, the aggregates and the pages in the data of an answer.
import { entriesInOrder } from "/lib/key_order.js";

const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** `{columns, rows}` (rows are lists of values), or null if the data is no list. */
export function findRows(data) {
  if (isPlain(data) && Array.isArray(data.columns) && Array.isArray(data.rows)) return { columns: data.columns.map(String), rows: data.rows.filter(Array.isArray) };
  const items = Array.isArray(data) ? data : isPlain(data) ? (data.items ?? data.edges?.map?.((edge) => edge?.node ?? edge) ?? onlyList(data)) : null;
  if (!Array.isArray(items)) return null;
  return itemsToRows(items);
}

function onlyList(data) {
  const lists = Object.values(data).filter((value) => Array.isArray(value) && value.length > 0 && value.every(isPlain));
  return lists.length === 1 ? lists[0] : null;
}

function itemsToRows(items) {
  const columns = new Set();
  for (const item of items) {
    if (isPlain(item)) for (const name of Object.keys(item)) columns.add(name);
    else columns.add("value");
  }
  const names = [...columns].slice(0, 200);
  const rows = items.map((item) => names.map((name) => (isPlain(item) ? item[name] : name === "value" ? item : undefined)));
  return { columns: names, rows };
}

/** The page of an answer: `{next, previous, total}`. */
export function findPage(data) {
  const info = isPlain(data) ? (data.pageInfo ?? {}) : {};
  return { next: info.hasNextPage ? info.endCursor : null, total: info.totalCount ?? data?.pagination?.total_items ?? data?.total ?? null };
}

/** Aggregates → `[{name, functions, groups: [{label, values}]}]`; those with one number have no label. */
export function findAggregates(data) {
  if (!isPlain(data?.aggregations)) return [];
  return entriesInOrder(data.aggregations).map(([name, value]) => toSeries(name, value));
}

function toSeries(name, value) {
  if (!isPlain(value)) return { name, functions: [""], groups: [{ label: null, values: [value] }] };
  if (Array.isArray(value.columns) && Array.isArray(value.rows)) return tableSeries(name, value);
  const groups = [];
  collect(value, [], groups);
  const functions = groups.every((group) => isPlain(group.value)) ? [...new Set(groups.flatMap((group) => Object.keys(group.value)))] : [""];
  return { name, functions, groups: groups.map(({ label, value: result }) => ({ label, values: functions.map((fn) => (isPlain(result) ? result[fn] : result)) })) };
}

/** Results of several functions are objects too: they are recognized by their names. */
const FUNCTION_NAMES = new Set(["count", "count_distinct", "sum", "avg", "min", "max"]);

function collect(value, path, groups) {
  const isResult = !isPlain(value) || (Object.keys(value).length > 0 && Object.entries(value).every(([key, one]) => FUNCTION_NAMES.has(key) && !isPlain(one)));
  if (isResult) {
    groups.push({ label: path.length > 0 ? path.join(" · ") : null, value });
    return;
  }
  if (path.length < 6) for (const [key, inner] of entriesInOrder(value)) collect(inner, [...path, key], groups);
}

function tableSeries(name, { columns, rows }) {
  const isValue = (column) => FUNCTION_NAMES.has(column);
  const functions = columns.filter(isValue);
  const groups = rows.filter(Array.isArray).map((row) => ({
    label: row.filter((_, i) => !isValue(columns[i])).map((value) => (value === null ? "null" : String(value))).join(" · "),
    values: functions.map((fn) => row[columns.indexOf(fn)]),
  }));
  return { name, functions, groups };
}
