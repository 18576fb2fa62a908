// Short states: danger levels, outcomes and the status of approvals. Colour never stands alone: the word says it, too.
import { h } from "/lib/dom.js";

const KINDS = {
  destructive: "warn", dangerous: "danger", forbidden: "danger",
  pending: "warn", approved: "ok", denied: "danger", expired: "",
  ok: "ok", done: "ok", allowed: "ok", confirmed: "ok",
  failed: "danger", panicked: "danger", unknown: "warn", cancelled: "warn",
  confirmation_required: "warn", quarantined: "warn",
  error: "danger", warning: "warn", changed: "warn", live: "ok", unavailable: "danger",
};

/** A badge in the colour of its word. */
export function badge(word) {
  if (word === null || word === undefined || word === "") return null;
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : "";
  return h("span", { class: kind ? `badge badge-${kind}` : "badge" }, String(word).replaceAll("_", " "));
}

/** A paragraph that says what went wrong. Screen readers read it at once. */
export function problem(message) {
  return h("p", { class: "error-text", role: "alert" }, message);
}

/** A description list of `[name, value]`; entries without a value are left out. */
export function facts(entries) {
  const shown = entries.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h("dl", { class: "facts" }, shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
