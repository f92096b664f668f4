import { desiredEndState, type DesiredEndState } from '../settings/effective-settings.ts';
import type { RestartPolicy, Container } from '../container/container.ts';
import { containerOwnLabels, journalPrefix, type Labels } from '../image/labels.ts';
import type { JournaledMember } from './facts.ts';
import type { Seal } from '../outside/outside.ts';
import { parseJson } from '../text/json.ts';
import { parsePolicyCode, policyCode } from './transaction-names.ts';
import { parseJournaledData } from './data-helper.ts';

/**
 * The plan of a transaction for one container, written as labels of the successor at its creation. The containers'
 * names show the progress. Plan and names are enough to finish or undo the transaction.
 */
export type Journal = JournaledMember & {
  /** The same for all members of a group. */
  readonly transaction: string;
  /** Empty if the old image has none. */
  readonly oldDigest: string;
  /** The role of the carrier: the successor, or the auto-remove replica of the old container. */
  readonly role: 'successor' | 'replica';
  readonly policy: RestartPolicy;
  /** See `Instance` in `outside.ts`. */
  readonly owner: string;
  /** The container that the owner runs in, if this engine has it; else empty. */
  readonly ownerContainer: string;
  /** All members, dependencies first. The first is the leader; its commit commits all. */
  readonly members: readonly JournalMember[];
};

type JournalMember = { readonly name: string; readonly oldId: string };

/** The label that finds all members of a transaction. */
export const transactionLabel = `${journalPrefix}id`;

const version = '1';

/** Only with data, because an older Upkeep would start an old container before its data are restored. */
const versionWithData = '2';

/** The words of the label `role`. Labels of containers that exist have them, so they stay. */
const roleLabels: Readonly<Record<Journal['role'], string>> = { successor: 'successor', replica: 'standin' };

export function writeJournal(journal: Journal): Record<string, string> {
  return {
    [`${journalPrefix}v`]: journal.data === undefined ? version : versionWithData,
    [transactionLabel]: journal.transaction,
    [`${journalPrefix}name`]: journal.name,
    [`${journalPrefix}old`]: journal.oldId,
    [`${journalPrefix}old-image`]: journal.oldImageId,
    [`${journalPrefix}old-digest`]: journal.oldDigest,
    [`${journalPrefix}tagged-before`]: journal.taggedBefore,
    [`${journalPrefix}new-image`]: journal.newImageId,
    [`${journalPrefix}role`]: roleLabels[journal.role],
    [`${journalPrefix}rm`]: journal.autoRemoves ? '1' : '0',
    [`${journalPrefix}ref`]: journal.reference,
    // A seal covers these labels, so an optional field is omitted when undefined.
    ...(journal.formerReference !== undefined && { [`${journalPrefix}old-ref`]: journal.formerReference }),
    ...(journal.composeReference !== undefined && { [`${journalPrefix}file-ref`]: journal.composeReference }),
    [`${journalPrefix}policy`]: policyCode(journal.policy),
    [`${journalPrefix}run`]: journal.wasRunning ? '1' : '0',
    ...(journal.hasFixedPolicy && { [`${journalPrefix}fixed`]: '1' }),
    ...(journal.isPulled && { [`${journalPrefix}pulled`]: '1' }),
    ...(journal.wasUnhealthy && { [`${journalPrefix}unhealthy`]: '1' }),
    ...(journal.hasNoMark && { [`${journalPrefix}unmarked`]: '1' }),
    [`${journalPrefix}then`]: journal.desiredEndState,
    ...(journal.files !== undefined && { [`${journalPrefix}files`]: JSON.stringify(journal.files) }),
    ...(journal.data !== undefined && { [`${journalPrefix}data`]: JSON.stringify(journal.data) }),
    [`${journalPrefix}keep`]: String(journal.keepMs),
    [`${journalPrefix}owner`]: journal.owner,
    [`${journalPrefix}owner-container`]: journal.ownerContainer,
    [`${journalPrefix}members`]: journal.members.map(({ name, oldId }) => `${name}=${oldId}`).join(','),
  };
}

/** The text that a seal covers: the whole journal. */
export function sealedText(journal: Journal): string {
  return JSON.stringify(writeJournal(journal));
}

/** The label with the seal: see `Seal` in `outside.ts`. */
export const sealLabel = `${journalPrefix}seal`;

/** Whether a journal has the seal of our key. Without a key every journal passes. */
export function hasValidSeal(
  journal: Journal,
  labels: Readonly<Record<string, string>>,
  seal: Pick<Seal, 'verify'> | undefined,
): boolean {
  return seal === undefined || seal.verify(sealedText(journal), labels[sealLabel] ?? '');
}

/** Whether this label is part of a journal, or its seal. */
export function isJournalLabel(label: string): boolean {
  return fields.has(label.slice(journalPrefix.length)) && label.startsWith(journalPrefix);
}

const fields: ReadonlySet<string> = new Set(
  'v id name old old-image old-digest old-ref tagged-before new-image role rm ref file-ref policy run fixed pulled unhealthy unmarked then files data keep owner owner-container members seal'.split(
    ' ',
  ),
);

type JournalReading =
  | { readonly kind: 'journal'; readonly journal: Journal }
  /** No journal: an ordinary container. */
  | { readonly kind: 'none' }
  /** Written by an unknown version, or damaged. It must not be changed. */
  | { readonly kind: 'foreign'; readonly reason: string };

/** Labels are untrusted: an incomplete or inconsistent journal is `foreign`. */
export function readJournal(labels: Readonly<Record<string, string>>): JournalReading {
  const read = (name: string) => labels[`${journalPrefix}${name}`] ?? '';
  const written = labels[`${journalPrefix}v`];
  if (written === undefined) return { kind: 'none' };
  if (written !== version && written !== versionWithData)
    return { kind: 'foreign', reason: 'the journal was written by another version of Upkeep' };
  const data = written === versionWithData ? parseJournaledData(read('data')) : undefined;
  if (written === versionWithData && data === undefined)
    return { kind: 'foreign', reason: 'the journal does not show which data it is about' };
  const policy = parsePolicyCode(read('policy'));
  const members = parseMembers(read('members'));
  const name = read('name');
  const oldId = read('old');
  const transaction = read('id');
  if (policy === undefined || members === undefined || !isId(oldId) || name === '' || transaction === '') {
    return { kind: 'foreign', reason: 'the journal labels are incomplete' };
  }
  if (!members.some((member) => member.oldId === oldId && member.name === name)) {
    return { kind: 'foreign', reason: 'the journal does not list its own container' };
  }
  return {
    kind: 'journal',
    journal: {
      transaction,
      name,
      oldId,
      oldImageId: read('old-image'),
      oldDigest: read('old-digest'),
      taggedBefore: labels[`${journalPrefix}tagged-before`] ?? read('old-image'),
      newImageId: read('new-image'),
      role: read('role') === roleLabels.replica ? 'replica' : 'successor',
      autoRemoves: read('rm') === '1',
      reference: read('ref'),
      ...(read('old-ref') !== '' && { formerReference: read('old-ref') }),
      ...(read('file-ref') !== '' && { composeReference: read('file-ref') }),
      policy,
      wasRunning: read('run') !== '0',
      ...(read('fixed') === '1' && { hasFixedPolicy: true }),
      ...(read('pulled') === '1' && { isPulled: true }),
      ...(read('unhealthy') === '1' && { wasUnhealthy: true }),
      ...(read('unmarked') === '1' && { hasNoMark: true }),
      desiredEndState: readDesiredEndState(read('then'), read('run') !== '0'),
      ...readFileList(labels[`${journalPrefix}files`]),
      ...(data !== undefined && { data }),
      keepMs: readKeep(read('keep')),
      owner: read('owner'),
      ownerContainer: isId(read('owner-container')) ? read('owner-container') : '',
      members,
    },
  };
}

/** The container's own journal. Undefined if its labels come from the image. */
export function ownJournal(labels: Labels, imageLabels: Labels | undefined): Journal | undefined {
  if (!(transactionLabel in labels)) return undefined;
  const reading = readJournal(containerOwnLabels(labels, imageLabels));
  return reading.kind === 'journal' ? reading.journal : undefined;
}

/** Without a readable value, a container that ran must run again. */
function readDesiredEndState(text: string, wasRunning: boolean): DesiredEndState {
  return desiredEndState.find((one) => one === text) ?? (wasRunning ? 'running' : 'stopped');
}

function readFileList(text: string | undefined): Pick<Journal, 'files'> {
  const files = text === undefined ? undefined : parseJson(text);
  return Array.isArray(files) && files.every((file) => typeof file === 'string') ? { files } : {};
}

/** An unreadable or missing value counts as 0. */
function readKeep(text: string): number {
  return /^\d{1,12}$/.test(text) ? Number(text) : 0;
}

function parseMembers(text: string): readonly JournalMember[] | undefined {
  const members: JournalMember[] = [];
  for (const entry of text.split(',')) {
    const separator = entry.lastIndexOf('=');
    const member = { name: entry.slice(0, separator), oldId: entry.slice(separator + 1) };
    if (separator < 1 || !isId(member.oldId)) return undefined;
    members.push(member);
  }
  return members;
}

function isId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Whether a transaction made the container. That transaction may be over. */
export function carriesJournal(labels: Readonly<Record<string, string>>): boolean {
  return `${journalPrefix}v` in labels;
}

/** Whether the engine removes the container as soon as it stops (`--rm`). */
export function removesItself({ settings }: Container): boolean {
  return settings.HostConfig.AutoRemove === true;
}

/**
 * Whether the container's successor must be `--rm`: the container is `--rm`, or it is a replica that replaced one in a
 * rollback and still has no restart policy. A container with `--rm` cannot have a policy.
 */
export function hasSelfRemovingSuccessor(container: Container): boolean {
  const { settings, imageLabels } = container;
  const { Config, HostConfig } = settings;
  const policy = HostConfig.RestartPolicy?.Name ?? '';
  if (removesItself(container)) return true;
  if (policy !== '' && policy !== 'no') return false;
  return ownJournal(Config.Labels ?? {}, imageLabels ?? {})?.role === 'replica';
}

/** The same container, as if created with or without `--rm`. */
export function withAutoRemove(container: Container, AutoRemove: boolean): Container {
  const { settings } = container;
  if ((settings.HostConfig.AutoRemove === true) === AutoRemove) return container;
  return { ...container, settings: { ...settings, HostConfig: { ...settings.HostConfig, AutoRemove } } };
}
