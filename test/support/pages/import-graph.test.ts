import { describe, expect, test } from 'vitest';
import { importGraphOf } from './import-graph.ts';

describe('importGraphOf()', () => {
  const loading = (path: string, ...imports: readonly string[]) => ({ path, imports, loads: imports });

  test('names a circle of files once', () => {
    const { circles } = importGraphOf([
      loading('a/x.ts', 'a/y.ts', 'node:fs'),
      loading('a/y.ts', 'a/z.ts'),
      loading('a/z.ts', 'a/x.ts'),
    ]);
    expect(circles).toEqual(['a/x.ts → a/y.ts → a/z.ts → a/x.ts']);
  });

  test('names a circle of folders whose files have none, by types too', () => {
    const { circles } = importGraphOf([
      { path: 'a/x.ts', imports: ['b/x.ts'], loads: [] },
      loading('b/x.ts'),
      loading('b/y.ts', 'a/x.ts'),
    ]);
    expect(circles).toEqual(['a → b → a']);
  });

  test('a folder and a folder in it are two', () => {
    const { circles } = importGraphOf([
      loading('a/x.ts', 'a/b/x.ts'),
      loading('a/b/x.ts'),
      loading('a/b/y.ts', 'a/x.ts'),
    ]);
    expect(circles).toEqual(['a → a/b → a']);
  });

  test('neighbours in a folder may use the types of each other', () => {
    const { circles } = importGraphOf([
      { path: 'a/x.ts', imports: ['a/y.ts'], loads: [] },
      loading('a/y.ts', 'a/x.ts'),
    ]);
    expect(circles).toEqual([]);
  });

  test('lists the modules that import a module', () => {
    const { importers } = importGraphOf([loading('a.ts', 'c.ts'), loading('b.ts', 'c.ts'), loading('c.ts', 'node:fs')]);
    expect([...(importers.get('c.ts') ?? [])]).toEqual(['a.ts', 'b.ts']);
  });
});
