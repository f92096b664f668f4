import { describe, expect, test } from 'vitest';
import { containerSummary, type SummaryParts } from '../../../test/support/scene/builders.ts';
import { otherUpdaters } from './other-managers.ts';

const self = containerSummary('upkeep', { image: 'registry.test/upkeep:1' });

/** Warnings about one container in addition to our own. */
function saidOf(parts: SummaryParts, { scope = '', name = 'other', ownId = self.id } = {}) {
  const containers = [self, containerSummary(name, parts)];
  return otherUpdaters({ imageLabelsOf: () => ({}), containers, ownId, scope }).map(({ warning }) => warning);
}

const scoped = (scope: string) => ({ 'com.centurylinklabs.watchtower.scope': scope });

describe('otherUpdaters()', () => {
  test('names the container, why it is dangerous, and the remedy, in one line', () => {
    expect(saidOf({ image: 'containrrr/watchtower:1.7.1' }, { name: 'watchtower' })).toEqual([
      'Container "watchtower" is an updater of the Watchtower family on the same engine: it removes a container ' +
        'before it creates the successor, even during an update by Upkeep. Stop it, or divide their containers by ' +
        'scopes or labels: docs/operations.md, "Two updaters on one engine?"',
    ]);
  });

  test.each([
    ['containrrr/watchtower', 'an updater of the Watchtower family'],
    ['mirror.test:5000/hub/containrrr/watchtower@sha256:' + 'a'.repeat(64), 'an updater of the Watchtower family'],
    ['ghcr.io/nicholas-fedor/watchtower:latest', 'an updater of the Watchtower family'],
    ['beatkind/watchtower', 'an updater of the Watchtower family'],
    ['ghcr.io/getwud/wud:8', 'What’s Up Docker'],
    ['fmartinou/whats-up-docker', 'What’s Up Docker'],
    ['codeswhat/drydock', 'drydock'],
    ['pyouroboros/ouroboros', 'Ouroboros'],
    ['ghcr.io/quenary/tugtainer:1', 'Tugtainer'],
    ['upkeep', 'another Upkeep'],
  ])('knows %s by its image', (image, called) => {
    expect(saidOf({ image })).toEqual([expect.stringContaining(`"other" is ${called} on the same engine: `)]);
  });

  test.each([
    'crazymax/diun',
    'containrrr/shepherd',
    'acme/watchtower',
    'acme/containrrr-watchtower',
    'containrrr/watchtower-exporter',
    'not a reference/watchtower',
  ])('says nothing of %s', (image) => {
    expect(saidOf({ image })).toEqual([]);
  });

  test('knows the Watchtower family by its label, whatever a registry calls the image', () => {
    const labels = { 'com.centurylinklabs.watchtower': 'true' };
    expect(saidOf({ image: 'registry.test/tools/wt:3', labels })).toHaveLength(1);
    expect(saidOf({ labels: { 'com.centurylinklabs.watchtower': 'false' } })).toEqual([]);
  });

  test('knows another Upkeep by the image that it shares with our own container', () => {
    expect(saidOf({ image: 'mine/updater', imageId: self.imageId })).toHaveLength(1);
    const containers = [containerSummary('other', { image: 'mine/updater', imageId: self.imageId })];
    expect(otherUpdaters({ imageLabelsOf: () => ({}), containers, ownId: self.id, scope: '' })).toEqual([]);
  });

  test('leaves out those who take part in an update of Upkeep itself', () => {
    expect(saidOf({ image: self.image }, { name: 'upkeep.upkeep-old-u' })).toEqual([]);
    const containers = [self, containerSummary('upkeep.upkeep-standin', { image: self.image })];
    expect(otherUpdaters({ imageLabelsOf: () => ({}), containers, ownId: containers[1]?.id, scope: '' })).toEqual([]);
  });

  test.each(['created', 'exited', 'dead', 'removing'] as const)('leaves out one that is %s', (status) => {
    expect(saidOf({ image: 'containrrr/watchtower', status })).toEqual([]);
  });

  test('leaves out our own container, whatever it says of itself', () => {
    const own = containerSummary('own', { labels: { 'com.centurylinklabs.watchtower': 'true' } });
    expect(otherUpdaters({ imageLabelsOf: () => ({}), containers: [own], ownId: own.id, scope: '' })).toEqual([]);
  });

  test.each<readonly [image: string, theirs: string, ours: string, count: number]>([
    ['containrrr/watchtower', 'blue', 'blue', 1],
    ['containrrr/watchtower', 'blue', 'green', 0],
    ['containrrr/watchtower', 'blue', '', 0],
    ['containrrr/watchtower', 'none', 'blue', 1],
    ['nickfedor/watchtower', 'none', 'blue', 0],
    ['nickfedor/watchtower', 'none', '', 1],
    ['registry.test/upkeep', 'blue', '', 0],
    ['registry.test/upkeep', 'none', 'blue', 0],
    ['registry.test/upkeep', 'blue', 'blue', 1],
    ['getwud/wud', 'blue', 'green', 1],
  ])('%s with the scope %j on its container beside ours with %j: %i', (image, theirs, ours, count) => {
    expect(saidOf({ image, labels: scoped(theirs) }, { scope: ours })).toHaveLength(count);
  });

  test('quotes a name that would change the line', () => {
    const [warning] = saidOf({ image: 'upkeep' }, { name: 'x"\n\u001b[2J\u202eevil' });
    expect(warning).toContain(String.raw`Container "x\"\n\x1b[2J\u202eevil" is another Upkeep`);
  });
});
