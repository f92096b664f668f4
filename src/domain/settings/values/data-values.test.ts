import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { kinds, printValue } from './label-values.ts';

describe('dataChoice', () => {
  test.each([
    ['none', { kind: 'none' }],
    ['VOLUMES', { kind: 'volumes' }],
    ['/data', { kind: 'paths', paths: ['/data'] }],
    ['/data/, /a b/c ,,/data', { kind: 'paths', paths: ['/data', '/a b/c'] }],
    ['/..a/.b/c..', { kind: 'paths', paths: ['/..a/.b/c..'] }],
  ])('reads %j', (text, expected) => {
    expect(kinds.dataChoice.parse(text)).toEqual(expected);
  });

  test.each([
    ['all'],
    ['data'],
    ['/'],
    [','],
    [''],
    ['/data,config'],
    ['/data/../etc'],
    ['/..'],
    ['/a/./b'],
    ['//data'],
    ['/a//b'],
    ['/a\nb'],
    ['/a\0'],
    [Array.from({ length: 51 }, (_, at) => `/d${at}`).join(',')],
  ])('refuses %j', (text) => {
    expect(kinds.dataChoice.parse(text)).toBeUndefined();
  });

  test('reads what it prints, and never a path with ".." from any text', () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), fc.stringMatching(/^\/[./a,]{0,20}$/)), (text) => {
        const choice = kinds.dataChoice.parse(text);
        if (choice === undefined) return;
        expect(kinds.dataChoice.parse(printValue(kinds.dataChoice, choice))).toEqual(choice);
        if (choice.kind === 'paths') for (const path of choice.paths) expect(path.split('/')).not.toContain('..');
      }),
    );
  });
});

describe('byteSize', () => {
  test.each([
    ['10GB', 10e9, '10GB'],
    ['1.5 tib', 1_649_267_441_664, '1.5TiB'],
    ['500kB', 500_000, '500kB'],
    ['2048KiB', 2_097_152, '2MiB'],
    ['1.234567GB', 1_234_567_000, '1234567kB'],
  ])('reads %j', (text, bytes, printed) => {
    expect(kinds.byteSize.parse(text)).toBe(bytes);
    expect(printValue(kinds.byteSize, bytes)).toBe(printed);
    expect(kinds.byteSize.parse(printed)).toBe(bytes);
  });

  test.each([['10'], ['0GB'], ['-1GB'], ['GB'], ['1e3MB'], ['1 G'], ['1,5GB'], ['9999999999GB'], ['']])(
    'refuses %j',
    (text) => {
      expect(kinds.byteSize.parse(text)).toBeUndefined();
    },
  );
});
