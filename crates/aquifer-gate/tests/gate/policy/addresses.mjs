// Reads spellings of addresses as programs in Node.js do: one JSON object with "kind" and "text" a line, one list of readings a line.

import path from "node:path";
import { createInterface } from "node:readline";
import legacy from "node:url";

process.removeAllListeners("warning");

function hosts(text) {
  const found = [];
  for (const link of [text, `https://${text}`, `https:${text}`]) {
    try {
      found.push(new URL(link, "https://base.example/").hostname);
    } catch {
      // Not a link to this program.
    }
    try {
      found.push(legacy.parse(link, false, true).hostname);
    } catch {
      // Not a link to this one.
    }
  }
  return found.filter((host) => host !== "base.example" && host !== "https" && host !== "http");
}

const readers = {
  host: hosts,
  path_under: (text) => [path.posix.resolve("/srv/files", text), path.win32.resolve("/srv/files", text).replaceAll("\\", "/").replace(/^[A-Za-z]:/, "")],
  amount: (text) => [Number(text), Number.parseFloat(text)].filter(Number.isFinite).map((number) => String(Math.abs(number))),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { kind, text } = JSON.parse(line);
  console.log(JSON.stringify([...new Set((readers[kind]?.(text) ?? []).filter(Boolean))]));
}
