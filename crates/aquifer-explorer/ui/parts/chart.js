// Aggregates as bars, with a table of the same numbers.
import { h, svg, visible } from "/lib/dom.js";
import { number } from "/lib/format.js";

const MAX_BARS = 60;
const ROW = 24;

/** `aggregates` is what `findAggregates` returns. */
export function aggregateCharts(aggregates) {
  return aggregates.map((one) => h("section", { class: "card", "aria-label": one.name }, h("h3", { class: "mono" }, one.name),
    one.groups.length === 1 && one.groups[0].label === null ? bigNumbers(one) : [one.functions.map((fn, i) => bars(one, fn, i)), valueTable(one)]));
}

function bigNumbers({ functions, groups }) {
  return h("div", { class: "toolbar" }, functions.map((fn, i) =>
    h("div", { class: "figure" }, h("strong", {}, shown(groups[0].values[i])), fn && h("span", { class: "muted" }, ` ${fn}`))));
}

const shown = (value) => (typeof value === "number" ? number(value) : value === null || value === undefined ? "–" : String(value));

function bars({ groups }, fn, index) {
  const numeric = groups.map(({ label, values }) => ({ label: label ?? "", value: Number(values[index]) })).filter(({ value }) => Number.isFinite(value)).slice(0, MAX_BARS);
  if (numeric.length === 0) return null;
  const low = Math.min(0, ...numeric.map(({ value }) => value));
  const high = Math.max(0, ...numeric.map(({ value }) => value));
  const scale = 50 / (high - low || 1);
  const height = numeric.length * ROW;
  return [fn && h("h4", {}, fn),
    svg("svg", { class: "chart", width: "100%", height, "aria-hidden": "true" }, numeric.map((bar, i) => drawBar(bar, i, low, scale))),
    groups.length > MAX_BARS && h("p", { class: "muted" }, `The first ${MAX_BARS} of ${groups.length} groups; the table has all of them.`)];
}

function drawBar({ label, value }, i, low, scale) {
  const y = i * ROW;
  const start = 30 + (Math.min(0, value) - low) * scale;
  const width = Math.abs(value) * scale;
  return svg("g", {},
    svg("title", {}, `${visible(label)}: ${number(value)}`),
    svg("text", { x: "29%", y: y + 16, class: "chart-label" }, label.length > 22 ? `${label.slice(0, 21)}…` : label),
    svg("rect", { x: `${start}%`, y: y + 4, width: `${Math.max(width, 0.2)}%`, height: ROW - 8, rx: 2, class: "chart-bar" }),
    svg("text", { x: `${start + width + 0.8}%`, y: y + 16, class: "chart-value" }, number(value)));
}

function valueTable({ functions, groups, name }) {
  const rows = groups.slice(0, 1000).map(({ label, values }) => h("tr", {}, h("th", { scope: "row" }, label), values.map((value) => h("td", { class: "right" }, shown(value)))));
  return h("details", {}, h("summary", {}, "The numbers as a table"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers of ${name}` }, h("table", { class: "table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "group"), functions.map((fn) => h("th", { scope: "col", class: "right" }, fn || "result")))),
      h("tbody", {}, rows))));
}
