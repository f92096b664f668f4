import { printable, quoted } from '../text/printable.ts';
import type { ComposeFault, ComposeProject } from './compose-project.ts';

export const composeStates = [
  'same',
  'differs',
  'would-write',
  'will-write',
  'refused',
  'pending',
  'written',
  'put-back',
  'failed',
] as const;

/** How a container's reference stands in its compose files. */
export type ComposeState = {
  /**
   * `same`: the file has the container's image. `differs`: it has another one. `would-write`: the tag of the newer
   * version has one place there; `will-write`: an update writes it. `refused`: `reason` says why nothing is said or
   * written. After an update, `written`, or `pending`: a later run or start tries again. `put-back`: a rollback has
   * taken back what an update had written. `failed`: the file could not be written, and has its old text.
   */
  readonly state: (typeof composeStates)[number];
  readonly reason?: ComposeRefusal;
  /** More about the reason, such as the error of the system, or about a file that was written. */
  readonly detail?: string;
  /** The file and line that have the tag. */
  readonly file?: string;
  readonly line?: number;
  /** The image of the service as the file has it, with `differs`. */
  readonly says?: string;
  /** The tags, unless the state is `same` or `differs`. */
  readonly from?: string;
  readonly to?: string;
  /** Other services that the same place decides, with `shared`. Absent: it decides more than images. */
  readonly services?: readonly string[];
};

export type ComposeRefusal =
  | ComposeFault
  | 'no-image'
  | 'pinned'
  /** The tag is put together, escaped, or not written at all. */
  | 'not-literal'
  | 'shared'
  /** It is of another project, or a label that moves the tag is not in it. */
  | 'foreign'
  | 'other-value'
  | 'changed'
  | 'busy'
  | 'read-only'
  | 'not-writable'
  /** The file was replaced on the host, and only the old one is mounted. */
  | 'orphan'
  | 'gone';

/** The state as a sentence without a final period; undefined if there is nothing to say. */
export function composeNote(compose: ComposeState): string | undefined {
  const { state, file = '', line = 0, says = '', from = '', to = '' } = compose;
  const place = file === '' ? 'The compose file' : `${printable(file, maxPath)} line ${line}`;
  switch (state) {
    case 'same':
      return undefined;
    case 'differs':
      return `${place} says ${quoted(says, maxShown)}`;
    case 'would-write':
      return `${place} has the tag ${from}, which an update would leave behind: write ${to}`;
    case 'will-write':
      return `${place} has the tag ${from}: an update writes ${to} there`;
    case 'written':
      return `${place} written: ${from} → ${to}${more(compose)}`;
    case 'put-back':
      return `${place} put back: ${from} → ${to}${more(compose)}`;
    case 'pending':
      return `${place} is not written yet: ${because(compose)}; the next run or start of Upkeep tries again`;
    case 'failed':
      return `${place} could not be written, and has its old text: ${because(compose)}`;
    case 'refused':
      return compose.to === undefined
        ? `The compose file cannot be compared: ${because(compose)}`
        : `${place} is not written: ${because(compose)}; write the tag ${to} ${decidesMore(compose) ? 'to the image alone' : 'there'}, or a change of its service there goes back`;
  }
}

function more({ detail }: ComposeState): string {
  return detail === undefined ? '' : `, ${printable(detail, maxPath)}`;
}

/** To change the text would also change the path of a volume, for example. */
function decidesMore({ reason, services }: ComposeState): boolean {
  return reason === 'shared' && services === undefined;
}

function because(compose: ComposeState): string {
  const { reason, detail, services } = compose;
  const refusal = reason && (decidesMore(compose) ? 'the same text decides more than images there' : refusals[reason]);
  const why = refusal === undefined ? 'of an error' : `${refusal}${nameList(services)}`;
  return detail === undefined ? why : `${why} (${printable(detail, maxShown)})`;
}

const maxShown = 200;
const maxPath = 500;

function nameList(names: readonly string[] = []): string {
  return names.length === 0 ? '' : `: ${names.slice(0, 5).join(', ')}`;
}

const refusals: Readonly<Record<ComposeRefusal, string>> = {
  'no-files': 'no label names it',
  missing: 'it, or a file that it needs, is not there for Upkeep to read',
  'not-compose': 'it is no compose file, or this service is not in it',
  remote: 'it includes a project from elsewhere',
  conflict: 'two included projects have the same service',
  variables: 'a variable is invalid, or only known to the shell',
  'too-many-files': 'it has too many files',
  'no-image': 'the service has no image there',
  pinned: 'the image has a digest there',
  'not-literal': 'the tag is not written out there',
  shared: 'the same text decides other services',
  'outside-roots': 'it is outside of --compose-roots',
  unreadable: 'it cannot be read, is no UTF-8, or is larger than 256 KiB',
  foreign: 'the container does not show that it is of this file',
  'other-value': 'it has another image',
  changed: 'someone changed it meanwhile',
  busy: 'an editor or git has it open',
  'read-only': 'it is mounted read-only',
  'not-writable': 'Upkeep may not write it',
  orphan: 'it was replaced on the host, and only the old file is mounted: mount its folder',
  gone: 'the container is gone, or runs another image',
};

/** A container that is to be compared with its compose files. */
export type ComposeQuestion = {
  /** The container's id. */
  readonly id: string;
  readonly project: ComposeProject;
  readonly service: string;
  /** The reference that the container was created from. */
  readonly reference: string;
  /** The tag that an update would move it to; undefined if it keeps its tag. */
  readonly next?: string;
  /** Facts that must fit the file before it is written. Absent: it is only compared. */
  readonly claim?: ComposeClaim;
  /** Other services of the project with the references that they move to, or have. */
  readonly moves?: ReadonlyMap<string, string>;
};

/** Anybody who creates a container writes its labels, so a label that names a file proves nothing. */
export type ComposeClaim = {
  /** The container's name. */
  readonly container: string;
  /** The labels that settings were read from, with their values. The file's owner must have written them too. */
  readonly labels: Readonly<Record<string, string>>;
};
