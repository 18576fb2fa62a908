// Tools that changed or are new and wait in quarantine, and classifications that a person has not decided yet.
import { announce, h, heading, replace, visible } from "/lib/dom.js";
import { get, post } from "/lib/api.js";
import { on } from "/lib/events.js";
import { json } from "/lib/format.js";
import { jsonDiff } from "/parts/diff_view.js";
import { badge, button, code, facts, field, problem, select } from "/parts/elements.js";

const CATEGORIES = ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"];
const DANGERS = ["safe", "reversible", "destructive", "dangerous", "forbidden"];

export const title = () => "Review";

export async function render(main) {
  const notice = h("div", { role: "status" });
  const body = h("div", {});
  let shown = "";

  async function load() {
    const { sources } = await get("/review");
    shown = keyOf(sources);
    replace(notice);
    replace(body, drawSources(sources));
  }

  /** Nothing moves while somebody reads: a change is offered, not shown by itself. */
  async function check() {
    const answer = await get("/review").catch(() => null);
    if (!answer || keyOf(answer.sources) === shown) return;
    const show = async () => {
      await load();
      main.querySelector("h1").focus();
    };
    replace(notice, h("div", { class: "card warn toolbar" }, "The definitions have changed since this page was loaded.", button("Show them", show, "small")));
  }

  replace(main,
    heading("Review", [
      "A tool whose definition changed cannot be called until you accept the change. ",
      "A tool that was classified without certain evidence asks before it runs until you review it.",
    ]),
    notice, body);
  await load();
  return on("catalog", check);
}

const keyOf = (sources) => JSON.stringify(sources.map(({ name, quarantined, undecided }) =>
  [name, quarantined?.map(({ tool, digest }) => [tool, digest]), undecided?.map(({ tool }) => tool)]));

function drawSources(sources) {
  const open = sources.filter(({ quarantined, undecided, error }) => quarantined?.length || undecided?.length || error);
  if (open.length === 0) return h("p", { class: "empty" }, "Nothing waits for a review. All definitions are the ones that were accepted.");
  return open.map(drawSource);
}

function drawSource({ name, quarantined = [], undecided = [], overrides, error }) {
  return h("section", { class: "review-source" },
    h("h2", {}, name, " ", h("span", { class: "muted review-count" },
      [quarantined.length > 0 && `${quarantined.length} in quarantine`, undecided.length > 0 && `${undecided.length} to classify`].filter(Boolean).join(", "))),
    error && h("div", { class: "card danger" }, h("p", {}, error)),
    quarantined.map((item) => quarantineCard(name, item)),
    undecided.map((item) => classificationCard(name, item, overrides)));
}

function quarantineCard(source, { tool, operation, state, changed = [], accepted, current, digest, rejected }) {
  const card = h("article", { class: "card" });
  const decide = (decision, words) => send(card, { source, tool, digest, decision }, words);
  return replace(card,
    h("h3", {}, code(tool), " ", badge(state)),
    h("p", { class: "muted" }, summaryOf(operation, state, changed)),
    rejected && h("p", {}, "This definition was rejected. You can still accept it."),
    accepted ? jsonDiff(accepted, current, ["Accepted", "Now"]) : h("pre", { class: "code", tabindex: "0" }, json(current)),
    actions([
      ["Accept this definition", "primary", () => decide("accept", "was accepted. It can be called within a few seconds.")],
      ["Reject", "danger", () => decide("reject", "was rejected. It stays in quarantine.")],
    ], tool));
}

function summaryOf(operation, state, changed) {
  const served = operation ? `Served as ${operation}. ` : "";
  if (state === "new") return `${served}The server added this tool after it was first served.`;
  return `${served}Changed since it was accepted: ${changed.join(", ") || "its definition"}.`;
}

function classificationCard(source, item, overrides) {
  const { tool, operation, category, confidence, danger, reasons = [], evidence = [] } = item;
  const card = h("article", { class: "card" });
  const [categories, dangers] = [select(CATEGORIES, category), select(DANGERS, danger)];
  const warning = h("p", { class: "hint", role: "status" });
  dangers.addEventListener("change", () => replace(warning, loweringWarning(danger, dangers.value)));
  const save = () => send(card, reviewed(source, item, categories.value, dangers.value), `was reviewed.${effectOf(overrides)}`);
  return replace(card,
    h("h3", {}, code(tool), " ", badge(danger)),
    facts([["Operation", operation], ["Confidence", describeConfidence(confidence)], ["Reasons", wordList(reasons)], ["Evidence", wordList(evidence)]]),
    h("div", { class: "toolbar review-choices" }, field("Category", categories), field("Danger", dangers)),
    warning,
    actions([["Save this classification", "primary", save]], tool));
}

/** Decisions are written to a file, and apply only if the configuration names it. */
function effectOf(overrides) {
  if (!overrides || overrides.is_configured) return "";
  return ` The decision is in ${overrides.path}. It takes effect when the source names this file as overrides in the configuration.`;
}

/** Only what the person changed is sent; the rest stays as it was classified. */
function reviewed(source, item, category, danger) {
  const body = { source, tool: item.tool, reviewed: true };
  if (category !== item.category) body.category = category;
  if (danger !== item.danger) body.danger = danger;
  return body;
}

function loweringWarning(before, after) {
  if (DANGERS.indexOf(after) >= DANGERS.indexOf(before)) return null;
  return `This lowers the danger from ${before} to ${after}. Calls may then run without a confirmation.`;
}

function describeConfidence(confidence) {
  return typeof confidence === "number" && confidence <= 1 ? `${Math.round(confidence * 100)} %` : confidence;
}

function wordList(items) {
  if (items.length === 0) return null;
  const words = (item) => (typeof item === "string" ? item : JSON.stringify(item));
  return h("ul", { class: "plain-list" }, items.map((item) => h("li", {}, words(item))));
}

function actions(buttons, tool) {
  return h("div", { class: "toolbar review-actions" }, buttons.map(([label, kind, click]) =>
    button(label, click, kind, { "aria-label": visible(`${label}: ${tool}`) })));
}

/** Sends a decision. The card then says what happened and stays where it is. */
async function send(card, body, words) {
  const buttons = [...card.querySelectorAll(".review-actions button")];
  buttons.forEach((button) => (button.disabled = true));
  card.querySelector(".error-text")?.remove();
  try {
    await post("/review", body);
    const sentence = `${body.tool} ${words}`;
    card.classList.add(body.decision === "reject" ? "danger" : "ok");
    const done = h("p", { tabindex: "-1" }, sentence);
    replace(card, done);
    done.focus();
    announce(sentence);
  } catch (error) {
    buttons.forEach((button) => (button.disabled = false));
    card.append(problem(explain(error)));
  }
}

function explain(error) {
  if (error.status === 409) return "Nothing was decided: the server has changed this tool again. Load the page again and read the new definition.";
  return `Nothing was decided: ${error.message}`;
}
