// One table in words: columns, references in both directions, and the operations that use it.
import { h } from "/lib/dom.js";
import { badge } from "/parts/badges.js";

/** `tables` are all tables of the source, `addressOf(name)` is the page of one. */
export function tableDetails(table, tables, addressOf) {
  const incoming = tables.flatMap((other) => other.references.filter((reference) => reference.table === table.name).map((reference) => ({ ...reference, from: other.name })));
  return [columnTable(table, addressOf), incoming.length > 0 && incomingList(incoming, addressOf), operationList(table.operations)];
}

function columnTable({ columns, references }, addressOf) {
  const head = ["Column", "Type", "Null", "Refers to"];
  return h("div", { class: "scroll", role: "region", "aria-label": "Columns", tabindex: "0" },
    h("table", { class: "table" },
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, columns.map((column) => columnRow(column, references.filter((reference) => reference.column === column.name), addressOf)))));
}

function columnRow({ name, type, nullable, key }, references, addressOf) {
  const target = ({ table, target_column }) => h("a", { class: "mono", href: addressOf(table) }, target_column ? `${table}.${target_column}` : table);
  return h("tr", {},
    h("th", { scope: "row", class: "row-head" }, h("span", { class: "mono" }, name), key && [" ", badge("key")]),
    h("td", {}, h("span", { class: "mono" }, type)),
    h("td", {}, nullable ? "yes" : h("span", { class: "muted" }, "no")),
    h("td", {}, references.map((reference, index) => [index > 0 && ", ", target(reference)])));
}

function incomingList(incoming, addressOf) {
  return [h("h2", {}, "Referred to by"),
    h("ul", {}, incoming.map(({ from, column }) => h("li", {}, h("a", { class: "mono", href: addressOf(from) }, `${from}.${column}`))))];
}

function operationList(operations) {
  if (operations.length === 0) return null;
  return [h("h2", {}, "Operations"),
    h("ul", { class: "columns" }, operations.map((name) => h("li", {}, h("a", { class: "mono", href: `/operations/${encodeURIComponent(name)}` }, name))))];
}
