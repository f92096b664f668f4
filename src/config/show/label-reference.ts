import {
  dropInPrefix,
  labelNames,
  originalImageLabel,
  ownPrefix,
  watchtowerLabel,
  type LabelName,
} from '../../domain/container/label-names.ts';
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
    [code(`${watchtowerLabel}=true`), 'Marks an updater of the Watchtower family. It has no effect on the container'],
    [
      code(originalImageLabel),
      'Image to update to, instead of the image that the container was created from. Ignored on an image',
    ],
    [
      code('com.docker.compose.depends_on'),
      'Dependencies of a compose service, unless --use-compose-depends-on is off',
    ],
    [
      code('com.docker.compose.project'),
      'With the labels service and container-number: identifies the containers of these dependencies, within one project.working_dir and with a common file in project.config_files',
    ],
    [
      code('com.docker.swarm.task.id'),
      'Marks a task of a Swarm service, which Swarm replaces itself. Upkeep does not update it',
    ],
  ];
}

/** Meaning of each label, with an example. */
const labels: Readonly<Record<LabelName, readonly [meaning: string, example: string]>> = {
  enable: ['false: exclude this container; true: watch it also with --label-enable', 'false'],
  'monitor-only': [
    'Report newer images, change nothing. false overrides --monitor-only only with --label-take-precedence',
    'true',
  ],
  'no-pull': [
    'Contact no registry for this container. false overrides --no-pull only with --label-take-precedence',
    'true',
  ],
  'start-first': ['Like --start-first, for this container; true also allows shared writable volumes', 'true'],
  'keep-old': ['Like --keep-old, for this container; 0 for none, 90d at most', '2d'],
  'update-auto-remove': ['Like --update-auto-remove, for this container', 'true'],
  'no-restart': ['Leave the new container stopped, without a health check', 'true'],
  'depends-on': [
    'Names of the containers that it depends on, separated by commas; replaces dependencies from other sources',
    'db,cache',
  ],
  scope: [
    "Assigns the container to the instance with this --scope; on Upkeep's own container, sets its scope",
    'staging',
  ],
  'stop-signal': ['Signal that stops the container', 'SIGINT'],
  'stop-timeout': ['Time that it has to stop before it is killed; 1h at most', '90s'],
  'cooldown-delay': ['Like --cooldown-delay, for this container; 0 for none, 365d at most', '3d'],
  'health-window': ['Like --health-window, for this container; 1h at most', '30s'],
  'health-probe': ['Like --health-probe, for this container; none for no probe', 'http://:8080/healthz'],
  notify: ['Names of the notification targets for this container, separated by commas; off for none', 'ops'],
  'health-timeout': ['Like --health-timeout, for this container; 1h at most', '5m'],
  'lifecycle.pre-check': [
    'Command to run in the container at the beginning of each run, with --enable-lifecycle-hooks',
    '/hooks/check.sh',
  ],
  'lifecycle.pre-update': [
    'Command to run before the container is stopped for an update; exit code 75 defers the update',
    '/hooks/backup.sh',
  ],
  'lifecycle.post-update': ['Command to run in the new container after its health check', '/hooks/warm-up.sh'],
  'lifecycle.post-check': ['Command to run at the end of each run', '/hooks/report.sh'],
  'lifecycle.pre-check-timeout': [
    'Timeout of pre-check in minutes; 1 by default, an hour at most; 0 means an hour',
    '2',
  ],
  'lifecycle.pre-update-timeout': ['Timeout of pre-update; after it, the update fails', '10'],
  'lifecycle.post-update-timeout': ['Timeout of post-update; after it, the update continues', '5'],
  'lifecycle.post-check-timeout': ['Timeout of post-check', '30s'],
  'lifecycle.uid': ['Like --lifecycle-uid, for this container', '1000'],
  'lifecycle.gid': ['Like --lifecycle-gid, for this container', '1000'],
};
