import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCodePoint } from '../../../../test/support/any-text.ts';
import { jsonLines, longLine } from './answer.ts';

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function read(
  text: string | Uint8Array,
  { sizes = [7], limit = 1_000, passesLongLines = false } = {},
): Promise<unknown[]> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const values: unknown[] = [];
  for await (const value of jsonLines(inPieces(bytes, sizes), { limitBytes: limit, passesLongLines }))
    values.push(value);
  return values;
}

describe('jsonLines()', () => {
  test('gives the same values however the stream is cut, through characters too', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    const values = fc.array(fc.jsonValue({ stringUnit: anyCodePoint }), { maxLength: 20 });
    const ends = fc.constantFrom('\n', '\r\n', '\n\n');
    await fc.assert(
      fc.asyncProperty(values, sizes, ends, fc.boolean(), async (written, sizes, end, closed) => {
        const text = written.map((value) => JSON.stringify(value)).join(end) + (closed ? end : '');
        expect(await read(text, { sizes, limit: 1_000_000 })).toEqual(JSON.parse(JSON.stringify(written)));
      }),
    );
  });

  test('hands a value on as soon as its line has ended', async () => {
    let later = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"first":1}\n{"sec');
      later = true;
      yield Buffer.from('ond":2}\n');
    }
    const lines = jsonLines(source());
    expect(await lines.next()).toEqual({ done: false, value: { first: 1 } });
    expect(later).toBe(false);
    expect(await lines.next()).toEqual({ done: false, value: { second: 2 } });
  });

  test('refuses a line that is too long, ended or not, and keeps no more than that of it', async () => {
    const line = JSON.stringify('x'.repeat(98));
    expect(await read(`${line}\n${line}\n`, { limit: 100 })).toHaveLength(2);
    await expect(read(`${line}\n`, { limit: 99 })).rejects.toMatchObject({ code: 'engine-refused' });
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(64, 'x');
    }
    await expect(jsonLines(endless(), { limitBytes: 1_000 }).next()).rejects.toThrow('longer than 1000 bytes');
  });

  test('passes over a line that is too long where that is wanted, and goes on behind it', async () => {
    const long = JSON.stringify('x'.repeat(98));
    for (const sizes of [[7], [1_000], [99, 1]])
      expect(await read(`1\n${long}\n2\n${long}`, { sizes, limit: 99, passesLongLines: true })).toEqual([
        1,
        longLine,
        2,
        longLine,
      ]);
  });

  test('refuses what is no JSON', async () => {
    await expect(read('{"a":1}\n<html>\n')).rejects.toMatchObject({ code: 'engine-refused' });
    await expect(read('{"a":')).rejects.toMatchObject({ code: 'engine-refused' });
  });
});
