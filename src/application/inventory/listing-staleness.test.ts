import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { createListingStaleness } from './engine-cache.ts';

const away = new ServiceError('engine-unreachable', 'Cannot list containers: it is away');

function start() {
  const clock = createFakeClock();
  let readings = 0;
  return { clock, readings: () => readings, ...createListingStaleness(clock, () => (readings += 1)) };
}

test('a stream that breaks has the engine listed; as long as that works the list is believed', async () => {
  const trust = start();
  trust.noteConnected();
  trust.noteBreak();
  expect(trust.readings()).toBe(1);
  expect(trust.failure()).toBeUndefined();
  trust.noteRead();
  await trust.clock.advance(60_000);
  expect(trust.failure()).toBeUndefined();
});

test('without stream and list it is not believed before it has been read again: a new stream has lost events', () => {
  const trust = start();
  trust.noteConnected();
  trust.noteBreak();
  trust.noteFailure(away);
  expect(trust.failure()).toBe(away);
  trust.noteConnected();
  expect(trust.failure()).toBe(away);
  trust.noteRead();
  expect(trust.failure()).toBeUndefined();
});

test('a list that fails while the stream lasts does not matter', () => {
  const trust = start();
  trust.noteConnected();
  trust.noteFailure(away);
  expect(trust.failure()).toBeUndefined();
});

test('an engine that says nothing at all is not believed for long', async () => {
  const trust = start();
  trust.noteConnected();
  trust.noteBreak();
  await trust.clock.advance(1900);
  trust.noteBreak();
  expect(trust.failure()).toBeUndefined();
  await trust.clock.advance(200);
  expect(trust.failure()).toMatchObject({ code: 'timeout' });
});

test('an engine that was never there is no engine', () => {
  const trust = start();
  trust.noteFailure(new Error('odd'));
  expect(trust.failure()).toMatchObject({ code: 'engine-unreachable' });
});
