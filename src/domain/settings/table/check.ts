import { parseLabelPair } from '../../image/labels.ts';
import { optionTable, type Acceptance, type ServiceOptionParts } from './option.ts';
import { withoutQuotes } from '../../text/printable.ts';
import { kinds } from '../values/label-values.ts';

const labelPairs: Acceptance = {
  test(text) {
    const { label = '"', value = '' } = parseLabelPair(text) ?? {};
    return !marks.test(label) && !isHalfQuoted(withoutQuotes(value));
  },
  expected: 'labels with their value, such as tier=web, or tier= for any value, without quotation marks',
};

/** No name has one. Left in an exclusion, it would exclude nothing. */
const marks = /["'“”„‘’]/;

const names = {
  test: (text: string) => !marks.test(text),
  expected: 'names or regular expressions without quotation marks',
};

function isHalfQuoted(text: string): boolean {
  return /^["']|["']$/.test(text);
}

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
    accepts: names,
    meaning: 'Exclude these containers: names, or regular expressions for the whole name',
    example: 'db,cache-.*',
    isCommon: true,
  },
  monitorImageNames: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'monitor-image-names',
    placeholder: 'IMAGE,…',
    defaultMeaning: 'none: every image',
    accepts: names,
    meaning:
      'Watch only containers of these images: names, with or without a tag, or regular expressions for the whole reference',
    example: 'nginx:latest,ghcr.io/acme/.*',
  },
  skipImageNames: {
    kind: 'list',
    separators: 'comma or space',
    flag: 'skip-image-names',
    placeholder: 'IMAGE,…',
    accepts: names,
    meaning: 'Exclude containers of these images, written as for --monitor-image-names',
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
    meaning: 'Watch created and exited containers too; they stay stopped, unless --revive-stopped is set',
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
    meaning: 'Watch the services of a swarm too; the engine must be one of its managers',
  },
  scope: {
    kind: 'text',
    flag: 'scope',
    placeholder: 'NAME',
    defaultMeaning: "the upkeep.scope label of Upkeep's own container, else none",
    accepts: { test: (text) => !isHalfQuoted(text), expected: 'a name without quotation marks' },
    meaning: 'Watch only containers with this value of the label upkeep.scope; "none": only those without it',
    example: 'staging',
    isCommon: true,
  },
} as const satisfies ServiceOptionParts);

const dayMs = 86_400_000;

/** Options about registries, and about which newer images are applied. */
export const checkOptions = optionTable({ group: 'update', usedBy: 'selection' }, {
  monitorOnly: {
    kind: 'boolean',
    flag: 'monitor-only',
    short: 'm',
    meaning: 'Report newer images; update no container',
    isCommon: true,
    label: {
      name: 'monitor-only',
      value: kinds.restricting,
      fromImage: 'counts',
      effect: 'restrains',
      meaning: 'Only report newer images. false needs --label-take-precedence',
    },
  },
  noPull: {
    kind: 'boolean',
    flag: 'no-pull',
    meaning: 'Ask no registry: update to the image that the engine already has under the tag',
    label: {
      name: 'no-pull',
      value: kinds.restricting,
      fromImage: 'counts',
      effect: 'restrains',
      meaning: 'Contact no registry. false needs --label-take-precedence',
    },
  },
  labelTakesPrecedence: {
    kind: 'boolean',
    flag: 'label-take-precedence',
    meaning: 'Let the labels monitor-only, no-pull and no-restart override the options, instead of adding to them',
  },
  cooldownMs: {
    kind: 'duration',
    flag: 'cooldown-delay',
    default: 0,
    minMs: 0,
    maxMs: 3650 * dayMs,
    months: true,
    meaning: 'Minimum age of a new image; 1M is 30 days',
    example: '3d',
    isCommon: true,
    label: {
      name: 'cooldown-delay',
      value: kinds.cooldown,
      fromImage: 'counts',
      effect: 'overrides',
      note: '0 for none, 365d at most',
    },
  },
  checkConcurrency: {
    group: 'registry',
    kind: 'integer',
    flag: 'check-concurrency',
    default: 64,
    min: 1,
    max: 1024,
    meaning: 'Images that are checked at the same time',
    example: '16',
    usedBy: 'check',
  },
} as const satisfies ServiceOptionParts);
