// Parses JSON and says where it is wrong. Browsers word and place their own errors differently.

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const STRING = /"([^"\\\u0000-\u001F]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const MAX_DEPTH = 200;

/** `{value}`, or `{error: {message, index, line, column}}`. Empty text is an error, too. */
export function parseJson(source) {
  try {
    return { value: JSON.parse(source) };
  } catch {
    return { error: locate(source) };
  }
}

function locate(source) {
  const scanner = { source, index: 0, depth: 0 };
  let message = "This is not valid JSON";
  try {
    scanValue(scanner);
    skipSpace(scanner);
    message = scanner.index < source.length ? "Nothing may follow the value" : message;
  } catch (error) {
    message = error.message;
  }
  const before = source.slice(0, scanner.index).split("\n");
  return { message, index: scanner.index, line: before.length, column: before.at(-1).length + 1 };
}

function scanValue(scanner) {
  skipSpace(scanner);
  const next = scanner.source[scanner.index];
  if (next === undefined) throw new Error("A value is missing here");
  if (next === "{") return scanList(scanner, "}", scanMember);
  if (next === "[") return scanList(scanner, "]", scanValue);
  if (next === '"') return scanString(scanner);
  if (take(scanner, NUMBER) || take(scanner, WORD)) return undefined;
  throw new Error(next === "'" ? "Texts need double quotes" : "A value is expected here: text in double quotes, a number, true, false, null, { or [");
}

function scanList(scanner, end, scanItem) {
  scanner.depth += 1;
  if (scanner.depth > MAX_DEPTH) throw new Error("This is nested too deeply");
  scanner.index += 1;
  skipSpace(scanner);
  if (scanner.source[scanner.index] !== end) scanItems(scanner, end, scanItem);
  scanner.index += 1;
  scanner.depth -= 1;
}

function scanItems(scanner, end, scanItem) {
  for (;;) {
    scanItem(scanner);
    skipSpace(scanner);
    const next = scanner.source[scanner.index];
    if (next === end) return;
    if (next !== ",") throw new Error(next === undefined ? `A closing ${end} is missing` : `A comma or ${end} is expected here`);
    const comma = scanner.index;
    scanner.index += 1;
    skipSpace(scanner);
    if (scanner.source[scanner.index] === end) {
      scanner.index = comma;
      throw new Error("There is a comma too many");
    }
  }
}

function scanMember(scanner) {
  skipSpace(scanner);
  if (scanner.source[scanner.index] !== '"') throw new Error("A name in double quotes is expected here");
  scanString(scanner);
  skipSpace(scanner);
  if (scanner.source[scanner.index] !== ":") throw new Error("A colon is expected here");
  scanner.index += 1;
  scanValue(scanner);
}

function scanString(scanner) {
  if (take(scanner, STRING)) return;
  throw new Error("This text does not end, or has an invalid escape");
}

function skipSpace(scanner) {
  take(scanner, SPACE);
}

function take(scanner, pattern) {
  pattern.lastIndex = scanner.index;
  const found = pattern.exec(scanner.source);
  if (!found) return false;
  scanner.index = pattern.lastIndex;
  return true;
}
