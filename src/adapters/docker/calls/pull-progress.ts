import type { PullProgress } from '../../../domain/run/event.ts';
import { count, fields, text } from '../transport/json-fields.ts';

type PullProgressCount = {
  /** Reads one line of the engine's report. True when it changed the sums. */
  readonly take: (line: unknown) => boolean;
  readonly sum: () => PullProgress;
};

/** An image has at most 127 layers. A stream with more ids than this is ignored. */
const maxLayers = 1_000;

/** More bytes than any layer has. Sums over all layers stay exact. */
const mostBytes = 1e12;

/** Sums the engine's progress reports of all layers. */
export function createPullProgress(): PullProgressCount {
  const layers = new Map<string, Layer>();
  let sums: PullProgress = { layersDone: 0, layers: 0, bytes: 0, totalBytes: 0 };

  function take(line: unknown): boolean {
    const { id, status, progressDetail } = fields(line);
    const layerId = text(id);
    const before = layers.get(layerId) ?? nothing;
    const layerStatus = text(status);
    if (layerId === '' || !layerStatuses.has(layerStatus) || (before === nothing && layers.size >= maxLayers))
      return false;
    const after = applyProgress(before, layerStatus, fields(progressDetail));
    layers.set(layerId, after);
    sums = {
      layersDone: sums.layersDone + Number(after.done) - Number(before.done),
      layers: layers.size,
      bytes: sums.bytes + after.bytes - before.bytes,
      totalBytes: sums.totalBytes + after.totalBytes - before.totalBytes,
    };
    return true;
  }

  return { take, sum: () => sums };
}

type Layer = { readonly bytes: number; readonly totalBytes: number; readonly done: boolean };

const nothing: Layer = { bytes: 0, totalBytes: 0, done: false };

/** Status texts of lines about a layer. Other lines, e.g. `Pulling from library/nginx`, have the tag as id. */
const layerStatuses: ReadonlySet<string> = new Set([
  'Pulling fs layer',
  'Waiting',
  'Downloading',
  'Verifying Checksum',
  'Download complete',
  'Extracting',
  'Pull complete',
  'Already exists',
]);

function applyProgress(layer: Layer, layerStatus: string, detail: Readonly<Record<string, unknown>>): Layer {
  if (layerStatus === 'Already exists' || layerStatus === 'Pull complete')
    return { ...layer, bytes: layer.totalBytes, done: true };
  if (layerStatus === 'Download complete') return { ...layer, bytes: layer.totalBytes };
  if (layerStatus !== 'Downloading') return layer;
  const totalBytes = Math.max(layer.totalBytes, Math.min(mostBytes, count(detail['total'])));
  return { ...layer, totalBytes, bytes: Math.min(totalBytes, Math.max(0, count(detail['current']))) };
}
