import type { NotifyContext } from './notify-context.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import type { Target } from '../../../../domain/notification/message.ts';
import { quoted } from '../../../../domain/text/printable.ts';

/** The named targets, or all. Throws for an unknown name, and if there are no targets. */
export function chosenTargets({ setup: { targets }, names }: NotifyContext): readonly Target[] {
  if (targets.length === 0)
    throw new ServiceError('invalid-input', 'Cannot notify anybody: no target is set up', {
      remedy: 'Give its URL with --notification-url or in UPKEEP_NOTIFICATION_URL',
    });
  for (const name of names)
    if (!targets.some((target) => isCalled(target, name)))
      throw new ServiceError('invalid-input', `Cannot notify ${quoted(name)}: there is no such target`, {
        remedy: `The targets are ${targets.map((target) => target.name).join(', ')}`,
      });
  return names.length === 0 ? targets : targets.filter((target) => names.some((name) => isCalled(target, name)));
}

function isCalled(target: Target, name: string): boolean {
  return target.name.toLowerCase() === name.toLowerCase();
}

/** A line for each URL, or part of one, that cannot be used. */
export function problemLines({ setup: { problems, warnings } }: NotifyContext): readonly string[] {
  return [...problems, ...warnings].map((problem) => `upkeep: ${problem}`);
}
