import { expect, test } from 'vitest';
import { containerParameters } from './client.ts';

const on = (engine: string, ownName: string) => ({ engine, ownName });

test('one engine is one request, and is not named', () => {
  expect(containerParameters([on('', 'web'), on('', 'db')])).toEqual(['&container=web&container=db']);
});

test('containers of several engines are asked for one by one engine: the same name is on another, too', () => {
  expect(containerParameters([on('nas', 'web'), on('pi', 'db'), on('nas', 'db')])).toEqual([
    '&engine=nas&container=web&container=db',
    '&engine=pi&container=db',
  ]);
});

test('a name is no pattern, and no other parameter', () => {
  expect(containerParameters([on('a&b', 'web.1')])).toEqual([String.raw`&engine=a%26b&container=web%5C.1`]);
});
