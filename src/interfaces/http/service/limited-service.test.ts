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

test('of two containers of one name, on two engines, only the own one has events and is told of', () => {
  const containers = [
    aTrackedContainer({ name: 'app', engine: 'near', image: 'acme/app:1' }),
    aTrackedContainer({ id: 'c2', name: 'app', engine: 'far', image: 'other/app:1' }),
  ];
  const both = { ...whole, inventory: () => ({ ...inventory, containers }) } as unknown as Service;
  const { limitEvent, service } = limitService(both, { images: ['acme/*'], containers: [] });
  expect(service.inventory().containers).toMatchObject([{ engine: 'near' }]);
  const event = { kind: 'compose_file', container: 'app', state: shared, atMs: 0 } as const;
  expect(limitEvent({ ...event, engine: 'far' })).toBeUndefined();
  expect(limitEvent({ ...event, engine: 'near' })).toMatchObject({ container: 'app' });
});
