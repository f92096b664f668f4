import { optionTable } from '../../domain/settings/table/option.ts';
import { checkingCommands } from '../declaration/commands.ts';
import type { OptionParts } from '../declaration/option.ts';

const commands = ['run'] as const;

const alwaysByHelper =
  'Upkeep always updates its own container with a helper container; --no-self-update turns this off';
const ownPlatform = 'Upkeep uses the age of the image for the platform of the container';

/** Options of the Watchtower family without an effect here. */
export const acceptedOptions = optionTable({ group: 'accepted', commands }, {
  ephemeralSelfUpdate: {
    kind: 'boolean',
    flag: 'ephemeral-self-update',
    meaning: 'Update the updater with a helper container',
    withoutEffect: alwaysByHelper,
  },
  selfUpdateOrchestrator: {
    kind: 'boolean',
    flag: 'self-update-orchestrator',
    env: [],
    meaning: 'Run as this helper container',
    withoutEffect: alwaysByHelper,
  },
  cooldownPlatformOs: platformOption('OS', 'linux'),
  cooldownPlatformArch: platformOption('ARCH', 'arm64'),
  cooldownPlatformVariant: platformOption('VARIANT', 'v8'),
} as const satisfies OptionParts);

function platformOption(part: string, example: string) {
  return {
    kind: 'text',
    env: [`COOLDOWN_PLATFORM_${part}`],
    meaning: 'Platform of the image for --cooldown-delay',
    example,
    withoutEffect: ownPlatform,
    commands: checkingCommands,
  } as const;
}
