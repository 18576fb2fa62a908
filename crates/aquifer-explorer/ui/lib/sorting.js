// Sort criteria, selections and aggregates of the query language as lists that a form can edit, and back.

const FUNCTIONS = ["count", "count_distinct", "sum", "avg", "min", "max"];
export { FUNCTIONS };

const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** `sort` (and `order` beside it) → `[{field, order, nulls?}]`. */
export function toCriteria(sort, order) {
  const list = sort === undefined || sort === null ? [] : Array.isArray(sort) ? sort : [sort];
  return list.filter((one) => typeof one === "string" || isPlain(one)).map((one) => toCriterion(one, order));
}

function toCriterion(one, order) {
  if (typeof one !== "string") return { ...one, field: String(one.field ?? ""), order: one.order ?? "asc" };
  return one.startsWith("-") ? { field: one.slice(1), order: "desc" } : { field: one, order: order ?? "asc" };
}

/** The criteria → `sort`, in its shortest form. */
export function fromCriteria(criteria) {
  const list = criteria.filter(({ field }) => field).map(({ order, nulls, ...rest }) => ({ ...rest, ...(order === "desc" && { order }), ...(nulls && { nulls }) }));
  if (list.length === 0) return undefined;
  return list.length === 1 ? list[0] : list;
}

/** `aggregate` → `[{name, functions: [{name, field}], groups: [{field, by}], rest}]`. */
export function toAggregates(aggregate) {
  if (!isPlain(aggregate)) return [];
  return Object.entries(aggregate).filter(([, one]) => isPlain(one)).map(([name, one]) => {
    const { group_by: groupBy, ...members } = one;
    const functions = Object.entries(members).filter(([key]) => FUNCTIONS.includes(key)).map(([key, field]) => ({ name: key, field: field === true ? "" : String(field) }));
    const rest = Object.fromEntries(Object.entries(members).filter(([key]) => !FUNCTIONS.includes(key)));
    return { name, functions, groups: toGroups(groupBy), rest };
  });
}

function toGroups(groupBy) {
  const list = groupBy === undefined ? [] : Array.isArray(groupBy) ? groupBy : [groupBy];
  return list.map((one) => (isPlain(one) ? { ...one } : { field: String(one) }));
}

/** The list → `aggregate`, or undefined if it is empty. */
export function fromAggregates(list) {
  const entries = list.filter(({ name, functions }) => name && functions.some(isComplete)).map(({ name, functions, groups, rest }) => {
    const one = {};
    const grouped = groups.filter(({ field }) => field).map((group) => (group.by ? group : group.field));
    if (grouped.length > 0) one.group_by = grouped.length === 1 ? grouped[0] : grouped;
    for (const each of functions.filter(isComplete)) one[each.name] = each.name === "count" ? true : each.field;
    return [name, { ...one, ...rest }];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

const isComplete = ({ name, field }) => name === "count" || Boolean(field);
