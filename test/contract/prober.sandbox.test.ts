import { createSandboxScene } from '../support/scene/sandbox-outside.ts';
import { proberContract } from './prober.ts';

proberContract('The sandbox', async () => {
  const { sandbox, registry } = createSandboxScene();
  const ports = { ok: 80, redirecting: 81, failing: 82, silent: 83, closed: 84 };
  const listens = [
    { port: ports.ok, status: 200 },
    { port: ports.redirecting, status: 302 },
    { port: ports.failing, status: 503 },
    { port: ports.silent },
  ];
  registry.store.publish('app', { behaviour: { listens } });
  await sandbox.engine.pullImage({ reference: 'app' });
  const id = sandbox.control.runContainer('app', { Image: 'app' });
  const container = await sandbox.engine.inspectContainer(id);
  const address = String(container?.settings.Networks['bridge']?.['IPAddress']);
  return { prober: sandbox.prober, address, ports, nowhere: '172.31.255.254', close: () => Promise.resolve() };
});
