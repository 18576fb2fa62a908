// One table in words: columns, references in both directions, and the operations that use it.
import { h } from "/lib/dom.js";
import { badge, operationLink, table as tableOf } from "/parts/elements.js";

// What happens to a row if the row it refers to is deleted.
const DELETIONS = { cascade: "deleted with it", clear: "cleared if it is deleted" };

/** `tables` are all tables of the source, `addressOf(name)` is the page of one. */
export function tableDetails(table, tables, addressOf) {
  const incoming = tables.flatMap((other) =>
    other.references.filter((reference) => reference.table === table.name).map((reference) => ({ ...reference, from: other.name })));
  return [columnTable(table, addressOf), incoming.length > 0 && incomingList(incoming, addressOf), operationList(table.operations)];
}

function columnTable({ columns, references }, addressOf) {
  const isDescribed = columns.some(({ description }) => description);
  const target = ({ table, target_column, on_delete }) => [
    h("a", { class: "mono", href: addressOf(table) }, target_column ? `${table}.${target_column}` : table),
    DELETIONS[on_delete] && h("div", { class: "muted small-print" }, DELETIONS[on_delete]),
  ];
  const cells = ({ name, type, nullable, key, description, enum: values = [] }) => [
    [mono(name), key && [" ", badge("key")]],
    [mono(type), values.length > 0 && h("div", { class: "muted small-print" }, values.join(", "))],
    nullable ? "yes" : "no",
    references.filter((reference) => reference.columns.includes(name)).map(target),
    ...(isDescribed ? [description] : []),
  ];
  const head = ["Column", "Type", "Null", "Refers to", ...(isDescribed ? ["Description"] : [])];
  return tableOf("Columns", head, columns.map(cells));
}

const mono = (words) => h("span", { class: "mono" }, words);

function incomingList(incoming, addressOf) {
  return [h("h2", {}, "Referred to by"),
    h("ul", {}, incoming.map(({ from, column }) => h("li", {}, h("a", { class: "mono", href: addressOf(from) }, `${from}.${column}`))))];
}

function operationList(operations) {
  if (operations.length === 0) return null;
  return [h("h2", {}, "Operations"),
    h("ul", { class: "columns" }, operations.map((name) => h("li", {}, operationLink(name))))];
}
