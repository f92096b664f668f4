import { choice, defaultTitle, define, jsonObject, list, text, type Parameter } from '../service/parameters.ts';
import { jsonPost, orNone, cutLine, cutText } from '../service/requests.ts';
import { required, serverOf, authorityOf, requiredMatch } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { writtenFor, titledText } from '../service/markup.ts';
import { isJsonObject, parseJson } from '../../../domain/text/json.ts';

const opsgenieParameters = {
  alias: text('alerts with the same alias are one'),
  description: text('added below the text'),
  responders: list('`team:name`, `user:mail`, or with an id'),
  visibleto: list('as `responders`'),
  actions: list('names of actions'),
  tags: list('tags'),
  details: list('`key:value` pairs'),
  entity: text('the subject of the alert'),
  source: text('origin of the alert'),
  priority: choice('by default P2 for a failure, P5 if nothing has changed', ['P1', 'P2', 'P3', 'P4', 'P5'], undefined),
  note: text('added to the alert'),
  user: text('user that creates the alert'),
  title: defaultTitle,
};

/** https://docs.opsgenie.com/docs/alert-api#create-alert */
export const opsgenie = defineService({
  schemes: ['opsgenie'],
  title: 'Opsgenie',
  form: 'opsgenie://api.opsgenie.com/API_KEY',
  about: 'In Europe the host is `api.eu.opsgenie.com`.',
  example: 'opsgenie://api.opsgenie.com/eb243592-faa2-4ba2-a551q-1afdf565c889?priority=P3&tags=docker,upkeep',
  parameters: opsgenieParameters,
  readAddress: (parts) => ({ server: serverOf(parts, '443'), key: required(parts.segments[0], 'the API key') }),
  secrets: ({ address }) => [address.key],
  open({ address: { server, key }, values }) {
    return {
      requests(message) {
        const { title, text: words } = writtenFor('opsgenie', message, values.title);
        const body = {
          message: cutLine(title === '' ? words : title, titleLimit),
          // The description of the URL stands beside the text, which is the news.
          description: cutText([words, values.description].filter((part) => part !== '').join('\n\n'), textLimit),
          // The service takes an alert that is sent again for the same one.
          alias: values.alias === '' ? message.id : values.alias,
          responders: orNone(values.responders.map(responder)),
          visibleTo: orNone(values.visibleto.map(responder)),
          actions: orNone(values.actions),
          tags: orNone(values.tags),
          details: values.details.length === 0 ? undefined : Object.fromEntries(values.details.map(pair)),
          entity: orNone(values.entity),
          source: orNone(values.source),
          priority: values.priority ?? { high: 'P2', low: 'P5', usual: undefined }[message.urgency ?? 'usual'],
          note: orNone(values.note),
          user: orNone(values.user),
        };
        return [jsonPost(`https://${server}/v2/alerts`, body, { authorization: `GenieKey ${key}` })];
      },
    };
  },
});

/** https://docs.opsgenie.com/docs/alert-api#create-alert */
const titleLimit = { max: 130, unit: 'characters' } as const;
const textLimit = { max: 15_000, unit: 'characters' } as const;

function responder(written: string): object {
  const [type, value] = pair(written);
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(value)) return { type, id: value };
  return type === 'user' ? { type, username: value } : { type, name: value };
}

function pair(written: string): readonly [key: string, value: string] {
  const at = written.indexOf(':');
  return at < 0 ? [written, ''] : [written.slice(0, at), written.slice(at + 1)];
}

const pagerdutyParameters = {
  severity: choice('by default error for a failure, else info', ['critical', 'error', 'warning', 'info'], undefined),
  source: text('origin of the event', { fallback: 'default' }),
  action: choice('of the event', ['trigger', 'acknowledge', 'resolve'], 'trigger'),
  dedup_key: text('events with the same key are one alert'),
  details: jsonObject('of the event'),
  contexts: contexts('`link:URL,image:URL`, or a list in JSON'),
  client: text('name of the monitoring client'),
  client_url: text('address of the monitoring client'),
};

/** https://developer.pagerduty.com/docs/events-api-v2/trigger-events/ */
export const pagerduty = defineService({
  schemes: ['pagerduty'],
  title: 'PagerDuty',
  form: 'pagerduty://[HOST[:PORT]/]INTEGRATION_KEY',
  about: 'The key belongs to an "Events API V2" integration and has 32 hex digits.',
  example: 'pagerduty://events.pagerduty.com/7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3?severity=warning',
  parameters: pagerdutyParameters,
  readAddress(parts) {
    const isAlone = parts.segments.length === 0;
    const server = authorityOf({ host: isAlone || parts.host === '' ? usualHost : parts.host, port: parts.port });
    const key = requiredMatch(isAlone ? parts.host : parts.segments[0], /^[0-9a-f]{32}$/i, 'the integration key');
    return { server, key };
  },
  secrets: ({ address }) => [address.key],
  open: ({ address: { server, key }, values }) => ({
    requests(message) {
      const whole = titledText(message);
      const summary = cutLine(whole, summaryLimit);
      // The rest of a text that is too long for the summary.
      const text = summary === whole ? undefined : { text: cutText(message.text, detailsLimit) };
      const details = text === undefined ? values.details : { ...text, ...values.details };
      const body = {
        routing_key: key,
        event_action: values.action,
        payload: {
          summary,
          severity: values.severity ?? (message.urgency === 'high' ? 'error' : 'info'),
          source: values.source,
          custom_details: details,
        },
        // The service takes an event that is sent again for the same alert. Other actions need the key of an alert.
        dedup_key: orNone(values.dedup_key === '' && values.action === 'trigger' ? message.id : values.dedup_key),
        ...readContexts(values.contexts),
        client: orNone(values.client),
        client_url: orNone(values.client_url),
      };
      return [jsonPost(`https://${server}/v2/enqueue`, body)];
    },
  }),
});

const usualHost = 'events.pagerduty.com';
const summaryLimit = { max: 1024, unit: 'characters' } as const;
/** An event may have 512 kB. */
const detailsLimit = { max: 100_000, unit: 'bytes' } as const;

function contexts(about: string): Parameter<string> {
  const read = (given: string): string => {
    readContexts(given);
    return given;
  };
  return define({ kind: 'list', about, fallback: '', print: (value) => value, read });
}

/** Undefined fields are omitted. */
type Contexts = { readonly links: readonly object[] | undefined; readonly images: readonly object[] | undefined };

/** Shoutrrr has one list of both kinds, as in the first version of the API. */
function readContexts(written: string): Contexts {
  const all = written.trimStart().startsWith('[') ? parsedList(written) : shortList(written);
  const of = (kind: string) => orNone(all.flatMap(({ type, ...context }) => (type === kind ? [context] : [])));
  return { links: of('link'), images: of('image') };
}

type Context = { readonly type: 'link' | 'image' };

function shortList(written: string): readonly Context[] {
  if (written === '') return [];
  const parts = written.split(/,(?=\s*(?:link|image|text):)/).map((each) => each.trim().replace(/,+$/, ''));
  // Events have no texts beside their links and images.
  return parts
    .filter((each) => each !== '' && !each.startsWith('text:'))
    .map((each) => {
      const [, kind, address] = /^(link|image):(\S+)$/.exec(each) ?? [];
      if (kind === undefined) throw new Error('is no list of link:URL and image:URL');
      return kind === 'link' ? { type: kind, href: address } : { type: 'image', src: address };
    });
}

function parsedList(written: string): readonly Context[] {
  const value = parseJson(written);
  if (Array.isArray(value) && value.every(isContext)) return value;
  throw new Error('is no list of links and images in JSON');
}

function isContext(value: unknown): value is Context {
  return isJsonObject(value) && (value['type'] === 'link' || value['type'] === 'image');
}
