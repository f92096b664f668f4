import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { fillDisk } from '../lab/fill-disk.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { setRealStage } from './rig/real-stage.ts';

/** Refusals of a real engine, with the shipped executable. */
describeInLab('a real engine refuses', (lab) => {
  afterEach(() => lab.engine.clear());

  test('failure 13: create is refused, because a mounted folder is gone: nothing has been stopped', async () => {
    const source = mkdtempSync(join(lab.dir, 'mounted-'));
    const Mounts = [{ Type: 'bind', Source: source, Target: '/data' }];
    const stage = await setRealStage(lab, { web: { config: { StopTimeout: 1, HostConfig: { Mounts } } }, other: {} });
    rmSync(source, { recursive: true });
    const { code, outcomes, reasons } = await stage.update();
    expect(code).toBe(1);
    expect(outcomes).toEqual({ web: 'failed', other: 'updated' });
    expect(reasons['web']).toContain('bind source path does not exist');
    expect(await stage.isReplaced('web')).toBe(false);
    expect(await stage.harm()).toEqual([]);
  });

  test.each([
    { which: 1, outcome: 'failed', reason: 'the name is in use' },
    { which: 2, outcome: 'deferred', reason: 'another container has taken the name "web"' },
  ])(
    'failure 14: rename $which is refused because of its name: $outcome, nothing has been stopped, the names come back',
    async ({ which, outcome, reason }) => {
      const stage = await setRealStage(lab, { web: {} });
      let renames = 0;
      const { code, outcomes, reasons, changes } = await stage.update({
        arm: (proxy) =>
          proxy.arm({
            at: ({ path, change }) => change !== undefined && path.includes('/rename') && (renames += 1) === which,
            fault: { kind: 'answer', when: 'before', status: 409, body: '{"message":"the name is in use"}' },
          }),
      });
      expect(code).toBe(outcome === 'failed' ? 1 : 0);
      expect(outcomes).toEqual({ web: outcome });
      expect(reasons['web']).toContain(reason);
      expect(changes.filter((change) => change.includes('/stop'))).toEqual([]);
      expect(await stage.isReplaced('web')).toBe(false);
      expect(await stage.harm()).toEqual([]);
    },
  );

  test.each([
    ['its user is unknown', { User: 'nobody-here' }, 'nobody-here'],
    ['its command is missing', { Cmd: ['/bin/nothing-here'] }, '/bin/nothing-here'],
  ])('failure 16: start is refused, because %s: the old one runs again', async (_why, config, word) => {
    const stage = await setRealStage(lab, { web: { next: webServer('v2', config) } });
    const { code, outcomes, reasons } = await stage.update();
    expect(code).toBe(1);
    expect(outcomes).toEqual({ web: 'rolled_back' });
    expect(reasons['web']).toContain(word);
    expect(await stage.isReplaced('web')).toBe(false);
    expect(await stage.harm()).toEqual([]);
  });

  test('failure 36: --cleanup, and a stopped container uses the old image: it stays, and that container starts', async () => {
    const stage = await setRealStage(lab, {
      web: { image: 'shared' },
      sleeper: { image: 'shared' },
      other: { old: catalogue.v1 },
    });
    await lab.engine.call('POST', '/containers/sleeper/stop?t=0');
    const { code, outcomes } = await stage.update({ args: ['--cleanup'] });
    expect(code).toBe(0);
    expect(outcomes).toEqual({ web: 'updated', other: 'updated' });
    expect((await lab.engine.call('GET', `/images/${stage.before.get('other')!.Image}/json`)).status).toBe(404);
    expect((await lab.engine.call('GET', `/images/${stage.before.get('sleeper')!.Image}/json`)).status).toBe(200);
    expect((await lab.engine.call('POST', '/containers/sleeper/start')).status).toBe(204);
    expect(await stage.harm()).toEqual([]);
  });
});

describeInLab('the disk of a real engine is full', (lab) => {
  const data = join(lab.dir, 'full', 'data');
  const filler = join(data, 'filler');
  /** An engine whose disk is a small one in memory, so that it can be filled. */
  const start = async () => {
    mkdirSync(data, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', data]);
    return lab.startEngine({ name: 'full' });
  };
  const fill = () => fillDisk(data);

  test.each([
    ['create', '/containers/create', 'failed', 0],
    ['start', '/start', 'rolled_back', 1],
  ])('failure 26: when the new container is to %s: the old one runs', async (_what, path, outcome, stops) => {
    const engine = await start();
    try {
      const stage = await setRealStage({ engine, registry: lab.registry }, { web: {} });
      let met = 0;
      const { outcomes, reasons, changes, stdout, stderr } = await stage.update({
        arm: (proxy) => {
          const isIt = ({ path: called, change }: { readonly path: string; readonly change: number | undefined }) =>
            change !== undefined && called.includes(path);
          proxy.arm({
            at: (call) => {
              if (!isIt(call)) return false;
              met += 1;
              if (met === 1) fill();
              else rmSync(filler, { force: true });
              return false;
            },
            fault: { kind: 'hang', when: 'before' },
          });
        },
      });
      rmSync(filler, { force: true });
      expect(outcomes, stdout + stderr).toEqual({ web: outcome });
      expect(reasons['web']).toContain('no space left on device');
      expect(changes.filter((change) => change.includes('/stop'))).toHaveLength(stops);
      expect(await stage.isReplaced('web')).toBe(false);
      expect(await stage.harm()).toEqual([]);
    } finally {
      await engine.remove();
    }
  });
});

describeInLab('a registry that cannot prove who it is', (lab) => {
  afterEach(() => lab.engine.clear());

  test('pitfall 6: --registry-tls-skip and its variable are heard, and neither is in force unasked', async () => {
    const registry = await lab.startRegistry({ tls: true, address: '198.18.0.1' });
    try {
      const old = await pushImage(registry, 'failures/app', 'stable', catalogue['plain-v1']);
      await pushImage(lab.registry, 'failures/app', 'stable', catalogue['plain-v1']);
      await lab.engine.pull(`${lab.registry.host}/failures/app:stable`);
      const tag = `/images/${encodeURIComponent(old.configDigest)}/tag?repo=${registry.host}/failures/app&tag=stable`;
      expect((await lab.engine.call('POST', tag)).status).toBe(201);
      await lab.engine.run('web', `${registry.host}/failures/app:stable`, { Cmd: ['sleep', '1000'], StopTimeout: 1 });
      await pushImage(registry, 'failures/app', 'stable', catalogue['plain-v2']);
      const check = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
        const { stdout } = await runUpkeep(['check', '--json', ...args], { socket: lab.engine.socket, env });
        return (JSON.parse(stdout) as { containers: { status: string; error?: string }[] }).containers[0];
      };
      expect(await check([])).toMatchObject({ status: 'unknown', error: expect.stringContaining('authority') });
      expect(await check(['--registry-tls-skip'])).toMatchObject({ status: 'stale' });
      expect(await check([], { WATCHTOWER_REGISTRY_TLS_SKIP: 'true' })).toMatchObject({ status: 'stale' });
    } finally {
      await registry.remove();
    }
  });
});
