// A registry that answers every HEAD after a fixed time. It is its own process, so that it does not share a thread with
// the measured code. It prints its port, then the number of HEADs for each line that it reads.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const latencyMs = Number(process.argv[2]);
const digest = process.argv[3];
let heads = 0;
const server = createServer((request, response) => {
  if (request.method === 'HEAD') heads += 1;
  setTimeout(() => {
    response.writeHead(200, {
      'content-type': 'application/vnd.oci.image.index.v1+json',
      'docker-content-digest': digest,
      'content-length': '0',
    });
    response.end();
  }, latencyMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
createInterface({ input: process.stdin }).on('line', () => {
  console.log(heads);
  heads = 0;
});
