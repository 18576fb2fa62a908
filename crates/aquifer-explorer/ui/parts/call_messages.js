// The messages of one recorded call: what came from the client, what went to the source, what came back, what was answered.
import { h, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { bytes, duration, json, tokens } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";
import { openDialog } from "/lib/dialog.js";
import { badge, facts, problem } from "/parts/elements.js";

const STEPS = {
  received: "Received from the client",
  sent: "Sent to the source",
  returned: "Returned by the source",
  answered: "Answered to the client",
};
const CHANNELS = { client: "tool call", mcp: "MCP", http: "HTTP", sql: "SQL" };

/** A fold that loads the messages when it is opened. */
export function messagesFold(requestId) {
  const body = h("div", { class: "stack" });
  const details = h("details", { class: "messages-fold", on: { toggle: () => details.open && body.childElementCount === 0 && load(body, requestId) } },
    h("summary", {}, "Messages"), body);
  return details;
}

/** A dialog with the messages of a call. */
export function openMessages(requestId, operation) {
  const body = h("div", { class: "stack" });
  load(body, requestId);
  openDialog({ title: `Messages of ${operation}`, body });
}

async function load(body, requestId) {
  replace(body, h("p", { class: "muted", role: "status" }, "Loading…"));
  try {
    const call = await get(`/call-log/${encodeURIComponent(requestId)}`);
    replace(body, summary(call), call.messages.map((message, index) => messageView(message, index)));
  } catch (error) {
    replace(body, problem(error.message));
  }
}

function summary(call) {
  const asked = call.messages.some(({ step }) => step === "sent");
  return [
    facts([["Request", h("span", { class: "mono" }, call.request_id)], ["Caller", call.principal], ["Took", duration(call.took_us)],
      ["Answer", tokens(call.tokens, true)], ["Directly", call.direct_tokens !== null && directText(call.direct_tokens)]]),
    !asked && h("p", { class: "muted" }, "Nothing was sent to a source: the request was refused before, or answered from what is already known."),
    h("p", { class: "muted" }, `Secrets are removed. Texts are cut after ${bytes(call.max_text_bytes)}.`),
  ];
}

/** What the answer would have cost without Aquifer. */
export const directText = (count) => `${tokens(count, true)} from the source's own tool or whole rows`;

function messageView(message, index) {
  const { step, channel, head, body } = message;
  const label = `${index + 1}. ${STEPS[step] ?? step}`;
  return h("section", { class: "card message", "aria-label": label },
    h("div", { class: "toolbar" }, h("h3", {}, label), badge(CHANNELS[channel] ?? channel), message.is_cut && h("span", { class: "badge badge-warn" }, "cut"),
      h("span", { class: "muted" }, `after ${duration(message.after_us)}, ${bytes(message.bytes)}, ${tokens(message.tokens, true)}`)),
    head && pre(`${label}: head`, head),
    body ? pre(`${label}: body`, readable(body, channel)) : h("p", { class: "muted" }, "No body."));
}

const pre = (label, words) => h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, words);

/** JSON with line breaks; everything else as it is. */
function readable(body, channel) {
  // A number with many digits would lose some.
  if (channel === "sql" || /\d{16}/.test(body)) return body;
  const parsed = parseJson(body);
  return parsed.error || typeof parsed.value !== "object" ? body : json(parsed.value);
}
