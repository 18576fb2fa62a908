// Events of the server: one connection for the whole page, renewed with increasing pauses.
import { get } from "/lib/api.js";

const listeners = new Map();
const statusListeners = new Set();
const TYPES = ["hello", "approvals", "catalog", "call"];
const MAX_PAUSE = 30000;

let source = null;
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

function connect() {
  if (source || location.pathname === "/login") return;
  source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    pause = 1000;
    setStatus("live");
  });
  source.addEventListener("error", reconnect);
  for (const type of TYPES) source.addEventListener(type, (event) => dispatch(type, event.data));
}

function reconnect() {
  source.close();
  source = null;
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
