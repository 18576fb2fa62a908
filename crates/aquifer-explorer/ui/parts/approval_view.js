// One waiting call in full, as a person has to see it before approving, and the decision about it.
import { h, uniqueId } from "/lib/dom.js";
import { post } from "/lib/api.js";
import { openDialog } from "/lib/dialog.js";
import { age, bytes, date, plural } from "/lib/format.js";
import { badge, facts } from "/parts/badges.js";
import { callSummary, callTree } from "/parts/call_tree.js";
import { deadline, serverTime } from "/parts/deadline.js";

/** Who asks for what, where, and until when. */
export function approvalFacts(approval) {
  const { operation, danger, source, place, caller, asked_at, expires_at, status, id } = approval;
  return facts([
    ["Operation", h("a", { href: `/operations/${encodeURIComponent(operation)}` }, h("code", {}, operation))],
    ["Danger", badge(danger)],
    ["Source", source],
    ["Place", place && h("code", {}, place)],
    ["Caller", caller ?? "not known"],
    ["Asked", `${date(asked_at)} (${age(asked_at, serverTime())})`],
    ["Deadline", [date(expires_at), status === "pending" && [", ", deadline(expires_at)]]],
    ["Id", h("code", {}, id)],
  ]);
}

/**
 * The message, the preview, the reasons and everything that would be sent. `level` is the level of its headings.
 * Returns `{element, end}`; `end` is an element behind the last line of the call.
 */
export function approvalCall({ approval, call, preview, lines }, level) {
  const title = (words) => h(`h${level}`, {}, words);
  const end = h("p", { class: "call-end muted", id: uniqueId("end") },
    `End of the call: ${callSummary(call)}, ${bytes(approval.call_bytes)}.`);
  const element = h("div", {},
    approval.message && [title("The question"), h("p", { class: "words" }, approval.message)],
    title("What it would change"),
    preview ? h("p", { class: "words" }, preview) : h("p", { class: "muted" }, "This cannot be shown in advance for this operation."),
    approval.reasons?.length > 0 && [title("Why a person is asked"), h("ul", {}, approval.reasons.map((reason) => h("li", {}, reason)))],
    title("Everything that would be sent"),
    callTree(call),
    end,
    lines?.length > 0 && h("details", {}, h("summary", {}, "The same as plain text"), h("pre", { class: "code" }, lines.join("\n"))));
  return { element, end };
}

/** Calls `fn` once `marker` was on the screen above `bar`. Returns a function that ends it. */
export function whenSeen(marker, bar, fn) {
  const margin = `0px 0px -${bar?.offsetHeight ?? 0}px 0px`;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    fn();
  }, { rootMargin: margin });
  observer.observe(marker);
  return () => observer.disconnect();
}

/** What has become of an approval, in a sentence. */
export function statusSentence(approval) {
  const by = approval.decided_by ? ` by ${approval.decided_by}` : "";
  const reason = approval.decision_reason ? ` Reason: ${approval.decision_reason}` : "";
  switch (approval.status) {
    case "pending": return "Nobody has decided yet.";
    case "approved": return `Approved${by}. The caller has until ${date(approval.expires_at)} to send the request again.`;
    case "used": return `Approved${by}, and the caller has used the approval.`;
    case "denied": return `Denied${by}.${reason}`;
    case "expired": return "Expired: nobody decided in time. The caller has to ask again.";
    default: return `The status is ${approval.status}.`;
  }
}

const path = (id) => `/approvals/${encodeURIComponent(id)}`;

/** Approves exactly the call whose digest was shown. */
export const approve = async (id, digest) => (await post(path(id), { decision: "approve", digest })).approval;

/** Denies a call. */
export const deny = async (id, reason) =>
  (await post(path(id), { decision: "deny", ...(reason && { reason }) })).approval;

/** Explains why a decision was not taken. */
export function explainFailure(error) {
  if (error.status === 409) return `Nothing was decided: ${lowerFirst(error.message)} Somebody else may have decided first, it may have expired, or the call is not the one on this page.`;
  if (error.status === 404) return "Nothing was decided: the approval no longer exists.";
  if (error.code === "OFFLINE") return "The server cannot be reached. Nothing is known about the decision until the connection is back.";
  return `Nothing was decided: ${lowerFirst(error.message)}`;
}

function lowerFirst(message) {
  const words = String(message).replace(/[.\s]*$/, ".");
  return /^[A-Z][a-z]/.test(words) ? words[0].toLowerCase() + words.slice(1) : words;
}

/** Asks whether to deny `count` calls. Resolves to `{reason}`, or to null if the person goes back. */
export function askToDeny(count) {
  return new Promise((resolve) => {
    let answer = null;
    const reason = h("textarea", { rows: 3, maxlength: 500 });
    const confirm = () => {
      answer = { reason: reason.value.trim() };
      dialog.close();
    };
    const dialog = openDialog({
      title: count === 1 ? "Deny this call?" : `Deny ${plural(count, "call")}?`,
      body: h("label", { class: "field" }, h("span", {}, "Reason (optional)"), reason,
        h("small", {}, "It is written to the audit log.")),
      actions: [
        h("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel"),
        h("button", { type: "button", class: "button danger", on: { click: confirm } }, "Deny"),
      ],
      onClose: () => resolve(answer),
    });
    reason.focus();
  });
}
