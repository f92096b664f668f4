import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { engineClient, type Inspected } from '../../lab/engine/engine-client.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { createShiftedClock, type ShiftedClock } from '../../lab/proxy/shifted-clock.ts';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { serveFleet } from '../../support/scene/serve-fleet.ts';

type Reply = {
  readonly containers: readonly { readonly engine: string; readonly outcome: string; readonly reason: string }[];
};

const canaries = ['canary-1', 'canary-2'];
const lasts = ['last-1', 'last-2', 'last-3'];
const later = ['middle', ...lasts];
const names = [...canaries, ...later];
const waves = 'canary-.*, 50%, 100%';
const pauseMs = 8_000;
const hourMs = 3_600_000;

/** Long enough for busy machines. */
const patient = { timeout: 300_000 };

/** Six engines in three waves; the clock of one is an hour ahead. Their containers outlive them. */
describeInLab('waves', (lab) => {
  const image = `${lab.registry.host}/waves/app:1`;
  const engines = new Map<string, LabEngine>();
  const wrongSocket = join(lab.dir, 'wrong-clock.sock');
  let wrongClock: ShiftedClock;

  beforeAll(async () => {
    await release(webServer('v1'));
    for (const name of names) {
      const engine = await lab.startEngine({ name: `wave-${name}`, args: isPodman ? [] : ['--live-restore'] });
      engines.set(name, engine);
      await engine.pull(image);
      await engine.run('web', image, { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } });
    }
    const upstream = engineOf('canary-2').socket;
    wrongClock = await createShiftedClock({ socketPath: wrongSocket, upstream, shiftMs: hourMs });
  });
  afterAll(async () => {
    await wrongClock.close();
    for (const engine of engines.values()) await engine.remove();
  });

  test('a bad version is tried on the canaries alone, also after a restart of everything', patient, async () => {
    const { body } = await engineClient(wrongSocket).call('GET', '/info');
    expect(Date.parse((body as { SystemTime: string }).SystemTime) - Date.now()).toBeGreaterThan(hourMs / 2);
    const before = await ofEach(later, identityOf);
    await release(catalogue['crash']);

    const isHeld = Object.fromEntries(later.map((name) => [name, 'deferred Was rolled back on "canary-1"']));
    expect(await updateOnce()).toEqual({
      'canary-1': expect.stringMatching(/^rolled_back /),
      'canary-2': expect.stringMatching(/^rolled_back /),
      ...isHeld,
    });
    for (const engine of engines.values()) {
      await engine.kill();
      await engine.start();
    }
    expect(await updateOnce()).toMatchObject(isHeld);
    expect(await ofEach(later, identityOf)).toEqual(before);
  });

  test('a wave of which no engine answers proves nothing', patient, async () => {
    const upkeep = await serve();
    await upkeep.lists(names.length);
    await release(webServer('v2'));
    for (const name of canaries) await engineOf(name).kill();
    try {
      const outcomes = outcomesOf(await upkeep.read<Reply>('/v1/update', 'POST'));
      const reason = 'deferred Wave 1 proves nothing, because "canary-1", "canary-2" cannot be reached';
      for (const name of canaries) expect(outcomes[name]).toMatch(/^unknown /);
      for (const name of later) expect(outcomes[name]).toBe(reason);
    } finally {
      for (const name of canaries) await engineOf(name).start();
    }
  });

  test('a good version passes through all waves by itself, also when the service restarts', patient, async () => {
    const digest = await release(webServer('v3'));
    const first = await updateOnce();
    for (const name of canaries) expect(first[name]).toBe('updated');
    expect(first['middle']).toMatch(/^deferred Waits for "canary-[12]", which has run it for \ds of 8s$/);
    const before = await ofEach(later, async (name) => (await look(name)).Id);

    const upkeep = await serve('--http-api-periodic-polls', '--interval', '1h', '--update-on-start');
    for (const name of later)
      await engineOf(name).waitFor('web', ({ Id, State }) => Id !== before[name] && State.Running, 120_000);
    await expect.poll(async () => (await upkeep.ask('/v1/history')).text, { timeout: 60_000 }).toContain('"last-3"');
    await upkeep.stop();

    for (const name of names) expect(await digestOf(name), name).toContain(digest);
    const startOf = async (name: string) => Date.parse((await look(name)).State.StartedAt);
    const proven = Math.max(...Object.values(await ofEach(canaries, startOf)));
    const middle = await startOf('middle');
    expect(middle - proven).toBeGreaterThanOrEqual(pauseMs);
    for (const name of lasts) expect((await startOf(name)) - middle, name).toBeGreaterThanOrEqual(pauseMs);
  });

  test('the tag moves during the pause: later waves get what was proven, and never the newest', patient, async () => {
    const proven = await release({ ...webServer('v4'), created: '2026-06-01T00:00:00Z' });
    const first = await updateOnce();
    for (const name of canaries) expect(first[name]).toBe('updated');
    const newest = await release({ ...webServer('v5'), created: '2026-06-02T00:00:00Z' });
    for (const name of ['middle', 'last-1']) {
      const update = async () => {
        const outcomes = await updateOnce(`?engine=${name}`);
        expect(await digestOf(name)).not.toContain(newest);
        return outcomes[name];
      };
      await expect.poll(update, { timeout: 120_000, interval: 500 }).toBe('updated');
      expect(await digestOf(name)).toContain(proven);
    }
  });

  async function release(spec: ImageSpec): Promise<string> {
    const { digest } = await pushImage(lab.registry, 'waves/app', '1', spec);
    return digest;
  }

  function serve(...args: readonly string[]) {
    const socketOf = (name: string) => (name === 'canary-2' ? wrongSocket : engineOf(name).socket);
    const hosts = names.flatMap((name) => ['--host', `${name}=unix://${socketOf(name)}`]);
    return serveFleet(hosts, { args: ['--waves', waves, '--wave-pause', `${pauseMs}ms`, ...args] });
  }

  /** A service that makes one update and ends. */
  async function updateOnce(query = ''): Promise<Readonly<Record<string, string>>> {
    const upkeep = await serve();
    await upkeep.lists(names.length);
    const reply = await upkeep.read<Reply>(`/v1/update${query}`, 'POST');
    await upkeep.stop();
    return outcomesOf(reply);
  }

  function engineOf(name: string): LabEngine {
    const engine = engines.get(name);
    if (engine === undefined) throw new Error(`There is no engine ${name}`);
    return engine;
  }

  async function look(name: string): Promise<Inspected> {
    const container = await engineOf(name).inspect('web');
    if (container?.State.Running !== true) throw new Error(`web on ${name} does not run`);
    return container;
  }

  async function identityOf(name: string): Promise<string> {
    const { Id, State } = await look(name);
    return `${Id} ${State.StartedAt}`;
  }

  async function digestOf(name: string): Promise<string> {
    const { body } = await engineOf(name).call('GET', `/images/${(await look(name)).Image}/json`);
    return (body as { RepoDigests?: readonly string[] }).RepoDigests?.join(' ') ?? '';
  }
});

function outcomesOf({ containers }: Reply): Readonly<Record<string, string>> {
  return Object.fromEntries(containers.map(({ engine, outcome, reason }) => [engine, `${outcome} ${reason}`.trim()]));
}

async function ofEach<Value>(
  some: readonly string[],
  read: (name: string) => Promise<Value>,
): Promise<Readonly<Record<string, Value>>> {
  return Object.fromEntries(await Promise.all(some.map(async (name) => [name, await read(name)] as const)));
}
