import { words } from '../../../domain/text/words.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../../domain/text/json.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import {
  exitCodes,
  type ReadCommand,
  type Fetch,
  type ContainersView,
  type UnwatchedView,
  type Finding,
} from '../context/context.ts';
import { printDocument, printLines, styleFor, printTable } from '../render/print.ts';
import { remarkOf } from '../../../domain/check/verdict.ts';
import { shownName } from '../../../domain/run/session.ts';
import type { Cell, Column } from '../terminal/style.ts';
import type { Table } from '../terminal/table.ts';
import { rowOf, type Row } from '../render/container-table.ts';
import {
  statusWording,
  unfinishedWording,
  ageCell,
  imageChange,
  versionCell,
  wordingOfCheck,
  type Wording,
} from '../context/wording.ts';
import { forgivingPattern, suggestionFor } from '../../../domain/container/lookup.ts';

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
      return view.unreachable === undefined ? exitCodes.done : exitCodes.failed;
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
    printLines(terminal.out, limitLines(document));
    printLines(terminal.err, unreachableLines(view.unreachable));
    return view.unreachable === undefined ? exitCodes.done : exitCodes.failed;
  };
}

/** Names unreachable engines, because their containers may be missing in the list. */
function unreachableLines(engines: ContainersView['unreachable'] = []): readonly string[] {
  return engines.map(({ name, error }) => `${printable(name, 100)} cannot be reached: ${printable(error, 500)}`);
}

/** The hosts that allow no more requests for release notes now, each once. */
function limitLines({ containers }: JsonObject): readonly string[] {
  const lines = (Array.isArray(containers) ? containers : []).flatMap((one) => {
    const { source, error } = objectOf(objectOf(one)?.['notes']) ?? {};
    const isLimit = typeof error === 'string' && error.includes('allows no more requests');
    if (!isLimit || typeof source !== 'string' || !URL.canParse(source)) return [];
    return [printable(`Release notes of ${new URL(source).host} wait: ${error}`, 300)];
  });
  return [...new Set(lines)].slice(0, 5);
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

const columns: readonly Column[] = [
  { title: 'CONTAINER', min: 12, keep: 'start', dropPriority: 0 },
  { title: 'UPDATE', min: 10, keep: 'start', dropPriority: 1 },
  { title: 'VERSION', min: 10, keep: 'end', dropPriority: 3 },
  { title: 'RELEASED', min: 6, keep: 'start', dropPriority: 4 },
  { title: 'STATE', min: 8, keep: 'start', dropPriority: 2 },
  { title: 'IMAGE', min: 12, keep: 'end', dropPriority: 5 },
  { title: 'WHY', min: 20, keep: 'start', dropPriority: 6, isSentence: true },
];

/** The table of containers: urgent ones first, unwatched ones last. */
function inventoryTable(
  containers: ContainersView['containers'],
  unwatched: readonly UnwatchedView[],
  nowMs: number,
): InventoryTable {
  const sorted = containers.toSorted((one, other) => urgencyOf(one.finding) - urgencyOf(other.finding));
  return withoutUniform({
    columns,
    rows: [
      ...sorted.map((container) => watchedRow(container, nowMs)),
      ...unwatched.map(({ image, reason, ...one }) => {
        const state = { text: 'not watched', style: 'grey' } as const;
        return cells(
          { name: shownName(one), state, version: nothing, age: nothing, image, reason: `It ${reason}` },
          '',
        );
      }),
    ],
  });
}

/** The same table without the columns UPDATE and STATE if three or more rows all say the same there; a note says it once. */
function withoutUniform(table: Table): InventoryTable {
  const uniform = table.columns.flatMap(({ title }, at) => {
    const texts = new Set(table.rows.map((row) => row[at]?.text ?? ''));
    const isSame = table.rows.length > 2 && texts.size === 1 && (title === 'UPDATE' || title === 'STATE');
    return isSame ? [{ at, text: [...texts].join('') }] : [];
  });
  if (uniform.length === 0) return { ...table, note: '' };
  const isShown = (_: unknown, at: number) => !uniform.some((one) => one.at === at);
  return {
    columns: table.columns.filter(isShown),
    rows: table.rows.map((row) => row.filter(isShown)),
    note: `All of them: ${uniform.map(({ text }) => text).join(', ')}`,
  };
}

type InventoryTable = Table & { readonly note: string };

function watchedRow({ finding, ...container }: ContainersView['containers'][number], nowMs: number): readonly Cell[] {
  const isNewer =
    finding.kind !== 'unchecked' && finding.kind !== 'unfinished' && /^(?:stale|held)$/.test(finding.status);
  const row = {
    name: shownName(container),
    image: imageChange(container.image, isNewer ? container.candidate : undefined),
    state: wordingOf(finding, container.version),
    version: versionCell({ from: container.version, to: container.latestVersion }),
    age: ageCell(isNewer ? container.releasedAtMs : undefined, nowMs),
    reason: isPlain(finding) ? remarkOf(container.reason) : container.reason,
  };
  return cells(row, container.state);
}

/** The cells of every list of containers, and the state of the container. */
function cells(row: Row, state: string): readonly Cell[] {
  return rowOf(row).toSpliced(stateColumn, 0, { text: printable(state, 100), style: 'plain' });
}

const stateColumn = columns.findIndex(({ title }) => title === 'STATE');

const nothing: Cell = { text: '', style: 'plain' };

/** True if the reason would repeat the state. */
function isPlain(finding: Finding): boolean {
  return finding.kind === 'checked' && /^(?:fresh|stale|pinned|local)$/.test(finding.status);
}

/** Without verdicts, no finding may also mean that the check failed. The reason shows it. */
const describedWording = {
  'nothing found': { text: 'no update found', style: 'plain' },
  stale: statusWording.stale,
  held: statusWording.held,
} as const;

function wordingOf(finding: Finding, version?: string): Wording {
  switch (finding.kind) {
    case 'checked':
      return wordingOfCheck(finding.status, { ...finding, version });
    case 'told':
      return describedWording[finding.status];
    case 'unfinished':
      return unfinishedWording[finding.state];
    case 'unchecked':
      return { text: words.unchecked, style: 'grey' };
  }
}

/** In the order of the wordings. */
function urgencyOf(finding: Finding): number {
  const texts = [...Object.values(unfinishedWording), ...Object.values(statusWording)].map(({ text }) => text);
  const { text } = finding.kind === 'checked' ? statusWording[finding.status] : wordingOf(finding);
  const found = texts.indexOf(text);
  return found === -1 ? texts.length : found;
}
