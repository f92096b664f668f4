import { editDistance } from '../../domain/text/name-pattern.ts';
import { printable } from '../../domain/text/printable.ts';
import type { Option } from './option.ts';
import { optionEntries } from './options.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** `alias`: the variable has its Watchtower name. */
type GivenVariable = { readonly source: string; readonly text: string; readonly alias: boolean };

/** The variable that sets an option: `UPKEEP_*` before `WATCHTOWER_*`. An empty one counts as absent. */
export function readVariable(option: Option, environment: Environment): GivenVariable | undefined {
  for (const { name, alias } of variablesOf(option)) {
    const text = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (text !== undefined && text.trim() !== '') return { source: name, text, alias };
  }
  return undefined;
}

/** All variables of an option. The first one that is set counts. */
export function variablesOf(option: Option): readonly { readonly name: string; readonly alias: boolean }[] {
  const plain = (option.plainEnv ?? []).map((name) => ({ name, alias: false }));
  const own = (option.env ?? []).map((suffix) => ({ name: ownPrefix + suffix, alias: false }));
  const dropIn = (option.env ?? []).map((suffix) => ({ name: dropInPrefix + suffix, alias: true }));
  return [...own, ...dropIn, ...plain];
}

/** A warning for each unknown variable with a known prefix, because it may be a typo. */
export function unknownVariables(environment: Environment): readonly string[] {
  const known = optionEntries.flatMap(([, option]) => variablesOf(option).map(({ name }) => name));
  return Object.entries(environment)
    .filter(([name, text]) => text && looksLikeOurs(name) && !known.includes(name))
    .slice(0, maxWarnings)
    .map(([name]) => {
      const meant = known.find(
        (each) => name === `${each}_FILE` || (name.length < 64 && editDistance(name, each) <= 2),
      );
      const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
      return `Variable ${printable(name, 100)} is not known and has no effect${hint}`;
    });
}

/** Whether a variable of the Watchtower family is set, whose users name containers without a command. */
export function hasDropInVariable(environment: Environment): boolean {
  return Object.entries(environment).some(
    ([name, text]) => text && name.startsWith(dropInPrefix) && looksLikeOurs(name),
  );
}

const ownPrefix = 'UPKEEP_';
const dropInPrefix = 'WATCHTOWER_';
const maxWarnings = 20;

/**
 * Kubernetes and legacy Docker links set variables such as `UPKEEP_PORT_8080_TCP` for a service of that name:
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)\w*)?|NAME|ENV_\w+)$/;

function looksLikeOurs(name: string): boolean {
  return (name.startsWith(ownPrefix) || name.startsWith(dropInPrefix)) && !serviceLink.test(name);
}
