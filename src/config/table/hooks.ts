import type { Option } from '../declaration/option.ts';

const commands = ['run', 'update', 'rollback', 'recover'] as const;

/** The largest id that Docker takes: https://github.com/moby/sys/blob/user/v0.4.0/user/user.go */
const largestId = 2_147_483_647;

/** Commands that containers want run inside of them around checks and updates. */
export const hookOptions = {
  lifecycleHooks: {
    group: 'hooks',
    kind: 'boolean',
    flag: 'enable-lifecycle-hooks',
    env: ['LIFECYCLE_HOOKS'],
    default: false,
    meaning: 'Run the commands that containers name in their lifecycle labels, inside of them',
    example: 'true',
    commands,
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
    meaning: 'The user that runs them, by number; 0 is root',
    example: '1000',
    commands,
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
    meaning: 'The group that runs them, by number; 0 is root',
    example: '1000',
    commands,
  },
} as const satisfies Readonly<Record<string, Option>>;
