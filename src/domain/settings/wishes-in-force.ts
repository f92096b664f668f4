import type { LabelWishes } from './labels.ts';
import type { ServiceSettings } from './settings.ts';

/** How a container is treated: its own wishes and the settings of the service, made one. */
export type WishesInForce = {
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Minimum age of an image; 0: none. */
  readonly cooldownMs: number;
};

type Wishes = Pick<LabelWishes, 'monitorOnly' | 'noPull' | 'cooldownMs'>;
type Settings = Pick<ServiceSettings, 'monitorOnly' | 'noPull' | 'cooldownMs' | 'labelTakesPrecedence'>;

/**
 * A label can ask for more restraint than the settings, and for less only when labels take
 * precedence. The cooldown is the label's own matter: where it is given, it counts.
 */
export function wishesInForce(wishes: Wishes, settings: Settings): WishesInForce {
  return {
    monitorOnly: isRestrained(wishes.monitorOnly, settings.monitorOnly, settings),
    noPull: isRestrained(wishes.noPull, settings.noPull, settings),
    cooldownMs: wishes.cooldownMs ?? settings.cooldownMs,
  };
}

/** The rule for one restraint that both a label and a setting can ask for. */
export function isRestrained(
  label: boolean | undefined,
  setting: boolean,
  { labelTakesPrecedence }: Pick<ServiceSettings, 'labelTakesPrecedence'>,
): boolean {
  return labelTakesPrecedence ? (label ?? setting) : setting || label === true;
}
