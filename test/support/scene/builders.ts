import type {
  Container,
  ContainerStatus,
  ContainerSummary,
  ImageSummary,
  ContainerConfig,
  Endpoint,
  HostConfig,
  MountPoint,
} from '../../../src/domain/container/container.ts';
import type { Digest } from '../../../src/domain/image/image-reference.ts';

/** The same 64 hex digits for the same word. */
export function idOf(word: string): string {
  let id = '';
  for (let round = 0; id.length < 64; round += 1) {
    let hash = 0x81_1c_9d_c5 ^ round;
    for (const character of word) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
    id += (hash >>> 0).toString(16).padStart(8, '0');
  }
  return id;
}

/** The same digest for the same word. */
export function digestOf(word: string): Digest {
  return `sha256:${idOf(word)}`;
}

export type SummaryParts = Partial<Omit<ContainerSummary, 'name'>>;

/** A line of the container list: running, with an image id from its name. */
export function containerSummary(name: string, parts: SummaryParts = {}): ContainerSummary {
  return {
    id: idOf(`container ${name}`),
    name,
    image: `${name}:1`,
    imageId: digestOf(`image ${name}`),
    status: 'running',
    health: 'none',
    labels: {},
    createdAtMs: Date.UTC(2026, 0, 1),
    networkMode: 'bridge',
    ...parts,
  };
}

export type ContainerParts = {
  readonly imageId?: string;
  readonly status?: ContainerStatus;
  readonly state?: Partial<Container['state']>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly config?: Partial<ContainerConfig>;
  readonly host?: HostConfig;
  readonly mounts?: readonly MountPoint[];
  readonly networks?: Readonly<Record<string, Endpoint>>;
  readonly imageLabels?: Readonly<Record<string, string>>;
};

/** State of a container that has run since it was created. */
export const runningState: Container['state'] = {
  status: 'running',
  exitCode: 0,
  error: '',
  oomKilled: false,
  startedAt: '2026-01-01T00:00:00Z',
  finishedAt: '',
  health: 'none',
  healthOutput: '',
};

/** An inspected container; its id and image id are those of `containerSummary(name)`. */
export function inspectedContainer(name: string, parts: ContainerParts = {}): Container {
  const { imageId = digestOf(`image ${name}`), status = 'running', labels = {}, host = {}, networks = {} } = parts;
  return {
    id: idOf(`container ${name}`),
    name,
    imageId,
    createdAtMs: Date.UTC(2026, 0, 1),
    state: { ...runningState, status, ...parts.state },
    restartCount: 0,
    settings: {
      Config: { Image: `${name}:1`, Labels: labels, ...parts.config },
      HostConfig: host,
      Mounts: parts.mounts ?? [],
      Networks: networks,
    },
    imageLabels: parts.imageLabels ?? {},
  };
}

/** An image of the engine's list, pulled from the repository by the given digest words. */
export function imageSummary(
  id: string,
  parts: { readonly tags?: readonly string[]; readonly digests?: readonly string[] } = {},
): ImageSummary {
  return { id, tags: parts.tags ?? [], digests: parts.digests ?? [] };
}
