import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RestartPolicy } from '../container/container.ts';
import {
  isParkedName,
  keptName,
  parseKeptName,
  parsePolicyCode,
  parseTransactionName,
  plainName,
  policyCode,
  transactionNamePrefix,
} from './transaction-names.ts';
import { droppedName, failedName, parkedName, successorName } from '../../../test/support/transaction-names.ts';

const containerName = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,60}$/);
const policy: fc.Arbitrary<RestartPolicy> = fc.oneof(
  fc.constantFrom('', 'no', 'always', 'unless-stopped').map((Name) => ({ Name, MaximumRetryCount: 0 })),
  fc.nat(1000).map((MaximumRetryCount) => ({ Name: 'on-failure', MaximumRetryCount })),
);

test('parseTransactionName() reads back every name that a transaction gives', () => {
  fc.assert(
    fc.property(containerName, policy, fc.boolean(), fc.boolean(), (name, restartPolicy, wasRunning, hasData) => {
      expect(parseTransactionName(successorName(name))).toEqual({ role: 'new', name });
      expect(parseTransactionName(failedName(name))).toEqual({ role: 'bad', name });
      expect(parseTransactionName(parkedName(name, restartPolicy, wasRunning, hasData))).toEqual({
        role: 'old',
        name,
        policy: restartPolicy,
        wasRunning,
        hasData,
      });
      expect(parseTransactionName(droppedName(name, restartPolicy, wasRunning, hasData))).toEqual({
        role: 'drop',
        name,
        policy: restartPolicy,
        wasRunning,
        hasData,
      });
    }),
  );
});

test('parseKeptName() reads back what was kept until when, of names of any length, and no transaction claims it', () => {
  const until = fc.integer({ min: 0, max: 4e9 }).map((seconds) => seconds * 1000);
  const longName = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,300}$/);
  fc.assert(
    fc.property(longName, policy, fc.boolean(), until, (name, restartPolicy, wasRunning, untilMs) => {
      const kept = { name, policy: restartPolicy, wasRunning, untilMs };
      const given = keptName(kept);
      expect(parseKeptName(given)).toEqual(kept);
      expect(parseTransactionName(given)).toBeUndefined();
      expect(given).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
      for (const other of [parkedName(name, restartPolicy, wasRunning), droppedName(name, restartPolicy, wasRunning)])
        expect(parseKeptName(other)).toBeUndefined();
    }),
  );
});

test.each([
  'web.upkeep-kept',
  'web.upkeep-kept-u',
  'web.upkeep-kept-x-1',
  'web.upkeep-kept-u-',
  'web.upkeep-kept-u-1A',
  'web.upkeep-kept-u-1-1',
  'web.upkeep-kept-u-0123456789',
  '.upkeep-kept-u-1',
])('parseKeptName() leaves "%s" to its owner', (name) => expect(parseKeptName(name)).toBeUndefined());

test('a transaction gives only names that an engine accepts, all with one prefix', () => {
  fc.assert(
    fc.property(containerName, policy, fc.boolean(), (name, restartPolicy, wasRunning) => {
      for (const given of [
        successorName(name),
        failedName(name),
        parkedName(name, restartPolicy, wasRunning),
        droppedName(name, restartPolicy, wasRunning),
      ]) {
        expect(given).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
        expect(given.startsWith(transactionNamePrefix(name))).toBe(true);
      }
    }),
  );
});

test.each([
  'web',
  'web.upkeep',
  'web.upkeep-',
  'web.upkeep-older',
  'web.upkeep-old',
  'web.upkeep-old-x',
  'web.upkeep-old-f',
  '.upkeep-new',
  'web-upkeep-new',
])('isParkedName() leaves "%s" to its owner', (name) => expect(isParkedName(name)).toBe(false));

test('policyCode() is read back by parsePolicyCode(), and nothing else is', () => {
  fc.assert(
    fc.property(policy, (restartPolicy) => {
      expect(parsePolicyCode(policyCode(restartPolicy))).toEqual(restartPolicy);
    }),
  );
  expect(parsePolicyCode('constructor')).toBeUndefined();
  expect(parsePolicyCode('')).toBeUndefined();
});

test.each([
  ['web', 'web'],
  ['web.upkeep-new', 'web'],
  ['web.upkeep-old-u-s', 'web'],
  ['web.upkeep-standin', 'web'],
  ['web.upkeep-kept-u-t5z2kw', 'web'],
  ['web.upkeep-helper', 'web'],
  ['web.upkeep-newer', 'web.upkeep-newer'],
  ['.upkeep-helper', '.upkeep-helper'],
])('plainName(%j) is %j', (text, expected) => {
  expect(plainName(text)).toBe(expected);
});
