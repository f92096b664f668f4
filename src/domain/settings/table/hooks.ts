import { userId } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option-table.ts';

/** The largest id that Docker accepts: https://github.com/moby/sys/blob/user/v0.4.0/user/user.go */
const largestId = 2_147_483_647;

/** Options of the commands that run inside containers around checks and updates. */
export const hookRules = optionTable({ group: 'hooks', usedBy: 'replacement' }, {
  lifecycleHooks: {
    kind: 'boolean',
    flag: 'enable-lifecycle-hooks',
    env: ['LIFECYCLE_HOOKS'],
    meaning: 'Run the commands in the lifecycle labels of containers, inside the containers',
  },
  lifecycleUserId: {
    kind: 'integer',
    flag: 'lifecycle-uid',
    defaultMeaning: "the container's own",
    min: 0,
    max: largestId,
    meaning: 'User id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.uid', value: userId, fromImage: 'ignored', effect: 'overrides' },
  },
  lifecycleGroupId: {
    kind: 'integer',
    flag: 'lifecycle-gid',
    defaultMeaning: "the user's own",
    min: 0,
    max: largestId,
    meaning: 'Group id for hooks; 0 is root',
    example: '1000',
    label: { name: 'lifecycle.gid', value: userId, fromImage: 'ignored', effect: 'overrides' },
  },
} as const satisfies ServiceOptionParts);
