import type { Option } from '../declaration/option.ts';

const commands = ['run'] as const;
const commandsThatDecide = ['run', 'check', 'update'] as const;

const alwaysByHelper =
  'Upkeep always updates its own container with a helper container; --no-self-update turns this off';
const ownPlatform = 'Upkeep uses the age of the image for the platform of the container';

/** Options of the Watchtower family without an effect here. */
export const acceptedOptions = {
  ephemeralSelfUpdate: {
    group: 'accepted',
    kind: 'boolean',
    flag: 'ephemeral-self-update',
    env: ['EPHEMERAL_SELF_UPDATE'],
    default: false,
    meaning: 'Update the updater with a helper container',
    example: 'true',
    withoutEffect: alwaysByHelper,
    commands,
  },
  selfUpdateOrchestrator: {
    group: 'accepted',
    kind: 'boolean',
    flag: 'self-update-orchestrator',
    default: false,
    meaning: 'Run as this helper container',
    example: 'true',
    withoutEffect: alwaysByHelper,
    commands,
  },
  cooldownPlatformOs: platformOption('OS', 'linux'),
  cooldownPlatformArch: platformOption('ARCH', 'arm64'),
  cooldownPlatformVariant: platformOption('VARIANT', 'v8'),
} as const satisfies Readonly<Record<string, Option>>;

function platformOption(part: string, example: string) {
  return {
    group: 'accepted',
    kind: 'text',
    env: [`COOLDOWN_PLATFORM_${part}`],
    default: undefined,
    meaning: 'Platform of the image for --cooldown-delay',
    example,
    withoutEffect: ownPlatform,
    commands: commandsThatDecide,
  } as const;
}
