import { formatDuration } from '../../../domain/text/duration.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { Cell } from '../terminal/cell.ts';

/** Versions of an image for display. A reply may lack both. */
export type Versions = { readonly from?: string | undefined; readonly to?: string | undefined };

/** `1.27.3 → 1.27.4`, or the only known version. */
export function versionCell({ from = '', to = '' }: Versions): Cell {
  const isChange = from !== '' && to !== '' && from !== to;
  const text = isChange ? `${shown(from)} → ${shown(to)}` : shown(from || to);
  return { text, style: isChange ? 'bold' : 'plain' };
}

/** `nginx:1.27 → 1.28` if the newer image has another tag, else the reference. */
export function imageChange(image: string, candidate: string | undefined): string {
  const tag = candidate === image ? undefined : /:([^:/@]+)$/.exec(candidate ?? '')?.[1];
  return tag === undefined ? image : `${image} → ${tag}`;
}

/** The age of a new version in its largest unit: `2d ago`; empty if unknown. */
export function ageCell(releasedAtMs: number | undefined, nowMs: number): Cell {
  if (releasedAtMs === undefined || releasedAtMs > nowMs) return { text: '', style: 'plain' };
  const ageMs = nowMs - releasedAtMs;
  const unitMs = unitsMs.find((unit) => ageMs >= unit) ?? 1000;
  return { text: `${formatDuration(Math.floor(ageMs / unitMs) * unitMs)} ago`, style: 'grey' };
}

/** A day, an hour, a minute. */
const unitsMs = [86_400_000, 3_600_000, 60_000] as const;

function shown(version: string): string {
  return printable(version, longestVersion);
}

const longestVersion = 40;
