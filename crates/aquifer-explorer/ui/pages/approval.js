// One approval: everything that would be sent, and the decision. Nothing has the focus that could decide by accident.
import { announce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { approvalCall, approvalFacts, approve, askToDeny, deny, explainFailure, statusSentence, whenSeen } from "/parts/approval_view.js";
import { badge, problem } from "/parts/badges.js";
import { setServerTime, startCountdown } from "/parts/deadline.js";

export const title = ({ id }) => `Approval ${id}`;

export async function render(main, { id }) {
  const [detail] = await Promise.all([load(id), findInList(id)]);
  if (!detail) return showMissing(main, id);
  const view = createView(main, detail);
  const stops = [
    on("approvals", () => view.refresh()),
    on("hello", () => view.refresh()),
    startCountdown(main, () => view.refresh()),
    view.stop,
  ];
  return () => stops.forEach((stop) => stop());
}

async function load(id) {
  try {
    return await get(`/approvals/${encodeURIComponent(id)}`);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

/** The present state without the call, which can be large. Also sets the clock. */
async function findInList(id) {
  const { now, approvals } = await get("/approvals");
  setServerTime(now);
  return approvals.find((approval) => approval.id === id) ?? null;
}

function showMissing(main, id) {
  replace(main, heading(`There is no approval ${id}`, "Decided and expired approvals stay listed for about ten minutes."), backLink());
}

const backLink = () => h("p", {}, h("a", { href: "/approvals" }, "All approvals"));

function createView(main, detail) {
  const outcome = h("div", {});
  const bar = h("div", { class: "action-bar", role: "group", "aria-label": "Decision" });
  let current = detail.approval;
  let stopSeen = () => {};

  function draw() {
    const { element, end } = approvalCall(detail, 2);
    replace(main,
      heading([badge(current.status), " ", current.operation], `Asked for by ${current.caller ?? "a caller that is not known"} on ${current.source}.`),
      outcome,
      h("div", { class: "card" }, approvalFacts(current)),
      h("div", { class: "card" }, element),
      bar,
      backLink());
    showState();
    if (current.status === "pending") stopSeen = watchEnd(end);
    main.querySelector("h1").focus({ preventScroll: true });
  }

  function watchEnd(end) {
    const controls = createControls(decideApprove, decideDeny);
    replace(bar, controls.elements);
    return whenSeen(end, bar, controls.enable);
  }

  function showState() {
    if (current.status === "pending") return;
    stopSeen();
    bar.remove();
    const kind = { approved: "ok", used: "ok", denied: "danger" }[current.status] ?? "warn";
    replace(outcome, h("div", { class: `card ${kind}` }, h("p", {}, statusSentence(current))));
    main.querySelector("h1 .badge")?.replaceWith(badge(current.status));
  }

  function settle(approval, words) {
    if (approval.status === current.status) return;
    const hadFocus = bar.contains(document.activeElement);
    current = approval;
    showState();
    announce(`${words} ${statusSentence(current)}`);
    if (hadFocus) main.querySelector("h1").focus();
  }

  async function refresh() {
    if (current.status !== "pending" && current.status !== "approved") return;
    const found = await findInList(current.id).catch(() => undefined);
    if (found === undefined || !main.isConnected) return;
    settle(found ?? { ...current, status: "expired" }, "This approval has been decided.");
  }

  async function decide(request, words) {
    const buttons = [...bar.querySelectorAll("button")];
    const wasDisabled = buttons.map((button) => button.disabled);
    buttons.forEach((button) => (button.disabled = true));
    try {
      settle(await request(), words);
    } catch (error) {
      buttons.forEach((button, index) => (button.disabled = wasDisabled[index]));
      replace(outcome, h("div", { class: "card danger" }, problem(explainFailure(error))));
      scrollTo(0, 0);
      await (error.status === 409 ? recover(error) : null);
    }
  }

  /** After a conflict: shows who decided, or the call as it is now. */
  async function recover(error) {
    await refresh();
    if (current.status !== "pending") return;
    const fresh = await load(current.id).catch(() => null);
    if (!fresh || fresh.digest === detail.digest) return;
    detail = fresh;
    current = fresh.approval;
    draw();
    replace(outcome, h("div", { class: "card warn" }, problem(`${explainFailure(error)} The page now shows the call as it is. Read it before you decide.`)));
  }

  const decideApprove = () => decide(() => approve(current.id, detail.digest), "Your decision is in effect.");
  async function decideDeny() {
    const answer = await askToDeny(1);
    if (answer) await decide(() => deny(current.id, answer.reason), "Your decision is in effect.");
  }

  draw();
  return { refresh, stop: () => stopSeen() };
}

/** Approve, which is enabled at the end of the call, and Deny. */
function createControls(onApprove, onDeny) {
  const hint = h("p", { class: "muted" }, "Scroll to the end of the call to approve it.");
  const approveButton = h("button", { type: "button", class: "button primary", disabled: true, on: { click: onApprove } }, "Approve once");
  const denyButton = h("button", { type: "button", class: "button danger", on: { click: onDeny } }, "Deny…");
  const enable = () => {
    approveButton.disabled = false;
    replace(hint, "The approval is valid for this call, once.");
  };
  return { elements: [hint, denyButton, approveButton], enable };
}
