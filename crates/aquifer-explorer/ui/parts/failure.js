// A failed call: what went wrong, corrections to apply, and confirmation.
import { announce, h } from "/lib/dom.js";
import { age, date, json } from "/lib/format.js";
import { findFixes } from "/lib/fixes.js";

/**
 * `call` is `{operation, params}` as it was sent. `onFix(call)` gets the corrected call, `onConfirm(token)` runs it.
 *
 * @param {any} error
 * @param {{call: any, schema?: any, onFix?: (call: any) => void, onConfirm?: (token: string) => void}} options
 */
export function failureView(error, { call, schema, onFix, onConfirm }) {
  const details = error.details ?? {};
  if (details.confirmation_token || details.approval_id) return confirmation(error, details, onConfirm);
  const fixes = onFix ? findFixes(error, call, schema) : [];
  return h("div", { class: "card danger", role: "alert" },
    h("p", {}, h("strong", {}, error.message ?? "The call failed.")),
    h("p", { class: "mono" }, error.code),
    details.outcome === "unknown" && h("p", {}, "It may have been carried out all the same. Check before you repeat it."),
    details.retry_after_seconds !== undefined && h("p", {}, `It can be repeated in ${details.retry_after_seconds} s.`),
    typeof details.suggestion === "string" && h("p", {}, details.suggestion),
    problems(details.errors),
    fixButtons(fixes, call, onFix),
    otherDetails(details));
}

/** Corrections add up: each one is applied to the result of those before it. */
function fixButtons(fixes, call, onFix) {
  if (fixes.length === 0) return null;
  let current = call;
  const apply = (fix) => (event) => {
    current = fix.apply(current);
    event.currentTarget.disabled = true;
    onFix(current);
    announce("Applied. Run the request again.");
  };
  return h("div", { class: "toolbar" }, fixes.map((fix) => h("button", { type: "button", class: "button", on: { click: apply(fix) } }, fix.label)));
}

function problems(errors) {
  if (!Array.isArray(errors) || errors.length === 0) return null;
  return h("ul", {}, errors.slice(0, 100).map((one) => h("li", {}, one.message ?? json(one, 0))));
}

function otherDetails(details) {
  const { errors, suggestion, ...rest } = details;
  if (Object.keys(rest).length === 0) return null;
  return h("details", {}, h("summary", {}, "Details"), h("pre", { class: "code", tabindex: "0", "aria-label": "Details" }, json(rest)));
}

function confirmation(error, details, onConfirm) {
  const needsApproval = Boolean(details.approval_id);
  const run = () => onConfirm(details.confirmation_token);
  // The first line is the question; the values of the call follow.
  const [headline, ...values] = (details.confirmation_message ?? "").split("\n");
  return h("div", { class: "card warn", role: "alert" },
    h("h3", {}, needsApproval ? "Somebody has to approve this call" : "Run this?"),
    h("p", {}, headline ? h("strong", {}, headline) : error.message),
    Array.isArray(details.reasons) && h("ul", {}, details.reasons.map((reason) => h("li", {}, String(reason)))),
    values.length > 0 && h("pre", { class: "confirm-message" }, values.join("\n")),
    details.expires_at && h("p", { class: "muted" }, `Valid until ${date(details.expires_at)} (${age(details.expires_at)}), for exactly this request, once.`),
    h("div", { class: "toolbar" },
      needsApproval && h("a", { class: "button primary", href: `/approvals/${encodeURIComponent(details.approval_id)}`, target: "_blank" }, "Open the approval"),
      details.confirmation_token && h("button", { type: "button", class: needsApproval ? "button" : "button danger", on: { click: run } }, needsApproval ? "Run it, now that it is approved" : "Confirm and run")));
}
