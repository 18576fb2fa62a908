// Signs in with the token of a link.
import { h, heading, replace } from "/lib/dom.js";
import { get, post } from "/lib/api.js";
import { keepSession } from "/lib/storage.js";

export const title = () => "Sign in";

export async function render(main, params, query) {
  const token = readToken(location.hash);
  const next = samePath(query.get("next"));
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  if (token) {
    replace(main, heading("Signing in…"));
    const problem = await signIn(token, next);
    if (problem && (await isSignedIn())) location.replace(next);
    else if (problem) drawForm(main, next, problem);
    return;
  }
  drawForm(main, next);
}

const isSignedIn = () => get("/session").then(() => true, () => false);

function readToken(hash) {
  const token = hash.replace(/^#/, "");
  return token.startsWith("token=") ? token.slice(6) : token;
}

/** Only paths of this origin: "//host" and "/\host" lead elsewhere. */
function samePath(path) {
  if (!path || !path.startsWith("/")) return "/";
  const url = new URL(path, location.origin);
  return url.origin === location.origin && url.pathname !== "/login" ? url.pathname + url.search : "/";
}

/** Leaves the page, or returns what went wrong. */
async function signIn(token, next) {
  try {
    const { secret } = await post("/session", { token });
    if (!keepSession(secret)) return "This browser does not let the page store anything, so it cannot keep you signed in.";
    location.replace(next);
    return null;
  } catch (error) {
    return error.status === 401 ? "This link is not valid any more. Every link works once, and for a short time." : error.message;
  }
}

function drawForm(main, next, problem) {
  const message = h("p", { class: "error-text", role: "alert" }, problem);
  const input = h("input", { autocomplete: "off", spellcheck: "false", required: true, placeholder: `${location.origin}/login#…` });
  const submit = async (event) => {
    event.preventDefault();
    const pasted = input.value.trim();
    const token = pasted.includes("#") ? readToken(pasted.slice(pasted.indexOf("#"))) : pasted;
    message.textContent = token ? ((await signIn(token, next)) ?? "") : "Paste the whole link.";
  };
  replace(main, h("div", { class: "login card" },
    h("h1", {}, "Sign in"),
    h("p", {}, "Open the link that the server printed when it started, or ask the person who runs it for one."),
    h("p", { class: "muted" }, "That person gets another link with ", h("code", {}, `aquifer explorer link --url ${location.origin}`), "."),
    h("form", { on: { submit } },
      h("label", { class: "field" }, h("span", {}, "Or paste the link here"), input), message,
      h("button", { type: "submit", class: "button primary" }, "Sign in"))));
}
