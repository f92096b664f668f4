import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createProber } from '../../src/adapters/probe/prober.ts';
import { proberContract } from './prober.ts';

proberContract('The one for sockets', async () => {
  const address = '127.0.0.1';
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const listen = async (server: Server): Promise<number> => {
    server.on('connection', (socket: Socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };
  const answering = (status: number) =>
    listen(
      createServer((request, response) => {
        const isAsked = request.method === 'GET' && request.url === '/healthz?deep=1';
        // A body without end: a client that reads all of it never returns.
        response.writeHead(isAsked ? status : 400, { location: '/elsewhere' }).write('more');
      }),
    );
  const gone = createTcpServer();
  const closed = await listen(gone);
  await new Promise((resolve) => gone.close(resolve));
  const ports = {
    ok: await answering(200),
    redirecting: await answering(302),
    failing: await answering(503),
    silent: await listen(createTcpServer()),
    closed,
  };
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
  };
  return { prober: createProber(), address, ports, nowhere: '127.1.2.3', close };
});
