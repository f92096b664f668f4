import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';
import { setRealStage } from './rig/real-stage.ts';

/** It waits 4 s at most, as the tests of the health check show; a busy machine needs more for the steps beside it. */
const endsWithinMs = 30_000;

/** The shipped executable or the engine is killed during an update. */
describeInLab('in the middle of an update of many', (lab) => {
  afterEach(() => lab.engine.clear());
  /** Takes three seconds to stop. */
  const deaf = { old: catalogue.deaf, config: { StopTimeout: 3, HostConfig: { RestartPolicy: { Name: 'always' } } } };
  const many = { one: {}, two: {}, three: {}, four: {}, five: {} };

  test.each([
    ['the second stop', '/stop', 2, 'during'],
    ['the third start', '/start', 3, 'after'],
    ['the fourth rename', '/rename', 4, 'after'],
  ] as const)(
    'failure 19: the process is killed at %s: the next start has all of them, running',
    async (_what, path, which, when) => {
      const stage = await setRealStage(lab, many);
      let met = 0;
      const { code } = await stage.update({
        arm: (proxy, child) =>
          proxy.arm({
            at: (call) => call.change !== undefined && call.path.includes(path) && (met += 1) === which,
            fault: { kind: 'kill', when, kill: () => void child.kill('SIGKILL') },
          }),
      });
      expect(code).toBe(null);
      const next = await stage.startAgain();
      expect(await stage.harm(), next.stderr).toEqual([]);
    },
  );

  test('failure 22: SIGTERM while a container is stopped: that one is finished, the others are not begun', async () => {
    const stage = await setRealStage(lab, { one: deaf, two: deaf, three: deaf });
    let toldAtMs = 0;
    const { code, outcomes } = await stage.update({
      args: ['--rolling-restart'],
      arm: (proxy, child) =>
        void proxy
          .arrival(({ path, change }) => change !== undefined && path.includes('/stop'))
          .then(() => {
            toldAtMs = performance.now();
            child.kill('SIGTERM');
          }),
    });
    expect(performance.now() - toldAtMs).toBeLessThan(endsWithinMs);
    expect(code).toBe(143);
    expect(Object.values(outcomes).toSorted()).toEqual(['skipped', 'skipped', 'updated']);
    expect(await stage.harm()).toEqual([]);
  });

  test('failure 22: SIGTERM while a container is stopped, and SIGKILL before it ends: the next start has it running', async () => {
    const stage = await setRealStage(lab, { web: deaf, other: {} });
    const { code } = await stage.update({
      args: ['web'],
      arm: (proxy, child) =>
        void proxy
          .arrival(({ path, change }) => change !== undefined && path.includes('/stop'))
          .then(async () => {
            child.kill('SIGTERM');
            await sleep(500);
            child.kill('SIGKILL');
          }),
    });
    expect(code).toBe(null);
    await stage.startAgain();
    expect(await stage.harm()).toEqual([]);
  });

  test.each([
    ['is healthy, which the next start commits', {}, [], true],
    ['is sick, which the next start undoes', { next: catalogue.sick }, [], false],
    ['runs beside the old one', {}, ['--start-first'], true],
  ] as const)(
    'failure 22: SIGTERM while the new version proves itself for ten minutes: it ends at once, and the version %s',
    async (_, cast, args, isReplaced) => {
      const stage = await setRealStage(lab, { web: cast, other: {} });
      let toldAtMs = 0;
      const { code, outcomes, reasons, stderr } = await stage.update({
        args: ['--health-window', '10m', '--rolling-restart', ...args],
        arm: (proxy, child) =>
          void proxy
            .arrival(({ path, change }) => change !== undefined && path.endsWith('/start'))
            .then(() => {
              toldAtMs = performance.now();
              child.kill('SIGTERM');
            }),
      });
      expect(performance.now() - toldAtMs).toBeLessThan(endsWithinMs);
      expect(code).toBe(143);
      expect(Object.values(outcomes).toSorted()).toEqual(['deferred', 'skipped']);
      const [left = ''] = Object.keys(outcomes).filter((name) => outcomes[name] === 'deferred');
      expect(reasons[left]).toContain('Upkeep was stopped while the health of the new version was checked');
      expect(stderr).toContain('Upkeep ends before the health check of a new version is over');
      const next = await stage.startAgain();
      expect(await stage.harm(), next.stderr).toEqual([]);
      expect(await stage.isReplaced('web')).toBe(left === 'web' && isReplaced);
    },
  );

  test('failure 23: SIGTERM while the new container is made: nothing has been stopped, nothing is left', async () => {
    const stage = await setRealStage(lab, { web: {} });
    const { code, outcomes, changes } = await stage.update({
      arm: (proxy, child) => {
        proxy.arm({
          at: ({ path, change }) => change !== undefined && path.includes('/containers/create'),
          fault: { kind: 'delay', when: 'after', ms: 300 },
        });
        void proxy
          .arrival(({ path, change }) => change !== undefined && path.includes('/containers/create'))
          .then(() => child.kill('SIGTERM'));
      },
    });
    expect(code).toBe(143);
    expect(outcomes).toEqual({ web: 'deferred' });
    expect(changes.filter((change) => change.includes('/stop'))).toEqual([]);
    expect(await stage.isReplaced('web')).toBe(false);
    expect(await stage.harm()).toEqual([]);
  });

  test.each([
    ['one stop', '/stop', 2],
    ['one create', '/containers/create', 3],
    ['one start', '/start', 1],
  ])(
    'failure 25: the engine dies during %s, and is started again: the update ends by itself, and all run',
    async (_what, path, which) => {
      const engine = await lab.startEngine({ name: 'dies' });
      try {
        const stage = await setRealStage({ engine, registry: lab.registry }, many);
        let met = 0;
        let restarted = Promise.resolve();
        const { outcomes, stderr } = await stage.update({
          arm: (proxy) =>
            proxy.arm({
              at: (call) => call.change !== undefined && call.path.includes(path) && (met += 1) === which,
              fault: {
                kind: 'kill',
                when: 'during',
                kill: () => void (restarted = engine.kill().then(() => engine.start())),
              },
            }),
        });
        await restarted;
        expect(Object.keys(outcomes).toSorted(), stderr).toEqual(Object.keys(many).toSorted());
        const harm = await stage.harm();
        expect(harm, JSON.stringify(outcomes)).toEqual([]);
      } finally {
        await engine.remove();
      }
    },
  );

  test('failure 24: an update asked for over HTTP exceeds its limit while a container is stopped: that one is finished', async () => {
    const slow = { ...deaf, config: { ...deaf.config, StopTimeout: 10 } };
    const stage = await setRealStage(lab, { web: slow });
    const api = [
      '--http-api-endpoints',
      'update,history',
      '--http-api-port',
      '0',
      '--http-api-rate-limit',
      '100000',
      '--http-api-token',
      apiToken,
    ];
    const service = startUpkeep(['run', ...api, '--health-window', '500ms'], { socket: lab.engine.socket });
    try {
      await service.seen('"listening"');
      const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
      expect((await ask(url, '/v1/update?container=web&timeout=6s', { method: 'POST' })).status).toBe(408);
      const entries = async () => (await ask(url, '/v1/history')).json().entries as { readonly updated: number }[];
      while ((await entries()).length === 0) await sleep(50);
      expect(await entries()).toMatchObject([{ updated: 1, failed: 0 }]);
      expect(await stage.isReplaced('web')).toBe(true);
      expect(await stage.harm()).toEqual([]);
    } finally {
      service.child.kill('SIGTERM');
      await service.ended;
    }
  });

  test('failure 38: the engine is silent about a pull: it is given up, and the others are updated', async () => {
    const stage = await setRealStage(lab, { slow: {}, other: {} });
    const { code, outcomes, reasons } = await stage.update({
      args: ['--pull-timeout', '5s'],
      arm: (proxy) =>
        proxy.arm({
          at: ({ path }) => path.includes('/images/create') && path.includes('slow'),
          fault: { kind: 'hang', when: 'before' },
        }),
    });
    expect(code).toBe(1);
    expect(outcomes).toEqual({ slow: 'failed', other: 'updated' });
    expect(reasons['slow']).toContain('Cannot pull');
    expect(await stage.harm()).toEqual([]);
  });

  test('failure 39: one by one, though a container depends on another: each is updated, and it is not refused', async () => {
    const Labels = { 'upkeep.depends-on': 'db' };
    const stage = await setRealStage(lab, { web: { config: { StopTimeout: 1, Labels } }, db: {} });
    const { code, outcomes } = await stage.update({ args: ['--rolling-restart'] });
    expect(code).toBe(0);
    expect(outcomes).toEqual({ web: 'updated', db: 'updated' });
    expect(await stage.harm()).toEqual([]);
  });
});
