// Asks a server for as long as it is told, on 32 connections, each again as soon as it is answered; prints the
// number of replies. A process of its own, so that it shares no thread with what it measures: `http-load.mjs PORT MS`.
import { connect } from 'node:net';

const [, , port, ms] = process.argv;
const request = 'GET /v1/containers HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer api-token\r\n\r\n';
const endMs = performance.now() + Number(ms);
let answered = 0;
await Promise.all(Array.from({ length: 32 }, ask));
console.log(answered);

function ask() {
  const socket = connect(Number(port), '127.0.0.1');
  let missing = 0;
  let head = '';
  socket.on('data', (chunk) => {
    if (missing === 0) {
      head += chunk.latin1Slice(0, Math.min(chunk.length, 2000));
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      missing = Number(/content-length: (\d+)/i.exec(head)?.[1]) - (chunk.length - (end + 4));
      head = '';
    } else missing -= chunk.length;
    if (missing > 0) return;
    missing = 0;
    answered += 1;
    if (performance.now() < endMs) socket.write(request);
    else socket.destroy();
  });
  socket.write(request);
  return new Promise((resolve) => socket.on('close', resolve));
}
