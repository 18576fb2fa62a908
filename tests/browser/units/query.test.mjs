// Filters, sort criteria and aggregates as lists that a form edits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromAggregates, fromCriteria, toAggregates, toCriteria } from '/lib/sorting.js';
import { toFilter, toTree, typedValue } from '/lib/filter.js';

test('a filter that nobody edits stays as it is', () => {
  for (const filter of [
    { name: 'x' },
    { total: { gte: 1, lt: 9 } },
    { or: [{ a: 1 }, { b: { contains: 'x' } }] },
    { not: { a: { in: [1, 2] } } },
    { and: [{ a: { gt: 1 } }, { a: { gt: 2 } }] },
    { a: { unknown_operator: 1 } },
    { or: [{ a: 1, b: 2 }, { not: { c: 'x' } }] },
  ]) {
    assert.deepEqual(toFilter(toTree(filter)), filter);
  }
  assert.equal(toFilter(toTree(undefined)), undefined);
  assert.deepEqual(toFilter(toTree({ a: null, b: [1] })), { a: { is_null: true }, b: { in: [1] } });
});

test('typed text becomes a value of the type', () => {
  for (const [typed, type, value] of [
    ['12', 'integer', 12],
    ['1.50', 'decimal', 1.5],
    ['12345678901234567890', 'integer', '12345678901234567890'],
    ['x', 'integer', 'x'],
    [' a ', 'string', ' a '],
    ['true', 'boolean', true],
    ['[1]', 'json', [1]],
    ['{"gt": 1}', 'integer', { gt: 1 }],
  ]) {
    assert.deepEqual(typedValue(typed, type), value, `${typed} as ${type}`);
  }
});

test('sort criteria and aggregates that nobody edits stay as they are', () => {
  for (const sort of [undefined, { field: 'a' }, { field: 'a', order: 'desc', nulls: 'last' }, [{ field: 'a' }, { field: 'b', order: 'desc' }]]) {
    assert.deepEqual(fromCriteria(toCriteria(sort)), sort);
  }
  assert.deepEqual(fromCriteria(toCriteria('-a')), { field: 'a', order: 'desc' });
  for (const aggregate of [
    undefined,
    { n: { count: true } },
    { sums: { sum: 'total', avg: 'total', group_by: 'status' } },
    { months: { count: true, group_by: [{ field: 'at', by: 'month' }, 'status'], having: { count: { gt: 1 } } } },
  ]) {
    assert.deepEqual(fromAggregates(toAggregates(aggregate)), aggregate);
  }
});
