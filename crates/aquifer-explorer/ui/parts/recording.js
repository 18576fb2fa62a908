// Switches the recording of messages on and off, and says which calls have been recorded.
import { announce, debounce, h, replace } from "/lib/dom.js";
import { del, get, post } from "/lib/api.js";
import { plural, span } from "/lib/format.js";
import { button, problem } from "/parts/elements.js";

const [CALLS, MINUTES] = [20, 10];

/** `onChange()` runs when other calls have been recorded. Returns `{element, has(requestId), update(), stop()}`. */
export function recordingPanel(onChange) {
  const state = h("p", {});
  const actions = h("div", { class: "toolbar" });
  const element = h("section", { class: "card recording", "aria-label": "Recording" }, state, actions);
  let ids = new Set();
  let timer = null;

  async function refresh() {
    clearTimeout(timer);
    try {
      const { recording, calls } = await get("/call-log");
      ids = new Set(calls.map(({ request_id: id }) => id));
      draw(recording, calls.length);
      if (recording) timer = setTimeout(refresh, 5000);
      onChange();
    } catch (error) {
      replace(state, error.message);
    }
  }

  function draw(recording, count) {
    const kept = count > 0 ? ` ${plural(count, "call")} kept.` : "";
    replace(state, recording
      ? `The messages of the next ${plural(recording.calls_left, "call")} are recorded, for ${span(recording.seconds_left * 1000)}.${kept}`
      : `Messages are not recorded.${kept} What you try yourself always is. Recorded messages stay in the memory of the server, without secrets.`);
    const focused = actions.contains(document.activeElement);
    replace(actions,
      recording ? button("Stop recording", () => change({ calls: 0, minutes: 0 }, "Recording is off.")) : button(`Record the next ${CALLS} calls`, () => change({ calls: CALLS, minutes: MINUTES }, "Recording is on.")),
      count > 0 && button("Forget what was recorded", forget, "quiet"));
    if (focused) actions.querySelector("button").focus();
  }

  async function change(wanted, done) {
    try {
      await post("/call-log", wanted);
      announce(done);
      await refresh();
    } catch (error) {
      replace(state, problem(error.message));
    }
  }

  async function forget() {
    await del("/call-log").catch(() => null);
    await refresh();
  }

  refresh();
  return { element, has: (id) => ids.has(id), update: debounce(refresh, 300), stop: () => clearTimeout(timer) };
}
