// Addresses and pages. A page module exports `title(params)` and `async render(main, params, query)`.

const ROUTES = [
  ["/", "overview"],
  ["/login", "login"],
  ["/operations", "operations"],
  ["/operations/:name", "operation"],
  ["/try", "try"],
  ["/schema", "schema"],
  ["/schema/:table", "schema"],
  ["/approvals", "approvals"],
  ["/approvals/:id", "approval"],
  ["/review", "review"],
  ["/audit", "audit"],
  ["/audit/:id", "audit"],
  ["/live", "live"],
  ["/settings", "settings"],
];

let show = () => {};
let current = "";

/** The page and the parameters of a path, or null. */
export function match(pathname) {
  const parts = split(pathname);
  for (const [pattern, page] of ROUTES) {
    const params = matchParts(split(pattern), parts);
    if (params) return { page, params };
  }
  return null;
}

const split = (path) => path.split("/").filter(Boolean);

function matchParts(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  const params = {};
  for (const [i, expected] of pattern.entries()) {
    if (expected.startsWith(":")) params[expected.slice(1)] = decode(parts[i]);
    else if (expected !== parts[i]) return null;
  }
  return params;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const here = () => location.pathname + location.search;

/** Opens `path` (same origin) as a new entry of the history, or in place of the present one. */
export function navigate(path, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  current = here();
  show();
}

/** Writes the state of the page into its address without drawing it again. Empty values are removed. */
export function setQuery(values) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "" || value === false) query.delete(name);
    else query.set(name, String(value));
  }
  const rest = query.toString();
  history.replaceState(history.state, "", location.pathname + (rest ? `?${rest}` : ""));
  current = here();
}

/** Starts routing; `render` draws the page of the present address. */
export function start(render) {
  show = render;
  current = here();
  addEventListener("popstate", () => {
    if (here() === current) return;
    current = here();
    show();
  });
  document.addEventListener("click", follow);
  show();
}

function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.hash || !match(url.pathname)) return;
  event.preventDefault();
  navigate(url.pathname + url.search);
}
