// Corrections that a failure suggests, ready to be applied to the request.
import { firstValue } from "/lib/schema.js";

const MAX_FIXES = 8;

// One unknown parameter among several problems, which then have no details of their own.
const UNKNOWN_PARAMETER = /^Unknown parameter\(s\) for operation '[^']*': (.+?)\.(?: Did you mean '([^']+)'\?| Valid:|$)/;

/** `[{label, apply(call) → call}]`, where a call is `{operation, params}`. `schema` is that of the parameters, if known. */
export function findFixes(error, call, schema) {
  const details = error.details ?? {};
  const params = call.params ?? {};
  const problems = [{ code: error.code, message: error.message ?? "", details }, ...(Array.isArray(details.errors) ? details.errors : []).map((one) => ({ ...one, message: one.message ?? "", details: { param_name: one.path } }))];
  const fixes = problems.flatMap((problem) => fixesOf(problem, params, schema));
  return [...new Map(fixes.map((fix) => [fix.label, fix])).values()].slice(0, MAX_FIXES);
}

function fixesOf(problem, params, schema) {
  switch (problem.code) {
    case "NOT_FOUND_OPERATION": return operationFixes(problem);
    case "VALIDATION_MISSING_PARAM": return missingFixes(problem, schema);
    case "VALIDATION_UNKNOWN_PARAM": return [...renameFixes(problem, params), ...removeFixes(problem, params)];
    case "VALIDATION_UNKNOWN_FIELD": return renameFixes(problem, params);
    case "VALIDATION_INVALID_TYPE": return typeFixes(problem, params);
    case "VALIDATION_INVALID_VALUE": return [...valueFixes(problem, params), ...operatorFixes(problem, params)];
    default: return [];
  }
}

function operationFixes({ details }) {
  const names = Array.isArray(details.suggestions) ? details.suggestions : [];
  return names.slice(0, 3).map((name) => ({ label: `Use ${name}`, operation: name, apply: (call) => ({ ...call, operation: name }) }));
}

function missingFixes({ details, message }, schema) {
  const name = details.param_name ?? /parameter '([^']+)'/.exec(message)?.[1];
  if (!name) return [];
  const part = schema?.properties?.[name];
  return [{ label: `Add ${name}`, apply: (call) => ({ ...call, params: { ...call.params, [name]: part ? firstValue(part, schema) : "" } }) }];
}

function renameFixes({ details, message }, params) {
  const pairs = typeof details.suggestions === "object" && !Array.isArray(details.suggestions) ? Object.entries(details.suggestions ?? {}) : [];
  const told = UNKNOWN_PARAMETER.exec(message) ?? /Unknown (?:field|parameter)[^']*'([^']+)'.*?Did you mean '([^']+)'/.exec(message);
  if (pairs.length === 0 && told?.[2]) pairs.push([told[1], told[2]]);
  return pairs.filter(([wrong, right]) => typeof right === "string" && mentions(params, wrong)).map(([wrong, right]) => ({
    label: `Replace ${wrong} with ${right}`,
    apply: (call) => ({ ...call, params: rename(call.params ?? {}, wrong, right) }),
  }));
}

const mentions = (params, name) => JSON.stringify(params ?? {}).includes(JSON.stringify(name).slice(1, -1));

/** Renames members, and texts that are exactly the name (as in `fields` and `sort`). */
function rename(value, wrong, right, depth = 0) {
  if (depth > 32) return value;
  if (value === wrong) return right;
  if (value === `-${wrong}`) return `-${right}`;
  if (Array.isArray(value)) return value.map((item) => rename(item, wrong, right, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name === wrong ? right : name, rename(item, wrong, right, depth + 1)]));
}

function removeFixes({ details, message }, params) {
  const unknown = Array.isArray(details.unknown_params) ? details.unknown_params : [UNKNOWN_PARAMETER.exec(message)?.[1]];
  return unknown.filter((name) => name !== undefined && Object.hasOwn(params, name)).map((name) => ({ label: `Remove ${name}`, apply: (call) => {
    const { [name]: _, ...rest } = call.params;
    return { ...call, params: rest };
  } }));
}

function typeFixes({ details }, params) {
  const path = details.param_name;
  const value = lookUp(params, path);
  const converted = convert(value, details.expected_type);
  return converted === undefined ? [] : [{ label: `Send ${path} as ${JSON.stringify(converted)}`, apply: put(path, converted) }];
}

function convert(value, type) {
  const expected = String(type ?? "");
  if (typeof value === "string" && /integer|number/.test(expected) && value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  if (typeof value === "string" && /boolean/.test(expected) && /^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
  if (/\[\]|array|list/.test(expected) && value !== undefined && !Array.isArray(value)) return [value];
  return /string/.test(expected) && (typeof value === "number" || typeof value === "boolean") ? String(value) : undefined;
}

function valueFixes({ details, message }, params) {
  // A long list is only in the details.
  const isLong = /must be one of \d+ values/.test(message) && Array.isArray(details.valid);
  const listed = isLong ? details.valid : /must be one of: (.+)$/.exec(message)?.[1].split(", ");
  const path = details.param_name ?? /Parameter '([^']+)'/.exec(message)?.[1];
  const value = lookUp(params, path);
  if (!listed || value === undefined) return [];
  return nearest(listed, String(value)).slice(0, 5).map((option) => ({ label: `Set ${path} to ${option}`, apply: put(path, option) }));
}

function operatorFixes({ details }, params) {
  const path = details.param_name;
  const valid = Array.isArray(details.valid) ? details.valid : [];
  const value = lookUp(params, path);
  if (valid.length === 0 || typeof value !== "object" || value === null) return [];
  const unknown = Object.keys(value).filter((name) => !valid.includes(name));
  return unknown.flatMap((wrong) => nearest(valid, wrong).slice(0, 2).map((right) => ({ label: `Replace ${wrong} with ${right}`, apply: (call) => put(path, rename(lookUp(call.params, path) ?? value, wrong, right))(call) })));
}

function lookUp(params, path) {
  if (typeof path !== "string") return undefined;
  const found = resolvePath(params, path.split("."));
  return found ? found.holder[found.name] : undefined;
}

/** Members may have dots in their names: the longest name that exists wins. */
function resolvePath(holder, parts) {
  if (typeof holder !== "object" || holder === null) return null;
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join(".");
    if (!Object.hasOwn(holder, name)) continue;
    if (length === parts.length) return { holder, name };
    const inner = resolvePath(holder[name], parts.slice(length));
    if (inner) return inner;
  }
  return null;
}

function put(path, value) {
  return (call) => {
    const params = structuredClone(call.params ?? {});
    const found = resolvePath(params, String(path).split("."));
    if (found) found.holder[found.name] = value;
    return { ...call, params };
  };
}

function nearest(options, word) {
  const distances = new Map(options.map((option) => [option, distance(option.toLowerCase(), word.toLowerCase())]));
  return [...options].sort((a, b) => distances.get(a) - distances.get(b));
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a.slice(0, 60)].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length && j < 60; j += 1) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(letter !== b[j - 1]));
    row = next;
  }
  return row.at(-1) ?? 99;
}
