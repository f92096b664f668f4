import { ServiceError } from '../../../domain/text/errors.ts';
import { isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import { forgivingPattern, suggestionFor } from '../../../domain/check/selection.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand } from '../context/context.ts';
import type { Fetch, ContainersView, UnwatchedView } from '../context/views.ts';
import { inventoryTable } from '../render/inventory-table.ts';
import { printDocument, printLines, styleFor, printTable } from '../render/print.ts';

/** `upkeep containers`: the watched containers with the results of their last checks. With `--all` the others too. */
export function createContainers(ask: Fetch<ContainersView>): ReadCommand {
  return async ({ settings, terminal, clock, signal }) => {
    const { view, document } = await ask(signal);
    const { containers: names, engines } = settings.request;
    const isAll = settings.output.all;
    refuseUnmatched(names, view, isAll);
    const isChosen = filterOf(names, engines, [...view.containers, ...(view.unwatched ?? [])]);
    if (settings.output.json) {
      printDocument(terminal, chosenDocument(document, isChosen, isAll));
      return view.away === undefined ? exitCodes.done : exitCodes.failed;
    }
    const containers = view.containers.filter(isChosen);
    const unwatched = (view.unwatched ?? []).filter(isChosen);
    const shown = isAll ? unwatched : [];
    if (containers.length + shown.length > 0) {
      const { note, ...table } = inventoryTable(containers, shown, clock.nowMs());
      await printTable(terminal, table, styleFor(terminal.out, settings));
      if (note !== '') printLines(terminal.out, ['', note]);
    } else printLines(terminal.out, ['No container is watched']);
    if (names.length === 0) printLines(terminal.out, others(view.unwatched, isAll));
    printLines(terminal.err, unreachableLines(view.away));
    return view.away === undefined ? exitCodes.done : exitCodes.failed;
  };
}

/** Names unreachable engines, because their containers may be missing in the list. */
function unreachableLines(engines: ContainersView['away'] = []): readonly string[] {
  return engines.map(({ name, error }) => `${printable(name, 100)} cannot be reached: ${printable(error, 500)}`);
}

type Named = { readonly name: string; readonly engine?: string };

function filterOf(
  names: readonly string[],
  engines: readonly string[],
  all: readonly Named[],
): (container: Named) => boolean {
  const patterns = names.map((name) => forgivingPattern(name, all));
  return ({ name, engine }) =>
    (patterns.length === 0 || patterns.some((means) => means(name))) &&
    (engines.length === 0 || engine === undefined || engines.includes(engine));
}

/** Throws `not-found` for every name that matches no container of the list. */
function refuseUnmatched(
  names: readonly string[],
  { containers, unwatched = [] }: ContainersView,
  isAll: boolean,
): void {
  const all: readonly Named[] = [...containers, ...unwatched];
  const listed = isAll ? all : containers;
  const unmatched = names.filter((name) => !listed.some(filterOf([name], [], all)));
  if (unmatched.length === 0) return;
  const message = unmatched
    .map((name) => `Cannot show ${quoted(name)}: ${whyUnmatched(name, unwatched, all)}`)
    .join('\n');
  throw new ServiceError('not-found', message, {
    remedy: '"upkeep containers" lists the watched containers, with --all also the others',
  });
}

function whyUnmatched(name: string, unwatched: readonly UnwatchedView[], all: readonly Named[]): string {
  const known = unwatched.find(filterOf([name], [], all));
  if (known !== undefined) return `it is not watched: it ${known.reason}`;
  return `no watched container has this name${suggestionFor(name, all)}`;
}

function others(unwatched: ContainersView['unwatched'], isAll: boolean): readonly string[] {
  if (unwatched === undefined)
    return isAll ? ['', 'This service does not list the containers that it does not watch'] : [];
  if (isAll || unwatched.length === 0) return [];
  return ['', `${unwatched.length} more not watched: --all lists them`];
}

/** The API's document with only the named containers. */
function chosenDocument(document: JsonObject, isChosen: (one: Named) => boolean, isAll: boolean): JsonObject {
  const chosen = (list: unknown) => (Array.isArray(list) ? list.filter((entry) => isChosen(namesIn(entry))) : list);
  const { unwatched, ...watched } = document;
  const containers = chosen(watched['containers']);
  const count = Array.isArray(containers) ? containers.length : 0;
  const rest = isAll && unwatched !== undefined ? { unwatched: chosen(unwatched) } : {};
  return { ...watched, containers, count, ...rest };
}

/** Raw value, for comparisons. */
function namesIn(entry: unknown): Named {
  const { name, engine } = isJsonObject(entry) ? entry : {};
  return { name: typeof name === 'string' ? name : '', ...(typeof engine === 'string' && { engine }) };
}
