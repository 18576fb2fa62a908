// Parsing JSON: where it is wrong, and in which order its members are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeat } from './random.mjs';
import { parseInOrder, stringifyInOrder } from '/lib/key_order.js';
import { parseJson } from '/lib/json_text.js';

test('errors have a place', () => {
  for (const [text, line, column] of [
    ['', 1, 1],
    ['{"a": }', 1, 7],
    ['{"a": 1,\n "b" 2}', 2, 6],
    ['[1, 2,]', 1, 6],
    ["{'a': 1}", 1, 2],
    ['{"a": "x\ny"}', 1, 7],
    ['[1] 2', 1, 5],
    ['[1', 1, 3],
  ]) {
    const { error } = parseJson(text);
    assert.deepEqual([error.line, error.column], [line, column], `${JSON.stringify(text)}: ${error.message}`);
  }
});

test('what JSON.parse refuses has a place within the text', () => {
  const parts = ['{', '}', '[', ']', ',', ':', '"a"', '"', '1', '-', '1.5', 'true', 'nul', ' ', '\n', '\\u00e9', "'"];
  repeat(5000, (random) => {
    const text = Array.from({ length: random(8) }, () => parts[random(parts.length)]).join('');
    const { value, error } = parseJson(text);
    let expected;
    try {
      expected = { value: JSON.parse(text) };
    } catch {
      assert.ok(error && error.index <= text.length && error.line >= 1 && error.column >= 1, text);
    }
    if (expected) assert.deepEqual({ value }, expected, text);
  });
});

test('members keep the order of the answer', () => {
  for (const text of ['{"10":1,"9":2,"a":3}', '[{"b":{"2":[],"1":null}}]', '{"a":1}', '{"01":1,"1":2}', '7']) {
    assert.equal(stringifyInOrder(parseInOrder(text)), text);
  }
  // Invisible characters of the answer stay.
  const hidden = [JSON.parse('{"2":"\\u20631","\\u2063":1}'), parseInOrder('{"2":"\\u20631"}')];
  for (const value of hidden) assert.deepEqual(JSON.parse(stringifyInOrder([value, parseInOrder('{"9":1,"1":2}')])), [value, { 9: 1, 1: 2 }]);
});
