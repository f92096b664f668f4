import { notChecked } from '../../../src/application/inventory/last-checks.ts';
import type { TrackedContainer } from '../../../src/domain/inventory.ts';

/** A container before its first check. */
export function aTrackedContainer(changes: Partial<TrackedContainer> = {}): TrackedContainer {
  return {
    id: 'c1',
    name: 'web',
    image: 'nginx:1.27',
    imageId: `sha256:${'i'.repeat(64)}`,
    digest: `sha256:${'a'.repeat(64)}`,
    running: true,
    status: 'running',
    health: 'none',
    createdAtMs: 0,
    self: false,
    monitorOnly: false,
    noPull: false,
    enabled: true,
    scope: '',
    dependsOn: [],
    labelsInEffect: {},
    settings: [],
    canRollBack: false,
    ...notChecked,
    ...changes,
  };
}
