// Requests in tabs. They are kept for each window of the browser, so windows never overwrite each other's.
import { load, save } from "/lib/storage.js";

const LIST = "aquifer.tabs";
const session = () => sessionStorage;
const key = (id) => `aquifer.tab.${id}`;

export const newTab = (text) => ({ id: `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`, text });

/** The tabs of this window: `{list: [{id, text}], selected}`. */
export function loadTabs(start) {
  const stored = load(LIST, {}, session);
  const ids = Array.isArray(stored.ids) ? stored.ids : [];
  const list = ids.map((id) => ({ id, text: load(key(id), null, session) })).filter(({ text }) => typeof text === "string");
  if (list.length === 0) list.push(newTab(JSON.stringify(start, null, 2)));
  const selected = list.find(({ id }) => id === stored.selected)?.id ?? list[0].id;
  list.forEach(storeTab);
  storeTabs(list, selected);
  return { list, selected };
}

/** Stores the text of a tab; without a text the tab is forgotten. */
export const storeTab = ({ id, text }) => save(key(id), text, session);

export const storeTabs = (list, selected) => save(LIST, { ids: list.map(({ id }) => id), selected }, session);
