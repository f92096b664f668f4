import type { Cell } from '../terminal/cell.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { namePattern } from '../../../domain/text/name-pattern.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { JsonObject } from '../../../domain/run/running-service.ts';
import { shortImage } from '../render/container-table.ts';
import { exitCodes, type LookFunction, type ReadDocument } from '../context/context.ts';
import { listOf, textOf } from '../render/fields.ts';
import { printDocument, printLines, printTable, styleFor } from '../render/print.ts';
import type { Table } from '../terminal/table.ts';
import { unfinishedWording, type Wording } from '../render/wording.ts';

/** `upkeep containers`: what is watched, with what is known of it already. */
export function createContainers(read: ReadDocument): LookFunction {
  return async ({ settings, terminal, signal }) => {
    const document = await read(signal);
    const unfinished = document['unfinished'] === undefined ? [] : listOf(document, 'unfinished');
    const picked = chosen([...listOf(document, 'containers'), ...unfinished], settings.request.containers);
    const containers = picked.filter((container) => !unfinished.includes(container));
    const held = new Set(unfinished.map(nameOf));
    const shown = picked.filter((container) => unfinished.includes(container) || !held.has(nameOf(container)));
    if (settings.output.json) {
      printDocument(terminal, { ...document, containers, count: containers.length });
      return exitCodes.done;
    }
    if (shown.length > 0) printTable(terminal, tableOf(shown), styleFor(terminal.out, settings));
    else printLines(terminal.out, ['No container is watched']);
    return exitCodes.done;
  };
}

/** Throws `not-found` for every name that means no container. */
function chosen(containers: readonly JsonObject[], names: readonly string[]): readonly JsonObject[] {
  if (names.length === 0) return containers;
  const patterns = names.map((name) => ({ name, means: namePattern(name) }));
  const strange = patterns.filter(({ means }) => !containers.some((container) => means(nameOf(container))));
  if (strange.length > 0)
    throw new ServiceError(
      'not-found',
      strange.map(({ name }) => `Cannot show ${quoted(name)}: no watched container has this name`).join('\n'),
      { remedy: '"upkeep containers" without names lists what is watched' },
    );
  return containers.filter((container) => patterns.some(({ means }) => means(nameOf(container))));
}

/** As it is, to be compared. */
function nameOf({ name }: JsonObject): string {
  return typeof name === 'string' ? name : '';
}

function tableOf(containers: readonly JsonObject[]): Table {
  return {
    columns: [
      { title: 'CONTAINER', min: 12, keep: 'start', expendable: 0 },
      { title: 'IMAGE', min: 16, keep: 'end', expendable: 2 },
      { title: 'STATE', min: 8, keep: 'start', expendable: 1 },
      { title: 'UPDATE', min: 10, keep: 'start', expendable: 1 },
      { title: 'WHY', min: 20, keep: 'start', expendable: 3 },
    ],
    rows: containers.map(rowOf),
  };
}

function rowOf(container: JsonObject): readonly Cell[] {
  return [
    { text: textOf(container, 'name'), style: 'bold' },
    { text: shortImage(textOf(container, 'image')), style: 'plain' },
    { text: stateOf(container), style: 'plain' },
    updateOf(container),
    { text: textOf(container, 'reason', 2000), style: 'plain' },
  ];
}

/** Of the list beside the containers: such an entry has no state of a container. */
function isUnfinished(entry: JsonObject): boolean {
  return typeof entry['state'] === 'string';
}

/** Services of the Watchtower family say only whether it runs. */
function stateOf(container: JsonObject): string {
  if (isUnfinished(container)) return 'not settled';
  const state = textOf(container, 'status') || (container['running'] === true ? 'running' : 'not running');
  const health = textOf(container, 'health');
  return health === '' || health === 'none' ? state : `${state} (${health})`;
}

/** That a check found nothing may also mean that it could not look: the reason tells. */
function updateOf(container: JsonObject): Wording {
  if (isUnfinished(container))
    return unfinishedWording[container['state'] === 'repair pending' ? 'repair pending' : 'in progress'];
  if (container['stale'] === true) return { text: 'available', style: 'yellow' };
  if (container['update_available'] === true) return { text: 'held back', style: 'cyan' };
  if (typeof container['checked_at'] === 'string') return { text: 'none found', style: 'plain' };
  return { text: 'not checked', style: 'grey' };
}
