import { createTabServer } from './transport/shared-reader.ts';

const serve = createTabServer();
// Each tab has a port: https://html.spec.whatwg.org/multipage/workers.html#event-workerglobalscope-connect
addEventListener('connect', (event) => {
  const [port] = event instanceof MessageEvent ? event.ports : [];
  if (port !== undefined) serve(port);
});
