// Requests to the server of this page.
import { parseInOrder } from "/lib/key_order.js";
import { sessionSecret } from "/lib/storage.js";

/** A request that failed: `status` (0 without a connection), `code`, `message`, `details`. */
export class ApiError extends Error {
  constructor(status, code, message, details) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details ?? {};
  }
}

/** GET; `path` is below /api: `get("/approvals")`. */
export const get = (path, options) => send("GET", path, undefined, options);
/** POST with a JSON body. */
export const post = (path, body, options) => send("POST", path, body ?? {}, options);
/** DELETE. */
export const del = (path, options) => send("DELETE", path, undefined, options);

/** GET whose answer does not end: the stream of its body. */
export const openStream = (path) => ask("GET", path).then((response) => response.body);

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {{signal?: AbortSignal}} [options]
 */
async function send(method, path, body, { signal } = {}) {
  return read(await ask(method, path, body, signal));
}

async function ask(method, path, body, signal) {
  const response = await attempt(address(path), requestOptions(method, body, signal));
  if (response.ok) return response;
  const error = await toError(response);
  if (error.status === 401 && location.pathname !== "/login") goToLogin();
  throw error;
}

function requestOptions(method, body, signal) {
  const headers = { accept: "application/json" };
  const secret = sessionSecret();
  if (typeof secret === "string") headers["x-aquifer-session"] = secret;
  if (body !== undefined) headers["content-type"] = "application/json";
  return { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" };
}

const address = (path) => (path.startsWith("/api/") ? path : `/api/${path.replace(/^\//, "")}`);

async function attempt(url, options) {
  try {
    const response = await fetch(url, options);
    setOnline(true);
    return response;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    setOnline(false);
    throw new ApiError(0, "OFFLINE", "The server cannot be reached.");
  }
}

async function read(response) {
  if (response.status === 204) return null;
  try {
    return parseInOrder(await response.text());
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(response.status, "INVALID_ANSWER", "The answer of the server is not valid JSON.");
  }
}

async function toError(response) {
  const body = await response.json().catch(() => null);
  const { code, message, details } = body?.error ?? {};
  return new ApiError(response.status, code ?? "HTTP_ERROR", message ?? `The server answered ${response.status}.`, details);
}

function goToLogin() {
  const back = location.pathname + location.search;
  location.replace(`/login?next=${encodeURIComponent(back)}`);
}

let retry = null;

/** Shows or hides the banner. While there is no connection, the server is asked every two seconds; `aquifer:online` follows. */
export function setOnline(online) {
  const banner = document.getElementById("banner");
  if (!banner) return;
  const isBack = online && !banner.hidden;
  banner.hidden = online;
  banner.textContent = online ? "" : "Connection lost. Trying again…";
  if (online) {
    clearTimeout(retry);
    retry = null;
  } else if (retry === null) {
    retry = setTimeout(checkConnection, 2000);
  }
  if (isBack) dispatchEvent(new Event("aquifer:online"));
}

async function checkConnection() {
  retry = null;
  try {
    await fetch("/favicon.svg", { cache: "no-store" });
    setOnline(true);
  } catch {
    setOnline(false);
  }
}
