import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { createFaultProxy, type FaultProxy } from '../lab/proxy/fault-proxy.ts';
import { pushImage } from '../lab/registry/push.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { registryAuth } from '../lab/swarm/registry-auth.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { deploy, reportOf, update } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

const isUpdate = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === 'POST' && /\/services\/[^/]+\/update\?/.test(path);

/** Other programs and people change a service too. */
describeInSwarm('a service that others change too', {}, (swarm) => {
  let proxy: FaultProxy | undefined;
  afterEach(() => proxy?.close());
  const throughProxy = async () => {
    const { engine } = swarm().node(1);
    const socketPath = `${engine.dir}/proxy.sock`;
    proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    return {
      proxy,
      run: async (...args: readonly string[]) =>
        reportOf(
          await runUpkeep(['update', '--swarm', '--json', '--health-window', '2s', ...args], { socket: socketPath }),
        ),
    };
  };

  test('loses none of a person’s changes beside two instances', async () => {
    const tries = (process.env['TEST_DRAW'] ?? 'all') === 'all' ? 500 : 50;
    const web = await deploy(swarm(), 'web', catalogue['plain-v1']);
    const look = async () => (await swarm().service(web.id)).Spec;
    const over = new AbortController();
    const outcomes: string[] = [];
    const instance = async () => {
      for (let round = 0; !over.signal.aborted; round += 1) {
        await web.publish(catalogue[round % 2 === 0 ? 'plain-v2' : 'plain-v1']);
        outcomes.push((await update(swarm(), '--health-window', '0s')).of('web').outcome);
      }
    };
    const instances = [instance(), instance()];
    let written = 0;
    for (let attempt = 1; attempt <= tries; attempt += 1) {
      const { Labels = {} } = await look();
      expect(Number(Labels['theirs'] ?? 0)).toBe(written);
      const reply = await swarm().attempt(
        web.id,
        (spec) => (spec.Labels = { ...spec.Labels, theirs: String(attempt) }),
      );
      if (reply.status === 200) written = attempt;
      else expect(reply.text).toContain('out of sequence');
    }
    over.abort();
    await Promise.all(instances);
    await web.publish(webServer('v3'));
    expect((await update(swarm(), '--health-window', '0s')).of('web')).toMatchObject({ outcome: 'updated' });
    expect((await look()).Labels?.['theirs']).toBe(String(written));
    expect(written).toBeGreaterThan(0);
    expect(outcomes.filter((outcome) => !['updated', 'deferred', 'fresh', 'skipped'].includes(outcome))).toEqual([]);
  });

  test('is read again and updated where someone was quicker once, and left to them where they always are', async () => {
    const web = await deploy(swarm(), 'web', catalogue['plain-v1']);
    const { proxy: armed, run } = await throughProxy();
    let note = 0;
    const act = () => swarm().change(web.id, (spec) => (spec.Labels = { ...spec.Labels, theirs: String((note += 1)) }));
    armed.arm({ at: isUpdate, times: 10, fault: { kind: 'meanwhile', when: 'before', act } });
    const next = await web.publish(catalogue['plain-v2']);
    expect((await run()).of('web')).toMatchObject({ outcome: 'deferred' });
    expect((await swarm().service(web.id)).Spec.TaskTemplate.ContainerSpec.Image).toBe(web.image);
    armed.disarm();
    armed.arm({ at: isUpdate, times: 1, fault: { kind: 'meanwhile', when: 'before', act } });
    expect((await run()).of('web')).toMatchObject({ outcome: 'updated' });
    const { Spec } = await swarm().service(web.id);
    expect(Spec.TaskTemplate.ContainerSpec.Image).toContain(next);
    expect(Spec.Labels?.['theirs']).toBe(String(note));
  });

  test('belongs to someone who redeploys it in the middle', async () => {
    const web = await deploy(swarm(), 'web', catalogue.v1, { update: { FailureAction: 'pause' } });
    const other = await pushImage(swarm().registry, 'swarm/web', 'theirs', catalogue['plain-v2']);
    const theirs = `${swarm().registry.host}/swarm/web:theirs@${other.digest}`;
    await web.publish(catalogue.crash);
    const running = update(swarm());
    await swarm().until(web.id, ({ Spec }) => Spec.TaskTemplate.ContainerSpec.Image !== web.image);
    const reply = await swarm().change(web.id, (spec) => {
      spec.TaskTemplate.ContainerSpec.Image = theirs;
      spec.Labels = {};
    });
    expect(reply.status, reply.text).toBe(200);
    expect((await running).of('web')).toMatchObject({ outcome: 'deferred' });
    const { tasks } = await swarm().until(web.id, (_, all) => runningTasks(all, other.digest).length === 2);
    expect(runningTasks(tasks, other.digest)).toHaveLength(2);
  });

  test('stays as it is, with the reason, where a proxy forbids the update', async () => {
    const web = await deploy(swarm(), 'web', catalogue.v1);
    const { proxy: armed, run } = await throughProxy();
    armed.arm({ at: isUpdate, times: 10, fault: { kind: 'answer', when: 'before', status: 403, body: 'Forbidden' } });
    await web.publish(catalogue.v2);
    const entry = (await run()).of('web');
    expect(entry.outcome).toBe('failed');
    expect(entry.reason).toMatch(/403|orbidden|refused/);
    expect((await swarm().service(web.id)).Spec.TaskTemplate.ContainerSpec.Image).toBe(web.image);
  });

  test('is taken back, and its failure is not tried again, where a proxy forbids configs', async () => {
    const web = await deploy(swarm(), 'web', catalogue.v1);
    const { proxy: armed, run } = await throughProxy();
    const at = ({ path }: { readonly path: string }) => path.includes('/configs');
    armed.arm({ at, times: 1000, fault: { kind: 'answer', when: 'before', status: 403, body: 'Forbidden' } });
    await web.publish(catalogue.crash);
    expect((await run('--health-window', '4s')).of('web').outcome).toBe('rolled_back');
    expect((await run()).of('web').outcome).toBe('skipped');
  });

  test('is pulled with our credentials where its own are out of date', async () => {
    const registry = await swarm().startRegistry({ auth: 'basic' });
    try {
      const web = await deploy(swarm(), 'web', catalogue['plain-v1'], { registry });
      const stale = registryAuth(registry.host, { username: 'writer', password: 'old' });
      const rotated = await swarm().change(web.id, (spec) => (spec.Labels = { rotated: 'yes' }), '', {
        'x-registry-auth': stale,
      });
      expect(rotated.status, rotated.text).toBe(200);
      const next = await web.publish(catalogue['plain-v2']);
      const { username = '', password = '' } = registry.credentials ?? {};
      const run = await runUpkeep(['update', '--swarm', '--json', '--health-window', '2s'], {
        socket: swarm().node(1).engine.socket,
        env: { REPO_USER: username, REPO_PASS: password, REPO_HOST: registry.host },
      });
      const entry = reportOf(run).of('web');
      expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'updated' });
      expect(await untruth(swarm(), web, next, entry)).toBeUndefined();
      expect(run.stdout + run.stderr).not.toContain(password);
    } finally {
      await registry.remove();
    }
  });
});
