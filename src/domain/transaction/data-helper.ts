/** The helpers that measure, copy and restore the data of an update: their volumes, settings, programs and answers. */

import type { Image, ContainerRecipe, DataItem } from '../container/container.ts';
import type { Labels } from '../image/labels.ts';
import type { EngineInfo } from '../outside/engine.ts';
import { arrayOf, isJsonObject, isWholeNumber, parseJson, stringOf } from '../text/json.ts';
import { formatDuration } from '../text/duration.ts';
import { fnv64, formatBytes } from '../text/plain-data.ts';
import { printable } from '../text/printable.ts';
import type { JournaledData, JournaledMember } from './facts.ts';
import type { DataHelperRole } from './transaction-names.ts';

/** The volume with the copy, in a folder for each item, and the one that keeps space for a way back from a full disk. */
export function dataVolumeNames({ leader, transaction }: DataOwner): {
  readonly copy: string;
  readonly reserve: string;
} {
  const key = fnv64(transaction);
  return { copy: `upkeep-data-${leader}-${key}`, reserve: `upkeep-reserve-${leader}-${key}` };
}

type DataOwner = Pick<JournaledData, 'leader'> & { readonly transaction: string };

/** The label of both volumes and of all helpers; its value is the id of the transaction. */
export const dataOfLabel = 'upkeep.data.of';

/** The label of a helper with its order, from which a recovery works if the new container is gone. */
export const dataOrderLabel = 'upkeep.data.order';

export const dataOrderSealLabel = 'upkeep.data.seal';

/** The labels of the volume with the copy: what is in it, and how long it is kept. */
export const copyLabels = {
  container: 'upkeep.data.container',
  bytes: 'upkeep.data.bytes',
  files: 'upkeep.data.files',
  paths: 'upkeep.data.paths',
  keep: 'upkeep.data.keep',
} as const;

export function labelsOfCopy(
  { leader, items, keepMs }: JournaledData,
  transaction: string,
  figures: DataFigures | undefined,
): Readonly<Record<string, string>> {
  return {
    [dataOfLabel]: transaction,
    [copyLabels.container]: leader,
    [copyLabels.bytes]: String(figures?.bytes ?? 0),
    [copyLabels.files]: String(figures?.files ?? 0),
    [copyLabels.paths]: JSON.stringify(items.map(({ paths }) => paths)),
    [copyLabels.keep]: String(keepMs),
  };
}

/**
 * Whose copy a volume is. Labels are untrusted: only a volume with the name that an update gives is one. A power cut can
 * bring a removed volume back without its labels: then it is a stray, and its name is all there is.
 */
export function ownerOfCopy({
  name,
  labels,
}: {
  readonly name: string;
  readonly labels: Labels;
}): CopyOwner | undefined {
  const { owner, key: transactionKey } = nameGrammar.exec(name)?.groups ?? {};
  if (owner === undefined || transactionKey === undefined) return undefined;
  if (Object.keys(labels).length === 0) return { kind: 'stray', leader: owner, transactionKey };
  const [leader, transaction] = [labels[copyLabels.container], labels[dataOfLabel]];
  if (leader === undefined || transaction === undefined) return undefined;
  const isNamedSo = dataVolumeNames({ leader, transaction }).copy === name;
  return isNamedSo ? { kind: 'labelled', leader, transaction, transactionKey } : undefined;
}

/** `transactionKey`: the same of the mark of this transaction. */
type CopyOwner = { readonly leader: string; readonly transactionKey: string } & (
  | { readonly kind: 'labelled'; readonly transaction: string }
  | { readonly kind: 'stray' }
);

const nameGrammar = /^upkeep-(?:data|reserve)-(?<owner>.+)-(?<key>[\da-f]{16})$/s;

/** The task of a helper. */
export type DataOrder = {
  readonly role: DataHelperRole;
  readonly transaction: string;
  readonly members: readonly Pick<JournaledMember, 'name' | 'oldId'>[];
  readonly data: JournaledData;
};

/** The text of the label, which the seal covers. */
export function writeDataOrder({ role, transaction, members, data }: DataOrder): string {
  return JSON.stringify({ role, transaction, members: members.map(({ name, oldId }) => ({ name, oldId })), data });
}

/** Undefined for a text that no version writes. */
export function parseDataOrder(text: string): DataOrder | undefined {
  const value = text.length > maxLabelLength ? undefined : parseJson(text);
  if (!isJsonObject(value)) return undefined;
  const data = parseJournaledData(JSON.stringify(value['data'] ?? null));
  const transaction = stringOf(value['transaction']);
  const role = (['measure', 'save', 'restore'] as const).find((one) => one === value['role']);
  const members = arrayOf(value['members']).flatMap((member) => {
    const [name, oldId] = isJsonObject(member) ? [stringOf(member['name']), stringOf(member['oldId'])] : [];
    return name === undefined || oldId === undefined ? [] : [{ name, oldId }];
  });
  if (data === undefined || transaction === undefined || role === undefined) return undefined;
  return { role, transaction, members, data };
}

/** Undefined for a text that no version writes. Labels are untrusted. */
export function parseJournaledData(text: string): JournaledData | undefined {
  const value = text.length > maxLabelLength ? undefined : parseJson(text);
  if (!isJsonObject(value)) return undefined;
  const { leader, imageId, keepMs, keepsFormer } = value;
  const items = arrayOf(value['items']).map(readItem);
  if (typeof leader !== 'string' || typeof imageId !== 'string' || !isWholeNumber(keepMs)) return undefined;
  if (items.length === 0 || items.length > maxItems) return undefined;
  const known = items.flatMap((item) => item ?? []);
  if (known.length < items.length) return undefined;
  return { leader, imageId, keepMs, items: known, ...(keepsFormer === true && { keepsFormer }) };
}

function readItem(value: unknown): DataItem | undefined {
  if (!isJsonObject(value) || !isJsonObject(value['mount'])) return undefined;
  const [title, source, below] = [stringOf(value['title']), stringOf(value['source']), stringOf(value['below'])];
  const paths = arrayOf(value['paths']).flatMap((path) => stringOf(path) ?? []);
  const type = value['mount']['Type'];
  if (title === undefined || source === undefined || (type !== 'volume' && type !== 'bind')) return undefined;
  return { paths, title, source, mount: value['mount'], ...(below !== undefined && { below }) };
}

/** Far above the length of any real order: a path has 4096 bytes at most. */
const maxLabelLength = 1_048_576;
const maxItems = 1000;

/** Linux capabilities without which a copy would lose owners, devices, attributes or files of others. */
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'DAC_READ_SEARCH', 'FOWNER', 'FSETID', 'MKNOD', 'SETFCAP'];

type HelperOrder = DataOrder & {
  readonly image: Image;
  readonly engine: Pick<EngineInfo, 'kind' | 'remapsUsers'>;
  /** Whether a container of the transaction may write attributes that belong to the whole host (`trusted.*`). */
  readonly isPrivileged: boolean;
  /** The seal of the order; undefined without a key. */
  readonly seal: string | undefined;
};

/** The request that creates a helper: no network, no other mount than the data, and only the rights of a copy. */
export function dataHelperRecipe({ image, engine, isPrivileged, seal, ...order }: HelperOrder): ContainerRecipe {
  const { role, transaction, data } = order;
  const { copy, reserve } = dataVolumeNames({ leader: data.leader, transaction });
  const volume = (Source: string, Target: string) => {
    return { Type: 'volume', Source, Target, VolumeOptions: { NoCopy: true } };
  };
  const isRestore = role === 'restore';
  const sources = data.items.map(({ mount }, index) => ({
    ...mount,
    Target: isRestore ? `/to/${index}` : `/from/${index}`,
    ReadOnly: !isRestore,
  }));
  const parents = data.items.flatMap(({ below, source }, index) =>
    below === undefined || below === source
      ? []
      : [{ Type: 'bind', Source: below, Target: `/root/${index}`, ReadOnly: true }],
  );
  const program = [programs.shared, programs[role]].join('\n');
  const relative = data.items.map(({ below, source }) =>
    below === undefined || below === source ? '' : source.slice(below.length + (below === '/' ? 0 : 1)),
  );
  return {
    body: {
      Image: image.id,
      User: '0:0',
      WorkingDir: '/',
      Entrypoint: ['/bin/sh', '-c', program, 'upkeep'],
      Cmd: [transaction, ...relative],
      Healthcheck: { Test: ['NONE'] },
      StopTimeout: 0,
      Labels: {
        [dataOfLabel]: transaction,
        [dataOrderLabel]: writeDataOrder(order),
        ...(seal !== undefined && { [dataOrderSealLabel]: seal }),
      },
      HostConfig: {
        NetworkMode: 'none',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        CapAdd: isPrivileged ? [...capabilities, 'SYS_ADMIN'] : capabilities,
        // Remapped, it could not read or write what belongs to users of the host.
        ...(engine.remapsUsers === true && { UsernsMode: 'host' }),
        SecurityOpt: ['no-new-privileges', 'label=disable'],
        RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
        LogConfig: { Type: engine.kind === 'docker' ? 'json-file' : 'k8s-file', Config: {} },
        Mounts: [
          ...sources,
          ...parents,
          role === 'measure' ? volume(reserve, '/reserve') : volume(copy, '/snap'),
          // Without them the engine would create a volume for each.
          ...Object.keys(image.config.Volumes ?? {}).map((Target) => ({ Type: 'tmpfs', Target })),
        ],
      },
    },
    laterEndpoints: [],
  };
}

/**
 * The program of each helper. Each can be interrupted anywhere and run again. Paths are never part of a command: item
 * `i` is mounted at `/from/i` or `/to/i`, and its place below the folder that allows it is an argument, after the
 * transaction's id. A synced file with this id is the only proof of a complete copy, because exit codes can be lost.
 */
const programs: Readonly<Record<DataHelperRole | 'shared', string>> = {
  shared: `
id=$1
shift
say() { echo "$*" >&2; }
# The shell of a busybox may prefer its own programs to those of PATH.
path_of() { IFS=:; for folder in $PATH; do [ ! -x "$folder/$1" ] || { echo "$folder/$1"; return; }; done; echo "$1"; }
cp=$(path_of cp) du=$(path_of du) find=$(path_of find) head=$(path_of head) stat=$(path_of stat) sync=$(path_of sync)
cp() { "$cp" "$@"; }
du() { "$du" "$@"; }
find() { "$find" "$@"; }
head() { "$head" "$@"; }
stat() { "$stat" "$@"; }
sync() { "$sync" "$@"; }
is_proven() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(head -c 1000 "$1")" = "$id" ]; }
prove() { rm -rf "$1" && printf %s "$id" >"$1" && sync -f "$1"; }
tell_size() {
  while sleep 2 2>/dev/null; do
    du -scx -B1 "$@" 2>/dev/null | while read -r size what; do [ "$what" != total ] || echo "copied $size"; done
  done
}
case "$(cp --version 2>/dev/null)" in *GNU*) ;; *) say 'the image of the helper has no GNU cp'; exit 9 ;; esac
placed() {
  [ -z "$2" ] && return
  case "$2" in */*) folder="/root/$1/\${2%/*}" ;; *) folder="/root/$1" ;; esac
  cd -P "$folder" 2>/dev/null && [ "$(pwd -P)" = "$folder" ] && [ ! -L "/root/$1/$2" ] &&
    [ "$(stat -c %d:%i "/root/$1/$2")" = "$(stat -c %d:%i "$3")" ] && cd / && return
  say "a folder is not where it was: a part of its path is a symbolic link, or was replaced"
  exit 8
}`,
  measure: `
# Files that end while they are measured are no fault.
tally() {
  LC_ALL=C "$du" -sx "$@" 2>/reserve/.err && return
  while read -r line; do
    case "$line" in *': No such file or directory') ;; *) say "$line"; return 1 ;; esac
  done </reserve/.err
}
bytes=0 files=0 clone=1 i=0
for part; do
  from=/from/$i
  placed $i "$part" $from
  while read -r _ _ _ _ point _; do
    case "$point" in "$from"/*) say "another file system is mounted inside: \${point#"$from"}"; exit 7 ;; esac
  done </proc/self/mountinfo
  size=$(tally -B1 $from) && count=$(tally --inodes $from) || exit 4
  bytes=$((bytes + \${size%%[!0-9]*})) files=$((files + \${count%%[!0-9]*}))
  sample=$(find $from -xdev -type f -size +0 2>/dev/null | head -n 1)
  rm -rf /reserve/.try
  [ -n "$sample" ] && { cp --reflink=always "$sample" /reserve/.try 2>/dev/null || clone=0; }
  rm -f /reserve/.try /reserve/.err
  i=$((i + 1))
done
rm -rf /reserve/reserve && head -c ${16 * 1_048_576} /dev/zero >/reserve/reserve && sync -f /reserve || exit 6
set -- $(stat -f -c '%a %S %d %c' /reserve)
inodes=$3; [ "$4" = 0 ] && inodes=-1
echo "measured bytes=$bytes files=$files free=$(($1 * $2)) inodes=$inodes clone=$clone"`,
  save: `
rm -rf /snap/.saved /snap/.restored && sync -f /snap && find /snap -xdev -mindepth 1 -delete || exit 4
tell_size /snap &
i=0
for part; do
  from=/from/$i
  placed $i "$part" $from
  if [ -d $from ]; then mkdir /snap/$i && cp -ax --reflink=auto $from/. /snap/$i/ || exit 5
  else cp -a --reflink=auto $from /snap/$i || exit 5; fi
  i=$((i + 1))
done
sync -f /snap && prove /snap/.saved || exit 6`,
  restore: `
is_proven /snap/.restored && exit 0
is_proven /snap/.saved || exit 3
i=0
for part; do placed $i "$part" /to/$i; i=$((i + 1)); done
i=0
for part; do
  [ ! -d /to/$i ] || find /to/$i -xdev -mindepth 1 -delete || exit 4
  i=$((i + 1))
done
tell_size /to/* &
i=0
for part; do
  if [ -d /to/$i ]; then cp -ax --reflink=auto /snap/$i/. /to/$i/ || exit 5
  else cp -a --reflink=auto /snap/$i /to/$i || exit 5; fi
  i=$((i + 1))
done
i=0
for part; do sync -f /to/$i || exit 6; i=$((i + 1)); done
prove /snap/.restored || exit 6`,
};

/** The exit code of a restore without a complete copy. */
export const noCopyExitCode = 3;

/** The measurements of a helper. */
export type DataFigures = {
  readonly bytes: number;
  readonly files: number;
  /** Free on the disk of the engine's volumes. */
  readonly freeBytes: number;
  /** Undefined: the file system has no limit. */
  readonly freeInodes: number | undefined;
  /** Copies share their blocks with the original: they take neither time nor space. */
  readonly canClone: boolean;
};

/** Undefined if the helper has not written its figures. */
export function readFigures(log: string): DataFigures | undefined {
  const found = /^measured bytes=(\d+) files=(\d+) free=(\d+) inodes=(-?\d+) clone=([01])\s*$/m.exec(log);
  if (found === null) return undefined;
  const [bytes = 0, files = 0, freeBytes = 0, inodes = 0, clone = 0] = found.slice(1).map(Number);
  return { bytes, files, freeBytes, freeInodes: inodes < 0 ? undefined : inodes, canClone: clone === 1 };
}

export type DataLimits = { readonly maxBytes: number; readonly timeoutMs: number };

/**
 * Why data of this size are not copied, as a clause about the container. Undefined: they are. `others`: copies under
 * way, whose space is still free.
 */
export function whyTooMuch(
  figures: DataFigures,
  { maxBytes, timeoutMs }: DataLimits,
  others: readonly DataFigures[] = [],
): string | undefined {
  const { bytes, files, canClone } = figures;
  const takenBytes = others.reduce((sum, other) => sum + (other.canClone ? 0 : other.bytes * 1.1), 0);
  const takenFiles = others.reduce((sum, other) => sum + other.files * 1.1, 0);
  const freeBytes = Math.max(0, figures.freeBytes - takenBytes);
  const freeInodes = figures.freeInodes && Math.max(0, Math.floor(figures.freeInodes - takenFiles));
  const beside = others.length === 0 ? '' : ' beside the copies of other updates';
  if (bytes > maxBytes && !canClone)
    return `its data takes ${formatBytes(bytes)}, more than --data-max-size ${formatBytes(maxBytes)}`;
  const needed = (canClone ? 0 : bytes * 1.1) + marginBytes;
  if (freeBytes < needed)
    return `its data need ${formatBytes(needed)}, and only ${formatBytes(freeBytes)} are free on the engine's disk${beside}`;
  if (freeInodes !== undefined && freeInodes < files * 1.1 + 1000)
    return `its data has ${files} files, and the engine's disk has room for only ${freeInodes} more${beside}`;
  const copyMs = estimatedCopyMs(figures);
  if (copyMs > timeoutMs)
    return `copying its data would take about ${formatDuration(Math.ceil(copyMs / 1000) * 1000)}, more than --data-timeout ${formatDuration(timeoutMs)}`;
  return undefined;
}

const marginBytes = 268_435_456;

/** By measurements with a cold cache: 100 MB/s, and 0.3 ms for each file. */
export function estimatedCopyMs({ bytes, files, canClone }: DataFigures): number {
  return (canClone ? 0 : bytes / 100_000) + files * 0.3;
}

/** The bytes that a helper has copied so far. Undefined before its first figure. */
export function readCopied(log: string): number | undefined {
  const figure = [...log.matchAll(copiedLines)].at(-1)?.[1];
  return figure === undefined ? undefined : Number(figure);
}

const copiedLines = /^copied (\d{1,15})\r?$/gm;

/** The first line that a failed helper has written, for a report. */
export function helperWords(log: string, exitCode: number): string {
  const lines = log.replaceAll(copiedLines, '').split('\n');
  const line = lines.find((one) => one.trim() !== '') ?? '';
  return line === '' ? `exit ${exitCode}` : `exit ${exitCode}: ${printable(line, 300)}`;
}
