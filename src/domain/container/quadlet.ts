/** Units of systemd that run containers of Podman (Quadlet): which of them may be restarted, and the tag in their files. */

import { isSame } from '../compose/compose-edit.ts';
import { isTag, tryParseImageReference } from '../image/image-reference.ts';
import { isJsonObject } from '../text/json.ts';
import { quoted } from '../text/printable.ts';
import type { Container } from './container.ts';

/** A unit by the words of systemd and of its file. `held`: why it may not be restarted, after a colon. */
export type UnitReading =
  | { readonly kind: 'held'; readonly why: string }
  | {
      readonly kind: 'unit';
      /** The first value of each property: `systemctl show`. */
      readonly properties: ReadonlyMap<string, string>;
      /** The path of the `.container` file without links, and its text. */
      readonly file: string;
      readonly text: string;
      /** The texts of files that add to it. */
      readonly dropIns: readonly string[];
      /** Why its file may not be written; undefined if it may. */
      readonly whyNotWritten: string | undefined;
    };

/** The unit that runs a container, if Upkeep may restart it; or why not, after the container's name. */
export type UnitVerdict =
  | { readonly kind: 'unit'; readonly unit: PlannedUnit }
  | { readonly kind: 'held'; readonly reason: string };

export type PlannedUnit = {
  readonly name: string;
  readonly file: string;
  /** Podman updates it too: `AutoUpdate=`. */
  readonly isAutoUpdated: boolean;
};

/**
 * The unit that runs a container of Podman by its label, which is untrusted text. Undefined without one. Docker does not
 * know the label, and a container without an obstacle can be replaced.
 */
export function unitOf({ settings: { Config, obstacle } }: Pick<Container, 'settings'>): string | undefined {
  const name = Config.Labels?.['PODMAN_SYSTEMD_UNIT'];
  return obstacle === undefined || name === undefined || name === '' ? undefined : name;
}

/** Whether a text is the name of a service: https://www.freedesktop.org/software/systemd/man/252/systemd.unit.html */
export function isServiceName(text: string): boolean {
  return text.length <= 255 && /^[A-Za-z0-9_][A-Za-z0-9:_.\\@-]*\.service$/.test(text) && !text.includes('..');
}

/**
 * Judges whether a restart of the unit starts the container anew, from the tag that its file names and with the image
 * that the engine has there: only that can be taken back. `next`: the reference that the update changes to.
 */
export function judgeUnit(
  container: Pick<Container, 'name' | 'settings'>,
  name: string,
  reading: UnitReading,
  next?: string,
): UnitVerdict {
  const why = reading.kind === 'held' ? reading.why : whyNotRestarted(container, name, reading, next);
  if (why !== undefined || reading.kind === 'held')
    return {
      kind: 'held',
      reason: `is run by the systemd unit ${quoted(name, 100)}, which would start the old container again, and Upkeep cannot restart that unit: ${why}`,
    };
  const isAutoUpdated = [reading.text, ...reading.dropIns].some((text) => valuesOf(text, 'AutoUpdate').length > 0);
  return { kind: 'unit', unit: { name, file: reading.file, isAutoUpdated } };
}

function whyNotRestarted(
  container: Pick<Container, 'name' | 'settings'>,
  unit: string,
  { properties, text, dropIns, whyNotWritten }: Extract<UnitReading, { readonly kind: 'unit' }>,
  next: string | undefined,
): string | undefined {
  const is = (property: string) => properties.get(property) ?? '';
  if (is('LoadState') !== 'loaded') return 'systemd has not loaded it';
  if (is('NeedDaemonReload') !== 'no')
    return 'its file has changed since systemd has read it: run systemctl daemon-reload, and restart it';
  if (is('ActiveState') !== 'active' || is('SubState') !== 'running')
    return `it is ${quoted(`${is('ActiveState')} (${is('SubState')})`, 60)} and not running`;
  const words = commandOf(is('ExecStart'));
  if (words === undefined || nameIn(words) !== container.name)
    return `it does not start a container called ${quoted(container.name, 100)}`;
  if (dropIns.some((each) => valuesOf(each, 'Image').length > 0))
    return 'a drop-in changes its Image=: have Image= in its .container file only';
  const place = placeOfImage(text);
  if ('fault' in place) return place.fault;
  if (!words.includes(place.image)) return `it does not start the image of its file, ${quoted(place.image, 300)}`;
  if (!isSame(place.image, container.settings.Config.Image))
    return `its file names the image ${quoted(place.image, 300)}, and the container has ${quoted(container.settings.Config.Image, 300)}: restart the unit`;
  if (pullsAtStart(words, [text, ...dropIns]))
    return 'it pulls its image at each start (Pull=), so that nothing could bring the old version back: remove Pull=, or restart it yourself';
  if (next === undefined) return undefined;
  const write = `to move to another tag, write ${quoted(next, 300)} as Image= into its file, run systemctl daemon-reload and restart it`;
  if (unit.includes('@')) return `other units may have its file too; ${write}`;
  if (whyNotWritten !== undefined) return `${whyNotWritten}; ${write}`;
  const spliced = spliceImage(text, place.image, next);
  return 'fault' in spliced ? `${spliced.fault}; ${write}` : undefined;
}

/** The command of a service from `ExecStart={ path=… ; argv[]=… ; ignore_errors=no ; … }`; undefined without one. */
function commandOf(text: string): readonly string[] | undefined {
  const [, command] = /^\{ path=\S+ ; argv\[\]=(.*) ; ignore_errors=(?:yes|no) ; /s.exec(text) ?? [];
  return command?.split(' ');
}

/** The value of its first `--name`, which is before the image. */
function nameIn(words: readonly string[]): string | undefined {
  const run = words.indexOf('run');
  const at = words.findIndex((word) => word === '--name' || word.startsWith('--name='));
  if (run === -1 || at < run) return undefined;
  return words[at] === '--name' ? words[at + 1] : words[at]?.slice('--name='.length);
}

function pullsAtStart(words: readonly string[], texts: readonly string[]): boolean {
  const at = words.findIndex((word) => word === '--pull' || word.startsWith('--pull='));
  const flag = words[at] === '--pull' ? words[at + 1] : words[at]?.slice('--pull='.length);
  const asked = texts.flatMap((text) => valuesOf(text, 'Pull'));
  return [...asked, flag ?? ''].some((value) => value === 'always' || value === 'newer' || value === 'true');
}

/** The text of a file whose only `Image=` gets the tag of another reference. Nothing else of it changes. */
export function spliceImage(text: string, from: string, to: string): { readonly text: string } | Fault {
  const place = placeOfImage(text);
  if ('fault' in place) return place;
  const { image, at } = place;
  const tag = tryParseImageReference(image)?.tag ?? '';
  const next = tryParseImageReference(to)?.tag ?? '';
  if (!isSame(image, from)) return { fault: `its file names another image, ${quoted(image, 300)}` };
  if (tag === '' || !image.endsWith(`:${tag}`) || !isTag(next)) return { fault: 'its Image= has no tag' };
  const end = at + image.length;
  const spliced = `${text.slice(0, end - tag.length)}${next}${text.slice(end)}`;
  const after = placeOfImage(spliced);
  return 'fault' in after || !isSame(after.image, to)
    ? { fault: `its Image= cannot become ${quoted(to, 300)}` }
    : { text: spliced };
}

/** The image that a file names; undefined if it names none, or not in plain words. */
export function imageIn(text: string): string | undefined {
  const place = placeOfImage(text);
  return 'fault' in place ? undefined : place.image;
}

type Fault = { readonly fault: string };

function placeOfImage(text: string): { readonly image: string; readonly at: number } | Fault {
  const [first, ...more] = valuesOf(text, 'Image');
  const [place] = entriesOf(text, 'Image');
  if (first === undefined || place === undefined) return { fault: 'its .container file has no Image=' };
  if (more.length > 0) return { fault: 'its .container file has more than one Image=' };
  if (/\.(?:image|build)$/.test(first))
    return { fault: `its Image= names the unit ${quoted(first, 100)}: change the image there, and restart both` };
  if (first.includes('%')) return { fault: 'its Image= has a specifier (%): write the whole name there' };
  if (!place.isWhole || !/^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/.test(first))
    return { fault: 'its Image= is not one plain name on one line' };
  return { image: first, at: place.at };
}

function valuesOf(text: string, key: string): readonly string[] {
  return entriesOf(text, key).map(({ value }) => value);
}

type Entry = {
  readonly value: string;
  readonly at: number;
  /** It does not go on with the next line. */
  readonly isWhole: boolean;
};

/**
 * The entries of a key in the section `[Container]`, where they stand. A line that ends with a backslash goes on with
 * the next one: https://www.freedesktop.org/software/systemd/man/252/systemd.syntax.html
 */
function entriesOf(text: string, key: string): readonly Entry[] {
  const found: Entry[] = [];
  let [at, isContainer, goesOn] = [0, false, false];
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    const isComment = trimmed.startsWith('#') || trimmed.startsWith(';');
    if (!isComment && !goesOn) {
      if (trimmed.startsWith('[')) isContainer = trimmed === '[Container]';
      const [start = '', name = '', value = ''] = /^(\s*([^\s=]+)\s*=\s*)(.*)$/s.exec(line)?.slice(1) ?? [];
      if (isContainer && name === key)
        found.push({ value: value.trim(), at: at + start.length, isWhole: !trimmed.endsWith('\\') });
    }
    // A comment between the lines of an entry does not end it.
    if (!isComment) goesOn = trimmed.endsWith('\\');
    at += line.length + 1;
  }
  return found;
}

/**
 * An update of a container by a restart of its unit, as it is stored: `begun` before its first change, `over` when the
 * new version is proven or the old one is back. The last record of an id counts.
 */
export type UnitRecord = {
  readonly id: string;
  readonly step: 'begun' | 'over';
  readonly atMs: number;
  /** The process that began it: see `Instance`. */
  readonly owner: string;
  readonly container: string;
  readonly unit: string;
  readonly file: string;
  readonly oldId: string;
  readonly oldImageId: string;
  readonly newImageId: string;
  /** The reference that the container gets, and the one that it had if the update changes the tag. */
  readonly reference: string;
  readonly formerReference?: string;
  /** It was unhealthy before, so that its HEALTHCHECK proves nothing. */
  readonly wasUnhealthy?: true;
  /** SHA-256 of the text of its file before and after, once it is about to be written. */
  readonly edit?: { readonly before: string; readonly after: string };
};

/** The updates that are not over, in the order of their begin. */
export function openUnitRecords(records: readonly UnitRecord[]): readonly UnitRecord[] {
  return [...new Map(records.map((record) => [record.id, record])).values()].filter(({ step }) => step === 'begun');
}

/** Undefined for anything else than a record. */
export function readUnitRecord(value: unknown): UnitRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, step, atMs, owner, container, unit, file, oldId, oldImageId, newImageId, reference, edit } = value;
  const texts = [id, owner, container, unit, file, oldId, oldImageId, newImageId, reference];
  const { formerReference, wasUnhealthy } = value;
  if (!texts.every((text) => typeof text === 'string' && text !== '') || typeof atMs !== 'number') return undefined;
  if ((step !== 'begun' && step !== 'over') || !isServiceName(String(unit))) return undefined;
  if (formerReference !== undefined && typeof formerReference !== 'string') return undefined;
  if (wasUnhealthy !== undefined && wasUnhealthy !== true) return undefined;
  if (
    edit !== undefined &&
    !(isJsonObject(edit) && [edit['before'], edit['after']].every((one) => typeof one === 'string'))
  )
    return undefined;
  // Each field was checked.
  return value as UnitRecord;
}
