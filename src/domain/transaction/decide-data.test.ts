import { describe, expect, test } from 'vitest';
import { isAlive, type ContainerStatus, type RestartPolicy, samePolicy } from '../container/container.ts';
import type { Decision, Step } from './member.ts';
import { decide } from './decide.ts';
import { placedBy, type ContainerFacts, type DataHelper, type MemberFacts, type TransactionFacts } from './facts.ts';
import { beginMemory, type TransactionMemory } from './memory.ts';
import { droppedName, failedName, parkedName, successorName } from '../../../test/support/transaction-names.ts';
import { isRestorePending } from './roll-back.ts';

const no: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };
const unlessStopped: RestartPolicy = { Name: 'unless-stopped', MaximumRetryCount: 0 };

type Standing = { name: string; status: ContainerStatus; policy: RestartPolicy; startedAt: string; dying: boolean };

type Helper = { status: ContainerStatus; exitCode: number; startedAt: string };

type World = {
  marked: boolean;
  old: Standing | undefined;
  new: Standing | undefined;
  policy: RestartPolicy;
  liveRestore: boolean;
  healthy: boolean;
  reserve: boolean;
  copy: 'no volume' | 'empty' | 'partial' | 'saved' | 'restored';
  save: Helper | undefined;
  restore: Helper | undefined;
  data: 'old' | 'mixed' | 'new';
  /** The number of times that the old version has written, now and in the copy. */
  writes: number;
  savedWrites: number;
  starts: number;
  /** Something was lost or mixed for good. */
  fault: string;
  /** Persons have acted. */
  meddled: number;
};

function begin(policyName: string, more: Partial<World> = {}): World {
  const policy = { Name: policyName, MaximumRetryCount: 0 };
  const old = { name: 'web', status: 'running', policy, startedAt: 'start 0', dying: false } as const;
  return {
    ...{ marked: false, old, new: undefined, policy, liveRestore: false, healthy: true, reserve: false, meddled: 1 },
    ...{ copy: 'no volume', save: undefined, restore: undefined, data: 'old', writes: 1, savedWrites: 0, starts: 0 },
    fault: '',
    ...more,
  };
}

const data = { leader: 'web', items: [], imageId: 'helper', keepMs: 0 };

function factsOf(world: World, memory: TransactionMemory): TransactionFacts {
  const standing = (id: string, container: Standing | undefined): ContainerFacts | undefined =>
    container && {
      ...{ id, ...placedBy(container.name, 'web'), status: container.status, policy: container.policy },
      ...{
        imageId: id === 'old' ? 'image-1' : 'image-2',
        startedAt: container.startedAt,
        finishedAt: '',
        hasHook: false,
      },
    };
  const [old, successor] = [standing('old', world.old), standing('new', world.new)];
  const member: MemberFacts = {
    ...{ name: 'web', oldId: 'old', isMarked: world.marked, old, new: successor, data, policy: world.policy },
    nameHeldBy: old?.place === 'name' ? 'old' : successor?.place === 'name' ? 'new' : 'nobody',
    ...{ wasRunning: true, desiredEndState: 'running', keepMs: 0, waitsFor: [], reference: '', taggedBefore: '' },
    ...{ targetImageId: undefined, newImageId: 'image-2', oldImageId: 'image-1', needsAutoRemoveReplica: false },
    ...{ laterNetworks: [], replica: undefined, lacksAutoRemoveReplica: false, isReplica: false, autoRemoves: false },
    ...{ missingOfAutoRemoveReplica: [], startsFirst: false, policyIsFixed: false, missingNetworks: [], rivals: [] },
    taggedImageId: undefined,
  };
  const shown = (helper: Helper | undefined): DataHelper | undefined => helper && { ...helper };
  const { liveRestore, save, restore } = world;
  return { members: [member], liveRestore, memory, data: { save: shown(save), restore: shown(restore) } };
}

const forward = (): TransactionMemory => beginMemory('update');
const recovering = (): TransactionMemory => beginMemory('recover');

function runOld(world: World): void {
  if (world.data !== 'old') world.fault ||= `the old version was started on ${world.data} data`;
  world.writes += 1;
}

function starts(world: World, which: 'old' | 'new'): void {
  const container = world[which]!;
  world.starts += 1;
  Object.assign(container, { status: 'running', startedAt: `start ${world.starts}`, dying: false });
  if (which === 'old') runOld(world);
  else world.data = 'new';
}

function endSave(world: World, exitCode: number, isComplete: boolean): void {
  world.copy = isComplete ? 'saved' : 'partial';
  world.savedWrites = world.writes;
  Object.assign(world.save!, { status: 'exited', exitCode });
}

function endRestore(world: World, exitCode: number, isComplete: boolean): void {
  if (world.copy === 'saved') {
    if (world.writes !== world.savedWrites) world.fault ||= 'writes of the old version were lost';
    world.data = isComplete ? 'old' : 'mixed';
    if (isComplete) world.copy = 'restored';
  }
  Object.assign(world.restore!, { status: 'exited', exitCode });
}

/** The engine's effect of a step. `part`: the caller is killed during it, and this much of it has happened. */
function apply(world: World, step: Step, part: 'all' | 'first' | 'second' = 'all'): void {
  const target = 'id' in step ? (step.id === 'old' ? world.old : world.new) : undefined;
  const helper = (): Helper => ({ status: 'created', exitCode: 0, startedAt: '' });
  switch (step.kind) {
    case 'mark':
    case 'unmark':
      world.marked = step.kind === 'mark';
      return;
    case 'create':
      world.new = { name: successorName('web'), status: 'created', policy: no, startedAt: '', dying: false };
      return;
    case 'rename':
      target!.name = step.to;
      return;
    case 'policy':
      target!.policy = step.policy;
      return;
    case 'stop':
      if (part === 'all') target!.status = 'exited';
      else target!.dying = true;
      return;
    case 'start':
      starts(world, step.id as 'old' | 'new');
      return;
    case 'remove':
      if (step.id === 'old') world.old = undefined;
      else world.new = undefined;
      return;
    case 'measureData':
      world.reserve = true;
      return;
    case 'armData':
      world.copy = 'empty';
      if (part !== 'first') world.save ??= helper();
      if (part === 'all') world.restore ??= helper();
      return;
    case 'saveData':
      Object.assign(world.save!, { status: 'running', startedAt: 'now' });
      world.copy = 'partial';
      if (part === 'all') endSave(world, 0, true);
      return;
    case 'restoreData':
      if (world.save?.status === 'running') world.save = undefined;
      world.restore ??= helper();
      if (world.copy === 'no volume') world.copy = 'empty';
      Object.assign(world.restore, { status: 'running', startedAt: 'now' });
      if (world.copy === 'saved') world.data = 'mixed';
      if (part === 'all') endRestore(world, world.copy === 'saved' || world.copy === 'restored' ? 0 : 3, true);
      return;
    case 'clearData':
      world.save = undefined;
      world.restore = undefined;
      if (part === 'first') return;
      world.reserve = false;
      world.copy = 'no volume';
      return;
    default:
      throw new Error(`the model does not know ${step.kind}`);
  }
}

/** What this process learns of a step that was done. */
function learned(memory: TransactionMemory, step: Step, world: World): TransactionMemory {
  const note = (news: Partial<TransactionMemory['data']>) => ({ ...memory, data: { ...memory.data, ...news } });
  switch (step.kind) {
    case 'create':
      return { ...memory, created: new Set(['old']) };
    case 'rename':
      return memory.parked === 'any' ? memory : { ...memory, parked: new Set(['old']) };
    case 'measureData':
      return note({ hasBegun: true, isMeasured: true });
    case 'armData':
      return note({ hasBegun: true, isArmed: true });
    case 'saveData':
      return note({ savedOf: new Map([['old', world.old?.startedAt ?? '']]) });
    case 'start':
      return note({ mayHaveStarted: true });
    case 'restoreData':
      return note({ wasNeverSaved: world.restore?.exitCode === 3 });
    case 'clearData':
      return note({ isCleared: true });
    default:
      return memory;
  }
}

function reboot(world: World, kind: 'power cut' | 'engine crash'): void {
  for (const [role, end] of [
    ['save', endSave],
    ['restore', endRestore],
  ] as const)
    if (world[role]?.status === 'running') end(world, 255, false);
  for (const which of ['old', 'new'] as const) {
    const container = world[which];
    if (container === undefined || container.status === 'created') continue;
    const wasAlive = isAlive(container.status);
    if (kind === 'engine crash' && world.liveRestore && wasAlive) continue;
    container.status = 'exited';
    container.dying = false;
    const { Name } = container.policy;
    const comesUp = Name === 'always' || (Name === 'unless-stopped' && wasAlive && kind === 'power cut');
    if (comesUp) starts(world, which);
  }
}

type Life = {
  readonly world: World;
  readonly memory: TransactionMemory;
  readonly cuts: number;
  readonly trail: string[];
};

function explore(world: World): { states: number; faults: string[] } {
  const seen = new Set<string>();
  const faults: string[] = [];
  const pending: Life[] = [{ world, memory: forward(), cuts: 0, trail: [] }];
  while (pending.length > 0 && faults.length < 3) {
    const life = withSeen(pending.pop()!);
    const { memory, cuts } = life;
    const { data: known, direction, isRecovery, parked, seenParked, compared, proven, stopTimedOut } = memory;
    const key = JSON.stringify([
      ...[{ ...life.world, starts: 0, writes: life.world.writes - life.world.savedWrites, savedWrites: 0 }, cuts],
      ...[direction, isRecovery, parked === 'any' || [...parked], [...seenParked], [...compared], [...proven]],
      ...[[...stopTimedOut], { ...known, savedOf: known.savedOf?.get('old') === life.world.old?.startedAt }],
    ]);
    if (seen.has(key)) continue;
    seen.add(key);
    const fault = whatIsWrong(life);
    if (fault === undefined) pending.push(...futures(life));
    else faults.push(`${fault} after ${life.trail.join(', ')}`);
  }
  return { states: seen.size, faults };
}

function withSeen(life: Life): Life {
  const { place } = placedBy(life.world.old?.name ?? '', 'web');
  const isParked = place === 'old' || place === 'drop';
  return isParked ? { ...life, memory: { ...life.memory, seenParked: new Set(['old']) } } : life;
}

function whatIsWrong({ world, memory, trail }: Life): string | undefined {
  if (world.fault !== '') return world.fault;
  if (trail.length > 120) return 'no end';
  const { old, new: successor } = world;
  if (old && successor && isAlive(old.status) && isAlive(successor.status)) return 'two run at once';
  const decision = decide(factsOf(world, memory));
  if (decision.kind === 'stuck') return `it is stuck: ${JSON.stringify(decision)}`;
  if (decision.kind === 'step') return whatIsUntimely(decision.step, world);
  return decision.kind === 'end' ? whatIsLeft(world) : undefined;
}

function whatIsUntimely(step: Step, { old, new: successor }: World): string | undefined {
  const runs = [old, successor].some((one) => one !== undefined && isAlive(one.status));
  if (step.kind === 'saveData' && runs) return 'data are saved while someone writes to them';
  if (step.kind !== 'restoreData') return undefined;
  if (runs) return 'data are restored while someone writes to them';
  return old?.name === parkedName('web', old?.policy ?? no, true, true) || /-old-.*-d$/.test(old?.name ?? '')
    ? undefined
    : `data are restored when the old container is called ${old?.name}`;
}

function whatIsLeft(world: World): string | undefined {
  if (world.marked) return 'the mark stays';
  if (world.save ?? world.restore) return 'a helper stays';
  if (world.reserve || world.copy !== 'no volume') return 'a volume stays';
  const left = [world.old, world.new].filter((one) => one !== undefined);
  const [only] = left;
  if (left.length !== 1 || only === undefined) return `${left.length} containers are left`;
  if (only.name !== 'web') return `it is called ${only.name}`;
  if (!samePolicy(only.policy, world.policy)) return `its policy is ${only.policy.Name}`;
  if (only === world.new && !world.healthy) return 'the unhealthy version stayed';
  if (world.data !== (only === world.new ? 'new' : 'old')) return `it has ${world.data} data`;
  return undefined;
}

function futures(life: Life): Life[] {
  const next: Life[] = [];
  const branch = (label: string, change: (world: World) => TransactionMemory | void, cuts = life.cuts) => {
    const world = structuredClone(life.world);
    const memory = change(world) ?? life.memory;
    next.push({ world, memory, cuts, trail: [...life.trail, label] });
  };
  const { world } = life;
  if (world.old?.dying)
    branch('the old one dies of its stop', (now) => void Object.assign(now.old!, { status: 'exited', dying: false }));
  if (world.new?.dying)
    branch('the new one dies of its stop', (now) => void Object.assign(now.new!, { status: 'exited', dying: false }));
  if (world.save?.status === 'running') branch('the copy is complete', (now) => endSave(now, 0, true));
  if (world.restore?.status === 'running')
    branch('the restore ends', (now) => endRestore(now, now.copy === 'saved' || now.copy === 'restored' ? 0 : 3, true));
  const mayCut = life.cuts < 2;
  if (mayCut) {
    branch('service dies', () => recovering(), life.cuts + 1);
    branch('power cut', (now) => (reboot(now, 'power cut'), recovering()), life.cuts + 1);
    branch('engine crash', (now) => reboot(now, 'engine crash'), life.cuts + 1);
    if (world.new?.startedAt !== '' && world.new?.status === 'running')
      branch(
        'power cut, the start of the new one is forgotten',
        (now) => {
          Object.assign(now.new!, { status: 'created', startedAt: '' });
          reboot(now, 'power cut');
          return recovering();
        },
        life.cuts + 1,
      );
    for (const [role, end] of [
      ['save', endSave],
      ['restore', endRestore],
    ] as const)
      if (world[role]?.status === 'running')
        branch(
          `power cut, the end of ${role} is forgotten`,
          (now) => (end(now, 255, true), reboot(now, 'power cut'), recovering()),
          life.cuts + 1,
        );
  }
  const isInHealthCheck =
    world.new !== undefined &&
    world.new.startedAt !== '' &&
    world.new.name === 'web' &&
    /-old-/.test(world.old?.name ?? '');
  if (isInHealthCheck && world.meddled > 0) {
    branch('someone removes the new container', (now) => void Object.assign(now, { new: undefined, meddled: 0 }));
    branch('helpers are pruned', (now) => {
      if (now.save?.status !== 'running') now.save = undefined;
      if (now.restore?.status !== 'running') now.restore = undefined;
      now.meddled = 0;
    });
  }
  const decision: Decision = decide(factsOf(world, life.memory));
  if (decision.kind === 'rollBack') branch('turn back', () => ({ ...life.memory, direction: 'back' }));
  if (decision.kind !== 'step') return next;
  const { step } = decision;
  if (step.kind === 'compare') {
    branch('compare', () => ({ ...life.memory, compared: new Set([step.id]) }));
    return next;
  }
  if (step.kind === 'awaitHealth') {
    branch('awaitHealth', (now) => {
      if (now.healthy) return { ...life.memory, proven: new Set(step.ids) };
      return { ...life.memory, direction: 'back' };
    });
    return next;
  }
  if (step.kind === 'waitOutPendingStop') {
    branch('waitOutPendingStop', (now) => {
      if (now.old?.dying) Object.assign(now.old, { status: 'exited', dying: false });
      return { ...life.memory, stopTimedOut: new Set(['old']) };
    });
    return next;
  }
  const label = `${step.kind} ${'id' in step ? step.id : ''}${step.kind === 'rename' ? ` ${step.to}` : ''}${step.kind === 'policy' ? ` ${step.policy.Name}` : ''}`;
  branch(label, (now) => (apply(now, step), learned(life.memory, step, now)));
  if (step.kind === 'saveData')
    branch(
      'the copy fails',
      (now) => (apply(now, step, 'first'), endSave(now, 5, false), { ...life.memory, direction: 'back' as const }),
    );
  if (step.kind === 'start' && step.id === 'new')
    branch(
      'start without an answer',
      (now) => (apply(now, step), { ...learned(life.memory, step, now), direction: 'back' as const }),
    );
  if (mayCut)
    for (const part of ['first', 'second'] as const)
      branch(
        `${label} while the service dies (${part})`,
        (now) => (apply(now, step, part), recovering()),
        life.cuts + 1,
      );
  return next;
}

describe('decide() with data, under every interleaving of crashes', () => {
  const shapes = ['no', '', 'unless-stopped', 'always', 'on-failure'].flatMap((policy) =>
    [true, false].flatMap((liveRestore) => [true, false].map((healthy) => ({ policy, liveRestore, healthy }))),
  );
  test.each(shapes)(
    'policy "$policy", live-restore $liveRestore, healthy $healthy: no version runs on the data of the other, and no write is lost',
    ({ policy, liveRestore, healthy }) => {
      const explored = explore(begin(policy, { liveRestore, healthy }));
      expect(explored.faults).toEqual([]);
      expect(explored.states).toBeGreaterThan(200);
    },
  );
});

test('an update with data saves between the last stop and the first start, and takes the old policy before', () => {
  expect(stepsOf(begin('unless-stopped'))).toEqual([
    ...['mark', 'create', 'measureData', 'armData', `rename old ${parkedName('web', unlessStopped, true, true)}`],
    ...['rename new web', 'policy old always', 'stop old', 'saveData', 'policy old no', 'start new'],
    ...[`rename old ${droppedName('web', unlessStopped, true, true)}`, 'policy new unless-stopped', 'clearData'],
    ...['unmark', 'remove old'],
  ]);
  expect(stepsOf(begin('unless-stopped', { healthy: false })).slice(10)).toEqual([
    ...['start new', `rename new ${failedName('web')}`, 'stop new', 'restoreData', 'rename old web', 'start old'],
    ...['policy old unless-stopped', 'clearData', 'unmark', 'remove new'],
  ]);
});

function stepsOf(world: World): string[] {
  const steps: string[] = [];
  let memory = forward();
  for (let count = 0; count < 60; count += 1) {
    memory = withSeen({ world, memory, cuts: 0, trail: [] }).memory;
    const decision = decide(factsOf(world, memory));
    if (decision.kind !== 'step') return steps;
    const { step } = decision;
    if (step.kind === 'compare') memory = { ...memory, compared: new Set([step.id]) };
    else if (step.kind === 'awaitHealth')
      memory = world.healthy ? { ...memory, proven: new Set(step.ids) } : { ...memory, direction: 'back' };
    else {
      steps.push(
        `${step.kind} ${'id' in step ? step.id : ''}${step.kind === 'rename' ? ` ${step.to}` : ''}${step.kind === 'policy' ? ` ${step.policy.Name}` : ''}`.trim(),
      );
      apply(world, step);
      memory = learned(memory, step, world);
    }
  }
  return steps;
}

describe('decide() when data cannot be restored', () => {
  const failed = (): World => ({
    ...begin('unless-stopped'),
    marked: true,
    old: {
      name: parkedName('web', unlessStopped, true, true),
      status: 'exited',
      policy: no,
      startedAt: 'then',
      dying: false,
    },
    new: { name: failedName('web'), status: 'exited', policy: no, startedAt: 'later', dying: false },
    data: 'new',
  });
  const withData = (memory: TransactionMemory, news: Partial<TransactionMemory['data']>) => ({
    ...memory,
    data: { ...memory.data, ...news },
  });

  test('the copy is gone: nothing runs until a person decides, and either decision ends it', () => {
    const memory = withData(recovering(), { hasNoCopy: true });
    expect(decide(factsOf(failed(), memory))).toEqual({ kind: 'stuck', fault: 'no-copy' });
    expect(decide(factsOf(failed(), withData(memory, { choice: 'without-data' })))).toMatchObject({
      step: { kind: 'rename', id: 'old', to: 'web' },
    });
    expect(decide(factsOf(failed(), withData(memory, { choice: 'keep-new' })))).toMatchObject({
      step: { kind: 'rename', id: 'old', to: droppedName('web', unlessStopped, true, true) },
    });
  });

  test('the copy has no proof: it is another one if the new version has run, and no copy was begun if not', () => {
    const memory = withData(recovering(), { wasNeverSaved: true });
    expect(decide(factsOf(failed(), memory))).toEqual({ kind: 'stuck', fault: 'no-copy' });
    const world = failed();
    world.new!.startedAt = '';
    expect(decide(factsOf(world, memory))).not.toMatchObject({ kind: 'stuck' });
  });

  test('someone has started the parked container: nothing is touched', () => {
    const world = failed();
    world.old!.status = 'running';
    expect(decide(factsOf(world, recovering()))).toEqual({ kind: 'stuck', fault: 'old-started' });
  });

  test('a policy that a person gave to the parked container changes nothing: the data are restored', () => {
    const world = failed();
    world.old!.policy = always;
    expect(isRestorePending(factsOf(world, recovering()))).toBe(true);
    expect(decide(factsOf(world, recovering()))).toMatchObject({ step: { kind: 'policy', id: 'old', policy: no } });
  });

  test('nothing tells which data they are: the old container does not start', () => {
    const { data: _, ...facts } = factsOf({ ...failed(), new: undefined }, recovering());
    expect(decide(facts)).toEqual({ kind: 'stuck', fault: 'no-journal' });
  });

  test('the new container was removed after the commit: the old one does not start on its data', () => {
    const world = { ...failed(), new: undefined };
    world.old!.name = droppedName('web', unlessStopped, true, true);
    expect(decide(factsOf(world, recovering()))).toEqual({ kind: 'stuck', fault: 'new-gone' });
    expect(decide(factsOf(world, withData(recovering(), { choice: 'without-data' })))).toMatchObject({
      step: { kind: 'clearData', keepsCopy: true },
    });
  });
});

test('a container that is started again after its data were saved is saved again', () => {
  const memory = { ...forward(), created: new Set(['old']), parked: new Set(['old']), compared: new Set(['new']) };
  const known = { ...memory.data, isMeasured: true, isArmed: true, savedOf: new Map([['old', 'start 1']]) };
  const next = (startedAt: string) => {
    const world = begin('unless-stopped', { marked: true });
    world.old = {
      name: parkedName('web', unlessStopped, true, true),
      status: 'exited',
      policy: always,
      startedAt,
      dying: false,
    };
    world.new = { name: 'web', status: 'created', policy: no, startedAt: '', dying: false };
    return decide(factsOf(world, { ...memory, data: known }));
  };
  expect(next('start 1')).toMatchObject({ step: { kind: 'policy', id: 'old', policy: no } });
  expect(next('start 2')).toMatchObject({ step: { kind: 'saveData' } });
});
