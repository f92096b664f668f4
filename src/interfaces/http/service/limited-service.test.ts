import { expect, test } from 'vitest';
import { aTrackedContainer } from '../../../../test/support/scene/tracked-container.ts';
import type { ComposeState } from '../../../domain/compose/compose-state.ts';
import type { Inventory } from '../../../domain/inventory.ts';
import { limitService } from './limited-service.ts';
import type { Service } from './parts.ts';

const shared: ComposeState = { state: 'refused', reason: 'shared', detail: 'vault has it', services: ['vault'] };

const inventory: Inventory = {
  revision: 1,
  known: true,
  scope: '',
  containers: [aTrackedContainer({ name: 'app', compose: shared }), aTrackedContainer({ id: 'c2', name: 'vault' })],
  unfinished: [],
  images: [],
  updatesAvailable: 0,
};
const whole = { inventory: () => inventory, history: () => [], unwatched: () => [] } as unknown as Service;
const limited = limitService(whole, { images: [], containers: ['app'] });

test('other services of a compose file are in no list and no event of a limited caller', () => {
  const { containers } = limited.service.inventory();
  expect(containers).toMatchObject([{ name: 'app', compose: { state: 'refused', reason: 'shared' } }]);
  const event = limited.limitEvent({ kind: 'compose_file', container: 'app', state: shared, atMs: 0 });
  expect(event).toMatchObject({ state: { detail: 'another container has it' } });
  expect(JSON.stringify([containers, event])).not.toContain('vault');
});

test('an event about the compose file of another container is not sent', () => {
  expect(limited.limitEvent({ kind: 'compose_file', container: 'vault', state: shared, atMs: 0 })).toBeUndefined();
});
