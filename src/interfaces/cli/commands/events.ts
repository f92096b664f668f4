import { printableJson, printable } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand, type Sources } from '../context/context.ts';
import { styleFor } from '../render/print.ts';
import { shownName } from '../../../domain/run/session.ts';
import { shortDigest } from '../../../domain/image/image-reference.ts';
import { isJsonObject, type JsonObject, objectOf } from '../../../domain/text/json.ts';
import { outcomeWording, formatDowntime, sayResult, startWord } from '../context/wording.ts';
import { numberOf, textOf } from '../context/read-views.ts';
import type { Style, StyleName } from '../terminal/style.ts';

/** `upkeep events`: the events of a running service, until the user stops it. */
export function createEvents(follow: Sources['follow']): ReadCommand {
  return async ({ settings, terminal: { out }, signal }) => {
    const style = styleFor(out, settings);
    try {
      for await (const event of follow(signal)) {
        const line = settings.output.json ? printableJson(JSON.stringify(event)) : eventLine(event, style);
        out.write(`${line}\n`);
      }
    } catch (error) {
      // A stop is the normal end.
      if (!signal.aborted) throw error;
    }
    return exitCodes.done;
  };
}

/** An event of the stream as a line: time and text. */
function eventLine(event: JsonObject, style: Style): string {
  const type = textOf(event, 'type', 60);
  const data = isJsonObject(event['data']) ? event['data'] : {};
  const { say, colour } = Object.hasOwn(eventWordings, type) ? (eventWordings[type] ?? other) : other;
  const time = style.grey(textOf(event, 'timestamp', 40).replace(/\.\d+/, ''));
  return `${time} ${style[colour](say(data, type))}`;
}

type Telling = { readonly say: (data: JsonObject, type: string) => string; readonly colour: StyleName };

const eventWordings: Readonly<Record<string, Telling>> = {
  scan_started: {
    say: (data) => {
      const by = textOf(data, 'by', 60);
      return by === '' ? 'Checking for updates' : `Checking for updates, asked by ${by}`;
    },
    colour: 'plain',
  },
  scan_completed: {
    say: (data) =>
      `${numberOf(data, 'scanned')} checked, ${numberOf(data, 'updated')} updated, ${numberOf(data, 'failed')} failed`,
    colour: 'bold',
  },
  scan_failed: { say: (data) => `The update failed: ${textOf(data, 'error', maxWhy)}`, colour: 'red' },
  update_started: { say: sayStarted, colour: 'plain' },
  update_completed: {
    say: (data) => {
      const { text } = sayResult({ outcome: data['rollback'] === true ? 'went_back' : 'updated' });
      return `${containerOf(data)}: ${text}${downOf(data)}`;
    },
    colour: 'green',
  },
  update_deferred: {
    say: (data) => `${containerOf(data)}: ${outcomeWording.deferred.text}: ${textOf(data, 'reason', maxWhy)}`,
    colour: 'cyan',
  },
  update_failed: { say: sayFailed, colour: 'red' },
  engine_unreachable: {
    say: (data) => `${textOf(data, 'engine')} cannot be reached: ${textOf(data, 'error', maxWhy)}`,
    colour: 'red',
  },
  engine_reachable: { say: (data) => `${textOf(data, 'engine')} can be reached again`, colour: 'green' },
  notes_read: { say: () => 'Release notes were read', colour: 'plain' },
  results_changed: { say: () => 'The states of containers have changed', colour: 'plain' },
  compose_file: {
    say: (data) => `${containerOf(data)}: ${textOf(objectOf(data['compose']) ?? {}, 'note', maxWhy)}`,
    colour: 'plain',
  },
  image_cleanup: {
    say: ({ images }) => `Old images removed: ${Array.isArray(images) ? images.length : 0}`,
    colour: 'plain',
  },
};

/** An event of a newer service, unknown to this version. */
const other: Telling = {
  say: (data, type) => `${type} ${printable(JSON.stringify(data), maxWhy)}`,
  colour: 'plain',
};

const maxWhy = 2000;

function containerOf(data: JsonObject): string {
  const engine = textOf(data, 'engine', 100);
  return shownName({ name: textOf(data, 'container'), engine: engine === '' ? undefined : engine });
}

function sayStarted(data: JsonObject): string {
  const [former, next] = [textOf(data, 'from_image'), textOf(data, 'to_image')];
  const begin = `${containerOf(data)}: ${startWord(data['rollback'] === true)}`;
  if (former !== '' && next !== '') return `${begin} ${former} to ${next}`;
  const to = textOf(data, 'to');
  return `${begin} ${textOf(data, 'image')}${to === '' ? '' : ` to ${shortDigest(to)}`}`;
}

function sayFailed(data: JsonObject): string {
  const outcome = sayResult({ outcome: data['rolled_back'] === true ? 'rolled_back' : 'failed' });
  return `${containerOf(data)}: ${outcome.text}${downOf(data)}: ${textOf(data, 'error', maxWhy)}`;
}

function downOf(data: JsonObject): string {
  const ms = (name: string) => (typeof data[name] === 'number' ? { ms: data[name] } : undefined);
  const [downtime, stopping] = [ms('downtime_ms'), ms('stopping_ms')];
  const down = formatDowntime({
    ...(downtime && { downtimeMs: downtime.ms }),
    ...(stopping && { stoppingMs: stopping.ms }),
  });
  return down === '' ? '' : ` (${down})`;
}
