import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  taskStates,
  journalLabels,
  type RawSpec,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../container/swarm-service.ts';
import { decideService, beginWatch, watchService, type ServiceFacts } from './decide-service.ts';

const update = { id: 'tx', serviceId: 's', from: 'app:1@sha256:aa', to: 'app:1@sha256:bb' };
const limits = { windowMs: 10_000, proofMs: 70_000, stallMs: 600_000 };
const words = ['updating', 'paused', 'completed', 'rollback_started', 'rollback_paused', 'rollback_completed'] as const;

const images = fc.constantFrom(update.from, update.to, 'other:1@sha256:cc');
const labels = fc.constantFrom(
  {},
  { [journalLabels.id]: 'tx', [journalLabels.from]: update.from },
  { [journalLabels.id]: 'another', [journalLabels.from]: 'x' },
);

const service = fc.record({
  image: images,
  labels,
  previous: fc.option(fc.record({ image: images, labels }), { nil: undefined }),
  mode: fc.constantFrom('replicated', 'global'),
  replicas: fc.nat(3),
  state: fc.option(fc.constantFrom(...words), { nil: undefined }),
});

const nodes = fc.constant(['ready', 'ready', 'down'] as const).map((states) =>
  states.map((state, index): SwarmNode => {
    const platform = { os: 'linux', architecture: 'amd64', variant: '' };
    return {
      id: `n${index}`,
      hostname: `h${index}`,
      state,
      availability: 'active',
      role: 'worker',
      platform,
      labels: {},
    };
  }),
);

const task = fc.record({
  slot: fc.integer({ min: 1, max: 3 }),
  node: fc.nat(2),
  image: images,
  state: fc.constantFrom(...taskStates),
  desired: fc.constantFrom('running', 'shutdown'),
  error: fc.constantFrom('', 'task: non-zero exit (3)', 'No such image: app'),
});

const look = fc
  .record({
    service: fc.option(service, { freq: 20, nil: undefined }),
    tasks: fc.array(task, { maxLength: 6 }),
    nodes,
    afterMs: fc.nat(40_000),
  })
  .map(({ service: drawn, tasks, ...rest }) => ({
    ...rest,
    service: drawn && serviceOf(drawn),
    tasks: tasks.map(({ node, ...each }, index): SwarmTask => {
      const ids = { id: `t${index} ${each.state}`, serviceId: 's', nodeId: `n${node}` };
      return { ...ids, ...each, exitCode: undefined, createdAtMs: 0, stateAtMs: 0 };
    }),
  }));

function serviceOf(drawn: {
  readonly state: (typeof words)[number] | undefined;
  readonly image: string;
}): SwarmService {
  const { state, ...rest } = drawn;
  return {
    labels: {},
    mode: 'replicated',
    replicas: 1,
    previous: undefined,
    id: 's',
    name: 'web',
    version: '1',
    containerLabels: {},
    createdAtMs: 0,
    count: undefined,
    order: 'stop-first',
    failureAction: 'pause',
    monitorMs: 5000,
    pauseMs: 10_000,
    hasHostPorts: false,
    constraints: [],
    platforms: undefined,
    spec: '{}' as RawSpec,
    update: state && { state, startedAtMs: 1, completedAtMs: undefined, message: 'said' },
    ...rest,
  };
}

describe('decideService(), after any looks at any swarm', () => {
  const decided = (looks: readonly (Omit<ServiceFacts, 'update' | 'nowMs'> & { readonly afterMs: number })[]) => {
    let watch = beginWatch({ update: undefined }, [], 0);
    let nowMs = 0;
    return looks.map(({ afterMs, ...seen }) => {
      nowMs += afterMs;
      const facts: ServiceFacts = { update, nowMs, ...seen };
      watch = watchService(watch, facts);
      return { facts, watch, step: decideService(facts, watch, limits) };
    });
  };
  const holds = (property: (each: ReturnType<typeof decided>[number]) => void) =>
    fc.assert(
      fc.property(fc.array(look, { minLength: 1, maxLength: 8 }), (looks) => decided(looks).forEach(property)),
      {
        numRuns: 2000,
      },
    );

  test('goes back only from a spec with our mark to the image that it replaced', () => {
    holds(({ facts, step }) => {
      if (step.kind !== 'go back') return;
      expect(facts.service).toMatchObject({ image: update.to, labels: { [journalLabels.id]: 'tx' } });
      expect(facts.service?.previous?.image).toBe(update.from);
    });
  });

  test('calls nothing updated that has not run everywhere for the window', () => {
    holds(({ facts, watch, step }) => {
      if (step.kind !== 'end' || step.outcome !== 'updated') return;
      if (facts.service?.mode === 'replicated' && facts.service.replicas === 0) return;
      if (facts.service?.mode === 'global' && !facts.tasks.some(({ desired }) => desired === 'running')) return;
      expect(facts.nowMs - (watch.provenSince?.atMs ?? facts.nowMs)).toBeGreaterThanOrEqual(limits.windowMs);
      expect(facts.service?.update?.state).not.toBe('paused');
    });
  });

  test('begins only where the old image stands, and never twice', () => {
    holds(({ facts, watch, step }) => {
      if (step.kind !== 'update') return;
      expect(facts.service?.image).toBe(update.from);
      expect(watch.isBegun).toBe(false);
    });
  });

  test('says rolled back only when the old tasks run', () => {
    holds(({ facts, step }) => {
      if (step.kind !== 'end' || step.outcome !== 'rolled_back' || facts.service?.mode === 'global') return;
      const running = facts.tasks.filter(
        ({ image, state, desired, nodeId }) =>
          image === update.from && state === 'running' && desired === 'running' && nodeId !== 'n2',
      );
      expect(running.length).toBeGreaterThanOrEqual(facts.service?.replicas ?? 0);
    });
  });

  test('a way back that the swarm has paused has failed only where the old tasks do not come to run', () => {
    const back = {
      ...serviceOf({ state: 'rollback_paused', image: update.from }),
      previous: { image: update.to, labels: { [journalLabels.id]: 'tx' } },
    };
    const node = { id: 'n0', hostname: 'h0', state: 'ready' };
    const task = { id: 't', serviceId: 's', nodeId: 'n0', slot: 1, image: update.from, desired: 'running', error: '' };
    const look = (state: string, afterMs: number) => ({
      service: back,
      tasks: [{ ...task, state }],
      nodes: [node],
      afterMs,
    });
    const told = (...looks: readonly object[]) =>
      decided(looks as never).map(({ step }) => (step.kind === 'end' ? step.outcome : step.kind));
    expect(told(look('preparing', 0), look('running', 5000), look('running', limits.windowMs))).toEqual([
      ...['wait', 'wait', 'rolled_back'],
    ]);
    expect(told(look('preparing', 0), look('preparing', limits.proofMs))).toEqual(['wait', 'failed']);
  });

  test('a way back that the swarm waits with, for a node that it lost, has ended when the old tasks run elsewhere', () => {
    const back = serviceOf({ state: 'rollback_started', image: update.from });
    const node = { id: 'n0', hostname: 'h0', state: 'ready' };
    const task = { id: 't', serviceId: 's', nodeId: 'n0', slot: 1, image: update.from, desired: 'running', error: '' };
    const look = (state: string, afterMs: number) => ({
      service: back,
      tasks: [{ ...task, state }],
      nodes: [node],
      afterMs,
    });
    const steps = decided([
      { ...look('preparing', 0), service: { ...back, image: update.to, labels: { [journalLabels.id]: 'tx' } } },
      ...[look('preparing', 0), look('running', 5000), look('running', limits.windowMs)],
    ] as never).map(({ step }) => (step.kind === 'end' ? step.outcome : step.kind));
    expect(steps.slice(1)).toEqual(['wait', 'wait', 'rolled_back']);
  });

  describe('a global service that no node fits', () => {
    const ours = { labels: { [journalLabels.id]: 'tx', [journalLabels.from]: update.from }, mode: 'global' };
    const back = { previous: { image: update.from, labels: {} } };
    const ready = { id: 'n0', hostname: 'h0', state: 'ready' };
    const ended = { id: 't', serviceId: 's', nodeId: 'n0', slot: undefined, image: update.to, error: '' };
    const told = (state: (typeof words)[number] | undefined, tasks: readonly object[], moments: readonly number[]) => {
      const service = { ...serviceOf({ state, image: update.to }), ...ours, ...back };
      const looks = moments.map((afterMs) => ({
        service,
        tasks,
        nodes: [ready, { ...ready, id: 'n2', state: 'down' }],
        afterMs,
      }));
      return decided(looks as never).map(({ step }) => (step.kind === 'end' ? step.outcome : step.kind));
    };

    test.each([undefined, 'completed'] as const)('is updated after the window (%s)', (state) => {
      expect(told(state, [], [0, limits.windowMs - 1, 1])).toEqual(['wait', 'wait', 'updated']);
    });

    test.each([
      ['waits for a restart', { state: 'ready', desired: 'ready' }],
      ['has failed for good', { state: 'failed', desired: 'shutdown' }],
      ['is on a lost node', { state: 'running', desired: 'running', nodeId: 'n2' }],
    ])('is not meant where a task %s', (_, task) => {
      expect(told('completed', [{ ...ended, ...task }], [0, limits.windowMs, limits.proofMs])).toEqual([
        ...['wait', 'wait', 'go back'],
      ]);
    });
  });

  test('a missing image is never a fault of the version', () => {
    const ours = { [journalLabels.id]: 'tx', [journalLabels.from]: update.from };
    const paused = serviceOf({ state: 'paused', image: update.to });
    const seen = {
      ...paused,
      labels: ours,
      mode: 'replicated',
      replicas: 1,
      previous: { image: update.from, labels: {} },
    };
    const rejected = { id: 't', serviceId: 's', nodeId: 'n0', slot: 1, image: update.to, state: 'rejected' };
    const tasks = [{ ...rejected, desired: 'shutdown', error: 'No such image: app', exitCode: undefined }];
    const [first] = decided([{ service: seen, tasks, nodes: [], afterMs: 0 } as never]);
    expect(first?.step).toMatchObject({ kind: 'go back', isImagesOwn: false });
  });
});
