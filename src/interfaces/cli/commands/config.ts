import { isJsonObject, type JsonObject } from '../../../domain/run/running-service.ts';
import { exitCodes, type LookFunction, type ReadDocument } from '../context/context.ts';
import { listOf, textOf } from '../render/fields.ts';
import { printDocument, printLines, printTable, styleFor } from '../render/print.ts';
import type { Table } from '../terminal/table.ts';

/** `upkeep config`: every option with its value and where that came from. */
export function createConfig(read: ReadDocument): LookFunction {
  return async ({ settings, terminal, signal }) => {
    const document = await read(signal);
    const table = tableOf(optionsIn(document));
    if (settings.output.json) {
      printDocument(terminal, document);
      return exitCodes.done;
    }
    printTable(terminal, table, styleFor(terminal.out, settings));
    const { config } = document;
    const watched = isJsonObject(config) ? textOf(config, 'filter_desc', 2000) : '';
    if (watched !== '') printLines(terminal.out, ['', `Watched: ${watched}`]);
    return exitCodes.done;
  };
}

/** Services of the Watchtower family list no options, but tell the settings. */
function optionsIn(document: JsonObject): readonly JsonObject[] {
  const { config, options } = document;
  if (options !== undefined || !isJsonObject(config)) return listOf(document, 'options');
  return Object.entries(config).map(([name, value]) => ({ name, value: String(value) }));
}

function tableOf(options: readonly JsonObject[]): Table {
  return {
    columns: [
      { title: 'OPTION', min: 16, keep: 'start', expendable: 0 },
      { title: 'VALUE', min: 16, keep: 'start', expendable: 0 },
      { title: 'FROM', min: 10, keep: 'start', expendable: 1 },
    ],
    rows: options.map((option) => {
      const source = textOf(option, 'source');
      return [
        { text: textOf(option, 'name'), style: 'plain' },
        { text: textOf(option, 'value', 2000), style: source === 'default' ? 'plain' : 'bold' },
        { text: source, style: source === 'default' ? 'grey' : 'plain' },
      ];
    }),
  };
}
