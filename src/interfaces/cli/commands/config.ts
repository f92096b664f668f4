import { printable } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand, type Fetch, type ConfigView } from '../context/context.ts';
import { listOf, isGiven } from '../context/read-views.ts';
import { printDocument, printLines, styleFor, printTable } from '../render/print.ts';
import type { Table } from '../terminal/table.ts';

/** `upkeep config`: every option with its value and source, or only the changed ones. */
export function createConfig(ask: Fetch<ConfigView>): ReadCommand {
  return async ({ settings, terminal, signal }) => {
    const { view, document } = await ask(signal);
    const { json, changed } = settings.output;
    if (json) {
      const shown =
        changed && 'options' in document
          ? { options: listOf(document, 'options').filter((one) => isGiven(one) && one['name'] !== 'changed') }
          : {};
      printDocument(terminal, { ...document, ...shown });
      return exitCodes.done;
    }
    const options = view.options.filter(({ name, given }) => !changed || (given && name !== 'changed'));
    if (options.length > 0) await printTable(terminal, tableOf(options), styleFor(terminal.out, settings));
    else printLines(terminal.out, ['All options have their defaults']);
    if (view.watched !== '') printLines(terminal.out, ['', `Watched: ${printable(view.watched, 2000)}`]);
    return exitCodes.done;
  };
}

function tableOf(options: ConfigView['options']): Table {
  return {
    columns: [
      { title: 'OPTION', min: 16, keep: 'start', dropPriority: 0 },
      { title: 'VALUE', min: 16, keep: 'start', dropPriority: 1 },
      { title: 'FROM', min: 10, keep: 'start', dropPriority: 2 },
    ],
    rows: options.map(({ name, value, source, given }) => [
      { text: printable(name, 300), style: 'plain' },
      { text: printable(value, 2000), style: given ? 'bold' : 'plain' },
      { text: printable(source, 300), style: source === 'default' ? 'grey' : 'plain' },
    ]),
  };
}
