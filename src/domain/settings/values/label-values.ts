import { formatDuration, parseDuration, type DurationGrammar } from '../../text/duration.ts';
import { readRecipients } from '../../notification/message.ts';

const dayMs = 86_400_000;

/** A kind of value: its parser, and the text of its error. */
export type ValueKind<Value> = {
  /** Completes "… is not". */
  readonly accepted: string;
  /** Undefined when the value cannot be read. The text is trimmed and bounded. */
  readonly parse: (text: string) => Value | undefined;
  /** Writes the value in the notation of the label; `String` by default. */
  print?(value: Value): string;
  /** A text without meaning in a drop-in label. */
  readonly ignoredDropInValue?: string;
  /** The value of a label that is too long to be read: its owner intended a restriction. Undefined: it is ignored. */
  readonly tooLong?: Value;
  /** The value of a label with any other text, for the same reason. Undefined: it is ignored. */
  readonly unreadable?: Value;
  /** A label of the container's owner that cannot be read holds its updates back. */
  readonly holdsUnreadable?: true;
  /** Quotation marks around a label are part of the value. */
  readonly keepsQuotes?: true;
  /** Upper limit of a duration in milliseconds. A longer one is reduced to it. */
  readonly atMostMs?: number;
};

/** Booleans as Go (https://pkg.go.dev/strconv#ParseBool) and YAML 1.1 read them, in any case. */
const booleanValue: ValueKind<boolean> = {
  accepted: 'one of true, t, 1, yes, on, false, f, 0, no, off',
  parse: (text) => truths.get(text.toLowerCase()),
};

/** A boolean for which an empty value is false. */
const booleanOrEmpty: ValueKind<boolean> = {
  accepted: booleanValue.accepted,
  parse: (text) => (text === '' ? false : booleanValue.parse(text)),
};

/** Excludes the container with `false`, and with what cannot be read: an owner who sets it wants an exception. */
const enabling: ValueKind<boolean> = { ...booleanValue, tooLong: false, unreadable: false };

/** Restricts updates with `true`, and with what cannot be read. */
const restricting: ValueKind<boolean> = { ...booleanOrEmpty, tooLong: true, unreadable: true };

/** The longest time that an update waits for one container because of its labels or its image. */
export const maxWaitMs = 3_600_000;

/** Milliseconds, at most an hour, because all other updates wait too. A number without a unit is seconds. */
const waitTime: ValueKind<number> = {
  accepted: 'a duration such as 90s, 5m or 1h30m',
  ...duration({ bareUnit: 's' }, maxWaitMs),
};

/** Like `waitTime`, but a number without a unit is minutes, as in Watchtower's hook timeouts. */
const hookTimeout: ValueKind<number> = {
  accepted: 'a number of minutes or a duration such as 90s or 5m',
  ...duration({ bareUnit: 'm' }, maxWaitMs),
};

/** Milliseconds, at most a year; also days, weeks and months (`M`). */
const cooldown: ValueKind<number> = {
  accepted: 'a duration such as 12h, 3d, 1w or 1M',
  ...duration({ bareUnit: 's', months: true }, 365 * dayMs),
  tooLong: 365 * dayMs,
  holdsUnreadable: true,
};

/** A quarter of a year. An old container's image and writable layer take disk space for that time. */
export const maxKeepMs = 90 * dayMs;

/** Milliseconds, at most `maxKeepMs`. */
const keepTime: ValueKind<number> = {
  accepted: cooldown.accepted,
  ...duration({ bareUnit: 's', months: true }, maxKeepMs),
};

/** The data of a container that an update copies. Paths are in the container, without a slash at their end. */
export type DataChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'volumes' }
  | { readonly kind: 'paths'; readonly paths: readonly string[] };

/** An owner who asks for a copy must not get an update without one, so an unreadable label holds updates back. */
const dataChoice: ValueKind<DataChoice> = {
  accepted: 'none, volumes, or at most 50 absolute paths in the container, separated by commas',
  parse: parseDataChoice,
  print: (choice) => (choice.kind === 'paths' ? choice.paths.join(',') : choice.kind),
  holdsUnreadable: true,
};

/** The choices about the data in a rollback, if a copy of them is kept. */
type DataAnswer = { readonly kind: 'restore' | 'leave' };

/** The option says what an update copies, and in a rollback what becomes of the copy. */
const dataOption: ValueKind<DataChoice | DataAnswer> = {
  accepted: `${dataChoice.accepted}; in a rollback restore or leave`,
  parse: (text) => {
    const answer = (['restore', 'leave'] as const).find((one) => one === text.toLowerCase());
    return answer === undefined ? dataChoice.parse(text) : { kind: answer };
  },
  print: (value) => (value.kind === 'restore' || value.kind === 'leave' ? value.kind : printValue(dataChoice, value)),
};

/** Bytes, in decimal or binary units. */
const byteSize: ValueKind<number> = {
  accepted: 'a size such as 500MB, 10GB or 1.5TiB',
  parse: parseSize,
  print: printSize,
};

const recipients: ValueKind<readonly string[]> = {
  accepted: 'names of targets separated by commas, or off',
  parse: readRecipients,
  print: (names) => (names.length === 0 ? 'off' : names.join(',')),
};

/** The address of a repository, or `none`. Its host is judged where it is used, because the owner may add hosts. */
const sourceAddress: ValueKind<string> = {
  accepted: 'an address such as https://github.com/acme/photos, or none',
  parse: (text) =>
    text.toLowerCase() === 'none' ? 'none' : /^https:\/\/[^\s/@]+\/[^\s/]+\/\S+$/.test(text) ? text : undefined,
};

/** A tag with `{version}` in it. */
const tagForm: ValueKind<string> = {
  accepted: 'a tag with {version} in it, such as v{version}',
  parse: (text) => (/^[^\s{}]{0,100}\{version\}[^\s{}]{0,100}$/.test(text) ? text : undefined),
};

/** Completes "… is not". */
const acceptedProbes = 'one of http://:PORT/PATH, tcp://:PORT, exec:COMMAND, none';

const healthProbe: ValueKind<HealthProbe> = {
  accepted: acceptedProbes,
  parse: parseHealthProbe,
  print: formatHealthProbe,
};

/** Whether a HEALTHCHECK counts. */
const healthRule: ValueKind<'ignore' | 'wait'> = {
  accepted: 'ignore or wait',
  parse: (text) => (['ignore', 'wait'] as const).find((rule) => rule === text.toLowerCase()),
};

/** Whether something is done for a container. */
const onOrOff: ValueKind<boolean> = {
  accepted: 'on or off',
  parse: (text) => ({ on: true, true: true, off: false, false: false })[text.toLowerCase()],
};

/** Container names. An empty value is an empty list, which means "depends on nothing". */
const containerNames: ValueKind<readonly string[]> = {
  accepted: 'a list of at most 100 container names, separated by commas',
  parse: parseNames,
};

/**
 * Any text, because one that no instance can have as its scope keeps all of them away. `none` and an empty value mean
 * unscoped, which is an empty string here.
 */
const scope: ValueKind<string> = {
  accepted: 'a name',
  parse: (text) => text.replace(/^none$/, ''),
  tooLong: '…',
};

/** A signal that the engine accepts: `SIGTERM`, `SIGRTMIN+3`, or a number. */
const stopSignal: ValueKind<string> = {
  accepted: 'a signal such as SIGTERM, SIGRTMIN+3 or 15',
  parse: parseSignal,
};

/** Too long: an empty command, which fails. */
const command: ValueKind<string> = {
  accepted: 'a command',
  parse: (text) => (text === '' || text.includes('\0') ? undefined : text),
  tooLong: '',
  keepsQuotes: true,
};

/** A value in the notation of the user. */
export function printValue<Value>(kind: ValueKind<Value>, value: Value): string {
  return kind.print?.(value) ?? String(value);
}

/** A numeric user or group id. In Watchtower 0 means "the container's own user", so it does not mean root there. */
const userId: ValueKind<number> = {
  accepted: 'a whole number from 0 to 2147483647',
  parse: (text) => (/^\d{1,10}$/.test(text) && Number(text) <= 2_147_483_647 ? Number(text) : undefined),
  ignoredDropInValue: '0',
};

const maxPaths = 50;

function parseDataChoice(text: string): DataChoice | undefined {
  const word = text.toLowerCase();
  if (word === 'none' || word === 'volumes') return { kind: word };
  const paths = text.split(',').flatMap((item) => item.trim().replace(/(?<=.)\/+$/, '') || []);
  if (paths.length === 0 || paths.length > maxPaths || !paths.every(isPlainPath)) return undefined;
  return { kind: 'paths', paths: [...new Set(paths)] };
}

/** Whether it is an absolute path below `/` without `.`, `..` and doubled slashes, so that it means what it shows. */
export function isPlainPath(path: string): boolean {
  return /^(?:\/(?!\.{1,2}(?:\/|$))[^/\p{Cc}]+)+$/u.test(path);
}

const sizeUnits: ReadonlyMap<string, number> = new Map([
  ['kb', 1e3],
  ['mb', 1e6],
  ['gb', 1e9],
  ['tb', 1e12],
  ['kib', 2 ** 10],
  ['mib', 2 ** 20],
  ['gib', 2 ** 30],
  ['tib', 2 ** 40],
]);

function parseSize(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,6})?) ?([a-z]{2,3})$/.exec(text.toLowerCase()) ?? [];
  const bytes = Math.round(Number(count) * (sizeUnits.get(unit) ?? Number.NaN));
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The shortest exact text, with at most three decimals: every number of bytes has one in kB. */
function printSize(bytes: number): string {
  const names = [...sizeUnits].flatMap(([unit, size]) => {
    const count = bytes / size;
    const name = unit.toUpperCase().replace('KB', 'kB').replace('IB', 'iB');
    return Number.isInteger(count * 1000) && (count >= 1 || size === 1000) ? [`${count}${name}`] : [];
  });
  return names.toSorted((one, other) => one.length - other.length)[0] ?? `${bytes / 1000}kB`;
}

function duration(grammar: DurationGrammar, atMostMs: number) {
  return {
    atMostMs,
    parse: (text: string) => parseDuration(text, { ...grammar, endless: true }),
    print: formatDuration,
  };
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'true', 'y', 'yes', 'on'].map((word) => [word, true] as const),
  ...['0', 'f', 'false', 'n', 'no', 'off'].map((word) => [word, false] as const),
]);

const maxNames = 100;

/** https://github.com/moby/moby/blob/v28.0.0/daemon/names/names.go; the length is a DNS name's. */
const containerName = /^\/?[a-zA-Z0-9][a-zA-Z0-9_.-]{0,254}$/;

function parseNames(text: string): readonly string[] | undefined {
  const items = text.split(',').map((item) => item.trim());
  const given = items.filter((item) => item !== '');
  if (given.length > maxNames || !given.every((item) => containerName.test(item))) return undefined;
  return [...new Set(given.map((item) => item.replace(/^\//, '')))];
}

const signals: ReadonlySet<string> = new Set(
  (
    'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU ' +
    'UNUSED URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX'
  ).split(' '),
);

function parseSignal(text: string): string | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text) >= 1 && Number(text) <= 64 ? String(Number(text)) : undefined;
  const name = text.toUpperCase().replace(/^SIG/, '');
  const realTime = /^(?:RTMIN\+|RTMAX-)(\d{1,2})$/.exec(name);
  if (realTime !== null) return Number(realTime[1]) <= 15 ? `SIG${name}` : undefined;
  return signals.has(name) ? `SIG${name}` : undefined;
}

/**
 * A check of a new container in addition to its HEALTHCHECK, before the old one is removed. No kind names a host: a
 * probe reaches only the container itself.
 */
export type HealthProbe =
  | { readonly kind: 'none' }
  /** `path` begins with a slash and may have a query. */
  | { readonly kind: 'http'; readonly port: number; readonly path: string }
  | { readonly kind: 'tcp'; readonly port: number }
  /** A command line for the container's own shell. */
  | { readonly kind: 'exec'; readonly command: string };

/** Undefined for any other text, such as one with a host name. */
export function parseHealthProbe(text: string): HealthProbe | undefined {
  const trimmed = text.trim();
  if (trimmed === 'none') return { kind: 'none' };
  if (trimmed.length > maxTextLength) return undefined;
  if (trimmed.startsWith('exec:')) {
    const command = trimmed.slice('exec:'.length).trim();
    return command === '' || command.includes('\0') ? undefined : { kind: 'exec', command };
  }
  const { scheme, port: digits = '', path } = addressPattern.exec(trimmed)?.groups ?? {};
  const port = Number(digits);
  if (scheme === undefined || port < 1 || port > 65_535) return undefined;
  if (scheme === 'http') return { kind: 'http', port, path: path ?? '/' };
  return path === undefined ? { kind: 'tcp', port } : undefined;
}

/** Text of the probe, which `parseHealthProbe` accepts. */
export function formatHealthProbe(probe: HealthProbe): string {
  switch (probe.kind) {
    case 'none':
      return 'none';
    case 'http':
      return `http://:${probe.port}${probe.path}`;
    case 'tcp':
      return `tcp://:${probe.port}`;
    case 'exec':
      return `exec:${probe.command}`;
  }
}

/** For reasons and logs: without a query or a command line, which may contain a password. */
export function probeTitle(probe: HealthProbe): string {
  if (probe.kind === 'exec') return 'exec';
  return formatHealthProbe(probe).replace(/\?.*$/, '');
}

const maxTextLength = 4096;

/** The host is empty, and the path has the characters of a path and a query: https://www.rfc-editor.org/rfc/rfc3986#section-3.3 */
const addressPattern = /^(?<scheme>http|tcp):\/\/:(?<port>[1-9]\d{0,4})(?<path>\/[\w\-.~!$&'()*+,;=:@%/?]*)?$/;

/** The kinds of value that options and labels have. */
export const kinds = {
  boolean: booleanValue,
  booleanOrEmpty,
  enabling,
  restricting,
  waitTime,
  hookTimeout,
  cooldown,
  keepTime,
  dataChoice,
  dataOption,
  byteSize,
  recipients,
  sourceAddress,
  tagForm,
  healthProbe,
  healthRule,
  onOrOff,
  containerNames,
  scope,
  stopSignal,
  command,
  userId,
} as const;
