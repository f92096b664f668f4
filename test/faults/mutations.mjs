// `npm run test:faults -- --mutations`: takes single rules out of the protocol and counts the points of the
// campaigns and the tests in memory that break then. A rule whose loss breaks nothing is not tested, or not needed.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const transaction = 'src/domain/transaction/transaction.ts';

/** `find` stands in the file exactly once. */
const mutations = [
  {
    name: 'old containers are not parked before they are stopped',
    file: transaction,
    find: `    firstStep('preparing', dependentsFirst, (member) => member.old?.place === 'name' && park(member, member.old)) ??
    firstStep(
      'preparing',
      dependentsFirst,
      (member) => member.new?.place === 'new' && rename(member.new, member.name),
    ) ??`,
    replace: `    firstStep('stopping', dependentsFirst, ({ old }) => old !== undefined && isAlive(old.status) && stop(old)) ??
    firstStep('preparing', dependentsFirst, (member) => member.old?.place === 'name' && park(member, member.old)) ??
    firstStep(
      'preparing',
      dependentsFirst,
      (member) => member.new?.place === 'new' && rename(member.new, member.name),
    ) ??`,
  },
  {
    name: 'successors get the name only once they run',
    file: transaction,
    find: `      (member) => member.new?.place === 'new' && rename(member.new, member.name),
    ) ??
    firstStep('preparing', members, ({ old, policy, wasRunning, startsFirst }) => {`,
    replace: `      (member) => member.new?.place === 'new' && isAlive(member.new.status) && rename(member.new, member.name),
    ) ??
    firstStep('preparing', members, ({ old, policy, wasRunning, startsFirst }) => {`,
  },
  {
    name: 'the commit is not written down',
    file: transaction,
    find: `    firstStep('committing', facts.members, (member) => member.old?.place === 'old' && drop(member, member.old)) ?? {`,
    replace: `    firstStep('committing', facts.members, ({ old }) => old?.place === 'old' && remove(old)) ?? {`,
  },
  {
    name: 'a parked container keeps its restart policy',
    file: transaction,
    find: `      return !samePolicy(old.policy, waiting) && {`,
    replace: `      return members.length === 0 && !samePolicy(old.policy, waiting) && {`,
  },
  {
    name: 'the old policy is not taken away at the commit',
    file: transaction,
    find: `    next(({ old }) => old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart)) ??
    next(({ old, new: successor, policy }) => {
      if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
      return { kind: 'policy'`,
    replace: `    next(({ old, new: successor, policy }) => {
      if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
      return { kind: 'policy'`,
  },
  {
    name: 'the successor does not get the restart policy',
    file: transaction,
    find: `      if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
      return { kind: 'policy', id: successor.id, policy, afterPause: old !== undefined };`,
    replace: `      if (successor === undefined || policy === undefined || successor.id !== '') return undefined;
      return { kind: 'policy', id: successor.id, policy, afterPause: old !== undefined };`,
  },
  {
    name: 'a successor that is given up keeps its restart policy',
    file: transaction,
    find: `      return isUnproven && !samePolicy(successor.policy, noRestart) && setPolicy(successor, noRestart);`,
    replace: `      return isUnproven && successor.id === '' && setPolicy(successor, noRestart);`,
  },
  {
    name: 'a successor that is given up keeps the name until it is removed',
    file: transaction,
    find: `      ({ name, new: successor }) => successor?.place === 'name' && rename(successor, failedName(name)),`,
    replace: `      ({ name, new: successor }) => successor?.id === '' && rename(successor, failedName(name)),`,
  },
  {
    name: 'the policy is not restored after a rollback',
    file: transaction,
    find: `    mustNext('rolling back', returning, course, (member) => wasOursToChange(member, course) && restorePolicy(member)) ??
    next(restoreTag, present) ??`,
    replace: `    next(restoreTag, present) ??`,
  },
  {
    name: 'stops that may be in flight are not waited out',
    file: transaction,
    find: `    next((member) => stopPossible && isEntitled(member) && outwait(member, course)) ??`,
    replace: ``,
  },
  {
    name: 'successors are removed before the old containers run again',
    file: transaction,
    find: `    next((member) => takeName(member, member.old)) ??
    mustNext('rolling back', returning, course, (member) => isEntitled(member) && startOld(member)) ??
    next((member) => stopPossible`,
    replace: `    next(({ new: successor }) => successor !== undefined && remove(successor), present) ??
    next((member) => takeName(member, member.old)) ??
    mustNext('rolling back', returning, course, (member) => isEntitled(member) && startOld(member)) ??
    next((member) => stopPossible`,
  },
  {
    name: 'the leader does not decide for its group',
    file: transaction,
    find: `    next((member) => member.old?.place === 'old' && drop(member, member.old)) ??
    next((member) => takeName(member, member.new)) ??`,
    replace: `    next((member) => takeName(member, member.new)) ??`,
  },
  {
    name: 'rivals are not looked for once the successor is there',
    file: transaction,
    find: `  const rival = member.rivals[0];`,
    replace: `  const rival = member.rivals[member.rivals.length];`,
  },
  {
    name: 'containers that a rival holds are touched too',
    file: transaction,
    find: `  return member.new !== undefined || engaged === 'all' || (member.old !== undefined && engaged.has(member.old.id));`,
    replace: `  return member.name !== '' || engaged === 'all';`,
  },
  {
    name: 'what a rival has parked is brought back',
    file: transaction,
    find: `  return old !== undefined && nameHeldBy !== 'rival' && (old.place === 'name' || wasOursToChange(member, course));`,
    replace: `  return old !== undefined && nameHeldBy !== 'rival' && course !== undefined;`,
  },
  {
    name: 'the policy is not read again once the successor is there',
    file: transaction,
    find: `!samePolicy(member.old.policy, member.policy))
    return turn`,
    replace: `!samePolicy(member.policy, member.policy))
    return turn`,
  },
  {
    name: 'the policy of what was never parked is set right all the same',
    file: transaction,
    find: `    mustNext('rolling back', returning, course, (member) => wasOursToChange(member, course) && restorePolicy(member)) ??`,
    replace: `    next(restorePolicy) ??`,
  },
  {
    name: 'a policy that could not be restored is forgotten',
    file: transaction,
    find: `    mustNext('rolling back', returning, course, (member) => wasOursToChange(member, course) && restorePolicy(member)) ??`,
    replace: `    next((member) => wasOursToChange(member, course) && restorePolicy(member)) ??`,
  },
  {
    name: 'the tag stays on the new image after a rollback',
    file: transaction,
    find: `    next(restoreTag, present) ??`,
    replace: ``,
  },
  {
    name: 'half-removed containers are left',
    file: transaction,
    find: `  const halfRemoved = buryDead(ours);`,
    replace: `  const halfRemoved = ours.members.length === 0 ? buryDead(ours) : undefined;`,
  },
];

/** Prints a line for each mutation with one of the words in its name, and hands over all rows of docs/reliability.md: of the others those that are known. */
export async function runMutations({ words, known, keep }) {
  const points = new Map(known.map((row) => [row.mutation, row.points]));
  for (const mutation of mutations.filter(({ name }) => words.some((each) => name.includes(each)))) {
    points.set(mutation.name, await countBroken(mutation));
    keep(mutations.flatMap(({ name }) => (points.has(name) ? [{ mutation: name, points: points.get(name) }] : [])));
    console.log(`${String(points.get(mutation.name)).padStart(5)} points broken: ${mutation.name}`);
  }
}

async function countBroken({ name, file, find, replace }) {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-mutation-'));
  try {
    for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const text = readFileSync(join(folder, file), 'utf8');
    if (text.split(find).length !== 2) throw new Error(`Cannot make the mutation "${name}": ${file} has changed`);
    writeFileSync(
      join(folder, file),
      text.replace(find, () => replace),
    );
    const report = join(folder, 'report.json');
    await run(folder, ['--reporter', 'json', '--outputFile.json', report, ...suites]);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const failures = testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'failed').flatMap(({ failureMessages }) => failureMessages),
    );
    return failures.reduce((sum, message) => sum + pointsIn(message), 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The campaigns in memory, the model of all interleavings, and the tests of single cases. */
const suites = [
  ...['interrupted', 'boot', 'races'].map((name) => `test/faults/${name}.test.ts`),
  'src/domain/transaction/transaction.test.ts',
  'src/application/',
];

/** A campaign lists what it lost, a line each; other tests are one point. */
function pointsIn(message) {
  return Math.max(1, message.split('\n').filter((line) => /^[+-]\s+"/.test(line)).length);
}

function run(folder, args) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'faults', '--project', 'unit', ...args], {
    cwd: folder,
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.on('close', resolve));
}
