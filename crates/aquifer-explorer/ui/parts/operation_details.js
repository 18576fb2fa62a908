// What is known about an operation: parameters, decision, examples, the shape of its results.
import { h } from "/lib/dom.js";
import { json, tokens } from "/lib/format.js";
import { typeName } from "/lib/schema.js";
import { copyText } from "/parts/copy.js";
import { decisionBadge } from "/parts/levels.js";

export function signatureView(given) {
  const signature = typeof given === "string" ? given : given?.signatures?.[0];
  if (!signature) return null;
  return h("div", { class: "signature" }, h("code", {}, signature), h("button", { type: "button", class: "button quiet small", on: { click: () => copyText(signature) } }, "Copy"));
}

/** Facts about the operation itself. */
export function factsView(details) {
  const fact = (name, value) => (value === null || value === undefined || value === "" ? null : [h("dt", {}, name), h("dd", {}, value)]);
  const { operation } = details;
  return h("section", { class: "card" }, h("h2", {}, "About"), h("dl", { class: "facts" },
    fact("Source", h("a", { href: `/operations?source=${encodeURIComponent(details.source)}` }, details.source)),
    fact("Place", h("span", { class: "mono" }, details.place)),
    fact("Name there", details.own_name && details.own_name !== operation.name ? h("span", { class: "mono" }, details.own_name) : null),
    fact("Category", operation.semantic_category ?? operation.category ?? details.category),
    fact("Tool", operation.mcpTool && h("span", { class: "mono" }, operation.mcpTool)),
    fact("Trust", details.trust),
    fact("Listed", details.listed ? null : "No: agents do not see it"),
    fact("Description costs", tokens(details.tokens)),
    fact("Returns", returnsText(operation.returns))));
}

function returnsText(returns) {
  if (!returns) return null;
  if (typeof returns === "string") return returns;
  return [returns.name, returns.description].filter(Boolean).join(": ") || json(returns, 0);
}

/** Why the gate decides as it does. */
export function decisionView({ operation, danger, danger_reasons: dangerReasons, decision }, onChanged) {
  const list = (items) => items.length > 0 && h("ul", {}, items.map((item) => h("li", {}, item)));
  const reasons = [...texts(decision.reasons), ...texts(decision.decided_by ? [decision.decided_by] : []), ...texts(decision.also)];
  const limits = (Array.isArray(decision.limits) ? decision.limits : []).map(limitText);
  const change = texts(decision.to_change);
  return h("section", { class: "card" },
    h("h2", {}, "What happens when an agent calls it ", decisionBadge(decision.decision)),
    list([...new Set(reasons)]),
    decision.dry_run && typeof decision.dry_run === "string" && h("p", {}, `${decision.dry_run}.`),
    texts(dangerReasons).length > 0 && [h("h3", {}, `Why it is ${danger}`), list(texts(dangerReasons))],
    decision.effects?.length > 0 && [h("h3", {}, "What it does"), list(decision.effects.map(({ effect, evidence }) => `${effect}: ${evidence}`))],
    limits.length > 0 && [h("h3", {}, "Limits"), list(limits)],
    change.length > 0 && h("details", {}, h("summary", {}, "To change this"), list(change)),
    ruleButtons(operation.name, onChanged));
}

function ruleButtons(name, onChanged) {
  const change = async (effect) => {
    const { openRulesDialog } = await import("/parts/rules.js");
    if (await openRulesDialog([name], effect)) onChanged();
  };
  const effects = { allow: "Allow…", confirm: "Ask first…", deny: "Deny…" };
  return h("div", { class: "toolbar" }, Object.entries(effects).map(([effect, label]) => h("button", { type: "button", class: "button small", on: { click: () => change(effect) } }, label)));
}

/** A rate limit or a quota in one line. */
function limitText(limit) {
  if (typeof limit === "string") return limit;
  const most = limit.limit ?? limit.hard_stop ?? limit.pause ?? limit.warn;
  if (most === undefined || most === null) return texts([limit])[0];
  const used = limit.used === undefined || limit.used === null ? "" : `, ${limit.used} used`;
  return `${limit.name ?? limit.metric ?? limit.kind}: ${most}${limit.window ? ` per ${limit.window}` : ""}${used}${limit.status === "exhausted" ? ", exhausted" : ""}`;
}

function texts(items) {
  if (!Array.isArray(items)) return [];
  return items.map((item) => (typeof item === "string" ? item : (item?.words ?? item?.message ?? item?.text ?? json(item, 0))));
}

/** The parameters as a table. */
export function parametersView(operation, schema) {
  const parameters = operation.parameters ?? [];
  if (parameters.length === 0) return h("p", { class: "muted" }, "It has no parameters.");
  const sorted = [...parameters].sort((a, b) => Number(b.required ?? false) - Number(a.required ?? false));
  const row = (parameter) => h("tr", {},
    h("th", { scope: "row" }, h("span", { class: "mono" }, parameter.name), parameter.required && h("span", { class: "required" }, " required")),
    h("td", { class: "mono" }, parameterType(parameter, schema)),
    h("td", {}, parameter.description, parameter.default !== undefined && h("span", { class: "muted" }, ` Default: ${json(parameter.default, 0)}.`)));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parameters" }, h("table", { class: "table parameters" },
    h("thead", {}, h("tr", {}, ["Parameter", "Type", "Description"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, sorted.map(row))));
}

/** In the words of the form; the server's own words where it says nothing about the schema. */
function parameterType(parameter, schema) {
  const part = schema?.properties?.[parameter.name];
  return part ? typeName(part, schema) : (parameter.enum?.join(" | ") ?? parameter.type);
}

/** Examples; `onUse(params)` fills the form. */
export function examplesView(examples, onUse) {
  if (!Array.isArray(examples) || examples.length === 0) return null;
  return h("section", {}, h("h3", {}, "Examples"), examples.map((example) => {
    const params = example.request?.params ?? example.params ?? {};
    return h("div", { class: "example" }, example.description && h("p", {}, example.description), h("code", {}, json(params, 0)),
      h("button", { type: "button", class: "button small", on: { click: () => onUse(params) } }, "Use"));
  }));
}

export function observedView(observed) {
  if (!observed) return null;
  return h("details", { class: "card" }, h("summary", {}, "What results looked like so far"), h("pre", { class: "code", tabindex: "0", "aria-label": "Observed results" }, json(observed)));
}
