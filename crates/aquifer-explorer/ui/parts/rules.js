// Writes rules into the configuration: asks why, shows the difference first, then applies exactly that.
import { announce, h, replace } from "/lib/dom.js";
import { post } from "/lib/api.js";
import { openDialog } from "/lib/dialog.js";
import { plural } from "/lib/format.js";
import { unifiedDiff } from "/parts/diff_view.js";
import { button, code, field, problem } from "/parts/elements.js";

const VERBS = { allow: "Allow", deny: "Deny", confirm: "Ask before" };
const MAX_LISTED = 50;

/**
 * Opens the dialog for `effect` ("allow", "deny" or "confirm") on the operations with these names.
 * Resolves to true once the rules are written, or to false if the person goes back.
 */
export function openRulesDialog(operations, effect) {
  return new Promise((resolve) => createDialog(operations, effect, resolve));
}

function createDialog(operations, effect, resolve) {
  const reason = h("input", { type: "text", maxlength: 200, autocomplete: "off", on: { input: forget, keydown: previewOnEnter } });
  const result = h("div", { tabindex: "-1", class: "rules-result" });
  const previewButton = button("Show the change", () => showChange(), "primary");
  const applyButton = button("Write to the file", apply, "primary", { hidden: true });
  let shown = null;
  let isApplied = false;

  const dialog = openDialog({
    title: `${VERBS[effect] ?? effect} ${plural(operations.length, "operation")}`,
    body: [operationList(operations), field("Reason", reason, "It is written next to the rule, and callers see it when they are refused."), result],
    actions: [button("Cancel", () => dialog.close()), previewButton, applyButton],
    onClose: () => resolve(isApplied),
  });
  reason.focus();

  const request = () => ({ operations, effect, ...(reason.value.trim() && { reason: reason.value.trim() }) });

  function previewOnEnter(event) {
    if (event.key === "Enter" && !previewButton.disabled && !shown) showChange();
  }

  /** The difference on the page no longer belongs to what would be written. */
  function forget() {
    if (!shown) return;
    shown = null;
    replace(result);
    offer();
  }

  function offer(isBusy = false) {
    previewButton.hidden = shown !== null;
    applyButton.hidden = shown === null;
    previewButton.disabled = applyButton.disabled = isBusy;
  }

  async function showChange(notice) {
    offer(true);
    try {
      const asked = request();
      const preview = await post("/rules/preview", asked);
      shown = { ...asked, digest: preview.digest };
      replace(result, notice && problem(notice), changeOf(preview));
    } catch (error) {
      shown = null;
      replace(result, problem(explain(error)));
    }
    offer();
    // Not on the button: a second Enter must not write.
    if (shown) result.focus();
  }

  async function apply() {
    offer(true);
    try {
      await post("/rules/apply", shown);
      isApplied = true;
      dialog.close();
      announce("The rule was written. It applies within a few seconds.");
    } catch (error) {
      if (error.status === 409) return showChange("The file was changed meanwhile, so nothing was written. This is the change to the file as it is now.");
      replace(result, problem(explain(error)));
      shown = null;
      offer();
    }
  }
}

function operationList(operations) {
  const more = operations.length - MAX_LISTED;
  return h("ul", { class: "plain-list rules-list" },
    operations.slice(0, MAX_LISTED).map((name) => h("li", {}, code(name))),
    more > 0 && h("li", {}, `and ${more} more`));
}

function changeOf({ path, diff }) {
  if (!diff) return h("p", {}, "The file would not change: such a rule is there already.");
  return [h("p", {}, "This is what would be written to ", code(path), ":"), unifiedDiff(diff)];
}

function explain(error) {
  if (error.status === 422) return error.message;
  if (error.status === 403) return "You may not change the configuration.";
  return `Nothing was written: ${error.message}`;
}
