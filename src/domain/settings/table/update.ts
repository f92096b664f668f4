import { kinds, maxKeepMs, type HealthProbe } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option.ts';

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
    meaning: 'Stop the old container after the health check of the new one, where both can run at once',
    label: {
      name: 'start-first',
      value: kinds.boolean,
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
    maxMs: maxKeepMs,
    meaning: 'Keep the old container for this time, stopped, for upkeep rollback',
    example: '2d',
    label: {
      name: 'keep-old',
      value: kinds.keepTime,
      fromImage: 'counts',
      effect: 'overrides',
      note: '0 for none, 90d at most',
    },
  },
  updateAutoRemove: {
    kind: 'boolean',
    flag: 'update-auto-remove',
    meaning: 'Update containers with --rm too; after a rollback, one runs without --rm until the next update',
    label: { name: 'update-auto-remove', value: kinds.boolean, fromImage: 'ignored', effect: 'overrides' },
    usedBy: 'check',
  },
  noRestart: {
    kind: 'boolean',
    flag: 'no-restart',
    meaning: 'Create the new container and leave it stopped',
    label: {
      name: 'no-restart',
      // A start that its owner did not want cannot be undone.
      value: { ...kinds.booleanOrEmpty, holdsUnreadable: true },
      fromImage: 'ignored',
      effect: 'restrains',
      meaning: 'Leave the new container stopped, without a health check. false needs --label-take-precedence',
    },
    usedBy: 'check',
  },
  rollingRestart: {
    kind: 'boolean',
    flag: 'rolling-restart',
    meaning: 'Update one group of linked containers at a time, each to the end of its health check',
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
    meaning: 'Give the new container new anonymous volumes, and remove the old ones',
    usedBy: 'update',
  },
  disableMemorySwappiness: {
    kind: 'boolean',
    flag: 'disable-memory-swappiness',
    meaning: 'Create containers without memory swappiness, as Podman with crun requires',
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
    meaning: 'Groups of linked containers that are replaced at a time; 1 is --rolling-restart',
    example: '1',
    usedBy: 'update',
  },
  unproven: {
    kind: 'integer',
    flag: 'unproven',
    default: 32,
    min: 0,
    max: 256,
    meaning: 'Updated groups that may wait for their health check while others begin',
    example: '8',
    usedBy: 'update',
  },
  canary: {
    kind: 'boolean',
    flag: 'canary',
    default: true,
    meaning: 'Of three or more containers with one new image, update one before the others',
    example: 'false',
    usedBy: 'update',
  },
} as const satisfies ServiceOptionParts);

const noProbe: HealthProbe = { kind: 'none' };

/** Options of the stop of an old container and the health check of a new one. */
export const healthOptions = optionTable({ group: 'update', usedBy: 'replacement' }, {
  stopTimeoutMs: {
    kind: 'duration',
    flag: 'stop-timeout',
    short: 't',
    env: ['STOP_TIMEOUT', 'TIMEOUT'],
    default: 30_000,
    minMs: 0,
    maxMs: dayMs,
    meaning: 'Time to stop before it is killed, for containers without a stop timeout of their own',
    example: '1m30s',
    label: {
      name: 'stop-timeout',
      value: kinds.waitTime,
      fromImage: 'counts',
      effect: 'overrides',
      meaning: 'Time to stop before it is killed; 1h at most',
      example: '90s',
    },
  },
  healthWindowMs: {
    kind: 'duration',
    flag: 'health-window',
    default: 10_000,
    minMs: 0,
    maxMs: dayMs,
    meaning: 'Time that a new container must run; its HEALTHCHECK and probe must also pass',
    example: '30s',
    isCommon: true,
    label: {
      name: 'health-window',
      value: kinds.waitTime,
      fromImage: 'counts',
      effect: 'overrides',
      note: '1h at most',
    },
  },
  healthTimeoutMs: {
    kind: 'duration',
    flag: 'health-timeout',
    defaultMeaning: 'from the times of the HEALTHCHECK, at least 100s',
    minMs: 1000,
    maxMs: dayMs,
    meaning: 'Time that a new container has to become healthy',
    example: '5m',
    label: {
      name: 'health-timeout',
      value: kinds.waitTime,
      fromImage: 'counts',
      effect: 'overrides',
      note: '1h at most',
    },
  },
  healthProbe: {
    kind: 'parsed',
    flag: 'health-probe',
    placeholder: 'PROBE',
    default: noProbe,
    defaultMeaning: 'none',
    value: kinds.healthProbe,
    meaning: 'Probe that a new container must pass: http://:PORT/PATH, tcp://:PORT, or exec:COMMAND inside it',
    example: 'http://:8080/healthz',
    label: {
      name: 'health-probe',
      value: kinds.healthProbe,
      fromImage: 'ignored',
      effect: 'overrides',
      note: 'none for no probe',
    },
  },
} as const satisfies ServiceOptionParts);

/** The largest id that Docker accepts: https://github.com/moby/sys/blob/user/v0.4.0/user/user.go */
const maxId = 2_147_483_647;

/** Options of the commands that run inside containers around checks and updates. */
export const hookRules = optionTable({ group: 'hooks', usedBy: 'replacement' }, {
  lifecycleHooks: {
    kind: 'boolean',
    flag: 'enable-lifecycle-hooks',
    env: ['LIFECYCLE_HOOKS'],
    meaning: 'Run the commands in the lifecycle labels of containers',
  },
  lifecycleUserId: {
    kind: 'integer',
    flag: 'lifecycle-uid',
    defaultMeaning: "the container's own",
    min: 0,
    max: maxId,
    meaning: 'User id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.uid', value: kinds.userId, fromImage: 'ignored', effect: 'overrides' },
  },
  lifecycleGroupId: {
    kind: 'integer',
    flag: 'lifecycle-gid',
    defaultMeaning: "the user's own",
    min: 0,
    max: maxId,
    meaning: 'Group id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.gid', value: kinds.userId, fromImage: 'ignored', effect: 'overrides' },
  },
} as const satisfies ServiceOptionParts);
