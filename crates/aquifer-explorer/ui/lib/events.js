// Events of the server: one connection for the whole page, renewed with increasing pauses. Not an EventSource, which cannot
// send the header of the session.
import { get, openStream } from "/lib/api.js";

const listeners = new Map();
const statusListeners = new Set();
const MAX_PAUSE = 30000;

let isOpen = false;
let pause = 1000;

/** "connecting", "live" or "reconnecting". */
export let status = "connecting";

/** Calls `fn(data)` for every event of this type; returns a function that ends it. */
export function on(type, fn) {
  if (!listeners.has(type)) listeners.set(type, new Set());
  listeners.get(type).add(fn);
  connect();
  return () => listeners.get(type).delete(fn);
}

/** Calls `fn(status)` now and on every change; returns a function that ends it. */
export function onStatus(fn) {
  statusListeners.add(fn);
  fn(status);
  return () => statusListeners.delete(fn);
}

async function connect() {
  if (isOpen || location.pathname === "/login") return;
  isOpen = true;
  try {
    const body = await openStream("/events");
    pause = 1000;
    setStatus("live");
    await listen(body);
  } catch {
    // Ended or lost: both are renewed.
  }
  isOpen = false;
  reconnect();
}

/** Dispatches the events of a stream until it ends. The server writes one line for the type and one of data. */
async function listen(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, type, data] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(event) ?? [];
      if (type) dispatch(type, data);
    }
  }
}

function reconnect() {
  setStatus("reconnecting");
  // Finds out why: shows the banner without a connection, and the login page without a session.
  get("/session").catch(() => null);
  setTimeout(connect, pause + Math.random() * 500);
  pause = Math.min(pause * 2, MAX_PAUSE);
}

// The connection is back: do not wait for the end of the pause.
addEventListener("aquifer:online", () => listeners.size > 0 && connect());

function dispatch(type, data) {
  let parsed;
  try {
    parsed = JSON.parse(data);
  } catch {
    return;
  }
  for (const fn of listeners.get(type) ?? []) fn(parsed);
}

function setStatus(next) {
  if (status === next) return;
  status = next;
  for (const fn of statusListeners) fn(next);
}
