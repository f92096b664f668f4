import * as kinds from '../values/label-values.ts';
import type { DeclaredLabel } from './option.ts';

type Labels = Readonly<Record<string, DeclaredLabel<unknown>>>;

/** The labels without an option; the key of each is the name of its value in `LabelValues`. */
export const containerLabels = {
  enable: {
    name: 'enable',
    value: kinds.enabling,
    fromImage: 'counts',
    meaning: 'false: exclude this container; true: watch it also with --label-enable',
    example: 'false',
  },
  /** If it is given, even empty, its names replace every other source of dependencies. */
  dependsOn: {
    name: 'depends-on',
    value: kinds.containerNames,
    fromImage: 'ignored',
    meaning:
      'Names of the containers that it depends on, separated by commas; replaces dependencies from other sources',
    example: 'db,cache',
  },
  scope: {
    name: 'scope',
    value: kinds.scope,
    fromImage: 'ignored',
    meaning: "Assigns the container to the instance with this --scope; on Upkeep's own container, sets its scope",
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
    meaning: 'ignore: do not wait for its HEALTHCHECK; the new container must run for its health window',
    example: 'ignore',
  },
  canary: {
    name: 'canary',
    value: kinds.booleanValue,
    fromImage: 'ignored',
    meaning:
      'Update this container before the others that get the same new image, and the others only if its health check passes',
    example: 'true',
  },
  fromRegistry: {
    name: 'from-registry',
    value: kinds.booleanValue,
    fromImage: 'ignored',
    meaning:
      'true: its image is from the repository of its name, also where nothing else shows that; false: it was built here, and no registry is asked about it',
    example: 'true',
  },
  /** Names of the targets that get messages; empty: none. */
  notify: {
    name: 'notify',
    value: kinds.recipients,
    fromImage: 'ignored',
    meaning: 'Names of the notification targets for this container, separated by commas; off for none',
    example: 'ops',
  },
} as const satisfies Labels;

/** The commands of a container, each with the label of its timeout. */
export const hookLabels = {
  preCheck: {
    command: hook('pre-check', {
      meaning: 'Command to run in the container at the beginning of each run, with --enable-lifecycle-hooks',
      example: '/hooks/check.sh',
    }),
    timeout: hookTimeout('pre-check', {
      meaning: 'Timeout of pre-check in minutes; 1 by default, an hour at most; 0 means an hour',
      example: '2',
    }),
  },
  preUpdate: {
    command: hook('pre-update', {
      meaning: 'Command to run before the container is stopped for an update; exit code 75 defers the update',
      example: '/hooks/backup.sh',
    }),
    timeout: hookTimeout('pre-update', { meaning: 'Timeout of pre-update; after it, the update fails', example: '10' }),
  },
  postUpdate: {
    command: hook('post-update', {
      meaning: 'Command to run in the new container after its health check',
      example: '/hooks/warm-up.sh',
    }),
    timeout: hookTimeout('post-update', {
      meaning: 'Timeout of post-update; after it, the update continues',
      example: '5',
    }),
  },
  postCheck: {
    command: hook('post-check', { meaning: 'Command to run at the end of each run', example: '/hooks/report.sh' }),
    timeout: hookTimeout('post-check', { meaning: 'Timeout of post-check', example: '30s' }),
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
