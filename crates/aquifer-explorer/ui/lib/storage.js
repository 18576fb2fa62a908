// What the browser keeps: history, tabs and collections. Everything stays on this machine.

/** Reads JSON, or `fallback` if there is none or storage is disabled. */
export function load(key, fallback, storage = () => localStorage) {
  try {
    return JSON.parse(storage().getItem(key) ?? "null") ?? fallback;
  } catch {
    return fallback;
  }
}

/** Stores JSON; returns false if there is no room or storage is disabled. */
export function save(key, value, storage = () => localStorage) {
  try {
    if (value === undefined) storage().removeItem(key);
    else storage().setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

const SESSION = "aquifer.session";

/** The secret of the session, or null. Not a cookie: browsers send those to other ports of the host, too. */
export const sessionSecret = () => load(SESSION, null);

/** Keeps the secret of a session, or forgets it; returns false if storage is disabled. */
export const keepSession = (secret) => save(SESSION, secret);

const HISTORY = "aquifer.history";
const MAX_ENTRIES = 100;
const MAX_REQUEST = 20000;

/** The last requests, newest first: `[{time, request, code}]`. */
export function history() {
  const stored = load(HISTORY, []);
  return Array.isArray(stored) ? stored.filter((entry) => typeof entry?.request === "object" && entry.request !== null) : [];
}

/** Remembers a request without its confirmation token. */
export function remember(request, code) {
  const { confirmation_token: _, ...rest } = request;
  const written = JSON.stringify(rest);
  if (written.length > MAX_REQUEST) return;
  const others = history().filter((entry) => JSON.stringify(entry.request) !== written);
  save(HISTORY, [{ time: new Date().toISOString(), request: rest, code: code ?? null }, ...others].slice(0, MAX_ENTRIES));
}

export const forgetHistory = () => save(HISTORY, undefined);

/** "list_orders", or "3 operations: list_orders, …" */
export function describeRequest(request) {
  if (!Array.isArray(request?.operations)) return String(request?.operation ?? "request");
  const names = request.operations.map((one) => one?.operation ?? "?");
  return `${names.length} operations: ${names.slice(0, 3).join(", ")}${names.length > 3 ? "…" : ""}`;
}
