import { shortId } from '../../../domain/container/container.ts';
import { familiarReference, tryParseImageReference } from '../../../domain/image/image-reference.ts';
import { printable, printableJson } from '../../../domain/text/printable.ts';
import type { ContainerOutcome, OutcomeKind, Session } from '../../../domain/run/session.ts';
import type { CommandContext } from '../context/context.ts';

/** Prints each update's outcome for scripts, if requested, until the returned function is called. */
export function printOutcomes({ application, settings, terminal }: CommandContext): () => void {
  const { porcelain } = settings.output;
  if (porcelain === 'none') return () => undefined;
  return application.subscribe((event) => {
    if (event.kind === 'scan_completed' && event.session !== undefined)
      terminal.out.write(porcelainTexts[porcelain](event.session));
  });
}

/** The output of the Watchtower family's `--porcelain`, which scripts read. */
export const porcelainTexts: Readonly<Record<'v1' | 'json', (session: Session) => string>> = {
  v1: ({ containers }) =>
    containers.length === 0 ? 'no containers matched filter\n' : containers.map(lineOf).join(''),
  json: ({ containers }) => `${printableJson(JSON.stringify({ containers: containers.map(entryOf) }, undefined, 2))}\n`,
};

/** The family has no state for a rollback or a deferred update. */
const states: Readonly<Record<OutcomeKind, string>> = {
  updated: 'Updated',
  went_back: 'Updated',
  fresh: 'Fresh',
  failed: 'Failed',
  rolled_back: 'Failed',
  restarted: 'Restarted',
  skipped: 'Skipped',
  deferred: 'Skipped',
  unknown: 'Skipped',
};

function lineOf(container: ContainerOutcome): string {
  const error = errorOf(container);
  const { name, outcome } = container;
  const why = error === '' ? '' : ` Error: ${error}`;
  return `${printable(name, 300)} (${imageOf(container)}): ${states[outcome]}${why}\n`;
}

function entryOf(container: ContainerOutcome) {
  const { name, outcome, oldImageId, newImageId, oldDigest, newDigest } = container;
  const error = errorOf(container);
  return {
    name,
    image: imageOf(container),
    image_id: shortId(oldImageId),
    latest_image_id: shortId(newImageId),
    state: states[outcome],
    update_available: (newImageId !== '' && newImageId !== oldImageId) || (newDigest !== '' && newDigest !== oldDigest),
    ...(error === '' ? {} : { error }),
  };
}

function errorOf({ outcome, reason }: ContainerOutcome): string {
  const isWell = outcome === 'updated' || outcome === 'went_back' || outcome === 'fresh' || outcome === 'restarted';
  return isWell ? '' : printable(reason, 1000);
}

function imageOf({ image }: ContainerOutcome): string {
  const reference = tryParseImageReference(image);
  return reference === undefined ? printable(image, 500) : familiarReference(reference);
}
