// Differences of texts, and places in a diagram.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeat } from './random.mjs';
import { diffLines, splitLines } from '/parts/line_diff.js';
import { layoutGraph } from '/parts/layout.js';

test('the hunks of a difference are both texts', () => {
  repeat(2000, (random) => {
    const list = () => Array.from({ length: random(12) }, () => 'abcd'[random(4)]);
    const [before, after] = [list(), list()];
    const hunks = diffLines(before, after);
    assert.deepEqual(hunks.flatMap(({ same, removed }) => same ?? removed), before);
    assert.deepEqual(hunks.flatMap(({ same, added }) => same ?? added), after);
  });
  assert.deepEqual(diffLines(['a', 'b', 'c'], ['a', 'x', 'c']), [{ same: ['a'] }, { removed: ['b'], added: ['x'] }, { same: ['c'] }]);
});

test('no character is cut in half', () => {
  assert.deepEqual(splitLines('a😀c', 'a😁c'), [['a', '😀', 'c'], ['a', '😁', 'c']]);
  assert.deepEqual(splitLines('aa', 'aaa'), [['aa', '', ''], ['aa', 'a', '']]);
});

test('the boxes of a diagram do not cover each other', () => {
  repeat(300, (random) => {
    const nodes = Array.from({ length: 1 + random(20) }, (_, id) => ({ id, width: 40 + random(200), height: 20 + random(100) }));
    const edges = Array.from({ length: random(30) }, () => ({ from: random(nodes.length), to: random(nodes.length) }));
    const { places, width, height } = layoutGraph(nodes, edges);
    const boxes = nodes.map(({ id }) => places.get(id));
    for (const [index, box] of boxes.entries()) {
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, JSON.stringify(box));
      for (const other of boxes.slice(index + 1)) {
        const isApart = box.x + box.width <= other.x || other.x + other.width <= box.x || box.y + box.height <= other.y || other.y + other.height <= box.y;
        assert.ok(isApart, `${JSON.stringify(box)} and ${JSON.stringify(other)}`);
      }
    }
  });
});
