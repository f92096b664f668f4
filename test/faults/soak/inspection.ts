import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { comparable, withoutPins } from '../../integration/fidelity/comparable.ts';
import type { EngineClient, Inspected } from '../../lab/engine/engine-client.ts';
import { changedSettings } from '../rig/inspection.ts';
import type { Fleet, Member, Release } from './fleet.ts';

/** Each member before the first update. */
export type FirstLook = { readonly release: Release; readonly containers: ReadonlyMap<string, Inspected> };

/** Leaves a file with the name of its member in each volume. */
export async function lookFirst({ engine, members }: Fleet, release: Release): Promise<FirstLook> {
  const containers = new Map<string, Inspected>();
  for (const { name } of members) {
    const container = await engine.inspect(name);
    if (container === undefined) throw new Error(`the fleet has no "${name}"`);
    containers.set(name, container);
    for (const file of markers(container)) writeFileSync(file, name);
  }
  return { release, containers };
}

/**
 * Errors of members and of other containers, by name; empty if nothing was lost or left over, and all have the
 * release.
 */
export async function wrongInFleet(
  { engine, members }: Fleet,
  first: FirstLook,
  release: Release,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const wrong = new Map<string, readonly string[]>();
  const own = new Set(members.map(({ name }) => name));
  for (const { name } of await listAll(engine)) if (!own.has(name)) wrong.set(name, ['it is left over']);
  for (const member of members) {
    const [before, now] = [first.containers.get(member.name), await engine.inspect(member.name)];
    const faults = now === undefined || before === undefined ? ['it is gone'] : wrongWith(member, before, now);
    if (faults.length > 0) wrong.set(member.name, faults);
  }
  return wrong;

  function wrongWith({ name, repository, runs }: Member, before: Inspected, now: Inspected): string[] {
    const faults = changedSettings(name, before, now);
    if (now.State.Running !== runs) faults.push(`it is ${now.State.Status}`);
    if (now.Image !== release.imageIds.get(repository)) faults.push('it is not of the release');
    const [was, is] = [settingsText(before, first.release), settingsText(now, release)];
    if (was !== is) faults.push(`it has drifted: ${firstDifference(was, is)}`);
    for (const file of markers(now))
      if (readOrNothing(file) !== name) faults.push(`what it wrote into ${file} is lost`);
    return faults;
  }
}

type Listed = { readonly name: string; readonly imageId: string; readonly runs: boolean };

export async function listAll(engine: EngineClient): Promise<readonly Listed[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  return (body as { Names: string[]; ImageID: string; State: string }[]).map(({ Names, ImageID, State }) => ({
    name: (Names[0] ?? '').slice(1),
    imageId: ImageID,
    runs: State === 'running',
  }));
}

/** Paths of the marker files in volumes, on the machine of the engine. */
function markers({ Mounts }: Inspected): readonly string[] {
  return Mounts.filter(({ Type }) => Type === 'volume').map(({ Source }) => join(String(Source), 'marker'));
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The whole configuration, with a placeholder for values of the release, and without the journal of the last update.
 */
function settingsText(container: Inspected, { version }: Release): string {
  const { Config, HostConfig, ...rest } = withoutPins(comparable(container)) as {
    readonly Config: { readonly Labels: object };
    readonly HostConfig: Readonly<Record<string, unknown>>;
  };
  const Labels = Object.fromEntries(Object.entries(Config.Labels).filter(([label]) => !label.startsWith('upkeep.tx.')));
  // At a restart Docker replaces an absent list with an empty one.
  const lists = Object.fromEntries(['Dns', 'DnsOptions', 'DnsSearch'].map((field) => [field, HostConfig[field] ?? []]));
  const settings = sorted({ ...rest, Config: { ...Config, Labels }, HostConfig: { ...HostConfig, ...lists } });
  return JSON.stringify(settings, undefined, 1).replaceAll(version, '(release)');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([field, part]) => [field, sorted(part)]),
  );
}

function firstDifference(one: string, other: string): string {
  const [was, is] = [one.split('\n'), other.split('\n')];
  const at = was.findIndex((line, index) => line !== is[index]);
  return `${was[at]?.trim() ?? 'nothing'} is now ${is[at]?.trim() ?? 'nothing'}`;
}
