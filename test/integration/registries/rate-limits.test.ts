import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { startFront, type Front, type FrontCall, type Said } from '../../lab/registry/registry-front.ts';
import type { LabRegistry } from '../../lab/registry/registry.ts';
import { createRequestLimit } from '../../lab/registry/request-limit.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

const repositories = 8;
const tags = 25;
/** Number of tags that move in each repository. */
const moved = 3;
const deadlineMs = 60_000;

/** Many containers of one registry with a rate limit: reports are true, and there are not too many requests. */
describeInLab('200 containers at a registry that limits requests', (lab) => {
  const names = Array.from({ length: repositories * tags }, (_, i) => ({
    name: `limited-${i}`,
    repository: `limits/app${i % repositories}`,
    tag: `v${Math.floor(i / repositories)}`,
    isStale: Math.floor(i / repositories) < moved,
  }));
  let registry: LabRegistry;
  let front: Front;
  let says: (call: FrontCall) => Said = () => ({});
  /** Ids of the images that stale containers should get. */
  const newer = new Map<string, string>();
  const upkeep = upkeepScene({ socket: lab.engine.socket, args: ['--include-stopped'] });
  const asks = ({ path }: FrontCall): boolean => path.includes('/manifests/');

  beforeAll(async () => {
    registry = await lab.startRegistry({});
    front = await startFront({ upstreams: {}, otherwise: registry.url, says: (call) => says(call) });
    await inParallel(names, 8, async ({ name, repository, tag }) => {
      await pushImage(registry, repository, tag, webServer(`${name} old`));
      const image = `127.0.0.1:${front.port}/${repository}:${tag}`;
      await lab.engine.pull(image);
      await lab.engine.create(name, image);
    });
    await inParallel(
      names.filter(({ isStale }) => isStale),
      8,
      async ({ name, repository, tag }) => {
        newer.set(name, (await pushImage(registry, repository, tag, webServer(`${name} new`))).configDigest);
      },
    );
  });

  beforeEach(() => {
    says = () => ({});
  });

  afterAll(async () => {
    await lab.engine.clear();
    await front.close();
    await registry.remove();
  });

  /** Runs it with the limit; counts the requests and prints the count. */
  async function counted<Result>(what: string, rule: typeof says, run: () => Promise<Result>): Promise<Result> {
    const [before, beganMs] = [front.calls.length, performance.now()];
    says = rule;
    const result = await run();
    const tookMs = performance.now() - beganMs;
    const calls = front.calls.slice(before).filter(asks);
    const refused = calls.filter(({ status }) => status === 429).length;
    console.log(`RESULT ${what}: ${calls.length} requests, ${refused} refused, ${(tookMs / 1000).toFixed(1)} s`);
    expect(tookMs).toBeLessThan(deadlineMs);
    return result;
  }

  test('check: where the registry announces what is left, it is overrun by one request per window at most', async () => {
    const limit = createRequestLimit({ limit: 100, windowMs: 4000, counts: asks });
    const entries = await counted('check, announced limit of 100 in 4 s', limit.says, () => upkeep.check());
    for (const { name, isStale } of names) expect(entries[name]?.status, name).toBe(isStale ? 'stale' : 'fresh');
    expect(limit.windows.length).toBeGreaterThan(1);
    for (const { asked } of limit.windows) expect(asked).toBeLessThanOrEqual(101);
  });

  test('check: where requests are refused half of the time, each container is told apart in the end', async () => {
    let firstAtMs: number | undefined;
    const halfOfTheTime = (call: FrontCall): Said => {
      if (!asks(call)) return {};
      firstAtMs ??= performance.now();
      const phaseMs = (performance.now() - firstAtMs) % 2000;
      if (phaseMs >= 100 && phaseMs < 1100)
        return { headers: { 'retry-after': '1' }, refusal: { status: 429, body: '{}' } };
      return {};
    };
    const entries = await counted('check, refused half of the time', halfOfTheTime, () => upkeep.check());
    for (const { name, isStale } of names) expect(entries[name]?.status, name).toBe(isStale ? 'stale' : 'fresh');
  });

  test('check: with an allowance that is used up for an hour, nobody waits, and what is free is still told', async () => {
    const isCounted = (call: FrontCall): boolean => asks(call) && call.method === 'GET';
    const limit = createRequestLimit({ limit: 10, windowMs: 3_600_000, counts: isCounted });
    const entries = await counted('check, 10 GETs in an hour', limit.says, () => upkeep.check());
    const statuses = names.map(({ name, isStale }) => {
      const entry = entries[name];
      if (entry?.status !== 'unknown') expect(entry?.status, name).toBe(isStale ? 'stale' : 'fresh');
      else expect(entry.error).toMatch(/limits requests.*may be asked again in (?:1h|5\dm)/);
      return entry?.status;
    });
    expect(new Set(statuses)).toContain('unknown');
    expect(limit.windows[0]?.asked).toBeLessThanOrEqual(11);
  });

  test('update: each outcome is what happened, and no container is lost', async () => {
    const limit = createRequestLimit({ limit: 100, windowMs: 4000, counts: asks });
    const { outcomes } = await counted('update, announced limit of 100 in 4 s', limit.says, () => upkeep.update());
    const seen: Record<string, number> = {};
    for (const { name, isStale } of names) {
      const { outcome = '', reason = '' } = outcomes[name] ?? {};
      seen[outcome] = (seen[outcome] ?? 0) + 1;
      const image = (await lab.engine.inspect(name))?.Image;
      expect(image, name).toBeDefined();
      expect(image === newer.get(name), `${name}: ${outcome}`).toBe(outcome === 'updated');
      if (isStale && outcome !== 'updated') expect(reason).toMatch(/toomanyrequests|limits requests/);
      else expect(outcome, `${name}: ${reason}`).toBe(isStale ? 'updated' : 'fresh');
    }
    console.log(`RESULT update: ${JSON.stringify(seen)}`);
  });
});

async function inParallel<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}
