// Reading JSON Schemas: references, choices, first values.

const MAX_STEPS = 16;

/** Follows `$ref` inside `root` and merges `allOf`. Members next to a `$ref` win. */
export function resolve(schema, root, steps = 0) {
  if (schema === true || typeof schema !== "object" || schema === null) return {};
  if (steps > MAX_STEPS) return {};
  if (typeof schema.$ref === "string") {
    const { $ref, ...rest } = schema;
    return { ...resolve(lookUp($ref, root), root, steps + 1), ...rest };
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema;
    return allOf.map((part) => resolve(part, root, steps + 1)).reduce(merge, resolve(rest, root, steps + 1));
  }
  return schema;
}

function lookUp(reference, root) {
  if (!reference.startsWith("#")) return {};
  const names = reference.slice(1).split("/").filter(Boolean).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.reduce((found, name) => (Object.hasOwn(found ?? {}, name) ? found[name] : undefined), root) ?? {};
}

function merge(one, other) {
  const merged = { ...other, ...one };
  if (one.properties || other.properties) merged.properties = { ...other.properties, ...one.properties };
  if (one.required || other.required) merged.required = [...new Set([...(other.required ?? []), ...(one.required ?? [])])];
  return merged;
}

/** Splits a schema into whether it allows null, and its other choices. */
export function choices(schema, root) {
  const listed = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(listed)) {
    const { oneOf, anyOf, ...rest } = schema;
    const all = listed.map((choice) => merge(resolve(choice, root), rest));
    return { nullable: all.some(isNull), options: all.filter((choice) => !isNull(choice)) };
  }
  if (Array.isArray(schema.type)) {
    const options = schema.type.filter((type) => type !== "null").map((type) => ({ ...schema, type }));
    return { nullable: schema.type.includes("null"), options };
  }
  return { nullable: schema.nullable === true, options: isAny(schema) ? ANY : [schema] };
}

const isNull = (schema) => schema.type === "null" || schema.const === null;

const isAny = (schema) => !schema.type && !schema.enum && !Object.hasOwn(schema, "const") && !schema.properties && !schema.items;

const ANY = [{ type: "string" }, { type: "number" }, { type: "boolean" }, { type: "raw", title: "JSON" }];

/** The kind of field that edits a schema without choices. */
export function kindOf(schema) {
  if (Object.hasOwn(schema, "const")) return "const";
  if (Array.isArray(schema.enum)) return "enum";
  if (schema.type === "string") return { date: "date", "date-time": "time" }[schema.format] ?? "string";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "boolean") return "boolean";
  if (schema.type === "array" || schema.items) return schema.items ? "array" : "raw";
  if (schema.properties && Object.keys(schema.properties).length > 0) return "object";
  return "raw";
}

/** Whether `value` could be meant for `schema`; good enough to choose between choices. */
export function fits(schema, value) {
  if (Object.hasOwn(schema, "const")) return schema.const === value;
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  switch (schema.type) {
    case "string": return typeof value === "string";
    case "integer": case "number": return typeof value === "number";
    case "boolean": return typeof value === "boolean";
    case "array": return Array.isArray(value);
    case "raw": return typeof value === "object";
    default: return fitsObject(schema, value);
  }
}

function fitsObject(schema, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const known = (schema.required ?? []).every((name) => Object.hasOwn(value, name));
  return known && Object.entries(schema.properties ?? {}).every(([name, part]) => !Object.hasOwn(part ?? {}, "const") || part.const === value[name]);
}

/** A first value for a required field: its default, its only value, or something empty of its type. */
export function firstValue(schema, root, depth = 0) {
  const resolved = resolve(schema, root);
  if (Object.hasOwn(resolved, "default")) return resolved.default;
  if (Object.hasOwn(resolved, "const")) return resolved.const;
  if (Array.isArray(resolved.enum)) return resolved.enum[0];
  const { options, nullable } = choices(resolved, root);
  const option = options[0] ?? {};
  if (options.length === 0) return nullable ? null : {};
  switch (kindOf(option)) {
    case "const": return option.const;
    case "enum": return option.enum[0];
    case "number": return option.minimum ?? 0;
    case "boolean": return false;
    case "array": return [];
    case "object": return firstObject(option, root, depth);
    case "raw": return option.type === "array" ? [] : {};
    case "date": return new Date().toISOString().slice(0, 10);
    case "time": return `${new Date().toISOString().slice(0, 19)}Z`;
    default: return "";
  }
}

function firstObject(schema, root, depth) {
  const value = {};
  if (depth > 4) return value;
  for (const name of schema.required ?? []) value[name] = firstValue(schema.properties?.[name], root, depth + 1);
  return value;
}

/** A short name of a type for people: "integer", "list of text", "one of 3". */
export function typeName(schema, root, depth = 0) {
  const { options, nullable } = choices(resolve(schema, root), root);
  const names = [...new Set(options.map((option) => optionName(option, root, depth)))];
  return `${names.slice(0, 4).join(" or ") || "null"}${nullable ? ", or null" : ""}`;
}

function optionName(option, root, depth) {
  if (option.title && option.type !== "raw") return option.title;
  switch (kindOf(option)) {
    case "const": return JSON.stringify(option.const);
    case "enum": return option.enum.length > 6 ? `one of ${option.enum.length}` : option.enum.map(String).join(" | ");
    case "number": return option.type;
    case "boolean": return "true | false";
    case "string": return option.format ?? "text";
    case "time": return "date and time";
    case "array": return depth > 2 ? "list" : `list of ${typeName(option.items, root, depth + 1)}`;
    case "raw": return { array: "list", object: "object" }[option.type] ?? "JSON";
    default: return kindOf(option);
  }
}
