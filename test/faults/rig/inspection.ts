import { setTimeout as sleep } from 'node:timers/promises';
import { imageIdOf } from '../../lab/engine/image-id.ts';
import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import type { Shape } from './shapes.ts';
import type { Stage } from './stage.ts';

/** State of a shape before the fault, for the comparison afterwards. */
export type Before = {
  readonly containers: ReadonlyMap<string, Inspected>;
  readonly running: Running;
};

/** Running containers by name, parked or not, at a moment in seconds of the engine's clock. */
export type Running = { readonly since: number; readonly ids: ReadonlyMap<string, ReadonlySet<string>> };

export async function lookBefore(stage: Stage, shape: Shape): Promise<Before> {
  const containers = new Map<string, Inspected>();
  for (const name of Object.keys(shape.containers)) {
    const container = await stage.engine.inspect(name);
    if (container === undefined) throw new Error(`the scene has no "${name}"`);
    containers.set(name, container);
  }
  return { containers, running: await lookWhoRuns(stage.engine) };
}

export async function lookWhoRuns(engine: EngineClient): Promise<Running> {
  // Not earlier: a start of the last scene's container would count as a second one beside this scene's.
  const since = Date.now() / 1000;
  const { body } = await engine.call('GET', '/containers/json');
  const ids = new Map<string, Set<string>>();
  for (const { Id, Names } of body as { readonly Id: string; readonly Names: readonly string[] }[]) {
    if (/\.upkeep-(?:measure|save|restore)$/.test(Names[0] ?? '')) continue;
    const name = ownName((Names[0] ?? '').slice(1));
    ids.set(name, new Set([...(ids.get(name) ?? []), Id]));
  }
  return { since, ids };
}

/** Its plain name, for any parked name. */
function ownName(name: string): string {
  return name.replace(/\.upkeep-.*/, '');
}

/**
 * Errors after the next start has gone idle; empty when nothing was lost. `running`: containers at the
 * engine's last start, which forgets its events. `apart`: ids outside the shape.
 */
export async function faultsAfter(
  stage: Stage,
  shape: Shape,
  before: Before,
  running: Running = before.running,
  apart: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const { engine } = stage;
  const all = await settledNames(engine, apart);
  const kept = all.filter((name) => name.includes('.upkeep-kept-'));
  const names = all.filter((name) => !kept.includes(name));
  const expected = Object.keys(shape.containers).sort();
  const faults: string[] = [];
  if (names.join() !== expected.join()) faults.push(`the containers are ${names.join(', ') || 'gone'}`);
  faults.push(...(await wrongOfKept(stage, shape, before, kept)));
  const images = new Set<string>();
  for (const [name, state] of Object.entries(shape.containers)) {
    const container = await engine.inspect(name);
    const old = before.containers.get(name);
    if (container === undefined || old === undefined) continue;
    images.add(container.Image);
    faults.push(...compare(name, state, old, container, stage, shape));
  }
  if (images.size > 1 && !shape.apart && !shape.mayBeCopied)
    faults.push('the group is of two minds: one member is new, one is old');
  if (!shape.overlaps) faults.push(...(await doubleRuns(engine, running, apart)));
  const isNew = images.has(imageIdOf(stage.versions.next));
  if (faults.length === 0) faults.push(...((await shape.wrongAtTheEnd?.(engine, isNew)) ?? []));
  return faults;
}

/** Errors of kept containers: a replaced one must be kept if any is, and must neither run nor start by itself. */
async function wrongOfKept(
  { engine, versions }: Stage,
  { keeps = false, containers }: Shape,
  before: Before,
  kept: readonly string[],
): Promise<string[]> {
  const [name = ''] = Object.keys(containers);
  const isNew = (await engine.inspect(name))?.Image === imageIdOf(versions.next);
  if (kept.length !== (keeps && isNew ? 1 : 0)) return [`kept are ${kept.join(', ') || 'none'}`];
  const found = await Promise.all(kept.map((one) => engine.inspect(one)));
  return found.flatMap((container) => {
    const policy = (container?.HostConfig['RestartPolicy'] as { readonly Name?: string } | undefined)?.Name ?? '';
    const isStill = container?.State.Running === false && (policy === '' || policy === 'no');
    return isStill && container.Id === before.containers.get(name)?.Id
      ? []
      : [`what is kept is ${container?.State.Status}, "${policy}"`];
  });
}

function compare(
  name: string,
  state: 'running' | 'stopped',
  old: Inspected,
  now: Inspected,
  { versions }: Stage,
  shape: Shape,
): string[] {
  const faults: string[] = [];
  const isNew = now.Image === imageIdOf(versions.next);
  if (now.State.Running !== (state === 'running')) faults.push(`"${name}" is ${now.State.Status}`);
  if (!isNew && now.Image !== imageIdOf(versions.old)) faults.push(`"${name}" runs neither the old nor the new image`);
  if (isNew && !shape.good) faults.push(`"${name}" stayed on a bad version`);
  if (!isNew && now.Id !== old.Id && !shape.selfRemoving && !shape.mayBeCopied)
    faults.push(`"${name}" is not the container it was`);
  return [...faults, ...changedSettings(name, old, now)];
}

/** Changed policy, ports, volumes and networks. */
export function changedSettings(name: string, old: Inspected, now: Inspected): string[] {
  const faults: string[] = [];
  if (policy(now) !== policy(old)) faults.push(`"${name}" has another restart policy`);
  for (const part of ['PortBindings', 'Binds'] as const) {
    const [is, was] = [now, old].map(({ HostConfig }) => JSON.stringify(HostConfig[part], withoutDefaults));
    if (is !== was) faults.push(`"${name}" has another ${part}: ${is} instead of ${was}`);
  }
  if (volumes(now) !== volumes(old)) faults.push(`"${name}" has other volumes`);
  if (networks(now) !== networks(old))
    faults.push(`"${name}" is in other networks: ${networks(now)} instead of ${networks(old)}`);
  return faults;
}

/** Podman lists the options of an anonymous volume in another order, and with the default `exec`. */
function withoutDefaults(_: string, value: unknown): unknown {
  const [, place, options] = (typeof value === 'string' ? /^(\/?[^:]+:[^:]+):([\w,]+)$/.exec(value) : undefined) ?? [];
  if (place === undefined || options === undefined) return value;
  const sorted = options.split(',').filter((option) => option !== 'exec');
  return `${place}:${sorted.toSorted().join()}`;
}

/** Docker 20.10 stores an omitted policy as an empty name, which means `no`. */
function policy({ HostConfig }: Inspected): string {
  const { Name, MaximumRetryCount } = HostConfig.RestartPolicy as { Name: string; MaximumRetryCount?: number };
  return `${Name || 'no'} ${MaximumRetryCount ?? 0}`;
}

function volumes({ Mounts }: Inspected): string {
  return Mounts.map((mount) => `${String(mount['Name'])}:${String(mount['Destination'])}`)
    .sort()
    .join();
}

function networks({ NetworkSettings, Id, Config, HostConfig }: Inspected): string {
  // Podman lists the aliases of the container whose network this one uses, which has a new id after its update.
  const [, holder = ''] = /^container:(.{12})/.exec(String(HostConfig['NetworkMode'])) ?? [];
  const own = [Id.slice(0, 12), String(Config['Hostname']), holder];
  return Object.entries(NetworkSettings.Networks)
    .map(([name, endpoint]) => {
      const aliases = ((endpoint['Aliases'] ?? []) as string[]).filter((alias) => !own.includes(alias));
      return `${name}[${aliases.join()}]${JSON.stringify(endpoint['IPAMConfig'] ?? null)}`;
    })
    .sort()
    .join();
}

export async function containerNames(engine: EngineClient, apart: ReadonlySet<string> = new Set()): Promise<string[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  return (body as { Id: string; Names: string[] }[])
    .filter(({ Id }) => !apart.has(Id))
    .map(({ Names }) => (Names[0] ?? '').slice(1))
    .sort();
}

/**
 * After its own crash, Docker lists containers with `--rm` without a name before it removes them; that may take ten
 * seconds, and longer on a busy machine. Some of them it never removes from its list, although they no longer exist.
 */
async function settledNames(engine: EngineClient, apart: ReadonlySet<string>): Promise<string[]> {
  for (let tries = 0; ; tries += 1) {
    const names = await containerNames(engine, apart);
    if (!names.includes('')) return names;
    if (tries === 600) return containerNames(engine, new Set([...apart, ...(await ghostsOf(engine))]));
    await sleep(100);
  }
}

async function ghostsOf(engine: EngineClient): Promise<string[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  const nameless = (body as { Id: string; Names: string[] }[]).filter(({ Names }) => Names.length === 0);
  const found = await Promise.all(nameless.map(({ Id }) => engine.inspect(Id)));
  return nameless.filter((_, index) => found[index] === undefined).map(({ Id }) => Id);
}

/** From the engine's own events: an old container and its successor must never run at the same time. */
async function doubleRuns(
  engine: EngineClient,
  { since, ids: atFirst }: Running,
  apart: ReadonlySet<string>,
): Promise<string[]> {
  const filters = encodeURIComponent('{"type":["container"]}');
  const { body } = await engine.call('GET', `/events?since=${since}&until=${Date.now() / 1000 + 1}&filters=${filters}`);
  const running = new Map([...atFirst].map(([name, ids]) => [name, new Set(ids)]));
  const faults = new Map<string, string>();
  const restoring = new Set<string>();
  const seen = [...running].flatMap(([name, ids]) => [...ids].map((id) => `running ${name} ${id.slice(0, 6)}`));
  const look = (name: string): void => {
    if ((running.get(name)?.size ?? 0) < 2 || faults.has(name)) return;
    faults.set(name, `two of "${name}" ran at the same time: ${seen.join(', ')}`);
  };
  for (const name of running.keys()) look(name);
  for (const line of typeof body === 'string' ? body.trim().split('\n') : [JSON.stringify(body)]) {
    if (line === '') continue;
    const { Action, Actor } = JSON.parse(line) as {
      Action: string;
      Actor: { ID: string; Attributes: Record<string, string> };
    };
    if (apart.has(Actor.ID)) continue;
    const fullName = Actor.Attributes['name'] ?? '';
    const name = ownName(fullName);
    const helper = /\.upkeep-(measure|save|restore)$/.exec(fullName)?.[1];
    if (helper !== undefined) {
      seen.push(`${Action} ${fullName}`);
      if (Action === 'start' && helper === 'restore') restoring.add(Actor.ID);
      if (Action === 'die' || Action === 'destroy') restoring.delete(Actor.ID);
      if (Action === 'start' && helper !== 'measure' && [...running.values()].some(({ size }) => size > 0))
        faults.set(helper, `data were copied while a container ran: ${seen.join(', ')}`);
      continue;
    }
    if (Action === 'start' && restoring.size > 0)
      faults.set('restore', `a container was started while its data were restored: ${seen.join(', ')}`);
    const ids = running.get(name) ?? new Set();
    running.set(name, ids);
    if (['start', 'die', 'destroy'].includes(Action)) seen.push(`${Action} ${fullName} ${Actor.ID.slice(0, 6)}`);
    if (Action === 'die' || Action === 'destroy') ids.delete(Actor.ID);
    if (Action === 'start') ids.add(Actor.ID);
    look(name);
  }
  return [...faults.values()];
}
