import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TransactionFacts } from './facts.ts';
import { type Step, stepKey } from './member.ts';
import { parkedName } from '../../../test/support/transaction-names.ts';
import { learn, limits, beginMemory, type StepDecision, type StepOutcome, type TransactionMemory } from './memory.ts';

type TransactionMode = Parameters<typeof beginMemory>[0];

const modes: readonly TransactionMode[] = ['update', 'hand-over', 'rehearse', 'recover', 'finish-as-helper', 'return'];
const policy = { Name: 'always', MaximumRetryCount: 0 };
const steps: readonly Step[] = [
  { kind: 'mark', oldId: 'old' },
  { kind: 'unmark', oldId: 'old' },
  { kind: 'create', member: 0 },
  { kind: 'autoRemoveReplica', member: 0 },
  { kind: 'connect', id: 'new', networkId: 'net', member: 0 },
  { kind: 'compare', id: 'new', member: 0 },
  { kind: 'rename', id: 'old', to: parkedName('web', policy, true) },
  { kind: 'policy', id: 'old', policy, afterPause: false },
  { kind: 'stop', id: 'old' },
  { kind: 'start', id: 'new' },
  { kind: 'awaitHealth', ids: ['new'] },
  { kind: 'hook', id: 'old', hook: 'preUpdate' },
  { kind: 'waitOutPendingStop', id: 'old' },
  { kind: 'tag', imageId: 'image-1', reference: 'web:1' },
  { kind: 'remove', id: 'old' },
  { kind: 'keep', id: 'old' },
];
const phases = ['preparing', 'stopping', 'starting', 'checking health', 'committing', 'rolling back'] as const;
const outcomes: readonly StepOutcome[] = [
  { kind: 'done' },
  { kind: 'noop' },
  { kind: 'refused', status: 409, message: 'no' },
  { kind: 'unknown', message: 'gone' },
  { kind: 'fault', id: 'new', message: 'it crashed', wasRunningAtFirst: true },
  { kind: 'declined', message: 'not now', deferred: true },
  { kind: 'warned', message: 'too late' },
];

function factsFor(memory: TransactionMemory): TransactionFacts {
  return { members: [], liveRestore: false, memory };
}

const known = (memory: TransactionMemory) =>
  [memory.parked, memory.created, memory.compared, memory.proven, memory.hooked, memory.stopsInDoubt] as const;

test('learn() changes no memory that it is given, forgets nothing but calm, and never goes forward again', () => {
  const event = fc.record({
    step: fc.constantFrom(...steps),
    phase: fc.constantFrom(...phases),
    outcome: fc.constantFrom(...outcomes),
  });
  fc.assert(
    fc.property(fc.constantFrom(...modes), fc.array(event, { maxLength: 40 }), (mode, events) => {
      let memory = beginMemory(mode);
      for (const { step, phase, outcome } of events) {
        const before = structuredClone(memory);
        const given = memory;
        const next = learn(given, { kind: 'step', step, phase }, outcome, factsFor(given)).memory;
        expect(given).toEqual(before);
        for (const [index, set] of known(given).entries()) {
          const after = known(next)[index]!;
          if (typeof set === 'string') expect(after).toBe(set);
          else expect([...set].every((id) => typeof after !== 'string' && after.has(id))).toBe(true);
        }
        expect([...given.givenUp].every((key) => next.givenUp.has(key))).toBe(true);
        if (given.direction !== 'forward') expect(next.direction).not.toBe('forward');
        if (given.reason !== '') expect(next.reason).toBe(given.reason);
        memory = next;
      }
    }),
  );
});

test.each(steps.flatMap((step) => phases.map((phase) => ({ step, phase, kind: step.kind }))))(
  'a step to $kind while $phase is not tried for ever, whatever becomes of it',
  ({ step, phase }) => {
    for (const outcome of outcomes) {
      let memory = beginMemory('update');
      const most = Math.max(limits[step.kind].failures, limits[step.kind].inVain);
      for (let attempt = 0; attempt < most; attempt += 1)
        memory = learn(memory, { kind: 'step', step, phase }, outcome, factsFor(memory)).memory;
      expect(outcome.kind === 'warned' || memory.direction === 'back' || memory.givenUp.has(stepKey(step))).toBe(true);
    }
  },
);

const decision = (step: Step, phase: StepDecision['phase']): StepDecision => ({ kind: 'step', step, phase });
const learned = (step: Step, outcome: StepOutcome, phase: StepDecision['phase'] = 'stopping') =>
  learn(beginMemory('update'), decision(step, phase), outcome, factsFor(beginMemory('update')));

test('a stop without an answer may still be going on, and counts as a stop', () => {
  expect(learned({ kind: 'stop', id: 'old' }, { kind: 'unknown', message: '' }).memory).toMatchObject({
    stopped: true,
    stopsInDoubt: new Set(['old']),
  });
});

test('a container is ours once it may have been parked, and not when the engine has refused that', () => {
  const park: Step = { kind: 'rename', id: 'old', to: parkedName('web', policy, true) };
  expect(learned(park, { kind: 'unknown', message: '' }).memory.parked).toEqual(new Set(['old']));
  expect(learned(park, { kind: 'refused', status: 409, message: '' }).memory.parked).toEqual(new Set());
});

test('any lost answer ends the calm of all successors, because the engine may have been restarted', () => {
  const { memory } = learned({ kind: 'start', id: 'new' }, { kind: 'done' });
  expect(memory.withoutOutsideChange).toEqual(new Set(['new']));
  const unsure = learn(
    memory,
    decision({ kind: 'stop', id: 'old' }, 'stopping'),
    { kind: 'unknown', message: '' },
    factsFor(memory),
  );
  expect(unsure.memory.withoutOutsideChange).toEqual(new Set());
});

test('after a lost answer the data are cleared again, because a power cut may bring removed volumes back', () => {
  const clear: Step = { kind: 'clearData', keepsCopy: false, isCommitted: true };
  const { memory } = learned(clear, { kind: 'done' }, 'committing');
  expect(memory.data.isCleared).toBe(true);
  const after = (outcome: StepOutcome) =>
    learn(memory, decision({ kind: 'unmark', oldId: 'old' }, 'committing'), outcome, factsFor(memory)).memory.data;
  expect(after({ kind: 'done' }).isCleared).toBe(true);
  expect(after({ kind: 'refused', status: 409, message: '' }).isCleared).toBe(true);
  expect(after({ kind: 'unknown', message: '' }).isCleared).toBe(false);
});

test('the log of a successor that cannot be started is asked for, and a step that may succeed later is paced', () => {
  expect(learned({ kind: 'start', id: 'new' }, { kind: 'refused', status: 500, message: '' }).logOf).toBe('new');
  const paced = learned({ kind: 'remove', id: 'old' }, { kind: 'refused', status: 500, message: '' }, 'committing');
  expect(paced.pauseMs).toBeGreaterThan(0);
  expect(paced.logOf).toBeUndefined();
});
