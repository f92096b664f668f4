import { formatDuration } from '../../text/duration.ts';
import { familiarReference, tryParseImageReference } from '../../image/image-reference.ts';
import { printable } from '../../text/printable.ts';
import { type ContainerOutcome, entryKeyOf, type OutcomeKind } from '../../run/session.ts';
import type { Heading, MessageLevel } from '../message.ts';
import type { RunFacts } from '../run-facts.ts';
import { linksOf } from '../../image/image-source.ts';
import { versionOf } from '../../image/image-labels.ts';
import { telltaleLines } from '../../text/hidden-secrets.ts';
import { formatMoment } from '../template/time/format.ts';
import { Moment } from '../template/time/moment.ts';
import { shortId } from '../../container/container.ts';

/** The text about one container: a line, then links and a helpful command. */
export type Paragraph = {
  readonly about: string;
  readonly level: MessageLevel;
  readonly name: string;
  /** The text after the name. */
  readonly text: string;
  /** The lines of its log that tell why it failed. */
  readonly log: readonly string[];
  readonly links: readonly { readonly label: string; readonly address: string }[];
  /** `label: command`, ready to be copied; undefined: no command helps. */
  readonly command: { readonly label: string; readonly line: string } | undefined;
};

/** A heading with its paragraphs. */
export type Section = { readonly heading: Heading; readonly paragraphs: readonly Paragraph[] };

const kindsOf: readonly (readonly [Heading, readonly OutcomeKind[]])[] = [
  ['Needs you', ['failed', 'unknown']],
  ['Rolled back', ['rolled_back']],
  ['Updated', ['updated']],
  ['Went back', ['went_back']],
  ['Restarted with them', ['restarted']],
  ['Not updated', ['skipped', 'deferred']],
];

const levels: Readonly<Record<OutcomeKind, MessageLevel>> = {
  updated: 'info',
  went_back: 'info',
  restarted: 'info',
  fresh: 'debug',
  skipped: 'info',
  deferred: 'info',
  unknown: 'warn',
  failed: 'error',
  rolled_back: 'error',
};

/** The sections with news. Containers that need attention come first. */
export function sectionsOf({ containers, news, imageLabels }: RunFacts, timeZone: string): readonly Section[] {
  const reported = containers.filter((one) => news.has(entryKeyOf(one)));
  return kindsOf.flatMap(([heading, kinds]) => {
    const paragraphs = reported
      .filter(({ outcome }) => kinds.includes(outcome))
      .map((container) => paragraphOf(container, imageLabels, timeZone));
    return paragraphs.length === 0 ? [] : [{ heading, paragraphs }];
  });
}

function paragraphOf(container: ContainerOutcome, imageLabels: RunFacts['imageLabels'], timeZone: string): Paragraph {
  const { outcome, name, image, kind } = container;
  const details = [inLocalTime(detailOf(container, imageLabels), timeZone), downtimeOf(container)].filter(
    (part) => part !== '',
  );
  const text = ` (${kind === 'service' ? 'service, ' : ''}${imageOf(image)})${details.length === 0 ? '' : `: ${details.join('; ')}`}`;
  const { releases, page } = tellsOfNewer(container) ? linksOfUpdate(container, imageLabels) : noLinks;
  return {
    about: entryKeyOf(container),
    level: levels[outcome],
    name: printable(name, 200),
    text,
    log: telltaleLines(container.log ?? ''),
    links: [
      ...(releases === undefined ? [] : [{ label: 'Release notes', address: releases }]),
      ...(page === undefined ? [] : [{ label: 'About it', address: page }]),
    ],
    command: commandFor(container),
  };
}

function detailOf(container: ContainerOutcome, imageLabels: RunFacts['imageLabels']): string {
  const reason = printable(container.reason, 600);
  if (isWaiting(container)) {
    const { from = '', to = '' } = container;
    return from !== to && plainVersion.test(from) && plainVersion.test(to) ? `${from} → ${to}; ${reason}` : reason;
  }
  if (container.outcome !== 'updated' && container.outcome !== 'rolled_back') return reason;
  const change = versionChange(container, imageLabels);
  if (reason === '' || change === '') return change + reason;
  return container.outcome === 'updated' ? `${change}; ${reason}` : `${change} failed and was rolled back: ${reason}`;
}

/**
 * `1.27.2 → 1.27.3`, with the ids of the images if both have the same version. Empty when nothing is known. Each version
 * is the one that the check has named, or comes from the labels of the image.
 */
function versionChange(
  { image, tagChange, from, to, oldImageId, newImageId }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
): string {
  if (oldImageId === newImageId || newImageId === '') return '';
  const shown = (id: string, named: string | undefined, reference = image) => {
    const version = named ?? versionOf({ labels: imageLabels.get(id), image: reference, digest: id }) ?? '';
    return plainVersion.test(version) ? version : shortId(id);
  };
  const [before, after] = [shown(oldImageId, from, tagChange?.from), shown(newImageId, to, tagChange?.to)];
  return before === after
    ? `${before} (${shortId(oldImageId)}) → ${after} (${shortId(newImageId)})`
    : `${before} → ${after}`;
}

/** Any other text could be read as formatting or a command by a service. */
const plainVersion = /^\w[\w.+~:-]{0,63}$/;

function linksOfUpdate(
  { image, tagChange, newImageId, sourceUrl }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
) {
  return linksOf({ labels: imageLabels.get(newImageId), image: tagChange?.to ?? image }, sourceUrl);
}

function isWaiting({ outcome }: ContainerOutcome): boolean {
  return outcome === 'skipped' || outcome === 'deferred';
}

/** Whether somebody wants to read about the newer version. */
function tellsOfNewer(container: ContainerOutcome): boolean {
  return container.outcome === 'updated' || (isWaiting(container) && container.to !== undefined);
}

/** Reasons have times in UTC, as everywhere; a message has them as the reader's clock shows them. */
export function inLocalTime(text: string, timeZone: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, (time) =>
    formatMoment(new Moment(Date.parse(time), timeZone), '2006-01-02 15:04 MST'),
  );
}

const noLinks = { releases: undefined, page: undefined };

/** Tenths of a second are precise enough. */
function downtimeOf({ downtimeMs }: ContainerOutcome): string {
  if (downtimeMs === undefined) return '';
  if (downtimeMs === 0) return 'no downtime';
  return `down for ${formatDuration(downtimeMs < 1000 ? downtimeMs : Math.round(downtimeMs / 100) * 100)}`;
}

/** A name that a shell could interpret is not put into a command. */
function commandFor({ outcome, name }: ContainerOutcome): Paragraph['command'] {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(name)) return undefined;
  if (outcome === 'updated') return { label: 'To go back', line: `upkeep rollback ${name}` };
  if (outcome === 'rolled_back') return { label: 'To try again', line: `upkeep update --retry-failed ${name}` };
  return outcome === 'failed' ? { label: 'To try again', line: `upkeep update ${name}` } : undefined;
}

function imageOf(image: string): string {
  const reference = tryParseImageReference(image);
  return reference === undefined ? printable(image, 300) : familiarReference(reference);
}
