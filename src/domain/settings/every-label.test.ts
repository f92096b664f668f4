import { describe, expect, test } from 'vitest';
import { dropInPrefix, ownPrefix } from '../image/labels.ts';
import { labelNames, type LabelName } from './table/service-options.ts';
import { type LabelValues, readLabels } from './effective-settings.ts';

type Row = {
  readonly text: string;
  readonly expected: unknown;
  readonly of: (labelSettings: LabelValues) => unknown;
  /** A text without any meaning. Undefined: every text is a restriction, see `values/versions.test.ts`. */
  readonly bad?: string;
  /** The restriction that a text too long to be read counts as. Undefined: it is ignored. */
  readonly tooLong?: unknown;
  /** The value of the bad text; by default none. */
  readonly unreadable?: boolean;
  /** Whether a text that cannot be read holds updates back. */
  readonly holds?: true;
  /** Value of a drop-in label with that text, if it differs. */
  readonly dropIn?: unknown;
};

const command: Omit<Row, 'of'> = { text: ' /run.sh ', expected: '/run.sh', bad: '', tooLong: '' };
const timeout: Pick<Row, 'text' | 'expected' | 'bad'> = { text: '2', expected: 120_000, bad: 'soon' };

const unreadable = { kind: 'unreadable', text: '…', fault: 'the label is too long' };

const pattern = (text: string): unknown => expect.objectContaining({ kind: 'pattern', text });

const rows: Readonly<Record<LabelName, Row>> = {
  enable: {
    text: 'FALSE',
    expected: false,
    of: (labelSettings) => labelSettings.enable,
    bad: 'nein',
    unreadable: false,
    tooLong: false,
  },
  'monitor-only': {
    text: '',
    expected: false,
    of: (labelSettings) => labelSettings.monitorOnly,
    bad: 'ja',
    unreadable: true,
    tooLong: true,
  },
  'no-pull': {
    text: 't',
    expected: true,
    of: (labelSettings) => labelSettings.noPull,
    bad: '2',
    unreadable: true,
    tooLong: true,
  },
  'no-restart': {
    text: '1',
    expected: true,
    of: (labelSettings) => labelSettings.noRestart,
    bad: 'maybe',
    holds: true,
  },
  'start-first': { text: 'f', expected: false, of: (labelSettings) => labelSettings.startFirst, bad: 'maybe' },
  'keep-old': { text: '2d', expected: 172_800_000, of: (labelSettings) => labelSettings.keepOldMs, bad: 'long' },
  data: {
    text: 'Volumes',
    expected: { kind: 'volumes' },
    of: (labelSettings) => labelSettings.data,
    bad: '/data, config',
    holds: true,
  },
  'data-max-size': { text: '500 MB', expected: 5e8, of: (labelSettings) => labelSettings.dataMaxBytes, bad: '500' },
  'data-timeout': { text: '2m', expected: 120_000, of: (labelSettings) => labelSettings.dataTimeoutMs, bad: 'long' },
  'data-keep': { text: '2d', expected: 172_800_000, of: (labelSettings) => labelSettings.dataKeepMs, bad: 'long' },
  'data-shared': { text: 'yes', expected: true, of: (labelSettings) => labelSettings.dataShared, bad: 'maybe' },
  'update-auto-remove': {
    text: 'T',
    expected: true,
    of: (labelSettings) => labelSettings.updateAutoRemove,
    bad: 'maybe',
  },
  'compose-files': { text: 'OFF', expected: false, of: (labelSettings) => labelSettings.composeFiles, bad: 'never' },
  'depends-on': {
    text: 'db, /cache',
    expected: ['db', 'cache'],
    of: (labelSettings) => labelSettings.dependsOn,
    bad: 'a b',
  },
  scope: { text: 'blue', expected: 'blue', of: (labelSettings) => labelSettings.scope, tooLong: '…' },
  'stop-signal': {
    text: 'sighup',
    expected: 'SIGHUP',
    of: (labelSettings) => labelSettings.stopSignal,
    bad: 'SIGNONE',
  },
  'stop-timeout': { text: '1m30s', expected: 90_000, of: (labelSettings) => labelSettings.stopTimeoutMs, bad: '-1' },
  'cooldown-delay': {
    text: '0',
    expected: 0,
    of: (labelSettings) => labelSettings.cooldownMs,
    bad: '3 days',
    tooLong: 365 * 86_400_000,
  },
  policy: {
    text: 'Minor',
    expected: { kind: 'minor' },
    of: (labelSettings) => labelSettings.tagPolicy,
    tooLong: unreadable,
  },
  'tag-include': {
    text: ' ^v ',
    expected: pattern('^v'),
    of: (labelSettings) => labelSettings.tagInclude,
    tooLong: unreadable,
  },
  'tag-exclude': {
    text: '-rc',
    expected: pattern('-rc'),
    of: (labelSettings) => labelSettings.tagExclude,
    tooLong: unreadable,
  },
  verify: {
    text: 'team, ops',
    expected: { kind: 'keys', names: ['team', 'ops'] },
    of: (labelSettings) => labelSettings.verifyWith,
    tooLong: { kind: 'unreadable', text: '…', fault: 'it is too long' },
  },
  'verify-identity': {
    text: 'ghcr.io/team/app',
    expected: {
      kind: 'identities',
      text: 'ghcr.io/team/app',
      allowed: [{ repository: undefined, name: 'ghcr.io/team/app' }],
    },
    of: (labelSettings) => labelSettings.verifyIdentities,
    tooLong: { kind: 'unreadable', text: '…', fault: 'it is too long' },
  },
  'verify-annotation': {
    text: 'env=prod',
    expected: { kind: 'annotations', text: 'env=prod', required: [['env', 'prod']], isAsked: true },
    of: (labelSettings) => labelSettings.verifyAnnotations,
    tooLong: { kind: 'unreadable', text: '…', fault: 'it is too long' },
  },
  approve: {
    text: 'Minor,breaking',
    expected: { from: 'minor', breaking: true, unread: false },
    of: (labelSettings) => labelSettings.approve,
    tooLong: { from: 'digest', breaking: false, unread: false },
  },
  'release-notes': { text: 'off', expected: false, of: (labelSettings) => labelSettings.releaseNotes, bad: 'nein' },
  source: {
    text: 'https://github.com/acme/photos',
    expected: 'https://github.com/acme/photos',
    of: (labelSettings) => labelSettings.source,
    bad: 'acme',
  },
  'source-tag': {
    text: 'v{version}',
    expected: 'v{version}',
    of: (labelSettings) => labelSettings.sourceTag,
    bad: 'v',
  },
  window: {
    text: 'Sat 02:00-05:00',
    expected: { kind: 'windows', text: 'Sat 02:00-05:00', windows: [{ days: [6], fromMinute: 120, untilMinute: 300 }] },
    of: (labelSettings) => labelSettings.window,
    tooLong: unreadable,
  },
  'health-window': { text: '20', expected: 20_000, of: (labelSettings) => labelSettings.healthWindowMs, bad: 'long' },
  'health-timeout': {
    text: '5m',
    expected: 300_000,
    of: (labelSettings) => labelSettings.healthTimeoutMs,
    bad: 'long',
  },
  'health-probe': {
    text: ' tcp://:80 ',
    expected: { kind: 'tcp', port: 80 },
    of: (labelSettings) => labelSettings.healthProbe,
    bad: 'http://other.test:80/',
  },
  health: { text: 'Ignore', expected: 'ignore', of: (labelSettings) => labelSettings.health, bad: 'none' },
  canary: { text: 'true', expected: true, of: (labelSettings) => labelSettings.canary, bad: 'first' },
  'from-registry': { text: 'true', expected: true, of: (labelSettings) => labelSettings.fromRegistry, bad: 'perhaps' },
  notify: { text: 'ops, mail', expected: ['ops', 'mail'], of: (labelSettings) => labelSettings.notify, bad: '' },
  'lifecycle.pre-check': { ...command, of: ({ hooks }) => hooks.preCheck?.command },
  'lifecycle.pre-update': { ...command, of: ({ hooks }) => hooks.preUpdate?.command },
  'lifecycle.post-update': { ...command, of: ({ hooks }) => hooks.postUpdate?.command },
  'lifecycle.post-check': { ...command, of: ({ hooks }) => hooks.postCheck?.command },
  'lifecycle.pre-check-timeout': { ...timeout, of: ({ hooks }) => hooks.preCheck?.timeoutMs },
  'lifecycle.pre-update-timeout': { ...timeout, of: ({ hooks }) => hooks.preUpdate?.timeoutMs },
  'lifecycle.post-update-timeout': { ...timeout, of: ({ hooks }) => hooks.postUpdate?.timeoutMs },
  'lifecycle.post-check-timeout': { ...timeout, of: ({ hooks }) => hooks.postCheck?.timeoutMs },
  // In the Watchtower family, 0 means "not given".
  'lifecycle.uid': {
    text: '0',
    expected: 0,
    of: (labelSettings) => labelSettings.lifecycleUserId,
    bad: 'root',
    dropIn: undefined,
  },
  'lifecycle.gid': {
    text: '0',
    expected: 0,
    of: (labelSettings) => labelSettings.lifecycleGroupId,
    bad: '-1',
    dropIn: undefined,
  },
};

describe.each(labelNames)('the label %s', (name) => {
  const row = rows[name];
  const { bad } = row;
  // A timeout has no effect without its hook.
  const hook =
    name.endsWith('-timeout') && name.startsWith('lifecycle') ? name.slice(0, -'-timeout'.length) : undefined;
  const others: Readonly<Record<string, string>> = hook === undefined ? {} : { [ownPrefix + hook]: 'true' };
  const isCommand = name.startsWith('lifecycle.p') && !name.endsWith('-timeout');
  const read = (labels: Readonly<Record<string, string>>) => {
    const { labelSettings, warnings } = readLabels({ ...others, ...labels }, {});
    return { said: row.of(labelSettings), warnings };
  };

  test('is read, under either prefix', () => {
    expect(read({ [ownPrefix + name]: row.text })).toEqual({ said: row.expected, warnings: [] });
    const dropIn = 'dropIn' in row ? row.dropIn : row.expected;
    expect(read({ [dropInPrefix + name]: row.text })).toEqual({ said: dropIn, warnings: [] });
  });

  test.each(bad === undefined ? [] : [bad])(
    'never permits more than its owner may have meant when it is %j, which is warned about',
    (text) => {
      for (const prefix of [ownPrefix, dropInPrefix]) {
        const { said, warnings } = read({ [prefix + name]: text });
        expect(said).toBe(row.unreadable);
        const holds = name === 'cooldown-delay' || row.holds === true ? 'holds updates back' : 'is ignored';
        const effect = row.unreadable === undefined ? holds : `counts as ${String(row.unreadable)}`;
        expect(warnings).toEqual([expect.stringContaining(`Label "${prefix}${name}" ${effect}: `)]);
      }
    },
  );

  test('is read between quotation marks, as compose passes them on, except for a command', () => {
    for (const mark of ['"', "'"]) {
      const text = `${mark}${row.text}${mark}`;
      expect(read({ [ownPrefix + name]: text }).said).toEqual(isCommand ? text : row.expected);
    }
  });

  test('that is too long to be read never permits more than its owner may have meant, which is warned about', () => {
    for (const prefix of [ownPrefix, dropInPrefix]) {
      const { said, warnings } = read({ [prefix + name]: 'x'.repeat(40_000) });
      expect(said).toEqual(row.tooLong);
      const ignored = row.holds === true ? 'holds updates back' : 'is ignored';
      const effect = row.tooLong === undefined ? ignored : 'counts as a restriction';
      expect(warnings).toEqual([expect.stringContaining(`Label "${prefix}${name}" ${effect}: `)]);
    }
  });

  test('is read with any white space around it', () => {
    const { said } = read({ [ownPrefix + name]: `${row.text}${' '.repeat(40_000)}` });
    expect(said).toEqual(row.expected);
  });

  test('wins over the drop-in one', () => {
    const { said } = read({ [ownPrefix + name]: row.text, [dropInPrefix + name]: 'true' });
    expect(said).toEqual(row.expected);
  });

  test('is missed when it is mistyped, which is warned about with the name that is meant', () => {
    const mistyped = `${name.slice(0, 2)}${name.slice(3)}`;
    const { said, warnings } = read({ [dropInPrefix + mistyped]: row.text });
    expect(said).toBeUndefined();
    const question = `did you mean "${dropInPrefix}${name}"?`;
    expect(warnings).toEqual([`Label "${dropInPrefix}${mistyped}" is not known; ${question}`]);
  });
});
