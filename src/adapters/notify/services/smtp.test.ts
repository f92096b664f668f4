import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../../domain/notification/message.ts';
import { startRig } from '../../../../test/support/notify/notify-rig.ts';

/** Accepts every mail; the last one is in `mails`. */
async function startSink(): Promise<{ readonly port: number; readonly mails: string[] }> {
  const mails: string[] = [];
  const server = createServer((socket) => {
    let [text, isMail] = ['', false];
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk.toString();
      for (;;) {
        const end = text.indexOf(isMail ? '\r\n.\r\n' : '\r\n');
        if (end === -1) return;
        const part = text.slice(0, end);
        text = text.slice(end + (isMail ? 5 : 2));
        if (isMail) mails.push(part);
        isMail = !isMail && part === 'DATA';
        socket.write(isMail ? '354 go on\r\n' : '250 ok\r\n');
      }
    });
    socket.write('220 sink\r\n');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, mails };
}

/** The body without the line ends of quoted-printable. */
function unfolded(mail = ''): string {
  const isQuoted = /quoted-printable/i.test(mail);
  const bytes = isQuoted
    ? mail
        .replaceAll('=\r\n', '')
        .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : mail;
  return Buffer.from(bytes, 'latin1').toString();
}

test.each<readonly [string, Partial<Message>, string]>([
  [
    'foreign text in our words is no markup',
    { text: 'x: <img src="a"> & more' },
    '<p><b>x: &lt;img src=&#34;a&#34;&gt; &amp; more</b></p>',
  ],
  ['the HTML of an own template stays as it is', { text: '<b>web</b>', isFromTemplate: true }, '<pre><b>web</b></pre>'],
  [
    'an address is a link to itself',
    { text: 'one\nsee https://e.example/a?b=1&c=2, or <https://e.example>' },
    'see <a href="https://e.example/a?b=1&amp;c=2,">https://e.example/a?b=1&amp;c=2,</a> or &lt;<a href="https://e.example">https://e.example</a>&gt;',
  ],
])('in a mail with HTML, %s', async (_, message, html) => {
  const { port, mails } = await startSink();
  const rig = await startRig(() => 'drop');
  const url = `smtp://127.0.0.1:${port}/?from=upkeep@example.com&to=ops@example.com&usehtml=yes`;
  expect(await rig.send(url, message)).toMatchObject({ kind: 'sent' });
  expect(mails).toHaveLength(1);
  expect(unfolded(mails[0])).toContain(html);
});

test('a mail with HTML has the outcome in bold, a table with a row for each container, links, and the text beside it', async () => {
  const { port, mails } = await startSink();
  const rig = await startRig(() => 'drop');
  const url = `smtp://127.0.0.1:${port}/?from=upkeep@example.com&to=ops@example.com&usehtml=yes`;
  const markdown = `1 updated, 1 failed

**Updated**

- **web** (nginx:1.27): 1.27.2 → 1.27.3
  - [Release notes](https://github.com/acme/web/releases)
  - To go back: \`upkeep rollback web\`
- **my\\_db** (pg): \\<img src=x\\>

**Needs you**

- no name`;
  await rig.send(url, { text: 'the plain text', markdown, urgency: 'high' });
  const mail = unfolded(mails[0]);
  const border = 'style="border:1px solid #ccc;vertical-align:top"';
  expect(mail).toContain('the plain text');
  expect(mail).toContain('<p><b>1 updated, 1 failed</b></p>');
  expect(mail.replaceAll('\r\n', '\n')).toContain(
    `<p><b>Updated</b></p>
<table cellpadding="6" style="border-collapse:collapse">
<tr><td ${border}><b>web</b></td><td ${border}>(nginx:1.27): 1.27.2 → 1.27.3<br>
<a href="https://github.com/acme/web/releases">Release notes</a><br>
To go back: <code>upkeep rollback web</code></td></tr>
<tr><td ${border}><b>my_db</b></td><td ${border}>(pg): &lt;img src=x&gt;</td></tr>
</table>
<p><b>Needs you</b></p>
<table cellpadding="6" style="border-collapse:collapse">
<tr><td colspan="2" ${border}>no name</td></tr>
</table>`,
  );
  expect(mail).toMatch(/^X-Priority: 1/m);
});
