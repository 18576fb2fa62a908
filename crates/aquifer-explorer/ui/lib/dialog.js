// Modal dialogs.
import { h, uniqueId } from "/lib/dom.js";

/**
 * Opens a dialog. `actions` are elements below the body; `onClose` runs however it is closed.
 * Returns the <dialog>; `.close()` ends it. Escape closes it, and focus goes back to where it was.
 *
 * @param {{title: string, body: Node | Node[], actions?: Node[], onClose?: () => void}} options
 */
export function openDialog({ title, body, actions = [], onClose }) {
  const id = uniqueId("dialog");
  const before = document.activeElement;
  const close = h("button", { type: "button", class: "button quiet", "aria-label": "Close", on: { click: () => dialog.close() } }, "✕");
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": id },
    h("div", { class: "dialog-head" }, h("h2", { id }, title), close),
    h("div", { class: "dialog-body" }, body),
    actions.length > 0 && h("div", { class: "toolbar dialog-actions" }, actions));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    onClose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
