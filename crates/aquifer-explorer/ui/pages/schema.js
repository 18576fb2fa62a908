// The tables of a source: a list, a diagram of their references, and one table with its columns.
import { announce, debounce, h, heading, replace, uniqueId } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { plural } from "/lib/format.js";
import { navigate, setQuery } from "/lib/router.js";
import { createDiagram, defaultDetail } from "/parts/diagram.js";
import { badge } from "/parts/elements.js";
import { tableDetails } from "/parts/table_details.js";

const DETAILS = [["all", "All columns"], ["keys", "Keys and references"], ["none", "Names only"]];

export const title = ({ table }) => (table ? `Table ${table}` : "Schema");

export async function render(main, { table }, query) {
  const answer = await get("/tables");
  const sources = answer.sources.filter((source) => source.tables.length > 0).map(normalize);
  const source = chooseSource(sources, query.get("source"), table);
  if (!source) return showNothing(main);
  const addressOf = (name) => `/schema/${encodeURIComponent(name)}${sources.length > 1 ? `?source=${encodeURIComponent(source.name)}` : ""}`;
  if (table) return renderTable(main, source, table, addressOf);
  return renderSource(main, sources, source, addressOf, query);
}

/** Fills in lists that may be absent. */
const normalize = (source) => ({
  ...source,
  tables: source.tables.map(({ columns = [], references = [], operations = [], ...table }) =>
    ({ ...table, columns, operations, references: references.map(withColumns) })),
});

const withColumns = (reference) => ({ ...reference, columns: reference.columns ?? [reference.column] });

function chooseSource(sources, name, table) {
  return sources.find((source) => source.name === name)
    ?? sources.find((source) => source.tables.some((found) => found.name === table))
    ?? sources[0];
}

function showNothing(main) {
  const link = h("a", { href: "/operations" }, "Operations");
  replace(main, heading("Schema"),
    h("p", { class: "empty" }, "No source has tables. Databases show theirs here; the tools of MCP servers and HTTP APIs are under ", link, "."));
}

function renderSource(main, sources, source, addressOf, query) {
  const place = h("div", {});
  const list = createList(source.tables, addressOf, query.get("q") ?? "", (isShown) => diagram?.dim(isShown));
  const choice = selectField("Columns in the diagram", DETAILS, query.get("columns") ?? defaultDetail(source.tables.length), (value) => {
    setQuery({ columns: value });
    draw(value);
  });
  let diagram = null;

  function draw(detail) {
    diagram?.stop();
    diagram = createDiagram(source.tables, { detail, addressOf: (table) => addressOf(table.name) });
    replace(place, diagram.element);
    list.update();
  }

  replace(main,
    heading("Schema", `${plural(source.tables.length, "table")} of ${source.name}.`, ...(sources.length > 1 ? [sourceField(sources, source)] : [])),
    h("div", { class: "schema" },
      h("section", { "aria-labelledby": "schema-tables" }, h("h2", { id: "schema-tables" }, "Tables"), list.element),
      h("section", { "aria-labelledby": "schema-diagram" },
        h("div", { class: "schema-head" }, h("h2", { id: "schema-diagram" }, "Diagram"), choice),
        skippable(place))));
  draw(choice.querySelector("select").value);
  return () => diagram.stop();
}

/** A drawing with many links, and a link behind it for people who use the keyboard. */
function skippable(drawing) {
  const end = h("div", { id: uniqueId("end"), tabindex: "-1" });
  return [h("a", { class: "skip-inline", href: `#${end.id}` }, "Skip the diagram"), drawing, end];
}

function sourceField(sources, source) {
  return selectField("Source", sources.map(({ name }) => [name, name]), source.name, (name) => navigate(`/schema?source=${encodeURIComponent(name)}`));
}

function selectField(label, options, selected, onChange) {
  const select = h("select", { on: { change: () => onChange(select.value) } }, options.map(([value, words]) => h("option", { value }, words)));
  select.value = options.some(([value]) => value === selected) ? selected : options[0][0];
  return h("label", { class: "field field-inline" }, h("span", {}, label), select);
}

/** The list with its search. `onFilter` gets a function that tells whether a table is shown. */
function createList(tables, addressOf, search, onFilter) {
  const input = h("input", { type: "search", value: search, autocomplete: "off", spellcheck: "false", on: { input: debounce(filter, 120) } });
  const sorted = [...tables].sort((a, b) => a.name.localeCompare(b.name));
  const items = sorted.map((table) => ({ table, element: tableItem(table, addressOf) }));
  const nothing = h("p", { class: "muted", hidden: true }, "No table or column has such a name.");

  function filter() {
    setQuery({ q: input.value.trim() });
    const count = update();
    announce(`${plural(count, "table")} found.`);
  }

  function update() {
    const words = input.value.trim().toLowerCase();
    const shown = new Set(items.filter(({ table }) => matches(table, words)).map(({ table }) => table.name));
    for (const { table, element } of items) element.hidden = !shown.has(table.name);
    nothing.hidden = shown.size > 0;
    onFilter((name) => shown.has(name));
    return shown.size;
  }

  const element = h("div", {},
    h("label", { class: "field" }, h("span", {}, "Search tables and columns"), input),
    nothing, h("ul", { class: "table-list" }, items.map((item) => item.element)));
  return { element, update };
}

const matches = (table, words) =>
  [table.name, ...table.columns.map((column) => column.name)].some((name) => name.toLowerCase().includes(words));

const sizeOf = ({ columns, rows }) =>
  [plural(columns.length, "column"), Number.isFinite(rows) && plural(rows, "row")].filter(Boolean).join(", ");

function tableItem(table, addressOf) {
  const { name, kind } = table;
  return h("li", {}, h("a", { href: addressOf(name) }, tableName(name, kind), h("span", { class: "muted small-print" }, sizeOf(table))));
}

const tableName = (name, kind) => [h("span", { class: "mono" }, name), kind === "view" && [" ", badge("view")]];

function renderTable(main, source, name, addressOf) {
  const table = source.tables.find((found) => found.name === name);
  const back = h("p", {}, h("a", { href: addressOf("").replace("/schema/", "/schema") }, `All tables of ${source.name}`));
  if (!table) {
    replace(main, heading(`There is no table ${name}`), back);
    return null;
  }
  const near = neighbours(source.tables, table);
  const diagram = near.length > 1 && createDiagram(near, { detail: near.length > 12 ? "keys" : "all", addressOf: (found) => addressOf(found.name), current: name });
  replace(main,
    heading(tableName(name, table.kind), `${sizeOf(table)}, source ${source.name}.`),
    table.description && h("p", {}, table.description),
    back, tableDetails(table, source.tables, addressOf),
    diagram && [h("h2", {}, "Diagram"), skippable(diagram.element)]);
  return () => diagram && diagram.stop();
}

/** The table, what it refers to, and what refers to it. */
function neighbours(tables, { name, references }) {
  const targets = new Set(references.map((reference) => reference.table));
  return tables.filter((table) => table.name === name || targets.has(table.name) || table.references.some((reference) => reference.table === name));
}
