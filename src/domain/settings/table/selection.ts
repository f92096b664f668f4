import { parseLabelPair } from '../../image/image-labels.ts';
import type { Acceptance } from './option.ts';
import { optionTable, type ServiceOptionParts } from './option-table.ts';

const labelPairs: Acceptance = {
  test: (text) => parseLabelPair(text) !== undefined,
  expected: 'labels with their value, such as tier=web, or tier= for any value',
};

export const selectionRules = optionTable({ group: 'selection', usedBy: 'selection' }, {
  labelEnable: {
    kind: 'boolean',
    flag: 'label-enable',
    short: 'e',
    meaning: 'Watch only containers with the label upkeep.enable=true',
    isCommon: true,
  },
  disableContainers: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'disable-containers',
    short: 'x',
    placeholder: 'NAME,…',
    meaning: 'Exclude these containers: names, or regular expressions that match the whole name',
    example: 'db,cache-.*',
    isCommon: true,
  },
  monitorImageNames: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'monitor-image-names',
    placeholder: 'IMAGE,…',
    defaultMeaning: 'none: every image',
    meaning:
      'Watch only containers of these images: names with their tag, or regular expressions that match the whole reference',
    example: 'nginx:latest,ghcr.io/acme/.*',
  },
  skipImageNames: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'skip-image-names',
    placeholder: 'IMAGE,…',
    meaning: 'Exclude containers of these images; same syntax as --monitor-image-names',
    example: 'postgres:.*',
  },
  enableContainersByLabel: {
    kind: 'list',
    separators: 'comma',
    flag: 'enable-containers-by-label',
    placeholder: 'LABEL=VALUE,…',
    defaultMeaning: 'none: no label is needed',
    accepts: labelPairs,
    atMost: 100,
    meaning: 'Watch only containers with one of these labels; LABEL= means any value',
    example: 'tier=web,com.acme.managed=',
  },
  disableContainersByLabel: {
    kind: 'list',
    separators: 'comma',
    flag: 'disable-containers-by-label',
    placeholder: 'LABEL=VALUE,…',
    accepts: labelPairs,
    atMost: 100,
    meaning: 'Exclude containers with any of these labels; LABEL= means any value',
    example: 'tier=db',
  },
  includeStopped: {
    kind: 'boolean',
    flag: 'include-stopped',
    short: 'S',
    meaning: 'Watch created and exited containers too; update them without a start',
    isCommon: true,
  },
  includeRestarting: { kind: 'boolean', flag: 'include-restarting', meaning: 'Watch restarting containers too' },
  reviveStopped: {
    kind: 'boolean',
    flag: 'revive-stopped',
    meaning: 'With --include-stopped: start stopped containers after their update',
  },
  swarm: {
    kind: 'boolean',
    flag: 'swarm',
    meaning: 'Watch and update the services of a swarm too; the engine must be one of its managers',
  },
  scope: {
    kind: 'text',
    flag: 'scope',
    placeholder: 'NAME',
    defaultMeaning: "the upkeep.scope label of Upkeep's own container, else none",
    meaning: 'Watch only containers whose label upkeep.scope has this value; "none" means containers without the label',
    example: 'staging',
    isCommon: true,
  },
} as const satisfies ServiceOptionParts);
