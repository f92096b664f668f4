import {
  dropInPrefix,
  labelNames,
  originalImageLabel,
  ownPrefix,
  watchtowerLabel,
  type LabelName,
} from '../domain/label-names.ts';
import { code } from './markdown.ts';

/** Of every label of ours: the label, its alias, its meaning, an example. */
export function labelRows(): readonly (readonly string[])[] {
  return labelNames.map((name) => {
    const [meaning, example] = labels[name];
    return [code(ownPrefix + name), code(dropInPrefix + name), meaning, code(`${ownPrefix}${name}=${example}`)];
  });
}

/** Of labels that others write: the label and what is made of it. */
export function foreignLabelRows(): readonly (readonly string[])[] {
  return [
    [
      code(`${watchtowerLabel}=true`),
      'Marks an updater of the Watchtower family. Such a container is treated like any other',
    ],
    [
      code(originalImageLabel),
      'The image to update to, in place of the one that the container was created from; not heard from an image',
    ],
    [
      code('com.docker.compose.depends_on'),
      'What a service of a compose file needs, unless --use-compose-depends-on is off',
    ],
    [
      code('com.docker.compose.project'),
      'With the labels service and container-number: which containers those are, of one project.working_dir and with a project.config_files in common',
    ],
    [code('com.docker.swarm.task.id'), 'A task of a Swarm service: left to Swarm, which replaces it itself'],
  ];
}

/** Meaning of each label, with an example. */
const labels: Readonly<Record<LabelName, readonly [meaning: string, example: string]>> = {
  enable: ['false: leave this container alone; true: watch it also with --label-enable', 'false'],
  'monitor-only': [
    'Report newer images, change nothing. false counts against --monitor-only with --label-take-precedence only',
    'true',
  ],
  'no-pull': [
    'Ask no registry for this container. false counts against --no-pull with --label-take-precedence only',
    'true',
  ],
  'start-first': [
    'Like --start-first, for this container; true also where both would write to the same volumes',
    'true',
  ],
  'keep-old': ['Like --keep-old, for this container; 0 for not at all, 90d at most', '2d'],
  'update-auto-remove': ['Like --update-auto-remove, for this container', 'true'],
  'no-restart': ['Leave the new container stopped: it is created, and not proven', 'true'],
  'depends-on': ['Names of the containers it needs, separated by commas; replaces what is found elsewhere', 'db,cache'],
  scope: [
    "Belongs to the instance that runs with this --scope; on Upkeep's own container, the scope it works in",
    'staging',
  ],
  'stop-signal': ['The signal that asks it to stop', 'SIGINT'],
  'stop-timeout': ['How long it may take to stop before it is killed; 1h at most', '90s'],
  'cooldown-delay': ['An image must be at least so old before it is applied here; 0 for none, 365d at most', '3d'],
  'health-window': ['Like --health-window, for this container; 1h at most', '30s'],
  'health-probe': ['Like --health-probe, for this container; none for no probe', 'http://:8080/healthz'],
  'health-timeout': ['Like --health-timeout, for this container; 1h at most', '5m'],
  'lifecycle.pre-check': [
    'With --enable-lifecycle-hooks: a command to run in the container before each run',
    '/hooks/check.sh',
  ],
  'lifecycle.pre-update': [
    'Likewise before it is stopped for an update; exit code 75 puts the update off',
    '/hooks/backup.sh',
  ],
  'lifecycle.post-update': ['Likewise after an update, once the new one has proved itself', '/hooks/warm-up.sh'],
  'lifecycle.post-check': ['Likewise after each run', '/hooks/report.sh'],
  'lifecycle.pre-check-timeout': [
    'How long that is waited for, in minutes; 1 by default, an hour at most, which 0 means too',
    '2',
  ],
  'lifecycle.pre-update-timeout': ['The same; when it has passed, the update fails', '10'],
  'lifecycle.post-update-timeout': ['The same; when it has passed, the update goes on', '5'],
  'lifecycle.post-check-timeout': ['The same', '30s'],
  'lifecycle.uid': ['Like --lifecycle-uid, for this container', '1000'],
  'lifecycle.gid': ['Like --lifecycle-gid, for this container', '1000'],
};
