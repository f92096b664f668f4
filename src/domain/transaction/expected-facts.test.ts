import { expect, test } from 'vitest';
import type { RestartPolicy } from '../container/container.ts';
import {
  expectedFactsAfter,
  mayUseExpectedFacts,
  type MemberFacts,
  type ContainerFacts,
  type TransactionFacts,
} from './facts.ts';
import type { Step } from './member.ts';
import { droppedName, parkedName, successorName } from '../../../test/support/transaction-names.ts';
import { beginMemory } from './memory.ts';

const no: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };
const update = beginMemory('update');

function standing(id: string, change: Partial<ContainerFacts>): ContainerFacts {
  const times = { startedAt: 'then', finishedAt: '' };
  return { id, place: 'name', status: 'running', ...times, policy: always, imageId: id, hasHook: false, ...change };
}

function factsOf(member: Partial<MemberFacts> = {}): TransactionFacts {
  const told = { name: 'web', oldId: 'old', oldImageId: 'old', newImageId: 'new', reference: 'web:1' } as const;
  const ends = { wasRunning: true, desiredEndState: 'running', policy: always, keepMs: 0, startsFirst: false } as const;
  const one: MemberFacts = {
    ...{
      ...told,
      ...ends,
      taggedBefore: 'old',
      targetImageId: 'new',
      autoRemoves: false,
      needsAutoRemoveReplica: false,
    },
    waitsFor: [],
    laterNetworks: [],
    missingNetworks: [],
    missingOfAutoRemoveReplica: [],
    rivals: [],
    isMarked: true,
    replica: undefined,
    lacksAutoRemoveReplica: false,
    isReplica: false,
    policyIsFixed: false,
    old: standing('old', {}),
    new: standing('new', { place: 'new', status: 'created', startedAt: '', policy: no }),
    nameHeldBy: 'old',
    taggedImageId: undefined,
    ...member,
  };
  return { members: [one], liveRestore: false, memory: update };
}

const after = (step: Step, member?: Partial<MemberFacts>) =>
  expectedFactsAfter(factsOf(member), step, update)?.members[0];

test('a rename moves the name from the old container to nobody, then to the successor', () => {
  const parked = after({ kind: 'rename', id: 'old', to: parkedName('web', always, true) }, { rivals: ['other'] });
  expect(parked).toMatchObject({ old: { place: 'old' }, nameHeldBy: 'nobody', rivals: [] });
  expect(after({ kind: 'rename', id: 'new', to: 'web' }, parked)).toMatchObject({
    new: { place: 'name' },
    nameHeldBy: 'new',
  });
});

test('a name that someone else holds stays theirs', () => {
  const step: Step = { kind: 'rename', id: 'old', to: droppedName('web', always, true) };
  const old = standing('old', { place: 'old' });
  expect(after(step, { old, nameHeldBy: 'stranger' })).toMatchObject({ nameHeldBy: 'stranger' });
});

test('a step on one member leaves the others as they were', () => {
  const facts = factsOf();
  const other = { ...facts.members[0]!, name: 'db', oldId: 'db', isMarked: false, old: standing('db', {}) };
  const both = { ...facts, members: [facts.members[0]!, { ...other, new: undefined }] };
  for (const step of [
    { kind: 'mark', oldId: 'old' },
    { kind: 'policy', id: 'old', policy: no, afterPause: false },
    { kind: 'start', id: 'new' },
    { kind: 'remove', id: 'old' },
    { kind: 'rename', id: 'new', to: successorName('web') },
  ] as const)
    expect(expectedFactsAfter(both, step, update)?.members[1]).toEqual({ ...other, new: undefined });
});

test.each([
  'create',
  'stop',
  'awaitHealth',
  'hook',
  'unmark',
  'tag',
  'keep',
  'waitOutPendingStop',
  'autoRemoveReplica',
  'connect',
] as const)('after "%s" only the engine can tell', (kind) => {
  expect(after({ kind } as Step)).toBeUndefined();
});

test('nothing is expected on the way back, in a recovery, or where a stand-in takes part', () => {
  const step: Step = { kind: 'mark', oldId: 'old' };
  expect(expectedFactsAfter(factsOf(), step, { ...update, direction: 'back' })).toBeUndefined();
  for (const mode of ['recover', 'return', 'finish-as-helper'] as const)
    expect(expectedFactsAfter(factsOf(), step, beginMemory(mode))).toBeUndefined();
  expect(after(step, { needsAutoRemoveReplica: true })).toBeUndefined();
});

test('nothing is expected of an old container that has ended by itself: its engine may be starting it', () => {
  const step: Step = { kind: 'mark', oldId: 'old' };
  expect(after(step, { old: standing('old', { status: 'exited' }) })).toBeUndefined();
  expect(after(step, { old: standing('old', { status: 'exited' }), wasRunning: false })).toBeDefined();
  expect(after(step, { old: standing('old', { status: 'exited', place: 'old' }) })).toBeDefined();
});

test.each([
  'stop',
  'start',
  'remove',
  'unmark',
  'keep',
  'tag',
  'hook',
  'connect',
  'autoRemoveReplica',
  'waitOutPendingStop',
] as const)('a decision to %s never rests on expected facts', (kind) => {
  expect(mayUseExpectedFacts({ kind: 'step', step: { kind } as Step, phase: 'starting' }, factsOf())).toBe(false);
});

test('nor does one to turn back, to give up, or to end undone', () => {
  expect(mayUseExpectedFacts({ kind: 'rollBack', reason: '', busy: false }, factsOf())).toBe(false);
  expect(mayUseExpectedFacts({ kind: 'end', result: 'undone' }, factsOf())).toBe(false);
  expect(mayUseExpectedFacts({ kind: 'stuck', step: { kind: 'start', id: 'new' } }, factsOf())).toBe(false);
});

test('nor does one to set the last policy where no mark can be set: that policy ends the update', () => {
  const policy = { Name: 'always', MaximumRetryCount: 0 };
  const decision = (afterPause: boolean) =>
    ({ kind: 'step', step: { kind: 'policy', id: 'new', policy, afterPause }, phase: 'committing' }) as const;
  expect(mayUseExpectedFacts(decision(true), factsOf())).toBe(true);
  expect(mayUseExpectedFacts(decision(true), { setsNoMarks: true })).toBe(false);
  expect(mayUseExpectedFacts(decision(false), { setsNoMarks: true })).toBe(true);
});
