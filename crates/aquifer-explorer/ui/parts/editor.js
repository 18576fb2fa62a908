// A JSON text field that marks what is wrong and keeps every character.
import { h, replace, uniqueId } from "/lib/dom.js";
import { json } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";

/**
 * `onChange(value)` runs for valid JSON, `onText(text)` for every edit, `onRun()` for Ctrl+Enter.
 * Returns `{element, area, set(value), setText(text), text(), result()}`; `result()` is that of `parseJson`.
 *
 * @param {{label: string, value?: any, text?: string, rows?: number, onChange?: (value: any) => void, onText?: (text: string) => void, onRun?: () => void}} options
 */
export function jsonEditor({ label, value, text: initial, rows = 12, onChange, onText, onRun }) {
  const problem = h("div", { class: "editor-problem error-text", id: uniqueId("problem"), role: "status" });
  const area = h("textarea", { class: "editor", rows, spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": label, "aria-describedby": problem.id, on: { input: edited, keydown: run } });
  const format = h("button", { type: "button", class: "button quiet small", on: { click: reformat } }, "Format");

  function edited() {
    onText?.(area.value);
    const parsed = check();
    if (!parsed.error) onChange?.(parsed.value);
  }

  function check() {
    const parsed = parseJson(area.value);
    area.setAttribute("aria-invalid", String(Boolean(parsed.error)));
    replace(problem, parsed.error && describe(parsed.error));
    return parsed;
  }

  function describe({ message, index, line, column }) {
    const start = area.value.lastIndexOf("\n", index - 1) + 1;
    const excerpt = area.value.slice(Math.max(start, index - 30), index).replace(/\t/g, " ");
    const rest = area.value.slice(index, index + 30).split("\n")[0];
    return [h("button", { type: "button", class: "button quiet small", on: { click: () => goTo(index) } }, `Line ${line}, column ${column}`),
      `${message}.`, h("pre", { "aria-hidden": "true" }, `${excerpt}${rest}\n${" ".repeat([...excerpt].length)}^`)];
  }

  function goTo(index) {
    area.focus();
    area.setSelectionRange(index, Math.min(index + 1, area.value.length));
  }

  function reformat() {
    const parsed = check();
    if (parsed.error) goTo(parsed.error.index);
    else setText(json(parsed.value));
  }

  function run(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !onRun) return;
    event.preventDefault();
    event.stopPropagation();
    onRun();
  }

  function setText(next) {
    area.value = next;
    onText?.(next);
    check();
  }

  if (initial === undefined) area.value = json(value);
  else area.value = initial;
  check();
  return {
    element: h("div", { class: "editor-box" }, h("div", { class: "editor-head" }, h("span", { class: "muted" }, label), format), area, problem),
    area,
    set: (next) => setText(json(next)),
    setText,
    text: () => area.value,
    result: () => parseJson(area.value),
  };
}
