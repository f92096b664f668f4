import type { Prober } from '../../src/domain/outside/outside.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The listener: HTTP with a status, or a silent connection. */
export type ProbedPort = 'ok' | 'redirecting' | 'failing' | 'silent' | 'closed';

export type ProberFixture = {
  readonly prober: Prober;
  readonly address: string;
  readonly ports: Readonly<Record<ProbedPort, number>>;
  /** An unused address. */
  readonly nowhere: string;
  readonly close: () => Promise<void>;
};

/** Contract of every `Prober`. */
export function proberContract(name: string, setup: () => Promise<ProberFixture>): void {
  describe(`${name} is a Prober`, () => {
    let fixture: ProberFixture;
    beforeAll(async () => {
      fixture = await setup();
    });
    afterAll(() => fixture?.close());

    const ask = (port: ProbedPort, path?: string, signal?: AbortSignal) => {
      const { address, ports } = fixture;
      const question = { address, port: ports[port], timeoutMs: 300.5 };
      return fixture.prober.probe(path === undefined ? question : { ...question, path }, signal);
    };

    test.each([
      ['ok', 200],
      ['redirecting', 302],
      ['failing', 503],
    ] as const)('reports the status of one that is %s', async (port, status) => {
      expect(await ask(port, '/healthz?deep=1')).toEqual({ kind: 'status', status });
    });

    test.each(['ok', 'silent'] as const)('finds that one that is %s accepts a connection', async (port) => {
      expect(await ask(port)).toEqual({ kind: 'accepted' });
    });

    test('waits for an answer no longer than it is told', async () => {
      expect(await ask('silent', '/')).toEqual({ kind: 'silent', reason: 'there was no answer in time' });
    });

    test.each([undefined, '/'])('tells that nobody listens, path %j', async (path) => {
      expect(await ask('closed', path)).toEqual({ kind: 'silent', reason: expect.stringContaining('ECONNREFUSED') });
    });

    test('tells that an address leads nowhere', async () => {
      const question = { address: fixture.nowhere, port: 80, timeoutMs: 300.5 };
      expect(await fixture.prober.probe(question)).toMatchObject({ kind: 'silent' });
    });

    test('throws the reason of an abort, before and during the wait', async () => {
      const reason = new Error('enough');
      await expect(ask('ok', '/', AbortSignal.abort(reason))).rejects.toBe(reason);
      const leaving = new AbortController();
      const asked = ask('silent', '/', leaving.signal);
      leaving.abort(reason);
      await expect(asked).rejects.toBe(reason);
    });
  });
}
