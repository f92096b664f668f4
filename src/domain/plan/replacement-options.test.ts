import { describe, expect, test } from 'vitest';
import { inspectedContainer, type ContainerParts } from '../../../test/support/scene/builders.ts';
import type { MountPoint } from '../container/container.ts';
import { maxKeepMs } from '../settings/values/label-values.ts';
import { getsFreshVolumes, keepOrderOf, startOrderOf } from './replacement.ts';

type KeepContext = Parameters<typeof keepOrderOf>[1];

const order = (parts: ContainerParts, startFirst = true, mounts: readonly MountPoint[] = []) => {
  const container = inspectedContainer('web', parts);
  return startOrderOf({ ...container, settings: { ...container.settings, Mounts: mounts } }, { startFirst });
};
const asked = { 'upkeep.start-first': 'true' };
const port = (HostPort: string) => ({ PortBindings: { '80/tcp': [{ HostIp: '', HostPort }] } });

describe('startOrderOf()', () => {
  test('is what the option says, and the label before it', () => {
    expect(order({})).toEqual({ kind: 'start-first' });
    expect(order({}, false)).toEqual({ kind: 'stop-first' });
    expect(order({ labels: asked }, false)).toEqual({ kind: 'start-first' });
    expect(order({ labels: { 'upkeep.start-first': 'false' } })).toEqual({ kind: 'stop-first' });
  });

  test('is impossible with data that are copied while nothing runs on them, whoever asks', () => {
    const container = inspectedContainer('web', { labels: asked });
    const reason = 'has data to be copied while it is stopped';
    expect(startOrderOf(container, { startFirst: true }, { savesData: true })).toEqual({ kind: 'impossible', reason });
    expect(startOrderOf(inspectedContainer('web'), { startFirst: false }, { savesData: true })).toEqual({
      kind: 'stop-first',
    });
  });

  test.each<readonly [string, ContainerParts]>([
    ['does not run', { status: 'exited' }],
    ['is removed by the engine as soon as it stops (--rm)', { host: { AutoRemove: true } }],
    ['has no network of its own', { host: { NetworkMode: 'host' } }],
    ['has no network of its own', { host: { NetworkMode: 'container:vpn' } }],
    ['publishes a fixed port', { host: port('8080') }],
    ['has a fixed hardware address', { config: { MacAddress: '02:42:ac:11:00:02' } }],
    ['has a fixed address', { networks: { front: { IPAMConfig: { IPv4Address: '10.0.0.9' } } } }],
  ])('is impossible for one that %s, whoever asks', (reason, parts) => {
    expect(order(parts)).toEqual({ kind: 'impossible', reason });
    expect(order({ ...parts, labels: asked })).toEqual({ kind: 'impossible', reason });
  });

  test.each([
    ['front', '2e:7c:77:9e:09:d8', 'start-first'],
    ['back', '02:42:0a:00:00:09', 'start-first'],
    ['back', '2e:7c:77:9e:09:d8', 'impossible'],
  ])('in %s with the hardware address %s, which a successor may repeat, it is %s', (name, MacAddress, kind) => {
    const networks = { front: {}, [name]: { DNSNames: null, IPAddress: '10.0.0.9', MacAddress } };
    expect(order({ host: { NetworkMode: 'front' }, networks }).kind).toBe(kind);
    const ofOldEngine = { front: {}, [name]: { IPAddress: '10.0.0.9', MacAddress } };
    expect(order({ host: { NetworkMode: 'front' }, networks: ofOldEngine }).kind).toBe('start-first');
  });

  test.each<ContainerParts>([
    { host: port('') },
    { host: { PortBindings: { '80/tcp': null } } },
    { networks: { front: { IPAMConfig: {}, Aliases: ['www'] }, back: { IPAMConfig: null } } },
  ])('two can run at once of %j', (parts) => {
    expect(order(parts)).toEqual({ kind: 'start-first' });
  });

  test('two write to the same place only where a label says that they may', () => {
    const data = { Type: 'volume', Destination: '/data', RW: true };
    const reason = 'has a volume or folder that both could write to';
    expect(order({}, true, [data])).toEqual({ kind: 'impossible', reason });
    expect(order({ labels: asked }, true, [data])).toEqual({ kind: 'start-first' });
    expect(
      order({}, true, [
        { ...data, RW: false },
        { ...data, Type: 'tmpfs' },
      ]),
    ).toEqual({ kind: 'start-first' });
  });
});

test('getsFreshVolumes() spares volumes that others use, and those of a container with the same image', () => {
  const removing = { removeVolumes: true };
  expect(getsFreshVolumes({ cause: 'stale' }, removing)).toBe(true);
  expect(getsFreshVolumes({ cause: 'stale', lendsVolumes: true }, removing)).toBe(false);
  expect(getsFreshVolumes({ cause: 'linked' }, removing)).toBe(false);
  expect(getsFreshVolumes({ cause: 'stale' }, { removeVolumes: false })).toBe(false);
});

const alone: KeepContext = {
  settings: { keepOldMs: 1000, removeVolumes: false },
  abilities: { changesRestartPolicies: true },
  isInGroup: false,
  isForHelper: false,
  autoRemoves: false,
};
const unable = { abilities: { changesRestartPolicies: false } };
const labelled = (value: string) => inspectedContainer('web', { labels: { 'upkeep.keep-old': value } });
const always = inspectedContainer('web', { host: { RestartPolicy: { Name: 'always' } } });

describe('keepOrderOf()', () => {
  test('is what the label says, else the setting, and no longer than three months', () => {
    expect(keepOrderOf(always, alone)).toEqual({ keepMs: 1000 });
    expect(keepOrderOf(labelled('2h'), alone)).toEqual({ keepMs: 7_200_000 });
    expect(keepOrderOf(labelled('0'), { ...alone, isInGroup: true })).toEqual({ keepMs: 0 });
    expect(keepOrderOf(labelled('100w'), alone)).toEqual({ keepMs: maxKeepMs });
  });

  test.each<[Partial<KeepContext>, string]>([
    [{ isInGroup: true }, 'together with others'],
    [{ isForHelper: true }, 'Upkeep itself'],
    [{ autoRemoves: true }, '--rm'],
    [{ settings: { keepOldMs: 1000, removeVolumes: true } }, '--remove-volumes'],
    [unable, 'restart policy'],
  ])('is nothing where it could not come back, or could come up: %j', (more, reason) => {
    expect(keepOrderOf(always, { ...alone, ...more })).toEqual({ keepMs: 0, reason: expect.stringContaining(reason) });
  });

  test('minds no restart policy that starts nothing', () => {
    expect(keepOrderOf(inspectedContainer('web'), { ...alone, ...unable })).toEqual({ keepMs: 1000 });
  });
});
