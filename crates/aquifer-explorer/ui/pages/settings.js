// Where the configuration came from, every value with its origin, and problems where they are.
import { h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { json, plural } from "/lib/format.js";
import { badge, card, code, facts, table } from "/parts/elements.js";

// Lines of the file that are shown around a problem.
const CONTEXT = 2;

export const title = () => "Settings";

export async function render(main) {
  const { config, values = [], problems = [], state, audit } = await get("/settings");
  const lines = config?.text ? config.text.replace(/\n$/, "").split("\n") : [];
  replace(main,
    heading("Settings", config?.path
      ? ["From ", code(config.path), ". Secrets are replaced."]
      : "There is no configuration file: everything has its default, or comes from the command line or the environment."),
    problemSection(problems, lines),
    valueSection(values, lines.length),
    h("div", { class: "split" }, factSection("State", state), factSection("Audit", audit)),
    lines.length > 0 && fileSection(config.path, lines, problems));
}

function problemSection(problems, lines) {
  if (problems.length === 0) return card("ok", h("p", {}, "No problems were found in the configuration."));
  return h("section", {}, h("h2", {}, plural(problems.length, "problem")), problems.map((found) => problemCard(found, lines)));
}

function problemCard({ message, line, severity }, lines) {
  return card(severity === "error" ? "danger" : "warn",
    h("p", {}, badge(severity), " ", message, line && [" ", lineLink(line, lines.length)]),
    line && line <= lines.length && excerpt(lines, line));
}

function excerpt(lines, line) {
  const first = Math.max(1, line - CONTEXT);
  return numberedLines(lines.slice(first - 1, line + CONTEXT), first, new Set([line]));
}

function numberedLines(lines, first, marked, isTarget = false) {
  return h("div", { class: "numbered", role: "group" }, lines.map((content, index) => {
    const number = first + index;
    return h("div", { class: marked.has(number) ? "numbered-line marked" : "numbered-line", id: isTarget && `line-${number}`, tabindex: isTarget && "-1" },
      h("span", { class: "line-number" }, String(number)),
      code(content || " "),
      marked.has(number) && h("span", { class: "visually-hidden" }, " (the problem is here)"));
  }));
}

/** A link to a line of the file below; plain text if the file is not shown. */
function lineLink(line, count) {
  if (line > count) return `line ${line}`;
  const open = (event) => {
    event.preventDefault();
    const target = document.getElementById(`line-${line}`);
    const folded = target?.closest("details");
    if (folded) folded.open = true;
    target?.scrollIntoView({ block: "center" });
    target?.focus({ preventScroll: true });
  };
  return h("a", { href: `#line-${line}`, on: { click: open } }, `line ${line}`);
}

function valueSection(values, lineCount) {
  if (values.length === 0) return null;
  return h("section", {}, h("h2", {}, "Values"), table("Values", ["Key", "Value", "Origin"], values.map((value) => valueCells(value, lineCount))));
}

function valueCells({ key, value, origin, line }, lineCount) {
  return [code(key), plainValue(value), [origin === "flag" ? "command line" : origin, line && [", ", lineLink(line, lineCount)]]];
}

const plainValue = (value) => code(typeof value === "string" ? value : json(value, 0));

function factSection(name, values) {
  if (!values || Object.keys(values).length === 0) return null;
  const entries = Object.entries(values).map(([key, value]) => [key.replaceAll("_", " "), plainValue(value)]);
  return h("section", { class: "card" }, h("h2", {}, name), facts(entries));
}

function fileSection(path, lines, problems) {
  const marked = new Set(problems.map((found) => found.line).filter(Boolean));
  return h("section", {}, h("h2", {}, "File"),
    h("details", {}, h("summary", {}, code(path ?? "configuration"), `, ${plural(lines.length, "line")}`), numberedLines(lines, 1, marked, true)));
}
