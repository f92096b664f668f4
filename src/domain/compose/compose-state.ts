import { quoted } from '../text/printable.ts';
import type { ComposeFault, ComposeProject } from './compose-project.ts';

export const composeStates = ['same', 'differs', 'would-write', 'refused'] as const;

/** How a container's reference stands in its compose files. */
export type ComposeState = {
  /**
   * `same`: the file has the container's image. `differs`: it has another one. `would-write`: the tag of the newer
   * version has one place there. `refused`: `reason` says why nothing is said or could be written.
   */
  readonly state: (typeof composeStates)[number];
  readonly reason?: ComposeRefusal;
  /** The file and line that have the tag. */
  readonly file?: string;
  readonly line?: number;
  /** The image of the service as the file has it, with `differs`. */
  readonly says?: string;
  /** The tags, with `would-write`. */
  readonly from?: string;
  readonly to?: string;
  /** Other services that the same place decides, with `shared`. */
  readonly services?: readonly string[];
};

export type ComposeRefusal =
  | ComposeFault
  | 'no-image'
  | 'pinned'
  /** The tag is put together, escaped, or not written at all. */
  | 'not-literal'
  | 'shared';

/** The state as a sentence without a final period; undefined if there is nothing to say. */
export function composeNote({
  state,
  reason,
  file = '',
  line = 0,
  says = '',
  from = '',
  to = '',
  services,
}: ComposeState): string | undefined {
  const place = file === '' ? 'The compose file' : `${file} line ${line}`;
  switch (state) {
    case 'same':
      return undefined;
    case 'differs':
      return `${place} says ${quoted(says, maxShown)}`;
    case 'would-write':
      return `${place} has the tag ${from}, which an update would leave behind: write ${to}`;
    case 'refused':
      return reason === undefined
        ? undefined
        : `The compose file cannot be compared: ${refusals[reason]}${nameList(services)}`;
  }
}

const maxShown = 200;

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
  unreadable: 'it cannot be read',
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
};
