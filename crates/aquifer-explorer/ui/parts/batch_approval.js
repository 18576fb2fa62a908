// Several calls approved together: every one is shown in full, one after the other, with one button at the end.
import { announce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { plural } from "/lib/format.js";
import { approvalCall, approvalFacts, approve, explainFailure, statusSentence, whenSeen } from "/parts/approval_view.js";
import { problem } from "/parts/badges.js";
import { setServerTime, startCountdown } from "/parts/deadline.js";

/** Draws the page for the approvals `ids`. Returns its cleanup function. */
export async function renderBatch(main, ids) {
  const { now } = await get("/approvals");
  setServerTime(now);
  const entries = await Promise.all(ids.map(load));
  const view = createBatch(main, entries);
  const stops = [
    on("approvals", view.refresh),
    on("hello", view.refresh),
    startCountdown(main, view.refresh),
    view.stop,
  ];
  return () => stops.forEach((stop) => stop());
}

/** One call of the batch. It can be approved while it is pending and its end was on the screen. */
async function load(id) {
  try {
    const detail = await get(`/approvals/${encodeURIComponent(id)}`);
    return { id, detail, status: detail.approval.status, isSeen: false };
  } catch (error) {
    if (error.status !== 404) throw error;
    return { id, detail: null, status: "gone", isSeen: false };
  }
}

function createBatch(main, entries) {
  const hint = h("p", { class: "muted" });
  const button = h("button", { type: "button", class: "button primary", on: { click: approveAll } });
  const bar = h("div", { class: "action-bar", role: "group", "aria-label": "Decision" }, hint, button);
  const waiting = () => entries.filter((entry) => entry.status === "pending");
  let isBusy = false;

  entries.forEach((entry, index) => drawEntry(entry, index, entries.length));
  replace(main,
    heading(`Approve ${plural(entries.length, "call")}`, "Read every call. The button at the end approves all of them, each once."),
    entries.map((entry) => entry.element), bar,
    h("p", {}, h("a", { href: "/approvals" }, "Back without approving")));
  main.querySelector("h1").focus({ preventScroll: true });
  const stops = waiting().map((entry) => whenSeen(entry.end, bar, () => markSeen(entry)));
  update();

  function markSeen(entry) {
    entry.isSeen = true;
    update();
  }

  function update() {
    const open = waiting();
    const unseen = open.filter((entry) => !entry.isSeen);
    button.disabled = isBusy || open.length === 0 || unseen.length > 0;
    replace(button, open.length === 1 ? "Approve this call once" : `Approve these ${open.length} calls once each`);
    button.hidden = open.length === 0;
    replace(hint, hintFor(open, unseen));
  }

  async function refresh() {
    const answer = await get("/approvals").catch(() => null);
    if (!answer) return;
    for (const entry of waiting()) {
      const found = answer.approvals.find((approval) => approval.id === entry.id);
      if (found?.status !== "pending") settle(entry, found ?? { ...entry.detail.approval, status: "expired" });
    }
    update();
  }

  async function approveAll() {
    isBusy = true;
    update();
    const asked = waiting();
    for (const entry of asked) await approveOne(entry);
    isBusy = false;
    update();
    announce(`${asked.filter((entry) => entry.status === "approved").length} of ${plural(asked.length, "call")} approved.`);
    main.querySelector("h1").focus();
  }

  return { refresh, stop: () => stops.forEach((stop) => stop()) };
}

function hintFor(open, unseen) {
  if (open.length === 0) return ["All of them are decided. ", h("a", { href: "/approvals" }, "All approvals")];
  if (unseen.length === 0) return "Every call was shown to its end.";
  return ["Scroll to the end of every call to approve them. Left: ",
    unseen.map((entry, index) => [index > 0 && ", ", h("a", { href: `#${entry.end.id}` }, entry.detail.approval.operation)]), "."];
}

function drawEntry(entry, index, count) {
  entry.outcome = h("div", {});
  const name = entry.detail?.approval.operation ?? entry.id;
  const title = h("h2", {}, `${index + 1} of ${count}: ${name}`);
  if (!entry.detail) {
    entry.element = h("section", { class: "card" }, title, h("p", {}, "This approval no longer exists."));
    return;
  }
  const { element, end } = approvalCall(entry.detail, 3);
  entry.end = end;
  entry.element = h("section", { class: "card" }, title, entry.outcome, approvalFacts(entry.detail.approval), element);
  if (entry.status !== "pending") settle(entry, entry.detail.approval);
}

function settle(entry, approval) {
  entry.status = approval.status;
  const kind = { approved: "ok", used: "ok", denied: "danger" }[approval.status] ?? "warn";
  replace(entry.outcome, h("div", { class: `card ${kind}`, role: "status" }, h("p", {}, statusSentence(approval))));
}

async function approveOne(entry) {
  try {
    settle(entry, await approve(entry.id, entry.detail.digest));
  } catch (error) {
    // It stays out of the next attempt until the page was loaded again.
    entry.status = "failed";
    replace(entry.outcome, h("div", { class: "card danger" }, problem(explainFailure(error))));
  }
}
