import { policyOfReturn, policyWhileUnproven, stepKey, type Decision, type Step } from './member.ts';
import {
  expectedFactsAfter,
  mayUseExpectedFacts,
  placeOf,
  type ExecutionMemory,
  type MemberFacts,
  type ContainerFacts,
  type TransactionFacts,
} from './facts.ts';
import { decide } from './decide.ts';
import { beginMemory } from './memory.ts';
import { describe, expect, test } from 'vitest';
import type { DesiredEndState } from '../settings/effective-settings.ts';
import { isAlive, type ContainerStatus, type RestartPolicy, samePolicy } from '../container/container.ts';
import { keptName, parseKeptName } from './transaction-names.ts';
import { droppedName, failedName, parkedName, successorName } from '../../../test/support/transaction-names.ts';

const unlessStopped: RestartPolicy = { Name: 'unless-stopped', MaximumRetryCount: 0 };
const no: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };

describe('decide() in a recovery, by the names that were left', () => {
  const parked = parkedName('web', unlessStopped, true);
  const dropped = droppedName('web', unlessStopped, true);
  const rows: readonly [string, Partial<ModelContainer> | undefined, Partial<ModelContainer> | undefined, object][] = [
    [
      'aside, nothing touched: the tag goes back',
      { name: successorName('web'), status: 'created' },
      { name: 'web' },
      { kind: 'tag', imageId: 'image-1', reference: 'web:1' },
    ],
    [
      'aside, tag never moved: the mark goes, then the successor',
      { name: successorName('web'), status: 'created', imageId: 'image-3' },
      { name: 'web' },
      { kind: 'unmark', oldId: 'old' },
    ],
    [
      'aside, old parked: the old gets its name back',
      { name: successorName('web'), status: 'created' },
      { name: parked },
      { kind: 'rename', id: 'old', to: 'web' },
    ],
    [
      'in place and running, unproven: the health check is resumed',
      { name: 'web' },
      { name: parked, status: 'exited' },
      { kind: 'awaitHealth', ids: ['new'] },
    ],
    [
      'in place, not running: rolled back',
      { name: 'web', status: 'created' },
      { name: parked, status: 'exited', policy: always },
      { kind: 'rename', id: 'new', to: failedName('web') },
    ],
    [
      'both running: the proven one wins',
      { name: 'web' },
      { name: parked },
      { kind: 'rename', id: 'new', to: failedName('web') },
    ],
    [
      'committed: the token is taken from the old first',
      { name: 'web' },
      { name: dropped, status: 'exited', policy: always },
      { kind: 'policy', id: 'old', policy: no, afterPause: false },
    ],
    [
      'committed, old up again after a reboot: it is stopped before the new one starts',
      { name: 'web', status: 'exited', policy: unlessStopped },
      { name: dropped, policy: no },
      { kind: 'stop', id: 'old' },
    ],
    [
      'old deleted by someone: the successor is completed',
      { name: 'web', policy: no },
      undefined,
      { kind: 'policy', id: 'new', policy: unlessStopped, afterPause: false },
    ],
    [
      'old deleted, successor still aside: it takes the name',
      { name: successorName('web'), status: 'created' },
      undefined,
      { kind: 'rename', id: 'new', to: 'web' },
    ],
    [
      'going back: the failed one is stopped',
      { name: failedName('web') },
      { name: parked, status: 'exited' },
      { kind: 'stop', id: 'new' },
    ],
    [
      'going back, old deleted: the failed one stays, it is all there is',
      { name: failedName('web'), status: 'exited' },
      undefined,
      { kind: 'rename', id: 'new', to: 'web' },
    ],
    [
      'successor deleted, old parked: it gets its name back',
      undefined,
      { name: parked, status: 'exited' },
      { kind: 'rename', id: 'old', to: 'web' },
    ],
    [
      'successor deleted after the commit: the old gets its name back',
      undefined,
      { name: dropped, status: 'exited', policy: no },
      { kind: 'rename', id: 'old', to: 'web' },
    ],
    [
      'half removed old: the removal is finished',
      { name: 'web', policy: unlessStopped },
      { name: dropped, status: 'dead', policy: no },
      { kind: 'remove', id: 'old' },
    ],
    [
      'half removed old that was to come back: it cannot be started, so its removal is finished',
      { name: successorName('web'), status: 'created' },
      { name: parked, status: 'dead' },
      { kind: 'remove', id: 'old' },
    ],
  ];
  test.each(rows)('%s', (_row, successor, old, step) => {
    const world: World = {
      ...start('unless-stopped'),
      marked: true,
      ...(old ? { old: { ...running('web', unlessStopped), ...old } } : { old: undefined }),
    };
    world.new = successor ? { ...running('web', no), imageId: 'image-2', ...successor } : undefined;
    expect(decide(factsOf(world, recovering()))).toMatchObject({ kind: 'step', step });
  });

  test('of an update without a mark, the new one gets its policy; of one whose mark is gone, a person has taken it', () => {
    const world: World = { ...start('unless-stopped'), new: { ...running('web', no), imageId: 'image-2' } };
    world.old = { ...running(dropped, no), status: 'exited' };
    const { members, ...facts } = factsOf(world, recovering());
    const next = (hasNoMark: object) =>
      decide({ ...facts, setsNoMarks: true, members: [{ ...members[0]!, ...hasNoMark }] });
    const setPolicy = { kind: 'policy', id: 'new', policy: unlessStopped, afterPause: true };
    expect(next({ hasNoMark: true })).toMatchObject({ step: setPolicy });
    expect(next({})).toMatchObject({ step: { kind: 'remove', id: 'old' } });
  });

  test('a stopped container with its own name is started without a mark only if its policy is that of a rollback', () => {
    const world: World = { ...start('unless-stopped'), setsNoMarks: true, tag: 'image-1' };
    world.new = { ...running(failedName('web'), no), imageId: 'image-2', status: 'exited' };
    const next = (policy: RestartPolicy) => {
      world.old = { ...running('web', policy), status: 'exited' };
      return decide(factsOf(world, recovering()));
    };
    expect(next(policyOfReturn)).toMatchObject({ step: { kind: 'start', id: 'old' } });
    expect(next(always)).toMatchObject({ step: { kind: 'remove', id: 'new' } });
  });

  test('a parked container whose name someone has taken stays parked, without a policy that starts it', () => {
    const world = { ...start('unless-stopped'), stranger: true };
    world.old = { ...running(parked, always), status: 'exited' };
    expect(decide(factsOf(world, recovering()))).toMatchObject({ step: { kind: 'policy', id: 'old', policy: no } });
  });
});

test('decide() stops what crashes over and over before it renames it, and starts it again on the way back', () => {
  const memory: ExecutionMemory = {
    ...recovering(),
    isRecovery: false,
    direction: 'forward',
    compared: new Set(['new']),
  };
  const next = (status: ContainerStatus, direction: ExecutionMemory['direction']) => {
    const world: World = { ...start('always'), marked: true, old: { ...running('web', always), status } };
    world.new = { ...running(successorName('web'), no), imageId: 'image-2', startedAt: '', status: 'created' };
    return decide(factsOf(world, { ...memory, direction }));
  };
  expect(next('restarting', 'forward')).toMatchObject({ step: { kind: 'stop', id: 'old' } });
  expect(next('exited', 'forward')).toMatchObject({ step: { kind: 'rename', id: 'old' } });
  expect(next('exited', 'recover')).toMatchObject({ step: { kind: 'start', id: 'old' } });
});

describe('decide() beside another updater of the same container', () => {
  const parked = parkedName('web', unlessStopped, true);
  const aside: ModelContainer = { ...running(successorName('web'), no), imageId: 'image-2', status: 'created' };
  const bystander: ExecutionMemory = {
    ...recovering(),
    isRecovery: false,
    direction: 'back',
    created: new Set(),
    parked: new Set(),
  };

  test.each([
    ['parked', { ...running(parked, always), status: 'exited' }],
    ['committed', { ...running(droppedName('web', unlessStopped, true), no), status: 'exited' }],
    ['half removed', { ...running(droppedName('web', unlessStopped, true), no), status: 'dead' }],
  ] as const)('who lost the race for the successor touches nothing of what the other has %s', (_what, old) => {
    const world: World = { ...start('unless-stopped'), old };
    expect(decide(factsOf(world, bystander))).toEqual({ kind: 'end', result: 'undone' });
  });

  test('what the other has parked is not brought back by us, though we have a successor of our own', () => {
    const world: World = { ...start('unless-stopped'), new: aside };
    world.old = { ...running(parked, always), status: 'exited' };
    expect(decide(factsOf(world, bystander))).toMatchObject({ step: { kind: 'tag' } });
    world.tag = 'image-1';
    expect(decide(factsOf(world, bystander))).toMatchObject({ step: { kind: 'remove', id: 'new' } });
  });

  test('a stand-in of another image than the old container ends the update: the tag was moved under it', () => {
    const memory: ExecutionMemory = {
      ...recovering(),
      isRecovery: false,
      direction: 'forward',
      compared: new Set(['new']),
    };
    const world: World = { ...start('no'), marked: true, new: aside };
    const { members, ...facts } = factsOf(world, memory);
    const next = (imageId: string) => {
      const replica = { ...members[0]!.new!, id: 'stand-in', place: 'old', imageId } as const;
      return decide({ ...facts, members: [{ ...members[0]!, replica }] });
    };
    expect(next('image-1')).toMatchObject({ step: { kind: 'compare', id: 'stand-in' } });
    expect(next('image-2')).toEqual({
      kind: 'rollBack',
      reason: 'the tag of "web:1" was moved while a stand-in for "web" was created',
      busy: true,
      wasTagMoved: true,
    });
  });

  test('a policy that is not the one that was planned with ends the update: it may be that of a parked one', () => {
    const memory: ExecutionMemory = {
      ...recovering(),
      isRecovery: false,
      direction: 'forward',
      compared: new Set(['new']),
    };
    const next = (policy: RestartPolicy) =>
      decide(factsOf({ ...start('unless-stopped'), marked: true, old: running('web', policy), new: aside }, memory));
    expect(next(unlessStopped)).toMatchObject({ kind: 'step' });
    expect(next(always)).toEqual({
      kind: 'rollBack',
      reason: 'the restart policy of "web" was changed meanwhile',
      busy: true,
    });
  });
});

describe('decide() on what is kept', () => {
  const kept = keptName({ name: 'web', policy: unlessStopped, wasRunning: true, untilMs: 1000 });
  const committed = (name: string, policy: RestartPolicy): World => {
    const old = { ...running(name, policy), status: 'exited' } as const;
    return {
      ...start('unless-stopped'),
      old,
      new: { ...running('web', unlessStopped), imageId: 'image-2' },
      keeps: true,
    };
  };

  test('opens the update again, and goes back from there: at any moment one of the two comes up by itself, or none', () => {
    const world = committed(kept, no);
    const memory: ExecutionMemory = {
      ...recovering(),
      isRecovery: false,
      direction: 'back',
      reopens: true,
      stopsInDoubt: new Set(),
    };
    const steps: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const decision = decide(factsOf(world, memory));
      if (decision.kind !== 'step') break;
      steps.push(describeCall(decision.step).trim());
      apply(world, decision.step);
    }
    expect(steps).toEqual([
      'mark',
      `rename old to ${parkedName('web', unlessStopped, true)}`,
      'policy new no',
      'policy old always',
      `rename new to ${failedName('web')}`,
      'stop new',
      'rename old to web',
      'start old',
      'policy old unless-stopped',
      'tag',
      'unmark',
      'remove new',
    ]);
  });

  test('sees nothing of it otherwise', () => {
    expect(decide(factsOf(committed(kept, no), recovering()))).toEqual({ kind: 'end', result: 'committed' });
  });

  test('keeps only what is stopped and has no policy', () => {
    const dropped = droppedName('web', unlessStopped, true);
    const next = (world: World, ...givenUp: Step[]) =>
      decide(factsOf(world, { ...recovering(), givenUp: new Set(givenUp.map(stepKey)) }));
    expect(next(committed(dropped, no))).toMatchObject({ step: { kind: 'keep', id: 'old' } });
    const unable: Step = { kind: 'policy', id: 'old', policy: no, afterPause: false };
    expect(next(committed(dropped, always), unable)).toMatchObject({ step: { kind: 'remove', id: 'old' } });
    const alive = committed(dropped, no);
    alive.old!.status = 'running';
    expect(next(alive, { kind: 'stop', id: 'old' })).toMatchObject({ step: { kind: 'remove', id: 'old' } });
  });
});

describe('decide() on a group', () => {
  test('starts a member only when those it waits for have passed the health check', () => {
    const memory: ExecutionMemory = {
      ...recovering(),
      isRecovery: false,
      direction: 'forward',
      compared: new Set(['new']),
    };
    const member = (name: string, startedAt: string, waitsFor: readonly number[] = []): MemberFacts => {
      const old: ModelContainer = { ...running(parkedName(name, no, true), no), status: 'exited' };
      const world: World = { ...start('no'), marked: true, old };
      world.new = { ...running(name, no), imageId: 'image-2', startedAt };
      if (startedAt === '') world.new.status = 'created';
      const facts = factsOf(world, memory, name).members[0]!;
      return { ...facts, new: { ...facts.new!, id: name }, waitsFor };
    };
    const next = (proven: readonly string[]) => {
      const members = [member('db', 'now'), member('web', '', [0])];
      return decide({ members, liveRestore: false, memory: { ...memory, proven: new Set(proven) } });
    };
    expect(next([])).toMatchObject({ step: { kind: 'awaitHealth', ids: ['db'] } });
    expect(next(['db'])).toMatchObject({ step: { kind: 'start', id: 'web' } });
  });

  test('creates targets first, parks and stops dependents first, starts targets first, commits by the leader, removes dependents first', () => {
    const names = ['vpn', 'app'];
    const worlds = names.map((name) => ({
      ...start('unless-stopped'),
      old: running(name, unlessStopped) as ModelContainer | undefined,
    }));
    const steps: string[] = [];
    let memory: ExecutionMemory = { ...recovering(), isRecovery: false, direction: 'forward', stopsInDoubt: new Set() };
    for (let count = 0; count < 60; count += 1) {
      const members = worlds.map((world, index) => {
        const facts = factsOf(world, memory, names[index]).members[0];
        const rename = (standing: ContainerFacts | undefined) =>
          standing && { ...standing, id: `${names[index]}-${standing.id}` };
        return { ...facts!, oldId: names[index]!, old: rename(facts!.old), new: rename(facts!.new) };
      });
      const decision = decide({ members, liveRestore: false, memory });
      if (decision.kind !== 'step') break;
      const { step } = decision;
      if (step.kind === 'mark' || step.kind === 'unmark') {
        steps.push(`${step.kind} ${step.oldId}`);
        apply(worlds[names.indexOf(step.oldId)]!, step);
        continue;
      }
      if (step.kind === 'create') {
        steps.push(`create ${names[step.member]}`);
        apply(worlds[step.member]!, { kind: 'create', member: 0 }, names[step.member]);
        continue;
      }
      if (step.kind === 'compare') {
        steps.push(`compare ${step.id}`);
        memory = { ...memory, compared: new Set([...memory.compared, step.id]) };
        continue;
      }
      if (step.kind === 'hook') {
        steps.push(`${step.hook} ${step.id}`);
        memory = { ...memory, hooked: new Set([...memory.hooked, step.id]) };
        continue;
      }
      if (step.kind === 'awaitHealth') {
        steps.push(`awaitHealth ${step.ids.join(' ')}`);
        memory = { ...memory, proven: new Set([...memory.proven, ...step.ids]) };
        continue;
      }
      const [name = '', which = ''] = ('id' in step ? step.id : '').split('-');
      steps.push(`${step.kind} ${name}-${which}`);
      apply(worlds[names.indexOf(name)]!, { ...step, id: which } as Step, name);
    }
    expect(steps).toEqual([
      'mark vpn',
      'mark app',
      'create vpn',
      'create app',
      'compare vpn-new',
      'compare app-new',
      'preUpdate app-old',
      'preUpdate vpn-old',
      'rename app-old',
      'rename vpn-old',
      'rename app-new',
      'rename vpn-new',
      'policy vpn-old',
      'policy app-old',
      'stop app-old',
      'stop vpn-old',
      'start vpn-new',
      'start app-new',
      'awaitHealth vpn-new app-new',
      'postUpdate vpn-new',
      'postUpdate app-new',
      'rename vpn-old',
      'rename app-old',
      'policy vpn-old',
      'policy app-old',
      'policy vpn-new',
      'policy app-new',
      'unmark vpn',
      'unmark app',
      'remove app-old',
      'remove vpn-old',
    ]);
  });
});

/**
 * Every interleaving of one update with crashes of the service, power cuts and engine restarts, and
 * of the recoveries that follow with the same, on a model of the engine's semantics. A stop goes on
 * in the engine when its caller dies, and ends at any later moment.
 */
describe('decide() under every interleaving of crashes', () => {
  const policies = ['no', '', 'unless-stopped', 'always', 'on-failure'] as const;
  const shapes = policies.flatMap((policy) =>
    [true, false].flatMap((liveRestore) => [true, false].map((healthy) => ({ policy, liveRestore, healthy }))),
  );
  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, new version healthy $healthy: one container, never two at once',
    ({ policy, liveRestore, healthy }) => {
      const explored = explore({ ...start(policy), liveRestore, healthy });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
    },
  );

  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, new version healthy $healthy: never runs without its placed files',
    ({ policy, liveRestore, healthy }) => {
      const explored = explore({ ...start(policy), liveRestore, healthy, hasFiles: true });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
    },
  );

  test.each(
    ['no', '', 'unless-stopped', 'on-failure'].flatMap((policy) =>
      [true, false].map((healthy) => ({ policy, healthy })),
    ),
  )(
    'policy "$policy", which the engine cannot change, new version healthy $healthy: the same',
    ({ policy, healthy }) => {
      const explored = explore({ ...start(policy), policyIsFixed: true, healthy });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
    },
  );

  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, new version healthy $healthy: what was replaced is kept, and never runs',
    ({ policy, liveRestore, healthy }) => {
      const explored = explore({ ...start(policy), liveRestore, healthy, keeps: true });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
    },
  );

  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, new version healthy $healthy: what was kept comes back',
    ({ policy: policyName, liveRestore, healthy }) => {
      const begin = start(policyName);
      const { policy } = begin;
      const name = keptName({ name: 'web', policy, wasRunning: true, untilMs: 1000 });
      const old = { ...running(name, no), status: 'exited', manuallyStopped: true } as const;
      const successor = { ...running('web', policy), imageId: 'image-2' };
      const world = { ...begin, liveRestore, healthy, keeps: true, wasProven: true, old, new: successor };
      const explored = explore(world, { direction: 'back', reopens: true });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
      expect(withoutOutsideChange(world, { direction: 'back', reopens: true })).toMatchObject({
        new: undefined,
        old: { name: 'web' },
      });
      const unmarked = explore({ ...world, setsNoMarks: true }, { direction: 'back', reopens: true });
      expect(unmarked.faults).toEqual([]);
    },
  );

  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, new version healthy $healthy: the same where no mark can be set',
    ({ policy, liveRestore, healthy }) => {
      const explored = explore({ ...start(policy), liveRestore, healthy, setsNoMarks: true });
      expect(explored.states).toBeGreaterThan(100);
      expect(explored.faults).toEqual([]);
    },
  );

  const stopped = (policy: RestartPolicy) => ({
    wasRunning: false,
    old: { ...running('web', policy), status: 'exited', manuallyStopped: true } as const,
  });

  test('a stopped container stays stopped', () => {
    const explored = explore({ ...start('unless-stopped'), ...stopped(unlessStopped), desiredEndState: 'stopped' });
    expect(explored.faults).toEqual([]);
  });

  test.each([
    ['what ran is left stopped', { desiredEndState: 'stopped' }],
    ['what was stopped is revived', { ...stopped(unlessStopped), desiredEndState: 'running' }],
    ['what was stopped is revived, and is not healthy', { ...stopped(unlessStopped), healthy: false }],
    ['a job is run again', { ...stopped(unlessStopped), desiredEndState: 'completed' }],
    ['what may be a job is revived, and ends', { ...stopped(unlessStopped), desiredEndState: 'started' }],
    [
      'what may be a job is revived, and fails',
      { ...stopped(unlessStopped), desiredEndState: 'started', healthy: false },
    ],
    ['a job is run again, and fails', { ...stopped(unlessStopped), desiredEndState: 'completed', healthy: false }],
  ] as const)('%s', (_what, world) => {
    const explored = explore({ ...start('unless-stopped'), ...world });
    expect(explored.states).toBeGreaterThan(50);
    expect(explored.faults).toEqual([]);
  });
});

type ModelContainer = {
  name: string;
  status: ContainerStatus;
  policy: RestartPolicy;
  imageId: string;
  startedAt: string;
  manuallyStopped: boolean;
  /** The engine is still performing a stop after its caller died. */
  dying: boolean;
  hasFiles?: true;
};

type World = {
  marked: boolean;
  setsNoMarks: boolean;
  /** Nothing was stopped, or nothing shows the update any more, such as a mark: later changes by the engine or a person are intended. */
  isSettled: boolean;
  old: ModelContainer | undefined;
  new: ModelContainer | undefined;
  policy: RestartPolicy;
  wasRunning: boolean;
  desiredEndState: DesiredEndState;
  liveRestore: boolean;
  /** As with Podman 4, which also has no daemon that starts containers, or takes them down with it. */
  policyIsFixed: boolean;
  healthy: boolean;
  tag: string;
  stranger: boolean;
  /** The old container is to be kept. */
  keeps: boolean;
  /** An earlier commit has proven the new container. */
  wasProven: boolean;
  /** Files were placed in the old container. */
  hasFiles: boolean;
};

function running(name: string, policy: RestartPolicy): ModelContainer {
  return {
    name,
    status: 'running',
    policy,
    imageId: 'image-1',
    startedAt: 'then',
    manuallyStopped: false,
    dying: false,
  };
}

function start(policyName: string): World {
  const policy = { Name: policyName, MaximumRetryCount: 0 };
  return {
    marked: false,
    setsNoMarks: false,
    isSettled: true,
    old: running('web', policy),
    new: undefined,
    policy,
    wasRunning: true,
    desiredEndState: 'running',
    liveRestore: false,
    policyIsFixed: false,
    healthy: true,
    tag: 'image-2',
    stranger: false,
    keeps: false,
    wasProven: false,
    hasFiles: false,
  };
}

function recovering(): ExecutionMemory {
  return {
    direction: 'recover',
    isRecovery: true,
    reopens: false,
    seenParked: new Set(),
    created: 'all',
    parked: 'any',
    filled: new Set(),
    compared: new Set(),
    proven: new Set(),
    hooked: new Set(),
    stopsInDoubt: 'any',
    stopTimedOut: new Set(),
    pruned: new Set(),
    failedImages: new Map(),
    givenUp: new Set(),
    data: beginMemory('update').data,
  };
}

function factsOf(world: World, memory: ExecutionMemory, name = 'web'): TransactionFacts {
  const standing = (id: string, container: ModelContainer | undefined): ContainerFacts | undefined =>
    container && {
      id,
      place: placeOf(container.name, name),
      status: container.status,
      policy: container.policy,
      imageId: container.imageId,
      startedAt: container.startedAt,
      finishedAt: '',
      hasHook: true,
    };
  const old = standing('old', world.old);
  const successor = standing('new', world.new);
  const member: MemberFacts = {
    name,
    oldId: 'old',
    isMarked: world.marked,
    old,
    new: successor,
    nameHeldBy:
      old?.place === 'name' ? 'old' : successor?.place === 'name' ? 'new' : world.stranger ? 'stranger' : 'nobody',
    policy: world.policy,
    wasRunning: world.wasRunning,
    desiredEndState: world.desiredEndState,
    ...(world.setsNoMarks && { hasNoMark: true as const }),
    ...(world.hasFiles && { files: ['/etc/c1'] }),
    keepMs: world.keeps ? 1000 : 0,
    waitsFor: [],
    reference: 'web:1',
    taggedBefore: 'image-1',
    targetImageId: memory.direction === 'recover' ? undefined : 'image-2',
    newImageId: 'image-2',
    oldImageId: 'image-1',
    needsAutoRemoveReplica: false,
    laterNetworks: [],
    replica: undefined,
    lacksAutoRemoveReplica: false,
    isReplica: false,
    missingOfAutoRemoveReplica: [],
    autoRemoves: false,
    startsFirst: false,
    policyIsFixed: world.policyIsFixed,
    missingNetworks: [],
    rivals: [],
    taggedImageId: memory.direction === 'forward' ? undefined : world.tag,
  };
  const setsNoMarks = world.setsNoMarks ? true : undefined;
  return { members: [member], liveRestore: world.liveRestore, setsNoMarks, memory };
}

/** The engine's effect of a step; `halfway`: the caller is killed during it. */
function apply(world: World, step: Step, name = 'web', halfway = false): void {
  applyToEngine(world, step, name, halfway);
  const isReturned = world.old?.name === name;
  const isCommitted = world.new?.name === name && placeOf(world.old?.name ?? '', name) !== 'old';
  const isDone = (isReturned || isCommitted) && whatIsOwed(world) === undefined;
  // Nothing in the engine tells such a successor from one that a person has stopped.
  const isTheOwners = isCommitted && samePolicy(world.policy, no);
  if (world.setsNoMarks && (isDone || isTheOwners)) world.isSettled = true;
}

function applyToEngine(world: World, step: Step, name: string, halfway: boolean): void {
  const target = 'id' in step ? (step.id === 'old' ? world.old : world.new) : undefined;
  switch (step.kind) {
    case 'mark':
      world.marked = true;
      return;
    case 'unmark':
      world.marked = false;
      world.isSettled = true;
      return;
    case 'create':
      world.new = {
        ...running(successorName(name), world.policyIsFixed ? world.policy : no),
        status: 'created',
        imageId: 'image-2',
        startedAt: '',
      };
      return;
    case 'rename':
      target!.name = step.to;
      if (step.id === 'old') world.isSettled = step.to === name && world.new?.name === successorName(name);
      return;
    case 'policy':
      if (world.policyIsFixed) throw new Error('this engine cannot change a restart policy');
      target!.policy = step.policy;
      return;
    case 'stop':
      target!.manuallyStopped = true;
      if (halfway) target!.dying = true;
      else die(target!);
      return;
    case 'start':
      if (target!.dying) return;
      Object.assign(target!, { status: 'running', startedAt: 'now', manuallyStopped: false });
      return;
    case 'tag':
      world.tag = step.imageId;
      return;
    case 'keep':
      target!.name = keptName({ name, policy: world.policy, wasRunning: world.wasRunning, untilMs: 1000 });
      return;
    case 'remove':
      if (step.id === 'old') world.old = undefined;
      else world.new = undefined;
      return;
    default:
      throw new Error(`the model does not know ${step.kind}`);
  }
}

function die(container: ModelContainer): void {
  container.status = 'exited';
  container.dying = false;
}

/** The containers that an engine starts at boot, first after a power cut, then after its own crash. */
function reboot(world: World, kind: 'power cut' | 'engine crash'): void {
  for (const container of [world.old, world.new]) {
    if (container === undefined || container.status === 'created') continue;
    if (world.policyIsFixed) {
      if (kind === 'power cut') die(container);
      continue;
    }
    const survives = kind === 'engine crash' && world.liveRestore && isAlive(container.status);
    const wasAlive = isAlive(container.status);
    if (survives) continue;
    if (wasAlive) die(container);
    const byCrash = kind === 'engine crash' && !world.liveRestore;
    const comesUp =
      container.policy.Name === 'always' ||
      (container.policy.Name === 'unless-stopped' && wasAlive && !container.manuallyStopped && !byCrash) ||
      (container.policy.Name === 'on-failure' && !(wasAlive && byCrash));
    container.dying = false;
    if (comesUp) Object.assign(container, { status: 'running', startedAt: 'boot', manuallyStopped: false });
  }
}

type Life = {
  readonly world: World;
  readonly memory: ExecutionMemory;
  /** The facts that the living process expects after its last step; undefined if it has to read them. */
  readonly expected?: TransactionFacts | undefined;
  /** The last action; undefined at the beginning. */
  readonly trail: Trail | undefined;
  readonly cuts: number;
};

type Trail = { readonly label: string; readonly before: Trail | undefined; readonly length: number };

function labelsOf(trail: Trail | undefined): string[] {
  return trail === undefined ? [] : [...labelsOf(trail.before), trail.label];
}

function copyOf(world: World): World {
  return { ...world, old: world.old && { ...world.old }, new: world.new && { ...world.new } };
}

/** Depth first over all possible actions. A state consists of the world and the memory of the living process. */
function explore(
  begin: World,
  memory: Partial<ExecutionMemory> = { direction: 'forward' },
): { states: number; faults: string[] } {
  const seen = new Set<string>();
  const faults: string[] = [];
  const pending: Life[] = [
    {
      world: begin,
      memory: { ...recovering(), isRecovery: false, stopsInDoubt: new Set(), ...memory },
      trail: undefined,
      cuts: 0,
    },
  ];
  while (pending.length > 0 && faults.length < 3) {
    const life = withMemory(pending.pop()!);
    const key = JSON.stringify([
      life.world,
      life.memory.direction,
      life.memory.reopens,
      life.memory.isRecovery,
      [...life.memory.seenParked],
      [...life.memory.proven],
      [...life.memory.filled],
      [...life.memory.compared],
      [...life.memory.hooked],
      [...life.memory.stopTimedOut],
      [...life.memory.givenUp],
      [...(life.memory.stopsInDoubt === 'any' ? ['any'] : life.memory.stopsInDoubt)],
      life.cuts,
      life.expected?.members,
    ]);
    if (seen.has(key)) continue;
    seen.add(key);
    const fault = whatIsWrong(life);
    if (fault !== undefined) {
      faults.push(`${fault} after ${labelsOf(life.trail).join(', ')}`);
      continue;
    }
    pending.push(...futures(life));
  }
  return { states: seen.size, faults };
}

/** A process remembers the parked containers that it has seen. */
function withMemory(life: Life): Life {
  const isParked = ['old', 'drop', 'kept'].includes(placeOf(life.world.old?.name ?? '', 'web'));
  return isParked ? { ...life, memory: { ...life.memory, seenParked: new Set(['old']) } } : life;
}

/** The final state without any incident. */
function withoutOutsideChange(begin: World, memory: Partial<ExecutionMemory>): World {
  const world = copyOf(begin);
  const known = { ...recovering(), isRecovery: false, stopsInDoubt: new Set<string>(), ...memory };
  for (let steps = 0; steps < 30; steps += 1) {
    const decision = decide(factsOf(world, known));
    if (decision.kind !== 'step') break;
    apply(world, decision.step);
  }
  return world;
}

function whatIsWrong(life: Life): string | undefined {
  const { world, memory, trail, cuts } = life;
  if (trail !== undefined && trail.length > 200) return 'no end';
  if (world.old && world.new && isAlive(world.old.status) && isAlive(world.new.status)) return 'two run at once';
  if (isKept(world.old) && isAlive(world.old.status)) return 'what is kept runs';
  if (world.hasFiles && world.new && isAlive(world.new.status) && !world.new.hasFiles)
    return 'it runs without its files';
  const decision = decisionOf(life);
  if (decision.kind === 'step') return whatIsUntimely(decision.step, world, memory);
  if (decision.kind !== 'end') return undefined;
  if (world.marked) return 'the mark stays';
  if (world.old?.dying || world.new?.dying) return 'a stop is still going on when nobody watches any more';
  const kept = isKept(world.old) ? world.old : undefined;
  if (world.keeps && !world.policyIsFixed && world.new !== undefined && kept === undefined) return 'nothing is kept';
  if (kept !== undefined && !samePolicy(kept.policy, no)) return 'what is kept may come up';
  const left = [world.old, world.new].filter((container) => container !== undefined && container !== kept);
  const [only] = left;
  if (left.length !== 1 || only === undefined) return `${left.length} containers are left`;
  if (only.name !== 'web') return `it is called ${only.name}`;
  const isNew = only === world.new;
  const runs = isNew ? world.desiredEndState === 'running' : world.wasRunning;
  const isEngines = cuts > 0 && (!runs || world.isSettled);
  if (isAlive(only.status) !== runs && !isEngines) return `it is ${only.status}`;
  if (isNew && ['completed', 'started'].includes(world.desiredEndState) && only.startedAt === '')
    return 'its work was never begun';
  if (!samePolicy(only.policy, world.policy)) return `its policy is ${only.policy.Name}`;
  if (only.imageId === 'image-2' && !world.healthy && !world.wasProven) return 'the unhealthy version stayed';
  return undefined;
}

/** Decides like the loop: from the expected facts if allowed, else from those of the world. */
function decisionOf(life: Life): Decision {
  return decide(factsKnownTo(life));
}

function factsKnownTo({ world, memory, expected }: Life): TransactionFacts {
  const unread = expected && { ...expected, memory };
  return unread !== undefined && mayUseExpectedFacts(decide(unread), unread) ? unread : factsOf(world, memory);
}

function isKept(container: ModelContainer | undefined): container is ModelContainer {
  return container !== undefined && parseKeptName(container.name) !== undefined;
}

/** Pre-update hooks run before the first change, post-update hooks after the proof and before the commit. */
function whatIsUntimely(step: Step, world: World, { hooked, direction }: ExecutionMemory): string | undefined {
  const { old, new: successor } = world;
  if (step.kind === 'unmark') return whatIsOwed(world);
  const isAsked = step.kind === 'hook' && step.hook === 'preUpdate';
  if (isAsked && (old?.name !== 'web' || !isAlive(old.status))) return 'the old is asked too late';
  const isParked =
    step.kind === 'rename' && step.to === parkedName('web', old?.policy ?? no, isAlive(old?.status ?? 'exited'));
  if (isParked && direction === 'forward' && !hooked.has('old') && old?.status === 'running')
    return 'the old was not asked';
  const isFinal = step.kind === 'rename' && step.id === 'old' && step.to.startsWith('web.upkeep-drop');
  if (
    isFinal &&
    old?.name !== step.to &&
    successor?.status === 'running' &&
    !hooked.has('new') &&
    direction !== 'recover'
  )
    return 'the new was not told';
  return undefined;
}

/** After the removal of the mark, a later process has no knowledge of the update. */
function whatIsOwed(world: World): string | undefined {
  const { old, new: successor, wasRunning, desiredEndState, policy } = world;
  const current = [old, successor].find((container) => container?.name === 'web');
  if (current === undefined) return 'the mark goes before someone has the name';
  const runs = current === successor ? desiredEndState === 'running' : wasRunning;
  if (runs && !world.isSettled && !isAlive(current.status)) return 'the mark goes before it runs';
  return samePolicy(current.policy, policy) ? undefined : 'the mark goes before the policy is right';
}

function futures(life: Life): Life[] {
  const next: Life[] = [];
  const branch = (
    label: string,
    change: (world: World) => ExecutionMemory | void,
    { cuts = life.cuts, expected }: { cuts?: number; expected?: TransactionFacts | undefined } = {},
  ) => {
    const world = copyOf(life.world);
    const memory = change(world) ?? life.memory;
    const trail = { label, before: life.trail, length: (life.trail?.length ?? 0) + 1 };
    next.push({ world, memory, expected, trail, cuts });
  };
  const again = { cuts: life.cuts + 1 };
  for (const which of ['old', 'new'] as const) {
    if (life.world[which]?.dying) branch(`${which} dies of its stop`, (world) => die(world[which]!), life);
  }
  const decision = decisionOf(life);
  const crashes = life.cuts < 3;
  if (crashes) {
    branch('service dies', () => recovering(), again);
    branch('power cut', (world) => (reboot(world, 'power cut'), recovering()), again);
    branch('engine crash', (world) => reboot(world, 'engine crash'), { ...again, expected: life.expected });
  }
  if (decision.kind === 'rollBack') branch('turn back', () => ({ ...life.memory, direction: 'back' }));
  if (decision.kind !== 'step') return next;
  const { step } = decision;
  const expected = () =>
    expectedFactsAfter(factsKnownTo(life), step, { mode: 'update', direction: life.memory.direction });
  if (step.kind === 'copyFiles') {
    const filled = new Set([...life.memory.filled, step.id]);
    const fill = (world: World) => void (world.new!.hasFiles = true);
    branch('copyFiles', (world) => (fill(world), { ...life.memory, filled }), { expected: expected() });
    branch('copyFiles is refused', () => ({ ...life.memory, direction: 'back' }));
    if (crashes) branch('copyFiles while the service dies', (world) => (fill(world), recovering()), again);
    return next;
  }
  if (step.kind === 'compare') {
    const compared = new Set([...life.memory.compared, step.id]);
    branch('compare', () => ({ ...life.memory, compared }), { expected: expected() });
    return next;
  }
  if (step.kind === 'hook') {
    branch('hook', () => ({ ...life.memory, hooked: new Set([...life.memory.hooked, step.id]) }));
    if (step.hook === 'preUpdate') branch('hook declines', () => ({ ...life.memory, direction: 'back' }));
    return next;
  }
  if (step.kind === 'awaitHealth') {
    const { healthy, desiredEndState } = life.world;
    branch(healthy ? 'health passes' : 'health fails', (world) => {
      if ((desiredEndState === 'completed' || desiredEndState === 'started') && world.new) die(world.new);
      return healthy
        ? { ...life.memory, proven: new Set([...life.memory.proven, ...step.ids]) }
        : { ...life.memory, direction: 'back' };
    });
    return next;
  }
  if (step.kind === 'waitOutPendingStop') {
    branch('waitOutPendingStop', (world) => {
      if (world.old?.dying) die(world.old);
      return { ...life.memory, stopTimedOut: new Set(['old']) };
    });
    return next;
  }
  branch(describeCall(step), (world) => apply(world, step), { expected: expected() });
  if (crashes)
    branch(
      `${describeCall(step)} while the service dies`,
      (world) => (apply(world, step, 'web', true), recovering()),
      again,
    );
  if (step.kind === 'stop' && life.cuts < 3) {
    branch(
      'stop without an answer',
      (world) => {
        apply(world, step, 'web', true);
        const { stopsInDoubt } = life.memory;
        return { ...life.memory, stopsInDoubt: stopsInDoubt === 'any' ? 'any' : new Set([...stopsInDoubt, step.id]) };
      },
      again,
    );
  }
  return next;
}

function describeCall(step: Step): string {
  return `${step.kind} ${'id' in step ? step.id : ''}${step.kind === 'rename' ? ` to ${step.to}` : ''}${step.kind === 'policy' ? ` ${step.policy.Name}` : ''}`;
}

test('policyWhileUnproven() lets the engine bring the old one back, except where it would start it beside a survivor', () => {
  expect(policyWhileUnproven(unlessStopped, false)).toEqual(always);
  expect(policyWhileUnproven({ Name: 'on-failure', MaximumRetryCount: 3 }, false)).toEqual(always);
  expect(policyWhileUnproven(always, true)).toEqual(no);
  expect(policyWhileUnproven(unlessStopped, true)).toEqual(unlessStopped);
  expect(policyWhileUnproven(no, false)).toEqual(no);
});
