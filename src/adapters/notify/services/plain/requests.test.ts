import { describe, expect, test } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify/notify-cases.ts';
import { startRig } from '../../../../../test/support/notify/notify-rig.ts';

const [title, text] = ['Updates on h1', 'web was updated'];

describe('a webhook of your own gets', () => {
  const url = 'https://hooks.example.com/api/upkeep';
  describeRequests(
    [
      {
        name: 'the text as it is, and the keys that are none of ours',
        url: 'generic://hooks.example.com/api/upkeep?room=7&status=up&__title=x',
        requests: [{ url: `${url}?room=7&status=up&title=x`, headers: { 'content-type': 'text/plain' }, text }],
      },
      {
        name: 'an object with its own field names, fields and headers',
        url: 'generic+https://hooks.example.com/api/upkeep?template=json&messagekey=msg&titlekey=subject&$node=vm1&@acceptLanguage=de&@X-API-Key=k-1',
        requests: [
          {
            url,
            headers: { accept: 'application/json', 'accept-language': 'de', 'x-api-key': 'k-1' },
            json: { msg: text, node: 'vm1', subject: title },
          },
        ],
      },
      {
        name: 'another method, type and scheme, without a title',
        url: 'generic+http://hooks.example.com:8080/api/?template=JSON&contenttype=application/x-upkeep&method=put',
        message: { title: '' },
        requests: [
          {
            method: 'PUT',
            url: 'http://hooks.example.com:8080/api/',
            headers: { 'content-type': 'application/x-upkeep', accept: 'application/x-upkeep' },
            text: JSON.stringify({ message: text }),
          },
        ],
      },
      {
        name: 'the text in the query too with GET, whose body many servers do not read',
        url: 'generic://hooks.example.com/api/upkeep?method=get&room=7',
        requests: [
          {
            method: 'GET',
            url: `${url}?room=7&title=Updates+on+h1&message=web+was+updated`,
            headers: { 'content-type': 'text/plain' },
            text,
          },
        ],
      },
      {
        name: 'an object and the same fields in the query with GET, but for those that the URL has',
        url: 'generic://hooks.example.com/api/upkeep?method=GET&template=json&messagekey=msg&$node=vm1&__title=mine',
        requests: [
          {
            method: 'GET',
            url: `${url}?title=mine&node=vm1&msg=web+was+updated`,
            headers: { accept: 'application/json' },
            json: { msg: text, node: 'vm1', title },
          },
        ],
      },
      {
        name: 'the text at a plain address, with its login',
        url: 'https://me:pass@hooks.example.com/api/upkeep',
        requests: [{ url, headers: { 'content-type': 'text/plain', authorization: `Basic ${btoa('me:pass')}` }, text }],
      },
      {
        name: 'the text at a plain http address',
        url: 'http://hooks.example.com/a%2Fb',
        requests: [{ url: 'http://hooks.example.com/a%2Fb', headers: { 'content-type': 'text/plain' }, text }],
      },
    ],
    () => ({ status: 200 }),
  );
});

test('the log gets the text', async () => {
  const rig = await startRig(() => 'drop');
  expect(await rig.send('logger://')).toEqual({ kind: 'sent', answer: 'written' });
  expect(rig.logged).toEqual([text]);
});
