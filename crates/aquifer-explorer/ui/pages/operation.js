// One operation: what it is, what is decided about it, and a form to try it.
import { debounce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { parseJson } from "/lib/json_text.js";
import { findCollection, mayRun, referenceLinks } from "/lib/references.js";
import { navigate, setQuery } from "/lib/router.js";
import { firstValue } from "/lib/schema.js";
import { copyButton } from "/parts/copy.js";
import { glossary } from "/parts/glossary.js";
import { dangerBadge } from "/parts/levels.js";
import { jsonEditor } from "/parts/editor.js";
import { schemaForm } from "/parts/form.js";
import { decisionView, examplesView, factsView, observedView, parametersView, signatureView } from "/parts/operation_details.js";
import { queryBuilder, queryParameters } from "/parts/query_builder.js";
import { runner } from "/parts/runner.js";

const MAX_ADDRESS = 6000;

export const title = ({ name }) => name;

export async function render(main, { name }, query) {
  const details = await get(`/operations/${encodeURIComponent(name)}`);
  const { operation } = details;
  const tryPart = await tryView(details, query);
  const decision = h("div", {});
  const drawDecision = (current) => replace(decision, decisionView(current, async () => drawDecision(await get(`/operations/${encodeURIComponent(name)}`))));
  drawDecision(details);
  replace(main,
    h("p", {}, h("a", { href: "/operations" }, "Operations"), " / ", h("a", { href: `/operations?source=${encodeURIComponent(details.source)}` }, details.source)),
    heading(h("span", { class: "mono" }, operation.name), operation.description, dangerBadge(details.danger)),
    (operation.quarantined || details.quarantine) && h("p", { class: "card warn" }, "This operation is quarantined: its definition is new or has changed. ", h("a", { href: "/review" }, "Review it"), " before agents can call it."),
    signatureView(details.signature),
    h("section", { "aria-labelledby": "try" }, h("h2", { id: "try" }, "Try it"), tryPart.element),
    h("div", { class: "split" }, decision, factsView(details)),
    glossary(...new Set([details.danger, details.category, "gate", "quarantine", "pinned"])),
    h("section", {}, h("h2", {}, "Parameters"), parametersView(operation, details.schema)),
    observedView(operation.observed_result));
  return tryPart.stop;
}

async function tryView(details, query) {
  const { operation, schema } = details;
  const collection = await findCollection(details);
  let params = startParams(details, query);
  const form = h("div", {});
  const link = await referenceLinks(details.source, collection);
  const editor = jsonEditor({ label: "Parameters as JSON", value: params, rows: 14, onChange: edited, onRun: () => run.run() });
  const shareable = debounce(() => setQuery({ params: shared(params), run: null }), 300);
  const redrawForm = debounce(drawForm, 200);
  const run = runner({
    request: () => (editor.result().error ? focusProblem(editor) : { operation: operation.name, params }),
    apply: (request) => (request.operation === operation.name ? setParams(request.params ?? {}) : openOther(request)),
    schema, link, canSort: collection ? (field) => collection.fields.some((one) => one.name === field) : undefined,
  });

  function edited(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    params = value;
    redrawForm();
    shareable();
  }

  function fromForm(value) {
    params = value;
    editor.set(params);
    shareable();
  }

  function setParams(value) {
    params = value;
    editor.set(params);
    drawForm();
    shareable();
  }

  /** The form and the query builder edit the same object, each its own members. */
  function drawForm() {
    /** @type {string[]} */
    const skip = collection ? queryParameters(schema) : [];
    const change = (own) => (values) => fromForm(joinParams(params, values, own, skip));
    replace(form,
      collection && skip.length > 0 && queryBuilder(schema, collection, operation.computed_fields, params, change(true)),
      schemaForm(schema, params, change(false), { skip }));
  }

  drawForm();
  const reset = h("button", { type: "button", class: "button quiet", on: { click: () => setParams(emptyParams(schema)) } }, "Reset");
  const request = () => (editor.result().error ? focusProblem(editor) : { operation: operation.name, params });
  const tool = operation.mcpTool ?? `mcp_aql_${operation.endpoint ?? "read"}`;
  const element = h("div", { class: "try", on: { keydown: (event) => runKey(event, run) } },
    examplesView(operation.examples, setParams),
    h("div", { class: "split" }, h("div", { class: "card form-card" }, h("h3", {}, "Form"), form), h("div", { class: "editor-side" }, editor.element,
      h("div", { class: "toolbar" }, run.button, copyButton(request, async () => ({ tool, place: details.place })), reset, h("a", { class: "button quiet", href: "/try", on: { click: (event) => openInTry(event, request()) } }, "Open in a tab")))),
    run.output);
  if (mayRun(query.get("run"))) run.run();
  return { element, stop: run.stop };
}

function runKey(event, run) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  run.run();
}

function focusProblem(editor) {
  editor.area.focus();
  return null;
}

function openInTry(event, request) {
  event.preventDefault();
  if (request) navigate(`/try?request=${encodeURIComponent(JSON.stringify(request))}`);
}

function openOther({ operation, params }) {
  navigate(`/operations/${encodeURIComponent(operation)}?params=${encodeURIComponent(JSON.stringify(params ?? {}))}`);
}

/**
 * The members of `values` that belong to one editor, and those of `params` that belong to the other.
 *
 * @param {Record<string, any>} params
 * @param {Record<string, any>} values
 * @param {boolean} fromBuilder
 * @param {string[]} builderNames
 */
function joinParams(params, values, fromBuilder, builderNames) {
  const belongs = ([name, _]) => builderNames.includes(name) === fromBuilder;
  const joined = { ...Object.fromEntries(Object.entries(params).filter((entry) => !belongs(entry))), ...Object.fromEntries(Object.entries(values).filter(belongs)) };
  const order = Object.keys(params);
  return Object.fromEntries(Object.entries(joined).sort(([a], [b]) => rank(order, a) - rank(order, b)));
}

function rank(order, name) {
  const index = order.indexOf(name);
  return index < 0 ? order.length : index;
}

function startParams(details, query) {
  const given = parseJson(query.get("params") ?? "");
  if (!given.error && typeof given.value === "object" && given.value !== null && !Array.isArray(given.value)) return given.value;
  return emptyParams(details.schema);
}

function emptyParams(schema) {
  const first = firstValue({ type: "object", properties: schema?.properties, required: schema?.required }, schema);
  return typeof first === "object" && first !== null ? first : {};
}

function shared(params) {
  const written = JSON.stringify(params);
  return written.length > MAX_ADDRESS || written === "{}" ? null : written;
}
