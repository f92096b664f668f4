import { cooldown, restricting } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option-table.ts';

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
      value: restricting,
      fromImage: 'counts',
      effect: 'restrains',
      meaning: 'Report newer images, change nothing. false overrides --monitor-only only with --label-take-precedence',
    },
  },
  noPull: {
    kind: 'boolean',
    flag: 'no-pull',
    meaning: 'Do not contact registries: update to the image that the engine already has under the tag',
    label: {
      name: 'no-pull',
      value: restricting,
      fromImage: 'counts',
      effect: 'restrains',
      meaning: 'Contact no registry for this container. false overrides --no-pull only with --label-take-precedence',
    },
  },
  labelTakesPrecedence: {
    kind: 'boolean',
    flag: 'label-take-precedence',
    meaning: 'Let the labels monitor-only and no-pull override the options, instead of adding to them',
  },
  cooldownMs: {
    kind: 'duration',
    flag: 'cooldown-delay',
    default: 0,
    minMs: 0,
    maxMs: 3650 * dayMs,
    months: true,
    meaning: 'Minimum age of a new image; M is a month of 30 days',
    example: '3d',
    isCommon: true,
    label: {
      name: 'cooldown-delay',
      value: cooldown,
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
    meaning: 'Number of images that are checked at the same time, over all registries',
    example: '16',
    usedBy: 'check',
  },
} as const satisfies ServiceOptionParts);
