import type { UpdateRequest, Session } from '../../domain/run/session.ts';
import { describe, expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Outside, Engine } from '../../domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';

const full: UpdateRequest = { trigger: 'command', images: [], containers: [] };
const only = (...containers: readonly string[]): UpdateRequest => ({ ...full, containers });

/** Publishes a first release of the image, and runs a container of it. */
async function run(scene: SandboxScene, name: string, body: object = {}, image = `${name}:1`): Promise<string> {
  if ((await scene.sandbox.engine.inspectImage(image)) === undefined) {
    scene.registry.store.publish(image, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: image });
  }
  return scene.sandbox.control.runContainer(name, { Image: image, ...body });
}

function release(scene: SandboxScene, ...names: readonly string[]): void {
  for (const name of names) scene.registry.store.publish(`${name}:1`, { version: '2' });
}

type Service = {
  readonly application: Application;
  readonly events: ServiceEvent[];
  readonly outside: Outside;
  readonly complaints: readonly string[];
};

function serviceIn(scene: SandboxScene, settings: Partial<ServiceSettings> = {}, more: Partial<Outside> = {}): Service {
  const { outside, complaints } = scene.startProcess();
  const application = createApplication(
    { ...outside, ...more },
    { ...defaultSettings, healthWindowMs: 1000, ...settings },
  );
  const events: ServiceEvent[] = [];
  application.subscribe((event) => events.push(event));
  return { application, events, outside, complaints };
}

const outcomes = ({ containers }: Session) =>
  Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
const reasonFor = ({ containers }: Session, name: string) => containers.find((one) => one.name === name)?.reason;
const kinds = (events: readonly ServiceEvent[]) => events.map(({ kind }) => kind);
const labels = (pairs: Readonly<Record<string, string>>) => ({ Labels: pairs });
const dependsOn = (name: string) => labels({ 'upkeep.depends-on': name });

describe('an update', () => {
  test('of what is fresh changes nothing, inspects nothing, and says so', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const process = scene.startProcess();
    const application = createApplication(process.outside, defaultSettings);
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ app: 'fresh' });
    expect(process.connection.calls).toEqual([]);
  });

  test('replaces what is stale and nothing else; the session lists all in listing order', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb', 'cc']) await run(scene, name);
    release(scene, 'bb');
    const order = (await scene.sandbox.engine.listContainers()).map(({ name }) => name);
    const { application, events } = serviceIn(scene);
    const session = await application.update({ ...full, trigger: 'schedule' });
    expect(session.containers.map(({ name }) => name)).toEqual(order);
    expect(outcomes(session)).toEqual({ aa: 'fresh', bb: 'updated', cc: 'fresh' });
    expect(session).toMatchObject({ runId: expect.any(String), trigger: 'schedule', durationMs: expect.any(Number) });
    expect((await scene.sandbox.engine.inspectContainer('bb'))?.state.status).toBe('running');
    expect(events.at(0)).toMatchObject({
      kind: 'scan_started',
      purpose: 'update',
      trigger: 'schedule',
      runId: session.runId,
    });
    expect(events.at(-1)).toEqual({
      kind: 'scan_completed',
      runId: session.runId,
      purpose: 'update',
      scanned: 3,
      updated: 1,
      failed: 0,
      restarted: 0,
      skipped: 0,
      session,
      atMs: expect.any(Number),
    });
    expect(outcomes(await application.update(full))).toEqual({ aa: 'fresh', bb: 'fresh', cc: 'fresh' });
  });

  test('refuses a request with a name that means nothing, where it is to, and touches nothing', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', labels({ 'upkeep.pre-check': 'touch /ran' }));
    release(scene, 'web');
    const process = scene.startProcess();
    const application = createApplication(process.outside, { ...defaultSettings, lifecycleHooks: true });
    const refused = application.update({ ...only('web', 'wbe'), refuseUnmatched: true });
    await expect(refused).rejects.toMatchObject({
      code: 'not-found',
      message: 'Cannot update "wbe": there is no container named "wbe"; did you mean "web"?',
    });
    expect(process.connection.calls).toEqual([]);
    expect(outcomes(await application.update(only('web', 'wbe')))).toEqual({ web: 'updated' });
  });

  test('sees a container that came while the registries took their time', async () => {
    const scene = createSandboxScene();
    const vpn = await run(scene, 'vpn');
    release(scene, 'vpn');
    const { registry } = scene.startProcess().outside;
    const slow: Outside['registry'] = {
      ...registry,
      resolve: async (...asked) => {
        await run(scene, 'torrent', { HostConfig: { NetworkMode: `container:${vpn}` } });
        await scene.clock.sleep(6000);
        return registry.resolve(...asked);
      },
    };
    const { application } = serviceIn(scene, {}, { registry: slow });
    expect(outcomes(await application.update(only('vpn')))).toEqual({ vpn: 'updated', torrent: 'restarted' });
  });

  test('tells its id as soon as it begins', async () => {
    const scene = createSandboxScene();
    const begun: string[] = [];
    const { runId } = await serviceIn(scene).application.update({ ...full, onBegin: (id) => begun.push(id) });
    expect(begun).toEqual([runId]);
  });

  test('gives what it does not replace the right name', async () => {
    const scene = createSandboxScene();
    await run(scene, 'held', labels({ 'upkeep.monitor-only': 'true' }));
    await run(scene, 'young', labels({ 'upkeep.cooldown-delay': '30d' }));
    await run(scene, 'paused', {}, 'paused:1');
    await run(scene, 'denied', {}, 'private.test/denied:1');
    scene.sandbox.control.addImage('local:1', { version: 'mine' });
    scene.sandbox.control.runContainer('local', { Image: 'local:1' });
    scene.registry.store.misbehave('private.test', { kind: 'denied' });
    release(scene, 'held', 'paused');
    scene.registry.store.publish('young:1', { version: '2', createdAtMs: scene.clock.nowMs() });
    const { engine } = scene.sandbox;
    const pausing: Engine = {
      ...engine,
      inspectContainer: async (id, signal) => {
        const container = await engine.inspectContainer(id, signal);
        if (container?.name !== 'paused') return container;
        return { ...container, state: { ...container.state, status: 'paused' } };
      },
    };
    const session = await serviceIn(scene, {}, { engine: pausing }).application.update(full);
    expect(outcomes(session)).toEqual({
      held: 'skipped',
      young: 'deferred',
      paused: 'skipped',
      denied: 'unknown',
      local: 'fresh',
    });
    expect(reasonFor(session, 'paused')).toBe(
      'It is paused, and a paused container cannot be stopped: unpause it first',
    );
    expect(reasonFor(session, 'held')).toBe('A newer image of "held:1" is available; monitored only');
  });

  test('re-creates what holds on to a replaced container, though nobody selected it', async () => {
    const scene = createSandboxScene();
    const vpn = await run(scene, 'vpn');
    await run(scene, 'app', { HostConfig: { NetworkMode: `container:${vpn}` } });
    await run(scene, 'other');
    release(scene, 'vpn', 'other');
    const { application } = serviceIn(scene, { names: ['vpn'] });
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ app: 'restarted', vpn: 'updated' });
    const [target, app] = await Promise.all(['vpn', 'app'].map((name) => scene.sandbox.engine.inspectContainer(name)));
    expect(app?.settings.HostConfig.NetworkMode).toBe(`container:${target?.id}`);
  });

  test('leaves a group alone when one of it must not be touched', async () => {
    const scene = createSandboxScene();
    const vpn = await run(scene, 'vpn');
    await run(scene, 'app', {
      HostConfig: { NetworkMode: `container:${vpn}` },
      ...labels({ 'upkeep.enable': 'false' }),
    });
    release(scene, 'vpn');
    const session = await serviceIn(scene).application.update(full);
    expect(outcomes(session)).toEqual({ vpn: 'skipped' });
    expect(reasonFor(session, 'vpn')).toBe('2 containers have to move together, and "app" is disabled by its label');
    expect((await scene.sandbox.engine.inspectContainer('vpn'))?.id).toBe(vpn);
  });

  test('of one name touches only that one', async () => {
    const scene = createSandboxScene();
    for (const name of ['web', 'web2']) await run(scene, name);
    release(scene, 'web', 'web2');
    expect(outcomes(await serviceIn(scene).application.update(only('web')))).toEqual({ web: 'updated' });
  });

  test('of a container that was created from an image id finds its tag, and moves on with that', async () => {
    const scene = createSandboxScene();
    await run(scene, 'base');
    const image = await scene.sandbox.engine.inspectImage('base:1');
    scene.sandbox.control.runContainer('bare', { Image: image?.id });
    release(scene, 'base');
    const session = await serviceIn(scene).application.update(only('bare'));
    expect(outcomes(session)).toEqual({ bare: 'updated' });
    expect((await scene.sandbox.engine.inspectContainer('bare'))?.settings.Config.Image).toBe('base:1');
  });

  test('that names nothing warns, and changes nothing', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    release(scene, 'app');
    const { application, complaints } = serviceIn(scene);
    expect((await application.update(only('ap'))).containers).toEqual([]);
    expect(complaints).toEqual(['There is no container named "ap"; did you mean "app"?']);
  });

  test('skips what depends on a container whose update failed, and what depends on that', async () => {
    const scene = createSandboxScene();
    await run(scene, 'db');
    await run(scene, 'api', dependsOn('db'));
    await run(scene, 'web', dependsOn('api'));
    await run(scene, 'blog');
    release(scene, 'api', 'web', 'blog');
    scene.registry.store.publish('db:1', { version: '2', behaviour: { exitsAfterMs: 10, exitCode: 3 } });
    const session = await serviceIn(scene).application.update(full);
    expect(outcomes(session)).toEqual({ db: 'rolled_back', api: 'skipped', web: 'skipped', blog: 'updated' });
    expect(reasonFor(session, 'api')).toBe('It depends on "db", which was not updated');
    expect(reasonFor(session, 'web')).toBe('It depends on "api", which was not updated');
  });

  describe('of which old and new are both removed between stop and start', () => {
    /** Another action happens before the start with that number. */
    function meddledWith(engine: Engine, number: number, meddle: () => void): Engine {
      let starts = 0;
      return {
        ...engine,
        startContainer: async (id) => {
          starts += 1;
          if (starts === number) meddle();
          return engine.startContainer(id);
        },
      };
    }

    async function updateWith(removeBoth: (scene: SandboxScene) => void): Promise<[SandboxScene, Session]> {
      const scene = createSandboxScene();
      await run(scene, 'app', { HostConfig: { Binds: ['data:/data'], RestartPolicy: { Name: 'always' } } });
      release(scene, 'app');
      const { engine } = scene.sandbox;
      const meddled = meddledWith(engine, 1, () => removeBoth(scene));
      return [scene, await serviceIn(scene, {}, { engine: meddled }).application.update(full)];
    }

    test('creates the old one anew when someone has pruned, and runs it with its policy and volumes', async () => {
      const [{ sandbox }, session] = await updateWith(({ sandbox: { control } }) => control.pruneContainers());
      expect(outcomes(session)).toEqual({ app: 'rolled_back' });
      expect(reasonFor(session, 'app')).toMatch(
        /; a prune had removed it, so it was created again with the same settings$/,
      );
      const [app, ...others] = await sandbox.engine.listContainers();
      expect(others).toEqual([]);
      const found = await sandbox.engine.inspectContainer('app');
      expect(found).toMatchObject({ id: app?.id, state: { status: 'running' } });
      expect(found?.settings.HostConfig).toMatchObject({ Binds: ['data:/data'], RestartPolicy: { Name: 'always' } });
      await expect(sandbox.engine.inspectImage(found?.settings.Config.Image ?? '')).resolves.toMatchObject({
        id: found?.imageId,
      });
    });

    test('does so too when the time of the engine is known only roughly', async () => {
      const scene = createSandboxScene();
      await run(scene, 'app');
      release(scene, 'app');
      const { engine, control } = scene.sandbox;
      const meddled = meddledWith(engine, 1, () => control.pruneContainers());
      const late = async (signal?: AbortSignal) => {
        const info = await engine.info(signal);
        return { ...info, nowMs: info.nowMs + 5000 };
      };
      const session = await serviceIn(scene, {}, { engine: { ...meddled, info: late } }).application.update(full);
      expect(outcomes(session)).toEqual({ app: 'rolled_back' });
      expect(reasonFor(session, 'app')).toMatch(/created again with the same settings$/);
    });

    test('does so for all of a group, whose members find each other again', async () => {
      const scene = createSandboxScene();
      await run(scene, 'vpn');
      await run(scene, 'app', { HostConfig: { NetworkMode: 'container:vpn' } });
      release(scene, 'vpn');
      const { engine, control } = scene.sandbox;
      const meddled = meddledWith(engine, 1, () => control.pruneContainers());
      const session = await serviceIn(scene, {}, { engine: meddled }).application.update(full);
      expect(outcomes(session)).toEqual({ vpn: 'rolled_back', app: 'rolled_back' });
      const [vpn, app] = await Promise.all(['vpn', 'app'].map((name) => engine.inspectContainer(name)));
      expect([vpn?.state.status, app?.state.status]).toEqual(['running', 'running']);
      expect(app?.settings.HostConfig.NetworkMode).toBe(`container:${vpn?.id}`);
    });

    test('does so for a member of a group whose target runs in its new version already, and stays', async () => {
      const scene = createSandboxScene();
      await run(scene, 'vpn');
      await run(scene, 'app', { HostConfig: { NetworkMode: 'container:vpn' } });
      release(scene, 'vpn');
      const { engine, control } = scene.sandbox;
      const meddled = meddledWith(engine, 2, () => control.pruneContainers());
      const session = await serviceIn(scene, {}, { engine: meddled }).application.update(full);
      expect(outcomes(session)).toEqual({ vpn: 'updated', app: 'rolled_back' });
      expect(reasonFor(session, 'app')).toMatch(/created again with the same settings$/);
      const [vpn, app] = await Promise.all(['vpn', 'app'].map((name) => engine.inspectContainer(name)));
      expect([vpn?.state.status, app?.state.status]).toEqual(['running', 'running']);
      expect(app?.settings.HostConfig.NetworkMode).toBe(`container:${vpn?.id}`);
    });

    test('goes on with a group of which someone has removed an old member that was parked', async () => {
      const scene = createSandboxScene();
      await run(scene, 'vpn');
      await run(scene, 'app', { HostConfig: { NetworkMode: 'container:vpn' } });
      release(scene, 'vpn');
      const { engine, control } = scene.sandbox;
      const meddled: Engine = {
        ...engine,
        renameContainer: async (id, name) => {
          if (name.startsWith('vpn.upkeep-old-')) control.removeContainer(name.replace('vpn', 'app'));
          return engine.renameContainer(id, name);
        },
      };
      const session = await serviceIn(scene, {}, { engine: meddled }).application.update(full);
      expect(outcomes(session)).toEqual({ vpn: 'updated', app: 'restarted' });
      const [vpn, app] = await Promise.all(['vpn', 'app'].map((name) => engine.inspectContainer(name)));
      expect([vpn?.state.status, app?.state.status]).toEqual(['running', 'running']);
      expect(app?.settings.HostConfig.NetworkMode).toBe(`container:${vpn?.id}`);
    });

    test('leaves it gone when someone has removed the two, and says that it must be created again', async () => {
      const [{ sandbox }, session] = await updateWith(({ sandbox: { control } }) => {
        for (const name of Object.keys(control.snapshot().containers)) control.removeContainer(name);
      });
      expect(outcomes(session)).toEqual({ app: 'failed' });
      expect(reasonFor(session, 'app')).toMatch(
        /; someone removed the old container and the new one meanwhile, so it must be created again$/,
      );
      expect(await sandbox.engine.listContainers()).toEqual([]);
    });
  });

  test('begins what depends on another only after that one has succeeded, and so many at once', async () => {
    const scene = createSandboxScene();
    await run(scene, 'db');
    await run(scene, 'api', dependsOn('db'));
    for (const name of ['aa', 'bb', 'cc', 'dd']) await run(scene, name);
    release(scene, 'db', 'api', 'aa', 'bb', 'cc', 'dd');
    const { application, events } = serviceIn(scene, { updateConcurrency: 2, unproven: 0 });
    await application.update(full);
    let running = 0;
    let most = 0;
    for (const { kind } of events) {
      if (kind === 'update_started') most = Math.max(most, (running += 1));
      if (kind === 'update_completed') running -= 1;
    }
    expect(most).toBe(2);
    const at = (kind: ServiceEvent['kind'], name: string) =>
      events.findIndex(
        (event) =>
          event.kind === kind &&
          ('container' in event ? event.container : 'outcome' in event && event.outcome.name) === name,
      );
    expect(at('update_started', 'api')).toBeGreaterThan(at('update_completed', 'db'));
  });

  test('leaves out a container that cannot be inspected, and updates the others', async () => {
    const scene = createSandboxScene();
    const ghost = await run(scene, 'ghost');
    await run(scene, 'app');
    release(scene, 'ghost', 'app');
    const { engine } = scene.sandbox;
    const haunted: Engine = {
      ...engine,
      inspectContainer: (id, signal) =>
        id === ghost
          ? Promise.reject(new ServiceError('engine-refused', 'Cannot inspect container "ghost": no such task'))
          : engine.inspectContainer(id, signal),
    };
    const { application, complaints } = serviceIn(scene, {}, { engine: haunted });
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ ghost: 'skipped', app: 'updated' });
    expect(reasonFor(session, 'ghost')).toBe('It could not be inspected, or is gone');
    expect(complaints).toContain('A container cannot be inspected and is left out of the plan');
  });

  test('that fails as a whole says so, and lets the next one in', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const { application, events } = serviceIn(scene);
    scene.sandbox.control.stopEngine('graceful');
    await expect(application.update(full)).rejects.toMatchObject({ code: 'engine-unreachable' });
    expect(kinds(events)).toEqual(['scan_started', 'scan_failed']);
    scene.sandbox.control.startEngine();
    await application.update(full);
  });
});

describe('one update at a time', () => {
  test('a full one gives way while another runs; one that names containers waits for its turn', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb', 'cc']) await run(scene, name);
    release(scene, 'aa', 'bb', 'cc');
    const { application, events } = serviceIn(scene);
    const order: string[] = [];
    const done = (name: string) => (session: Session) => {
      order.push(name);
      return session;
    };
    const running = application.update(only('aa')).then(done('aa'));
    const waiting = [application.update(only('bb')).then(done('bb')), application.update(only('cc')).then(done('cc'))];
    await expect(application.update(full)).rejects.toMatchObject({ code: 'busy' });
    expect(kinds(events)).toContain('scan_skipped');
    const sessions = await Promise.all([running, ...waiting]);
    expect(order).toEqual(['aa', 'bb', 'cc']);
    expect(sessions.map(outcomes)).toEqual([{ aa: 'updated' }, { bb: 'updated' }, { cc: 'updated' }]);
    const scans = events.filter(({ kind }) => kind === 'scan_started' || kind === 'scan_completed');
    expect(kinds(scans)).toEqual(Array.from({ length: 3 }, () => ['scan_started', 'scan_completed']).flat());
    expect(outcomes(await application.update(full))).toEqual({ aa: 'fresh', bb: 'fresh', cc: 'fresh' });
  });

  test('whoever hangs up while waiting has changed nothing', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb']) await run(scene, name);
    release(scene, 'aa', 'bb');
    const { application } = serviceIn(scene);
    const running = application.update(only('aa'));
    const client = new AbortController();
    const waiting = application.update(only('bb'), client.signal);
    client.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect(outcomes(await running)).toEqual({ aa: 'updated' });
    expect(outcomes(await application.update(only('bb')))).toEqual({ bb: 'updated' });
  });

  test('a check and a plan wait for nobody', async () => {
    const scene = createSandboxScene();
    await run(scene, 'aa');
    release(scene, 'aa');
    const { application } = serviceIn(scene);
    const running = application.update(full);
    expect((await application.check(full)).containers).toHaveLength(1);
    expect((await application.plan(full)).plan.transactions).toHaveLength(1);
    await running;
  });

  test('a recovery has its turn too, and the next update waits for it', async () => {
    const scene = createSandboxScene();
    const { application } = serviceIn(scene);
    const recovering = application.recover();
    const next = application.update(full);
    await expect(application.update(full)).rejects.toMatchObject({ code: 'busy' });
    expect(await recovering).toEqual({ transactions: [] });
    await next;
  });
});

describe('an abort', () => {
  test('lets what is under way end, and begins nothing else', async () => {
    const scene = createSandboxScene();
    for (const name of ['aa', 'bb', 'cc']) await run(scene, name);
    release(scene, 'aa', 'bb', 'cc');
    const { application, events } = serviceIn(scene, { updateConcurrency: 1 });
    const limit = new AbortController();
    application.subscribe((event) => {
      if (event.kind === 'phase_entered' && event.phase === 'checking health') limit.abort();
    });
    const session = await application.update(full, limit.signal);
    expect(outcomes(session)).toEqual({ aa: 'updated', bb: 'skipped', cc: 'skipped' });
    expect(reasonFor(session, 'bb')).toBe('The run was cancelled before its turn');
    expect(kinds(events).filter((kind) => kind === 'update_started')).toHaveLength(1);
    for (const name of ['aa', 'bb', 'cc'])
      expect((await scene.sandbox.engine.inspectContainer(name))?.state.status).toBe('running');
  });

  test('during the check replaces nothing, and still tells what was found', async () => {
    const scene = createSandboxScene();
    const id = await run(scene, 'app');
    await run(scene, 'slow', {}, 'slow.test/slow:1');
    release(scene, 'app');
    scene.registry.store.misbehave('slow.test', { kind: 'silent', deadlineMs: 30_000 });
    const limit = new AbortController();
    void scene.clock.sleep(1000).then(() => limit.abort());
    const session = await serviceIn(scene).application.update(full, limit.signal);
    expect(outcomes(session)).toEqual({ app: 'skipped', slow: 'unknown' });
    expect((await scene.sandbox.engine.inspectContainer('app'))?.id).toBe(id);
  });
});

describe('clean-up', () => {
  const imageIdOf = async (scene: SandboxScene, name: string) =>
    (await scene.sandbox.engine.inspectContainer(name))?.imageId ?? '';
  const held = async (scene: SandboxScene, id: string) => (await scene.sandbox.engine.inspectImage(id)) !== undefined;

  test('removes the old image of an updated container, and tells before the run is complete', async () => {
    const scene = createSandboxScene();
    const containerId = await run(scene, 'app');
    const imageId = await imageIdOf(scene, 'app');
    release(scene, 'app');
    const { application, events } = serviceIn(scene, { cleanup: true });
    await application.update(full);
    expect(await held(scene, imageId)).toBe(false);
    expect(events.at(-2)).toMatchObject({
      kind: 'image_cleanup',
      images: [{ imageId, imageName: 'app:1', containerId, containerName: 'app' }],
    });
    expect(kinds(events).at(-1)).toBe('scan_completed');
  });

  test('is off unless asked for', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const imageId = await imageIdOf(scene, 'app');
    release(scene, 'app');
    await serviceIn(scene).application.update(full);
    expect(await held(scene, imageId)).toBe(true);
  });

  test.each<readonly [string, (scene: SandboxScene, imageId: string) => Promise<unknown>]>([
    [
      'a stopped container uses it',
      async (scene) => {
        await run(scene, 'sibling', {}, 'app:1');
        await scene.sandbox.control.stopContainer('sibling');
      },
    ],
    ['it has another tag', (scene, imageId) => Promise.resolve(scene.sandbox.control.tagImage(imageId, 'app:backup'))],
  ])('keeps the old image while %s', async (_, use) => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const imageId = await imageIdOf(scene, 'app');
    await use(scene, imageId);
    release(scene, 'app');
    const { engine, calls } = countCalls(scene.sandbox.engine);
    const { application, events, complaints } = serviceIn(scene, { cleanup: true }, { engine });
    expect(outcomes(await application.update(full))).toEqual({ app: 'updated' });
    expect(await held(scene, imageId)).toBe(true);
    // The mark of the update.
    expect(calls.removeImage).toBe(1);
    expect(kinds(events)).not.toContain('image_cleanup');
    expect(complaints).toEqual([]);
  });

  test('keeps the image that a rolled back container runs', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const imageId = await imageIdOf(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2', behaviour: { exitsAfterMs: 10 } });
    const { application } = serviceIn(scene, { cleanup: true });
    expect(outcomes(await application.update(full))).toEqual({ app: 'rolled_back' });
    expect(await held(scene, imageId)).toBe(true);
  });
});

test('the outcome of a version that failed tells how long what took, and its last words without secrets', async () => {
  const scene = createSandboxScene();
  await run(scene, 'app', { Env: ['APP_PASSWORD=hunter22'] });
  scene.registry.store.publish('app:1', {
    version: '2',
    behaviour: {
      exitsAfterMs: 400,
      exitCode: 3,
      logLines: ['login hunter22 \x1b[2Jrefused'],
    },
  });
  const { application, events } = serviceIn(scene);
  const { containers } = await application.update(full);
  expect(containers[0]).toMatchObject({
    outcome: 'rolled_back',
    reason: 'the new version of "app" failed: it exited with code 3',
    log: 'login *** \\x1b[2Jrefused\n',
    phases: { pulling: 0, preparing: 0, stopping: 0, starting: 0, 'checking health': 450, 'rolling back': 0 },
  });
  expect(containers[0]?.downtimeMs).toBe(450);
  expect(events.find(({ kind }) => kind === 'update_failed')).toMatchObject({ outcome: containers[0] });
  expect(application.history()[0]?.failures).toEqual([
    { name: 'app', outcome: 'rolled_back', reason: containers[0]?.reason },
  ]);
});

test('a process that takes its time to end is down from the moment it was told to, by the clock of the engine', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1', behaviour: { stopMs: 6000 } });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('app', { Image: 'app:1' });
  release(scene, 'app');
  const { application, events } = serviceIn(scene);
  const { containers } = await scene.clock.run(() => application.update(full));
  expect(containers[0]).toMatchObject({ outcome: 'updated', downtimeMs: 6000, stoppingMs: 6000 });
  expect(events.find(({ kind }) => kind === 'update_completed')).toMatchObject({ outcome: { stoppingMs: 6000 } });
});

test('what was not running before is not told to have been down', async () => {
  const scene = createSandboxScene();
  await run(scene, 'app');
  await run(scene, 'rest');
  await scene.sandbox.engine.stopContainer(scene.sandbox.control.snapshot().containers['rest']?.id ?? '', {});
  await scene.clock.advance(60_000);
  for (const name of ['app', 'rest']) release(scene, name);
  const { application } = serviceIn(scene, { includeStopped: true, reviveStopped: true });
  const { containers } = await scene.clock.run(() => application.update(full));
  const told = Object.fromEntries(containers.map(({ name, outcome, downtimeMs }) => [name, [outcome, downtimeMs]]));
  expect(told).toEqual({ app: ['updated', 0], rest: ['updated', undefined] });
});

describe('createApplication()', () => {
  test('a check announces its own scan, without a session', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    await run(scene, 'denied', {}, 'private.test/denied:1');
    scene.registry.store.misbehave('private.test', { kind: 'denied' });
    const { application, events } = serviceIn(scene);
    await application.check({ ...full, trigger: 'http' });
    expect(events[0]).toMatchObject({ kind: 'scan_started', purpose: 'check', trigger: 'http' });
    expect(events.at(-1)).toMatchObject({
      kind: 'scan_completed',
      purpose: 'check',
      scanned: 2,
      updated: 0,
      failed: 1,
      session: undefined,
    });
    expect(new Set(events.map((event) => 'runId' in event && event.runId)).size).toBe(1);
  });

  test('a check that fails as a whole announces that', async () => {
    const scene = createSandboxScene();
    scene.sandbox.control.stopEngine('graceful');
    const { application, events } = serviceIn(scene);
    await expect(application.check(full)).rejects.toMatchObject({ code: 'engine-unreachable' });
    expect(events.at(-1)).toMatchObject({ kind: 'scan_failed', purpose: 'check' });
  });

  test('a plan tells what an update would do, minds the cooldown, and changes nothing', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    await run(scene, 'young', labels({ 'upkeep.cooldown-delay': '30d' }));
    release(scene, 'app');
    scene.registry.store.publish('young:1', { version: '2', createdAtMs: scene.clock.nowMs() });
    const process = scene.startProcess();
    const { plan, report } = await createApplication(process.outside, defaultSettings).plan(full);
    expect(plan.transactions.map(({ members }) => members.map(({ container }) => container.name))).toEqual([['app']]);
    expect(report.containers.find(({ name }) => name === 'young')?.status).toBe('held');
    expect(process.connection.calls).toEqual([]);
  });

  test('a listener that throws harms neither the update nor the other listeners', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    release(scene, 'app');
    const { application, events } = serviceIn(scene);
    application.subscribe(() => {
      throw new Error('boom');
    });
    expect(outcomes(await application.update(full))).toEqual({ app: 'updated' });
    expect(kinds(events).at(-1)).toBe('scan_completed');
  });
});
