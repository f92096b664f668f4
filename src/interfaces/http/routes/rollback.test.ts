import { expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { startHttp } from '../../../../test/support/http/http-scene.ts';
import { createScriptedService } from '../../../../test/support/http/scripted-service.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

test('a refused rollback is answered with 408 where the containers are not listed in time', async () => {
  const clock = createFakeClock();
  let isAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (isAsked = resolve));
  const service = {
    ...createScriptedService(),
    rollBack: () => Promise.reject(new ServiceError('not-found', 'Cannot roll back "web": it has not been updated')),
    containerNames: (signal?: AbortSignal) =>
      new Promise<readonly string[]>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
        isAsked();
      }),
  };
  const { ask, stop, lines } = await startHttp(service, { clock });
  onTestFinished(stop);
  const replied = ask('/v1/rollback?container=web', { method: 'POST' });
  await asked;
  await clock.advance(10_000);
  const reply = await replied;
  expect([reply.status, reply.json().error]).toEqual([408, 'the containers were not listed in time']);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});
