// The words of the explorer, each in one sentence.
import { h } from "/lib/dom.js";

const WORDS = {
  safe: "Changes nothing.",
  reversible: "Changes something in a way that can be undone.",
  destructive: "Removes or overwrites something for good.",
  dangerous: "Affects much at once, or bypasses a safety check.",
  forbidden: "Must not be run by an agent.",
  CREATE: "Adds something new.",
  READ: "Returns data and changes nothing.",
  UPDATE: "Changes something that exists.",
  DELETE: "Removes something.",
  EXECUTE: "Runs a job or a tool with effects of its own.",
  runs: "The call runs at once.",
  "asks first": "The agent has to confirm the call before it runs.",
  "needs approval": "A person approves the call here before it runs.",
  denied: "Agents cannot call it.",
  gate: "Decides about every call: run, ask, or refuse.",
  quarantine: "The tool is new or has changed. Agents cannot call it until a person has reviewed it.",
  pinned: "The definition that a person accepted. A tool that differs from it does not run.",
};

/** What a word means, for a tooltip. */
export const meaning = (word) => WORDS[word];

/** A fold that explains words. */
export const glossary = (...words) => h("details", { class: "glossary" }, h("summary", {}, "What the words mean"),
  h("dl", { class: "facts" }, words.filter((word) => WORDS[word]).map((word) => [h("dt", {}, word), h("dd", {}, WORDS[word])])));

export const DANGERS = ["safe", "reversible", "destructive", "dangerous", "forbidden"];
export const CATEGORIES = ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"];
export const DECISIONS = ["runs", "asks first", "needs approval", "denied"];
