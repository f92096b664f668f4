import {
  dataOrderLabel,
  dataVolumeNames,
  noCopyExitCode,
  parseDataOrder,
  type DataOrder,
} from '../../src/domain/transaction/data-helper.ts';
import type { SandboxContainer, SandboxVolume, World } from '../world/world.ts';

/** What a helper for data does to the volumes, in place of its program. */
export type DataHelper = {
  /** Its effect if it is killed before its end. */
  readonly begin: () => void;
  /** Its whole effect. Returns its exit code. */
  readonly end: () => number;
  readonly tookMs: number;
};

/** Undefined for any other container. Folders of the host have no content here. */
export function dataHelperOf(world: World, { config, logs }: SandboxContainer): DataHelper | undefined {
  const order = parseDataOrder(config.Labels?.[dataOrderLabel] ?? '');
  if (order === undefined) return undefined;
  const sources = sourcesOf(world, order);
  const names = dataVolumeNames({ leader: order.data.leader, transaction: order.transaction });
  const copy = world.volumes.get(names.copy);
  const tookMs = 200;
  switch (order.role) {
    case 'measure':
      return {
        tookMs,
        begin: () => {},
        end: () => {
          logs.push(
            `measured bytes=${sources.length * 1_000_000} files=${sources.length} free=50000000000 inodes=-1 clone=0`,
          );
          return 0;
        },
      };
    case 'save':
      return {
        tookMs,
        begin: () => mark(copy, unfinished),
        end: () => {
          mark(copy, JSON.stringify(sources.map(({ marker }) => marker)));
          return 0;
        },
      };
    case 'restore':
      return {
        tookMs,
        begin: () => {
          if (isComplete(copy)) for (const source of sources) mark(source, unfinished);
        },
        end: () => {
          if (copy?.marker === restored) return 0;
          if (copy === undefined || !isComplete(copy)) return noCopyExitCode;
          const saved = JSON.parse(copy.marker) as readonly string[];
          for (const [index, source] of sources.entries()) mark(source, saved[index] ?? '');
          mark(copy, restored);
          return 0;
        },
      };
  }
}

const unfinished = 'unfinished';
const restored = 'restored';

function isComplete(copy: SandboxVolume | undefined): boolean {
  return copy?.marker.startsWith('[') === true;
}

function mark(volume: SandboxVolume | undefined, marker: string): void {
  if (volume !== undefined) volume.marker = marker;
}

function sourcesOf({ volumes }: World, { data: { items } }: DataOrder): readonly SandboxVolume[] {
  return items.flatMap(({ mount }) => volumes.get(String(mount['Source'])) ?? []);
}
