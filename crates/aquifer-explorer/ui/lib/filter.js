// Filters of the query language as a tree that a form can edit, and back. What the form does not know is kept as it is.

const NUMBERS = ["eq", "ne", "gt", "gte", "lt", "lte", "between", "in", "not_in", "is_null"];
const TEXTS = ["eq", "ne", "contains", "starts_with", "ends_with", "in", "not_in", "gt", "gte", "lt", "lte", "between", "is_null"];
const CHOICES = ["eq", "ne", "in", "not_in", "is_null"];
const ALL = [...new Set([...TEXTS, ...NUMBERS])];

export const OPERATOR_LABELS = {
  eq: "is", ne: "is not", gt: ">", gte: "≥", lt: "<", lte: "≤", between: "between", in: "any of", not_in: "none of",
  contains: "contains", starts_with: "starts with", ends_with: "ends with", is_null: "is missing",
};

/** "number", "time", "boolean", "choice", "text", "json" or "unknown" for the type of a field. */
export function typeFamily(type) {
  const name = String(type ?? "").toLowerCase().replace("?", "");
  if (name.includes("|")) return "choice";
  if (/^(u?int|integer|number|float|double|decimal|numeric|real)/.test(name)) return "number";
  if (/time|date/.test(name)) return "time";
  if (/bool/.test(name)) return "boolean";
  if (/json|object|array|list|\[\]/.test(name)) return "json";
  return /string|text|uuid|char/.test(name) ? "text" : "unknown";
}

/** The operators that make sense for a type. */
export function operatorsFor(type) {
  return { number: NUMBERS, time: NUMBERS, boolean: ["eq", "ne", "is_null"], choice: CHOICES, text: TEXTS, json: ["contains", "eq", "ne", "is_null"] }[typeFamily(type)] ?? ALL;
}

/** A filter → `{kind: "group", op: "and"|"or"|"not", children}` of groups, conditions and raw members. */
export function toTree(filter) {
  return { kind: "group", op: "and", children: isPlain(filter) ? Object.entries(filter).flatMap(([name, value]) => toNodes(name, value)) : [] };
}

const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function toNodes(name, value) {
  if ((name === "and" || name === "or") && Array.isArray(value) && value.every(isPlain)) return [{ kind: "group", op: name, children: value.map(toBranch) }];
  if (name === "not" && isPlain(value)) return [{ ...toTree(value), op: "not" }];
  if (value === null) return [condition(name, "is_null", true)];
  if (Array.isArray(value)) return [condition(name, "in", value)];
  if (!isPlain(value)) return [condition(name, "eq", value)];
  const operators = Object.keys(value);
  const known = operators.length > 0 && operators.every((operator) => Object.hasOwn(OPERATOR_LABELS, operator));
  return known ? operators.map((operator) => condition(name, operator, value[operator])) : [{ kind: "raw", name, value }];
}

const condition = (field, op, value) => ({ kind: "condition", field, op, value });

function toBranch(filter) {
  const tree = toTree(filter);
  return tree.children.length === 1 ? tree.children[0] : tree;
}

/** The tree → a filter, or undefined if it has no condition. */
export function toFilter(tree) {
  const parts = tree.children.map(nodeToFilter).filter(Boolean);
  if (tree.op === "or") return parts.length > 0 ? { or: parts } : undefined;
  const joined = joinAll(parts);
  if (tree.op === "not") return joined && { not: joined };
  return joined;
}

function nodeToFilter(node) {
  if (node.kind === "group") return toFilter(node);
  if (!(node.field ?? node.name)) return undefined;
  if (node.kind === "raw") return { [node.name]: node.value };
  const { field, op, value } = node;
  if (value === undefined) return undefined;
  if (op === "eq" && !isPlain(value) && !Array.isArray(value) && value !== null) return { [field]: value };
  return { [field]: { [op]: value } };
}

/** One object for all parts; `and` where two parts need the same name. */
function joinAll(parts) {
  if (parts.length === 0) return undefined;
  const joined = {};
  for (const part of parts) {
    if (!joinInto(joined, part)) return { and: parts };
  }
  return joined;
}

function joinInto(joined, part) {
  for (const [name, value] of Object.entries(part)) {
    if (!Object.hasOwn(joined, name)) joined[name] = value;
    else if (canMerge(joined[name], value)) joined[name] = { ...joined[name], ...value };
    else return false;
  }
  return true;
}

function canMerge(one, other) {
  if (!isPlain(one) || !isPlain(other)) return false;
  const operators = [...Object.keys(one), ...Object.keys(other)];
  return new Set(operators).size === operators.length && operators.every((name) => Object.hasOwn(OPERATOR_LABELS, name));
}

/** Text that a person typed → a value for a field of this type. */
export function typedValue(typed, type) {
  const family = typeFamily(type);
  const trimmed = typed.trim();
  if (trimmed.startsWith("{")) return parseOr(trimmed, typed);
  if (family === "number" && trimmed !== "" && Number.isFinite(Number(trimmed))) return Number.isSafeInteger(Number(trimmed)) || trimmed.includes(".") ? Number(trimmed) : trimmed;
  if (family === "boolean") return trimmed === "true" ? true : trimmed === "false" ? false : typed;
  if (family === "json" || family === "unknown") return parseOr(trimmed, typed);
  return typed;
}

function parseOr(source, fallback) {
  try {
    return JSON.parse(source);
  } catch {
    return fallback;
  }
}
