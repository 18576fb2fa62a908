// One waiting call in full, as a person has to see it before approving, and the decision about it.
import { h, uniqueId } from "/lib/dom.js";
import { post } from "/lib/api.js";
import { openDialog } from "/lib/dialog.js";
import { bytes, date, dateInZone, plural } from "/lib/format.js";
import { requestAddress } from "/parts/audit_entry.js";
import { callSummary, callTree } from "/parts/call_tree.js";
import { callerWords } from "/parts/caller.js";
import { ago, deadline } from "/parts/deadline.js";
import { badge, button, code, facts, field, operationLink } from "/parts/elements.js";

/** Who asks for what, where, and until when. */
export function approvalFacts({ operation, danger, source, place, caller, client_name, request_id, asked_at, expires_at, status, id }) {
  return facts([
    ["Status", badge(status)],
    ["Operation", operationLink(operation)],
    ["Danger", badge(danger)],
    ["Source", source],
    ["Place", place && code(place)],
    ["Caller", callerWords(caller, client_name)],
    ["Asked", [dateInZone(asked_at), " (", ago(asked_at), ")"]],
    ["Deadline", [dateInZone(expires_at), status === "pending" && [", ", deadline(expires_at), "; then the caller has to ask again"]]],
    ["Id", code(id)],
    ["Audit", auditLinks(id, request_id)],
  ]);
}

/** The audit entries of an approval: those with its id, and those of the request that asked. */
export const approvalAudit = (id) => `/audit?${new URLSearchParams({ approval: id })}`;

const auditLinks = (id, requestId) => [
  h("a", { href: approvalAudit(id) }, "Entries of this approval"),
  requestId && [" · ", h("a", { href: requestAddress(requestId) }, "Entries of the request that asked")],
];

/**
 * The reasons, the preview and everything that would be sent. `level` is the level of the headings.
 * Returns `{element, end}`; `end` is behind the last line of the call.
 */
export function approvalCall({ approval, call, preview, lines, edited }, level) {
  const title = (words) => h(`h${level}`, {}, words);
  const { reasons = [], call_bytes } = approval;
  const end = h("p", { class: "call-end muted", id: uniqueId("end") }, `End of the call: ${callSummary(call)}, ${bytes(call_bytes)}.`);
  const element = h("div", {},
    reasons.length > 0 && [title("Why a person is asked"), h("ul", {}, reasons.map((reason) => h("li", {}, reason)))],
    preview && [title(edited ? "What it would have changed as the caller sent it" : "What it would change"), h("p", { class: "words" }, preview)],
    title(edited ? "What the caller sent, which was not approved" : "Everything that would be sent"),
    callTree(call), end,
    !preview && h("p", { class: "muted" }, "What it would change cannot be shown in advance."),
    lines?.length > 0 && h("details", {}, h("summary", {}, "The same as plain text"), h("pre", { class: "code", tabindex: "0" }, lines.join("\n"))));
  return { element, end };
}

/** What has become of an approval, in a sentence. */
export function statusSentence({ status, decided_by, decision_reason, expires_at }) {
  const by = decided_by ? ` by ${decided_by}` : "";
  const sentences = {
    pending: "Nobody has decided yet.",
    approved: `Approved${by}. The caller has until ${date(expires_at)} to send the request again.`,
    used: `Approved${by}, and the caller has used the approval.`,
    denied: `Denied${by}.${decision_reason ? ` Reason: ${decision_reason}` : ""}`,
    expired: decided_by
      ? `Approved${by}, but the caller did not send the request again in time. It has to ask again.`
      : "Expired: nobody decided in time. The caller has to ask again.",
    gone: "This approval no longer exists. Decided and expired ones stay listed for about ten minutes.",
  };
  return sentences[status] ?? `The status is ${status}.`;
}

const decide = async (id, decision) => (await post(`/approvals/${encodeURIComponent(id)}`, decision)).approval;

/** Approves exactly the call whose digest was shown. `remember` says what is remembered about its destinations. */
export const approve = (id, digest, remember) => decide(id, { decision: "approve", digest, remember });

/** Approves after all what was denied. */
export const approveDenied = (id, digest, remember) => decide(id, { decision: "approve_denied", digest, remember });

/** Approves the call whose digest was shown, with other parameters. */
export const approveEdited = (id, digest, params_text, remember) =>
  decide(id, { decision: "approve_edited", digest, params_text, remember });

/** The choices about the destinations of a call: what is sent to the server, and what a person reads. */
export const MEMORY = [
  ["destinations", "Do not ask about these destinations again"],
  ["domains", "Do not ask about anyone at the same domain again"],
  ["nothing", "Ask again next time"],
];

export const deny = (id, reason) => decide(id, { decision: "deny", ...(reason && { reason }) });

/** Explains why a decision was not taken. */
export function explainFailure({ status, code: errorCode, message }) {
  if (errorCode === "OFFLINE") return "The server cannot be reached. Whether it has received the decision is not known until the connection is back.";
  const rest = status === 409 ? " Somebody else may have decided first, it may have expired, or the call is not the one that was on this page." : "";
  return `Nothing was decided. ${message.replace(/\.?$/, ".")}${rest}`;
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
      body: field("Reason (optional)", reason, "The caller is told, and it is written to the audit log."),
      actions: [button("Cancel", () => dialog.close()), button("Deny", confirm, "danger")],
      onClose: () => resolve(answer),
    });
    reason.focus();
  });
}
