// Builds elements. Data reaches the page through `text()` only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// Control, bidirectional, zero-width, tag and variation characters, and unpaired surrogates.
// A joiner inside an emoji is left alone, and so are line feeds and tabs.
const HIDDEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B\u200C\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0E\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]|(?<!\p{Extended_Pictographic}\uFE0F?[\u{1F3FB}-\u{1F3FF}]?)\u200D|\u200D(?!\p{Extended_Pictographic})|\p{Surrogate}/gu;

// Attributes that people see or hear.
const SPOKEN = new Set(["aria-label", "alt", "placeholder", "title"]);

/** Makes hidden characters visible: `⟨U+202E⟩`. */
export function visible(string) {
  return String(string).replace(HIDDEN, (found) => `⟨U+${Number(found.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Escapes hidden characters the way JSON does, so that a JSON text stays valid and shows them. */
export function escapeHidden(json) {
  return json.replace(HIDDEN, (found) => {
    let escaped = "";
    for (let i = 0; i < found.length; i += 1) escaped += `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`;
    return escaped;
  });
}

/** A text node with hidden characters made visible. */
export function text(string) {
  return document.createTextNode(visible(string));
}

/** An element: `h("a", {class: "button", href: "/", on: {click}}, "Home")`. */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/** An SVG element. */
export function svg(tag, props, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

function build(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) setProperty(element, name, value);
  append(element, children);
  return element;
}

function setProperty(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else if (name === "value" || name === "checked" || name === "selected") {
    element[name] = value;
  } else if ((name === "href" || name === "src") && /^\s*(javascript|data|vbscript):/i.test(value)) {
    element.setAttribute(name, "#");
  } else if (SPOKEN.has(name)) {
    element.setAttribute(name, visible(value));
  } else if (name !== "style" && !name.startsWith("on")) {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : text(child));
  }
}

/** Replaces the children of `node`. */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** The heading of a page: title, an optional introduction, and actions at its right. */
export function heading(title, intro, ...actions) {
  return h("div", { class: "heading" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), intro && h("p", { class: "muted" }, intro)),
    actions.length > 0 && h("div", { class: "toolbar" }, actions));
}

/** Says `message` to screen readers. */
export function announce(message) {
  const region = document.getElementById("announcer");
  if (!region) return;
  region.textContent = "";
  setTimeout(() => { region.textContent = visible(message); }, 50);
}

let lastId = 0;
/** An id that is unique in the document. */
export function uniqueId(prefix = "id") {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Calls `fn` once `wait` milliseconds have passed without another call. */
export function debounce(fn, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(fn, wait, ...values);
  };
}
