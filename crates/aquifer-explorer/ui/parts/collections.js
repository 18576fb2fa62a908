// Saved requests, exported and imported as JSON files.
import { announce, h, replace } from "/lib/dom.js";
import { openDialog } from "/lib/dialog.js";
import { json, plural } from "/lib/format.js";
import { parseJson } from "/lib/json_text.js";
import { describeRequest, load, save } from "/lib/storage.js";

const KEY = "aquifer.collections";
const FORMAT = "aquifer-collection";
const MAX_FILE = 5e6;

/** `{name: [{title, request}]}` */
function collections() {
  const stored = load(KEY, {});
  return typeof stored === "object" && !Array.isArray(stored) ? stored : {};
}

/** Asks for a name and saves the request. */
export function saveDialog(request, onSaved) {
  const names = Object.keys(collections());
  const title = h("input", { value: describeRequest(request), required: true });
  const collection = h("input", { list: "collection-names", value: names[0] ?? "My requests", required: true });
  const submit = (event) => {
    event.preventDefault();
    const all = collections();
    const name = collection.value.trim();
    save(KEY, { ...all, [name]: [...(Object.hasOwn(all, name) ? all[name] : []), { title: title.value.trim(), request }] });
    dialog.close();
    announce("Saved.");
    onSaved?.();
  };
  const dialog = openDialog({ title: "Save this request", body: h("form", { on: { submit } },
    h("label", { class: "field" }, h("span", {}, "Name"), title),
    h("label", { class: "field" }, h("span", {}, "Collection"), collection), h("datalist", { id: "collection-names" }, names.map((name) => h("option", { value: name }))),
    h("button", { type: "submit", class: "button primary" }, "Save")) });
}

/** The collections, with buttons to open, remove, export and import. */
export function collectionsView(openRequest) {
  const box = h("div", { class: "stack" });
  const file = h("input", { type: "file", accept: "application/json,.json", class: "visually-hidden", tabindex: "-1", "aria-label": "Collection to import", on: { change: importFile } });
  const message = h("p", { role: "status" });

  async function importFile() {
    const chosen = file.files[0];
    file.value = "";
    if (!chosen) return;
    const problem = chosen.size > MAX_FILE ? "The file is too large." : store(await chosen.text());
    draw();
    message.textContent = problem ?? "Imported.";
    message.classList.toggle("error-text", Boolean(problem));
  }

  function draw() {
    const entries = Object.entries(collections());
    replace(box, entries.length === 0 && h("p", { class: "empty" }, "Saved requests appear here."),
      entries.map(([name, requests]) => collectionView(name, requests, openRequest, draw)),
      h("div", { class: "toolbar" }, h("button", { type: "button", class: "button small", on: { click: () => file.click() } }, "Import…"), file), message);
  }

  draw();
  return box;
}

function collectionView(name, requests, openRequest, draw) {
  const list = Array.isArray(requests) ? requests : [];
  const write = (next) => {
    const all = { ...collections(), [name]: next };
    if (next.length === 0) delete all[name];
    save(KEY, all);
    draw();
  };
  return h("section", {}, h("h3", {}, name), h("ul", { class: "request-list" }, list.map(({ title, request }, i) => h("li", { class: "item-row" },
    h("button", { type: "button", class: "request-item", on: { click: () => openRequest(request) } }, title),
    h("button", { type: "button", class: "button small", "aria-label": `Remove ${title}`, on: { click: () => write(list.toSpliced(i, 1)) } }, "✕")))),
  h("button", { type: "button", class: "button quiet small", on: { click: () => download(name, list) } }, `Export ${plural(list.length, "request")}`));
}

function download(name, requests) {
  const url = URL.createObjectURL(new Blob([json({ format: FORMAT, version: 1, name, requests })], { type: "application/json" }));
  const link = h("a", { href: url, download: `${name.replace(/[^\w-]+/g, "-").toLowerCase() || "requests"}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Adds the requests of a file; returns what is wrong with it, or null. */
function store(text) {
  const { value, error } = parseJson(text);
  if (error) return `The file is not valid JSON: line ${error.line}, column ${error.column}.`;
  if (value?.format !== FORMAT || value.version !== 1 || !Array.isArray(value.requests)) return "The file is not a collection of requests.";
  const valid = value.requests.filter((one) => typeof one?.request === "object" && one.request !== null).map(({ title, request }) => ({ title: String(title ?? describeRequest(request)), request }));
  if (valid.length === 0) return "The file has no requests.";
  const all = collections();
  const name = freeName(String(value.name ?? "Imported").slice(0, 100), all);
  return save(KEY, { ...all, [name]: valid }) ? null : "There is no room to store it.";
}

function freeName(name, all) {
  let free = name;
  for (let i = 2; Object.hasOwn(all, free); i += 1) free = `${name} (${i})`;
  return free;
}
