import { afterAll, test, type TestContext } from 'vitest';
import { permissionNames, permissions } from '../../src/domain/outside/permission.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import type { Lab } from '../lab/lab.ts';
import { createFaultProxy, type ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';
import { setRealStage, type RealStage } from './rig/real-stage.ts';

const versions = { good: catalogue['plain-v2'], failing: catalogue.unstartable } as const;

/** Each call of an update, forbidden as proxies do it. `UPKEEP_PERMISSIONS=all` tries everything, else a part. */
const matrix = permissionNames.flatMap((name) =>
  [403, 404, 405].flatMap((status) =>
    (['good', 'failing'] as const).map((version) => ({ name, call: permissions[name].call, status, version })),
  ),
);
const isWhole = process.env['UPKEEP_PERMISSIONS'] === 'all';
const drawn = isWhole ? matrix : matrix.filter((_, place) => place % 11 === 3);

/** The outcomes without the permission, by its need and the new version. */
const outcomes = {
  always: { good: 'failed', failing: 'failed' },
  pull: { good: 'failed', failing: 'failed' },
  no: { good: 'updated', failing: 'rolled_back' },
} as const;

describeInLab('a proxy before a real engine forbids one call', (lab) => {
  const setStage = stagesOn(lab);

  test.concurrent.for(drawn)(
    'set-up one call forbidden: $call with $status, and the new version is $version',
    async ({ name, call, status, version }, { expect, onTestFinished }) => {
      const { engine, stage } = await setStage(version, onTestFinished);
      const forbid = { kind: 'answer', when: 'before', status, body: '<html><h1>no</h1></html>' } as const;
      const run = await stage.update({
        arm: (proxy) => proxy.arm({ at: (one) => isCall(one, call), times: Infinity, fault: forbid }),
      });
      const { needed } = permissions[name];
      const web = await engine.inspect('web');
      expect(web?.State.Running, run.stdout + run.stderr).toBe(true);
      expect(run.stdout + run.stderr).not.toContain('<h1>');
      if (needed === 'no') {
        expect(run.outcomes).toEqual({ web: outcomes.no[version] });
        expect(run.code).toBe(version === 'good' ? 0 : 1);
      } else {
        expect(run.code).toBe(1);
        expect(run.stdout).toContain(call.replace(/\{name\}.*/, ''));
        expect(await stage.isReplaced('web')).toBe(false);
      }
      const again = await stage.update();
      const isLater = needed === 'no';
      expect(again.outcomes, again.stdout + again.stderr).toEqual({
        web: version === 'good' ? (isLater ? 'fresh' : 'updated') : isLater ? 'skipped' : 'rolled_back',
      });
      expect(await stage.harm()).toEqual([]);
    },
  );
});

/** The service as a process, to which a person gives the permission after a while. */
const moments = ['from its start on', 'from the first stop on'] as const;
const served = matrix.flatMap((one) => moments.map((moment) => ({ ...one, moment })));
const drawnServed = isWhole
  ? served
  : served.filter(({ name }, place) => place % 74 === 5 || (name === 'start' && place % 12 === 1));

describeInLab('the service behind a proxy that forbids one call', (lab) => {
  const setStage = stagesOn(lab);

  async function serve(socket: string, onTestFinished: TestContext['onTestFinished']) {
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0', ...tokens];
    const { child, ended, seen, output } = startUpkeep(['run', ...api, '--health-window', '500ms'], { socket });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    await seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(output()) ?? [];
    const update = async () => {
      const { status, text } = await ask(url, '/v1/update?container=web', { method: 'POST' });
      const { containers = [] } = status === 200 ? JSON.parse(text) : {};
      const web = (containers as { name: string; outcome: string }[]).find(({ name }) => name === 'web');
      return { status, text, outcome: web?.outcome };
    };
    const unfinished = async () => {
      const { unfinished: all = [] } = JSON.parse((await ask(url, '/v1/containers/details')).text);
      return (all as { name: string }[]).map((one) => one.name);
    };
    return { output, update, unfinished, ready: () => ask(url, '/readyz') };
  }

  test.concurrent.for(drawnServed)(
    'set-up $call is forbidden with $status $moment, and the new version is $version: it heals within a minute of the grant',
    async ({ name, call, status, version, moment }, { expect, onTestFinished }) => {
      const { engine, stage } = await setStage(version, onTestFinished);
      const socketPath = `${engine.dir}/served.sock`;
      const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
      onTestFinished(proxy.close);
      let isForbidden = moment === 'from its start on';
      proxy.arm({
        at: (one) => {
          const forbids = isForbidden && isCall(one, call);
          if (one.change !== undefined && /\/stop(?:\?|$)/.test(one.path)) isForbidden = true;
          return forbids;
        },
        times: Infinity,
        fault: { kind: 'answer', when: 'before', status, body: '<html><h1>no</h1></html>' },
      });
      const service = await serve(socketPath, onTestFinished);
      const first = await service.update();
      const ready = await service.ready();
      const told = first.text + ready.text + service.output();
      expect(told).not.toContain('<h1>');
      const isUp = async () => (await engine.inspect('web'))?.State.Running === true;
      const wasUp = await isUp();
      if (moment === 'from its start on') expect(wasUp, told).toBe(true);
      // A container that is down, or a step that was not done, is told.
      const isDone = first.outcome === 'updated' || (version === 'failing' && first.outcome === 'rolled_back');
      if (!wasUp) {
        expect(isDone, told).toBe(false);
        // The list of containers follows the engine's events.
        const isTold = async () => {
          const [unfinished, now] = [await service.unfinished(), await service.ready()];
          const runsAside = (await engine.call('GET', '/containers/json')).body as readonly unknown[];
          return unfinished.includes('web') && (runsAside.length > 0 || now.text.includes('"down"'));
        };
        await expect
          .poll(async () => (await isTold()) || (await isUp()), { timeout: 20_000, interval: 1000 })
          .toBe(true);
      }
      if (permissions[name].needed === 'always' && moment === 'from its start on') {
        expect(isDone, told).toBe(false);
        expect(told).toContain(call.replace(/\{.*/, ''));
      }

      proxy.disarm();
      const within = { timeout: 60_000, interval: 500 };
      await expect.poll(stage.harm, within).toEqual([]);
      const settled = version === 'good' ? ['updated', 'fresh'] : ['rolled_back', 'skipped'];
      await expect.poll(async () => settled.includes((await service.update()).outcome ?? ''), within).toBe(true);
      await expect.poll(async () => (await service.ready()).text, within).not.toContain('"down"');
      expect(await stage.harm(), service.output()).toEqual([]);
      expect(await stage.isReplaced('web')).toBe(version === 'good');
    },
  );
});

/**
 * A stage for each case, with the container `web`. Cases run side by side, as many as the project permits, each on an
 * engine and with an image of its own, because Upkeep sees and repairs everything on its engine.
 */
function stagesOn({ startEngine, registry }: Lab) {
  const all: LabEngine[] = [];
  const idle: LabEngine[] = [];
  let started = 0;
  const begin = async (): Promise<LabEngine> => {
    const engine = await startEngine({ name: `permissions${(started += 1)}` });
    all.push(engine);
    return engine;
  };
  afterAll(() => Promise.all(all.map(({ remove }) => remove())));
  return async (
    version: keyof typeof versions,
    onTestFinished: TestContext['onTestFinished'],
  ): Promise<{ readonly engine: LabEngine; readonly stage: RealStage }> => {
    const engine = idle.pop() ?? (await begin());
    onTestFinished(() => void idle.push(engine));
    const cast = { web: { next: versions[version], image: engine.name } };
    return { engine, stage: await setRealStage({ engine, registry }, cast) };
  };
}

function isCall({ method, path }: ProxiedCall, call: string): boolean {
  const [wanted, pattern = ''] = call.split(' ');
  const expression = pattern.replace('{id}', '[^/]+').replace('{name}', '.+');
  return method === wanted && new RegExp(String.raw`^(?:/v1\.\d+)?${expression}(?:\?.*)?$`).test(path);
}
