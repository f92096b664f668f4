import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutations } from './faults/mutations.mjs';

test.each(mutations)('the rule that a mutation removes is in the code: $name', ({ file, find }) => {
  expect(readFileSync(file, 'utf8').split(find)).toHaveLength(2);
});
