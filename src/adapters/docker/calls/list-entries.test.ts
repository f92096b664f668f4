import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCodePoint } from '../../../../test/support/any-text.ts';
import { createListEntries, type ListEntry } from './lists.ts';

function read(text: string, { sizes = [7], limit = 1_000_000 } = {}): ListEntry[] {
  const bytes = Buffer.from(text);
  const list = createListEntries(limit);
  const found: ListEntry[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    found.push(...list.push(bytes.subarray(at, at + size)));
    at += size;
  }
  list.end();
  return found;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
const anyEntry = fc.jsonValue({ stringUnit: anyCodePoint });

describe('createListEntries()', () => {
  test('gives the entries of any list, however it is written and cut', () => {
    const written = fc.tuple(fc.array(anyEntry, { maxLength: 12 }), fc.constantFrom(undefined, '\t', 2));
    fc.assert(
      fc.property(written, sizes, ([entries, space], cuts) => {
        const found = read(` ${JSON.stringify(entries, null, space)}\r\n`, { sizes: cuts });
        expect(found.map((entry) => entry.kind === 'whole' && entry.value)).toEqual(
          JSON.parse(JSON.stringify(entries)),
        );
      }),
    );
  });

  test('of one that is too large it gives the fields before the large one, and the others whole', () => {
    const quotes = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', 'é'), minLength: 600 });
    fc.assert(
      fc.property(fc.nat({ max: 4 }), quotes, sizes, (place, Labels, cuts) => {
        const entries: object[] = Array.from({ length: 4 }, (_, Id) => ({ Id }));
        entries.splice(place, 0, { Id: 'large', Names: ['/a,b', '/"}'], Labels: { x: Labels }, State: 'running' });
        const found = read(JSON.stringify(entries), { sizes: cuts, limit: 500 });
        expect(found[place]).toEqual({ kind: 'large', beginning: { Id: 'large', Names: ['/a,b', '/"}'] } });
        const others = found.toSpliced(place, 1).map((entry) => entry.kind === 'whole' && entry.value);
        expect(others).toEqual([{ Id: 0 }, { Id: 1 }, { Id: 2 }, { Id: 3 }]);
      }),
    );
  });

  test('an entry of the very limit is whole, and what has no readable beginning has none', () => {
    const entry = JSON.stringify({ a: 'x'.repeat(92) });
    expect(read(`[${entry}]`, { limit: 100 })).toEqual([{ kind: 'whole', value: JSON.parse(entry), bytes: 100 }]);
    expect(read(`[${entry}]`, { limit: 99 })).toEqual([{ kind: 'large', beginning: {} }]);
    expect(read(`["${'x'.repeat(200)}"]`, { limit: 99 })).toEqual([{ kind: 'large', beginning: {} }]);
  });

  test.each(['', '{}', '7', '[', '[1', '[1,', '[1,]', '[,1]', '[1 2]', '[{]', '[}]', '["]', '[]]', '[] x', '[tru]'])(
    '%j is no list',
    (text) => {
      expect(() => read(text)).toThrow(SyntaxError);
    },
  );

  test('an empty list has no entries', () => {
    expect([...read('[]'), ...read(' [ \n] ')]).toEqual([]);
  });
});
