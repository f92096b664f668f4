// Installs the needs of the suites for scripts/test/run.mjs, in a worker because installing blocks the thread.
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { installImage } from '../../test/image/rig/install.mjs';
import {
  installBrowser,
  installClients,
  installLab,
  installPodman,
  installProxies,
  installReceivers,
} from '../../test/lab/install.mjs';

const installers = {
  lab: installLab,
  podman: installPodman,
  browser: installBrowser,
  receivers: installReceivers,
  proxies: installProxies,
  clients: installClients,
  image: installImage,
};

/**
 * Resolves, for each need, to the reason why it is unmet, or undefined. Installs one need at a time, because of apt's
 * lock.
 */
export async function prepare(needs, log) {
  const worker = new Worker(new URL(import.meta.url), { workerData: needs });
  return await new Promise((resolve, reject) => {
    worker.on('message', ({ line, reasons }) => (line === undefined ? resolve(reasons) : log(line)));
    worker.on('error', reject);
  });
}

if (parentPort) {
  const log = (line) => parentPort.postMessage({ line });
  const reasons = Object.fromEntries(workerData.map((need) => [need, installers[need]({ log })]));
  parentPort.postMessage({ reasons });
}
