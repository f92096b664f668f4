import { describe, expect, test } from 'vitest';
import { importGraphOf } from './import-graph.ts';

describe('importGraphOf()', () => {
  test('counts the modules of each folder, not those of folders in it', () => {
    const { rooms } = importGraphOf(['a/x.ts', 'a/y.ts', 'a/b/z.ts'].map((path) => ({ path, imports: [] })));
    expect([...rooms]).toEqual([
      ['a', 2],
      ['a/b', 1],
    ]);
  });

  test('names a circle of files once', () => {
    const { circles } = importGraphOf([
      { path: 'a/x.ts', imports: ['a/y.ts', 'node:fs'] },
      { path: 'a/y.ts', imports: ['a/z.ts'] },
      { path: 'a/z.ts', imports: ['a/x.ts'] },
    ]);
    expect(circles).toEqual(['a/x.ts → a/y.ts → a/z.ts → a/x.ts']);
  });

  test('names a circle of rooms whose files have none', () => {
    const { circles } = importGraphOf([
      { path: 'a/x.ts', imports: ['b/x.ts'] },
      { path: 'b/x.ts', imports: [] },
      { path: 'b/y.ts', imports: ['a/x.ts'] },
    ]);
    expect(circles).toEqual(['a → b → a']);
  });

  test('a folder and a folder in it are two rooms', () => {
    const { circles } = importGraphOf([
      { path: 'a/x.ts', imports: ['a/b/x.ts'] },
      { path: 'a/b/x.ts', imports: [] },
      { path: 'a/b/y.ts', imports: ['a/x.ts'] },
    ]);
    expect(circles).toEqual(['a → a/b → a']);
  });
});
