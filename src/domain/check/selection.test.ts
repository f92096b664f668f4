import { describe, expect, test } from 'vitest';
import { containerSummary, type SummaryParts } from '../../../test/support/scene/builders.ts';
import { selectContainers, whyOptedOut, effectiveScope } from './selection.ts';
import { defaultSettings } from '../settings/effective-settings.ts';

type SelectionSettings = Parameters<typeof selectContainers>[1];

const unscoped: SelectionSettings = { ...defaultSettings, scope: '' };
const imageLabelsOf = () => ({});

/** Reason why a container called `web` is not watched; undefined if it is. */
function whyNot(settings: Partial<SelectionSettings>, parts: SummaryParts = {}, name = 'web'): string | undefined {
  const { unwatched } = selectContainers([containerSummary(name, parts)], { ...unscoped, ...settings }, imageLabelsOf);
  return unwatched[0]?.reason;
}

describe('selectContainers()', () => {
  test('watches every running container, in listing order, when nothing is set', () => {
    const containers = ['zoo', 'ant', 'bee'].map((name) => containerSummary(name));
    const { watched, unwatched } = selectContainers(containers, unscoped, imageLabelsOf);
    expect(watched.map(({ container }) => container.name)).toEqual(['zoo', 'ant', 'bee']);
    expect(unwatched).toEqual([]);
  });

  test.each<readonly [string, Partial<SelectionSettings>, SummaryParts, string | undefined]>([
    ['disabled by label', {}, { labels: { 'upkeep.enable': 'false' } }, 'is disabled by its label'],
    [
      'disabled by drop-in label',
      {},
      { labels: { 'com.centurylinklabs.watchtower.enable': 'false' } },
      'is disabled by its label',
    ],
    [
      'own label wins',
      {},
      { labels: { 'upkeep.enable': 'true', 'com.centurylinklabs.watchtower.enable': 'false' } },
      undefined,
    ],
    ['opt-in, without label', { labelEnable: true }, {}, 'has no enable label, and label-enable is on'],
    ['opt-in, with label', { labelEnable: true }, { labels: { 'upkeep.enable': 'true' } }, undefined],
    [
      'with a label that cannot be read',
      { labelEnable: true },
      { labels: { 'upkeep.enable': 'yess' } },
      'is disabled by its label',
    ],
    ['listed as disabled', { disableContainers: ['w.b'] }, {}, 'is disabled by disable-containers'],
    [
      'with a label of the disabled ones',
      { disableContainersByLabel: ['tier=db', 'keep='] },
      { labels: { keep: 'yes' } },
      'is disabled by disable-containers-by-label',
    ],
    ['with another value of it', { disableContainersByLabel: ['tier=db'] }, { labels: { tier: 'web' } }, undefined],
    [
      'without a label of the enabled ones',
      { enableContainersByLabel: ['tier=db', 'keep='] },
      { labels: { tier: 'web' } },
      'carries no label of enable-containers-by-label',
    ],
    ['with one of the enabled labels', { enableContainersByLabel: ['a=b', 'x='] }, { labels: { x: '' } }, undefined],
    ['partly like a disabled one', { disableContainers: ['we'] }, {}, undefined],
    ['named', { names: ['db', 'web'] }, {}, undefined],
    ['named with a slash', { names: ['/web'] }, {}, undefined],
    ['named by the beginning of one of two', { names: ['we|db'] }, {}, 'is not among the names to watch'],
    ['not named', { names: ['db|webs'] }, {}, 'is not among the names to watch'],
    ['stopped', {}, { status: 'exited' }, 'is stopped, and include-stopped is off'],
    ['created', {}, { status: 'created' }, 'is stopped, and include-stopped is off'],
    ['stopped, included', { includeStopped: true }, { status: 'exited' }, undefined],
    ['restarting', { includeStopped: true }, { status: 'restarting' }, 'is restarting, and include-restarting is off'],
    ['restarting, included', { includeRestarting: true }, { status: 'restarting' }, undefined],
    ['paused', {}, { status: 'paused' }, undefined],
    ['without an image', {}, { image: '', imageId: '' }, 'has no image (podman run --rootfs)'],
    ['dead', { includeStopped: true }, { status: 'dead' }, 'is being removed'],
    ['removing', { includeStopped: true }, { status: 'removing' }, 'is being removed'],
    [
      'a Swarm task',
      {},
      { labels: { 'com.docker.swarm.task.id': 'x' } },
      'is a task of a Swarm service, and Swarm replaces those itself',
    ],
    [
      'another manager’s',
      {},
      { labels: { 'io.kubernetes.pod.name': 'web-1' } },
      'belongs to a pod of Kubernetes, and Kubernetes replaces it itself',
    ],
    [
      'another manager’s, with a label that asks',
      {},
      { labels: { 'io.kubernetes.pod.name': 'web-1', 'upkeep.enable': 'true' } },
      undefined,
    ],
    [
      'another manager’s, disabled too',
      {},
      { labels: { 'org.testcontainers': 'true', 'upkeep.enable': 'false' } },
      'is disabled by its label',
    ],
  ])('%s', (_, settings, parts, expected) => {
    expect(whyNot(settings, parts)).toBe(expected);
  });

  test.each(['web.upkeep-new', 'web.upkeep-old-u', 'web.upkeep-drop-f3', 'web.upkeep-bad'])(
    'never touches %s, which a transaction owns',
    (name) => expect(whyNot({ names: [name] }, {}, name)).toBe('belongs to an update that is not finished'),
  );

  test.each<readonly [scope: string, label: string | undefined, watched: boolean]>([
    ['', undefined, true],
    ['', 'blue', false],
    ['', 'x'.repeat(256), false],
    ['', 'x'.repeat(40_000), false],
    ['', 'a\u202eb', false],
    ['', 'none', true],
    ['blue', 'blue', true],
    ['blue', 'green', false],
    ['blue', undefined, false],
    ['blue', 'none', false],
  ])('scope %j, label %j: watched %j', (scope, label, watched) => {
    const labels: Record<string, string> = label === undefined ? {} : { 'upkeep.scope': label };
    expect(whyNot({ scope }, { labels }) === undefined).toBe(watched);
  });

  test.each<readonly [imageLabels: Readonly<Record<string, string>> | undefined, isWatched: boolean]>([
    [{}, true],
    [{ 'upkeep.enable': 'true' }, false],
    [undefined, false],
  ])('of another manager’s container, only its own label counts: image %j, watched %j', (imageLabels, isWatched) => {
    const labels = { 'com.docker.compose.oneoff': 'True', 'upkeep.enable': 'true' };
    const { watched } = selectContainers([containerSummary('web', { labels })], unscoped, () => imageLabels);
    expect(watched.length === 1).toBe(isWatched);
  });

  test('hands on what the labels say, and which are not heard', () => {
    const labels = { 'upkeep.monitor-only': 'true', 'upkeep.enabel': 'false' };
    const [watched] = selectContainers([containerSummary('web', { labels })], unscoped, imageLabelsOf).watched;
    expect(watched?.labelSettings.monitorOnly).toBe(true);
    expect(watched?.warnings).toEqual([expect.stringContaining('enabel')]);
    const [unwatched] = selectContainers(
      [containerSummary('web', { labels })],
      {
        ...unscoped,
        labelEnable: true,
      },
      imageLabelsOf,
    ).unwatched;
    expect(unwatched?.warnings).toEqual([expect.stringContaining('enabel')]);
  });
});

describe('effectiveScope()', () => {
  const updater = containerSummary('updater', { labels: { 'com.centurylinklabs.watchtower.scope': 'blue' } });
  const containers = [containerSummary('web', { labels: { 'upkeep.scope': 'green' } }), updater];

  test.each<readonly [scope: string | undefined, ownId: string | undefined, expected: string]>([
    [undefined, updater.id, 'blue'],
    [undefined, undefined, ''],
    [undefined, 'f'.repeat(64), ''],
    ['red', updater.id, 'red'],
    ['none', updater.id, ''],
    ['', updater.id, ''],
  ])('effectiveScope() of %j, own container %j: %j', (scope, ownId, expected) => {
    expect(effectiveScope({ scope, ownId, containers, imageLabelsOf })).toBe(expected);
  });

  test("a label of the updater's own container that says none means unscoped", () => {
    const own = containerSummary('updater', { labels: { 'upkeep.scope': 'none' } });
    expect(effectiveScope({ scope: undefined, ownId: own.id, containers: [own], imageLabelsOf })).toBe('');
  });
});

describe('whyOptedOut()', () => {
  test.each<readonly [Readonly<Record<string, string>>, Partial<typeof defaultSettings>, string | undefined]>([
    [{}, {}, undefined],
    [{ 'upkeep.scope': 'other' }, { labelEnable: true }, undefined],
    [{}, { names: ['db'], monitorImageNames: ['redis'], enableContainersByLabel: ['tier=db'] }, undefined],
    [{ 'upkeep.enable': 'false' }, {}, 'is disabled by its label'],
    [{}, { disableContainers: ['web'] }, 'is disabled by disable-containers'],
    [{ tier: 'db' }, { disableContainersByLabel: ['tier=db'] }, 'is disabled by disable-containers-by-label'],
    [{}, { skipImageNames: ['ngin.*'] }, 'runs an image of skip-image-names'],
    [{ 'upkeep.monitor-only': 'true' }, {}, 'is monitored only'],
    [{ 'com.hashicorp.nomad.task_name': 'web' }, {}, 'belongs to an allocation of Nomad, and Nomad replaces it itself'],
    [{}, { monitorOnly: true }, 'is monitored only'],
  ])('whyOptedOut() with labels %j, settings %j: %j', (labels, settings, expected) => {
    const container = containerSummary('web', { labels, image: 'nginx:1.27' });
    expect(whyOptedOut(container, { ...defaultSettings, ...settings })).toBe(expected);
  });
});
