import {
  versionKinds,
  type PolicySetting,
  type TagPatternSetting,
  type WindowSetting,
  type Annotations,
  type Identities,
  type Signers,
} from '../values/versions.ts';
import { kinds } from '../values/label-values.ts';
import { optionTable, type ServiceOptionParts } from './option.ts';
import type { Approval } from '../../decision/decisions.ts';

const ownTagOnly: PolicySetting = { kind: 'digest' };

const noPattern: TagPatternSetting = { kind: 'none' };

const anyKey: Signers = { kind: 'any' };

const ownName: Identities = { kind: 'identities', text: '', allowed: [] };

const anyAnnotations: Annotations = { kind: 'annotations', text: '', required: [] };

const noneNeeded: Approval = { from: 'never', breaking: false, unread: false };

const always: WindowSetting = { kind: 'always' };

/** Options for moving to other tags, and for the signature of a new image. */
export const tagRules = optionTable({ group: 'update', usedBy: 'selection' }, {
  tagPolicy: {
    kind: 'parsed',
    flag: 'policy',
    placeholder: 'POLICY',
    default: ownTagOnly,
    defaultMeaning: 'digest',
    value: versionKinds.tagPolicy,
    meaning: 'Other tags that a container may move to: patch, minor, major, or regex:PATTERN; digest: its own tag only',
    example: 'minor',
    label: { name: 'policy', value: versionKinds.tagPolicyOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
  tagInclude: {
    kind: 'parsed',
    flag: 'tag-include',
    placeholder: 'PATTERN',
    default: noPattern,
    defaultMeaning: 'none',
    value: versionKinds.tagPattern,
    meaning: 'Move only to tags that contain a match of this pattern (RE2)',
    example: '^\\d+\\.\\d+\\.\\d+$',
    label: { name: 'tag-include', value: versionKinds.tagPatternOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
  tagExclude: {
    kind: 'parsed',
    flag: 'tag-exclude',
    placeholder: 'PATTERN',
    default: noPattern,
    defaultMeaning: 'none',
    value: versionKinds.tagPattern,
    meaning: 'Do not move to tags that contain a match of this pattern (RE2)',
    example: '-(?:rc|beta)',
    label: { name: 'tag-exclude', value: versionKinds.tagPatternOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
  verifyWith: {
    kind: 'parsed',
    usedBy: 'signature',
    flag: 'verify-with',
    placeholder: 'KEY,…',
    default: anyKey,
    defaultMeaning: 'any',
    value: versionKinds.signers,
    meaning: 'Keys of --verify-key, one of which must have signed a new image; any: any key, off: none',
    example: 'team',
    label: { name: 'verify', value: versionKinds.signersOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
  verifyIdentities: {
    kind: 'parsed',
    usedBy: 'signature',
    isList: true,
    flag: 'verify-identity',
    placeholder: 'REPOSITORY=NAME,…',
    default: ownName,
    defaultMeaning: 'none',
    value: versionKinds.identities,
    meaning: 'Images of REPOSITORY may be signed under NAME, for a mirror; both may end with /*',
    example: 'mirror.example/app=ghcr.io/team/app',
    label: {
      name: 'verify-identity',
      value: versionKinds.identitiesOfLabel,
      fromImage: 'ignored',
      effect: 'overrides',
      meaning: 'Repositories under whose names the image may be signed too',
      example: 'ghcr.io/team/app',
    },
  },
  verifyAnnotations: {
    kind: 'parsed',
    usedBy: 'signature',
    isList: true,
    flag: 'verify-annotation',
    placeholder: 'NAME=VALUE,…',
    default: anyAnnotations,
    defaultMeaning: 'none',
    value: versionKinds.annotations,
    meaning: 'Annotations that a signature must have',
    example: 'env=prod',
    label: {
      name: 'verify-annotation',
      value: versionKinds.annotationsOfLabel,
      fromImage: 'ignored',
      effect: 'overrides',
      note: 'a signature is then required, also with --verify-with off',
    },
  },
} as const satisfies ServiceOptionParts);

/** Reading the release notes of newer versions. */
export const notesRules = optionTable({ group: 'update', usedBy: 'selection' }, {
  releaseNotes: {
    kind: 'boolean',
    flag: 'release-notes',
    default: true,
    meaning: 'Read the release notes of newer versions from GitHub, GitLab and Codeberg, in the background',
    example: 'false',
    label: { name: 'release-notes', value: kinds.boolean, fromImage: 'counts', effect: 'overrides' },
  },
} as const satisfies ServiceOptionParts);

/** Options that hold a newer version back until a person or a time releases it. */
export const holdingBackRules = optionTable({ group: 'update', usedBy: 'selection' }, {
  approve: {
    kind: 'parsed',
    flag: 'approve',
    placeholder: 'KIND',
    default: noneNeeded,
    defaultMeaning: 'false',
    value: versionKinds.approval,
    meaning:
      'New versions that wait for "upkeep approve": true (all), patch, minor or major; breaking: those whose release notes speak of breaking changes; unread: those whose notes cannot be read. Several with commas',
    example: 'major,breaking',
    isCommon: true,
    label: { name: 'approve', value: versionKinds.approvalOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
  window: {
    kind: 'parsed',
    flag: 'window',
    placeholder: 'WINDOWS',
    default: always,
    defaultMeaning: 'always',
    value: versionKinds.window,
    meaning: 'Times in which updates may begin: "02:00-05:00" or "Sat,Sun 01:00-06:00; Wed 23:00-02:00"',
    example: 'Sat,Sun 01:00-06:00',
    isCommon: true,
    label: { name: 'window', value: versionKinds.windowOfLabel, fromImage: 'ignored', effect: 'overrides' },
  },
} as const satisfies ServiceOptionParts);
