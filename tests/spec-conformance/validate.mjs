// Validates answers of introspection, one JSON value in a line of standard input, against the published schema.
// Usage: PACKAGES=DIR node validate.mjs SCHEMA.json < ANSWERS

import fs from "node:fs";
import { createRequire } from "node:module";

const required = createRequire(`${process.env.PACKAGES}/x.js`);
const Ajv = required("ajv/dist/2020").default;
const formats = required("ajv-formats");

const ajv = new Ajv({ strict: false, allErrors: true });
(formats.default ?? formats)(ajv);
const validate = ajv.compile(JSON.parse(fs.readFileSync(process.argv[2], "utf8")));

const answers = fs.readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
let invalid = 0;
for (const answer of answers) {
  if (validate(answer)) continue;
  invalid += 1;
  if (invalid <= 5) {
    const name = answer.data?.operation?.name ?? answer.data?.type?.name ?? "a list";
    console.log(`${name}: ${ajv.errorsText(validate.errors.slice(0, 3))}`);
  }
}
console.log(`${answers.length - invalid} of ${answers.length} answers of introspection are valid`);
process.exit(invalid > 0 || answers.length === 0 ? 1 : 0);
