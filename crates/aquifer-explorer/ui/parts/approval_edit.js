// Changing a call before approving it: the JSON of its parameters, the check on the server, and the difference.
import { escapeHidden, h, replace } from "/lib/dom.js";
import { post } from "/lib/api.js";
import { plural } from "/lib/format.js";
import { jsonDiff } from "/parts/diff_view.js";
import { jsonEditor } from "/parts/editor.js";
import { button, problem } from "/parts/elements.js";

const SIDES = ["As the caller asked", "As you changed it"];

/** What was approved instead of the call that was asked for. `level` is the level of its heading. */
export function editedCall({ call, edited }, level) {
  return h("div", { class: "edited-call" },
    h(`h${level}`, {}, "Approved with changes"),
    h("p", {}, `A person made ${plural(edited.changes.length, "change")}. Only the changed call can run, and its caller is told what was changed.`),
    jsonDiff(call.params, edited.call.params, [SIDES[0], "As it was approved"]),
    edited.preview && [h(`h${level}`, {}, "What the changed call would change"), h("p", { class: "words" }, edited.preview)]);
}

/**
 * A form for other parameters. They are checked on the server like a call of the caller before they can be approved.
 * `onApprove(text)` runs with the text that was checked, `onClose()` if the person goes back.
 */
export function editForm(id, { call, params_text }, { onApprove, onClose }) {
  const result = h("div", { role: "status" });
  const editor = jsonEditor({ label: "Parameters", text: escapeHidden(params_text), rows: 14, onText: forget });
  const checkButton = button("Show the difference", check, "primary");
  const element = h("section", { class: "card", "aria-label": "Edit the call" },
    h("h2", { tabindex: "-1" }, "Edit the call"),
    h("p", { class: "muted" }, "Change the parameters. The changed call has to pass the same checks and rules as every call. The caller is told what you changed, and has to send the changed call itself."),
    editor.element,
    h("div", { class: "toolbar" }, checkButton, button("Do not edit", onClose)),
    result);

  /** What was checked is no longer what is in the field. */
  function forget() {
    replace(result);
  }

  async function check() {
    const text = editor.text();
    checkButton.disabled = true;
    replace(result, h("p", { class: "muted" }, "Checking…"));
    try {
      const { edited } = await post(`/approvals/${encodeURIComponent(id)}/edit`, { params_text: text });
      if (text !== editor.text()) return forget();
      replace(result, difference(edited, text));
      result.querySelector("h3").focus();
    } catch (error) {
      replace(result, problem(`This call cannot be approved. ${error.message.replace(/\.?$/, ".")}`));
    } finally {
      checkButton.disabled = false;
    }
  }

  function difference(edited, text) {
    return [
      h("h3", { tabindex: "-1" }, plural(edited.changes.length, "change")),
      jsonDiff(call.params, edited.call.params, SIDES),
      h("p", { class: edited.preview ? "words" : "muted" }, edited.preview ?? "What the changed call would change cannot be shown in advance."),
      h("p", {}, button("Approve the changed call once", () => onApprove(text), "primary")),
    ];
  }

  return { element, focus: () => element.querySelector("h2").focus() };
}
