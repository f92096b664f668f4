import type { Engine } from '../../src/domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import type { Container } from '../../src/domain/container/container.ts';
import { restart, setStage } from './rig/stage.ts';

/** Creation and stop of containers. */

describe('making and stopping', () => {
  test('pitfall 18: what was read of a container is never changed, so that a second attempt begins from the truth', async () => {
    const body = {
      ExposedPorts: { '80/tcp': {} },
      Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 },
      HostConfig: { ...restart('always'), PortBindings: { '80/tcp': [{ HostPort: '8080' }] }, Binds: ['data:/data'] },
    };
    const stage = await setStage({ web: { body } });
    let starts = 0;
    const outside = ({ engine }: { readonly engine: Engine }) => ({ engine: withFrozenAnswers(engine) });
    const first = await stage.update({
      outside,
      faults: [
        {
          at: ({ kind }) => kind === 'startContainer' && (starts += 1) === 1,
          fault: { kind: 'refuse', status: 500, message: 'out of memory' },
        },
      ],
    });
    expect(first.outcomes).toEqual({ web: 'rolled_back' });
    const { Config, HostConfig, Mounts } = stage.before.get('web')!.settings;
    expect(stage.now('web').settings).toMatchObject({ Config, HostConfig, Mounts });
    const second = await stage.update({ outside });
    expect(second.outcomes).toEqual({ web: 'updated' });
    const { ExposedPorts, Healthcheck } = stage.now('web').settings.Config;
    expect({ ExposedPorts, Healthcheck }).toEqual({ ExposedPorts: body.ExposedPorts, Healthcheck: body.Healthcheck });
    expect(stage.now('web').settings.HostConfig).toEqual(HostConfig);
    expect(stage.harm()).toEqual([]);
  });

  test.each([
    ['in its configuration', { StopTimeout: -1 }],
    ['by label', { Labels: { 'upkeep.stop-timeout': '5m' } }],
  ])(
    'pitfall 19: a container asks %s to be waited for longer than the default: it is not killed',
    async (_how, body) => {
      const patient = { behaviour: { stopMs: 240_000, stopExitCode: 0 } };
      const stage = await setStage({ web: { body, old: patient } });
      const ends: string[] = [];
      const stop = new AbortController();
      void (async () => {
        for await (const event of stage.scene.sandbox.engine.events(stop.signal))
          if (event.kind === 'container' && event.action === 'die') ends.push(event.attributes['exitCode'] ?? '');
      })();
      const { outcomes } = await stage.update();
      stop.abort();
      expect(outcomes).toEqual({ web: 'updated' });
      expect(ends).toEqual(['0']);
      expect(stage.harm()).toEqual([]);
    },
  );
});

function withFrozenAnswers(engine: Engine): Engine {
  const inspectContainer: Engine['inspectContainer'] = async (id, signal) => {
    const container = await engine.inspectContainer(id, signal);
    return container === undefined ? undefined : (freeze(structuredClone(container)) as Container);
  };
  return { ...engine, inspectContainer };
}

/** Modules are in strict mode: writing to a frozen object throws a `TypeError`. */
function freeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) freeze(part);
    Object.freeze(value);
  }
  return value;
}
