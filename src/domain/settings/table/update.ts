import { keepTime, longestKeepMs, booleanValue, booleanOrEmpty } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option-table.ts';

const dayMs = 86_400_000;

/** Options about the replacement of containers. */
export const updateRules = optionTable({ group: 'update', usedBy: 'replacement' }, {
  useComposeDependsOn: {
    kind: 'boolean',
    flag: 'use-compose-depends-on',
    default: true,
    meaning: 'Update in the order of depends_on in compose files',
    example: 'false',
    usedBy: 'check',
  },
  pullTimeoutMs: {
    kind: 'duration',
    flag: 'pull-timeout',
    default: 600_000,
    minMs: 1000,
    maxMs: dayMs,
    meaning: 'Time without progress after which a pull fails',
    example: '20m',
  },
  startFirst: {
    kind: 'boolean',
    flag: 'start-first',
    meaning:
      'Stop the old container only after the new one has passed its health check. Only for containers that can run twice: no fixed ports or addresses, no writable volumes',
    label: {
      name: 'start-first',
      value: booleanValue,
      fromImage: 'ignored',
      effect: 'overrides',
      note: 'true also allows shared writable volumes',
    },
  },
  keepOldMs: {
    kind: 'duration',
    flag: 'keep-old',
    default: 0,
    minMs: 0,
    maxMs: longestKeepMs,
    meaning:
      'Keep the old container for this time after an update, stopped and under another name, so that upkeep rollback can start it again',
    example: '2d',
    label: {
      name: 'keep-old',
      value: keepTime,
      fromImage: 'counts',
      effect: 'overrides',
      note: '0 for none, 90d at most',
    },
  },
  updateAutoRemove: {
    kind: 'boolean',
    flag: 'update-auto-remove',
    meaning:
      'Update containers with --rm too. If an update fails, the old version runs as a copy without --rm until the next update',
    label: { name: 'update-auto-remove', value: booleanValue, fromImage: 'ignored', effect: 'overrides' },
    usedBy: 'check',
  },
  noRestart: {
    kind: 'boolean',
    flag: 'no-restart',
    meaning: 'Create the new container and leave it stopped',
    label: {
      name: 'no-restart',
      value: booleanOrEmpty,
      fromImage: 'ignored',
      effect: 'restrains',
      meaning: 'Leave the new container stopped, without a health check',
    },
    usedBy: 'check',
  },
  rollingRestart: {
    kind: 'boolean',
    flag: 'rolling-restart',
    meaning: 'Update one group of linked containers at a time, each after the previous one has passed its health check',
    usedBy: 'update',
  },
  cleanup: {
    kind: 'boolean',
    flag: 'cleanup',
    short: 'c',
    meaning: 'Remove the old image after an update, unless a container still uses it',
    isCommon: true,
    usedBy: 'update',
  },
  removeVolumes: {
    kind: 'boolean',
    flag: 'remove-volumes',
    meaning: 'Remove the anonymous volumes of a replaced container; the new container gets new volumes',
    usedBy: 'update',
  },
  disableMemorySwappiness: {
    kind: 'boolean',
    flag: 'disable-memory-swappiness',
    meaning: 'Create new containers without memory swappiness, as Podman with crun requires',
  },
  cpuCopyMode: {
    kind: 'choice',
    choices: ['auto', 'full', 'none'],
    flag: 'cpu-copy-mode',
    default: 'auto',
    meaning: 'CPU limits that a new container inherits: all (full), none, or those that the engine accepts (auto)',
    example: 'full',
  },
  updateConcurrency: {
    kind: 'integer',
    flag: 'update-concurrency',
    default: 4,
    min: 1,
    max: 64,
    meaning:
      'Number of groups of linked containers that are pulled, stopped and started at the same time; 1: one group at a time, to the end of its health check',
    example: '1',
    usedBy: 'update',
  },
  unproven: {
    kind: 'integer',
    flag: 'unproven',
    default: 32,
    min: 0,
    max: 256,
    meaning:
      'Number of updated groups that may wait for their health check while others begin; beyond it, a waiting group counts towards --update-concurrency',
    example: '8',
    usedBy: 'update',
  },
  canary: {
    kind: 'boolean',
    flag: 'canary',
    default: true,
    meaning:
      'Update one container first if three or more get the same new image, or if one of several has the label canary. The others follow after it has passed its health check, and are not updated if it is rolled back',
    example: 'false',
    usedBy: 'update',
  },
} as const satisfies ServiceOptionParts);
