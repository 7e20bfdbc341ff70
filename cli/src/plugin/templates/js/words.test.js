// What needs no host is tested like any other JavaScript: npm test

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { count } from './words.js';

test('words are counted', () => {
  assert.equal(count(''), 0);
  assert.equal(count('two  words\n'), 2);
});
