// `npm run test:faults -- --mutations`: removes single rules of the protocol, and counts the points of the campaigns
// and the tests in memory that break. A rule whose removal breaks nothing is untested or unnecessary.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The file contains `find` exactly once. */
export const mutations = [
  {
    name: 'old containers are not parked before they are stopped',
    file: 'src/domain/transaction/decide.ts',
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
    name: 'a successor gets its name only after its start',
    file: 'src/domain/transaction/decide.ts',
    find: `      (member) => member.new?.place === 'new' && rename(member.new, member.name),
    ) ??
    firstStep('preparing', members, ({ old, policy, wasRunning, startsFirst }) => {`,
    replace: `      (member) => member.new?.place === 'new' && isAlive(member.new.status) && rename(member.new, member.name),
    ) ??
    firstStep('preparing', members, ({ old, policy, wasRunning, startsFirst }) => {`,
  },
  {
    name: 'the commit is not recorded',
    file: 'src/domain/transaction/decide.ts',
    find: `    firstStep('committing', facts.members, (member) => member.old?.place === 'old' && drop(member, member.old)) ?? {`,
    replace: `    firstStep('committing', facts.members, ({ old }) => old?.place === 'old' && remove(old)) ?? {`,
  },
  {
    name: 'a parked container keeps its restart policy',
    file: 'src/domain/transaction/decide.ts',
    find: `      return !samePolicy(old.policy, waiting) && setPolicy(old, waiting);`,
    replace: `      return members.length === 0 && !samePolicy(old.policy, waiting) && setPolicy(old, waiting);`,
  },
  {
    name: 'the old container keeps its restart policy at the commit',
    file: 'src/domain/transaction/decide.ts',
    find: `    next(replaced, ({ old }) => old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart)) ??
    // Without a mark, the policy is the record, and therefore the last change.
`,
    replace: `    // Without a mark, the policy is the record, and therefore the last change.
`,
  },
  {
    name: 'the successor does not get the restart policy',
    file: 'src/domain/transaction/decide.ts',
    find: `must(owed, (member) => setFinalPolicy(`,
    replace: `must(owed.slice(owed.length), (member) => setFinalPolicy(`,
  },
  {
    name: 'a failed successor keeps its restart policy',
    file: 'src/domain/transaction/roll-back.ts',
    find: `      return isUnproven && !samePolicy(successor.policy, noRestart) && setPolicy(successor, noRestart);`,
    replace: `      return isUnproven && successor.id === '' && setPolicy(successor, noRestart);`,
  },
  {
    name: 'a failed successor keeps its name until its removal',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    next(dependentsFirst, freeName) ??`,
    replace: ``,
  },
  {
    name: 'the policy is not restored after a rollback',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    must(
      returning,
      (member) => wasParkedHere(member, memory) && maySetPolicy(member, memory, liveRestore) && restorePolicy(member),
    ) ??
`,
    replace: ``,
  },
  {
    name: 'a stop that may be in progress is not awaited',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    next(returning, (member) => stopPossible && !isNameTaken(member) && waitOutPendingStop(member, memory)) ??`,
    replace: ``,
  },
  {
    name: 'successors are removed before the old containers run again',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    next(returning, (member) => takeName(member, member.old)) ??
    must(returning, (member) => !isNameTaken(member) && mayStart(member, memory) && startOld(member)) ??
`,
    replace: `    next(present, ({ new: successor }) => successor !== undefined && remove(successor)) ??
    next(returning, (member) => takeName(member, member.old)) ??
    must(returning, (member) => !isNameTaken(member) && mayStart(member, memory) && startOld(member)) ??
`,
  },
  {
    name: 'the leader does not decide for its group',
    file: 'src/domain/transaction/decide.ts',
    find: `    next(replaced, (member) => member.old?.place === 'old' && drop(member, member.old)) ??
    next(replaced, (member) => takeName(member, member.new)) ??`,
    replace: `    next(replaced, (member) => takeName(member, member.new)) ??`,
  },
  {
    name: 'rivals are not searched after the successor is created',
    file: 'src/domain/transaction/decide.ts',
    find: `  const [rival] = member.rivals;`,
    replace: `  const [rival] = member.rivals.slice(member.rivals.length);`,
  },
  {
    name: 'containers of a rival are changed too',
    file: 'src/domain/transaction/decide.ts',
    find: `  return member.new !== undefined || created === 'all' || (member.old !== undefined && created.has(member.old.id));`,
    replace: `  return member.name !== '' || created === 'all';`,
  },
  {
    name: 'a container that a rival has parked is restored',
    file: 'src/domain/transaction/roll-back.ts',
    find: `  return old !== undefined && nameHeldBy !== 'rival' && (old.place === 'name' || wasParkedHere(member, memory));`,
    replace: `  return old !== undefined && nameHeldBy !== 'rival' && memory !== undefined;`,
  },
  {
    name: 'the policy is not read again after the successor is created',
    file: 'src/domain/transaction/decide.ts',
    find: `!samePolicy(member.old.policy, member.policy))
    return rollBack`,
    replace: `!samePolicy(member.policy, member.policy))
    return rollBack`,
  },
  {
    name: 'the policy of a container that was never parked is restored',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    must(
      returning,
      (member) => wasParkedHere(member, memory) && maySetPolicy(member, memory, liveRestore) && restorePolicy(member),
    ) ??
`,
    replace: `    next(returning, restorePolicy) ??
`,
  },
  {
    name: 'a policy that could not be restored is dropped',
    file: 'src/domain/transaction/roll-back.ts',
    find: `    must(
      returning,
      (member) => wasParkedHere(member, memory) && maySetPolicy(member, memory, liveRestore) && restorePolicy(member),
    ) ??
`,
    replace: `    next(
      returning,
      (member) => wasParkedHere(member, memory) && maySetPolicy(member, memory, liveRestore) && restorePolicy(member),
    ) ??
`,
  },
  {
    name: 'the tag stays on the new image after a rollback',
    file: 'src/domain/transaction/roll-back.ts',
    find: ` ?? next(present, (member) => restoreTag(member, memory));`,
    replace: ` ?? next(present, (member) => member.name === '' && restoreTag(member, memory));`,
  },
  {
    name: 'half-removed containers are not removed',
    file: 'src/domain/transaction/decide.ts',
    find: `  const halfRemoved = removeDead(ours);`,
    replace: `  const halfRemoved = ours.members.length === 0 ? removeDead(ours) : undefined;`,
  },
  {
    name: 'an update goes forward with a container that another one has parked',
    file: 'src/domain/transaction/decide.ts',
    find: `  if (isParkedByOther || member.nameHeldBy === 'rival')`,
    replace: `  if ((isParkedByOther && member.new === undefined) || member.nameHeldBy === 'rival')`,
  },
  {
    name: 'a replica does not wait for the names that it refers to',
    file: 'src/domain/transaction/decide.ts',
    find: `  return next.kind === 'step' &&`,
    replace: `  return next.kind === 'end' &&`,
  },
  {
    name: 'stops, starts and removals rest on expected facts',
    file: 'src/domain/transaction/facts.ts',
    find: `  'policy',\n  'awaitHealth',\n]`,
    replace: `  'policy',\n  'awaitHealth',\n  'stop',\n  'start',\n  'remove',\n]`,
  },
  {
    name: 'the mark is removed on expected facts',
    file: 'src/domain/transaction/facts.ts',
    find: `  'policy',\n  'awaitHealth',\n]`,
    replace: `  'policy',\n  'awaitHealth',\n  'unmark',\n]`,
  },
  {
    name: 'facts of an old container that has exited by itself are expected',
    file: 'src/domain/transaction/facts.ts',
    find: `  return old?.place !== 'name' || isAlive(old.status) === wasRunning;`,
    replace: `  return old?.place !== 'name' || isAlive(old.status) || wasRunning || !wasRunning;`,
  },
  {
    name: 'a refusal of a step that used expected facts counts',
    file: 'src/application/transaction/transact.ts',
    find: `  return status === nameIsTaken ||`,
    replace: `  return status > 0 ||`,
  },
  {
    name: 'networks that were removed are not created again',
    file: 'src/application/transaction/perform.ts',
    find: `  if (outcome.kind !== 'refused' || outcome.status !== 404) return outcome;`,
    replace: `  if (outcome.kind !== 'done') return outcome;`,
  },
  {
    name: 'networks of containers that are gone are created again',
    file: 'src/application/transaction/perform.ts',
    find: `  if (container === undefined) return outcome;
  const present = await engine.listNetworks();
  const lost = lostEndpoints(container, present);
  const parts = partsOf(context, containerId);`,
    replace: `  const present = await engine.listNetworks();
  const parts = partsOf(context, containerId);
  const lost = lostEndpoints(container ?? parts!.planned.container, present);`,
  },
  {
    name: 'networks are connected by id',
    file: 'src/application/transaction/perform.ts',
    find: `networkId: networkName, endpoint`,
    replace: `networkId, endpoint`,
  },
  {
    name: 'an image that a prune has removed is not pulled again',
    file: 'src/application/transaction/create-successor.ts',
    find: `  if (held !== undefined || reference === undefined || !isDigest(digest)) return held;`,
    replace: `  if (held === undefined || held !== undefined) return held;`,
  },
  {
    name: 'a successor is committed unproven once its old container is gone',
    file: 'src/domain/transaction/decide.ts',
    find: `  if (length > 1 || isRecovery || reopens || desiredEndState === 'stopped') return false;`,
    replace: `  if (length > 0 || isRecovery || reopens || desiredEndState === 'stopped') return false;`,
  },
  {
    name: 'a pruned container does not return if its successor fails',
    file: 'src/application/transaction/facts.ts',
    find: `  if (successor === undefined) return nameHeldBy === 'nobody';`,
    replace: `  if (successor === undefined || !wasRunning) return nameHeldBy === 'nobody';
  if (wasRunning) return false;`,
  },
  {
    name: 'a lost answer to the creation of a pruned container is not looked up',
    file: 'src/application/transaction/facts.ts',
    find: `  const needsReplica = needsAutoRemoveReplica || pruned.has(oldId);`,
    replace: `  const needsReplica = needsAutoRemoveReplica || pruned.has('');`,
  },
  {
    name: 'the image in the engine is not compared with the verified one',
    file: 'src/application/transaction/create-successor.ts',
    find: `    if (image !== undefined && (await isVerified(context, image, verified))) return image;`,
    replace: `    if (image !== undefined) return image;`,
  },
  {
    name: 'an index without a signature is given to the engine',
    file: 'src/application/transaction/create-successor.ts',
    find: `isIndexUnsigned ? [manifestDigest] : [`,
    replace: `isIndexUnsigned ? [digest] : [`,
  },
  {
    name: 'a successor is not compared with the verified image',
    file: 'src/application/transaction/perform.ts',
    find: `  if (verified === undefined) return false;`,
    replace: `  if (verified === undefined || verified !== undefined) return false;`,
  },
  {
    name: 'the old container keeps its restart policy when its data may change',
    file: 'src/domain/transaction/decide.ts',
    find: `    return old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
}`,
    replace: `    return old?.id === '' && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
}`,
  },
  {
    name: 'data are restored only if the new version runs',
    file: 'src/domain/transaction/roll-back.ts',
    find: `  if (isChangeCertain(facts)) return true;
  const isAnnounced`,
    replace: `  if (memory !== undefined) return members.some((member) => member.new !== undefined && isAlive(member.new.status));
  const isAnnounced`,
  },
  {
    name: 'data are restored although they were not saved',
    file: 'src/domain/transaction/roll-back.ts',
    find: `  if (!isSaveBegun) return false;
`,
    replace: `  if (isSaveBegun === undefined) return false;
`,
  },
  {
    name: 'a started restore counts as a complete one',
    file: 'src/domain/transaction/member.ts',
    find: ` && restore.status === 'exited' && restore.exitCode === 0;`,
    replace: `;`,
  },
  {
    name: 'data that were saved before the old container ran again count as saved',
    file: 'src/domain/transaction/decide.ts',
    find: `savedOf.get(old.id) === old.startedAt`,
    replace: `savedOf.has(old.id)`,
  },
];

/** Runs the mutations with one of the words in their name, and prints a line for each. `keep` also gets the known rows of the others. */
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
    for (const part of ['src', 'sandbox', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
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
  'src/domain/transaction/decide',
  'src/application/',
];

/** A campaign prints a line for each lost point; any other test counts as one point. */
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
