// One call, or several one after the other, in full, with one decision at the end. The buttons never have the focus at
// first, and a call can be approved only after its end was on the screen.
import { announce, h, heading, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { plural } from "/lib/format.js";
import { editForm, editedCall } from "/parts/approval_edit.js";
import { MEMORY, approvalCall, approvalFacts, approve, approveDenied, approveEdited, askToDeny, deny, explainFailure, statusSentence } from "/parts/approval_view.js";
import { callerWords } from "/parts/caller.js";
import { serverTime, setServerTime, startCountdown } from "/parts/deadline.js";
import { all, button, card, problem } from "/parts/elements.js";

/** Draws the page for the approvals `ids`. Returns its cleanup function. */
export async function renderDecision(main, ids) {
  const listed = await get("/approvals");
  setServerTime(listed.now);
  const page = createPage(main, await Promise.all(ids.map(loadEntry)));
  return all(on("approvals", page.refresh), on("hello", page.refresh), startCountdown(main, page.refresh), page.stop);
}

/** A call on the page: `detail` as it was shown, and the present `approval`. */
async function loadEntry(id) {
  try {
    const detail = await get(`/approvals/${encodeURIComponent(id)}`);
    return { id, detail, approval: detail.approval, isSeen: false };
  } catch (error) {
    if (error.status !== 404) throw error;
    return { id, detail: null, approval: { id, operation: id, status: "gone" }, isSeen: true };
  }
}

function createPage(main, entries) {
  const isSingle = entries.length === 1;
  // Whoever opens the page of a denied call can change their mind.
  const mayReconsider = isSingle && isReversible(entries[0].approval);
  const open = () => entries.filter(({ approval }) => approval.status === "pending" || (mayReconsider && isReversible(approval)));
  const hint = h("p", { class: "muted" });
  const denyButton = button("Deny…", decideDeny, "danger");
  const approveButton = button("", () => decide((entry) => (mayReconsider ? approveDenied : approve)(entry.id, entry.detail.digest, memory.value)), "primary");
  const editButton = button("Edit…", openEditor);
  const memory = h("select", { "aria-label": "Next time" }, MEMORY.map(([value, words]) => h("option", { value }, words)));
  const bar = h("div", { class: "action-bar", role: "group", "aria-label": "Decision" }, hint, memory, denyButton, editButton, approveButton);
  const editor = h("div", {});
  const further = h("p", { role: "status" });
  let observer = null;
  let isBusy = false;
  let isEditing = false;

  entries.forEach(draw);
  replace(main,
    isSingle
      ? heading(question(entries[0].approval, entries[0].detail), `${entries[0].approval.operation}, asked for by ${asker(entries[0].approval)}.`)
      : heading(`Decide about ${plural(entries.length, "call")}`, "Read every call. The buttons at the end decide about all of them."),
    further, entries.map(({ element }) => element), editor, bar, h("p", {}, h("a", { href: "/approvals" }, "All approvals")));
  const title = main.querySelector("h1");
  title.focus({ preventScroll: true });
  update();
  // What is behind the bar is not on the screen.
  observer = new IntersectionObserver(markSeen, { rootMargin: `0px 0px -${bar.offsetHeight}px 0px` });
  entries.forEach(watch);

  function watch({ end }) {
    if (end) observer?.observe(end);
  }

  function draw(entry, index) {
    entry.element ??= h("section", { class: "card" });
    entry.outcome = h("div", {});
    entry.facts = h("div", {});
    const call = entry.detail && approvalCall(entry.detail, isSingle ? 2 : 3);
    replace(entry.element, !isSingle && h("h2", { class: "words" }, `${index + 1} of ${entries.length}: ${question(entry.approval)}`),
      entry.outcome, entry.detail?.edited && editedCall(entry.detail, isSingle ? 2 : 3), entry.facts, call?.element);
    entry.end = call?.end;
    watch(entry);
    show(entry);
  }

  function show(entry, message) {
    const { status } = entry.approval;
    const kind = message ? "warn" : { approved: "ok", used: "ok", denied: "danger" }[status] ?? "warn";
    replace(entry.facts, entry.detail && approvalFacts(entry.approval));
    const sentence = status !== "pending" && h("p", {}, statusSentence(entry.approval));
    replace(entry.outcome, (message || sentence) && card(kind, message && problem(message), sentence));
  }

  function markSeen(changes) {
    const seen = new Set(changes.filter((change) => change.isIntersecting).map((change) => change.target));
    for (const entry of entries) entry.isSeen ||= seen.has(entry.end);
    update();
  }

  function update() {
    const [waiting, unseen] = [open(), open().filter(({ isSeen }) => !isSeen)];
    const hadFocus = bar.contains(document.activeElement);
    bar.hidden = waiting.length === 0;
    denyButton.hidden = waiting.every(({ approval }) => approval.status === "denied");
    denyButton.disabled = isBusy;
    approveButton.disabled = isBusy || unseen.length > 0;
    editButton.disabled = isBusy;
    if (bar.hidden) {
      isEditing = false;
      replace(editor);
    }
    // What the bar would approve is the call without the changes.
    approveButton.hidden = isEditing;
    const isRemembered = waiting.some(({ approval }) => approval.offers_memory);
    memory.hidden = !isRemembered;
    memory.disabled = isBusy;
    editButton.hidden = isEditing || !isSingle || mayReconsider || !entries[0].detail?.params_text;
    replace(approveButton, mayReconsider ? "Approve after all" : waiting.length > 1 ? `Approve ${waiting.length} calls, each once` : isRemembered ? "Approve" : "Approve once");
    replace(hint, isEditing ? "You are editing this call." : hintFor(waiting, unseen, isRemembered));
    if (hadFocus && bar.hidden) title.focus({ preventScroll: true });
  }

  /** Follows decisions of others. */
  async function refresh() {
    const answer = await get("/approvals").catch(() => null);
    if (!answer || isBusy) return;
    for (const entry of entries.filter(({ approval }) => ["pending", "approved"].includes(approval.status))) {
      const wasPending = entry.approval.status === "pending";
      settle(entry, present(answer.approvals.find(({ id }) => id === entry.id) ?? { ...entry.approval, status: "gone" }));
      if (wasPending && ["approved", "used"].includes(entry.approval.status)) showEdit(entry);
    }
    update();
    showFurther(answer.approvals);
  }

  /** Shows what was approved instead, if the call was edited: here, or in another browser. */
  async function showEdit(entry) {
    const fresh = await loadEntry(entry.id).catch(() => null);
    if (!fresh?.detail?.edited || entry.detail?.edited) return;
    Object.assign(entry, { detail: fresh.detail, approval: fresh.approval });
    draw(entry, entries.indexOf(entry));
  }

  /** Leads to the call that has waited longest, once nothing on this page waits. */
  function showFurther(approvals) {
    const here = new Set(entries.map(({ id }) => id));
    const others = approvals.map(present).filter(({ id, status }) => status === "pending" && !here.has(id));
    const [next] = others.sort((a, b) => a.asked_at.localeCompare(b.asked_at));
    const isShown = open().length === 0 && next;
    replace(further, isShown && h("a", { class: "button", href: `/approvals/${encodeURIComponent(next.id)}` }, `Next waiting call (${others.length})`));
  }

  function openEditor() {
    const [entry] = entries;
    const form = editForm(entry.id, entry.detail, { onApprove: decideEdited, onClose: () => closeEditor() });
    replace(editor, form.element);
    isEditing = true;
    update();
    form.focus();
  }

  function closeEditor() {
    replace(editor);
    isEditing = false;
    update();
    editButton.focus();
  }

  async function decideEdited(text) {
    await decide((entry) => approveEdited(entry.id, entry.detail.digest, text, memory.value));
    await showEdit(entries[0]);
  }

  function settle(entry, approval, message) {
    if (approval.status === entry.approval.status && !message) return;
    entry.approval = approval;
    show(entry, message);
    announce(`${approval.operation}: ${statusSentence(approval)}`);
  }

  async function decide(request) {
    isBusy = true;
    update();
    for (const entry of open()) {
      await request(entry).then((approval) => settle(entry, approval), (error) => recover(entry, error));
    }
    isBusy = false;
    update();
    await refresh();
    // The buttons have lost the focus, and what happened is at the top.
    title.focus();
  }

  /** After a failure: shows who decided first, or the call as it is now, which has to be read again. */
  async function recover(entry, error) {
    const fresh = error.status === 409 && (await loadEntry(entry.id).catch(() => null));
    const isOther = fresh && fresh.detail && fresh.detail.digest !== entry.detail.digest;
    if (isOther) {
      Object.assign(entry, { detail: fresh.detail, isSeen: false });
      draw(entry, entries.indexOf(entry));
    }
    const rest = isOther ? " The page now shows the call as it is. Read it before you decide." : "";
    settle(entry, fresh ? fresh.approval : entry.approval, explainFailure(error) + rest);
  }

  async function decideDeny() {
    const answer = await askToDeny(open().length);
    if (answer) await decide((entry) => deny(entry.id, answer.reason));
  }

  return { refresh, stop: () => observer.disconnect() };
}

/** Whether a denied call can still be approved. */
const isReversible = ({ status, expires_at }) => status === "denied" && Date.parse(expires_at) > serverTime();

/** What the person is asked. The operation is named where the server gave no question. */
const question = ({ message, operation }, detail) => `${detail?.edited ? "Changed before it was approved: " : ""}${message || operation}`;

const asker = ({ caller, client_name }) =>
  caller || !client_name ? callerWords(caller, null, "a caller that is not known") : `a caller that ${callerWords(null, client_name)}`;

/** An approval as it is now: one whose deadline has passed is no longer pending, even if the server has not said so yet. */
const present = (approval) =>
  approval.status === "pending" && Date.parse(approval.expires_at) <= serverTime() ? { ...approval, status: "expired" } : approval;

function hintFor(waiting, unseen, isRemembered) {
  if (unseen.length === 0 && isRemembered) return "Later calls that only send something to the same destinations can run without a question.";
  if (unseen.length === 0) return "An approval is valid for this call alone, once.";
  if (waiting.length === 1) return "Scroll to the end of the call to approve it.";
  const links = unseen.map(({ end, approval }, index) => [index > 0 && ", ", h("a", { href: `#${end.id}` }, approval.operation)]);
  return ["Scroll to the end of every call to approve them. Left: ", links, "."];
}
