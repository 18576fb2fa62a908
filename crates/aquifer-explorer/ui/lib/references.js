// Links from the values of a row to the rows that they refer to.
import { get } from "/lib/api.js";

const RUN_KEY = "aquifer.run";
let tables = null;

async function loadTables() {
  tables ??= get("/tables").then(({ sources }) => sources, () => {
    tables = null;
    return [];
  });
  return tables;
}

/**
 * The collection of an operation: what the server says, or else the table that it belongs to.
 *
 * @param {{collection?: any, source: string, operation: {name: string}, schema?: any}} details
 */
export async function findCollection({ collection, source, operation, schema }) {
  if (collection) return collection;
  if (!Object.hasOwn(schema?.properties ?? {}, "filter")) return null;
  const known = (await loadTables()).find(({ name }) => name === source)?.tables ?? [];
  const table = known.find(({ operations }) => operations?.includes(operation.name));
  if (!table) return null;
  const references = (table.references ?? []).map(({ column, table: target }) => ({ name: column.replace(/_id$/, ""), table: target, field: column }));
  return { table: table.name, fields: table.columns, references };
}

/** The links of the rows that an operation returns, if it belongs to a table. */
export async function operationLinks(name) {
  const sources = await loadTables();
  const source = sources.find(({ tables: known }) => known.some(({ operations }) => operations?.includes(name)));
  if (!source) return undefined;
  const collection = await findCollection({ source: source.name, operation: { name }, schema: { properties: { filter: {} } } });
  return referenceLinks(source.name, collection);
}

/**
 * `link(column, value)` → `{id, label, href, title, open}` or null, for the rows of a collection; `link.own(row)` → the same
 * for the row itself.
 */
export async function referenceLinks(source, collection) {
  const references = collection?.references ?? [];
  if (references.length === 0) return undefined;
  const known = (await loadTables()).find(({ name }) => name === source)?.tables ?? [];
  const targets = new Map();
  for (const reference of references) {
    const target = targetOf(reference, known);
    if (target) for (const column of columnsOf(reference, collection)) targets.set(column, target);
  }
  const link = (column, value) => (targets.has(column) ? toLink(targets.get(column), value) : null);
  const own = targetOf({ table: collection.table }, known);
  link.own = (row) => (own && row[own.key] !== undefined && row[own.key] !== null ? toLink(own, row[own.key]) : null);
  return link;
}

/** The column that holds a reference: named itself, or after the reference. */
function columnsOf({ name, field }, collection) {
  const names = new Set((collection.fields ?? []).map((one) => one.name));
  return [field, name, `${name}_id`].filter((column) => names.has(column)).slice(0, 1);
}

function targetOf(reference, known) {
  const table = known.find(({ name }) => name === reference.table);
  const operation = table?.operations?.find((name) => /(^|[._])get_/.test(name));
  const keys = table?.columns?.filter(({ key }) => key) ?? [];
  return operation && keys.length === 1 ? { table: table.name, operation, key: keys[0].name } : null;
}

function toLink({ table, operation, key }, value) {
  const query = new URLSearchParams({ params: JSON.stringify({ [key]: value }), run: crypto.randomUUID?.() ?? String(Math.random()) });
  return { id: JSON.stringify([table, value]), label: `${table} ${value}`, href: `/operations/${encodeURIComponent(operation)}?${query}`, title: `Open with ${operation}`, open: () => allowRun(query.get("run")) };
}

/** Only links that were clicked here run by themselves: the code in the address has to be known to this browser. */
function allowRun(code) {
  try {
    localStorage.setItem(RUN_KEY, code);
  } catch {
    // Storage is disabled: the link opens the form without running it.
  }
}

/** Whether this address may run by itself, once. */
export function mayRun(code) {
  try {
    const allowed = Boolean(code) && localStorage.getItem(RUN_KEY) === code;
    if (allowed) localStorage.removeItem(RUN_KEY);
    return allowed;
  } catch {
    return false;
  }
}
