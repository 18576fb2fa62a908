// All approvals: those that wait, oldest first, and those that were decided.
import { announce, h, heading, replace, visible } from "/lib/dom.js";
import { get, post } from "/lib/api.js";
import { on } from "/lib/events.js";
import { date, plural } from "/lib/format.js";
import { navigate } from "/lib/router.js";
import { alertButtons, startAlerts } from "/parts/alerts.js";
import { approvalAudit, askToDeny, deny, explainFailure, statusSentence } from "/parts/approval_view.js";
import { callerWords } from "/parts/caller.js";
import { ago, deadline, serverTime, setServerTime, startCountdown } from "/parts/deadline.js";
import { renderDecision } from "/parts/decision_page.js";
import { all, badge, button, card, problem, table } from "/parts/elements.js";

export const title = () => "Approvals";

export async function render(main, params, query) {
  const ids = (query.get("review") ?? "").split(",").filter(Boolean);
  if (ids.length > 0) return renderDecision(main, ids);
  const view = createView(main);
  await view.refresh();
  startAlerts();
  const follow = () => view.refresh().catch(() => null);
  return all(on("approvals", follow), on("hello", follow), startCountdown(main, follow));
}

function createView(main) {
  const waitingTitle = h("h2", { tabindex: "-1" });
  const list = h("ul", { class: "approvals" });
  const nothing = h("p", { class: "empty" }, "Nothing waits for a decision. Calls that need an approval appear here at once.");
  const messages = h("div", {});
  const pauses = h("div", { role: "status" });
  const decided = h("div", {});
  const selection = createSelection(list, { onDeny: denySelected, onApprove: reviewSelected });
  const items = new Map();
  let decidedKey = "";
  let pausedKey = "";

  replace(main,
    heading("Approvals", "Calls that an agent may only make once a person has read and approved them.", ...alertButtons()),
    h("p", { class: "muted" }, "Where an agent's client asks its user itself, its calls do not appear here, nor where an agent may confirm its own calls: ",
      h("a", { href: "/docs/safety#how-a-call-is-confirmed" }, "how a call is confirmed"), "."),
    messages, pauses, waitingTitle, selection.element, nothing, list,
    h("h2", {}, "Decided"), decided);

  async function refresh() {
    const { now, approvals, paused } = await get("/approvals");
    setServerTime(now);
    showPaused(paused);
    const pending = approvals.filter(isWaiting).sort((a, b) => a.asked_at.localeCompare(b.asked_at));
    showPending(pending);
    showDecided(approvals.filter((approval) => !isWaiting(approval)));
    if (main.isConnected) document.title = `${pending.length > 0 ? `(${pending.length}) ` : ""}Approvals · Aquifer`;
  }

  /** Adds and removes items and leaves the others alone, so that nothing moves under the pointer or loses the focus. */
  function showPending(pending) {
    const isFirst = items.size === 0 && list.childElementCount === 0;
    removeGone(new Set(pending.map((approval) => approval.id)));
    const fresh = pending.filter((approval) => !items.has(approval.id));
    for (const approval of fresh) {
      const item = pendingItem(approval, selection.update);
      items.set(approval.id, item);
      list.append(item);
    }
    if (fresh.length > 0 && !isFirst) announce(`${plural(fresh.length, "new call")} waiting for a decision.`);
    replace(waitingTitle, `Waiting (${pending.length})`);
    nothing.hidden = pending.length > 0;
    list.hidden = pending.length === 0;
    selection.update();
  }

  function showPaused(paused) {
    const key = JSON.stringify(paused);
    if (key === pausedKey) return;
    pausedKey = key;
    replace(pauses, paused.length > 0 && card("warn",
      paused.map(({ caller }) => h("p", {}, `Changes of ${caller === null ? "callers without an identity" : visible(caller)} are paused, because three of their requests were denied.`)),
      button("Allow changes again", resume)));
  }

  async function resume() {
    await post("/approvals/resume").catch((error) => replace(messages, problem(error.message)));
    await refresh().catch(() => null);
  }

  function removeGone(present) {
    for (const [id, item] of items) {
      if (present.has(id)) continue;
      const hadFocus = item.contains(document.activeElement);
      item.remove();
      items.delete(id);
      if (hadFocus) waitingTitle.focus();
    }
  }

  function showDecided(approvals) {
    const key = JSON.stringify(approvals.map(({ id, status }) => [id, status]));
    if (key === decidedKey) return;
    decidedKey = key;
    replace(decided, decidedTable(approvals));
  }

  async function denySelected(ids) {
    const answer = await askToDeny(ids.length);
    if (!answer) return;
    const failures = [];
    for (const id of ids) {
      await deny(id, answer.reason).catch((error) => failures.push(`${id}: ${explainFailure(error)}`));
    }
    replace(messages, failures.map(problem));
    announce(`${plural(ids.length - failures.length, "call")} denied.`);
    await refresh().catch(() => null);
  }

  return { refresh };
}

const isWaiting = (approval) =>
  approval.status === "pending" && new Date(approval.expires_at).getTime() > serverTime();

function reviewSelected(ids) {
  navigate(ids.length === 1 ? `/approvals/${encodeURIComponent(ids[0])}` : `/approvals?review=${ids.map(encodeURIComponent).join(",")}`);
}

/** The bar with what can be done with several calls at once. */
function createSelection(list, { onDeny, onApprove }) {
  const boxes = () => [...list.querySelectorAll("input[type=checkbox]")];
  const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);
  const everything = h("input", { type: "checkbox", on: { change: selectAll } });
  const count = h("span", { class: "muted" });
  const denyButton = button("Deny selected…", () => onDeny(chosen()), "danger");
  const approveButton = button("Read and approve selected…", () => onApprove(chosen()));
  const element = h("div", { class: "toolbar selection" }, h("label", { class: "check" }, everything, "Select all"), denyButton, approveButton, count);

  function selectAll() {
    boxes().forEach((box) => (box.checked = everything.checked));
    update();
  }

  function update() {
    const [found, number] = [boxes().length, chosen().length];
    element.hidden = found === 0;
    everything.checked = found > 0 && number === found;
    everything.indeterminate = number > 0 && number < found;
    denyButton.disabled = approveButton.disabled = number === 0;
    replace(count, number > 0 && `${number} selected`);
  }

  return { element, update };
}

function pendingItem(approval, onSelect) {
  const { id, operation, danger, source, place, caller, client_name, message, expires_at, asked_at } = approval;
  const box = h("input", { type: "checkbox", value: id, "aria-label": visible(`Select ${operation}, ${id}`), on: { change: onSelect } });
  return h("li", { class: "card approval-item" },
    h("div", { class: "approval-box" }, box),
    h("div", { class: "approval-main" },
      h("h3", {}, h("a", { href: `/approvals/${encodeURIComponent(id)}` }, operation), " ", badge(danger)),
      h("p", { class: "words clamp" }, message),
      h("p", { class: "muted small-print" }, [`Source ${source}`, place && ` (${place})`, ` · caller ${callerWords(caller, client_name)} · asked `, ago(asked_at)])),
    h("div", { class: "approval-side" }, deadline(expires_at),
      h("a", { class: "button", href: `/approvals/${encodeURIComponent(id)}`, "aria-label": visible(`Open ${operation}, ${id}`) }, "Open")));
}

function decidedTable(approvals) {
  if (approvals.length === 0) {
    return h("p", { class: "muted" }, "None in the last ten minutes. Older decisions are in the ", h("a", { href: "/audit" }, "audit log"), ".");
  }
  const newest = [...approvals].sort((a, b) => b.asked_at.localeCompare(a.asked_at));
  return table("Decided approvals", ["Status", "What was asked", "Source", "Caller", "Asked", "What happened", "Audit"], newest.map(decidedCells));
}

function decidedCells(listed) {
  const approval = listed.status === "pending" ? { ...listed, status: "expired" } : listed;
  const { id, status, operation, message, source, caller, client_name, asked_at } = approval;
  const link = h("a", { href: `/approvals/${encodeURIComponent(id)}` }, message || operation);
  const audit = h("a", { href: approvalAudit(id), "aria-label": visible(`Audit entries of approval ${id}`) }, "Entries");
  return [badge(status), link, source, callerWords(caller, client_name, "–"), date(asked_at), statusSentence(approval), audit];
}
