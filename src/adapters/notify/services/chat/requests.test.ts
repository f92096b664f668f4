import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify/notify-cases.ts';
import { aMessage, startRig } from '../../../../../test/support/notify/notify-rig.ts';

const ok = () => ({ body: '{"ok":true}' });
const [title, text] = ['Updates on h1', 'web was updated'];

describe('Discord gets', () => {
  const url = 'https://discord.com/api/webhooks/123456/tkn-A1_b';
  const box = { description: text, color: 0x50d9ff };
  // Without it, words such as @everyone or <@&1> in the text would notify people.
  const nobody = { allowed_mentions: { parse: [] } };
  describeRequests(
    [
      {
        name: 'a box for each line, the title on the first',
        url: 'discord://tkn-A1_b@123456',
        message: { text: 'one\n\n two\n' },
        requests: [
          {
            url,
            json: {
              embeds: [
                { title, description: 'one', color: 0x50d9ff },
                { description: ' two', color: 0x50d9ff },
              ],
            },
          },
        ],
      },
      {
        name: 'boxes in the colours of their levels, where these are known',
        url: 'discord://tkn-A1_b@123456?colorInfo=00ff00',
        message: {
          title: '',
          lines: [
            { level: 'info', text: 'one', atMs: 0 },
            { level: 'warn', text: 'two', atMs: 0 },
            { level: 'error', text: 'three', atMs: 0 },
            { level: 'debug', text: 'four', atMs: 0 },
          ],
        },
        requests: [
          {
            url,
            json: {
              embeds: [
                { description: 'one', color: 0x00ff00 },
                { description: 'two', color: 0xffc441 },
                { description: 'three', color: 0xd60510 },
                { description: 'four', color: 0x7b00ab },
              ],
            },
          },
        ],
      },
      {
        name: 'ten boxes in a request, each beginning with the title',
        url: 'discord://tkn-A1_b@123456',
        message: { text: Array.from({ length: 12 }, (_, line) => `line ${line}`).join('\n') },
        requests: [
          {
            url,
            json: {
              embeds: Array.from({ length: 10 }, (_, line) => ({
                ...(line === 0 && { title }),
                description: `line ${line}`,
                color: 0x50d9ff,
              })),
            },
          },
          {
            url,
            json: {
              embeds: [
                { title, description: 'line 10', color: 0x50d9ff },
                { description: 'line 11', color: 0x50d9ff },
              ],
            },
          },
        ],
      },
      {
        name: 'mere content where there is no title and no splitting',
        url: 'discord://tkn-A1_b@123456?SplitLines=No&username=up&avatar=https://p.example.com/a.png&thread_id=77',
        message: { title: '', text: 'one\ntwo' },
        requests: [
          {
            url: `${url}?thread_id=77`,
            json: { content: 'one\ntwo', username: 'up', avatar_url: 'https://p.example.com/a.png', ...nobody },
          },
        ],
      },
      {
        name: 'the mentions of an own template',
        url: 'discord://tkn-A1_b@123456?splitlines=no',
        message: { title: '', text: '@everyone', isFromTemplate: true },
        requests: [{ url, json: { content: '@everyone' } }],
      },
      {
        name: 'one box with the whole text without splitting',
        url: 'discord://tkn-A1_b@123456?splitLines=no&color=0xabc&title=mine',
        message: { title: '', text },
        requests: [{ url, json: { embeds: [{ title: 'mine', description: text, color: 0xabc }] } }],
      },
      {
        name: 'Markdown in one box of the colour of the level',
        url: 'discord://tkn-A1_b@123456',
        message: { markdown: '**web**\nupdated', level: 'error' },
        requests: [{ url, json: { embeds: [{ title, description: '**web**\nupdated', color: 0xd60510 }] } }],
      },
      {
        name: 'the text as the body, where the path is raw',
        url: 'discord://tkn-A1_b@123456/raw',
        message: { text: '{"content":"hi"}' },
        requests: [{ url, json: { content: 'hi' } }],
      },
      {
        name: 'what its own address says',
        url: 'https://discord.com/api/webhooks/123456/tkn-A1_b',
        requests: [{ url, json: { embeds: [{ title, ...box }] } }],
      },
    ],
    () => ({ status: 204 }),
  );
});

describe('Telegram gets', () => {
  const url = 'https://api.telegram.org/bot110:AAH-x_y/sendMessage';
  const usual = { disable_web_page_preview: false, disable_notification: false };
  const target = 'telegram://110:AAH-x_y@telegram';
  describeRequests(
    [
      {
        name: 'HTML with a bold title, to each chat and topic',
        url: `${target}?chats=@chan,-100123:42`,
        message: { text: 'a <b> & "c" \'d\'' },
        requests: [
          {
            url,
            json: {
              chat_id: '@chan',
              text: `<b>${title}</b>\na &lt;b&gt; &amp; &#34;c&#34; &#39;d&#39;`,
              parse_mode: 'HTML',
              ...usual,
            },
          },
          {
            url,
            json: {
              chat_id: '-100123',
              text: `<b>${title}</b>\na &lt;b&gt; &amp; &#34;c&#34; &#39;d&#39;`,
              parse_mode: 'HTML',
              message_thread_id: 42,
              ...usual,
            },
          },
        ],
      },
      {
        name: 'mere text without a title',
        url: `${target}?channels=5&preview=no&notification=0`,
        message: { title: '', text: 'a <b>' },
        requests: [
          {
            url,
            json: { chat_id: '5', text: 'a <b>', disable_web_page_preview: true, disable_notification: true },
          },
        ],
      },
      {
        name: 'the HTML of a template as it is',
        url: `${target}?chats=5&parsemode=HTML`,
        message: { text: '<i>x</i>', isFromTemplate: true },
        requests: [{ url, json: { chat_id: '5', text: `<b>${title}</b>\n<i>x</i>`, parse_mode: 'HTML', ...usual } }],
      },
      {
        name: 'the Markdown of a template without the title',
        url: `${target}?chats=5&parsemode=markdownv2`,
        message: { text: '*x*', isFromTemplate: true },
        requests: [{ url, json: { chat_id: '5', text: '*x*', parse_mode: 'MarkdownV2', ...usual } }],
      },
      ...['HTML', 'Markdown', 'MarkdownV2'].map((mode) => ({
        name: `no markup from a text that is no template, for parsemode=${mode}`,
        url: `${target}?chats=5&parsemode=${mode}`,
        message: { text: '<a href="https://evil.example">[x](https://evil.example)' },
        requests: [
          {
            url,
            json: {
              chat_id: '5',
              text: `<b>${title}</b>\n&lt;a href=&#34;https://evil.example&#34;&gt;[x](https://evil.example)`,
              parse_mode: 'HTML',
              ...usual,
            },
          },
        ],
      })),
      {
        name: 'a long title without half a character',
        url: `${target}?chats=5`,
        message: { title: `${'x'.repeat(254)}🎉🎉`, text: 'y' },
        requests: [
          { url, json: { chat_id: '5', text: `<b>${'x'.repeat(254)}…</b>\ny`, parse_mode: 'HTML', ...usual } },
        ],
      },
    ],
    ok,
  );
  describeRequests(
    [
      {
        name: 'Markdown that it refuses a second time as mere text',
        url: `${target}?chats=5&parsemode=Markdown`,
        message: { text: '*x', isFromTemplate: true },
        requests: [
          { url, json: { chat_id: '5', text: '*x', parse_mode: 'Markdown', ...usual } },
          { url, json: { chat_id: '5', text: '*x', ...usual } },
        ],
      },
    ],
    ({ body }) =>
      body.includes('parse_mode')
        ? {
            status: 400,
            body: '{"ok":false,"error_code":400,"description":"Bad Request: can\'t parse entities: no end at 2"}',
          }
        : ok(),
  );
});

describe('Slack gets', () => {
  const [a, b, c] = ['T0123ABCD', 'B0123ABCD', 'abcdefghijklmnopqrstuvwx'];
  const url = `https://hooks.slack.com/services/${a}/${b}/${c}`;
  describeRequests(
    [
      {
        name: 'an attachment for each line, by a webhook',
        url: `slack://hook:${a}-${b}-${c}@webhook?botname=up&icon=:whale:&color=%23406170&thread_ts=12.5`,
        message: { text: 'one\ntwo\n' },
        requests: [
          {
            url,
            json: {
              text: title,
              username: 'up',
              icon_emoji: ':whale:',
              thread_ts: '12.5',
              attachments: [
                { text: 'one', color: '#406170' },
                { text: 'two', color: '#406170' },
              ],
            },
          },
        ],
      },
      {
        name: 'text that means nothing to Slack: no mention, no link',
        url,
        message: { text: 'web: refused by <!channel> & <https://evil.test|us>' },
        requests: [
          {
            url,
            json: {
              text: title,
              attachments: [{ text: 'web: refused by &lt;!channel&gt; &amp; &lt;https://evil.test|us&gt;' }],
            },
          },
        ],
      },
      {
        name: 'the markup of an own template',
        url,
        message: { text: '<!here> <https://example.com|more>', isFromTemplate: true },
        requests: [{ url, json: { text: title, attachments: [{ text: '<!here> <https://example.com|more>' }] } }],
      },
      {
        name: 'the same for the old form',
        url: `slack://bot@${a}/${b}/${c}?icon=https://p.example.com/i.png`,
        requests: [
          {
            url,
            json: { text: title, username: 'bot', icon_url: 'https://p.example.com/i.png', attachments: [{ text }] },
          },
        ],
      },
      {
        name: 'the same for its own address',
        url,
        requests: [{ url, json: { text: title, attachments: [{ text }] } }],
      },
    ],
    () => ({ body: 'ok' }),
  );
  describeRequests(
    [
      {
        name: 'the channel, and the login of a bot',
        url: `slack://xoxb:123456789012-123456789012-${c}@C001CHANNEL`,
        requests: [
          {
            url: 'https://slack.com/api/chat.postMessage',
            headers: { authorization: `Bearer xoxb-123456789012-123456789012-${c}` },
            json: { text: title, channel: 'C001CHANNEL', attachments: [{ text }] },
          },
        ],
      },
    ],
    ok,
  );
});

describe('Teams gets', () => {
  const workflow = 'https://prod-01.westeurope.logic.azure.com:443/workflows/abc/triggers/manual/paths/invoke?sig=s-1';
  const url = workflow.replace(':443', '');
  const card = (body: readonly object[]) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.2',
          body,
        },
      },
    ],
  });
  const block = (words: string, style = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: words, ...style }],
  });
  const heading = (color: string) => block(title, { weight: 'Bolder', size: 'Medium', color });
  describeRequests(
    [
      {
        name: 'a card with a block for each line',
        url: `teams://?host=${encodeURIComponent(workflow)}&color=good&tenant=x`,
        message: { text: 'one\n\ntwo' },
        requests: [
          {
            url,
            json: card([heading('good'), block('one'), block('two')]),
          },
        ],
      },
      {
        name: 'the same for its own address',
        url: workflow,
        requests: [
          {
            url,
            json: card([heading('default'), block(text)]),
          },
        ],
      },
      {
        name: 'the usual colour for a number',
        url: `teams://?host=${encodeURIComponent(workflow)}&color=%23406170`,
        requests: [
          {
            url,
            json: card([heading('default'), block(text)]),
          },
        ],
      },
    ],
    () => ({ status: 202 }),
  );

  test('a card of at most 28 kB, even if the text has many short lines', async () => {
    const rig = await startRig(() => ({ status: 202 }));
    const lines = Array.from({ length: 1000 }, (_, index) => `- c${index} ("a:1"): Fresh`);
    await rig.send(workflow, aMessage({ text: lines.join('\n') }));
    const { body } = rig.received[0]!;
    expect(Buffer.byteLength(body)).toBeLessThan(28 * 1024);
    const blocks = (JSON.parse(body) as ReturnType<typeof card>).attachments[0]!.content.body as {
      inlines: { text: string }[];
    }[];
    expect(blocks[1]!.inlines[0]!.text).toBe(lines[0]);
    expect(blocks.at(-1)!.inlines[0]!.text).toBe(`… ${1000 - (blocks.length - 2)} more lines`);
  });
});

describe('Matrix gets', () => {
  const api = 'https://matrix.example.com/_matrix/client/v3';
  // Without the key, the words `@room` in the body would notify everyone.
  const said = { msgtype: 'm.text', body: `${title}\n\n${text}`, 'm.mentions': {} };
  const authorization = 'Bearer syt_token';
  const answers = ({ url }: { readonly url: string }) => {
    if (url.endsWith('/login')) return { body: '{"access_token":"syt_token"}' };
    if (url.endsWith('/joined_rooms')) return { body: '{"joined_rooms":["!r1:h"]}' };
    return { body: url.includes('/join/') ? '{"room_id":"!r2:h"}' : '{"event_id":"$1"}' };
  };
  describeRequests(
    [
      {
        name: 'the text in each room, by id and alias, with an access token',
        url: 'matrix://:syt_token@matrix.example.com/?rooms=!r1:h,ops:h',
        requests: [
          {
            method: 'PUT',
            url: `${api}/rooms/!r1%3Ah/send/m.room.message/msg-1-0`,
            headers: { authorization },
            json: said,
          },
          { url: `${api}/join/%23ops%3Ah`, headers: { authorization }, json: {} },
          {
            method: 'PUT',
            url: `${api}/rooms/!r2%3Ah/send/m.room.message/msg-1-0`,
            headers: { authorization },
            json: said,
          },
        ],
      },
      {
        name: 'a login, and the text in every joined room',
        url: 'matrix://me:pass@matrix.example.com?disableTLS=no',
        requests: [
          {
            url: `${api}/login`,
            json: {
              type: 'm.login.password',
              identifier: { type: 'm.id.user', user: 'me' },
              password: 'pass',
              device_id: 'UPKEEP246DC29185',
            },
          },
          { method: 'GET', url: `${api}/joined_rooms`, headers: { authorization, 'content-type': 'application/json' } },
          {
            method: 'PUT',
            url: `${api}/rooms/!r1%3Ah/send/m.room.message/msg-1-0`,
            headers: { authorization },
            json: said,
          },
        ],
      },
    ],
    answers,
  );
});

describe('Mattermost gets', () => {
  describeRequests(
    [
      {
        name: 'the text with its title, by name and channel',
        url: 'mattermost://up@chat.example.com:8065/tok123/town?icon=:whale:',
        requests: [
          {
            url: 'https://chat.example.com:8065/hooks/tok123',
            json: { text: `${title}\n${text}`, username: 'up', channel: 'town', icon_emoji: ':whale:' },
          },
        ],
      },
      {
        name: 'Markdown, below a path, over http',
        url: 'mattermost://chat.example.com/sub/hooks/tok123?disabletls=yes&icon_url=https://p.example.com/i.png',
        message: { title: '', markdown: '**web**' },
        requests: [
          {
            url: 'http://chat.example.com/sub/hooks/tok123',
            json: { text: '**web**', icon_url: 'https://p.example.com/i.png' },
          },
        ],
      },
    ],
    () => ({ body: 'ok' }),
  );
});

describe('Rocket.Chat gets', () => {
  describeRequests(
    [
      {
        name: 'the text in a channel',
        url: 'rocketchat://up@chat.example.com/tokA/tokB/ops',
        requests: [
          {
            url: 'https://chat.example.com/hooks/tokA/tokB',
            json: { text: `${title}\n${text}`, username: 'up', channel: '#ops' },
          },
        ],
      },
      {
        name: 'the text for a user',
        url: 'rocketchat://chat.example.com:3000/tokA/tokB/@jo',
        requests: [
          { url: 'https://chat.example.com:3000/hooks/tokA/tokB', json: { text: `${title}\n${text}`, channel: '@jo' } },
        ],
      },
    ],
    () => ({ body: '{"success":true}' }),
  );
});

describe('Google Chat gets', () => {
  const url = 'https://chat.googleapis.com/v1/spaces/S1/messages?key=k-1&token=t-2';
  describeRequests(
    ['googlechat', 'hangouts', 'https'].map((scheme) => ({
      name: `the text below its title, for ${scheme}://`,
      url: url.replace('https', scheme),
      requests: [{ url, json: { text: `*${title}*\n${text}` } }],
    })),
    () => ({ body: '{"name":"spaces/S1/messages/1"}' }),
  );
});

describe('Signal gets', () => {
  describeRequests(
    [
      {
        name: 'the text for numbers and groups, whose kinds the server does not mix',
        url: 'signal://signal.example.com/+491511/+491518/group.ab%2Bc/d=?disabletls=yes',
        requests: [
          {
            url: 'http://signal.example.com:8080/v2/send',
            json: {
              message: `${title}\n${text}`,
              number: '+491511',
              recipients: ['+491518'],
              text_mode: 'normal',
            },
          },
          {
            url: 'http://signal.example.com:8080/v2/send',
            json: {
              message: `${title}\n${text}`,
              number: '+491511',
              recipients: ['group.ab+c/d='],
              text_mode: 'normal',
            },
          },
        ],
      },
      {
        name: 'a login',
        url: 'signal://me:pass@signal.example.com:8443/+491511/+491518',
        requests: [
          {
            url: 'https://signal.example.com:8443/v2/send',
            headers: { authorization: `Basic ${btoa('me:pass')}` },
            json: { message: `${title}\n${text}`, number: '+491511', recipients: ['+491518'], text_mode: 'normal' },
          },
        ],
      },
      {
        name: 'what the query says',
        url: 'signal://signal.example.com?apikey=tok-77&source=%2B491511&to=%2B491518,%2B491519',
        message: { title: '' },
        requests: [
          {
            url: 'https://signal.example.com:8080/v2/send',
            headers: { authorization: 'Bearer tok-77' },
            json: { message: text, number: '+491511', recipients: ['+491518', '+491519'], text_mode: 'normal' },
          },
        ],
      },
    ],
    () => ({ status: 201, body: '{"timestamp":"1"}' }),
  );
});

describe('Lark gets', () => {
  const url = 'https://open.larksuite.com/open-apis/bot/v2/hook/tok-1';
  describeRequests(
    [
      {
        name: 'mere text without a title',
        url: 'lark://open.larksuite.com/tok-1',
        message: { title: '' },
        requests: [{ url, json: { msg_type: 'text', content: { text } } }],
      },
      {
        name: 'a post with a title and a signature',
        url: 'lark://open.feishu.cn/tok-1?secret=s3cret-9',
        requests: [
          {
            url: url.replace('open.larksuite.com', 'open.feishu.cn'),
            json: {
              timestamp: '1795330813',
              sign: createHmac('sha256', '1795330813\ns3cret-9').digest('base64'),
              msg_type: 'post',
              content: { post: { en_us: { title, content: [[{ tag: 'text', text }]] } } },
            },
          },
        ],
      },
    ],
    () => ({ body: '{"code":0,"msg":"success"}' }),
  );
});

describe('WeCom gets', () => {
  describeRequests(
    [
      {
        name: 'the text, and who is meant',
        url: 'wecom://key-1?mentioned_list=jo,@all&mentioned_mobile_list=138,139',
        requests: [
          {
            url: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=key-1',
            json: {
              msgtype: 'text',
              text: {
                content: `${title}\n${text}`,
                mentioned_list: ['jo', '@all'],
                mentioned_mobile_list: ['138', '139'],
              },
            },
          },
        ],
      },
    ],
    () => ({ body: '{"errcode":0,"errmsg":"ok"}' }),
  );
});

describe('Zulip gets', () => {
  const url = 'https://zulip.example.com/api/v1/messages';
  const headers = { authorization: `Basic ${btoa('bot@example.com:key77')}` };
  const target = 'zulip://bot%40example.com:key77@zulip.example.com';
  const limits = {
    url: 'https://zulip.example.com/api/v1/register',
    headers,
    form: { event_types: '["realm"]', fetch_event_types: '["realm"]' },
  };
  describeRequests(
    [
      {
        name: 'the title as the topic',
        url: `${target}?stream=ops`,
        requests: [limits, { url, headers, form: { type: 'channel', to: 'ops', topic: title, content: text } }],
      },
      {
        name: 'the host as the topic, so that not every outcome begins one',
        url: `${target}?stream=ops`,
        message: { title: 'nas: web was updated', origin: 'nas' },
        requests: [
          limits,
          {
            url,
            headers,
            form: { type: 'channel', to: 'ops', topic: 'nas', content: `nas: web was updated\n${text}` },
          },
        ],
      },
      {
        name: 'the title above the text, where there is a topic',
        url: `${target}?stream=ops&topic=t&read_by_sender=yes`,
        requests: [
          limits,
          {
            url,
            headers,
            form: { type: 'channel', to: 'ops', topic: 't', content: `${title}\n${text}`, read_by_sender: 'true' },
          },
        ],
      },
      {
        name: 'words that notify nobody',
        url: `${target}?stream=ops`,
        message: { text: 'web: @**all**' },
        requests: [
          limits,
          {
            url,
            headers,
            form: { type: 'channel', to: 'ops', topic: title, content: 'web: &#64;&#42;&#42;all&#42;&#42;' },
          },
        ],
      },
      {
        name: 'people',
        url: `${target}?type=direct&to=7,jo@example.com`,
        requests: [
          limits,
          { url, headers, form: { type: 'direct', to: '[7,"jo@example.com"]', content: `${title}\n${text}` } },
        ],
      },
    ],
    () => ({ body: '{"result":"success"}' }),
  );

  test('asks the server for its limits once, and keeps to them', async () => {
    const told = { result: 'success', max_message_length: 40, max_topic_length: 20 };
    const rig = await startRig(({ url: asked }) => ({
      body: JSON.stringify(asked === limits.url ? told : { result: 'success' }),
    }));
    const open = rig.target(`${target}?stream=ops`);
    for (let sent = 0; sent < 2; sent += 1)
      await open.send(aMessage({ title: 'T'.repeat(30), text: 'x'.repeat(100) }), new AbortController().signal);
    expect(rig.received.filter(({ url: asked }) => asked === limits.url)).toHaveLength(1);
    const forms = rig.received.slice(1).map(({ body }) => new URLSearchParams(body));
    expect(forms.map((form) => form.get('content')?.length)).toEqual([40, 40, 20, 40, 40, 20]);
    for (const form of forms) expect(form.get('topic')).toBe(`${'T'.repeat(19)}…`);
  });
});

test.each([
  ['mattermost://chat.example.com/abcdefghijklmnopqrstuvwxyz', ['text']],
  ['rocketchat://chat.example.com/tokenA/tokenB', ['text']],
  ['googlechat://chat.googleapis.com/v1/spaces/S/messages?key=k1234&token=t1234', ['text']],
  ['lark://open.feishu.cn/token', ['content', 'text']],
  ['telegram://123:abc@telegram?chats=1', ['text']],
])('%s: only an own template can notify people', async (url, path) => {
  const naming =
    'web: @everyone, @ALL, _@here_, @jo; <!channel>, <@U12>; <users/all>; <at user_id="all">a</at>; @**all**, https://a.test/@here ';
  const harmless = 'ops@example.com, app:1@sha256:00, https://example.com:80/a/@jo?b=@c, a < b & c > d @ 5';
  const words = naming + harmless;
  const sent = async (message: Parameters<typeof aMessage>[0]) => {
    const rig = await startRig(() => ({ body: '{"code":0,"ok":true}' }));
    await rig.send(url, { title: '', ...message });
    return path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), JSON.parse(rig.received[0]!.body));
  };
  expect(await sent({ text: words, isFromTemplate: true })).toBe(words);
  const shown = String(await sent({ text: words }));
  const plain = shown.replaceAll('\u200b', '').replaceAll(/\\([_*!>])/g, '$1');
  expect(plain.replaceAll('∗', '*').replaceAll('ˍ', '_')).toBe(words);
  expect(shown.endsWith(harmless.replace(' > ', url.startsWith('mattermost') ? String.raw` \> ` : ' > '))).toBe(true);
  expect(shown.slice(0, shown.lastIndexOf('ops@'))).not.toMatch(/@[^\u200b]|<(?:[!@]|users|at )/);
});
