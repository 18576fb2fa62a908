// Danger and decisions as badges.
import { h } from "/lib/dom.js";
import { meaning } from "/parts/glossary.js";

const DANGER = { safe: "ok", reversible: "", destructive: "warn", dangerous: "danger", forbidden: "danger" };
const DECISION = { allow: "ok", confirm: "warn", approval: "warn", deny: "danger" };
const MEANING = { allow: "runs", confirm: "asks first", approval: "needs approval", deny: "denied" };

export const dangerBadge = (danger) => badge(danger, DANGER[danger]);

export const decisionBadge = (decision) => badge(MEANING[decision] ?? decision, DECISION[decision]);

export const decisionName = (decision) => MEANING[decision] ?? decision;

function badge(label, kind) {
  return label ? h("span", { class: kind ? `badge badge-${kind}` : "badge", title: meaning(label) }, label) : null;
}
