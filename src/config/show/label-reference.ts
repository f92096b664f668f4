import { dropInPrefix, originalImageLabel, ownPrefix, watchtowerLabel } from '../../domain/container/label-names.ts';
import { labelTable } from '../../domain/settings/table/label-table.ts';
import { code } from './markdown.ts';

/** The rows of all our labels: label, alias, meaning, example. */
export function labelRows(): readonly (readonly string[])[] {
  return labelTable.map(({ name, meaning, example }) => [
    code(ownPrefix + name),
    code(dropInPrefix + name),
    meaning,
    code(`${ownPrefix}${name}=${example}`),
  ]);
}

/** Labels of other programs, with their use in Upkeep. */
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
