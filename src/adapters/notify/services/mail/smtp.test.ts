import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../../../domain/notification/message.ts';
import { startRig } from '../../../../../test/support/notify/notify-rig.ts';

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

test.each<readonly [string, Partial<Message>, string]>([
  [
    'foreign text in our words is no markup',
    { text: 'x: <img src="a"> & more' },
    'x: &lt;img src=&#34;a&#34;&gt; &amp; more',
  ],
  ['the HTML of an own template stays as it is', { text: '<b>web</b>', isFromTemplate: true }, '<b>web</b>'],
])('in a mail with HTML, %s', async (_, message, html) => {
  const { port, mails } = await startSink();
  const rig = await startRig(() => 'drop');
  const url = `smtp://127.0.0.1:${port}/?from=upkeep@example.com&to=ops@example.com&usehtml=yes`;
  expect(await rig.send(url, message)).toMatchObject({ kind: 'sent' });
  expect(mails).toHaveLength(1);
  expect(mails[0]).toContain(`<pre>${html}</pre>`);
});
