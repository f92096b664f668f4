import { userId } from '../values/label-values.ts';
import type { ServiceOptions } from './option.ts';

const usedBy = 'replacement';

/** The largest id that Docker accepts: https://github.com/moby/sys/blob/user/v0.4.0/user/user.go */
const largestId = 2_147_483_647;

/** Options of the commands that run inside containers around checks and updates. */
export const hookRules = {
  lifecycleHooks: {
    group: 'hooks',
    kind: 'boolean',
    flag: 'enable-lifecycle-hooks',
    env: ['LIFECYCLE_HOOKS'],
    default: false,
    meaning: 'Run the commands in the lifecycle labels of containers, inside the containers',
    example: 'true',
    usedBy,
  },
  lifecycleUserId: {
    group: 'hooks',
    kind: 'integer',
    flag: 'lifecycle-uid',
    env: ['LIFECYCLE_UID'],
    default: undefined,
    defaultMeaning: "the container's own",
    min: 0,
    max: largestId,
    meaning: 'User id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.uid', value: userId, fromImage: 'ignored', effect: 'overrides' },
    usedBy,
  },
  lifecycleGroupId: {
    group: 'hooks',
    kind: 'integer',
    flag: 'lifecycle-gid',
    env: ['LIFECYCLE_GID'],
    default: undefined,
    defaultMeaning: "the user's own",
    min: 0,
    max: largestId,
    meaning: 'Group id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.gid', value: userId, fromImage: 'ignored', effect: 'overrides' },
    usedBy,
  },
} as const satisfies ServiceOptions;
