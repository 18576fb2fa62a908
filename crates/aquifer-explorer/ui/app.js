// Starts the page: navigation, theme, connection state, and the page of the present address.
import { announce, h, heading, replace, visible } from "/lib/dom.js";
import { del, get } from "/lib/api.js";
import { on, onStatus } from "/lib/events.js";
import { match, start } from "/lib/router.js";
import { keepSession } from "/lib/storage.js";

const isSignedIn = location.pathname !== "/login";
const main = part("main");
const pendingBadge = h("span", { class: "badge badge-warn", hidden: true });
let cleanup = null;
let visit = 0;

/**
 * A part of the frame, which `index.html` has.
 *
 * @param {string} id
 */
function part(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** The frame is in the document already, so that it is drawn before any module has arrived. */
function startFrame() {
  part("menu").addEventListener("click", toggleMenu);
  part("theme").addEventListener("click", toggleTheme);
  part("sign-out").addEventListener("click", signOut);
  document.querySelector('nav a[href="/approvals"]')?.append(pendingBadge);
  if (isSignedIn) watchStatus(part("status"));
}

function toggleMenu(event) {
  const button = event.currentTarget;
  setMenu(button.getAttribute("aria-expanded") !== "true");
}

function setMenu(open) {
  part("menu").setAttribute("aria-expanded", String(open));
  part("nav").classList.toggle("open", open);
}

function watchStatus(label) {
  onStatus((status) => {
    label.textContent = status;
    label.dataset.status = status;
  });
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  announce(`The ${root.dataset.theme} theme is on.`);
  try {
    localStorage.setItem("aquifer.theme", root.dataset.theme);
  } catch {
    // Storage is disabled: the theme lasts until the page is closed.
  }
}

async function signOut() {
  await del("/session").catch(() => null);
  keepSession(undefined);
  location.replace("/login");
}

async function showPage() {
  visit += 1;
  const mine = visit;
  cleanup?.();
  cleanup = null;
  const first = mine === 1;
  const found = match(location.pathname);
  markCurrent();
  setMenu(false);
  const page = h("div", { class: "page" });
  main.setAttribute("aria-busy", "true");
  replace(main, page);
  if (!first) scrollTo(0, 0);
  const done = found ? await draw(page, found) : drawMissing(page);
  if (mine !== visit) {
    done?.();
    return;
  }
  cleanup = done;
  main.removeAttribute("aria-busy");
  if (!first) focusHeading(page);
}

async function load(name) {
  try {
    return await import(`/pages/${name}.js`);
  } catch (error) {
    // Without a connection, this fails in a way that says so.
    await get("/session");
    throw error;
  }
}

async function draw(page, { page: name, params }) {
  try {
    const module = await load(name);
    document.title = visible(`${module.title(params)} · Aquifer`);
    const done = await module.render(page, params, new URLSearchParams(location.search));
    if (!page.querySelector("h1")) page.prepend(heading(module.title(params)));
    return typeof done === "function" ? done : null;
  } catch (error) {
    if (error.status !== 401) drawError(page, error);
    return null;
  }
}

function drawMissing(page) {
  document.title = "Not found · Aquifer";
  replace(page, heading("There is no such page", "The address may be mistyped, or what it showed is gone."), h("p", {}, h("a", { href: "/" }, "Go to the overview")));
}

function drawError(page, error) {
  document.title = "Error · Aquifer";
  replace(page, heading("This page cannot be shown"),
    h("div", { class: "card danger" }, h("p", {}, error.message), error.code && h("p", { class: "mono muted" }, error.code)),
    h("p", {}, h("button", { type: "button", class: "button primary", on: { click: showPage } }, "Try again")));
  // Browsers may remember that a module could not be loaded, so the document is loaded again.
  if (error.code === "OFFLINE") addEventListener("aquifer:online", () => page.isConnected && location.reload(), { once: true });
}

function markCurrent() {
  for (const link of document.querySelectorAll("nav a")) {
    const href = link.getAttribute("href") ?? "";
    const current = href === "/" ? location.pathname === "/" : location.pathname.startsWith(href);
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function focusHeading(page) {
  const title = page.querySelector("h1");
  if (!title) return;
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
}

function showPending(count) {
  pendingBadge.hidden = !count;
  replace(pendingBadge, String(count), h("span", { class: "visually-hidden" }, " pending"));
}

function watchApprovals() {
  on("approvals", ({ pending }) => showPending(pending));
  get("/overview").then((overview) => showPending(overview.pending_approvals), () => null);
  import("/parts/alerts.js").then(({ startAlerts }) => startAlerts(), () => null);
}

startFrame();
start(showPage);
if (isSignedIn) watchApprovals();
