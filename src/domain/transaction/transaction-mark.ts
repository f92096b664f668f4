import type { ImageSummary } from '../container/container.ts';
import type { RestartPolicy } from '../container/container-settings.ts';
import { fnv64 } from '../text/plain-data.ts';
import { parsePolicyCode, policyCode } from './transaction-names.ts';

/**
 * The mark of an open transaction: a tag on the new image that names one old container. It is set before the first
 * change and removed after the last. Anybody who creates containers can write labels and names. A tag needs the right
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

/** The part of the tag that the seal covers. */
export function transactionMarkText({ transaction, ...order }: MarkOrder): string {
  return textOf(order, fnv64(transaction));
}

function textOf({ oldId, policy, wasRunning }: Omit<MarkOrder, 'transaction'>, transactionKey: string): string {
  return [oldId, `${policyCode(policy)}${wasRunning ? '' : '-s'}`, transactionKey].join('.');
}

/**
 * At most 128 characters, the limit of a tag:
 * https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests
 */
export function transactionMarkTag(order: MarkOrder, seal = ''): string {
  return `${repository}:${transactionMarkText(order)}${seal === '' ? '' : `.${seal.slice(0, sealDigits)}`}`;
}

/** Open marks among the engine's tags. */
export function transactionMarksOf(images: readonly Pick<ImageSummary, 'id' | 'tags'>[]): readonly TransactionMark[] {
  return images.flatMap(({ id, tags }) => tags.flatMap((tag) => parseTag(tag, id) ?? []));
}

/** Whether a tag is a mark, not a person's. */
export function isTransactionMarkTag(tag: string): boolean {
  return tag.startsWith(`${repository}:`) || tag.includes(`/${repository}:`);
}

/** Keeps an image without another name from being removed with its mark. At most one image has it. */
export const namelessTag = 'upkeep-open:nameless';

/** The text that the seal of a mark covers. */
export function markTextOf({ oldId, policy, wasRunning, transactionKey }: TransactionMark): string {
  return textOf({ oldId, policy, wasRunning }, transactionKey);
}

export function isMarkOf(mark: Pick<TransactionMark, 'transactionKey'>, transaction: string): boolean {
  return mark.transactionKey === fnv64(transaction);
}

/** Marks a container as kept by an update. The tag is on the container's own image, which cannot be removed anyway. */
export function keptMarkTag(id: string): string {
  return `${repository}:kept-${id}`;
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
export type HelperMark = Pick<TransactionMark, 'tag' | 'transactionKey' | 'seal'> & { readonly helperId: string };

/** The part of a helper's tag that the seal covers. */
export function helperMarkText(helperId: string, transaction: string): string {
  return `helper-${helperId}.${fnv64(transaction)}`;
}

export function helperMarkTag(helperId: string, transaction: string, seal = ''): string {
  const text = helperMarkText(helperId, transaction);
  return `${repository}:${text}${seal === '' ? '' : `.${seal.slice(0, sealDigits)}`}`;
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
const repository = markRepository;
const sealDigits = 32;

/** Engines print the repository with its default host. */
const grammar =
  /^(?:docker\.io\/library\/|localhost\/)?upkeep-open:(?<old>[0-9a-f]{64})\.(?<policy>[neau]|f\d{1,9})(?<stopped>-s)?\.(?<key>[0-9a-f]{16})(?:\.(?<seal>[0-9a-f]{32}))?$/;

function parseTag(tag: string, imageId: string): TransactionMark | undefined {
  const { old, policy: code = '', stopped, key, seal = '' } = grammar.exec(tag)?.groups ?? {};
  const policy = parsePolicyCode(code);
  if (old === undefined || key === undefined || policy === undefined) return undefined;
  return { tag, oldId: old, policy, wasRunning: stopped === undefined, transactionKey: key, seal, imageId };
}
