import { describe, expect, test } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify/notify-cases.ts';
import { readTarget } from '../../targets.ts';

const [title, text] = ['Updates on h1', 'web was updated'];
const accepted = () => ({ status: 202, body: '{"result":"Request will be processed"}' });

describe('Opsgenie gets', () => {
  const headers = { authorization: 'GenieKey key-1' };
  describeRequests(
    [
      {
        // Without an alias of the user's, a message that is sent again is the same alert.
        name: 'an alert',
        url: 'opsgenie://api.opsgenie.com/key-1',
        requests: [
          {
            url: 'https://api.opsgenie.com/v2/alerts',
            headers,
            json: { message: title, description: text, alias: 'msg-1' },
          },
        ],
      },
      {
        name: 'an alert with all that the query says, in Europe',
        url:
          'opsgenie://api.eu.opsgenie.com/key-1?alias=a&description=d&responders=team:ops,user:me@example.com,team:4513b7ea-3b91-438f-b7e4-e3e54af9147c' +
          '&visibleTo=user:me@example.com&actions=restart&tags=x,y&details=k:v,l:w:z&entity=e&source=s&priority=p1&note=n&user=u',
        message: { title: '', text: `${'x'.repeat(200)}\nmore` },
        requests: [
          {
            url: 'https://api.eu.opsgenie.com/v2/alerts',
            headers,
            json: {
              message: `${'x'.repeat(129)}…`,
              description: `${'x'.repeat(200)}\nmore\n\nd`,
              alias: 'a',
              responders: [
                { type: 'team', name: 'ops' },
                { type: 'user', username: 'me@example.com' },
                { type: 'team', id: '4513b7ea-3b91-438f-b7e4-e3e54af9147c' },
              ],
              visibleTo: [{ type: 'user', username: 'me@example.com' }],
              actions: ['restart'],
              tags: ['x', 'y'],
              details: { k: 'v', l: 'w:z' },
              entity: 'e',
              source: 's',
              priority: 'P1',
              note: 'n',
              user: 'u',
            },
          },
        ],
      },
    ],
    accepted,
  );
});

describe('PagerDuty gets', () => {
  const key = '7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3';
  const url = 'https://events.pagerduty.com/v2/enqueue';
  // Without a key of the user's, a message that is sent again is the same alert.
  const usual = { routing_key: key, event_action: 'trigger', dedup_key: 'msg-1' };
  const payload = { summary: `${title} ${text}`, severity: 'info', source: 'default', custom_details: { text } };
  describeRequests(
    [
      ...[`pagerduty://${key}`, `pagerduty:///${key}`, `pagerduty://events.pagerduty.com/${key}`].map((written) => ({
        name: `an event by ${written}`,
        url: written,
        requests: [{ url, json: { ...usual, payload } }],
      })),
      {
        name: 'an event with all that the query says',
        url:
          `pagerduty://pd.example.com:8443/${key}?severity=Warning&source=h1&action=resolve&dedup_key=d&details=%7B%22a%22%3A1%7D` +
          '&contexts=link:https://l.example.com,image:https://i.example.com&client=c&client_url=https://c.example.com',
        message: { title: '' },
        requests: [
          {
            url: 'https://pd.example.com:8443/v2/enqueue',
            json: {
              routing_key: key,
              event_action: 'resolve',
              payload: { summary: text, severity: 'warning', source: 'h1', custom_details: { a: 1 } },
              dedup_key: 'd',
              links: [{ href: 'https://l.example.com' }],
              images: [{ src: 'https://i.example.com' }],
              client: 'c',
              client_url: 'https://c.example.com',
            },
          },
        ],
      },
      {
        name: 'the links and images of a list in JSON, and the whole of a long text beside the details',
        url: `pagerduty://${key}?details=%7B%22a%22%3A1%7D&contexts=${encodeURIComponent(
          '[{"type":"link","href":"https://l.example.com","text":"more"},{"type":"image","src":"https://i.example.com","alt":"i"}]',
        )}`,
        requests: [
          {
            url,
            json: {
              ...usual,
              payload: { ...payload, custom_details: { text, a: 1 } },
              links: [{ href: 'https://l.example.com', text: 'more' }],
              images: [{ src: 'https://i.example.com', alt: 'i' }],
            },
          },
        ],
      },
      {
        // The service refuses it, because the message has no alert of its own to end.
        name: 'no key of its own with another action',
        url: `pagerduty://${key}?action=resolve`,
        message: { title: '', text },
        requests: [
          {
            url,
            json: {
              routing_key: key,
              event_action: 'resolve',
              payload: { summary: text, severity: 'info', source: 'default' },
            },
          },
        ],
      },
    ],
    accepted,
  );

  test.each(['[{"href":"https://l.example.com"}]', '[[]]', '[1]', 'https://l.example.com'])(
    'no contexts that are neither links nor images: %s',
    (contexts) => {
      expect(readTarget(`pagerduty://${key}?contexts=${encodeURIComponent(contexts)}`)).toMatchObject({
        kind: 'usable',
        read: { faults: [expect.stringContaining('"contexts" is no list')] },
      });
    },
  );
});
