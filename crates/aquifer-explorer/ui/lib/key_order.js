// The order of members. JavaScript puts members whose names are whole numbers first and sorts them, but an answer says with
// its order which group is the largest.

/** No answer with this character is marked, so it never stands for itself. */
const MARK = "\u2063";
const HAS_MARK = /\u2063|\\u2063/i;
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;
const WHOLE_NUMBER = /^"(?:0|[1-9]\d*)"/;
const HAS_NUMBERED_MEMBER = /"(?:0|[1-9]\d*)"\s*:/;

const orders = new WeakMap();

/** Parses JSON and remembers the order of objects that have such members. */
export function parseInOrder(text) {
  if (!HAS_NUMBERED_MEMBER.test(text) || HAS_MARK.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING, (match, colon) => (colon && WHOLE_NUMBER.test(match) ? `"${MARK}${match.slice(1)}` : match));
  return JSON.parse(marked, (_, value) => unmark(value));
}

function unmark(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const names = Object.keys(value);
  if (!names.some((name) => name.startsWith(MARK))) return value;
  const plain = names.map((name) => (name.startsWith(MARK) ? name.slice(MARK.length) : name));
  const object = Object.fromEntries(names.map((name, i) => [plain[i], value[name]]));
  orders.set(object, plain);
  return object;
}

/** Like `Object.entries`, in the order of the answer. */
export const entriesInOrder = (object) => (orders.get(object) ?? Object.keys(object)).map((name) => [name, object[name]]);

/** Like `JSON.stringify`, in the order of the answer. */
export function stringifyInOrder(value, indent) {
  let isMarked = false;
  let hasOwn = false;
  const text = JSON.stringify(value, (_, one) => {
    const names = typeof one === "object" && one !== null ? orders.get(one) : undefined;
    hasOwn ||= typeof one === "string" ? one.startsWith(MARK) : !names && Object.keys(one ?? {}).some((name) => name.startsWith(MARK));
    if (!names) return one;
    isMarked = true;
    return Object.fromEntries(names.map((name) => [WHOLE_NUMBER.test(`"${name}"`) ? MARK + name : name, one[name]]));
  }, indent);
  if (isMarked && hasOwn) return JSON.stringify(value, null, indent);
  return isMarked ? text.replaceAll(`"${MARK}`, '"') : text;
}
