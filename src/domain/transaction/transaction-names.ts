import type { RestartPolicy, ImageSummary } from '../container/container.ts';
import { fnv64 } from '../text/plain-data.ts';

/**
 * The name of a container holds its state in a transaction. A name is the one property of an existing container
 * that can be changed atomically, durably and with compare-and-set:
 *
 * - `web.upkeep-new`: the successor of `web`, created, not yet in its place
 * - `web.upkeep-old-u`: the container that was `web`, parked; `u` is the code of its restart policy
 * - `web.upkeep-drop-u`: the same after the commit: the successor is proven, and this container may be removed
 * - `web.upkeep-bad`: a successor that failed, about to be removed
 * - `web.upkeep-standin`: stands in for an old container that the engine removes when it stops (`--rm`)
 *
 * A parked name that ends with `-d` also shows that the update changes data: they are restored before the container may
 * have its name again. `web.upkeep-measure`, `-save` and `-restore` are the helpers that copy them.
 *
 * Two more names are outside of the transaction. In `web.upkeep-helper` Upkeep finishes the update of its own
 * container `web`. `web.upkeep-kept-u-t5z2kw` is the container that was `web` before the last update: stopped,
 * without a restart policy, and kept until the time at the end of its name, or left over because the engine did not
 * remove it.
 */
export type TransactionName =
  | { readonly role: 'new' | 'bad'; readonly name: string }
  | {
      readonly role: 'old' | 'drop';
      readonly name: string;
      readonly policy: RestartPolicy;
      readonly wasRunning: boolean;
      /** Its data belong to the update. */
      readonly hasData: boolean;
    };

/**
 * The inverse of `parseTransactionName`. The policy and the former state of an old container are part of its name, so
 * that it can be restored without its successor.
 */
export function transactionName(state: TransactionName): string {
  const name = `${state.name}.upkeep-${state.role}`;
  if (!('policy' in state)) return name;
  return `${name}-${policyCode(state.policy)}${state.wasRunning ? '' : '-s'}${state.hasData ? '-d' : ''}`;
}

/** The name of a replica. Its container ran, and has no restart policy because of `--rm`. */
export function autoRemoveReplicaName(name: string): string {
  return `${name}.upkeep-standin`;
}

/** Whether a replica with this name has not yet taken the place of its container. */
export function isAutoRemoveReplicaName(text: string): boolean {
  return transactionNamePattern.exec(text)?.groups?.['replica'] !== undefined;
}

export const dataHelperRoles = ['measure', 'save', 'restore'] as const;

export type DataHelperRole = (typeof dataHelperRoles)[number];

const dataHelperPattern = /^(?<name>.+)\.upkeep-(?:measure|save|restore)$/;

/** A container that the last update has replaced, and that may come back unchanged. */
export type KeptName = {
  readonly name: string;
  readonly policy: RestartPolicy;
  readonly wasRunning: boolean;
  /** The time of its removal, milliseconds since the epoch by the engine's clock, in whole seconds. */
  readonly untilMs: number;
};

export function keptName({ name, policy, wasRunning, untilMs }: KeptName): string {
  const until = Math.max(0, Math.ceil(untilMs / 1000)).toString(36);
  return `${name}.upkeep-kept-${policyCode(policy)}${wasRunning ? '' : '-s'}-${until}`;
}

/** Seconds in base 36. Nine digits last for three million years. */
const keptPattern = /^(?<name>.+)\.upkeep-kept-(?<policy>[neau]|f\d{1,9})(?<stopped>-s)?-(?<until>[\da-z]{1,9})$/;

/** Undefined for every other name. */
export function parseKeptName(text: string): KeptName | undefined {
  const { name, policy: code = '', stopped, until = '' } = keptPattern.exec(text)?.groups ?? {};
  const policy = parsePolicyCode(code);
  if (name === undefined || policy === undefined) return undefined;
  return { name, policy, wasRunning: stopped === undefined, untilMs: Number.parseInt(until, 36) * 1000 };
}

/**
 * The name of a container that an update could not remove: a kept one whose time is over. The time contains the start of
 * its own id, so nobody can have given a container this name at its creation.
 */
export function leftOverName(id: string, { name, policy, wasRunning }: Omit<KeptName, 'untilMs'>): string {
  return keptName({ name, policy, wasRunning, untilMs: timeOfId(id) });
}

/** Whether an update could not remove this container, and gave it its name for that reason. */
export function isLeftOver({ id, name }: { readonly id: string; readonly name: string }): boolean {
  return parseKeptName(name)?.untilMs === timeOfId(id);
}

/** A time before 1979. */
function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 7), 16) * 1000;
}

const transactionNamePattern =
  /^(?<name>.+)\.upkeep-(?:(?<fresh>new|bad)|(?<replica>standin)|(?<past>old|drop)-(?<policy>[neau]|f\d{1,9})(?<stopped>-s)?(?<data>-d)?)$/;

/** Undefined for a name that no transaction gives. */
export function parseTransactionName(text: string): TransactionName | undefined {
  const groups = transactionNamePattern.exec(text)?.groups;
  const name = groups?.['name'];
  if (groups === undefined || name === undefined) return undefined;
  if (groups['replica'] !== undefined) {
    return { role: 'old', name, policy: { Name: 'no', MaximumRetryCount: 0 }, wasRunning: true, hasData: false };
  }
  if (groups['fresh'] === 'new' || groups['fresh'] === 'bad') return { role: groups['fresh'], name };
  const policy = parsePolicyCode(groups['policy'] ?? '');
  if (policy === undefined) return undefined;
  return {
    role: groups['past'] === 'drop' ? 'drop' : 'old',
    name,
    policy,
    wasRunning: groups['stopped'] === undefined,
    hasData: groups['data'] !== undefined,
  };
}

/** Whether a name belongs to a transaction, so that its container is never selected. */
export function isParkedName(name: string): boolean {
  return parseTransactionName(name) !== undefined || isHelperName(name) || dataHelperPattern.test(name);
}

/** The name of a container outside of any update. */
export function plainName(text: string): string {
  const own = isHelperName(text) ? text.slice(0, -helperName('').length) : undefined;
  const data = dataHelperPattern.exec(text)?.groups?.['name'];
  return own ?? data ?? parseTransactionName(text)?.name ?? parseKeptName(text)?.name ?? text;
}

/**
 * The name of a helper: without a role, of the one that finishes the update of our own container `name`. Those that copy
 * data have the name of the first member.
 */
export function helperName(name: string, role: DataHelperRole | 'helper' = 'helper'): string {
  return `${name}.upkeep-${role}`;
}

export function isHelperName(text: string): boolean {
  return text.length > helperName('').length && text.endsWith(helperName(''));
}

/** Prefix of all names that a transaction on `name` gives. */
export function transactionNamePrefix(name: string): string {
  return `${name}.upkeep-`;
}

/** `n` no, `e` empty (how 20.10 stores an omitted policy), `a` always, `u` unless-stopped, `f3` on-failure with 3 retries. */
export function policyCode(policy: RestartPolicy): string {
  switch (policy.Name) {
    case '':
      return 'e';
    case 'always':
      return 'a';
    case 'unless-stopped':
      return 'u';
    case 'on-failure':
      return `f${policy.MaximumRetryCount}`;
    default:
      return 'n';
  }
}

/** Undefined for a code that no version writes. */
export function parsePolicyCode(code: string): RestartPolicy | undefined {
  const name = policyNames.get(code);
  if (name !== undefined) return { Name: name, MaximumRetryCount: 0 };
  const retries = /^f(\d{1,9})$/.exec(code)?.[1];
  return retries === undefined ? undefined : { Name: 'on-failure', MaximumRetryCount: Number(retries) };
}

const policyNames: ReadonlyMap<string, string> = new Map([
  ['n', 'no'],
  ['e', ''],
  ['a', 'always'],
  ['u', 'unless-stopped'],
]);

/**
 * The mark of an open transaction: a tag on the new image that names one old container. It is set before the first
 * change and removed after the last. Anyone who creates containers can write labels and names. A tag needs the right
 * to tag images, and that right allows replacing any image anyway. The mark survives the old container, the successor
 * and a power cut.
 */
export type TransactionMark = {
  /** `repository:tag` as the engine prints it. */
  readonly tag: string;
  readonly oldId: string;
  /** The policy of the old container before the update. */
  readonly policy: RestartPolicy;
  readonly wasRunning: boolean;
  /** The hash of the transaction's id: `fnv64`. */
  readonly transactionKey: string;
  /** See `Seal` in `outside.ts`. Empty if the instance that set it had no key. */
  readonly seal: string;
  /** The image that has the tag: the new one, while the transaction is open. */
  readonly imageId: string;
};

type MarkOrder = Pick<TransactionMark, 'oldId' | 'policy' | 'wasRunning'> & { readonly transaction: string };

/**
 * At most 128 characters, the limit of a tag:
 * https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests
 */
export function transactionMarkTag({ transaction, ...order }: MarkOrder, sign?: Sign): string {
  return tagOf(markTextOf({ ...order, transactionKey: fnv64(transaction) }), sign);
}

/** The seal of a text: see `Seal` in `outside.ts`. */
type Sign = (text: string) => string;

function tagOf(text: string, sign: Sign = () => ''): string {
  const seal = sign(text);
  return `${markRepository}:${text}${seal === '' ? '' : `.${seal.slice(0, 32)}`}`;
}

/** Open marks among the engine's tags. */
export function transactionMarksOf(images: readonly Pick<ImageSummary, 'id' | 'tags'>[]): readonly TransactionMark[] {
  return images.flatMap(({ id, tags }) => tags.flatMap((tag) => parseTag(tag, id) ?? []));
}

/** Whether a tag is a mark, not a person's. */
export function isTransactionMarkTag(tag: string): boolean {
  return tag.startsWith(`${markRepository}:`) || tag.includes(`/${markRepository}:`);
}

/** Keeps an image without another name from being removed with its mark. At most one image has it. */
export const namelessTag = 'upkeep-open:nameless';

/** The text that the seal of a mark covers. */
export function markTextOf(mark: Pick<TransactionMark, 'oldId' | 'policy' | 'wasRunning' | 'transactionKey'>): string {
  const { oldId, policy, wasRunning, transactionKey } = mark;
  return [oldId, `${policyCode(policy)}${wasRunning ? '' : '-s'}`, transactionKey].join('.');
}

export function isMarkOf(mark: Pick<TransactionMark, 'transactionKey'>, transaction: string): boolean {
  return mark.transactionKey === fnv64(transaction);
}

/** Marks a container as kept by an update. The tag is on the container's own image, which cannot be removed anyway. */
export function keptMarkTag(id: string): string {
  return `${markRepository}:kept-${id}`;
}

/** These tags on images, by the id of the container. */
export function keptMarksOf(images: readonly Pick<ImageSummary, 'tags'>[]): ReadonlyMap<string, string> {
  const marked = images.flatMap(({ tags }) =>
    tags.map((tag) => [keptGrammar.exec(tag)?.groups?.['kept'], tag] as const),
  );
  return new Map(marked.flatMap(([id, tag]) => (id === undefined ? [] : [[id, tag]])));
}

const keptGrammar = /^(?:docker\.io\/library\/|localhost\/)?upkeep-open:kept-(?<kept>[0-9a-f]{64})$/;

/** Marks a container as the helper that Upkeep made for a transaction about its own container. */
type HelperMark = Pick<TransactionMark, 'tag' | 'transactionKey' | 'seal'> & { readonly helperId: string };

/** The part of a helper's tag that the seal covers. */
export function helperMarkText(helperId: string, transaction: string): string {
  return `helper-${helperId}.${fnv64(transaction)}`;
}

export function helperMarkTag(helperId: string, transaction: string, sign?: Sign): string {
  return tagOf(helperMarkText(helperId, transaction), sign);
}

/** Helper marks among the engine's tags. */
export function helperMarksOf(images: readonly Pick<ImageSummary, 'tags'>[]): readonly HelperMark[] {
  return images.flatMap(({ tags }) =>
    tags.flatMap((tag) => {
      const { helper: helperId, key: transactionKey, seal = '' } = helperGrammar.exec(tag)?.groups ?? {};
      return helperId === undefined || transactionKey === undefined ? [] : [{ tag, helperId, transactionKey, seal }];
    }),
  );
}

const helperGrammar =
  /^(?:docker\.io\/library\/|localhost\/)?upkeep-open:helper-(?<helper>[0-9a-f]{64})\.(?<key>[0-9a-f]{16})(?:\.(?<seal>[0-9a-f]{32}))?$/;

export const markRepository = 'upkeep-open';

/** Engines print the repository with its default host. */
const grammar =
  /^(?:docker\.io\/library\/|localhost\/)?upkeep-open:(?<old>[0-9a-f]{64})\.(?<policy>[neau]|f\d{1,9})(?<stopped>-s)?\.(?<key>[0-9a-f]{16})(?:\.(?<seal>[0-9a-f]{32}))?$/;

function parseTag(tag: string, imageId: string): TransactionMark | undefined {
  const { old, policy: code = '', stopped, key, seal = '' } = grammar.exec(tag)?.groups ?? {};
  const policy = parsePolicyCode(code);
  if (old === undefined || key === undefined || policy === undefined) return undefined;
  return { tag, oldId: old, policy, wasRunning: stopped === undefined, transactionKey: key, seal, imageId };
}
