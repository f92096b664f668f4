import { checkOptions, selectionRules } from './check.ts';
import { dataOptions } from './data.ts';
import { hookRules, healthOptions, updateRules } from './update.ts';
import type { ValuesOf, ServiceOption, DeclaredLabel, OptionLabel } from './option.ts';
import { tagRules, holdingBackRules, notesRules } from './versions.ts';
import { kinds } from '../values/label-values.ts';

/** Every option of checks and updates. A new one needs an entry here and the code of its effect. */
export const serviceOptions = {
  ...selectionRules,
  ...checkOptions,
  ...tagRules,
  ...holdingBackRules,
  ...notesRules,
  ...healthOptions,
  ...updateRules,
  ...dataOptions,
  ...hookRules,
} as const;

type ServiceOptionKey = keyof typeof serviceOptions;

export type ServiceOptionValues = ValuesOf<typeof serviceOptions>;

/** The table as a list, in the order of help and docs. */
export const serviceOptionEntries: readonly (readonly [ServiceOptionKey, ServiceOption])[] = Object.entries(
  serviceOptions,
) as [ServiceOptionKey, ServiceOption][];

/** The options that a label can set for one container. */
export type LabelledKey = {
  [Key in ServiceOptionKey]: (typeof serviceOptions)[Key] extends { readonly label: object } ? Key : never;
}[ServiceOptionKey];

/** The options with a label, in the same order. */
export const labelledEntries: readonly (readonly [LabelledKey, LabelledRule])[] = serviceOptionEntries.filter(
  (entry): entry is readonly [LabelledKey, LabelledRule] => entry[1].label !== undefined,
);

type LabelledRule = ServiceOption & { readonly label: NonNullable<ServiceOption['label']> };

type Labels = Readonly<Record<string, DeclaredLabel<unknown>>>;

/** The labels without an option; the key of each is the name of its value in `LabelValues`. */
export const containerLabels = {
  enable: {
    name: 'enable',
    value: kinds.enabling,
    fromImage: 'counts',
    meaning: 'false: exclude this container; true: with --label-enable, watch it',
    example: 'false',
  },
  /** If it is given, even empty, its names replace every other source of dependencies. */
  dependsOn: {
    name: 'depends-on',
    value: kinds.containerNames,
    fromImage: 'ignored',
    meaning: 'Containers that it depends on; replaces all other dependencies',
    example: 'db,cache',
  },
  scope: {
    name: 'scope',
    value: kinds.scope,
    fromImage: 'ignored',
    meaning: 'Leaves the container to the Upkeep with this --scope; on Upkeep itself, sets its scope',
    example: 'staging',
  },
  stopSignal: {
    name: 'stop-signal',
    value: kinds.stopSignal,
    fromImage: 'counts',
    meaning: 'Signal that stops the container',
    example: 'SIGINT',
  },
  health: {
    name: 'health',
    value: kinds.healthRule,
    fromImage: 'ignored',
    meaning: 'ignore: its HEALTHCHECK does not count',
    example: 'ignore',
  },
  canary: {
    name: 'canary',
    value: kinds.boolean,
    fromImage: 'ignored',
    meaning: 'Update this container before the others with the same new image',
    example: 'true',
  },
  fromRegistry: {
    name: 'from-registry',
    value: kinds.boolean,
    fromImage: 'ignored',
    meaning: 'true: its image is from the repository of its name; false: it was built here',
    example: 'true',
  },
  source: {
    name: 'source',
    value: kinds.sourceAddress,
    fromImage: 'ignored',
    meaning: 'Repository with its release notes, or none',
    example: 'https://github.com/acme/photos',
  },
  sourceTag: {
    name: 'source-tag',
    value: kinds.tagForm,
    fromImage: 'ignored',
    meaning: 'Form of the tags in that repository, if it is not the version with or without v',
    example: 'photos@{version}',
  },
  dataShared: {
    name: 'data-shared',
    value: kinds.boolean,
    fromImage: 'ignored',
    meaning: 'true: its data may be copied although other containers with this label write to it',
    example: 'true',
  },
  composeFiles: {
    name: 'compose-files',
    value: kinds.onOrOff,
    fromImage: 'ignored',
    meaning: 'off: its compose files are not written',
    example: 'off',
  },
  /** Names of the targets that get messages; empty: none. */
  notify: {
    name: 'notify',
    value: kinds.recipients,
    fromImage: 'ignored',
    meaning: 'Notification targets for this container; off for none',
    example: 'ops',
  },
} as const satisfies Labels;

/** The commands of a container, each with the label of its timeout. */
export const hookLabels = {
  preCheck: {
    command: hook('pre-check', {
      meaning: 'Command to run in it at the beginning of each run, with --enable-lifecycle-hooks',
      example: '/hooks/check.sh',
    }),
    timeout: hookTimeout('pre-check', {
      meaning: 'Its timeout. Of all four, a plain number means minutes: 1 by default, 60 at most; 0 means 60',
      example: '2',
    }),
  },
  preUpdate: {
    command: hook('pre-update', {
      meaning: 'Command to run before it is stopped; exit code 75 defers the update',
      example: '/hooks/backup.sh',
    }),
    timeout: hookTimeout('pre-update', {
      meaning: 'Its timeout, in minutes or as a duration; after it, the update fails',
      example: '10',
    }),
  },
  postUpdate: {
    command: hook('post-update', {
      meaning: 'Command to run after the health check',
      example: '/hooks/warm-up.sh',
    }),
    timeout: hookTimeout('post-update', {
      meaning: 'Its timeout, in minutes or as a duration; the update continues',
      example: '5',
    }),
  },
  postCheck: {
    command: hook('post-check', { meaning: 'Command to run at the end of each run', example: '/hooks/report.sh' }),
    timeout: hookTimeout('post-check', { meaning: 'Its timeout, in minutes or as a duration', example: '30s' }),
  },
} as const;

export type HookName = keyof typeof hookLabels;

type Words = Pick<DeclaredLabel<unknown>, 'meaning' | 'example'>;

function hook<const Name extends string>(name: Name, words: Words) {
  return { name: `lifecycle.${name}`, value: kinds.command, fromImage: 'counts', ...words } as const;
}

function hookTimeout<const Name extends string>(name: Name, words: Words) {
  return { name: `lifecycle.${name}-timeout`, value: kinds.hookTimeout, fromImage: 'counts', ...words } as const;
}

type Hooks = (typeof hookLabels)[keyof typeof hookLabels];

/** A label of a container, without its prefix. */
export type LabelName =
  | (typeof serviceOptions)[LabelledKey]['label']['name']
  | (typeof containerLabels)[keyof typeof containerLabels]['name']
  | Hooks['command' | 'timeout']['name'];

type NamedLabel = DeclaredLabel<unknown> & { readonly name: LabelName };

/** Every label, once, in the order of the docs. */
export const labelTable: readonly NamedLabel[] = [
  ...Object.values(containerLabels),
  ...labelledEntries.map(([, rule]) => labelOfRule(rule)),
  ...Object.values(hookLabels).flatMap(({ command, timeout }) => [command, timeout]),
];

export const labelNames: readonly LabelName[] = labelTable.map(({ name }) => name);

function labelOfRule(rule: ServiceOption & { readonly label: OptionLabel<unknown> }): NamedLabel {
  const { label, flag = '', example } = rule;
  const note = label.note === undefined ? '' : `; ${label.note}`;
  const meaning = label.meaning ?? `Like --${flag}, for this container${note}`;
  // The names of the labels in the table of rules are the type's members.
  return { ...label, name: label.name as LabelName, meaning, example: label.example ?? example };
}
