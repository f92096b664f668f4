import { tryParseImageReference } from '../../image/image-reference.ts';
import { kinds, isPlainPath, maxKeepMs, type DataChoice } from '../values/label-values.ts';
import { optionTable, type Acceptance, type ServiceOptionParts } from './option.ts';

const dayMs = 86_400_000;

/** `/` would make every folder of the host one that labels may name. */
const hostFolders: Acceptance = {
  test: (text) => isPlainPath(text.replace(/\/$/, '')),
  expected: 'absolute folders of the host below /, without "..", such as /srv/apps',
};

const noData: DataChoice = { kind: 'none' };

/** Options of the copy of a container's data that an update makes and a rollback puts back. */
export const dataOptions = optionTable({ group: 'data', usedBy: 'replacement' }, {
  data: {
    kind: 'parsed',
    flag: 'data',
    placeholder: 'none|volumes|PATH,…',
    default: noData,
    value: kinds.dataOption,
    meaning:
      'Data that an update copies and a rollback puts back: all writable volumes, or these paths in the container. For rollback: restore or leave',
    example: 'volumes',
    label: { name: 'data', value: kinds.dataChoice, fromImage: 'ignored', effect: 'overrides' },
  },
  dataFolders: {
    kind: 'list',
    separators: 'comma',
    flag: 'data-folders',
    placeholder: 'FOLDER,…',
    accepts: hostFolders,
    atMost: 100,
    meaning: 'Folders of the host in which --data and its label may also copy and put back',
    example: '/srv/apps',
  },
  dataMaxBytes: {
    kind: 'parsed',
    flag: 'data-max-size',
    placeholder: 'SIZE',
    default: 10e9,
    value: kinds.byteSize,
    meaning: 'Largest data that is copied, unless the file system can clone files',
    example: '50GB',
    label: {
      name: 'data-max-size',
      value: kinds.byteSize,
      fromImage: 'ignored',
      effect: 'lowers',
      note: 'it can only lower the option',
      example: '500MB',
    },
  },
  dataTimeoutMs: {
    kind: 'duration',
    flag: 'data-timeout',
    default: 600_000,
    minMs: 1000,
    maxMs: dayMs,
    meaning: 'Time that a copy of the data may take before the update is rolled back',
    example: '30m',
    label: {
      name: 'data-timeout',
      value: kinds.waitTime,
      fromImage: 'ignored',
      effect: 'overrides',
      note: '1h at most',
    },
  },
  dataKeepMs: {
    kind: 'duration',
    flag: 'data-keep',
    default: 0,
    minMs: 0,
    maxMs: maxKeepMs,
    meaning: 'Keep the copy for this time after an update; with --keep-old, upkeep rollback can put it back',
    example: '2d',
    label: {
      name: 'data-keep',
      value: kinds.keepTime,
      fromImage: 'ignored',
      effect: 'overrides',
      note: '0 for none, 90d at most',
    },
  },
  dataImage: {
    kind: 'text',
    flag: 'data-image',
    placeholder: 'IMAGE',
    defaultMeaning: "Upkeep's own image",
    accepts: {
      test: (text) => tryParseImageReference(text) !== undefined,
      expected: 'an image reference such as ghcr.io/acme/upkeep:1',
    },
    meaning: 'Image with GNU cp and find that copies the data',
    example: 'debian:stable-slim',
  },
} as const satisfies ServiceOptionParts);
