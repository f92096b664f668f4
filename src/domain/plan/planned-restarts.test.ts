import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestOf, idOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import type { Container, ContainerStatus } from '../container/container.ts';
import { defaultSettings } from '../settings/effective-settings.ts';
import { buildDependencyGraph, affectedBy } from './dependency-graph.ts';
import { planUpdate } from './update-plan.ts';

const id = (name: string) => idOf(`container ${name}`);
const nameOf = (index: number) => `c${index}`;
const graphOf = (containers: readonly Container[]) => buildDependencyGraph(containers, { useComposeDependsOn: true });

const statuses: readonly ContainerStatus[] = ['running', 'paused', 'exited', 'restarting', 'created'];

type Shape = {
  readonly network: number | undefined;
  readonly volumes: readonly number[];
  readonly restarts: readonly number[];
  readonly waits: readonly number[];
  readonly status: ContainerStatus;
  readonly otherStatus: ContainerStatus;
};

const worlds = fc.integer({ min: 1, max: 8 }).chain((size) => {
  const others = fc.uniqueArray(fc.nat({ max: size - 1 }), { maxLength: 2 });
  const status = fc.constantFrom(...statuses);
  const shape: fc.Arbitrary<Shape> = fc.record({
    network: fc.option(fc.nat({ max: size - 1 }), { nil: undefined }),
    volumes: others,
    restarts: others,
    waits: others,
    status,
    otherStatus: status,
  });
  return fc.record({
    shapes: fc.array(shape, { minLength: size, maxLength: size }),
    stale: fc.uniqueArray(fc.nat({ max: size - 1 }), { minLength: 1, maxLength: 2 }),
  });
});

function shaped({ network, volumes, restarts, waits }: Shape, index: number, status: ContainerStatus): Container {
  const other = (one: number) => one !== index;
  const dependsOn = [
    ...restarts.filter(other).map((one) => `${nameOf(one)}:service_started:true`),
    ...waits.filter(other).map((one) => `${nameOf(one)}:service_healthy:false`),
  ];
  return inspectedContainer(nameOf(index), {
    status,
    labels: {
      'com.docker.compose.project': 'shop',
      'com.docker.compose.service': nameOf(index),
      'com.docker.compose.container-number': '1',
      'com.docker.compose.depends_on': dependsOn.join(','),
    },
    host: {
      VolumesFrom: volumes.filter(other).map(nameOf),
      ...(network !== undefined && network !== index && { NetworkMode: `container:${id(nameOf(network))}` }),
    },
  });
}

describe('affectedBy()', () => {
  test('holds every container whose state decides the plan', () => {
    let restarts = 0;
    fc.assert(
      fc.property(worlds, ({ shapes, stale }) => {
        const containers = shapes.map((shape, index) => shaped(shape, index, shape.status));
        const touched = affectedBy(
          graphOf(containers),
          stale.map((index) => id(nameOf(index))),
        );
        const changed = shapes.map((shape, index) =>
          shaped(shape, index, touched.has(id(nameOf(index))) ? shape.status : shape.otherStatus),
        );
        const [before, after] = [containers, changed].map((all) =>
          planUpdate({
            stale: stale.map((index) => ({
              id: id(nameOf(index)),
              name: nameOf(index),
              reference: 'app:1',
              digest: digestOf('new'),
            })),
            graph: graphOf(all),
            optedOut: new Map(),
            doors: new Map(),
            imageIds: new Set(all.map(({ imageId }) => imageId)),
            ownId: undefined,
            settings: defaultSettings,
          }),
        );
        restarts += before?.restarts.length ?? 0;
        const acted = [
          ...(before?.transactions ?? []).flatMap(({ members }) => members.map(({ container }) => container.id)),
          ...(before?.restarts ?? []).map(({ container }) => container.id),
        ];
        expect(acted.filter((each) => !touched.has(each))).toEqual([]);
        expect(after).toEqual(before);
      }),
      { numRuns: 500 },
    );
    expect(restarts).toBeGreaterThan(0);
  });

  test('leaves out a container that nothing leads to', () => {
    const graph = graphOf([inspectedContainer('web'), inspectedContainer('other')]);
    expect([...affectedBy(graph, [id('web')])]).toEqual([id('web')]);
  });
});
